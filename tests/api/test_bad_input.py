"""Bad input is refused with the argument, the dim, what was found and expected, and the line that demands it."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import ArgumentTypeError, RuntimeShapeError
from tests.api.programs import compiled, counted, dims, spec, zeros

W, C, X = counted(4, 3), counted(3), counted(2, 4)


@pytest.fixture(scope="module")
def affine() -> shlo_disc.Compiled:
    """X [b, s] @ w [s, 3] + c [3]."""
    b, s = dims("b, s")
    return compiled(lambda p, x: x @ p["w"] + p["c"], {"w": spec(s, 3), "c": spec(3)}, spec(b, s))


ARRAYS: dict[str, tuple[type[Exception], Any, str]] = {
    "dtype": (
        ArgumentTypeError, W.astype(np.float64),
        "args[0]['w']: found dtype float64, expected float32\n"
        "  help: convert it first, for example with .astype('float32')",
    ),
    "jax dtype": (
        ArgumentTypeError, jnp.asarray(W, jnp.bfloat16),
        "args[0]['w']: found dtype bfloat16, expected float32\n"
        "  help: convert it first, for example with .astype('float32')",
    ),
    "byte order": (
        ArgumentTypeError, W.astype(">f4"),
        "args[0]['w']: found dtype >f4, expected float32\n"
        "  help: convert it first, for example with .astype('float32')",
    ),
    "rank": (
        ArgumentTypeError, W[0],
        "args[0]['w']: found rank 1, shape (3,), expected rank 2, shape (s, 3)",
    ),
    "number": (
        ArgumentTypeError, 1.0,
        "args[0]['w']: found rank 0, shape (), expected rank 2, shape (s, 3)",
    ),
    "no array": (
        ArgumentTypeError, "text",
        "args[0]['w']: found str, expected a NumPy, JAX or DLPack array, or a number for rank 0",
    ),
    "masked": (
        ArgumentTypeError, np.ma.masked_array(W, W > 2),
        "args[0]['w']: found a masked array, expected a plain one\n"
        "  help: fill what is masked first, for example with .filled(0)",
    ),
    "static size": (
        RuntimeShapeError, zeros(4, 5),
        "args[0]['w'], dim 1: found size 5, expected 3\n  found shape (4, 5), expected (s, 3)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ARRAYS)
def test_another_array(case: str, affine: shlo_disc.Compiled) -> None:
    error, bad, message = ARRAYS[case]
    calls = affine.stats.calls
    before = affine({"w": W, "c": C}, X)
    kept = before.copy()
    with pytest.raises(error) as caught:
        affine({"w": bad, "c": C}, X)
    assert str(caught.value) == message
    np.testing.assert_array_equal(before, kept)
    np.testing.assert_allclose(affine({"w": W, "c": C}, X), X @ W + C)  # and the next call is as good as ever
    assert affine.stats.calls == calls + 2


def test_a_program_of_fixed_sizes_says_how_to_export_symbolic_ones() -> None:
    run = compiled(lambda p, x: x @ p["w"], {"w": spec(4, 3)}, spec(2, 4))
    with pytest.raises(RuntimeShapeError) as caught:
        run({"w": W}, zeros(7, 4))
    assert str(caught.value) == (
        "args[1], dim 0: found size 7, expected 2\n"
        "  found shape (7, 4), expected (2, 4)\n"
        "  help: all sizes of this program are fixed; export it with a symbolic one (in a text ?, in shapes= a name):\n"
        "    (b,) = jax.export.symbolic_shape('b')\n"
        "    given = jax.ShapeDtypeStruct((b, 4), 'float32')  # args[1]"
    )
    code = "\n".join(line.strip() for line in str(caught.value).splitlines()[-2:])
    names: dict[str, Any] = {"jax": jax}
    exec(code, names)  # noqa: S102 - the lines that the message recommends
    again = compiled(lambda p, x: x @ p["w"], {"w": spec(4, 3)}, names["given"])
    np.testing.assert_allclose(again({"w": W}, zeros(7, 4)), zeros(7, 3))
    with pytest.raises(RuntimeShapeError) as caught:
        compiled(lambda x: x + 1, spec(3))(zeros(4))
    assert str(caught.value).endswith("\n    given = jax.ShapeDtypeStruct((b,), 'float32')  # args[0]")


def test_a_text_of_fixed_sizes_says_where_sizes_may_change() -> None:
    with pytest.raises(RuntimeShapeError, match=re.escape("(in a text ?, in shapes= a name)")):
        shlo_disc.compile(TEXT.replace("?", "2"))(zeros(3, 3), C[:2])


def test_donated_arguments_may_be_numbers_of_numpy() -> None:
    donate: Any = np.array([0, 1])
    run = shlo_disc.compile(lambda x, y: (x + y, x * y), shapes="f32[n], f32[n]", device="cpu", donate=donate)
    assert run(np.ones(3, np.float32), np.ones(3, np.float32))[0].tolist() == [2, 2, 2]


def shape_error(run: shlo_disc.Compiled, *arguments: Any) -> str:
    """The message of a refused call, without the link to JAX's pages and the excerpt of the text."""
    calls = run.stats.calls
    with pytest.raises(RuntimeShapeError) as caught:
        run(*arguments)
    assert run.stats.calls == calls
    message = str(caught.value)
    assert re.search(r"demanded at <lambda>:\d+:\d+\n *stablehlo\.custom_call @shape_assertion.*\n *\^+$", message)
    message = re.sub(r" Using the following.*", "", message)
    return message[: message.index("\n  demanded at")]


PROLOGUE = "Input shapes do not match the polymorphic shapes specification. "
INCONSISTENT = "Found inconsistency between dimension size"


def test_two_arguments_that_disagree(affine: shlo_disc.Compiled) -> None:
    assert shape_error(affine, {"w": W, "c": C}, zeros(2, 5)) == (
        f"{PROLOGUE}{INCONSISTENT} args[1].shape[1] (= 5) and the specification 's' (= 4).\n"
        "  found zs2 = 5, expected == s = 4\n"
        "  where zs2 is args[1], dim 1, s is args[0]['w'], dim 0"
    )


def test_a_size_of_0_where_jax_wants_1(affine: shlo_disc.Compiled) -> None:
    assert shape_error(affine, {"w": W, "c": C}, zeros(0, 4)) == (
        f"{PROLOGUE}Expected value >= 1 for dimension variable 'b'.\n"
        "  found b = 0, expected >= 1\n"
        "  where b is args[1], dim 0"
    )


def test_a_size_of_0_where_it_is_allowed() -> None:
    (b,) = dims("b")
    run = compiled(lambda x: (x.sum(), x * 2), spec(b - 1))
    total, doubled = run(zeros(0))
    assert total == 0
    assert doubled.shape == (0,)


def test_a_broken_bound() -> None:
    b, s = dims("b, s", "s <= 512", "b >= 2")
    run = compiled(lambda x: x + 1, spec(b, s))
    assert shape_error(run, zeros(2, 513)) == (
        "Input shapes do not match the symbolic shape constraint s <= 512. "
        "Expected '- s + 512' to be greater or equal to 0, but found -1. \n"
        "  found s = 513, expected <= 512\n"
        "  where s is args[0], dim 1"
    )
    assert shape_error(run, zeros(1, 5)) == (
        "Input shapes do not match the symbolic shape constraint b >= 2. "
        "Expected 'b - 2' to be greater or equal to 0, but found -1. \n"
        "  found b = 1, expected >= 2\n"
        "  where b is args[0], dim 0"
    )
    assert run(zeros(2, 512)).shape == (2, 512)


def test_a_size_that_does_not_divide() -> None:
    (b,) = dims("b")
    run = compiled(lambda x: x.reshape(2, -1), spec(2 * b))
    assert shape_error(run, zeros(5)) == (
        f"{PROLOGUE}Division had remainder 1 when computing the value of 'b'.\n"
        "  found s0 % 2 = 1, expected == 0\n"
        "  where s0 is args[0], dim 0"
    )
    assert run(zeros(6)).shape == (2, 3)


def test_a_sum_of_sizes_that_does_not_fit() -> None:
    (b,) = dims("b")
    run = compiled(lambda x, y: x[1:] + y, spec(b + 1), spec(b))
    assert shape_error(run, zeros(5), zeros(5)) == (
        f"{PROLOGUE}{INCONSISTENT} args[1].shape[0] (= 5) and the specification 'b' (= 4).\n"
        "  found s1 = 5, expected == s0 - 1 = 4\n"
        "  where s1 is args[1], dim 0, s0 is args[0], dim 0"
    )
    assert run(zeros(5), zeros(4)).shape == (4,)


TEXT = """\
func.func @main(%x: tensor<?x3xf32>, %y: tensor<?xf32>) -> tensor<?x3xf32> {
  %0 = stablehlo.negate %x : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
"""


def test_flat_arguments_of_a_text() -> None:
    run = shlo_disc.compile(TEXT)
    for arguments, named, message in (
        ((zeros(2, 3),), {}, "found 1 arrays, expected 2: argument 0, argument 1"),
        (
            ([zeros(2, 3)], C),
            {},
            "argument 0: found list, expected a NumPy, JAX or DLPack array, or a number for rank 0\n"
            "  help: make an array of it, for example with numpy.asarray",
        ),
        ((), {"x": C, "y": C}, "found the keyword arguments x, y, expected positional ones only"),
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            run(*arguments, **named)
        assert str(caught.value) == message
    with pytest.raises(RuntimeShapeError) as caught:
        run(zeros(2, 4), C)
    assert str(caught.value) == ("argument 0, dim 1: found size 4, expected 3\n  found shape (2, 4), expected (s0, 3)")


PROGRAMS = {
    "unknown op": (
        shlo_disc.UnsupportedOpError,
        TEXT.replace("negate", "frobnicate"),
        "<string>:2:8: error: op 'stablehlo.frobnicate' is not supported\n"
        "    %0 = stablehlo.frobnicate %x : tensor<?x3xf32>\n"
        "         ^^^^^^^^^^^^^^^^^^^^",
    ),
    "unknown custom call": (
        shlo_disc.UnsupportedOpError,
        TEXT.replace("negate %x : tensor", "custom_call @foo(%x) : (tensor<?x3xf32>) -> tensor"),
        "<string>:2:8: error: op 'stablehlo.custom_call' is not supported for the target @foo\n"
        "    %0 = stablehlo.custom_call @foo(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>\n"
        "         ^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: register a function that computes it: shlo_disc.register_custom_call('foo', function)",
    ),
    "unknown value": (
        shlo_disc.ParseError,
        TEXT.replace("%x :", "%z :"),
        "<string>:2:25: error: expected a value that is defined above, found '%z'\n"
        "    %0 = stablehlo.negate %z : tensor<?x3xf32>\n"
        "                          ^^",
    ),
    "too few operands": (
        shlo_disc.VerifyError,
        TEXT.replace("negate", "add"),
        "<string>:2:8: error: expected 'stablehlo.add' to have 2 operands, found 1\n"
        "    %0 = stablehlo.add %x : tensor<?x3xf32>\n"
        "         ^^^^^^^^^^^^^",
    ),
    "no program": (
        shlo_disc.ParseError,
        "\n",
        "<string>:2:1: error: expected 'module' or 'func.func', found the end of the text\n  \n  ^",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs_that_cannot_be_compiled(case: str) -> None:
    error, text, message = PROGRAMS[case]
    with pytest.raises(error) as caught:
        shlo_disc.compile(text)
    assert type(caught.value) is error
    assert str(caught.value) == message
