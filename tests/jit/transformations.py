# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false
"""What JAX makes of a function: its derivatives, batches, loops around it, and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.jit.programs import Program

Function = Callable[..., Any]


@dataclass(frozen=True)
class Transformation:
    """`apply(function, program)` is another function of the same arguments, of which those in `stacked` are batches."""

    name: str
    apply: Callable[[Function, Program], Function]
    derivative: bool = False
    forward: bool = False
    reverse: bool = False
    second: bool = False
    stacked: str = ""

    def suits(self, program: Program) -> bool:
        """Whether the program has these derivatives."""
        missing = (self.forward and not program.forward) or (self.reverse and not program.reverse)
        return (
            not missing and (program.twice or not self.second) and bool(program.differentiable or not self.derivative)
        )

    def arguments(self, draws: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Its arguments, of several draws of those of the function."""
        if self.stacked == "all":
            return tuple([jax.tree.map(_stack, *some) for some in zip(*draws, strict=True)])
        if self.stacked in {"first", "first, last axis"}:
            axis = 0 if self.stacked == "first" else -1
            first = jax.tree.map(lambda *some: np.stack(some, axis), *[one[0] for one in draws])
            return (first, *draws[0][1:])
        return draws[0]


TRANSFORMATIONS = dict[str, Transformation]()


def transformation(**options: Any) -> Callable[..., Any]:
    """Add one to `TRANSFORMATIONS`, by its name."""

    def add(apply: Callable[[Function, Program], Function]) -> Callable[..., Any]:
        TRANSFORMATIONS[apply.__name__] = Transformation(apply.__name__, apply, **options)
        return apply

    return add


def _stack(*some: Any) -> Any:
    return jnp.stack(some) if jnp.issubdtype(some[0].dtype, jax.dtypes.prng_key) else np.stack(some)


def total(found: Any) -> Any:
    """A number that depends on all results that have derivatives, on each element in another way."""
    floats = [x for x in jax.tree.leaves(found) if jnp.issubdtype(x.dtype, jnp.inexact)]
    real = [jnp.abs(x) if jnp.issubdtype(x.dtype, jnp.complexfloating) else x.astype(jnp.float32) for x in floats]
    return sum([jnp.sum(jnp.sin(x)) for x in real], jnp.float32(0))


def _of_varied(h: Function, program: Program, args: tuple[Any, ...]) -> tuple[Function, list[Any]]:
    """The function of its differentiable arguments alone, and these."""
    places = program.differentiable

    def of_varied(*varied: Any) -> Any:
        every = list(args)
        for place, one in zip(places, varied, strict=True):
            every[place] = one
        return h(*every)

    return of_varied, [args[place] for place in places]


def _tangents(found: Any) -> Any:
    """A tangent or cotangent of each array."""

    def one(x: Any) -> Any:
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return np.zeros(x.shape, jax.dtypes.float0)
        return jnp.cos(jnp.arange(x.size, dtype=jnp.float32)).astype(x.dtype).reshape(x.shape)

    return jax.tree.map(one, found)


def _inexact(found: Any) -> Any:
    return [x for x in jax.tree.leaves(found) if x.dtype != jax.dtypes.float0]


@transformation()
def plain(h: Function, program: Program) -> Function:
    del program
    return h


@transformation()
def jit(h: Function, program: Program) -> Function:
    del program
    return jax.jit(h)


@transformation(derivative=True, reverse=True)
def grad(h: Function, program: Program) -> Function:
    return jax.grad(lambda *args: total(h(*args)), program.differentiable)


@transformation(derivative=True, reverse=True)
def jit_of_grad(h: Function, program: Program) -> Function:
    return jax.jit(jax.grad(lambda *args: total(h(*args)), program.differentiable))


@transformation(derivative=True, reverse=True)
def value_and_grad(h: Function, program: Program) -> Function:
    def run(*args: Any) -> Any:
        found = h(*args)
        return total(found), found

    return jax.value_and_grad(run, program.differentiable, has_aux=True)


@transformation(derivative=True, reverse=True)
def vjp(h: Function, program: Program) -> Function:
    def run(*args: Any) -> Any:
        of_varied, varied = _of_varied(h, program, args)
        found, backward = jax.vjp(of_varied, *varied)
        return found, _inexact(backward(_tangents(found)))

    return run


@transformation(derivative=True, forward=True)
def jvp(h: Function, program: Program) -> Function:
    def run(*args: Any) -> Any:
        of_varied, varied = _of_varied(h, program, args)
        found, moved = jax.jvp(of_varied, varied, _tangents(varied))
        return found, _inexact(moved)

    return run


@transformation(derivative=True, forward=True)
def jvp_of_one(h: Function, program: Program) -> Function:
    """The derivative with respect to the last argument alone."""

    def run(*args: Any) -> Any:
        of_varied, varied = _of_varied(h, program, args)
        found, moved = jax.jvp(lambda one: of_varied(*varied[:-1], one), varied[-1:], [_tangents(varied[-1])])
        return found, _inexact(moved)

    return run


@transformation(derivative=True, forward=True)
def linearize(h: Function, program: Program) -> Function:
    def run(*args: Any) -> Any:
        of_varied, varied = _of_varied(h, program, args)
        found, derivative = jax.linearize(of_varied, *varied)
        moved = derivative(*_tangents(varied))
        return found, _inexact(moved), _inexact(derivative(*jax.tree.map(lambda x: x * 2, _tangents(varied))))

    return run


@transformation(derivative=True, reverse=True, second=True)
def hessian(h: Function, program: Program) -> Function:
    return jax.hessian(lambda *args: total(h(*args)), program.differentiable)


@transformation(derivative=True, forward=True, second=True)
def jacfwd(h: Function, program: Program) -> Function:
    return jax.jacfwd(h, program.differentiable)


@transformation(derivative=True, reverse=True, second=True)
def jacrev(h: Function, program: Program) -> Function:
    return jax.jacrev(h, program.differentiable)


@transformation(stacked="all")
def vmap(h: Function, program: Program) -> Function:
    del program
    return jax.vmap(h)


@transformation(stacked="first")
def vmap_of_one(h: Function, program: Program) -> Function:
    del program
    return lambda *args: jax.vmap(h, (0, *[None] * (len(args) - 1)))(*args)


@transformation(stacked="first, last axis")
def vmap_of_last_axis(h: Function, program: Program) -> Function:
    del program
    return lambda *args: jax.vmap(h, (-1, *[None] * (len(args) - 1)))(*args)


@transformation(derivative=True, reverse=True, stacked="all")
def vmap_of_grad(h: Function, program: Program) -> Function:
    return jax.jit(jax.vmap(jax.grad(lambda *args: total(h(*args)), program.differentiable)))


@transformation(derivative=True, reverse=True, stacked="first")
def grad_of_vmap(h: Function, program: Program) -> Function:
    def run(*args: Any) -> Any:
        return total(jax.vmap(h, (0, *[None] * (len(args) - 1)))(*args))

    return jax.grad(run, program.differentiable)


def _moved(args: tuple[Any, ...], by: Any) -> tuple[Any, ...]:
    """The arguments with another first one, which depends on a number between -1 and 1."""
    return (jax.tree.map(lambda x: x * (1 + by / 8).astype(x.dtype), args[0]), *args[1:])


@transformation(derivative=True)
def scan(h: Function, program: Program) -> Function:
    del program

    def run(*args: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            found = h(*_moved(args, state))
            return jnp.tanh(total(found) / 16), found

        return lax.scan(step, jnp.float32(0), None, length=2)

    return run


@transformation(derivative=True, reverse=True)
def grad_of_scan(h: Function, program: Program) -> Function:
    return jax.grad(lambda *args: scan(h, program)(*args)[0], program.differentiable)


@transformation(derivative=True)
def while_loop(h: Function, program: Program) -> Function:
    del program

    def run(*args: Any) -> Any:
        def step(state: Any) -> Any:
            return state[0] + 1, jnp.tanh(total(h(*_moved(args, state[1]))) / 16)

        return lax.while_loop(lambda state: state[0] < 2, step, (0, jnp.float32(0)))

    return run


@transformation(derivative=True)
def fori_loop(h: Function, program: Program) -> Function:
    del program

    def run(*args: Any) -> Any:
        return lax.fori_loop(0, 2, lambda _, by: jnp.tanh(total(h(*_moved(args, by))) / 16), jnp.float32(0))

    return jax.jit(run)


@transformation()
def cond(h: Function, program: Program) -> Function:
    del program

    def run(*args: Any) -> Any:
        return lax.cond(total(args[0]) > 0, lambda: h(*args), lambda: jax.tree.map(jnp.zeros_like, h(*args)))

    return run


@transformation()
def lax_map(h: Function, program: Program) -> Function:
    del program
    return lambda *args: lax.map(lambda x: h(x, *args[1:]), jax.tree.map(lambda x: jnp.stack([x, x + x]), args[0]))


@transformation(derivative=True, reverse=True)
def grad_of_checkpoint(h: Function, program: Program) -> Function:
    return jax.grad(lambda *args: total(jax.checkpoint(h)(*args)), program.differentiable)


@transformation(derivative=True, reverse=True)
def grad_of_custom_vjp(h: Function, program: Program) -> Function:
    """In a function that has a gradient of its own, twice the right one."""

    def run(*args: Any) -> Any:
        of_varied, varied = _of_varied(h, program, args)
        outer = jax.custom_vjp(lambda *some: total(of_varied(*some)))
        outer.defvjp(
            lambda *some: jax.vjp(lambda *more: total(of_varied(*more)), *some),
            lambda backward, received: backward(2 * received),
        )
        return jax.grad(outer, tuple(range(len(varied))))(*varied)

    return run


@transformation()
def eval_shape(h: Function, program: Program) -> Function:
    del program
    return lambda *args: jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), jax.eval_shape(h, *args))


@transformation()
def make_jaxpr(h: Function, program: Program) -> Function:
    del program

    def run(*args: Any) -> Any:
        return jax.extend.core.jaxpr_as_fun(jax.make_jaxpr(h)(*args))(*jax.tree.leaves(args))

    return run
