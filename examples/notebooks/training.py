# %% [markdown]
# # Training on batches of many lengths
#
# Sentences, molecules and recordings have many lengths. A training step of `jax.jit` is compiled again for every shape
# of a batch that it has not seen. So batches are padded to few lengths: then there are fewer compilations, and padding
# is computed at every step. `shlo_disc.jit` compiles the step, with its gradients and its optimizer, once or twice for
# all lengths.
#
# Here a small language model, of Flax Linen with an optimizer of Optax, is trained in three ways on the same batches:
# their losses, compilations, and processor seconds from the first step on are compared. A short section does the same
# with Equinox. Run it yourself:
#
# ```
# pip install 'shlo-disc[jax,notebooks]' flax optax equinox
# jupyter lab examples/training.ipynb
# ```

# %%
import os
import resource
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax
from IPython.display import Markdown, display

folders = (Path.cwd(), *Path.cwd().parents)
sys.path.insert(0, str(next(one for one in folders if (one / "examples").exists())))  # the examples import each other

caches = TemporaryDirectory()
os.environ["SHLO_DISC_CACHE"] = caches.name  # empty: what earlier runs have compiled does not count

import shlo_disc
from examples.shape_streams import COMPILED, power_of_two

QUICK = bool(os.environ.get("NOTEBOOK_QUICK"))  # as the tests run it: fewer steps
STEPS = 2 if QUICK else 32
print(f"JAX {jax.__version__}, shlo_disc {shlo_disc.__version__}, {os.cpu_count()} cores")

# %% [markdown]
# ## The batches
#
# A sequence is a walk through 32 tokens, each of which has four successors: the model has to learn which. Each batch
# has eight sequences of one length, as when sentences are grouped by length; lengths are log-normal.

# %%
TOKENS, BATCH = 32, 8
rng = np.random.default_rng(0)
successors = rng.integers(0, TOKENS, (TOKENS, 4))


def draw_batch(length):
    """Walks, [BATCH, length]."""
    tokens = np.zeros((BATCH, length), np.int32)
    tokens[:, 0] = rng.integers(0, TOKENS, BATCH)
    for at in range(1, length):
        tokens[:, at] = successors[tokens[:, at - 1], rng.integers(0, 4, BATCH)]
    return tokens


lengths = np.clip(np.exp(rng.normal(np.log(48), 0.6, STEPS)), 8, 256).astype(int)
batches = [draw_batch(length) for length in lengths]
print(f"{STEPS} batches, {len(set(lengths.tolist()))} different lengths from {lengths.min()} to {lengths.max()}")

# %% [markdown]
# ## The model and the step
#
# Nothing of it knows of `shlo_disc`. Attention is causal, so padding at the end changes nothing before it, and the loss
# needs weights alone: 1 for tokens, 0 for padding.


# %%
class LanguageModel(nn.Module):
    """Logits of the next tokens, [batch, length, TOKENS]."""

    width: int = 64
    layers: int = 1

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(TOKENS, self.width)(tokens)
        mask = nn.make_causal_mask(tokens)
        for _ in range(self.layers):
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            x = x + nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(nn.LayerNorm()(x))))
        return nn.Dense(TOKENS)(nn.LayerNorm()(x))


model = LanguageModel(width=16 if QUICK else 64)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3))


def loss(params, tokens, weights):
    logits = model.apply(params, tokens[:, :-1])
    each = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    return (each * weights[:, 1:]).sum() / weights[:, 1:].sum()


def train(params, state, tokens, weights):
    value, gradient = jax.value_and_grad(loss)(params, tokens, weights)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value


first_params = jax.jit(model.init)(jax.random.key(0), batches[0])
count = sum(leaf.size for leaf in jax.tree.leaves(first_params))
print(f"{count:,} parameters")

# %% [markdown]
# ## Three ways to train
#
# They take turns: every batch is a step in each of the three ways, one after another, so that whatever else runs on
# this machine disturbs all. Processor seconds are those of this process and of the C++ compilers that `shlo_disc`
# starts.

# %%
compiled = []  # the seconds of each compilation by XLA
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration_secs, **_: compiled.append(duration_secs) if event == COMPILED else None
)


def cpu_seconds():
    """Of this process and its children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def as_it_is(tokens):
    return tokens, np.ones(tokens.shape, np.float32)


def padded(tokens):
    more = power_of_two(tokens.shape[1]) - tokens.shape[1]
    return np.pad(tokens, ((0, 0), (0, more))), np.pad(np.ones(tokens.shape, np.float32), ((0, 0), (0, more)))


class Training:
    """One way to train: its step, its state, and what was measured."""

    def __init__(self, step, prepare):
        self.step, self.prepare = step, prepare
        self.params, self.state = first_params, optimizer.init(first_params)
        self.losses, self.cpu, self.seconds, self.compilations = [], [], [], 0

    def take_step(self, tokens):
        before, cpu, start = len(compiled), cpu_seconds(), time.perf_counter()
        result = self.step(self.params, self.state, *self.prepare(tokens))
        self.params, self.state, value = jax.block_until_ready(result)
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(cpu_seconds() - cpu)
        self.compilations += len(compiled) - before
        self.losses.append(float(value))


ours = shlo_disc.jit(train)
ways = {
    "jax.jit": Training(jax.jit(train), as_it_is),
    "jax.jit, padded to powers of two": Training(jax.jit(partial(train)), padded),  # shares no programs with the first
    "shlo_disc.jit": Training(ours, as_it_is),
}
for number, tokens in enumerate(batches):
    for way in ways.values():
        way.take_step(tokens)
    if number % 8 == 0:
        print(f"step {number} ...")

# %% [markdown]
# ## The same losses

# %%
figure, axes = plt.subplots(figsize=(8, 3.5))
for (name, way), linewidth in zip(ways.items(), (7, 4, 1.5), strict=True):
    axes.plot(way.losses, label=name, linewidth=linewidth)
axes.axhline(np.log(4), color="0.7", linewidth=1, label="the least there is, log 4")
axes.set(xlabel="step", ylabel="loss", title="three curves, which lie on each other")
axes.legend(fontsize="small")
plt.show()
curves = np.array([way.losses for way in ways.values()])
apart = np.abs(curves - curves[0]).max()
assert apart < 0.01
print(f"losses differ by at most {apart:.1e}")

# %% [markdown]
# ## From the first step on
#
# A step up of a curve is a compilation.

# %%
figure, axes = plt.subplots(figsize=(8, 3.5))
for name, way in ways.items():
    axes.plot(np.cumsum(way.cpu), label=name)
axes.set(xlabel="step", ylabel="processor seconds", title="compilations and steps, added up")
axes.legend(fontsize="small")
plt.show()

# %% [markdown]
# ## When everything is compiled
#
# The same batches once more, again in turns: now no way compiles anything.

# %%
counts = {name: way.compilations for name, way in ways.items()} | {"shlo_disc.jit": ours.report().compilations}
for tokens in batches:
    for way in ways.values():
        way.take_step(tokens)
lines = [
    "| way | compilations | processor seconds, all steps | the same once more | median step, ms | padding |",
    "|---|---|---|---|---|---|",
]
needed = lengths.sum()
for name, way in ways.items():
    first, again = sum(way.cpu[:STEPS]), sum(way.cpu[STEPS:])
    median = 1e3 * np.median(way.seconds[STEPS:])
    computed = sum(way.prepare(tokens)[0].shape[1] for tokens in batches)
    lines.append(
        f"| {name} | {counts[name]} | {first:.1f} | {again:.1f} | {median:.1f} | {1 - needed / computed:.0%} |"
    )
display(Markdown("\n".join(lines)))

# %% [markdown]
# Why `shlo_disc` compiled, and how many lengths each program serves:

# %%
for program in ours.report().variants:
    print(f"{program.signatures} of the lengths: {program.reason}")

# %% [markdown]
# The first call is compiled for its own sizes, the second one shows which of them change. With declared sizes,
# `shlo_disc.jit(train, shapes=", , b n, b n")`, there is one program.
#
# ## The same with Equinox
#
# A module of Equinox has arrays, and things that are none, such as activation functions. `eqx.partition` separates
# them, and `shlo_disc.jit` takes the arrays. Here is a recurrent network, with a loop over the length, on batches of
# which both the number of sequences and their length change:


# %%
class Recurrent(eqx.Module):
    """The mean of a sequence, read element by element."""

    cell: eqx.nn.GRUCell
    out: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.cell, self.out = eqx.nn.GRUCell(1, 16, key=first), eqx.nn.Linear(16, 1, key=second)

    def __call__(self, xs):
        last, _ = jax.lax.scan(lambda h, x: (self.cell(x[None], h), None), jnp.zeros(16), xs)
        return self.out(last)[0]


arrays, rest = eqx.partition(Recurrent(jax.random.key(1)), eqx.is_array)
adam = optax.adam(1e-2)


def fit(arrays, state, xs):
    def error(arrays):
        return jnp.mean((jax.vmap(eqx.combine(arrays, rest))(xs) - xs.mean(axis=1)) ** 2)

    value, gradient = jax.value_and_grad(error)(arrays)
    updates, state = adam.update(gradient, state)
    return eqx.apply_updates(arrays, updates), state, value


fit_ours, fit_theirs = shlo_disc.jit(fit), jax.jit(fit)
shapes = [(rng.integers(4, 33), rng.integers(5, 41)) for _ in range(2 if QUICK else 12)]
found, first_state = {}, (arrays, adam.init(arrays))
before = len(compiled)
for function in (fit_theirs, fit_ours):
    data, state = np.random.default_rng(3), first_state
    values = []
    for shape in shapes:
        *state, value = function(*state, data.standard_normal(shape, np.float32))
        values.append(float(value))
    found[function] = np.array(values)
    if function is fit_theirs:
        print(f"jax.jit: {len(compiled) - before} compilations")
print(f"shlo_disc.jit: {fit_ours.report().compilations} compilations")
apart = np.abs(found[fit_ours] - found[fit_theirs]).max()
assert apart < 1e-3
print(f"errors differ by at most {apart:.1e}")

# %% [markdown]
# `eqx.filter_jit` does this partition at every call; more of it, and of other libraries, is in
# [docs/how-to/frameworks.md](../docs/how-to/frameworks.md).
#
# ## What to keep in mind
#
# - The model is small, so that the notebook runs in a minute or two. With larger models, compilations and steps both
#   take longer; [docs/how-to/jit.md](../docs/how-to/jit.md#what-it-saves) has a larger one.
# - In a long training, the compilations of `jax.jit` end when all lengths were seen, or the padding is coarse enough.
#   What is left is the time of steps: see column *the same once more*.
# - Padding needs a loss, and a model, that ignore it. This one is causal; others need masks in attention and means.
# - The sums of floating-point numbers are taken in another order, so losses differ in their last digits, and more so
#   after many steps.
# - Numbers are of the machine that ran this notebook.
# - Which lengths should you pad to? `shlo-disc advise` says it for yours:
#   [docs/how-to/choose-padding.md](../docs/how-to/choose-padding.md).

# %%
caches.cleanup()
