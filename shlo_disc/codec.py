"""Plain data as bytes, and strictly back: frozen dataclasses of numbers, texts, bytes, and tuples and mappings of them.

What may stand where follows from the type hints of the dataclass that is asked for, and from nothing that is read: a
name in the bytes is only ever compared with those of the members of a union. The bytes are the length of a JSON text,
that text, and all values of type `bytes`, one after the other. In the text

    a dataclass                   is the list of its fields, in order; in a union its name stands before them
    a tuple                       is a list; in a union with dataclasses "tuple" stands before its items
    a mapping (its keys are str)  is the list of its pairs
    bytes                         are their number; a path is a str
    str, int, bool, None          are what JSON has for them

`decode` takes only what `encode` can have written. Another type, a field too many or too few, an integer of more than
64 bits, a key that comes twice and bytes that are left over raise `DamagedError`. It takes time and memory in
proportion to the bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import product
from math import isfinite
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Any,
    ForwardRef,
    Literal,
    NoReturn,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

_T = TypeVar("_T")
_LENGTH = 8  # bytes of the length of the JSON text, little-endian
_class: Callable[[Any], type] = type  # which type checkers do not narrow `Any` by
_END = 1 << 63  # of integers
_LIST, _TUPLE = frozenset[type]({list}), frozenset[type]({tuple})


class DamagedError(ValueError):
    """Found bytes that `encode` has not written for this type."""


class _Blobs:
    """The values of type `bytes`, in the order in which they are met."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self.left = len(data)

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise DamagedError(f"found a length of {count} bytes, expected at most {self.left}")
        start = len(self._data) - self.left
        self.left -= count
        return bytes(self._data[start : start + count])


_Encode: TypeAlias = Callable[[Any, list[bytes]], Any]  # from a value to what JSON writes; its bytes go to the list
_Decode: TypeAlias = Callable[[Any, _Blobs], Any]  # from what JSON has read to a value


@dataclass(frozen=True, slots=True)
class _Codec:
    """How a type is written and read.

    `values` are the classes of its values, `json` those of what JSON has for them. `plain`: that is the value itself,
    so that its class is all there is to check, and the range of integers.
    """

    values: frozenset[type]
    json: frozenset[type]
    encode: _Encode
    decode: _Decode
    plain: bool = False


def encode(kind: type[_T], value: _T) -> bytes:
    """Bytes that hold a value of a dataclass.

    Raises `TypeError` for a value that the type hints do not allow, and `RecursionError` for one that is nested deeper
    than Python's stack.
    """
    blobs = list[bytes]()
    text = json.dumps(_of_class(kind).encode(value, blobs), separators=(",", ":")).encode("ascii")
    return b"".join((len(text).to_bytes(_LENGTH, "little"), text, *blobs))


def decode(kind: type[_T], data: bytes) -> _T:
    """The value that `encode` was given. Raises `DamagedError` for bytes that it has not written."""
    view = memoryview(data)
    start = _LENGTH + int.from_bytes(view[:_LENGTH], "little")
    if not _LENGTH <= start <= len(view):
        raise DamagedError(f"found {len(view)} bytes, expected at least {start}")
    try:
        blobs = _Blobs(view[start:])
        value = _of_class(kind).decode(json.loads(str(view[_LENGTH:start], "ascii")), blobs)
    except DamagedError:
        raise
    except (ValueError, RecursionError) as error:  # no JSON, or nested deeper than the stack
        raise DamagedError(f"found no JSON of a {kind.__name__}: {type(error).__name__}: {error}") from error
    if blobs.left:
        raise DamagedError(f"found {blobs.left} bytes behind the last value")
    return cast("_T", value)


def _damaged(found: object, wanted: str) -> NoReturn:
    raise DamagedError(f"found {repr(found)[:80]}, expected {wanted}")


def _unsuitable(value: object, wanted: str) -> NoReturn:
    raise TypeError(f"cannot encode {repr(value)[:80]} of type {type(value).__name__}, expected {wanted}")


# -- dataclasses


@cache
def _of_class(kind: type) -> _Codec:
    """The codec of a dataclass. Its methods are made when one is first used: classes contain each other."""

    @cache
    def methods() -> tuple[_Encode, _Decode]:
        names = [field.name for field in fields(kind)]
        parts = [_of_text(str(field.type), kind.__module__) for field in fields(kind)]
        read = _items_reader(parts)

        def encode(value: Any, blobs: list[bytes]) -> list[Any]:
            if _class(value) is not kind:
                _unsuitable(value, kind.__name__)
            return [part.encode(getattr(value, name), blobs) for name, part in zip(names, parts, strict=True)]

        def decode(found: Any, blobs: _Blobs) -> Any:
            if not read(found, blobs):
                _damaged(found, f"the {len(parts)} fields of a {kind.__name__}")
            return kind(*found)

        return encode, decode

    return _late(frozenset({kind}), methods)


def _late(values: frozenset[type], methods: Callable[[], tuple[_Encode, _Decode]]) -> _Codec:
    """The codec of what JSON has a list for, by methods that are there when one is first used."""

    def encode(value: Any, blobs: list[bytes]) -> Any:
        return methods()[0](value, blobs)

    def decode(found: Any, blobs: _Blobs) -> Any:
        return methods()[1](found, blobs)

    return _Codec(values, _LIST, encode, decode)


def _items_reader(parts: Sequence[_Codec]) -> Callable[[Any, _Blobs], bool]:
    """What turns a list into values in place, each of another type; or says that it is not such a list.

    The types of all items are checked in one step: most of them are plain.
    """
    accepted = frozenset(product(*[part.json for part in parts]))
    integers = tuple(place for place, part in enumerate(parts) if part.plain and int in part.json)
    others = tuple((place, part.decode) for place, part in enumerate(parts) if not part.plain)

    def read(found: Any, blobs: _Blobs) -> bool:
        if _class(found) is not list or tuple(map(_class, found)) not in accepted:
            return False
        for place in integers:
            if _class(found[place]) is int:
                _check_range(found[place])
        for place, method in others:
            found[place] = method(found[place], blobs)
        return True

    return read


@cache
def _of_text(text: str, module: str) -> _Codec:
    """The codec of a type hint as a module has it: most fields share theirs with others."""
    holder = SimpleNamespace(__annotations__={"hint": text})
    return _of(get_type_hints(holder, vars(sys.modules[module]))["hint"], module)


def _of(hint: Any, module: str) -> _Codec:
    """The codec of a type hint of a class in `module`, which has the types that hints name by strings."""
    if hint in _LEAVES:
        return _LEAVES[cast("type", hint)]
    if isinstance(hint, type) and is_dataclass(hint):
        return _of_class(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple and arguments[1:] == (...,):
        if isinstance(item := arguments[0], ForwardRef | str):
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
    raise TypeError(f"found the type hint {hint}, expected a dataclass, or one of what codec.py lists")


@cache
def _of_items_named(name: str, module: str) -> _Codec:
    """A tuple of values of a union that has such tuples among its members."""

    @cache
    def methods() -> tuple[_Encode, _Decode]:
        found = _of_items(_of(getattr(sys.modules[module], name), module))
        return found.encode, found.decode

    return _late(_TUPLE, methods)


# -- what fields hold


def _leaf(kind: type, wanted: str = "", accepts: Callable[[Any], bool] = lambda _: True) -> _Codec:
    """What JSON has, of one class, and perhaps not all of it."""
    wanted = wanted or kind.__name__

    def encode(value: Any, _: list[bytes]) -> Any:
        if _class(value) is not kind or not accepts(value):
            _unsuitable(value, wanted)
        return value

    def decode(found: Any, _: _Blobs) -> Any:
        if _class(found) is not kind or not accepts(found):
            _damaged(found, wanted)
        return found

    return _Codec(frozenset({kind}), frozenset({kind}), encode, decode)


def _has_64_bits(found: int) -> bool:
    return -_END <= found < _END


def _check_range(found: int) -> None:
    if not -_END <= found < _END:
        _damaged(found, "an integer of 64 bits")


def _encode_bytes(value: Any, blobs: list[bytes]) -> int:
    if _class(value) is not bytes:
        _unsuitable(value, "bytes")
    blobs.append(value)
    return len(value)


def _decode_bytes(found: Any, blobs: _Blobs) -> bytes:
    return blobs.take(_INT.decode(found, blobs))


def _encode_path(value: Any, _: list[bytes]) -> str:
    if not isinstance(value, Path):
        _unsuitable(value, "a path")
    return str(value)


def _decode_path(found: Any, blobs: _Blobs) -> Path:
    return Path(_STR.decode(found, blobs))


_INT = replace(_leaf(int, "an integer of 64 bits", _has_64_bits), plain=True)
_STR = replace(_leaf(str), plain=True)
_LEAVES: Mapping[type, _Codec] = {
    int: _INT,
    str: _STR,
    float: replace(_leaf(float, "a finite number", isfinite), plain=True),
    bool: replace(_leaf(bool), plain=True),
    NoneType: replace(_leaf(NoneType), plain=True),
    bytes: _Codec(frozenset({bytes}), _INT.json, _encode_bytes, _decode_bytes),
    Path: _Codec(frozenset({type(Path())}), _STR.json, _encode_path, _decode_path),
}


def _of_items(item: _Codec) -> _Codec:
    """A tuple of any number of items of one type."""
    is_plain, has_integers = item.plain, int in item.json

    def encode(value: Any, blobs: list[bytes]) -> list[Any]:
        if _class(value) is not tuple:
            _unsuitable(value, "a tuple")
        return [item.encode(x, blobs) for x in value]

    def decode(found: Any, blobs: _Blobs) -> tuple[Any, ...]:
        if _class(found) is not list:
            _damaged(found, "a list")
        if not found:
            return ()
        if not item.json.issuperset(map(_class, found)):
            _damaged(found, "items of other types")
        if not is_plain:
            return tuple([item.decode(x, blobs) for x in found])
        if has_integers:
            for x in found:
                if _class(x) is int:
                    _check_range(x)
        return tuple(found)

    return _Codec(_TUPLE, _LIST, encode, decode)


def _of_fixed(items: Sequence[_Codec]) -> _Codec:
    """A tuple with a type for each item."""
    wanted = f"{len(items)} items"
    read = _items_reader(items)

    def encode(value: Any, blobs: list[bytes]) -> list[Any]:
        if _class(value) is not tuple or len(value) != len(items):
            _unsuitable(value, wanted)
        return [item.encode(x, blobs) for item, x in zip(items, value, strict=True)]

    def decode(found: Any, blobs: _Blobs) -> tuple[Any, ...]:
        if not read(found, blobs):
            _damaged(found, wanted)
        return tuple(found)

    return _Codec(_TUPLE, _LIST, encode, decode)


def _of_mapping(item: _Codec) -> _Codec:
    """A mapping of texts to values of one type; it comes back as a dict in the same order."""
    pairs = _of_items(_of_fixed((_STR, item)))

    def encode(value: Any, blobs: list[bytes]) -> Any:
        if not isinstance(value, Mapping):
            _unsuitable(value, "a mapping")
        return pairs.encode(tuple(cast("Mapping[str, Any]", value).items()), blobs)

    def decode(found: Any, blobs: _Blobs) -> dict[str, Any]:
        decoded = pairs.decode(found, blobs)
        mapping = dict(decoded)
        if len(mapping) != len(decoded):
            _damaged(found, "each key once")
        return mapping

    return _Codec(frozenset({dict}), _LIST, encode, decode)


def _of_union(members: Sequence[Any], module: str) -> _Codec:
    """One of several types. Which one is seen from what JSON has; lists say it, if they may be of several classes."""
    codecs = [_of(member, module) for member in members]
    classes = [codec for codec in codecs if any(map(is_dataclass, codec.values))]
    if not classes:
        return _of_untagged(codecs)
    tagged = {next(iter(codec.values)).__name__: codec for codec in codecs if codec.json == _LIST}
    rest = _of_untagged([codec for codec in codecs if codec.json != _LIST])
    names = {kind: name for name, codec in tagged.items() for kind in codec.values}
    wanted = " or ".join(tagged)

    def encode(value: Any, blobs: list[bytes]) -> Any:
        name = names.get(_class(value))
        return rest.encode(value, blobs) if name is None else [name, *tagged[name].encode(value, blobs)]

    def decode(found: Any, blobs: _Blobs) -> Any:
        if _class(found) is not list:
            return rest.decode(found, blobs)
        name: Any = found[0] if found else None
        if _class(name) is not str or name not in tagged:
            _damaged(found, wanted)
        return tagged[name].decode(found[1:], blobs)

    return _Codec(rest.values.union(names), rest.json | _LIST, encode, decode)


def _of_untagged(codecs: Sequence[_Codec]) -> _Codec:
    """One of several types of which JSON has different ones."""
    by_value = {kind: codec for codec in codecs for kind in codec.values}
    by_json = {kind: codec for codec in codecs for kind in codec.json}
    if len(by_json) != sum(len(codec.json) for codec in codecs):
        raise TypeError(
            f"found a union of {sorted(kind.__name__ for kind in by_value)}, expected types that JSON tells apart"
        )
    wanted = " or ".join(kind.__name__ for kind in by_value)

    def encode(value: Any, blobs: list[bytes]) -> Any:
        codec = by_value.get(_class(value))
        return _unsuitable(value, wanted) if codec is None else codec.encode(value, blobs)

    def decode(found: Any, blobs: _Blobs) -> Any:
        codec = by_json.get(_class(found))
        return _damaged(found, wanted) if codec is None else codec.decode(found, blobs)

    return _Codec(frozenset(by_value), frozenset(by_json), encode, decode, all(codec.plain for codec in codecs))
