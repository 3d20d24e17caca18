"""Literals become the bytes that NumPy would hold."""

# jaxlib's MLIR bindings are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from shlo_disc.diagnostics import NOWHERE, ParseError
from shlo_disc.ir.attributes import DenseAttr, TensorType
from shlo_disc.ir.core import Module
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute, spell_type
from shlo_disc.parse.literals import decode_dense
from shlo_disc.parse.parser import parse_module, parse_modules
from shlo_disc.verify.ops import verify_ops


def decode(spelling: str, dtype: DType, *shape: int) -> bytes:
    return decode_dense(spelling, TensorType(shape, dtype), NOWHERE).data


@pytest.mark.parametrize(
    ("spelling", "dtype", "shape", "data"),
    [
        ("true", DType.I1, (3,), "01"),
        ("[true, false]", DType.I1, (2,), "0100"),
        ("[[1], [-2]]", DType.I16, (2, 1), "0100feff"),
        ("18446744073709551615", DType.UI64, (), "ff" * 8),
        ("255", DType.I8, (), "ff"),
        ("[-1, 7]", DType.I4, (2,), "ff07"),
        ("1.5", DType.F32, (2,), "0000c03f"),
        ("0xFF800000", DType.F32, (), "000080ff"),
        ("[1.0, 0x7FC00000]", DType.F32, (2,), "0000803f0000c07f"),
        ("1.0", DType.F16, (), "003c"),
        ("[1.0, 0x7F80]", DType.BF16, (2,), "803f807f"),
        ("1.0", DType.F8E4M3FN, (), "38"),
        ("(1.0,-2.0)", DType.C64, (4,), "0000803f000000c0"),
        ("[(0x7FC00000,0.0)]", DType.C64, (1,), "0000c07f00000000"),
        ('"0x0000803F000000C0"', DType.F32, (2,), "0000803f000000c0"),
        ('"0x00FF02"', DType.I1, (3,), "000101"),
        ('"0x0FF7"', DType.I4, (2,), "ff07"),
        ('"0xF7"', DType.UI2, (1,), "03"),
        ('"0x"', DType.F32, (0,), ""),
        ("[[], []]", DType.F32, (2, 0), ""),
        ("[1.0, // first\n 2.0 // second\n]", DType.F16, (2,), "003c0040"),
        ("0xFF", DType.I8, (), "ff"),
        ("", DType.F32, (0, 3), ""),
        ("[]", DType.I32, (0,), ""),
        ("1.0e39", DType.F32, (), "0000807f"),
    ],
)
def test_bytes(spelling: str, dtype: DType, shape: tuple[int, ...], data: str) -> None:
    assert decode(spelling, dtype, *shape) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("spelling", "dtype", "shape", "expected"),
    [
        ("1_000", DType.I32, (), "elements of type i32, found '_'"),
        ("nan", DType.F32, (), "elements of type f32, found 'n'"),
        ("256", DType.I8, (), "found '256', which does not fit"),
        ("-1", DType.UI8, (), "found '-1', which does not fit"),
        ("2", DType.I1, (), "elements of type i1, found '2'"),
        ("0x1FFFFFFFF", DType.F32, (), "the bit pattern '0x1FFFFFFFF', which does not fit"),
        ("[1, 2]", DType.I32, (2, 1), "lists nested as 2x1"),
        ("[1]", DType.I32, (10**17, 10**17), "lists nested as"),
        ("", DType.I32, (2,), "2 elements, found an empty literal"),
        ('"0x00"', DType.I32, (2,), "2 elements of 4 bytes, found 1 bytes"),
        ('"0x0000000"', DType.I8, (3,), "pairs of hexadecimal digits"),
        ('"0x0000 0"', DType.I8, (3,), "pairs of hexadecimal digits"),
        ('"abc"', DType.I8, (3,), 'a hexadecimal string "0x…"'),
        ("(1.0)", DType.C64, (), "elements of type complex<f32>"),
    ],
)
def test_what_is_no_literal(spelling: str, dtype: DType, shape: tuple[int, ...], expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        decode(spelling, dtype, *shape)
    assert expected in caught.value.message


@pytest.mark.parametrize(
    ("spelling", "dtype", "shape", "printed"),
    [
        ("1", DType.F32, (), 'dense<"0x0000803F">'),
        ('"0x0000803f"', DType.F32, (4,), 'dense<"0x0000803F">'),
        ("[0.1, 0xFF800000]", DType.F32, (2,), "dense<[0.1, 0xFF800000]>"),
        ("[[], []]", DType.F32, (2, 0), "dense<>"),
    ],
)
def test_spellings_that_mlir_reads(spelling: str, dtype: DType, shape: tuple[int, ...], printed: str) -> None:
    literal = decode_dense(spelling, TensorType(shape, dtype), NOWHERE)
    text = spell_attribute(literal)
    assert text.partition(" : ")[0] == printed
    with mlir.make_ir_context():
        assert ir.Attribute.parse(text).type == ir.Type.parse(spell_type(literal.type))


def long_literal(count: int, *, broken: str = "") -> str:
    """Write a module with a literal of so many bytes that it is left in the text."""
    digits = "".join([f"{k % 251:02X}" for k in range(count)]) + broken
    op = f'stablehlo.constant dense<"0x{digits}"> : tensor<{count}xui8>'
    return f"func.func @main() -> tensor<{count}xui8> {{\n  %0 = {op}\n  return %0 : tensor<{count}xui8>\n}}\n"


def only_literal(module: Module) -> DenseAttr:
    found = next(module.walk()).attributes["value"]
    assert isinstance(found, DenseAttr)
    return found


@pytest.mark.parametrize("comment", ["", '// dense<"0x\n', f'// dense<"0x{"0" * 5000}">\n', '#a = "\\"dense<" "0x"\n'])
def test_long_literals_stay_in_the_text(comment: str) -> None:
    module = parse_module(comment.replace('" "0x"', '"') + long_literal(5000))
    literal = only_literal(module)
    assert literal.data == bytes(k % 251 for k in range(5000))
    assert not literal.spelling
    assert only_literal(parse_module(str(module))) == literal


def test_errors_behind_and_in_long_literals_are_in_their_place() -> None:
    text = f"{long_literal(5000)}\n)"
    with pytest.raises(ParseError, match=r"found '\)'") as caught:
        parse_module(text)
    assert (caught.value.span.start, caught.value.span.end) == (len(text) - 1, len(text))
    with pytest.raises(ParseError, match="pairs of hexadecimal digits") as caught:
        parse_module(long_literal(5000, broken="0").replace("00010203", "0001020x", 1))
    assert caught.value.span.line == 2


def test_long_literals_need_little_memory() -> None:
    text = long_literal(4_000_000)
    tracemalloc.start()
    try:
        parse_module(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * len(text)  # the bytes, and once more while they are put together


def test_a_splat_of_a_huge_shape_stays_small() -> None:
    type_ = "tensor<4294967296x4294967296xi32>"
    text = f"func.func @main() -> {type_} {{\n  %0 = stablehlo.constant dense<7> : {type_}\n  return %0 : {type_}\n}}"
    module = parse_module(text)
    verify_ops(module)
    assert only_literal(module).data == b"\7\0\0\0"


RESOURCES = """\
module {
  func.func @main() -> tensor<2xf32> {
    %0 = stablehlo.constant dense_resource<a.b> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      b: "0x04000000FFFFFFFFFFFFFFFF",
      a.b: "0x040000000000803F000000C0"
    }
  }
#-}
"""


def test_resources_are_kept() -> None:
    module = parse_module(RESOURCES)
    assert only_literal(module).data == np.array([1, -2], np.float32).tobytes()
    assert str(module) == RESOURCES
    with mlir.make_ir_context():  # a context for each: a name that it knows is changed
        ours = str(ir.Module.parse(str(module)))
    with mlir.make_ir_context():
        assert ours == str(ir.Module.parse(RESOURCES))


def test_each_module_has_its_own_resources() -> None:
    first, second = parse_modules(f"{RESOURCES}// -----\n{RESOURCES.replace('0000803F', '00000040')}")
    assert only_literal(first).data[:4] == np.float32(1).tobytes()
    assert only_literal(second).data[:4] == np.float32(2).tobytes()
    assert str(first) == RESOURCES != str(second)


def test_literals_that_need_a_package() -> None:
    # in a process of its own: once imported, ml_dtypes has told NumPy of its types
    program = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "from shlo_disc import ShloDiscError, parse\n"
        "for kind in ('f32', 'f8E5M2'):\n"
        "    try: parse('func.func @main() { %0 = stablehlo.constant dense<1.5> : tensor<' + kind + '> return }')\n"
        "    except ShloDiscError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "numbers of type f8E5M2 need the package ml_dtypes: pip install ml_dtypes\n"


def test_a_literal_that_was_left_out() -> None:
    with pytest.raises(ParseError, match="found that the text was printed without them") as caught:
        parse_module(RESOURCES.replace("a.b", "__elided__").partition("{-#")[0])
    assert "help: print the program again with all large elements" in str(caught.value)


def test_a_resource_that_is_not_there() -> None:
    with pytest.raises(ParseError, match=r"a resource section .* that defines 'a\.b', found 'dense_resource<a\.b>'"):
        parse_module(RESOURCES.replace("a.b:", "c:"))


@pytest.mark.parametrize(
    ("spelling", "shape", "splat"),
    [("1", (3,), True), ("[1, 1, 1]", (3,), False), ('"0x01"', (3,), True), ("1", (), True)],
)
def test_splat_is_what_is_spelled_once(spelling: str, shape: tuple[int, ...], splat: bool) -> None:
    assert decode_dense(spelling, TensorType(shape, DType.I8), NOWHERE).splat is splat


@given(
    hnp.arrays(
        st.sampled_from(["int8", "uint16", "int64", "float32", "float64"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements={"allow_nan": False},
    )
)
def test_lists_agree_with_numpy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    dtypes = {dtype.numpy: dtype for dtype in (DType.I8, DType.UI16, DType.I64, DType.F32, DType.F64)}
    spelling = repr(array.tolist()).replace("inf", "1e999") if array.size else ""
    assert decode(spelling, dtypes[array.dtype.name], *array.shape) == array.tobytes()
