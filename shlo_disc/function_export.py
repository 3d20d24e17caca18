"""Export a function of JAX with the types of its arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shlo_disc.diagnostics import ArgumentTypeError, ParseError, ShloDiscError, Source, Span
from shlo_disc.jit.constraint_text import for_jax
from shlo_disc.jit.function import JitFunction
from shlo_disc.jit.jax_modules import SEQUENCES, jax_module
from shlo_disc.jit.lowering import allowed, lowering
from shlo_disc.jit.shape_specs import ShapeSpec, read_shape
from shlo_disc.records import record
from shlo_disc.targets import default_target, target_named

_TYPE = re.compile(r"\s*(?P<dtype>[A-Za-z_]\w*)\s*\[(?P<shape>[^\[\]]*)\]\s*")
_BOOL = "i1"  # StableHLO's name
_SHORT = {"f": "float", "i": "int", "u": "uint", "c": "complex", "bf": "bfloat"}


def export_function(function: Any, shapes: Any, constraints: Sequence[str], device: str | None) -> Any:
    """Export a function of JAX. Raises what the function itself raises."""
    if shapes is None:
        raise ArgumentTypeError(
            "found a function without the types of its arguments\n"
            '  help: pass them, as in compile(function, shapes="f32[b, s, 256], i32[b]"); '
            "or use shlo_disc.jit(function), which learns them from calls"
        )
    export = jax_module("jax.export")
    target = default_target() if device is None else target_named(device)
    jitted = _jitted(function)
    scope = export.SymbolicScope(for_jax(constraints))
    make = export.export(jitted, platforms=(target.platform,), disabled_checks=allowed())
    with lowering():
        return make(*_specs(shapes, scope))


def _jitted(function: Any) -> Any:
    """A function of `jax.jit`."""
    plain: Any = function.function if isinstance(function, JitFunction) else function
    return plain if hasattr(plain, "lower") else jax_module().jit(plain)


def _specs(shapes: Any, scope: Any) -> tuple[Any, ...]:
    """JAX's types of all positional arguments."""
    jax = jax_module()
    if isinstance(shapes, str):
        return tuple(_symbolic(_read_types(shapes, "args"), scope))
    if not isinstance(shapes, SEQUENCES):
        raise ShloDiscError(
            f"found shapes of type {type(shapes).__name__}, expected a text such as 'f32[b, 256], i32[b]', "
            "or a tuple with a pytree for each argument"
        )
    flat, tree = jax.tree_util.tree_flatten_with_path(tuple(shapes))
    return tree.unflatten(_symbolic([_leaf(leaf, jax.tree_util.keystr(path)) for path, leaf in flat], scope))


@record
class _ArrayType:
    """The type of an array; `place`: of the argument, for sizes without a name."""

    dtype: Any
    shape: ShapeSpec
    place: str


def _symbolic(types: Sequence[Any], scope: Any) -> list[Any]:
    """JAX's types, with sizes of one scope; those that are JAX's already stay."""
    jax, export = jax_module(), jax_module("jax.export")
    used = {name for one in types if isinstance(one, _ArrayType) for name in one.shape.names}
    found = list[Any]()
    for one in types:
        if not isinstance(one, _ArrayType):
            found.append(one)
            continue
        sizes = one.shape.resolve(len(one.shape.dims), one.place, used)
        used |= {each.name for size in sizes for each in size.symbols()}
        shape = export.symbolic_shape(", ".join(map(str, sizes)), scope=scope) if sizes else ()
        found.append(jax.ShapeDtypeStruct(tuple(shape), one.dtype))
    return found


def _leaf(leaf: Any, place: str) -> Any:
    if isinstance(leaf, str):
        found = _read_types(leaf, f"args{place}")
        if len(found) != 1:
            raise ShloDiscError(f"shapes{place}: found {leaf!r}, expected one type such as 'f32[b, 256]'")
        return found[0]
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return jax_module().ShapeDtypeStruct(leaf.shape, leaf.dtype)
    raise ShloDiscError(
        f"shapes{place}: found {type(leaf).__name__}, expected a text such as 'f32[b, 256]', a jax.ShapeDtypeStruct, "
        "or an array"
    )


def _read_types(text: str, place: str) -> list[_ArrayType]:
    """Types separated by commas: `f32[b, s]`, with commas or spaces between sizes."""
    source = Source("shapes", text)
    found, at = list[_ArrayType](), 0
    while at < len(text):
        match = _TYPE.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            end = len(text) if match is None else match.end() + 1
            raise ParseError(
                f"found '{text[at:].strip()}', expected types such as f32[b, s, 256], separated by commas",
                Span(source, at, max(end, at + 1)),
            )
        shape = read_shape(match["shape"].replace(",", " "))
        if shape.variadic is not None:
            raise ParseError(
                "expected a fixed number of sizes where a program is compiled ahead of calls",
                Span(source, *match.span()),
            )
        dtype = _dtype(match["dtype"], Span(source, *match.span("dtype")))
        found.append(_ArrayType(dtype, shape, f"{place}_{len(found)}"))
        at = match.end() + 1
    return found


def _dtype(name: str, span: Span) -> Any:
    short = re.fullmatch(r"([a-z]+?)(\d+\w*)", name)
    long = name if short is None or short[1] not in _SHORT else _SHORT[short[1]] + short[2]
    try:
        return jax_module("jax.numpy").dtype("bool" if name == _BOOL else long)
    except TypeError as error:
        raise ParseError(
            f"found the type '{name}', expected one such as f32, bf16, i32, u8, bool or c64", span
        ) from error
