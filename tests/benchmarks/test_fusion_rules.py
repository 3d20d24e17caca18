"""The planners of DISC and BladeDISC: kernel counts by hand, and right results, of chosen and of random programs."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from benchmarks.fusion_rules import PLANNERS, plan_bladedisc, plan_disc
from shlo_disc.check.calls import twice
from shlo_disc.check.compiling import BuildConfig, Prepare
from shlo_disc.check.judging import Judge
from shlo_disc.check.names import REFERENCE
from shlo_disc.check.running import InProcess, standard_ways
from shlo_disc.check.session import TOGETHER, CheckPlan, fuzz
from shlo_disc.compiled import Compiled, Runnable
from shlo_disc.ir.core import Module
from shlo_disc.kernels.groups import Fuse, GroupKind
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from shlo_disc.pipeline import Request, Stopwatch, compile_module, compile_text
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.partitions import load
from tests.check.test_check import silent
from tests.conftest import SEED
from tests.oracle import xla_reference
from tests.pipeline.exports import FAST, In, exported
from tests.pipeline.programs import LAYER, chain, context_of, dense, layer_norm, layers, rms_norm, softmax

X, W = In("b, s"), In("s, s")
RULES = ("disc", "bladedisc")
PROGRAMS = 30
TARGET = BuildConfig(FAST)
Function = Callable[..., Any]


def kernels(fuse: Fuse, function: Function, *inputs: In) -> list[tuple[GroupKind, int]]:
    """The kind of each kernel, and how many ops it has."""
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    plan = fuse(program.body, context_of(program))
    made = {t for group in plan.groups for t in group.roots}
    seen = set[Any]()
    for group in plan.groups:  # an order in which they can run
        inside = {t for op in group.ops for t in op.results}
        assert not (made - seen - inside).intersection(t for op in group.ops for t in op.operands)
        seen.update(group.roots)
    return [(group.kind, len(group.ops)) for group in plan.groups]


def two_norms(x: Any) -> Any:
    """Reductions of the same rows, one after the other."""
    y = x - x.mean(-1, keepdims=True)
    return y / jnp.sqrt((y * y).mean(-1, keepdims=True) + 1e-6)


def rows_and_columns(x: Any) -> Any:
    y = jnp.exp(x)
    return y.sum(0), y.sum(1)


def transposed(x: Any) -> Any:
    return jnp.tanh(jnp.exp(x).T + 1)


def heads(x: Any) -> Any:
    b, s = x.shape[:2]
    return jnp.tanh(jnp.exp(x.reshape(b, s, 2, -1)).transpose(0, 2, 1, 3)) + 1


def reshaped(x: Any) -> Any:
    return jnp.tanh(jnp.exp(x).reshape(-1)) + 1, jnp.exp(x) * 2


def odd_and_even(x: Any) -> Any:
    """Sizes that additions made: two names for one size."""
    y = jnp.concatenate([x, x[:, :1]], 1)
    return jnp.exp(y), jnp.exp(jnp.pad(x, ((0, 0), (0, 1))))


def unrelated(x: Any, y: Any) -> Any:
    return jnp.exp(x), jnp.tanh(y)


def sum_of_all(x: Any) -> Any:
    return jnp.exp(x) / jnp.exp(x).sum()


def middle(x: Any) -> Any:
    return jnp.exp(x).sum(1) + 1


def gathered(x: Any, i: Any) -> Any:
    return softmax(x[i] * 2)


CASES: dict[str, tuple[Function, tuple[In, ...], int, int]] = {
    # name: function, inputs, kernels of DISC, kernels of BladeDISC
    "softmax": (softmax, (X,), 3, 1),
    "two norms": (two_norms, (X,), 3, 1),
    "layer norm": (layer_norm, (X, In("s"), In("s")), 3, 1),
    "chain": (chain, (X, In("s"), In("s")), 5, 1),
    "rms norm": (rms_norm, (X, In("s")), 2, 1),
    "epilogues are not fused": (dense, (X, W, In("s")), 2, 2),
    "rows and columns": (rows_and_columns, (X,), 2, 2),
    "a transpose of rank 2": (transposed, (X,), 3, 3),
    "a transpose of rank 4": (heads, (In("b, s, 8"),), 1, 1),
    "as many elements": (reshaped, (X,), 1, 1),
    "sizes that additions made": (odd_and_even, (X,), 2, 2),
    "horizontal": (unrelated, (X, X), 2, 1),
    "horizontal, other sizes": (unrelated, (X, In("s, t")), 2, 2),
    "a sum of all": (sum_of_all, (X,), 2, 1),
    "a reduction in the middle": (middle, (In("b, s, 8"),), 3, 3),
    "a gather": (gathered, (X, In("n", np.int32)), 3, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_those_of_the_papers(name: str) -> None:
    function, inputs, disc, bladedisc = CASES[name]
    found = tuple(len(kernels(fuse, function, *inputs)) for fuse in (plan_disc, plan_bladedisc))
    assert found == (disc, bladedisc)


def test_a_kernel_has_at_most_64_arguments() -> None:
    def many(*xs: Any) -> Any:
        return sum(jnp.exp(x) * k for k, x in enumerate(xs))

    assert len(kernels(plan_bladedisc, many, *[X] * 60)) == 1
    assert len(kernels(plan_bladedisc, many, *[X] * 70)) > 1


def random_inputs(inputs: tuple[In, ...], rng: np.random.Generator) -> list[NDArray[Any]]:
    sizes = {name: int(rng.integers(1, 9)) for name in ("b", "s", "t", "n")}
    arrays = list[NDArray[Any]]()
    for spec in inputs:
        shape = tuple(sizes.get(d.strip()) or int(d) for d in spec.shape.split(",") if d.strip())
        arrays.append(np.asarray(rng.standard_normal(shape), spec.dtype))
    return arrays


def compiled(module: Module, fuse: Fuse) -> Runnable:
    """Compile a program whose groups `fuse` plans."""
    artifact = compile_module(module, Request(options=FAST), Stopwatch(), fuse)
    return load(artifact, lambda part: build(part, FAST))


@pytest.mark.parametrize("rules", RULES)
def test_results_are_right(rules: str) -> None:
    """All programs as one: each part is fused by itself, and the C++ compiler is started once."""
    used = [*CASES.values(), (layers(2), (In("b, s, 16"), *LAYER, *LAYER), 0, 0)]

    def everything(*arguments: Any) -> Any:
        rest, results = list(arguments), list[Any]()
        for function, inputs, *_ in used:
            results += jax.tree.leaves(function(*rest[: len(inputs)]))
            del rest[: len(inputs)]
        return tuple(results)

    specs = tuple(spec for _, inputs, *_ in used for spec in inputs)
    text = exported(everything, specs).mlir_module()
    run = Compiled(compiled(parse_module(text, "all.mlir"), PLANNERS[rules]), None)
    rng = np.random.default_rng(5)
    for _ in range(2):
        arrays = random_inputs(specs, rng)
        for ours, wanted in zip(run(*arrays), xla_reference(text, arrays), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=1e-5)


@pytest.mark.slow
def test_results_of_random_programs_are_right() -> None:
    """Both planners against the interpreter, on other programs for each `SHLO_DISC_SEED`."""

    def prepare(fuse: Fuse) -> Prepare:
        return lambda module: twice(compiled(module, fuse).mirror)

    ways = {rules: prepare(PLANNERS[rules]) for rules in RULES}
    judge = Judge(InProcess({REFERENCE: standard_ways(TARGET)[REFERENCE], **ways}), RULES)
    plan = CheckPlan(random=3, seed=SEED * 1000, seconds=100, thresholds=True)
    report = fuzz(judge, plan, PROGRAMS, TARGET, silent)
    assert report.finding is None, str(report.finding)
    assert report.agreed >= 2 * PROGRAMS // TOGETHER


def test_artifacts_of_other_planners_are_not_cached(tmp_path: Path) -> None:
    def cached() -> list[Path]:
        return [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]

    options = replace(FAST, cache_dir=tmp_path)
    text = exported(softmax, (X,)).mlir_module()
    apart = compile_text(text, "softmax.mlir", Request(options=options), Stopwatch(), plan_disc)
    build(apart, options)
    assert not cached()
    run = shlo_disc.compile(text, device="cpu", options=options)
    assert len(cached()) == 1
    assert [len(made.report.groups) for made in (apart, run.executable.artifact)] == [3, 1]
