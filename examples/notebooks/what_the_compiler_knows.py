# %% [markdown]
# # What the compiler knows
#
# A program with symbolic sizes is compiled once, so everything that depends on sizes is a formula: which shapes are
# equal, which ops share a kernel, how much memory a call needs. This notebook asks a compiled encoder for them.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

folders = (Path.cwd(), *Path.cwd().parents)
sys.path.insert(0, str(next(one for one in folders if (one / "examples").exists())))  # the examples import each other

import shlo_disc
from examples.quickstart import export_once, random_batch, random_params

params = random_params(np.random.default_rng(0))
exported = export_once(params)  # tokens [b, s], with s <= 512
run = shlo_disc.compile(exported)
run

# %% [markdown]
# A notebook shows a program as above; a click unfolds what was known and decided.
#
# ## Facts
#
# Where each size comes from, and what holds for every call, with its reason and its line in the program:

# %%
print(run.explain("facts").split("\nshapes\n")[0])

# %% [markdown]
# The same as data; here the reasons, and how many facts rest on each:

# %%
facts = run.facts()
reasons = [fact.reason for fact in facts]
for reason in sorted(set(reasons), key=reasons.count, reverse=True)[:8]:
    print(f"{reasons.count(reason):5} {reason}")

# %% [markdown]
# A call that breaks a fact is refused before anything is written, with the line that demands it:

# %%
tokens, lengths = random_batch(np.random.default_rng(0), (2, 513))
try:
    run(params, tokens, lengths)
except shlo_disc.RuntimeShapeError as error:
    print(error)

# %% [markdown]
# ## Fusion
#
# Which ops are computed together, and why. `merged` and `refused` carry the reason of each decision.

# %%
text = run.explain("fusion")
print(text[:2200], "...")

# %% [markdown]
# The fewer kernels, the fewer intermediate tensors go through memory. The same program without fusion:

# %%
for fusion in ("none", "full"):
    found = shlo_disc.compile(exported, options=shlo_disc.CompileOptions(fusion=fusion))
    launches = found.explain("fusion").splitlines()[0]
    print(f"{fusion:8} {launches}, {found.peak_memory(b=8, s=128) / 2**20:.1f} MiB of temporaries at b=8, s=128")

# %% [markdown]
# ## Memory
#
# The temporaries of a call, in bytes, as a formula of the sizes (a SymPy expression):

# %%
run.peak_formula

# %%
lengths = np.arange(1, 513)
figure, axes = plt.subplots(figsize=(6, 3.5))
for batch in (1, 4, 16):
    axes.plot(lengths, [run.peak_memory(b=batch, s=int(s)) / 2**20 for s in lengths], label=f"b = {batch}")
axes.set(xlabel="s", ylabel="MiB", title="temporaries of a call")
axes.legend()
plt.show()

# %% [markdown]
# It grows with `s` and not with `s * s`: attention does not store its scores. How large a batch fits into a budget is
# known before any call:

# %%
for length in (64, 256, 512):
    largest = run.max_size("b", s=length, budget="100MiB")
    print(f"s = {length:3}: b <= {largest}, {run.peak_memory(b=largest, s=length) / 2**20:.2f} MiB")

# %% [markdown]
# ## The whole report
#
# `run.report("encoder.html")` writes a page with all of this, the generated kernels, and memory over time, linked to
# your lines of Python.
