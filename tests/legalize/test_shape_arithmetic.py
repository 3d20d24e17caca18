"""Shape arithmetic on dims is StableHLO's integer arithmetic, for every size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

UNARY_FNS = (UnaryFn.NEGATE, UnaryFn.ABS, UnaryFn.SIGN)
BINARY_FNS = (
    BinaryFn.ADD,
    BinaryFn.SUBTRACT,
    BinaryFn.MINIMUM,
    BinaryFn.MAXIMUM,
    BinaryFn.DIVIDE,
    BinaryFn.REMAINDER,
    BinaryFn.MULTIPLY,
)
COMPARISONS = {"LT": np.less, "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal}
I32 = "tensor<i32>"
START = 4  # values before the first step: two sizes, two constants

steps = st.lists(
    st.tuples(
        st.sampled_from((*UNARY_FNS, *BINARY_FNS, *COMPARISONS)),
        *(st.integers(0, 100) for _ in range(4)),
    ),
    min_size=1,
    max_size=6,
)


@given(steps, st.integers(0, 9), st.integers(0, 9), st.integers(-4, 4), st.integers(-4, 4))
def test_dims_compute_what_integers_compute(
    program: list[tuple[UnaryFn | BinaryFn | str, int, int, int, int]], m: int, n: int, c: int, d: int
) -> None:
    """A step takes values by number; a comparison selects between two more."""
    lines = [f"%{k} = stablehlo.get_dimension_size %x, dim = {k} : (tensor<?x?xf32>) -> {I32}" for k in (0, 1)]
    lines += [f"%{k + 2} = stablehlo.constant dense<{v}> : {I32}" for k, v in enumerate((c, d))]
    values = [np.array(v, np.int32) for v in (m, n, c, d)]
    for number, (fn, *picked) in enumerate(program, START):
        i, j, then, other = (pick % number for pick in picked)
        if isinstance(fn, UnaryFn):
            lines.append(f"%{number} = stablehlo.{fn.value.name} %{i} : {I32}")
            found = fn.value.evaluate(values[i])
        elif isinstance(fn, BinaryFn):
            # dims simplify a division as if its divisor were not 0
            assume(fn not in (BinaryFn.DIVIDE, BinaryFn.REMAINDER) or values[j] != 0)
            lines.append(f"%{number} = stablehlo.{fn.value.name} %{i}, %{j} : {I32}")
            found = fn.value.evaluate(values[i], values[j])
        else:
            lines.append(f"%p{number} = stablehlo.compare {fn}, %{i}, %{j}, SIGNED : ({I32}, {I32}) -> tensor<i1>")
            lines.append(f"%{number} = stablehlo.select %p{number}, %{then}, %{other} : tensor<i1>, {I32}")
            found = values[then if COMPARISONS[fn](values[i], values[j]) else other]
        values.append(np.asarray(found, np.int32))
    body = "\n".join([*lines, f"return %{len(values) - 1} : {I32}"])
    text = f"func.func public @main(%x: tensor<?x?xf32>) -> {I32} {{\n{body}\n}}"
    assert interpret(legalize(parse_module(text)), [np.zeros((m, n), np.float32)]) == [values[-1]]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_scalars_are_for_all_elements(count: int) -> None:
    """Bounds and a condition may be scalars, also of arrays without an element."""
    vector = f"tensor<{count}xi32>"
    values = np.arange(count, dtype=np.int32) - 1
    text = f"""func.func @main() -> ({vector}, {vector}) {{
      %x = stablehlo.constant dense<{values.tolist() or ""}> : {vector}
      %y = stablehlo.constant dense<7> : {vector}
      %least = stablehlo.constant dense<0> : {I32}
      %most = stablehlo.constant dense<1> : {I32}
      %either = stablehlo.constant dense<true> : tensor<i1>
      %0 = stablehlo.clamp %least, %x, %most : ({I32}, {vector}, {I32}) -> {vector}
      %1 = stablehlo.select %either, %x, %y : tensor<i1>, {vector}
      return %0, %1 : {vector}, {vector}
    }}"""
    clamped, selected = interpret(legalize(parse_module(text)), [])
    np.testing.assert_array_equal(clamped, np.clip(values, 0, 1))
    np.testing.assert_array_equal(selected, values)
