"""Integers at the ends of 64 bits in generated code: C has no literal of the least one, and none beyond."""

from __future__ import annotations

import ctypes
from pathlib import Path
from random import Random

import numpy as np
import pytest

import shlo_disc
from shlo_disc.device import headers
from shlo_disc.emit.indices import size_name
from shlo_disc.expr.dim import Dim, FloorDiv, Max, Min, Mod, Sym, const, maximum, minimum, of
from shlo_disc.lower_cuda.host_parts import ARITHMETIC, print_dim
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.conftest import SEED
from tests.emulator.device import EmulatedDevice

OPTIONS = CompileOptions(optimize=0)
LEAST, LARGEST = -(2**63), 2**63 - 1
ENDS = (LEAST, LEAST, LEAST + 1, LARGEST, LARGEST - 1, 0, 1, -1, 2, -2, 3, 1 << 62, -(1 << 62), 1 << 32)
NAMES = ("a", "b", "c")
COUNT = 200


def drawn(random: Random, depth: int) -> Dim:
    """A sum of symbols, and of quotients, minima and so on of such, with numbers at the ends of 64 bits."""
    found = const(random.choice(ENDS))
    for _ in range(random.randint(1, 2)):
        found += _factor(random, depth) * random.choice((1, 1, -1, random.choice(ENDS)))
    return found


def _factor(random: Random, depth: int) -> Dim:
    if depth == 0 or random.random() < 0.4:
        return of(Sym(random.choice(NAMES)))
    one, other = drawn(random, depth - 1), drawn(random, depth - 1)
    return random.choice((one // 3, one % 5, minimum(one, other), maximum(one, other), one // LARGEST))


def fits(dim: Dim, values: dict[Sym, int]) -> bool:
    """Whether C computes a dim without an overflow: its terms one after the other, each from left to right."""
    total = 0
    for number, (atoms, weight) in enumerate(dim.terms):
        found = 1
        for factor in (*map(of, atoms), const(weight)):
            found *= factor.evaluate(values)
            if not LEAST <= found <= LARGEST:
                return False
        total = total + found if number else found
        if not LEAST <= total <= LARGEST or not all(fits(part, values) for atom in atoms for part in _parts(atom)):
            return False
    return True


def _parts(atom: object) -> tuple[Dim, ...]:
    match atom:
        case FloorDiv(one, other) | Mod(one, other):
            return one, other
        case Min(members) | Max(members):
            return tuple(members)
        case _:
            return ()


def compiled(functions: list[str], folder: Path) -> ctypes.CDLL:
    source, target = folder / "sizes.cc", folder / "sizes.o"
    source.write_text("\n".join(["#include <stdint.h>", ARITHMETIC, *functions]))
    compiler = find_compiler()
    compiler.compile(source, target, 0, (headers.ROOT,))
    compiler.link([target], folder / "sizes.so")
    return ctypes.CDLL(str(folder / "sizes.so"))


def function(name: str, text: str) -> str:
    sizes = [f"const int64_t {size_name(one)} = v[{k}]; (void){size_name(one)};" for k, one in enumerate(NAMES)]
    return "\n".join([f'extern "C" int64_t {name}(const int64_t* v) {{', *sizes, f"return {text};", "}"])


def test_sizes_mean_in_c_what_they_mean_in_python(tmp_path: Path) -> None:
    random, cases = Random(SEED), list[tuple[Dim, Dim, dict[Sym, int]]]()
    while len(cases) < COUNT:
        one, other = drawn(random, 2), random.choice((const(random.choice(ENDS)), drawn(random, 1)))
        values = {Sym(name): random.choice(ENDS) + random.choice((0, 0, 1, 5)) for name in NAMES}
        if max(values.values()) <= LARGEST and fits(one, values) and fits(other, values):
            cases.append((one, other, values))
    functions = list[str]()
    for k, (one, other, _) in enumerate(cases):
        texts = print_dim(one), print_dim(other)
        functions += [function(f"value{k}", texts[0]), function(f"compared{k}", f"{texts[0]} >= {texts[1]}")]
    library, wrong = compiled(functions, tmp_path), list[str]()
    for k, (one, other, values) in enumerate(cases):
        given = (ctypes.c_int64 * len(NAMES))(*(values[Sym(name)] for name in NAMES))
        value = one.evaluate(values)
        for name, wanted in (("value", value), ("compared", value >= other.evaluate(values))):
            call = library[f"{name}{k}"]
            call.restype = ctypes.c_int64
            if (found := call(given)) != wanted:
                wrong.append(f"{name} of {print_dim(one)}, {print_dim(other)} at {values}: {found}, expected {wanted}")
    assert not wrong, f"{len(wrong)} of {COUNT}:\n" + "\n".join(wrong[:5])
    assert sum(" - 1)" in text for text in functions) > COUNT // 4, "most cases have no least integer"


ONE_NUMBER = """
func.func @main(%x: tensor<?xi64>, %y: tensor<i64>)
    -> (tensor<i1>, tensor<i64>, tensor<i64>, tensor<f64>, tensor<i64>) {
  %c = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %s = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xi64>) -> tensor<i32>
  %n = stablehlo.convert %s : (tensor<i32>) -> tensor<i64>
  %m = stablehlo.add %n, %c : tensor<i64>
  %0 = stablehlo.compare GE, %m, %y : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %1 = stablehlo.maximum %m, %y : tensor<i64>
  %2 = stablehlo.divide %m, %y : tensor<i64>
  %3 = stablehlo.convert %m : (tensor<i64>) -> tensor<f64>
  %4 = stablehlo.minimum %m, %n : tensor<i64>
  return %0, %1, %2, %3, %4 : tensor<i1>, tensor<i64>, tensor<i64>, tensor<f64>, tensor<i64>
}
"""
MANY_NUMBERS = """
func.func @main(%x: tensor<40x3xi64>) -> (tensor<40x3xi1>, tensor<40xf64>, tensor<40xi1>) {
  %c = stablehlo.constant dense<-9223372036854775808> : tensor<40xi64>
  %i = stablehlo.iota dim = 0 : tensor<40xi64>
  %m = stablehlo.add %i, %c : tensor<40xi64>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<40xi64>) -> tensor<40x3xi64>
  %0 = stablehlo.compare GE, %x, %b : (tensor<40x3xi64>, tensor<40x3xi64>) -> tensor<40x3xi1>
  %1 = stablehlo.convert %m : (tensor<40xi64>) -> tensor<40xf64>
  %2 = stablehlo.compare GE, %m, %c : (tensor<40xi64>, tensor<40xi64>) -> tensor<40xi1>
  return %0, %1, %2 : tensor<40x3xi1>, tensor<40xf64>, tensor<40xi1>
}
"""


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_kernels_compute_with_the_least_integer(device: str) -> None:
    def run(text: str, *arrays: object) -> list[np.ndarray]:
        if device == "cpu":
            return [np.asarray(one) for one in shlo_disc.compile(text, device="cpu", options=OPTIONS)(*arrays)]
        return [np.asarray(one) for one in compile_for(CudaBackend(EmulatedDevice()), text, OPTIONS)(*arrays)]

    for y in (5, -7, LEAST, LARGEST):
        found = run(ONE_NUMBER, np.zeros(3, np.int64), np.asarray(y))
        at = LEAST + 3
        quotient = abs(at) // abs(y) * (-1 if y > 0 else 1)
        assert [one.item() for one in found] == [at >= y, max(at, y), quotient, float(at), at]
    x = np.array([[LEAST, LEAST + 7, LARGEST]] * 40)
    lines = [LEAST + k for k in range(40)]
    found = run(MANY_NUMBERS, x)
    np.testing.assert_array_equal(found[0], [[int(one) >= line for one in x[0]] for line in lines])
    np.testing.assert_array_equal(found[1], np.array(lines, float))
    assert found[2].all()


def test_a_check_beyond_64_bits_compiles_and_is_computed_in_python() -> None:
    text = """
    func.func @main(%n: tensor<i64>) -> tensor<?xi32> {
      %c = stablehlo.constant dense<9223372036854775807> : tensor<i64>
      %0 = stablehlo.multiply %n, %c : tensor<i64>
      %1 = stablehlo.multiply %0, %c : tensor<i64>
      %ok = stablehlo.compare GE, %1, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%ok) {error_message = "less", has_side_effect = true} : (tensor<i1>) -> ()
      %d = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
      %r = stablehlo.dynamic_iota %d, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
      return %r : tensor<?xi32>
    }
    """
    run = shlo_disc.compile(text, device="cpu", options=OPTIONS)
    assert np.asarray(run(np.asarray(0))[0]).shape == (0,)
    with pytest.raises(shlo_disc.RuntimeShapeError, match="does not overflow i64"):
        run(np.asarray(1 << 40))
