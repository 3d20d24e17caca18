"""Encode and decode functions of sizes: an artifact has thousands of them, and most occur in several places."""

from __future__ import annotations

from typing import Any

from shlo_disc.codec.streams import Sink, StreamTables, class_of, damaged, has_64_bits, unsuitable
from shlo_disc.size_expr import SIZE_FNS, SizeExpr, SizeOp

_MOST_PARTS = 1 << 20  # of a size, as a tree: a function that occurs in several others counts each time


def encode_size(value: SizeExpr, sink: Sink) -> Any:
    """A number, a name, the list of a function's name and its operands, or the list of an earlier one's number."""
    if not isinstance(value, SizeOp):
        if class_of(value) is not str and not (class_of(value) is int and has_64_bits(int(value))):
            unsuitable(value, "a size")
        return value
    if (number := sink.sizes.get(value)) is not None:
        return [number]
    found = [value.fn, *[encode_size(operand, sink) for operand in value.operands]]
    sink.sizes[value] = len(sink.sizes)
    return found


def decode_size(found: Any, source: StreamTables) -> SizeOp:
    """Decode a function that `encode_size` has written; without a step for each type hint, which takes longer."""
    if not found:
        damaged(found, "a function of sizes")
    fn: Any = found[0]
    if class_of(fn) is int:
        if len(found) > 1 or not 0 <= fn < len(source.sizes):
            damaged(found, f"the number of one of {len(source.sizes)} sizes before it")
        number: int = fn
        return source.sizes[number][0]
    if class_of(fn) is not str or fn not in SIZE_FNS:
        damaged(found, "a function of sizes")
    operands, parts = list[SizeExpr](), 1
    for each in found[1:]:
        kind = class_of(each)
        if kind is list:
            operands.append(decode_size(each, source))
            parts += source.sizes[each[0] if class_of(each[0]) is int else -1][1]
        else:
            if kind is not str and not (kind is int and has_64_bits(each)):
                damaged(each, "a size")
            operands.append(each)
            parts += 1
    if parts > _MOST_PARTS:
        damaged(f"a size of {parts} parts", f"at most {_MOST_PARTS}")
    size = SizeOp(fn, tuple(operands))
    source.sizes.append((size, parts))
    return size
