"""What legal runs may differ in, and what not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc import parse
from shlo_disc.check import running, xla
from shlo_disc.check.comparing import Samples, Tolerance, compare
from shlo_disc.check.rounding import perturbed_runs
from shlo_disc.check.running import program_of
from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.parse.printer import print_module

pytestmark = pytest.mark.quick

LAYOUTS = "dense<[0, 1]> : tensor<2xindex>", "dense<0> : tensor<1xindex>", "dense<> : tensor<0xindex>"
SPECTRAL = f"""
func.func @main(%a: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>) {{
  %0:3 = stablehlo.custom_call @lapack_dsyevd_ffi(%a) {{mhlo.backend_config = {{mode = 86 : ui8, uplo = 76 : ui8}},
    operand_layouts = [{LAYOUTS[0]}], result_layouts = [{", ".join(LAYOUTS)}]}}
    : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xf64>, tensor<i32>)
  %1 = stablehlo.broadcast_in_dim %0#1, dims = [1] : (tensor<3xf64>) -> tensor<3x3xf64>
  %2 = stablehlo.multiply %0#0, %1 : tensor<3x3xf64>
  %3 = stablehlo.dot_general %2, %0#0, contracting_dims = [1] x [1]
    : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0#0, %0#1, %3 : tensor<3x3xf64>, tensor<3xf64>, tensor<3x3xf64>
}}
"""


def test_vectors_have_any_sign_and_their_products_one() -> None:
    a = np.array([[2.0, 1.0, 0.5], [1.0, -1.0, 0.25], [0.5, 0.25, 0.75]])
    runs = perturbed_runs(program_of(parse(SPECTRAL)), [a], range(16), "compiled")
    first = runs[0]
    assert {tuple(np.sign(vectors[0])) for vectors, _, _ in runs} > {tuple(np.sign(first[0][0]))}
    for vectors, values, product in runs:
        np.testing.assert_allclose(abs(vectors), abs(first[0]), rtol=1e-12)
        np.testing.assert_allclose(values, first[1], rtol=1e-12)
        np.testing.assert_allclose(product, a, rtol=1e-12, atol=1e-13)


def test_sums_of_short_terms_round_unless_they_fit() -> None:
    """What 11 digits hold may cancel: it rounds as the terms do, not as what is left. Small integers never round."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<32x145xf32>) -> tensor<32x32xf32> {\n"
            "  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] :"
            " (tensor<32x145xf32>, tensor<32x145xf32>) -> tensor<32x32xf32>\n"
            "  return %0 : tensor<32x32xf32>\n}"
        )
    )
    rng = np.random.default_rng()
    short = rng.standard_normal((32, 145)).astype(np.float16).astype(np.float32)
    runs = np.array([run[0] for run in perturbed_runs(program, [short], range(32), "compiled")])
    unit = np.spacing(abs(short) @ abs(short).T)
    assert (np.ptp(runs, axis=0) >= unit)[~np.eye(32, dtype=bool)].mean() > 0.99
    whole = rng.integers(-8, 9, (32, 145)).astype(np.float32)
    whole[0] = 7  # its square, 7105, has more digits than are taken for exact where nothing is known of the terms
    for run in perturbed_runs(program, [whole], range(32), "compiled"):
        np.testing.assert_array_equal(run[0], whole @ whole.T)


EQUAL_COLUMNS = {
    "a product": """
func.func @main(%x: tensor<40x7xf32>, %w: tensor<7x4xf32>) -> tensor<40x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] :
    (tensor<40x7xf32>, tensor<7x4xf32>) -> tensor<40x4xf32>
  return %0 : tensor<40x4xf32>
}""",
    "a reduction": """
func.func @main(%x: tensor<40x7xf32>, %w: tensor<7x4xf32>) -> tensor<40x4xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<40x7xf32>) -> tensor<40x7x4xf32>
  %1 = stablehlo.broadcast_in_dim %w, dims = [1, 2] : (tensor<7x4xf32>) -> tensor<40x7x4xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<40x7x4xf32>
  %3 = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1] :
    (tensor<40x7x4xf32>, tensor<f32>) -> tensor<40x4xf32>
  return %4 : tensor<40x4xf32>
}""",
}


@pytest.mark.parametrize("name", EQUAL_COLUMNS)
def test_equal_sums_are_equal_in_some_runs_and_not_in_others(name: str) -> None:
    """The cosines of large sums, of which each has its own error, come nearer to -1 than those of a few equal ones."""
    rng = np.random.default_rng()
    inputs = [rng.standard_normal((40, 7), np.float32), np.repeat(rng.standard_normal((7, 1), np.float32), 4, axis=1)]
    runs = [run[0] for run in perturbed_runs(program_of(parse(EQUAL_COLUMNS[name])), inputs, range(32), "compiled")]
    equal = [bool((run == run[:, :1]).all()) for run in runs]
    assert len({run.tobytes() for run, is_equal in zip(runs, equal, strict=True) if is_equal}) > 4
    assert equal.count(False) > 16


ROOTS = {"tanh": 0, "sine": 0, "exponential_minus_one": 0, "log_plus_one": 0, "cbrt": 0, "log": 1}


@pytest.mark.parametrize("name", ROOTS)
def test_functions_are_zero_where_their_exact_result_is(name: str) -> None:
    """Infinity times what a difference leaves is NaN in the one run and infinite in another: both are legal."""
    text = (
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        f"  %0 = stablehlo.{name} %x : tensor<4xf32>\n"
        "  return %0 : tensor<4xf32>\n}"
    )
    root = ROOTS[name]
    x = np.array([root, -0.0 if root == 0 else root, 1e-45, 0.5], np.float32)
    runs = np.array([run[0] for run in perturbed_runs(program_of(parse(text)), [x], range(64), "compiled")])
    np.testing.assert_array_equal(runs[:, :2], 0)
    assert name in ("cbrt", "log") or (runs[:, 2] == 0).any(), "a subnormal number may be flushed"
    assert np.unique(runs[:, 3]).size > 1


NUMBERS = np.arange(1, 200, dtype=np.float32)
# Texts that make the divisor `%d`, and whether XLA divides by it; else it multiplies with the reciprocal.
DIVISORS = {
    "scalar": ("%d = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<199xf32>", False),
    "iota": (
        "%i = stablehlo.iota dim = 0 : tensor<199xf32>\n"
        "  %o = stablehlo.constant dense<1.0> : tensor<199xf32>\n  %d = stablehlo.add %i, %o : tensor<199xf32>",
        True,
    ),
    "literal": (f"%d = stablehlo.constant dense<{NUMBERS.tolist()}> : tensor<199xf32>", False),
    "rows": (
        "%m = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<199xf32>) -> tensor<199x1xf32>\n"
        "  %d = stablehlo.reshape %m : (tensor<199x1xf32>) -> tensor<199xf32>",
        True,
    ),
    "argument": ("%d = stablehlo.negate %n : tensor<199xf32>", True),
}


@pytest.mark.parametrize("name", DIVISORS)
def test_quotients_of_xla_are_among_the_legal_ones(name: str) -> None:
    """`n / n` may not be 1 where XLA multiplies with a reciprocal: legal runs reach that; those of ours stay at 1."""
    line, divides = DIVISORS[name]
    module = parse(
        "func.func @main(%x: tensor<199xf32>, %n: tensor<199xf32>, %s: tensor<f32>) -> tensor<199xf32> {\n"
        f"  {line}\n  %q = stablehlo.divide %x, %d : tensor<199xf32>\n  return %q : tensor<199xf32>\n}}"
    )
    # XLA divides by 41 through a reciprocal that is not exact.
    x = np.full(199, 41, np.float32) if name == "scalar" else -NUMBERS if name == "argument" else NUMBERS
    inputs = [x, NUMBERS, np.array(41, np.float32)]
    found = np.asarray(xla.XlaRunner(print_module(module))(inputs)[0])
    program = program_of(module)
    runs = np.array([run[0] for run in perturbed_runs(program, inputs, range(64), "xla")])
    assert (runs.min(0) <= found).all()
    assert (found <= runs.max(0)).all()
    assert (found == 1).all() == divides
    for run in perturbed_runs(program, inputs, range(4), "compiled"):
        np.testing.assert_array_equal(run[0], 1)


def _drawn(*values: NDArray[Any]) -> Samples:
    return lambda _result, numbers: [values[number % len(values)] for number in numbers]


@pytest.mark.parametrize(
    ("values", "is_right"), [((7, 7), False), ((7, 8), False), ((4, 8), True), ((7, 8, 9), True), ((7, 8, 1, 9), True)]
)
def test_an_integer_of_many_values_is_not_compared(values: tuple[int, ...], is_right: bool) -> None:
    found, expected = [np.array([5], np.int32)], [np.array([7], np.int32)]
    runs = _drawn(*[np.array([value], np.int32) for value in values])
    assert (compare(found, expected, runs, Tolerance(), frozenset()) is None) == is_right


def test_a_size_has_to_come_up_in_a_run() -> None:
    found, expected = [np.zeros(3, np.int32)], [np.zeros(4, np.int32)]
    assert compare(found, expected, _drawn(expected[0], found[0]), Tolerance(), frozenset()) is None
    assert compare(found, expected, _drawn(expected[0]), Tolerance(), frozenset()) is not None


def test_elements_are_not_compared_where_rounding_decides_a_size() -> None:
    """How often a loop runs depends on the cosine of a large sum: all that it computes does, in every result."""
    right, other = np.zeros(3, np.float32), np.zeros(4, np.float32)
    wrong = np.ones(3, np.float32)
    assert compare([wrong], [right], _drawn(other), Tolerance(), frozenset()) is None
    assert compare([wrong], [right], _drawn(right), Tolerance(), frozenset()) is not None
    assert compare([wrong, other], [right, right], _drawn(right, other), Tolerance(), frozenset()) is None
    assert compare([wrong, other], [right, right], _drawn(right), Tolerance(), frozenset()) is not None


def _compared(found: float, *runs: float) -> bool:
    values = [np.array([value], np.float32) for value in runs]

    def samples(_result: int, numbers: range) -> list[NDArray[np.float32]]:
        return [values[number % len(values)] for number in numbers]

    return compare([np.array([found], np.float32)], values[:1], samples, Tolerance(), frozenset()) is None


def test_what_overflows_in_some_runs_may_be_any_larger_number() -> None:
    assert _compared(3e38, 1e38, np.inf)
    assert _compared(3e38, np.inf, 1e38)
    assert _compared(-3e38, -1e38, -np.inf)
    assert not _compared(-3e38, 1e38, np.inf)
    assert not _compared(0.5e38, 1e38, np.inf)
    assert not _compared(3e38, np.inf, np.inf)
    assert not _compared(3e38, 1e38, 1e38)


def test_a_product_that_overflows_may_be_added_unrounded() -> None:
    program = program_of(
        parse(
            "func.func @main(%x: tensor<1x3xf32>, %y: tensor<3x1xf32>) -> tensor<1x1xf32> {\n"
            "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]\n"
            "    : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<1x1xf32>\n"
            "  return %0 : tensor<1x1xf32>\n}"
        )
    )
    x, y = np.array([[np.inf, -1e20, 1]], np.float32), np.array([[1], [1e20], [1]], np.float32)
    found = [float(run[0][0, 0]) for run in perturbed_runs(program, [x, y], range(8), "compiled")]
    assert np.inf in found
    assert any(map(np.isnan, found))


def test_narrow_sums_of_several_results_may_be_wide() -> None:
    """One after the other they stop at 256, where 1 is half a unit; partial sums do not."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<700xbf16>) -> tensor<bf16> {\n"
            "  %c = stablehlo.constant dense<0.0> : tensor<bf16>\n"
            "  %0:2 = stablehlo.reduce(%x init: %c), (%x init: %c) across dimensions = [0]\n"
            "    : (tensor<700xbf16>, tensor<700xbf16>, tensor<bf16>, tensor<bf16>) -> (tensor<bf16>, tensor<bf16>)\n"
            "    reducer(%a: tensor<bf16>, %b: tensor<bf16>) (%d: tensor<bf16>, %e: tensor<bf16>) {\n"
            "    %1 = stablehlo.add %a, %b : tensor<bf16>\n"
            "    %2 = stablehlo.add %d, %e : tensor<bf16>\n"
            "    stablehlo.return %1, %2 : tensor<bf16>, tensor<bf16>\n  }\n"
            "  return %0#0 : tensor<bf16>\n}"
        )
    )
    runs = perturbed_runs(program, [np.ones(700, numpy_dtype(DType.BF16))], range(8), "compiled")
    found = [float(run[0]) for run in runs]
    assert min(found) < 300
    assert max(found) > 650


def test_terms_that_overflow_may_be_added_one_after_the_other() -> None:
    """The largest two of opposite signs: NaN, an infinity of either sign, or what their sum in f64 is."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<1x4xf32>, %y: tensor<4x1xf32>) -> tensor<1x1xf32> {\n"
            "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]\n"
            "    : (tensor<1x4xf32>, tensor<4x1xf32>) -> tensor<1x1xf32>\n"
            "  return %0 : tensor<1x1xf32>\n}"
        )
    )
    x, y = np.array([[1e20, 0, -1e20, 1]], np.float32), np.array([[1e25], [0], [2e24], [1]], np.float32)
    found = np.array([run[0][0, 0] for run in perturbed_runs(program, [x, y], range(64), "compiled")])
    assert np.isnan(found).any()
    assert {np.inf, -np.inf} <= set(found[~np.isnan(found)].tolist())
    x[0, 2] = 0
    found = np.array([run[0][0, 0] for run in perturbed_runs(program, [x, y], range(64), "compiled")])
    assert np.isposinf(found).all()


@pytest.mark.parametrize("name", ["reduce_window", "scatter"])
def test_a_region_runs_once_for_each_position_in_a_legal_run(name: str) -> None:
    """And once more for the magnitudes of the terms; it also ran for their number."""
    body = (
        "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %2 = stablehlo.add %a, %b : tensor<f32>\n"
        "    stablehlo.return %2 : tensor<f32>\n"
    )
    texts = {
        "reduce_window": "%x: tensor<9xf32>) -> tensor<5xf32> {\n"
        "  %0 = stablehlo.constant dense<0.0> : tensor<f32>\n"
        '  %1 = "stablehlo.reduce_window"(%x, %0) <{window_dimensions = array<i64: 5>}> ({\n'
        f"{body}  }}) : (tensor<9xf32>, tensor<f32>) -> tensor<5xf32>\n  return %1 : tensor<5xf32>\n}}",
        "scatter": "%x: tensor<9xf32>) -> tensor<9xf32> {\n"
        "  %0 = stablehlo.constant dense<[[3], [3], [3], [3], [3]]> : tensor<5x1xi32>\n"
        "  %3 = stablehlo.slice %x [0:5] : (tensor<9xf32>) -> tensor<5xf32>\n"
        '  %1 = "stablehlo.scatter"(%x, %0, %3) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        f"{body}  }}) : (tensor<9xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<9xf32>\n"
        "  return %1 : tensor<9xf32>\n}",
    }
    adds = list[int]()

    def watch(op: Op[object], results: Arrays) -> None:
        adds.extend(x.size for x in results if op.name == "add")

    program = program_of(parse("func.func @main(" + texts[name]))
    perturbed_runs(program, [np.arange(9, dtype=np.float32) / 3], [0], "compiled", lambda _: watch)
    assert len(adds) == 5 * 2


def test_legal_runs_of_a_result_leave_out_what_only_others_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs whose data decides sizes ran as a whole, hundreds of times for one result."""
    module = parse(
        """func.func @main(%n: tensor<3xi32>, %y: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %3 = stablehlo.sine %y : tensor<4xf32>
  %4 = stablehlo.exponential %2 : tensor<?xf32>
  return %4, %3, %2 : tensor<?xf32>, tensor<4xf32>, tensor<?xf32>
}"""
    )
    assert program_of(module).late
    ran = list[Program]()

    def watched(program: Program, *rest: Any) -> list[list[NDArray[Any]]]:
        ran.append(program)
        return perturbed_runs(program, *rest)

    monkeypatch.setattr(running, "perturbed_runs", watched)
    inputs = [np.array([1, 2, 2], np.int32), np.ones(4, np.float32)]
    ways = running.InProcess({})
    whole = perturbed_runs(program_of(module), inputs, [0], "compiled")[0]
    for result, name in enumerate(["exponential", "sine"]):
        (found,) = ways.samples("compiled", module, inputs, result, range(1))
        np.testing.assert_allclose(found, whole[result], rtol=1e-6)
        assert {op.name for op in ran[-1].body.walk()} & {"exponential", "sine"} == {name}
    assert [x.tolist() for x in ways.samples("compiled", module, inputs, 2, range(1))] == [[0, 1, 2, 3, 4]]


def test_what_a_triangular_solution_cancels_is_rounded_in_finer_steps_in_some_runs() -> None:
    """Fused multiply-add leaves less of it than any order of rounded products does."""
    program = program_of(
        parse(
            "func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x1xf32>) -> tensor<3x1xf32> {\n"
            '  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a ='
            " #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}>"
            " : (tensor<3x3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>\n"
            "  return %0 : tensor<3x1xf32>\n}"
        )
    )
    rng = np.random.default_rng()
    a = np.tril(rng.uniform(0.5, 1.5, (3, 3))).astype(np.float32)
    a[2, 2] = 1.0
    b = a @ np.array([[1], [1], [0]], np.float32)
    left = np.array([run[0][2, 0] for run in perturbed_runs(program, [a, b], range(32), "compiled")], np.float64)
    assert (abs(left) < 1e-5).all()
    steps = left * 2**25  # where each term is rounded, its steps are at least these
    assert (abs(steps - np.rint(steps)) > 1e-2).any()


def test_sums_that_are_rounded_once_are_among_the_legal_ones() -> None:
    """Of sums near 1e29 nothing but rounding decides the sine, and the least of seven is seldom the largest one."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<7x9xf32>) -> tensor<7xf32> {\n"
            "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]"
            " : (tensor<7x9xf32>, tensor<f32>) -> tensor<7xf32>\n"
            "  %1 = stablehlo.sine %0 : tensor<7xf32>\n"
            "  return %1 : tensor<7xf32>\n}"
        )
    )
    x = (np.random.default_rng().normal(size=(7, 9)) * 1e29).astype(np.float32)
    wanted = np.sin(x.astype(np.float64).sum(1).astype(np.float32).astype(np.float64))
    runs = np.array([run[0] for run in perturbed_runs(program, [x], range(128), "compiled")])
    assert np.isclose(runs, wanted, rtol=1e-5, atol=1e-5).all(axis=1).any()
