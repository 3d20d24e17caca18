"""Records: frozen dataclasses with slots, whose methods are compiled when they are first called.

`dataclass(frozen=True, slots=True)` compiles six methods of each class while its module is imported, which takes ten
times as long as everything else about the class. A process uses few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import partial
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

_T = TypeVar("_T")


@overload
def record(kind: type[_T], /) -> type[_T]: ...
@overload
def record(*, eq: bool = True, repr: bool = True, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: Any = None, /, *, eq: bool = True, repr: bool = True, kw_only: bool = False) -> Any:  # noqa: A002
    """Make a class a record: what `dataclass(frozen=True, slots=True)` makes of it. There is no `InitVar`.

    Args:
        kind: the class.
        eq: whether records are equal if their fields are; else they are what the class, or its base, defines.
        repr: whether there is a `__repr__` of the fields; else it is what the class, or its base, defines.
        kw_only: whether the fields are keyword arguments.

    Returns:
        A class with slots in its place.
    """
    if kind is None:
        return partial(_record, eq=eq, shows=repr, kw_only=kw_only)
    return _record(kind, eq=eq, shows=repr, kw_only=kw_only)


def _record(kind: type[_T], *, eq: bool, shows: bool, kw_only: bool) -> type[_T]:
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(kind)
    own = vars(made)
    compiled = {"__init__": _init, **({"__eq__": _eq, "__hash__": _hash} if eq else {})}
    for name, source in compiled.items():
        if own.get(name) is None:  # `__hash__` of a class that defines `__eq__` is None
            setattr(made, name, _first(made, name, source))
    for name, method in {**_FROZEN, **({"__repr__": _repr} if shows else {})}.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _first(kind: type, name: str, source: Callable[[type, dict[str, Any]], str]) -> Callable[..., Any]:
    """A method that compiles the real one at its first call, and puts it in its place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope = dict[str, Any]()
        exec(compile(source(kind, scope), f"<{kind.__module__}.{kind.__qualname__}>", "exec"), scope)  # noqa: S102
        made = scope[name]
        made.__qualname__ = f"{kind.__qualname__}.{name}"
        setattr(kind, name, made)
        return made(self, *args, **kwargs)

    return method


def _init(kind: type, scope: dict[str, Any]) -> str:
    """`__init__`: it calls the setters of the slots, as assignments are refused."""
    positional, keywords, lines = list[str](), list[str](), list[str]()
    for one in fields(kind):  # pyright: ignore[reportArgumentType]  it is a dataclass
        name, value = one.name, one.name
        default = "" if one.default is MISSING else f"__default_{name}"
        if one.default_factory is not MISSING:
            scope["__missing"], scope[f"__make_{name}"] = MISSING, one.default_factory
            default, value = "__missing", f"__make_{name}() if {name} is __missing else {name}"
        elif default:
            scope[default] = one.default
        if one.init:
            (keywords if one.kw_only else positional).append(f"{name}={default}" if default else name)
        elif not default:
            continue
        else:
            value = f"__make_{name}()" if default == "__missing" else default
        scope[f"__set_{name}"] = getattr(kind, name).__set__
        lines.append(f"__set_{name}(self, {value})")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ["self", *positional, *(["*", *keywords] if keywords else [])]
    return f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])


def _eq(kind: type, _: dict[str, Any]) -> str:
    equal = f"{_values(kind, 'self')} == {_values(kind, 'other')}"
    return f"def __eq__(self, other):\n return {equal} if other.__class__ is self.__class__ else NotImplemented"


def _hash(kind: type, _: dict[str, Any]) -> str:
    return f"def __hash__(self):\n return hash({_values(kind, 'self')})"


def _values(kind: type, owner: str) -> str:
    """The tuple of the values of all fields that are compared."""
    named = [f"{owner}.{one.name}," for one in fields(kind) if one.compare]  # pyright: ignore[reportArgumentType]
    return f"({' '.join(named)})"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(_: object, name: str, *__: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_FROZEN = {"__setattr__": _refuse, "__delattr__": _refuse, "__getstate__": _state, "__setstate__": _restore}
