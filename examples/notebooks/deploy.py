# %% [markdown]
# # From a notebook to a server without JAX
#
# A compiled program is a file: for Python processes that have NumPy and this package, and neither JAX nor a C++
# compiler; or a library for C.

# %%
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import numpy as np

folders = (Path.cwd(), *Path.cwd().parents)
sys.path.insert(0, str(next(one for one in folders if (one / "examples").exists())))  # the examples import each other

import shlo_disc
from examples.quickstart import encoder, export_once, random_params

folder = TemporaryDirectory()
params = random_params(np.random.default_rng(0))
run = shlo_disc.compile(export_once(params))

# %% [markdown]
# ## One file
#
# `bind` packs the weights as the kernels read them; `save` writes program and weights.

# %%
file = Path(folder.name) / "encoder.shlo"
run.bind(params).save(file)
print(f"{file.name}: {file.stat().st_size / 2**20:.1f} MiB")

# %% [markdown]
# It is a zip with a manifest, the StableHLO text, machine code and weights; other tools can read it:

# %%
print(
    subprocess.run(["unzip", "-l", file], capture_output=True, text=True, check=False).stdout.replace(folder.name, "")
)

# %% [markdown]
# ## Another process
#
# This one has no JAX and finds no compiler. It serves sentences of any length:

# %%
SERVER = """
import sys, time
start = time.process_time()
import numpy as np
import shlo_disc
encode = shlo_disc.load(sys.argv[1])
print(f"loaded in {time.process_time() - start:.2f} s of CPU, NumPy included")
rng = np.random.default_rng(1)
for shape in ((1, 5), (3, 77), (2, 512)):
    result = encode(rng.integers(0, 1000, shape, np.int32), np.full(shape[0], shape[1], np.int32))
    print(shape, "->", result.shape, f"{float(abs(result).mean()):.4f}")
print("jax" in sys.modules, "sympy" in sys.modules)
"""
environment = {"PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)}
told = subprocess.run([sys.executable, "-c", SERVER, file], env=environment, capture_output=True, text=True, check=True)
print(told.stdout)

# %% [markdown]
# The results are those of `jax.jit`:

# %%
rng = np.random.default_rng(1)
for shape in ((1, 5), (3, 77), (2, 512)):
    tokens, lengths = rng.integers(0, 1000, shape, np.int32), np.full(shape[0], shape[1], np.int32)
    print(shape, f"{float(abs(jax.jit(encoder)(params, tokens, lengths)).mean()):.4f}")

# %% [markdown]
# ## A library for C
#
# `build` writes a header, a shared and a static library, and an example that compiles as it is. Here a smaller
# program, whose arguments a caller in C can make by hand:

# %%
softmax = shlo_disc.compile(jax.nn.softmax, shapes="f32[b, n]", device="cpu")
package = Path(folder.name) / "softmax"
softmax.build(package, name="softmax")
print(sorted(path.name for path in package.iterdir()))

# %%
steps = "cc example.c -I. -L. -lsoftmax -lm -lpthread -o example && LD_LIBRARY_PATH=. ./example 2 3"
done = subprocess.run(steps, shell=True, cwd=package, capture_output=True, text=True, check=False)
print(done.stdout or done.stderr)

# %% [markdown]
# What files and libraries hold, which CPUs they are for, and whom to trust:
# [docs/how-to/ship.md](../docs/how-to/ship.md) and [docs/how-to/c.md](../docs/how-to/c.md).

# %%
folder.cleanup()
