"""Encode and decode values by their type hints."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import product
from math import isfinite
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Any,
    ForwardRef,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from shlo_disc.codec.sizes import decode_size, encode_size
from shlo_disc.codec.streams import DamagedError, Sink, StreamTables, class_of, damaged, has_64_bits, unsuitable
from shlo_disc.records import record
from shlo_disc.size_expr import SizeOp

_T = TypeVar("_T")
_LENGTH = 8  # bytes of the length of the JSON text, little-endian
_LIST, _TUPLE = frozenset[type]({list}), frozenset[type]({tuple})


_Encode: TypeAlias = Callable[[Any, Sink], Any]  # from a value to what JSON writes; its bytes go to the sink
_Decode: TypeAlias = Callable[[Any, StreamTables], Any]  # from what JSON has read to a value


@record
class _Codec:
    """The encoder and decoder of a type.

    `values` are the classes of its values, `json` those of their JSON forms. `plain`: the JSON form is the value
    itself, so that only its class has to be checked, and the range of integers.
    """

    values: frozenset[type]
    json: frozenset[type]
    encode: _Encode
    decode: _Decode
    plain: bool = False


def encode(kind: type[_T], value: _T) -> bytes:
    """Encode a value of a dataclass as bytes.

    Raises `TypeError` for a value that the type hints do not allow, and `RecursionError` for one that is nested deeper
    than Python's stack.
    """
    sink = Sink()
    text = json.dumps(_of_class(kind).encode(value, sink), separators=(",", ":")).encode("ascii")
    return b"".join((len(text).to_bytes(_LENGTH, "little"), text, *sink.blobs))


def decode(kind: type[_T], data: bytes) -> _T:
    """Decode the value that `encode` was given. Raises `DamagedError` for bytes that it has not written."""
    view = memoryview(data)
    start = _LENGTH + int.from_bytes(view[:_LENGTH], "little")
    if not _LENGTH <= start <= len(view):
        raise DamagedError(f"found {len(view)} bytes, expected at least {start}")
    try:
        source = StreamTables(view[start:])
        value = _of_class(kind).decode(json.loads(str(view[_LENGTH:start], "ascii")), source)
    except DamagedError:
        raise
    except (ValueError, RecursionError) as error:  # no JSON, or nested deeper than the stack
        raise DamagedError(f"found no JSON of a {kind.__name__}: {type(error).__name__}: {error}") from error
    if source.left:
        raise DamagedError(f"found {source.left} bytes behind the last value")
    return cast("_T", value)


# -- dataclasses


@cache
def _of_class(kind: type) -> _Codec:
    """The codec of a dataclass. Its methods are created at the first use: classes contain each other."""

    @cache
    def methods() -> tuple[_Encode, _Decode]:
        names = [field.name for field in fields(kind)]
        parts = [_of_text(str(field.type), kind.__module__) for field in fields(kind)]
        read = _items_reader(parts)

        def encode(value: Any, sink: Sink) -> list[Any]:
            if class_of(value) is not kind:
                unsuitable(value, kind.__name__)
            return [part.encode(getattr(value, name), sink) for name, part in zip(names, parts, strict=True)]

        def decode(found: Any, source: StreamTables) -> Any:
            if not read(found, source):
                damaged(found, f"the {len(parts)} fields of a {kind.__name__}")
            return kind(*found)

        return encode, decode

    return _late(frozenset({kind}), methods)


def _late(values: frozenset[type], methods: Callable[[], tuple[_Encode, _Decode]]) -> _Codec:
    """A codec whose JSON form is a list, and whose methods are created at the first use."""

    def encode(value: Any, sink: Sink) -> Any:
        return methods()[0](value, sink)

    def decode(found: Any, source: StreamTables) -> Any:
        return methods()[1](found, source)

    return _Codec(values, _LIST, encode, decode)


def _items_reader(parts: Sequence[_Codec]) -> Callable[[Any, StreamTables], bool]:
    """A function that decodes a list with a type for each item, in place; it returns False for other data.

    The types of all items are checked in one step: most of them are plain.
    """
    accepted = frozenset(product(*[part.json for part in parts]))
    integers = tuple(place for place, part in enumerate(parts) if part.plain and int in part.json)
    others = tuple((place, part.decode) for place, part in enumerate(parts) if not part.plain)

    def read(found: Any, source: StreamTables) -> bool:
        if class_of(found) is not list or tuple(map(class_of, found)) not in accepted:
            return False
        for place in integers:
            if class_of(found[place]) is int:
                _check_range(found[place])
        for place, method in others:
            found[place] = method(found[place], source)
        return True

    return read


@cache
def _of_text(text: str, module: str) -> _Codec:
    """The codec of a type hint in the text of a module; cached, as most fields share theirs with others."""
    holder = SimpleNamespace(__annotations__={"hint": text})
    return _of(get_type_hints(holder, vars(sys.modules[module]))["hint"], module)


def _of(hint: Any, module: str) -> _Codec:
    """The codec of a type hint of a class in `module`, where the types are that hints name by strings."""
    hint = _default(hint)
    if hint in _LEAVES:
        return _LEAVES[cast("type", hint)]
    if isinstance(hint, type) and is_dataclass(hint):
        return _of_class(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(origin, type) and is_dataclass(origin):
        return _of_class(origin)  # type variables take their defaults
    if origin is tuple and arguments[1:] == (...,):
        if isinstance(item := _default(arguments[0]), ForwardRef | str):
            return _of_items_named(item if isinstance(item, str) else item.__forward_arg__, module)
        return _of_items(_of(item, module))
    if origin is tuple:
        return _of_fixed([_of(one, module) for one in arguments])
    if origin is Literal:
        return _leaf(str, " or ".join(map(repr, arguments)), frozenset[object](arguments).__contains__)
    if origin in (Union, UnionType):
        return _of_union(arguments, module)
    if origin is Mapping and arguments[0] is str:
        return _of_mapping(_of(arguments[1], module))
    raise TypeError(f"found the type hint {hint}, expected a dataclass, or one of what shlo_disc.codec lists")


def _default(hint: Any) -> Any:
    """The hint that a type variable stands for in an artifact: its default."""
    found = cast("Any", hint).__default__ if isinstance(hint, TypeVar) else hint
    return NoneType if found is None else found


@cache
def _of_items_named(name: str, module: str) -> _Codec:
    """A tuple of values of a named, recursive union, of which such tuples are members."""

    @cache
    def methods() -> tuple[_Encode, _Decode]:
        found = _of_items(_of(getattr(sys.modules[module], name), module))
        return found.encode, found.decode

    return _late(_TUPLE, methods)


# -- what fields hold


def _leaf(kind: type, wanted: str = "", accepts: Callable[[Any], bool] = lambda _: True) -> _Codec:
    """A value that JSON has, of one class; `accepts` may exclude some."""
    wanted = wanted or kind.__name__

    def encode(value: Any, _: Sink) -> Any:
        if class_of(value) is not kind or not accepts(value):
            unsuitable(value, wanted)
        return value

    def decode(found: Any, _: StreamTables) -> Any:
        if class_of(found) is not kind or not accepts(found):
            damaged(found, wanted)
        return found

    return _Codec(frozenset({kind}), frozenset({kind}), encode, decode)


def _check_range(found: int) -> None:
    if not has_64_bits(found):
        damaged(found, "an integer of 64 bits")


def _encode_bytes(value: Any, sink: Sink) -> int:
    if class_of(value) is not bytes:
        unsuitable(value, "bytes")
    sink.blobs.append(value)
    return len(value)


def _decode_bytes(found: Any, source: StreamTables) -> bytes:
    return source.take(_INT.decode(found, source))


def _encode_path(value: Any, _: Sink) -> str:
    if not isinstance(value, Path):
        unsuitable(value, "a path")
    return str(value)


def _decode_path(found: Any, source: StreamTables) -> Path:
    return Path(_STR.decode(found, source))


_INT = replace(_leaf(int, "an integer of 64 bits", has_64_bits), plain=True)
_STR = replace(_leaf(str), plain=True)
_LEAVES: Mapping[type, _Codec] = {
    int: _INT,
    str: _STR,
    float: replace(_leaf(float, "a finite number", isfinite), plain=True),
    bool: replace(_leaf(bool), plain=True),
    NoneType: replace(_leaf(NoneType), plain=True),
    bytes: _Codec(frozenset({bytes}), _INT.json, _encode_bytes, _decode_bytes),
    Path: _Codec(frozenset({type(Path())}), _STR.json, _encode_path, _decode_path),
    SizeOp: _Codec(frozenset({SizeOp}), _LIST, encode_size, decode_size),
}


def _of_items(item: _Codec) -> _Codec:
    """A tuple of any number of items of one type."""
    is_plain, has_integers = item.plain, int in item.json

    def encode(value: Any, sink: Sink) -> list[Any]:
        if class_of(value) is not tuple:
            unsuitable(value, "a tuple")
        return [item.encode(x, sink) for x in value]

    def decode(found: Any, source: StreamTables) -> tuple[Any, ...]:
        if class_of(found) is not list:
            damaged(found, "a list")
        if not found:
            return ()
        if not item.json.issuperset(map(class_of, found)):
            damaged(found, "items of other types")
        if not is_plain:
            return tuple([item.decode(x, source) for x in found])
        if has_integers:
            for x in found:
                if class_of(x) is int:
                    _check_range(x)
        return tuple(found)

    return _Codec(_TUPLE, _LIST, encode, decode)


def _of_fixed(items: Sequence[_Codec]) -> _Codec:
    """A tuple with a type for each item."""
    wanted = f"{len(items)} items"
    read = _items_reader(items)

    def encode(value: Any, sink: Sink) -> list[Any]:
        if class_of(value) is not tuple or len(value) != len(items):
            unsuitable(value, wanted)
        return [item.encode(x, sink) for item, x in zip(items, value, strict=True)]

    def decode(found: Any, source: StreamTables) -> tuple[Any, ...]:
        if not read(found, source):
            damaged(found, wanted)
        return tuple(found)

    return _Codec(_TUPLE, _LIST, encode, decode)


def _of_mapping(item: _Codec) -> _Codec:
    """A mapping of texts to values of one type; it comes back as a dict in the same order."""
    pairs = _of_items(_of_fixed((_STR, item)))

    def encode(value: Any, sink: Sink) -> Any:
        if not isinstance(value, Mapping):
            unsuitable(value, "a mapping")
        return pairs.encode(tuple(cast("Mapping[str, Any]", value).items()), sink)

    def decode(found: Any, source: StreamTables) -> dict[str, Any]:
        decoded = pairs.decode(found, source)
        mapping = dict(decoded)
        if len(mapping) != len(decoded):
            damaged(found, "each key once")
        return mapping

    return _Codec(frozenset({dict}), _LIST, encode, decode)


def _of_union(members: Sequence[Any], module: str) -> _Codec:
    """One of several types, determined by the JSON type; with dataclasses among them, lists begin with a name."""
    codecs = [_of(member, module) for member in members]
    classes = [codec for codec in codecs if any(map(is_dataclass, codec.values))]
    if not classes:
        return _of_untagged(codecs)
    tagged = {next(iter(codec.values)).__name__: codec for codec in codecs if codec.json == _LIST}
    rest = _of_untagged([codec for codec in codecs if codec.json != _LIST])
    names = {kind: name for name, codec in tagged.items() for kind in codec.values}
    wanted = " or ".join(tagged)

    def encode(value: Any, sink: Sink) -> Any:
        name = names.get(class_of(value))
        return rest.encode(value, sink) if name is None else [name, *tagged[name].encode(value, sink)]

    def decode(found: Any, source: StreamTables) -> Any:
        if class_of(found) is not list:
            return rest.decode(found, source)
        name: Any = found[0] if found else None
        if class_of(name) is not str or name not in tagged:
            damaged(found, wanted)
        return tagged[name].decode(found[1:], source)

    return _Codec(rest.values.union(names), rest.json | _LIST, encode, decode)


def _of_untagged(codecs: Sequence[_Codec]) -> _Codec:
    """One of several types with different JSON types."""
    by_value = {kind: codec for codec in codecs for kind in codec.values}
    by_json = {kind: codec for codec in codecs for kind in codec.json}
    if len(by_json) != sum(len(codec.json) for codec in codecs):
        raise TypeError(
            f"found a union of {sorted(kind.__name__ for kind in by_value)}, expected types that JSON tells apart"
        )
    wanted = " or ".join(kind.__name__ for kind in by_value)

    def encode(value: Any, sink: Sink) -> Any:
        codec = by_value.get(class_of(value))
        return unsuitable(value, wanted) if codec is None else codec.encode(value, sink)

    def decode(found: Any, source: StreamTables) -> Any:
        codec = by_json.get(class_of(found))
        return damaged(found, wanted) if codec is None else codec.decode(found, source)

    return _Codec(frozenset(by_value), frozenset(by_json), encode, decode, all(codec.plain for codec in codecs))
