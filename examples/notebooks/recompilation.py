# %% [markdown]
# # What a new shape costs
#
# A server answers requests of many shapes: batches of 1 to 8 sentences, of 1 to 512 tokens. The model is an encoder
# of four layers. `jax.jit` compiles it again for every shape that it has not seen; `shlo_disc.jit` compiles it once or
# a few times, for all.
#
# This notebook serves one stream of requests in five ways, each from nothing in a process of its own, and compares
# what they cost: processor seconds, memory, the time of single requests, and the share of work that padding wastes.
# Run it yourself:
#
# ```
# pip install 'shlo-disc[jax,notebooks]'
# jupyter lab examples/recompilation.ipynb
# ```

# %%
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display

folders = (Path.cwd(), *Path.cwd().parents)
sys.path.insert(0, str(next(one for one in folders if (one / "examples").exists())))  # the examples import each other

import shlo_disc
from examples.quickstart import encoder, random_batch, random_params
from examples.shape_streams import WAYS, draw_stream, power_of_two, stream_in_process

QUICK = bool(os.environ.get("NOTEBOOK_QUICK"))  # as the tests run it: fewer requests and shapes
REQUESTS = 3 if QUICK else 64
print(f"JAX {jax.__version__}, shlo_disc {shlo_disc.__version__}, {os.cpu_count()} cores")

# %% [markdown]
# ## The requests
#
# Most sentences are short and a few are long, as in real traffic: lengths are log-normal.

# %%
shapes = draw_stream(REQUESTS)
figure, axes = plt.subplots(figsize=(6, 3))
axes.scatter([s for _, s in shapes], [b for b, _ in shapes], alpha=0.5)
title = f"{REQUESTS} requests, {len(set(shapes))} different shapes"
axes.set(xlabel="length", ylabel="batch", xscale="log", title=title)
plt.show()

# %% [markdown]
# ## Five ways to serve them
#
# | way | what it does |
# |---|---|
# | `jax.jit` | compiles for each new shape |
# | `jax.jit`, padded to powers of two | compiles for each new pair of powers of two, and computes the padding, too |
# | `jax.jit`, persistent cache | as `jax.jit`, in a process that finds all programs in JAX's cache on disk |
# | `Exported.call` | `jax.export` with symbolic sizes under `jax.jit`: traced once, compiled for each new shape |
# | `shlo_disc.jit` | learns which sizes change, and compiles for all of them |
#
# Imports of JAX and the weights do not count; `import shlo_disc` does, and so do the C++ compilers that it starts.

# %%
streams = {}
with TemporaryDirectory() as caches:
    for way in WAYS:
        print(f"{way} ...")
        streams[way] = stream_in_process(way, REQUESTS, Path(caches) / str(len(streams)))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
for way, requests in streams.items():
    left.plot([request.cpu for request in requests], label=way)
    right.plot([request.memory / 2**20 for request in requests], label=way)
left.set(xlabel="requests", ylabel="processor seconds", title="from the first request on")
right.set(xlabel="requests", ylabel="MiB", title="memory of the process")
left.legend(fontsize="small")
plt.show()

# %% [markdown]
# Half of all requests take at most the time in column *p50*, and all but one in a hundred at most that in column *p99*.

# %%
lines = [
    "| way | compilations | processor seconds | p50, ms | p99, ms | MiB | padding |",
    "|---|---|---|---|---|---|---|",
]
for way, requests in streams.items():
    milliseconds = [1e3 * request.seconds for request in requests]
    needed = sum(request.batch * request.length for request in requests)
    padding = 1 - needed / sum(request.computed for request in requests)
    lines.append(
        f"| {way} | {requests[-1].compilations} | {requests[-1].cpu:.1f} | {np.percentile(milliseconds, 50):.1f} "
        f"| {np.percentile(milliseconds, 99):.0f} | {requests[-1].memory / 2**20:.0f} | {padding:.0%} |"
    )
display(Markdown("\n".join(lines)))

# %% [markdown]
# All ways give the same results, up to the rounding of sums:

# %%
sums = np.array([[request.checksum for request in requests] for requests in streams.values()])
apart = np.ptp(sums, axis=0) / sums.mean(axis=0)
assert apart.max() < 1e-5
print(f"sums of absolute values differ by at most {apart.max():.1e} of them")

# %% [markdown]
# ## When everything is compiled
#
# A program for all shapes could be slower at each of them. Here both are warm: the time of `shlo_disc.jit` over that of
# `jax.jit`, which has a program for exactly this shape, or for this shape padded; the shortest of several calls in
# turns. Below 1, `shlo_disc` is faster.

# %%
batches, lengths = ([1, 2], [17, 64]) if QUICK else ([1, 2, 3, 5, 8], [1, 7, 16, 33, 64, 100, 200, 384])
params = jax.block_until_ready(random_params(np.random.default_rng(7)))
ours, theirs = shlo_disc.jit(encoder), jax.jit(encoder)
rng = np.random.default_rng(0)


def shortest(calls, turns):
    """The shortest time of each call, in seconds; the calls take turns, and the first turn compiles."""
    times = np.full((turns, len(calls)), np.inf)
    for turn in range(turns):
        for number, (function, inputs) in enumerate(calls):
            start = time.perf_counter()
            np.asarray(function(params, *inputs))
            times[turn, number] = time.perf_counter() - start
    return times[1:].min(axis=0)


ratios, over_padding = np.zeros((2, len(batches), len(lengths)))
for row, batch in enumerate(batches):
    print(f"batch {batch} ...")
    for column, length in enumerate(lengths):
        inputs = random_batch(rng, (batch, length))
        padded = random_batch(rng, (power_of_two(batch), power_of_two(length)))
        our, their, their_padded = shortest([(ours, inputs), (theirs, inputs), (theirs, padded)], 3 if QUICK else 12)
        ratios[row, column], over_padding[row, column] = our / their, our / their_padded

# %%
figure, both = plt.subplots(1, 2, figsize=(12, 3.5))
for axes, values, other in zip(both, (ratios, over_padding), ("jax.jit", "jax.jit, padded"), strict=True):
    image = axes.imshow(np.log2(values), cmap="RdBu_r", vmin=-1.5, vmax=1.5)
    axes.set(xticks=range(len(lengths)), xticklabels=lengths, yticks=range(len(batches)), yticklabels=batches)
    axes.set(xlabel="length", ylabel="batch", title=f"time of shlo_disc.jit over that of {other}")
    for (i, j), value in np.ndenumerate(values):
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize="small")
plt.show()
means = [np.exp(np.log(values).mean()) for values in (ratios, over_padding)]
print(f"geometric means: {means[0]:.2f} over jax.jit, {means[1]:.2f} over jax.jit with padding")

# %% [markdown]
# ## What to keep in mind
#
# - Compilation takes longer for larger models, XLA's and ours. What differs is how often: once per shape, or once.
# - Padding helps `jax.jit` to few compilations, and wastes work at every request: the share in the last column. It
#   changes results where a program looks at the padding, so each model needs a mask that is right.
# - JAX's persistent cache saves compilations when a process starts again. It does not help with shapes that were never
#   seen.
# - Numbers are of the machine that ran this notebook. Where other processes share its cores, times change more than
#   processor seconds.
# - One stream of one model is an example. [docs/reference/peers.md](../docs/reference/peers.md) has eight workloads
#   beside other compilers.
