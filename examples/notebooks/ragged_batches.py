# %% [markdown]
# # Batches of rows of different lengths
#
# Sentences of a batch are padded to the longest one, and masks keep the padding out of the results. The padding is
# computed all the same. `shlo_disc.compile` with `ragged=` takes such a padded, masked program as it is, proves that
# results do not depend on the padding, and computes what is within the lengths.
#
# This notebook does so with a small encoder: its results, the work that is saved, the time that is saved, a program
# that is refused, and a training step. Run it yourself:
#
# ```
# pip install 'shlo-disc[jax,notebooks]'
# jupyter lab examples/ragged_batches.ipynb
# ```

# %%
import os
import time
from functools import partial
from tempfile import TemporaryDirectory

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

caches = TemporaryDirectory()
os.environ["SHLO_DISC_CACHE"] = caches.name  # empty: what earlier runs have compiled does not count

import shlo_disc

QUICK = bool(os.environ.get("NOTEBOOK_QUICK"))  # as the tests run it: one layer, and few calls
LAYERS, REPEATS = (1, 1) if QUICK else (2, 20)
print(f"JAX {jax.__version__}, shlo_disc {shlo_disc.__version__}, {os.cpu_count()} cores")

# %% [markdown]
# ## The program
#
# An encoder in plain JAX: `x` [b, s, 128] are embedded tokens, `lengths` [b] says how many of each row there are. The
# mask keeps padding out of attention, and out of the mean of each row. Nothing here knows of `shlo_disc`.

# %%
WIDTH, HEADS = 128, 4


def random_params(rng):
    def normal(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    return [
        {"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "up": normal(WIDTH, 4 * WIDTH),
         "down": normal(4 * WIDTH, WIDTH)}
        for _ in range(LAYERS)
    ]  # fmt: skip


def normed(x):
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attend(layer, x, mask):
    b, s, _ = x.shape
    q, k, v = jnp.moveaxis((x @ layer["qkv"]).reshape(b, s, 3, HEADS, WIDTH // HEADS), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(WIDTH // HEADS)
    weights = jax.nn.softmax(jnp.where(mask[:, None, None], scores, -jnp.inf))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, s, WIDTH) @ layer["out"]


def encode(params, x, mask):
    for layer in params:
        x = x + attend(layer, normed(x), mask)
        x = x + jax.nn.gelu(normed(x) @ layer["up"]) @ layer["down"]
    return normed(x)


def mask_of(x, lengths):
    return jnp.arange(x.shape[1]) < lengths[:, None]


def encoder(params, x, lengths):
    """What is known of each token, [b, s, WIDTH], and its mean over each row, [b, WIDTH]."""
    mask = mask_of(x, lengths)
    y = encode(params, x, mask)
    return y, jnp.where(mask[..., None], y, 0).sum(1) / lengths[:, None]


params = random_params(np.random.default_rng(0))

# %% [markdown]
# It is compiled in three ways: by `jax.jit`, by `shlo_disc` as it is, and by `shlo_disc` with `ragged`.
# `{"s": "lengths"}` says that arrays with the size `s` are padded, and that the argument `lengths` says from where on.

# %%
shapes = (params, f"f32[b, s, {WIDTH}]", "i32[b]")
by_jax = jax.jit(encoder)
padded = shlo_disc.compile(encoder, shapes=shapes, device="cpu")
ragged = shlo_disc.compile(encoder, shapes=shapes, device="cpu", ragged={"s": "lengths"})
ragged

# %% [markdown]
# ## A batch
#
# Log-normal lengths, as those of sentences are: a few are long, and the longest one decides what is computed.

# %%
ROWS, LONGEST = 16, 128


def draw_batch(rng, median):
    """Tokens [ROWS, LONGEST, WIDTH] and lengths [ROWS], one of which is LONGEST."""
    lengths = np.clip(np.exp(rng.normal(np.log(median), 0.6, ROWS)), 1, LONGEST).astype(np.int32)
    lengths[0] = LONGEST
    return rng.standard_normal((ROWS, LONGEST, WIDTH), np.float32), lengths


x, lengths = draw_batch(np.random.default_rng(0), median=24)
within = np.arange(LONGEST) < lengths[:, None]
print(f"lengths {lengths}\n{lengths.sum()} tokens of {within.size} places: {within.mean():.0%} filled")

# %% [markdown]
# ## The same results
#
# Results are padded arrays again. Within the lengths they are those of JAX; beyond them they are 0.

# %%
expected, expected_means = (np.asarray(one) for one in by_jax(params, x, lengths))
found, means = ragged(params, x, lengths)
apart = max(np.abs(found - expected)[within].max(), np.abs(means - expected_means).max())
assert apart < 1e-4
assert not found[~within].any()
print(f"within the lengths: differ by at most {apart:.1e}")
print(f"beyond the lengths: {np.abs(found[~within]).max()}")

# %% [markdown]
# The padding may hold anything, NaN included. The padded program multiplies it by weights of 0, and 0 times NaN is NaN:

# %%
with_nan = np.where(within[..., None], x, np.nan)
for name, run in {"jax.jit": by_jax, "ragged": ragged}.items():
    one = np.asarray(run(params, with_nan, lengths)[1])
    print(f"{name}: {np.isnan(one).sum()} of {one.size} elements of the means are NaN")
assert np.array_equal(one, means)

# %% [markdown]
# ## What is computed
#
# Rows are joined without their padding. `explain` lists how many values have a shape: those of size `sum_s`, the sum of
# the lengths, are computed for tokens alone. What mixes the tokens of a row, attention, still has `b` and `s`; its
# arrays take much of the memory of a call.

# %%
shown = [
    line for line in ragged.explain("facts").splitlines() if "of shape [sum_s, " in line or "of shape [b, " in line
]
print("\n".join(shown))
of_ragged, of_padded = ragged.peak_memory(b=ROWS, s=LONGEST, sum_s=lengths.sum()), padded.peak_memory(b=ROWS, s=LONGEST)
print(f"memory of a call: {of_ragged / 2**20:.1f} MiB, padded {of_padded / 2**20:.1f} MiB")

# %% [markdown]
# ## The work that is saved
#
# `analyse_ragged` counts FLOPs that results within the lengths need, beside those of the padded program, for any
# lengths, and without compiling. Here the products of the first layer: two of them are attention's, which need the
# squares of the lengths.

# %%
analysis = shlo_disc.analyse_ragged(encoder, {"s": "lengths"}, shapes=shapes)
report = analysis.report(lengths)
lines = ["| op | FLOPs that are needed | | padded |", "|---|---|---|---|"]
products = [op for op in report.ops if op.name == "dot"][:6]
lines += [f"| {op.name} | {op.formula} | {op.needed:,} | {op.padded:,} |" for op in products]
display(Markdown("\n".join([*lines, f"| all of the program | | {report.needed:,} | {report.padded:,} |"])))
print(f"padded / needed: {report.ratio:.2f}")

# %% [markdown]
# ## The time that is saved
#
# Batches of one shape, nearly empty ones to full ones. Times are processor time, of all threads: the least of several
# calls. The two programs of `shlo_disc` take turns at all batches; XLA's calls follow.


# %%
def least_ms(*calls):
    """The least processor milliseconds of each call. They take turns."""
    seconds = [[] for _ in calls]
    for _ in range(REPEATS):
        for call, own in zip(calls, seconds, strict=True):
            start = time.process_time()
            jax.block_until_ready(call())
            own.append(time.process_time() - start)
    return [1e3 * min(own) for own in seconds]


medians = [24, 1000] if QUICK else [6, 12, 20, 30, 45, 65, 90, 130, 1000]
batches = [draw_batch(np.random.default_rng(seed), median) for seed, median in enumerate(medians)]
ours = least_ms(*(partial(run, params, *batch) for run in (padded, ragged) for batch in batches))
ms_padded, ms_ragged = np.reshape(ours, (2, -1))
ms_jax = least_ms(*(partial(by_jax, params, *batch) for batch in batches))
fills = np.array([lengths.sum() / (ROWS * LONGEST) for _, lengths in batches])
flops = np.array([analysis.report(lengths).ratio for _, lengths in batches])

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
for name, ms in {"jax.jit": ms_jax, "shlo_disc, padded": ms_padded, "shlo_disc, ragged": ms_ragged}.items():
    left.plot(100 * fills, ms, ".-", label=name)
left.set(xlabel="% of the places that hold tokens", ylabel="processor ms for a batch", xlim=(0, 103), title="time")
left.set_ylim(bottom=0)
left.legend(fontsize="small")
right.plot(flops, ms_padded / ms_ragged, "o", color="C2", label="measured, each batch")
ends = [1, flops.max()]
right.plot(ends, ends, color="0.7", linewidth=1, label="as much as FLOPs say")
right.set(xlabel="FLOPs, padded / needed", ylabel="time, padded / ragged", title="work saved, and time saved")
right.set(xscale="log", yscale="log")
for axis in (right.xaxis, right.yaxis):
    axis.set_major_locator(plt.FixedLocator([1, 2, 3, 5, 8, 12]))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(plt.NullLocator())
right.legend(fontsize="small")
plt.show()

# %% [markdown]
# ## A program that is refused
#
# Without its mask, the mean adds up the padding, so its result depends on it. Such a program is not compiled. The error
# names ops on the way from the padding to the result; the arrow marks where elements within the lengths read it:


# %%
def unmasked(params, x, lengths):
    return encode(params, x, mask_of(x, lengths)).sum(1) / lengths[:, None]


try:
    shlo_disc.compile(unmasked, shapes=shapes, ragged={"s": "lengths"})
except shlo_disc.ShloDiscError as error:
    print(error)

# %% [markdown]
# A mask mends it, here as a factor; `analyse_ragged` says, without compiling, whether that is enough.


# %%
def masked(params, x, lengths):
    mask = mask_of(x, lengths)
    return (encode(params, x, mask) * mask[..., None]).sum(1) / lengths[:, None]


print(shlo_disc.analyse_ragged(masked, {"s": "lengths"}, shapes=shapes).explain())

# %% [markdown]
# ## A training step
#
# Gradients are a program like any other: compile the function that computes them. The loss is a mean over tokens, so it
# needs a mask, too. Gradients of weights add up what is within the lengths.


# %%
def loss(params, x, lengths, targets):
    mask = mask_of(x, lengths)
    errors = ((encode(params, x, mask) - targets) ** 2).mean(-1)
    return jnp.where(mask, errors, 0).sum() / lengths.sum()


step = jax.value_and_grad(loss)
types = (*shapes, f"f32[b, s, {WIDTH}]")
ragged_step = shlo_disc.compile(step, shapes=types, device="cpu", ragged={"s": "lengths"})
step_by_jax = jax.jit(step)
targets = np.random.default_rng(1).standard_normal(x.shape, np.float32)
arguments = params, x, lengths, targets
(value, gradient), (expected_value, expected_gradient) = ragged_step(*arguments), step_by_jax(*arguments)
furthest = max(
    float(np.abs(one - other).max() / np.abs(other).max())
    for one, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected_gradient), strict=True)
)
assert furthest < 1e-4
print(f"loss {value:.6f}, by JAX {expected_value:.6f}; gradients differ by at most {furthest:.1e} of the largest")
work = shlo_disc.analyse_ragged(step, {"s": "lengths"}, shapes=types).report(lengths)
(ours,), (theirs,) = least_ms(partial(ragged_step, *arguments)), least_ms(partial(step_by_jax, *arguments))
print(f"processor time {ours:.1f} ms ragged, {theirs:.1f} ms by jax.jit; FLOPs, padded / needed: {work.ratio:.2f}")

# %% [markdown]
# ## What to keep in mind
#
# - What can be saved is padding. A full batch gains nothing, and its rows are joined for nothing; batches sorted by
#   length have less to gain than those drawn at random.
# - Attention runs on padded arrays, of which it can skip no more than whole blocks of keys and queries. The larger its
#   part of the work, the less is saved of what FLOPs say: in this small model, more so than in a wide one.
# - Here all batches have one shape, so `jax.jit` compiles once. It compiles again for each new longest row; `shlo_disc`
#   does not. [ragged_encoder.py](ragged_encoder.py) runs a stream of such batches.
# - What has to hold, and what the limits are: [docs/how-to/ragged-batches.md](../docs/how-to/ragged-batches.md). How it
#   is proven: [docs/explanation/ragged.md](../docs/explanation/ragged.md).
# - Numbers are of the machine that ran this notebook.

# %%
caches.cleanup()
