"""Twice the length is about twice the work of compiling, and no deeper stack; beyond limits there is an error."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import limits
from shlo_disc.diagnostics import CompileError
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from tests.pipeline.counting import Work, work_of
from tests.pipeline.exports import FAST
from tests.pipeline.growing import calls_in_calls, calls_that_double, reduction_of_many_ops
from tests.pipeline.growing_chains import FAMILIES, doubled_sizes

pytestmark = pytest.mark.slow

EXPONENT = 1.15  # a logarithm beside the length is no fault
STACK = 12  # frames: what happens to stand deepest differs a little
LENGTH = 100
# What is slow for every one of its ops is compiled at lengths that still tell a line from a square.
LENGTHS = {
    "assertions": 40, "barrier": 60, "calls_in_calls": 25, "concatenated": 64, "concatenations": 64, "gathers": 48,
    "layers": 24, "loops": 24, "nested_branches": 12, "nested_loops": 12, "products": 48,
    "reduced_together": 48, "reduction_of_many_ops": 50, "separate_arguments": 40, "size_powers": 24,
    "size_quotients": 12,
    "softmaxes": 32,
}  # fmt: skip
# Quotients get a name when they are 10 deep, and each is an assumption too (that it fits i32), of which proofs about
# the next one try up to 16: only from 20 on the work grows like a line (4.8 s for 40, 11.2 s for 80).
EXPONENTS = {"size_quotients": 2.2}
NESTED = frozenset({"nested_branches", "nested_loops", "calls_in_calls", "reduction_of_many_ops"})  # depth has a limit


def compiled(text: str) -> None:
    compile_text(text, "<program>", Request(), Stopwatch())


def work_for(name: str, length: int) -> Work:
    text = FAMILIES[name](length)
    return work_of(lambda: compiled(text))


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    compiled(FAMILIES["layers"](2))


@pytest.mark.parametrize("name", FAMILIES)
def test_work_grows_with_the_length_and_the_stack_does_not(name: str) -> None:
    length = LENGTHS.get(name, LENGTH)
    short, long = work_for(name, length), work_for(name, 2 * length)
    exponent = EXPONENTS.get(name, 2 if name in NESTED else EXPONENT)
    assert long.calls <= 2**exponent * short.calls, f"{short.calls} calls for {length}, {long.calls} for {2 * length}"
    assert name in NESTED or name in EXPONENTS or long.deepest <= short.deepest + STACK, (
        "no recursion goes along a program"
    )


@pytest.mark.parametrize("name", ["scalar_chain", "reversals", "size_sums"])
def test_long_chains_compile(name: str) -> None:
    compiled(FAMILIES[name](10_000))


def test_long_chains_are_interpreted() -> None:
    program = legalize(parse_module(FAMILIES["doubled_scalar"](3000), "<program>"))
    (found,) = interpret(program, [np.zeros((), np.float32)])
    assert found == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (calls_in_calls(limits.MOST_NESTED_CALLS + 1), "expected at most 100 calls inside each other, found another"),
        (calls_that_double(40), f"expected at most {limits.MOST_OPS} ops"),
        (reduction_of_many_ops(limits.MOST_REGION_DEPTH + 1), "expected at most 128 ops that need each other"),
        (doubled_sizes(70), f"{limits.LARGEST_FACTOR} times another, found one of"),
        (FAMILIES["nested_loops"](limits.MOST_NESTED + 1), "expected at most 80 nested brackets"),
    ],
    ids=["calls", "ops", "region", "factor", "brackets"],
)
def test_what_is_too_large_says_so(text: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "250000" in words:
        monkeypatch.setattr("shlo_disc.legalize.builder.MOST_OPS", 3000)
        words = words.replace("250000", "3000")
    with pytest.raises(CompileError, match=words):
        compiled(text)


def test_a_function_that_calls_itself_is_told_apart_from_deep_calls() -> None:
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n %y = call @main(%x) : (tensor<f32>) -> tensor<f32>\n"
    with pytest.raises(CompileError, match="recursive call of @main, expected functions that can be inlined"):
        compiled(text + " return %y : tensor<f32>\n}")


@pytest.mark.parametrize("length", [16, 64, 256])
def test_code_of_a_recursive_scan_grows_with_the_program(length: int) -> None:
    """Each half of the scan is padded, with elements between, and added to the other: twice as many indices each time.

    The gradient of a scan over 256 elements had 1,100 characters of kernels for each line of the program.
    """
    gradient = jax.jit(jax.grad(lambda x: lax.associative_scan(jnp.multiply, x).sum()))
    (b,) = jax.export.symbolic_shape("b")
    text = jax.export.export(gradient)(jax.ShapeDtypeStruct((length, b), np.float32)).mlir_module()
    run = shlo_disc.compile(text, options=FAST)
    assert len(run.kernels_source) < 400 * text.count("\n")
    x = np.random.default_rng().uniform(0.5, 1.5, (length, 3)).astype(np.float32)
    np.testing.assert_allclose(run(x)[0], gradient(x), rtol=1e-3)
