"""What a function of Python computes with besides its arguments: two functions with the same are the same.

A trace holds functions that it calls back. They are made anew with each trace, and may hold sizes.
"""

from __future__ import annotations

from typing import Any


def function_state(function: Any) -> tuple[object, tuple[Any, ...]] | None:
    """The identity of a function's code, and the values that it holds; None for anything else.

    These are the variables that it closes over, defaults of its parameters, attributes and, of a method, its object.

    >>> def scaled(n):
    ...     return lambda x: n * x
    >>> function_state(scaled(2)) == function_state(scaled(2)) != function_state(scaled(3))
    True
    """
    if (code := getattr(function, "__code__", None)) is None:
        return None
    held = [_content(cell) for cell in function.__closure__ or ()]
    defaults: dict[str, Any] = function.__kwdefaults__ or {}
    attributes: dict[str, Any] = function.__dict__
    named = [tuple(sorted(pairs.items())) for pairs in (defaults, attributes)]
    owner: Any = getattr(function, "__self__", None)
    return (code, id(function.__globals__)), (owner, function.__defaults__, *named, *held)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned yet
        return _EMPTY


_EMPTY = "a variable without a value"
