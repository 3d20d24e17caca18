"""Programs whose values or sizes are related, in all ways to compile and to call them, at sizes that are found here.

Each is a class of silently wrong results that random programs without relations did not find.
"""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

from shlo_disc import parse, verify
from shlo_disc.check.calls import UnsteadyError, sharing, twice
from shlo_disc.check.campaign import ways_of
from shlo_disc.check.compiling import BuildConfig
from shlo_disc.check.dividing import DividingPool
from shlo_disc.check.generate.choices import RandomChoices
from shlo_disc.check.generate.jax_programs import export_at, export_programs
from shlo_disc.check.judging import Judge
from shlo_disc.check.names import ALIKE, OTHERS
from shlo_disc.check.running import InProcess, program_of, standard_ways
from shlo_disc.check.session import CheckPlan, CheckReport, check
from shlo_disc.check.thresholds import threshold_points, thresholds
from shlo_disc.host.regions import UNIT_ROWS
from shlo_disc.ir.core import Module
from shlo_disc.lower_cpu.rows import LONG_ROW
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.vector_loops import STRIP
from shlo_disc.options import CompileOptions
from tests.check.test_check import silent

Function: TypeAlias = Callable[..., Any]

CALLS = 24
TARGET = BuildConfig(CompileOptions(optimize=1, threads=1))
ALL = ("compiled", *[way for way in (*ALIKE, *OTHERS) if way not in {"compiled", "specialized"}], "xla")


def exported(function: Function, shapes: Sequence[str], dtype: str = "float32") -> Module:
    scope = export.SymbolicScope()
    with jax.enable_x64(True):
        structs = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape in shapes]
        return parse(export.export(jax.jit(function, keep_unused=True), platforms=["cpu"])(*structs).mlir_module())


def examined(module: Module, plan: CheckPlan, ways: tuple[str, ...] = ALL) -> CheckReport:
    return check(module, Judge(InProcess(standard_ways(TARGET, fast_xla=True)), ways), plan, TARGET, silent)


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * 0.1, -1) @ v


def _loss(function: Function) -> Function:
    return lambda *x: jnp.sum(function(*x) ** 2)


RELATIONS: Mapping[str, tuple[Function, Sequence[str]]] = {
    "a square reduced along its first axis, an op behind it": (lambda x: jnp.tanh(x.max(0)) * 2, ["a, a"]),
    "a sum of a function of a joined value": (
        lambda x: jnp.sum(jnp.exp(jnp.concatenate([x, 2 * x], 1)), 1),
        ["4, b"],
    ),
    "a product of a value that is joined with itself": (
        lambda x: jnp.prod(jnp.clip(jnp.tanh(jnp.concatenate([x, x], 2)) + 0.9, 0.5, 1.5), 2),
        ["a, 2, b"],
    ),
    "the gradient of attention whose queries are its keys": (
        jax.grad(_loss(lambda x, v: _attention(x, x, v)), (0, 1)),
        ["a, 16", "a, 16"],
    ),
    "the gradient of attention whose queries are its values": (
        jax.grad(_loss(lambda x, k: _attention(x, k, x)), (0, 1)),
        ["a, 16", "a, 16"],
    ),
    "the gradient of attention of one value, and that value": (
        jax.grad(_loss(lambda x: x + _attention(x, x, x))),
        ["a, 16"],
    ),
    "positions of 8 bits in 32": (lambda x: lax.iota(jnp.int8, x.shape[0]).astype(jnp.int32), ["a"]),
    "positions of 16 bits, of a longer axis": (
        lambda x: jnp.arange(x.shape[0] * 200).astype(jnp.int16).astype(jnp.int64),
        ["a"],
    ),
    "a product of positions that wraps": (
        lambda x: (lax.iota(jnp.int32, x.shape[0]) * jnp.int32(100_000_000)).astype(jnp.int64),
        ["a"],
    ),
    "rows of which some are padding": (
        lambda x: jnp.pad(x, (0, x.shape[0] // 2)).reshape(3, x.shape[0] // 2).sum(1),
        ["2*a"],
    ),
    "positions of 8 bits as indices": (lambda x: x[jnp.arange(x.shape[0]).astype(jnp.uint8)], ["a"]),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_all_ways_agree_about_related_values(name: str) -> None:
    function, shapes = RELATIONS[name]
    plan = CheckPlan(random=CALLS, seed=1, thresholds=True, distributions=("normal",), xla_calls=1, seconds=0)
    found = examined(exported(function, shapes), plan)
    assert found.finding is None, str(found.finding)
    assert found.agreed == CALLS


@pytest.mark.parametrize("name", RELATIONS)
def test_programs_that_are_compiled_for_the_sizes_of_a_call_agree(name: str) -> None:
    function, shapes = RELATIONS[name]
    plan = CheckPlan(random=6, seed=2, thresholds=True, distributions=("normal",), seconds=0)
    found = examined(exported(function, shapes), plan, ("compiled", "specialized"))
    assert found.finding is None, str(found.finding)
    assert found.agreed == 6


def test_thresholds_are_those_of_the_compiler() -> None:
    for size in (LANES, STRIP, LONG_ROW, UNIT_ROWS, 48):  # the last one: SHALLOW_DEPTH of the prelude
        assert {size - 1, size, size + 1} <= set(thresholds())


def test_sizes_come_back_and_are_affordable() -> None:
    program = program_of(exported(lambda x, y: (x + y, jnp.outer(y, y)), ["a, a", "a"]))
    points = threshold_points(program, CALLS, 0)
    assert len(points) == CALLS
    assert points[0] == points[-1]
    sizes = [next(iter(point.values())) for point in points]
    assert len(set(sizes)) > 6
    assert 512 < max(sizes) < 700


def test_equal_seeds_give_equal_functions() -> None:
    assert export_at(1, 2) == export_programs(RandomChoices(1), 2) != export_at(2, 2)


@pytest.mark.parametrize("seed", range(4))
def test_functions_are_stablehlo(seed: int) -> None:
    verify(parse(export_at(seed, 3)))


def test_every_way_has_its_turn() -> None:
    made = {way for seed in range(24) for way in ways_of(seed)}
    assert made == {*ALIKE, *OTHERS, "xla"}


SUM = """\
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


def test_a_piece_that_nobody_runs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_lost(_pool: DividingPool, extent: int) -> list[tuple[int, int]]:
        return [(0, extent // 2)]

    plan = CheckPlan(shapes={"s0": [5]}, distributions=("normal",), seconds=0)
    assert examined(parse(SUM), plan, ("compiled", "divided")).finding is None
    monkeypatch.setattr(DividingPool, "_shuffled", one_lost)
    finding = examined(parse(SUM), plan, ("compiled", "divided")).finding
    assert finding is not None
    assert (finding.failure.way, finding.failure.against) == ("divided", "compiled")


def test_a_result_that_depends_on_earlier_calls_is_found() -> None:
    before = [np.zeros(3)]

    def stale(inputs: Sequence[Any]) -> list[Any]:
        found, before[0] = before[0] + inputs[0], inputs[0].copy()
        return [found]

    with pytest.raises(UnsteadyError, match="result 0"):
        twice(stale)([np.ones(3)])


def test_an_argument_that_is_overwritten_is_found() -> None:
    def overwriting(inputs: Sequence[Any]) -> list[Any]:
        np.add(inputs[0], 1, inputs[0])
        return [inputs[0] * 2]

    with pytest.raises(UnsteadyError, match="argument 0 was overwritten"):
        twice(overwriting)([np.ones(3)])
    assert twice(overwriting, donates=True)([np.ones(3)])[0].tolist() == [4, 4, 4]


def test_equal_arguments_share_memory() -> None:
    x = np.arange(6.0)
    one, same, part, other = sharing([x, x.copy(), x[2:5].copy(), np.arange(3)])
    assert one is same
    assert np.shares_memory(one, part)
    assert not np.shares_memory(one, other)
    assert part.tolist() == [2, 3, 4]
