# %% [markdown]
# # Decoding with a cache that grows
#
# A language model writes a text token by token. Each step needs the keys and values of all tokens before it, so they
# are kept in a cache, which is one token longer after every step. `jax.jit` compiles a program for each length of an
# array: with a cache that simply grows, that is one compilation for every token. So programs for XLA keep the cache in
# an array that is larger than its contents, and mask the rest. That needs few compilations, but other code; and each
# step computes attention to places that hold nothing.
#
# With `shlo_disc.jit` the cache may grow. This notebook decodes one text in four ways, and measures compilations,
# processor seconds, and tokens per second. Run it yourself:
#
# ```
# pip install 'shlo-disc[jax,notebooks]'
# jupyter lab examples/decoding.ipynb
# ```

# %%
import os
import resource
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

folders = (Path.cwd(), *Path.cwd().parents)
sys.path.insert(0, str(next(one for one in folders if (one / "examples").exists())))  # the examples import each other

caches = TemporaryDirectory()
os.environ["SHLO_DISC_CACHE"] = caches.name  # empty: what earlier runs have compiled does not count

import shlo_disc
from examples.shape_streams import COMPILED, power_of_two

QUICK = bool(os.environ.get("NOTEBOOK_QUICK"))  # as the tests run it: fewer tokens and shapes
STEPS, LONGEST = (3, 8) if QUICK else (64, 1024)
print(f"JAX {jax.__version__}, shlo_disc {shlo_disc.__version__}, {os.cpu_count()} cores")

# %% [markdown]
# ## The model
#
# Two layers of a decoder with random weights. The cache is a list of keys and values, one pair for each layer, each
# [length, heads, width of a head]. `grow` appends a token to an array of the cache; `put` writes it at its position.

# %%
LAYERS, WIDTH, HEADS, VOCABULARY = 2, 256, 4, 512


def random_params(rng):
    def normal(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    layers = [
        {"qkv": normal(WIDTH, 3 * WIDTH), "out": normal(WIDTH, WIDTH), "up": normal(WIDTH, 4 * WIDTH),
         "down": normal(4 * WIDTH, WIDTH)}
        for _ in range(LAYERS)
    ]  # fmt: skip
    return {"embedding": 16 * normal(VOCABULARY, WIDTH), "layers": layers, "logits": normal(WIDTH, VOCABULARY)}


def normed(x):
    return x / jnp.sqrt((x * x).mean() + 1e-6)


def rotated(x, position):
    """Rotary embeddings of positions."""
    half = x.shape[-1] // 2
    angles = position * 10_000.0 ** (-jnp.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), a * jnp.sin(angles) + b * jnp.cos(angles)], -1)


def grow(cached, new, _):
    return jnp.concatenate([cached, new[None]])


def put(cached, new, position):
    return jax.lax.dynamic_update_slice(cached, new[None], (position, 0, 0))


def decode(params, cache, token, position, store):
    """The logits of the next token, [VOCABULARY], and the cache with this one."""
    x, kept = params["embedding"][token], []
    for layer, (old_keys, old_values) in zip(params["layers"], cache, strict=True):
        q, k, v = (normed(x) @ layer["qkv"]).reshape(3, HEADS, WIDTH // HEADS)
        keys, values = store(old_keys, rotated(k, position), position), store(old_values, v, position)
        scores = jnp.einsum("hd,nhd->hn", rotated(q, position), keys) / np.sqrt(WIDTH // HEADS)
        if store is put:  # the places after this one hold nothing
            scores = jnp.where(jnp.arange(keys.shape[0]) <= position, scores, -jnp.inf)
        x = x + jnp.einsum("hn,nhd->hd", jax.nn.softmax(scores), values).reshape(WIDTH) @ layer["out"]
        x = x + jax.nn.gelu(normed(x) @ layer["up"]) @ layer["down"]
        kept.append((keys, values))
    return normed(x) @ params["logits"], kept


params = jax.block_until_ready(jax.device_put(random_params(np.random.default_rng(0))))

# %% [markdown]
# ## Four ways to keep the cache
#
# | way | the cache | what is compiled |
# |---|---|---|
# | `jax.jit`, growing | has the length of the text | a program for each length |
# | `jax.jit`, powers of two | is copied to twice its size when it is full | a program for each power of two |
# | `jax.jit`, fixed size | has room for the longest text at once | one program |
# | `shlo_disc.jit`, growing | has the length of the text | one program for the first length, then one for all |
#
# The caches of the second and third way are donated, so that XLA writes into them and does not copy them.


# %%
def empty_cache(length):
    """A cache of zeros. Of JAX's own arrays: only these can be donated."""
    one = np.zeros((length, HEADS, WIDTH // HEADS), np.float32)
    return [(jax.device_put(one), jax.device_put(one)) for _ in range(LAYERS)]


def as_it_is(cache, _):
    return cache


def with_room(cache, position):
    """The cache, with room for one more token, in arrays whose length is a power of two."""
    length = power_of_two(position + 1)
    have = cache[0][0].shape[0]
    if have >= length:
        return cache
    widths = ((0, length - have), (0, 0), (0, 0))
    return jax.tree.map(lambda one: jax.device_put(np.pad(np.asarray(one), widths)), cache)


def ways():
    """For each way its step, the length of its cache at the beginning, and what makes room for a token."""
    return {
        "jax.jit, growing": (jax.jit(partial(decode, store=grow)), 0, as_it_is),
        "jax.jit, powers of two": (jax.jit(partial(decode, store=put), donate_argnums=1), 1, with_room),
        "jax.jit, fixed size": (jax.jit(partial(decode, store=put), donate_argnums=1), LONGEST, as_it_is),
        "shlo_disc.jit, growing": (shlo_disc.jit(partial(decode, store=grow)), 0, as_it_is),
    }


# %% [markdown]
# ## One text, from nothing
#
# The ways take turns at each token, and all continue the text that the first one writes, so that their logits can be
# compared. Processor seconds are those of this process and of the C++ compilers that `shlo_disc` starts.

# %%
compiled = []  # the seconds of each compilation by XLA
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration_secs, **_: compiled.append(duration_secs) if event == COMPILED else None
)


def cpu_seconds():
    """Of this process and its children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Decoder:
    """One way to decode: its step, its cache, and what was measured of each token."""

    def __init__(self, step, length, make_room):
        self.step, self.length, self.make_room = step, length, make_room
        self.cpu, self.seconds, self.compilations = [], [], 0
        self.start()

    def start(self):
        self.cache, self.position = empty_cache(self.length), 0

    def next_logits(self, token):
        before, cpu, start = len(compiled), cpu_seconds(), time.perf_counter()
        self.cache = self.make_room(self.cache, self.position)
        found, self.cache = self.step(params, self.cache, np.int32(token), np.int32(self.position))
        logits = np.asarray(found)
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(cpu_seconds() - cpu)
        self.compilations += len(compiled) - before
        self.position += 1
        return logits


def write_text(decoders):
    """The tokens, and by how much logits differ at most from those of the first way."""
    tokens, apart = [1], 0.0
    for decoder in decoders:
        decoder.start()
    for _ in range(STEPS):
        first, *others = [decoder.next_logits(tokens[-1]) for decoder in decoders]
        apart = max(apart, *(float(abs(one - first).max()) for one in others))
        tokens.append(int(first.argmax()))
    return tokens, apart


decoders = {name: Decoder(*way) for name, way in ways().items()}
tokens, apart = write_text(decoders.values())
assert apart < 1e-3
print(tokens[:12], "...")
print(f"logits differ by at most {apart:.1e}")

# %%
figure, axes = plt.subplots(figsize=(8, 3.5))
for name, decoder in decoders.items():
    axes.plot(np.cumsum(decoder.cpu), label=name)
axes.set(xlabel="tokens", ylabel="processor seconds", title="compilations and steps, added up")
axes.legend(fontsize="small")
plt.show()

# %% [markdown]
# The same text once more, when every way has all programs that it needs: by the median of its steps.

# %%
counts = {name: decoder.compilations for name, decoder in decoders.items()}
counts["shlo_disc.jit, growing"] = decoders["shlo_disc.jit, growing"].step.report().compilations
write_text(decoders.values())
lines = [
    "| way | compilations | processor seconds, first text | tokens per second, first text | the same once more |",
    "|---|---|---|---|---|",
]
for name, decoder in decoders.items():
    cpu, first, again = sum(decoder.cpu[:STEPS]), sum(decoder.seconds[:STEPS]), np.median(decoder.seconds[STEPS:])
    lines.append(f"| {name} | {counts[name]} | {cpu:.1f} | {STEPS / first:.1f} | {1 / again:.0f} |")
display(Markdown("\n".join(lines)))

# %% [markdown]
# ## One token, at several lengths
#
# What a token costs when the text is longer: the shortest of several steps of each way, in turns, with everything
# compiled. The fixed cache has room for `LONGEST` tokens, and attention to all of them is computed, however short the
# text is.

# %%
lengths = [2, 5] if QUICK else [15, 63, 100, 200, 300, 400, 600, 800, 1000]
rows = []
for length in lengths:
    for name, decoder in decoders.items():
        room = {"jax.jit, powers of two": power_of_two(length + 1), "jax.jit, fixed size": LONGEST}.get(name, length)
        rows.append((name, length, decoder.step, [empty_cache(room)], []))
for _ in range(3 if QUICK else 60):
    for name, length, step, cache, seconds in rows:
        start = time.perf_counter()
        _, after = jax.block_until_ready(step(params, cache[0], np.int32(1), np.int32(length)))
        seconds.append(time.perf_counter() - start)
        if "growing" not in name:
            cache[0] = after  # the one before was donated
times = {name: [1e3 * min(seconds[1:]) for one, *_, seconds in rows if one == name] for name in decoders}

figure, axes = plt.subplots(figsize=(8, 3.5))
for name, milliseconds in times.items():
    axes.plot(lengths, milliseconds, ".-", label=name)
axes.set(xlabel="tokens before this one", ylabel="ms for a token", title="everything compiled")
axes.set_ylim(bottom=0)
axes.legend(fontsize="small")
plt.show()

# %% [markdown]
# ## What to keep in mind
#
# - A cache that grows is copied at each step, as the new array is larger, where XLA writes one token into a donated
#   cache. Attention reads all of the cache in either case; the copy adds to that.
# - Once everything is compiled, no way is the fastest at all lengths, and at short ones `shlo_disc` is not: see the
#   plot. What the growing cache saves is compilations, and code for room and masks.
# - The fixed size is simplest for XLA: one compilation. It needs the memory of the longest text for each text, and
#   computes masked places. A server that knows its longest text, and has texts of about that length, loses little.
# - The model is small, and takes one token of one text at a time, so what a call itself costs is a good part of a step.
#   In large models the weights take most of a step, and the cache matters for long texts and many of them.
# - `shlo_disc` compiles once for the empty cache and once for all lengths. With declared sizes there is one program:
#   `shapes` says what is compiled before the first token ([docs/how-to/jit.md](../docs/how-to/jit.md#declared-sizes)).
# - Numbers are of the machine that ran this notebook.

# %%
caches.cleanup()
