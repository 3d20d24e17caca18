# %% [markdown]
# # StableHLO as data
#
# The parser, the verifier and the analyses of shlo_disc are tools of their own: plain Python, without a build of
# MLIR. This notebook reads exports of a few models, counts their ops, changes a program, and checks whether other
# compilers would take it.

# %%
from collections import Counter

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Markdown, display
from jax import export

import shlo_disc


def mlp(weights, x):
    return jnp.tanh(x @ weights[0]) @ weights[1]


def attention(_, x):
    scores = x @ x.swapaxes(-1, -2) / jnp.sqrt(x.shape[-1])
    return jax.nn.softmax(scores) @ x


def convolution(weights, x):
    found = jax.lax.conv_general_dilated(x, weights[0], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(found).mean((1, 2))


def nearest(_, x):
    distances = ((x[:, None] - x[None]) ** 2).sum(-1)
    return jnp.take(x, jnp.argsort(distances, axis=1)[:, :2], axis=0)


def spec(shape):
    return jax.ShapeDtypeStruct(export.symbolic_shape(shape), jnp.float32)


MODELS = {
    "mlp": (mlp, [spec("64, 256"), spec("256, 10")], spec("b, 64")),
    "attention": (attention, [], spec("b, s, 32")),
    "convolution": (convolution, [spec("3, 3, 3, 8")], spec("b, h, w, 3")),
    "nearest": (nearest, [], spec("n, 8")),
}
modules = {
    name: shlo_disc.parse(export.export(jax.jit(function))(weights, x).mlir_module())
    for name, (function, weights, x) in MODELS.items()
}
modules["mlp"]

# %% [markdown]
# ## Ops of models
#
# A module is a tree of frozen dataclasses; `walk` visits its ops. Most ops of an export compute sizes, not elements:

# %%
SIZES = ("get_dimension_size", "reshape", "concatenate", "constant", "shape_assertion")
counts = {name: Counter(op.name.removeprefix("stablehlo.") for op in module.walk()) for name, module in modules.items()}
common = [op for op, _ in sum(counts.values(), Counter()).most_common(14)]
figure, axes = plt.subplots(figsize=(9, 3.5))
left = [0] * len(common)
for name, count in counts.items():
    axes.barh(common, [count[op] for op in common], left=left, label=name)
    left = [a + count[op] for a, op in zip(left, common, strict=True)]
axes.invert_yaxis()
axes.set(xlabel="ops")
axes.legend()
plt.show()

# %% [markdown]
# ## A rewrite
#
# `rewrite` takes functions that replace ops, by the name of the op, and verifies the result. Here `tanh` becomes
# `logistic`: tanh(x) = 2 logistic(2 x) - 1.


# %%
def by_logistic(op, build):
    (x,) = op.operands
    half = build.op("stablehlo.logistic", build.op("stablehlo.add", x, x))
    return build.op("stablehlo.subtract", build.op("stablehlo.add", half, half), build.constant(1.0, x))


changed = shlo_disc.rewrite(modules["mlp"], {"stablehlo.tanh": by_logistic})
arrays = [
    np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in ((64, 256), (256, 10), (5, 64))
]
before, after = (shlo_disc.compile(module)(*arrays)[0] for module in (modules["mlp"], changed))
print(f"{len(changed.find('stablehlo.tanh'))} tanh left, results differ by at most {abs(before - after).max():.1e}")
changed

# %% [markdown]
# The verifier names the constraint of the specification that a program breaks, and the place:

# %%
text = str(modules["mlp"]).replace("contracting_dims = [1] x [0]", "contracting_dims = [1] x [1]")
try:
    shlo_disc.verify(shlo_disc.parse(text))
except shlo_disc.CompileError as error:
    print(error)

# %% [markdown]
# ## Would another compiler take it?
#
# A check for portability is a few lines: how many ops of these programs have results of unknown sizes, which XLA
# compiles only after all sizes are filled in, and which ops are dynamic forms, for which many importers have no rule?

# %%
lines = ["| program | ops with unknown sizes | dynamic forms |", "|---|---|---|"]
for name, module in modules.items():
    unknown = [op for op in module.walk() if any(None in getattr(value.type, "shape", ()) for value in op.results)]
    dynamic = sorted({op.name.removeprefix("stablehlo.") for op in unknown if "dynamic" in op.name})
    lines.append(f"| {name} | {len(unknown)} of {sum(1 for _ in module.walk())} | {', '.join(dynamic)} |")
display(Markdown("\n".join(lines)))

# %% [markdown]
# All of them run here. `python -m shlo_disc ops FILE` says so of any file, with the reason if an op does not.
