"""What calls from C that cannot be served say: what Python says, as far as it has such calls."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.runtime.cpu.build import build
from tests.c_package.packages import ARGUMENT, MEMORY, OK, SHAPE, Package, compiled_text, package, package_of
from tests.runtime.sample import SAMPLE

CHECKED = """
module @m {
  func.func public @main(%a: tensor<?x4xf32>, %b: tensor<?xf32>, %c: tensor<2xf32>) -> tensor<?x4xf32> {
    %s = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %t = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %u = stablehlo.multiply %t, %two : tensor<i32>
    %ok = stablehlo.compare EQ, %s, %u : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %s, %u)
        {api_version = 2 : i32, error_message = "{0} is not {1}, {2} \\"?\\n", has_side_effect = true}
        : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %r = stablehlo.exponential %a : tensor<?x4xf32>
    %y = stablehlo.add %r, %a : tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
"""
STATIC = "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {\n  return %a : tensor<3xf32>\n}"


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[shlo_disc.Compiled, Package]:
    run = compiled_text(CHECKED)
    return run, package(run, tmp_path_factory.mktemp("checked"))


def error_of(run: shlo_disc.Compiled, arrays: list[Any]) -> str:
    with pytest.raises(shlo_disc.RuntimeShapeError) as found:
        run.executable(arrays)
    return str(found.value)


def zeros(*shapes: tuple[int, ...]) -> list[Any]:
    return [np.zeros(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize(
    "shapes", [((6, 4), (4,), (2,)), ((6, 5), (3,), (2,)), ((6, 4), (3,), (3,)), ((0, 4), (1,), (2,))]
)
def test_texts_are_those_of_python(
    shapes: tuple[tuple[int, ...], ...], checked: tuple[shlo_disc.Compiled, Package]
) -> None:
    run, built = checked
    wanted = error_of(run, zeros(*shapes))
    (answer,) = built.calls([zeros(*shapes)])
    assert (answer.status, answer.message) == (SHAPE, wanted)


def test_a_static_program_says_how_to_make_it_dynamic(tmp_path: Path) -> None:
    run = compiled_text(STATIC)
    (answer,) = package(run, tmp_path).calls([zeros((4,))])
    assert (answer.status, answer.message) == (SHAPE, error_of(run, zeros((4,))))
    assert "symbolic_shape" in answer.message


def test_a_size_that_another_argument_has(tmp_path: Path) -> None:
    first, second = SAMPLE.arguments
    artifact = replace(SAMPLE, arguments=(first, replace(second, shape=("s",))), raw=((0, 0), (0, 1), (0, 1)))
    arrays = zeros((2, 3), (2,))
    with pytest.raises(shlo_disc.RuntimeShapeError) as error:
        build(artifact, shlo_disc.CompileOptions(optimize=0))(arrays)
    (answer,) = package_of(artifact, tmp_path).calls([arrays])
    assert (answer.status, answer.message) == (SHAPE, str(error.value))
    assert "found size 2, expected 3, the size s of " in answer.message


OPTIONS = 11  # words of `model_options`


class Library:
    """The shared library in this process."""

    def __init__(self, built: Package) -> None:
        self.functions = ctypes.CDLL(str(built.folder / "libmodel.so"))
        self.model = ctypes.c_void_p()
        assert self.functions.model_create(ctypes.byref(self.model), None) == OK

    def shapes(self, shapes: list[tuple[int, ...]], room: int = 4096) -> tuple[int, bytes, tuple[int, ...]]:
        message = ctypes.create_string_buffer(b"x" * (room + 8))
        found = (ctypes.c_int64 * 2)()
        status = self.functions.model_result_shapes(
            self.model, None, _rows(shapes), (ctypes.c_void_p * 1)(ctypes.addressof(found)), message, room
        )
        assert message.raw[room : room + 8] == b"x" * 8, "it wrote beyond its room"
        return status, message.value, tuple(found)

    def run(self, arrays: list[Any], result: int | None) -> tuple[int, str]:
        message = ctypes.create_string_buffer(4096)
        addresses = (ctypes.c_void_p * 3)(*[None if one is None else one.ctypes.data for one in arrays])
        shapes = _rows([(6, 4), (3,), (2,)])
        status = self.functions.model_run(
            self.model, addresses, shapes, (ctypes.c_void_p * 1)(result), message, len(message)
        )
        return status, message.value.decode()


def _rows(shapes: list[tuple[int, ...]]) -> ctypes.Array[Any]:
    rows = [(ctypes.c_int64 * len(shape))(*shape) for shape in shapes]
    found = (ctypes.c_void_p * len(rows))(*map(ctypes.addressof, rows))
    found.keep = rows  # type: ignore[attr-defined]
    return found


def test_sizes_that_no_array_has(checked: tuple[shlo_disc.Compiled, Package]) -> None:
    run, built = checked
    library = Library(built)
    assert library.shapes([(6, 4), (3,), (2,)]) == (OK, b"", (6, 4))
    status, message, _ = library.shapes([(-1, 4), (3,), (2,)])
    place = f"{run.executable.artifact.arguments[0].name}, dim 0: found size"
    assert (status, message.decode().partition("\n")[0]) == (SHAPE, f"{place} -1, expected at least 0")
    status, message, _ = library.shapes([(1 << 31, 4), (1 << 30,), (2,)])
    with pytest.raises(shlo_disc.RuntimeShapeError) as found:
        run.executable.planned([(1 << 31, 4), (1 << 30,), (2,)])  # type: ignore[attr-defined]
    assert (status, message.decode()) == (SHAPE, str(found.value))


def test_messages_are_cut_between_characters(checked: tuple[shlo_disc.Compiled, Package]) -> None:
    library = Library(checked[1])
    _, whole, _ = library.shapes([(6, 4), (4,), (2,)])
    for room in range(60):
        _, message, _ = library.shapes([(6, 4), (4,), (2,)], room)
        assert room == 0 or message == whole[: room - 1]


def test_pointers_that_are_wrong(checked: tuple[shlo_disc.Compiled, Package]) -> None:
    library = Library(checked[1])
    arrays, result = zeros((6, 4), (3,), (2,)), np.zeros((6, 4), np.float32)
    assert library.run(arrays, result.ctypes.data) == (OK, "")
    assert library.run([None, *arrays[1:]], result.ctypes.data) == (ARGUMENT, "argument 0: found no memory")
    assert library.run(arrays, None) == (ARGUMENT, "result 0: found no memory")
    aside = "result 0: found memory that is not aligned to its elements"
    assert library.run(arrays, result.ctypes.data + 2) == (ARGUMENT, aside)
    functions = library.functions
    assert functions.model_create(None, None) == ARGUMENT
    assert functions.model_run(None, None, None, None, None, 0) == ARGUMENT
    options = (ctypes.c_void_p * OPTIONS)(ctypes.c_uint32(-1).value)
    assert functions.model_create(ctypes.byref(ctypes.c_void_p()), options) == ARGUMENT
    functions.model_destroy(None)
    functions.model_destroy(library.model)


@pytest.fixture(scope="module")
def packing(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """Two products with one constant, which is packed in two forms."""
    big = np.random.default_rng(3).standard_normal((48, 96)).astype(np.float32)
    text = """
    func.func @main(%x: tensor<?x48xf32>) -> tensor<?x48xf32> {
      %w = stablehlo.constant dense<"0xHEX"> : tensor<48x96xf32>
      %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
          : (tensor<?x48xf32>, tensor<48x96xf32>) -> tensor<?x96xf32>
      %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [1]
          : (tensor<?x96xf32>, tensor<48x96xf32>) -> tensor<?x48xf32>
      return %2 : tensor<?x48xf32>
    }""".replace("HEX", big.tobytes().hex().upper())
    return package(compiled_text(text), tmp_path_factory.mktemp("packing"))


def test_no_memory_is_an_error_and_leaks_nothing(packing: Package) -> None:
    call = zeros((5, 48))
    statuses = [[one.status for one in packing.calls([call, call], allocations=count)] for count in range(6)]
    # The model, two packed forms of the constant, and the temporaries, which the second call finds again.
    assert statuses == [[MEMORY], [MEMORY], [MEMORY], [MEMORY, MEMORY], [OK, OK], [OK, OK]]


def test_packed_constants_are_what_calls_read(packing: Package) -> None:
    functions, blocks = ctypes.CDLL(str(packing.folder / "libmodel.so")), list[Any]()

    def allocate(_: object, size: int, alignment: int) -> int:
        blocks.append(ctypes.create_string_buffer(size + alignment))
        return -(-ctypes.addressof(blocks[-1]) // alignment) * alignment

    hooks = (
        ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(allocate),
        ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: None),
    )
    model, x, y = ctypes.c_void_p(), np.ones((5, 48), np.float32), np.full((5, 48), 7, np.float32)
    options = (ctypes.c_void_p * OPTIONS)(1, *[ctypes.cast(hook, ctypes.c_void_p).value for hook in hooks])
    assert functions.model_create(ctypes.byref(model), options) == OK
    given = ((ctypes.c_void_p * 1)(x.ctypes.data), _rows([(5, 48)]), (ctypes.c_void_p * 1)(y.ctypes.data), None, 0)
    assert functions.model_run(model, *given) == OK
    assert np.abs(y).max() > 1
    for block in blocks[1:3]:  # behind the model
        ctypes.memset(block, 0, len(block))
    assert functions.model_run(model, *given) == OK
    assert not y.any()
