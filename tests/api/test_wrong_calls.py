"""A call of another form than the exported function's is refused in a line that says where, and how to mend it."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import shlo_disc
from shlo_disc import ArgumentTypeError
from tests.api.programs import compiled, counted, dims, spec

OTHER = "the arguments have another structure than those of the exported function\n"
W, C, X = counted(4, 3), counted(3), counted(2, 4)


@pytest.fixture(scope="module")
def affine() -> shlo_disc.Compiled:
    """X [b, s] @ w [s, 3] + c [3]."""
    b, s = dims("b, s")
    return compiled(lambda p, x: x @ p["w"] + p["c"], {"w": spec(s, 3), "c": spec(3)}, spec(b, s))


@pytest.fixture(scope="module")
def pairs() -> shlo_disc.Compiled:
    """A tuple of two, and a keyword."""
    b, s = dims("b, s")
    return compiled(lambda x, *, k: (x[0] * k, x[1]), (spec(b), spec(s)), k=spec())


STRUCTURES = {
    "missing leaf": (({"w": W}, X), "  missing: args[0]['c']"),
    "extra leaf": (({"w": W, "c": C, "d": C}, X), "  extra: args[0]['d']"),
    "renamed leaf": (({"W": W, "c": C}, X), "  missing: args[0]['w']\n  extra: args[0]['W']"),
    "missing argument": (({"w": W, "c": C},), "  missing: args[1]"),
    "extra argument": (({"w": W, "c": C}, X, X, X), "  extra: args[2], args[3]"),
    "no arguments": ((), "  missing: args[0]['c'], args[0]['w'], args[1]"),
    "none": (({"w": W, "c": None}, X), "  missing: args[0]['c']"),
    "many": (
        ({"w": W, "c": C} | dict.fromkeys("0123456789", C), X),
        "  extra: " + ", ".join(f"args[0]['{k}']" for k in range(8)) + " and 2 more",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STRUCTURES)
def test_another_structure(case: str, affine: shlo_disc.Compiled) -> None:
    arguments, message = STRUCTURES[case]
    with pytest.raises(ArgumentTypeError) as caught:
        affine(*arguments)
    assert str(caught.value) == OTHER + message


AN_ARRAY = "expected an array\n  help: make an array of it, for example with numpy.asarray"
CONTAINERS = {
    "list of an array": (({"w": W, "c": [C] * 96}, X), f"args[0]['c']: found a list of 96, {AN_ARRAY}"),
    "tuple of an array": (({"w": W, "c": (C,)}, X), f"args[0]['c']: found a tuple of 1, {AN_ARRAY}"),
    "list of lists": (({"w": W, "c": C}, [[1.0, 2.0]]), f"args[1]: found a list of 1, {AN_ARRAY}"),
    "empty list": (({"w": W, "c": C}, []), f"args[1]: found a list of 0, {AN_ARRAY}"),
    "dict": (({"w": W, "c": C}, {"a": X}), "args[1]: found a dict of 'a', expected an array"),
    "empty dict": (({}, {}), "args[1]: found an empty dict, expected an array"),
    "list of a dict": (([W, C], X), "args[0]: found a list of 2, expected a dict of 'c', 'w'"),
    "array of a dict": ((W, X), "args[0]: found ndarray, expected a dict of 'c', 'w'"),
    "and too many": ((W, X, X), "args[0]: found ndarray, expected a dict of 'c', 'w'"),
}


@pytest.mark.parametrize("case", CONTAINERS)
def test_another_container(case: str, affine: shlo_disc.Compiled) -> None:
    arguments, message = CONTAINERS[case]
    with pytest.raises(ArgumentTypeError) as caught:
        affine(*arguments)
    assert str(caught.value) == message


def test_a_list_for_a_tuple(pairs: shlo_disc.Compiled) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        pairs([C, C], k=1.0)
    assert str(caught.value) == "args[0]: found a list of 2, expected a tuple of 2"
    with pytest.raises(ArgumentTypeError) as caught:
        pairs((C, [C]), k=1.0)
    assert str(caught.value) == f"args[0][1]: found a list of 1, {AN_ARRAY}"


def test_another_container_among_the_arguments_that_are_not_bound(affine: shlo_disc.Compiled) -> None:
    bound = affine.bind({"w": W, "c": C})
    for given, found in (([X, X], "a list of 2"), ((X,), "a tuple of 1")):
        with pytest.raises(ArgumentTypeError) as caught:
            bound(given, X)
        assert str(caught.value) == f"args[1]: found {found}, {AN_ARRAY}"


@jax.tree_util.register_dataclass
@dataclass
class Box:
    inside: Any
    label: str = field(default="box", metadata={"static": True})


def test_a_class_with_another_static_field_shows_both_structures() -> None:
    run = compiled(lambda box: box.inside * 2, Box(spec(3)))
    with pytest.raises(ArgumentTypeError) as caught:
        run(Box(C, "chest"))
    lines = str(caught.value).splitlines()
    assert f"{lines[0]}\n" == OTHER
    assert ["chest" in line for line in lines] == [False, True, False]
    with pytest.raises(ArgumentTypeError) as caught:
        run(C)
    assert str(caught.value) == "args[0]: found ndarray, expected a Box"
    with pytest.raises(ArgumentTypeError) as caught:
        run((C,))
    assert str(caught.value) == "args[0]: found a tuple of 1, expected a Box"


def test_an_unknown_keyword(affine: shlo_disc.Compiled, pairs: shlo_disc.Compiled) -> None:
    for run, args, kwargs, message in (
        (affine, ({"w": W, "c": C},), {"x": X}, "x, expected none: all arguments are positional"),
        (pairs, ((C, C),), {"q": 1.0}, "q, expected one of k"),
        (pairs, ((C, C),), {"k": 1.0, "kk": 1.0}, "kk, expected one of k\n  help: did you mean k?"),
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            run(*args, **kwargs)
        assert str(caught.value) == f"found the keyword argument {message}"
    with pytest.raises(ArgumentTypeError) as caught:
        pairs((C, C))
    assert str(caught.value) == f"{OTHER}  missing: kwargs['k']"


@pytest.mark.parametrize("transformation", [jax.jit, jax.grad, jax.vmap])
@pytest.mark.parametrize("is_bound", [False, True])
def test_a_call_while_jax_traces(affine: shlo_disc.Compiled, transformation: Any, *, is_bound: bool) -> None:
    def traced(x: Any) -> Any:
        return affine.bind({"w": W, "c": C})(x) if is_bound else affine({"w": W, "c": C}, x)

    with pytest.raises(ArgumentTypeError) as caught:
        transformation(traced)(jnp.asarray(1.0) if transformation is jax.grad else jnp.asarray(X))
    assert re.fullmatch(
        r"args\[1\]: found \w+Tracer, which stands for an array while JAX traces a function "
        r"\(jax\.jit, jax\.grad, jax\.vmap\), expected an array with a value\n"
        r"  help: call run\.as_jax\(\) there, or use shlo_disc\.jit, whose functions JAX can also differentiate",
        str(caught.value),
    )


@dataclass
class Tensor:
    """What Torch does: a tensor that requires a gradient refuses to be exported."""

    array: Any
    error: Exception
    requires_grad: bool = True

    def __dlpack__(self, **options: Any) -> object:
        raise self.error

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize("error", [BufferError("use tensor.detach()"), RuntimeError("use tensor.detach()")])
def test_a_tensor_that_requires_a_gradient(affine: shlo_disc.Compiled, error: Exception) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        affine({"w": Tensor(W, error), "c": C}, X)
    assert str(caught.value) == (
        "args[0]['w']: found Tensor that requires a gradient, expected one without: "
        "a compiled program computes no gradients of its arguments\n"
        "  help: pass what its .detach() returns"
    )
    with pytest.raises(ArgumentTypeError) as caught:
        affine({"w": Tensor(W, error, requires_grad=False), "c": C}, X)
    assert str(caught.value) == (
        "args[0]['w']: found Tensor that cannot be read by DLPack (use tensor.detach())\n"
        "  help: hand over a NumPy array; ml_dtypes has the types that NumPy lacks"
    )
