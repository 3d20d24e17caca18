# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX has no types here; nothing untyped leaves this module but arrays and tracers.
"""A JAX primitive that calls a compiled program: one custom call of XLA, or a call of Python where C cannot make it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ArgumentTypeError, ShloDiscError
from shlo_disc.records import record
from shlo_disc.runtime.arguments import check_count, check_type, conform_one
from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.interop import dtype_of, kind_of, to_jax
from shlo_disc.runtime.partitions import PartitionedExecutable, Runnable
from shlo_disc.runtime.xla.library import TARGET, WIDENED, open_library, unsupported
from shlo_disc.runtime.xla.programs import brought, refuse, refuse_platforms, result_shapes, why_python


@record
class _Callee:
    """The program that an equation of a jaxpr calls. Two are equal if they are one object."""

    runnable: Runnable

    def __repr__(self) -> str:
        return self.runnable.artifact.name


def call_in_trace(runnable: Runnable, flat_arrays: Sequence[Any]) -> list[Any]:
    """Call a program inside of a function that JAX traces, or outside of one.

    Args:
        runnable: `Compiled.executable`, or that of `Bound`.
        flat_arrays: tracers and arrays in the order of `artifact.arguments`, without those that are bound.

    Returns:
        The results, in the order of `artifact.results`: tracers, or arrays of JAX.

    Raises:
        RuntimeShapeError: a size breaks a constraint.
        ArgumentTypeError: the number of arrays, a dtype or a rank is not the program's.
        ShloDiscError: the program cannot be called by XLA.
    """
    artifact = runnable.artifact
    refuse(runnable)
    if (name := unsupported(artifact)) is not None:
        raise ShloDiscError(
            f"{artifact.name}: found arrays of {name} inside a function that JAX traces: XLA packs them"
        )
    check_count(artifact, flat_arrays, runnable.bound)
    arrays = [_array(artifact, k, one) for k, one in zip(brought(runnable), flat_arrays, strict=True)]
    return list(_primitive().bind(*vary_alike(arrays), callee=_Callee(runnable)))


def vary_alike(arrays: Sequence[Any]) -> list[Any]:
    """Let the arrays of a call inside of `shard_map` all vary along the axes along which any of them does."""
    import jax  # noqa: PLC0415

    varying = [jax.typeof(array).mat.varying for array in arrays]
    every = frozenset[Any]().union(*varying)
    return [
        jax.lax.pcast(array, tuple(every - axes), to="varying") if every - axes else array
        for array, axes in zip(arrays, varying, strict=True)
    ]


def result_types(found: Sequence[tuple[tuple[int, ...], Any, bool]], given: Sequence[Any]) -> list[Any]:
    """JAX's types of results, by shapes, dtypes and weak types, in a call with arguments of the types `given`."""
    import jax  # noqa: PLC0415
    from jax.core import ShapedArray  # noqa: PLC0415

    place = jax.sharding.NamedSharding(jax.sharding.get_abstract_mesh(), jax.sharding.PartitionSpec())
    # Results vary along the axes along which all arguments do; see `vary_alike`.
    like = given[0] if given else ShapedArray((), np.float32, sharding=place)
    return [like.update(shape=shape, dtype=dtype, weak_type=is_weak, sharding=place) for shape, dtype, is_weak in found]


def _array(artifact: Artifact, number: int, value: Any) -> Any:
    """A tracer or an array of JAX as it is, anything else as a NumPy array."""
    import jax  # noqa: PLC0415

    argument = artifact.arguments[number]
    if kind_of(value) in {"jax", "traced"} and isinstance(value, jax.Array):
        _check(artifact, number, jax.typeof(value))
        return value
    return conform_one(argument, dtype_of(argument.dtype), value)


def _check(artifact: Artifact, number: int, found: Any) -> None:
    argument = artifact.arguments[number]
    if symbolic := [size for size in found.shape if not isinstance(size, int)]:
        raise ShloDiscError(
            f"{argument.name}: found the size {symbolic[0]}, expected a number: a call of a compiled program cannot be "
            "exported for symbolic sizes\n  help: export the function that the program was compiled from"
        )
    wanted = dtype_of(argument.dtype)
    if found.dtype != wanted and found.dtype == _narrowed(wanted):
        raise ArgumentTypeError(
            f"{argument.name}: found dtype {found.dtype}, expected {argument.dtype}\n"
            "  help: JAX makes 64-bit types narrower, unless jax.config.update('jax_enable_x64', True) is called first"
        )
    check_type(argument, found.dtype, found.shape, same=found.dtype == wanted)


def _narrowed(dtype: Any) -> Any:
    """What JAX makes of a dtype."""
    import jax  # noqa: PLC0415

    return jax.dtypes.canonicalize_dtype(dtype)


@cache
def _primitive() -> Any:
    """The primitive, with its rules."""
    from jax.extend.core import Primitive  # noqa: PLC0415
    from jax.interpreters import ad, batching, mlir  # noqa: PLC0415

    made = Primitive("shlo_disc_call")
    made.multiple_results = True
    made.def_impl(_run)
    made.def_abstract_eval(_result_types)
    mlir.register_lowering(made, _lower)
    ad.primitive_jvps[made] = _refuse_gradient
    ad.primitive_transposes[made] = _refuse_gradient
    batching.primitive_batchers[made] = _refuse_batch
    return made


def _run(*arrays: Any, callee: _Callee) -> Sequence[Any]:
    """Call the program now."""
    return [_of_jax(one) for one in callee.runnable.mirror(arrays)]


def _of_jax(array: Any) -> Any:
    """A result as an array of JAX: bound arguments may be of other libraries, and results as they are."""
    import jax  # noqa: PLC0415

    match kind_of(array):
        case "jax":
            return array
        case "dlpack":
            return jax.dlpack.from_dlpack(array)
        case _:
            return to_jax([np.asarray(array)])[0]


def _result_types(*given: Any, callee: _Callee) -> Sequence[Any]:
    artifact = callee.runnable.artifact
    for number, one in zip(brought(callee.runnable), given, strict=True):
        _check(artifact, number, one)
    shapes = result_shapes(callee.runnable, [tuple(one.shape) for one in given])
    found = zip(shapes, artifact.results, strict=True)
    return result_types([(shape, dtype_of(result.dtype), False) for shape, result in found], given)


def _lower(ctx: Any, *operands: Any, callee: _Callee) -> Sequence[Any]:
    runnable = callee.runnable
    refuse_platforms(runnable, ctx.platforms or ctx.module_context.platforms)
    if isinstance(runnable, PartitionedExecutable) or why_python(runnable) is not None:
        return _lower_to_python(ctx, operands, runnable)
    return _lower_to_xla(ctx, operands, runnable)


def _lower_to_xla(ctx: Any, operands: Sequence[Any], executable: Executable) -> Sequence[Any]:
    import jax  # noqa: PLC0415

    shapes = tuple([tuple(one.shape) for one in ctx.avals_in])
    lease = open_library(executable.for_xla).lease(executable, shapes)
    ctx.module_context.add_keepalive(lease)
    widened = ctx.replace(avals_in=[*map(_widened, ctx.avals_in)], avals_out=[*map(_widened, ctx.avals_out)])
    aliases = _aliases(executable, widened)
    rule = jax.ffi.ffi_lowering(TARGET, operand_output_aliases=aliases, has_side_effect=False)
    given = [_converted(ctx, *one) for one in zip(operands, ctx.avals_in, widened.avals_in, strict=True)]
    found = rule(widened, *given, call=np.int64(lease.number), process=np.int64(lease.process))
    return [_converted(ctx, *one) for one in zip(found, widened.avals_out, ctx.avals_out, strict=True)]


def _widened(aval: Any) -> Any:
    """The type that XLA stores as the program does."""
    name = WIDENED.get(aval.dtype.name)
    return aval if name is None else aval.update(dtype=dtype_of(name))


def _converted(ctx: Any, value: Any, found: Any, wanted: Any) -> Any:
    if found is wanted:
        return value
    import jax  # noqa: PLC0415
    from jax.interpreters import mlir  # noqa: PLC0415

    rule = mlir.lower_fun(lambda x: jax.lax.convert_element_type(x, wanted.dtype), multiple_results=False)
    return rule(ctx.replace(avals_in=[found], avals_out=[wanted]), value)[0]


def _aliases(executable: Executable, ctx: Any) -> dict[int, int]:
    """Which operand may lie in the memory of which result: others are copied there, see `take_donated`."""
    places, found = brought(executable), dict[int, int]()
    for one in executable.artifact.donations:
        number = places.index(one.argument)
        if one.result is None:
            continue
        given, result = ctx.avals_in[number], ctx.avals_out[one.result]
        if (given.shape, given.dtype) == (result.shape, result.dtype):
            found[number] = one.result
    return found


def _lower_to_python(ctx: Any, operands: Sequence[Any], runnable: Runnable) -> Sequence[Any]:
    import jax  # noqa: PLC0415
    from jax.interpreters import mlir  # noqa: PLC0415

    types = [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in ctx.avals_out]
    library = open_library(runnable.for_xla)

    def run(*arrays: Any) -> tuple[Any, ...]:
        with library.default_float_mode():
            return tuple(runnable([np.asarray(array) for array in arrays]))

    def call(*arrays: Any) -> Any:
        return jax.pure_callback(run, tuple(types), *arrays)

    return mlir.lower_fun(call, multiple_results=True)(ctx, *operands)


def _refuse_gradient(*_: Any, callee: _Callee, **__: Any) -> NoReturn:
    raise _refusal(callee, "differentiates", "differentiated")


def _refuse_batch(*_: Any, callee: _Callee, **__: Any) -> NoReturn:
    raise _refusal(callee, "maps with jax.vmap", "differentiated and mapped")


def _refusal(callee: _Callee, what: str, better: str) -> ShloDiscError:
    return ShloDiscError(
        f"{callee!r}: found a compiled program in a function that JAX {what}, expected one that is only called\n"
        f"  help: use shlo_disc.jit, whose functions can be {better}"
    )
