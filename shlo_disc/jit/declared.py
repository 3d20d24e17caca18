"""Declared shapes: which leaf of a call has which text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.expr.dim import Dim, symbol
from shlo_disc.jit.arguments import Call, Parameters
from shlo_disc.jit.constraint_text import names_in
from shlo_disc.jit.jax_modules import MAPPINGS, SEQUENCES, jax_module
from shlo_disc.jit.shape_specs import ShapeSpec, annotated_shapes, read_shape, read_shapes
from shlo_disc.legalize.constraints import read_constraints
from shlo_disc.options import Hints

Declaration: TypeAlias = "Mapping[Any, Any]"  # pytrees of `ShapeSpec` or None, by name or position


def read_declaration(shapes: Any, parameters: Parameters, hints: Hints) -> Declaration:
    """Parse what the caller declares, or the annotations of the function.

    Raises `ParseError` and `ShloDiscError`, also for hints on sizes that are not declared.
    """
    found = _parse_shapes(shapes, parameters)
    _check_names(found, hints.constraints, dict(hints.likely))
    return found


def _parse_shapes(shapes: Any, parameters: Parameters) -> Declaration:
    if shapes is None:
        return annotated_shapes(parameters.annotations)
    if isinstance(shapes, str):
        return _by_position(read_shapes(shapes), parameters)
    if isinstance(shapes, SEQUENCES):
        return _by_position([_parsed(one) for one in shapes], parameters)
    if isinstance(shapes, MAPPINGS):
        _check_parameters(shapes, parameters)
        return {name: _parsed(one) for name, one in shapes.items()}
    raise ShloDiscError(
        f"found shapes of type {type(shapes).__name__}, expected a text such as 'b s 256, b', "
        "or texts in a tuple, a dict by the names of parameters, or a pytree"
    )


def declared_shapes(
    declaration: Declaration, parameters: Parameters, call: Call, names: Sequence[str]
) -> tuple[tuple[Dim, ...] | None, ...]:
    """The declared shape of every leaf of a call; None for those without. Raises `ArgumentTypeError` for a rank."""
    args, kwargs = call.dynamic
    used = declared_names(declaration)
    specs = list[ShapeSpec | None]()
    for position, value in zip(call.positions, args, strict=True):
        specs += _spread(declaration, parameters.parameter(position), position, value)
    for name in sorted(kwargs):
        specs += _spread(declaration, name, None, kwargs[name])
    return tuple(
        [
            None if spec is None else spec.resolve(len(shape), name, used)
            for spec, shape, name in zip(specs, call.shapes, names, strict=True)
        ]
    )


def declared_names(declaration: Declaration) -> frozenset[str]:
    """The names of all declared sizes, without those that `*name` stands for."""
    return frozenset[str]().union(*[one.names for one in _specs(declaration)])


def _check_names(declaration: Declaration, constraints: Sequence[str], likely: Iterable[str]) -> None:
    """Refuse names that two sizes would share, and constraints and likely values of sizes that are not declared.

    Raises `ShloDiscError`, and `ParseError` for a constraint.
    """
    names, variadic = declared_names(declaration), {one.name for one in _specs(declaration)} - {""}
    for name in names:
        if (start := re.sub(r"_\d+$", "", name)) in variadic and start != name:
            raise ShloDiscError(
                f"found the size '{name}' beside '*{start}', whose sizes are called {start}_0, {start}_1, …"
            )
    more = {
        name for text in [*constraints, *likely] for name in names_in(text) if re.sub(r"_\d+$", "", name) in variadic
    }
    known = {name: symbol(name) for name in sorted(names | more)}
    if constraints and not known:
        raise ShloDiscError(
            f"found the constraint '{constraints[0]}', but no size has a name\n"
            "  help: declare the shapes, as in jit(function, shapes='b s, b')"
        )
    read_constraints(constraints, known)
    for name in likely:
        if name not in known:
            raise ShloDiscError(
                f"found likely values of '{name}', expected a declared size: {', '.join(known) or 'there is none'}"
            )


def _specs(declaration: Declaration) -> list[ShapeSpec]:
    leaves: list[Any] = jax_module().tree_util.tree_leaves(list(declaration.values()), is_leaf=_is_spec)
    return [one for one in leaves if _is_spec(one)]


def _is_spec(one: Any) -> bool:
    return isinstance(one, ShapeSpec)


def _by_position(found: Sequence[Any], parameters: Parameters) -> Declaration:
    signature = parameters.signature
    has_more = signature is None or any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    if len(found) > len(parameters.positional) and not has_more:
        raise ShloDiscError(
            f"found shapes of {len(found)} arguments, expected at most {len(parameters.positional)}: "
            f"{parameters.name} takes {', '.join(parameters.positional) or 'none'}"
        )
    return dict(enumerate(found))


def _check_parameters(shapes: Mapping[Any, Any], parameters: Parameters) -> None:
    signature = parameters.signature
    if signature is None or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return
    for name in shapes:
        if name not in signature.parameters:
            known = ", ".join(signature.parameters)
            raise ShloDiscError(
                f"found a shape of '{name}', expected one of the parameters of {parameters.name}: {known}"
            )


def _parsed(spec: Any) -> Any:
    """The pytree with every text parsed."""
    jax = jax_module()

    return jax.tree_util.tree_map(_parsed_leaf, spec, is_leaf=_is_none)


def _parsed_leaf(one: Any) -> ShapeSpec | None:
    if one is None or isinstance(one, ShapeSpec):
        return one
    if not isinstance(one, str):
        raise ShloDiscError(f"found {one!r} among the shapes, expected a text such as 'b s 256', or None")
    return read_shape(one)


def _spread(declaration: Declaration, name: str, position: int | None, value: Any) -> list[ShapeSpec | None]:
    """The spec of each leaf of an argument; a spec stands for all leaves below its place."""
    jax = jax_module()

    spec = declaration.get(name, None if position is None else declaration.get(position))

    def is_leaf(one: Any) -> bool:
        return one is None or isinstance(one, ShapeSpec)

    def below(one: Any, part: Any) -> list[Any]:
        return [one] * len(jax.tree_util.tree_leaves(part))

    try:
        spread = jax.tree_util.tree_map(below, spec, value, is_leaf=is_leaf)
    except ValueError as error:
        raise ShloDiscError(f"{name}: the shapes have another structure than the argument: {error}") from error
    parts = jax.tree_util.tree_leaves(spread, is_leaf=_is_list)
    return [one for part in parts for one in part]


def _is_none(one: Any) -> bool:
    return one is None


def _is_list(one: Any) -> bool:
    return isinstance(one, list)
