# %% [markdown]
# # Sizes that data decides
#
# How many rows pass a filter, how many boxes survive suppression, how many numbers have not converged yet: such sizes
# are known when the program has computed them. Under `jax.jit` they must be fixed in advance (`jnp.nonzero(...,
# size=100)`), so results are padded, or cut off. StableHLO has ops with sizes from data; shlo_disc compiles them,
# once.

# %%
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

folders = (Path.cwd(), *Path.cwd().parents)
sys.path.insert(0, str(next(one for one in folders if (one / "examples").exists())))  # the examples import each other

import shlo_disc
from examples import data_dependent, shrinking_loop


def shortest(call, turns=20):
    """The shortest of several calls, in milliseconds."""
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


# %% [markdown]
# ## A filter
#
# Keep the rows whose score is above a threshold. The program counts them, and the count is the size of the result:

# %%
keep = shlo_disc.compile(data_dependent.PROGRAM)
rng = np.random.default_rng(0)
rows, scores = rng.standard_normal((100_000, 8), np.float32), rng.random(100_000, np.float32)
for least in (0.0, 0.9, 0.999, 2.0):
    (kept,) = keep(rows, scores, np.float32(least))
    assert np.array_equal(kept, rows[scores > least])
    print(f"scores above {least}: {kept.shape}")

# %% [markdown]
# The same under `jax.jit` needs a bound on the size. With a bound that is always enough, all rows are copied; with a
# smaller one, rows are lost without a word:


# %%
@jax.jit
def padded(rows, scores, least):
    places = jnp.nonzero(scores > least, size=rows.shape[0], fill_value=0)[0]
    return rows[places], (scores > least).sum()


levels = [0.0, 0.5, 0.9, 0.99, 0.999]
ours = [shortest(lambda level=level: keep(rows, scores, np.float32(level))) for level in levels]
theirs = [shortest(lambda level=level: jax.block_until_ready(padded(rows, scores, level))) for level in levels]
figure, axes = plt.subplots(figsize=(6, 3.5))
share = [100 * float((scores > level).mean()) for level in levels]
axes.plot(share, theirs, "o-", label="jax.jit, size=100,000")
axes.plot(share, ours, "o-", label="shlo_disc")
axes.set(xlabel="rows that are kept, %", ylabel="milliseconds", ylim=(0, None), title="a filter of 100,000 rows")
axes.legend()
plt.show()

# %% [markdown]
# ## A loop that shrinks
#
# Newton's method for square roots: numbers that have converged leave the loop, so each iteration has a smaller shape
# than the one before. The program returns the roots, the iterations, and how many numbers all iterations improved
# together:

# %%
roots = shlo_disc.compile(shrinking_loop.PROGRAM)
numbers = np.exp(rng.normal(0, 8, 100_000)).astype(np.float32)
found, turns, work = roots(numbers)
np.testing.assert_allclose(found, np.sqrt(numbers), rtol=1e-5)
print(f"{turns} iterations, {work / numbers.size:.1f} improvements for each number instead of {turns}")


# %% [markdown]
# A masked loop of `jax.jit` improves all numbers in each iteration:


# %%
@jax.jit
def masked(x):
    def improve(state):
        y, _ = state
        better = (y + x / y) / 2
        return better, abs(better - y) > 1e-6 * abs(better)

    return jax.lax.while_loop(lambda state: state[1].any(), improve, (x, jnp.ones(x.shape, bool)))[0]


ours, theirs = shortest(lambda: roots(numbers), 5), shortest(lambda: jax.block_until_ready(masked(numbers)), 5)
print(f"shlo_disc {ours:.1f} ms, a masked loop of jax.jit {theirs:.1f} ms")

# %% [markdown]
# Here an improvement is a division, which costs less than to move a number out of the array and back: the masked loop
# is faster. A loop that shrinks pays where the work for each element is large, such as a step of a solver.

# %% [markdown]
# One compilation serves every size of the arguments, and every size that data decides. How that works, and what is
# checked: [docs/explanation/data_sizes.md](../docs/explanation/data_sizes.md).
