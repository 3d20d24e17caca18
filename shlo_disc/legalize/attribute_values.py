"""Typed reading of an op's attributes: every spelling of a list of integers, with a clear error."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import NOWHERE, Span, UnsupportedOpError, VerifyError
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    EnumAttr,
    IntegerAttr,
    RecordAttr,
    StringAttr,
    SymbolAttr,
)
from shlo_disc.ir.dtypes import numpy_dtype

_MOST_BYTES = 1 << 63  # of an array; NumPy's limit counts the nonzero sizes only


def integers(op: ir.Op, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Read a list of integers; booleans are 0 and 1."""
    if name not in op.attributes and default is not None:
        return default
    return _integers(_attribute(op.attributes, name, op.span), name, op.span)


def _attribute(attributes: Mapping[str, Attribute], name: str, span: Span) -> Attribute:
    if name not in attributes:
        raise VerifyError(f"expected an attribute '{name}', found none", span)
    return attributes[name]


def _integers(attribute: Attribute, name: str, span: Span) -> tuple[int, ...]:
    match attribute:
        case DenseArrayAttr(values=values):
            return tuple(int(x) for x in values)
        case ArrayAttr(items=items):
            return tuple(_integer(x, name, span) for x in items)
        case DenseAttr():
            return tuple(int(x) for x in literal(attribute).reshape(-1))
        case _:
            raise VerifyError(f"expected a list of integers as '{name}', found {attribute}", span)


def _integer(attribute: Attribute, name: str, span: Span) -> int:
    match attribute:
        case IntegerAttr(value=value) | BoolAttr(value=value):
            return int(value)
        case _:
            raise VerifyError(f"expected an integer as '{name}', found {attribute}", span)


def integer(op: ir.Op, name: str, default: int | None = None) -> int:
    """Read one integer or boolean."""
    if name not in op.attributes and default is not None:
        return default
    return _integer(_attribute(op.attributes, name, op.span), name, op.span)


def string(op: ir.Op, name: str, default: str = "") -> str:
    """Read a string, a symbol's name or an enum's value."""
    match op.attributes.get(name):
        case StringAttr(value=value) | SymbolAttr(name=value) | EnumAttr(value=value):
            return value
        case None:
            return default
        case other:
            raise VerifyError(f"expected a name as '{name}', found {other}", op.span)


def symbols(op: ir.Op, name: str) -> tuple[str, ...]:
    """Read a list of function names."""
    match op.attributes.get(name):
        case ArrayAttr(items=items):
            return tuple(item.name for item in items if isinstance(item, SymbolAttr))
        case _:
            return ()


def dictionary(op: ir.Op, name: str) -> Mapping[str, Attribute]:
    """Read a dictionary; empty if there is none."""
    match op.attributes.get(name):
        case DictAttr(items=items):
            return items
        case _:
            return {}


class Fields:
    """The fields of a record attribute; a list that is left out is empty, an integer is 0."""

    def __init__(self, op: ir.Op, name: str) -> None:
        found = _attribute(op.attributes, name, op.span)
        if not isinstance(found, RecordAttr):
            raise VerifyError(f"expected a record as '{name}', found {found}", op.span)
        self._fields, self._span = found.fields, op.span

    def integers(self, name: str) -> tuple[int, ...]:
        """Read a list of integers."""
        found = self._fields.get(name)
        return () if found is None else _integers(found, name, self._span)

    def integer(self, name: str) -> int:
        """Read one integer."""
        found = self._fields.get(name)
        return 0 if found is None else _integer(found, name, self._span)


def literal(attribute: DenseAttr, span: Span = NOWHERE) -> NDArray[Any]:
    """The elements of a literal, in its shape; a splat has stride 0.

    Raises `UnsupportedOpError` at `span` if no array can have its shape.
    """
    shape = tuple(0 if size is None else size for size in attribute.type.shape)
    if prod(filter(None, shape)) * attribute.type.dtype.bytes >= _MOST_BYTES:
        raise UnsupportedOpError(f"found a literal of {' x '.join(map(str, shape))} elements: no memory holds it", span)
    elements = np.frombuffer(attribute.data, numpy_dtype(attribute.type.dtype))
    return np.broadcast_to(elements[0], shape) if attribute.splat else elements.reshape(shape)
