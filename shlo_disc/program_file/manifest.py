"""The manifest of a program's file: what is in it, as JSON. docs/reference/artifact.md describes each member."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from typing import Any, Final, cast

from shlo_disc import plain_tree
from shlo_disc.call_signature import Signature, flat_tree, plain
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.program_file.archive import ProgramFileError
from shlo_disc.records import record

FORMAT: Final = "shlo_disc program"
SCHEMA: Final = 3  # of the file; a reader knows those up to its own
MANIFEST: Final = "manifest.json"
_MOST_ARGUMENTS: Final = 1 << 20  # of a function


@record
class CodeEntry:
    """The program for one kind of machine: names of members.

    `program` is the artifact without sources and report, which `report` has. `objects` are shared objects: of each part
    of the program, in order; `hosts` are their host programs (none in schema 1). `runtime` is that of the thread pool.
    `interface`: see `runtime/library.py`. `constants` has the large literals, named `<artifact>.<number>`.
    """

    machine: str
    interface: int
    program: str
    report: str
    objects: tuple[str, ...]
    hosts: tuple[str, ...]
    runtime: str
    constants: str


@record
class BoundEntry:
    """The bound arguments, if the program has some. `shapes` and `known` are by number, as texts.

    The first `positional` arguments of the function and the `keywords` are bound, or, without a signature, the first
    arrays. `member` has the arrays that are kept, named `argument.<number>`, and `packed.<number>` for packed operands,
    which the code for `machine` reads, and other code that packs in the same `form` (`runtime/saved_code.py`).
    """

    positional: int
    keywords: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    known: Mapping[str, int]
    machine: str
    form: str
    member: str


@record
class Manifest:
    """What a file holds. `source`: the member with the StableHLO text; `source_name`: its name, for errors.

    `options` and `hints` are those of the compilation that change the program. `digests` are those of all other
    members, but of very large ones.
    """

    version: str
    name: str
    device: str
    signature: Signature | None
    source: str
    source_name: str
    options: CompileOptions
    hints: Hints
    code: tuple[CodeEntry, ...]
    bound: BoundEntry | None
    digests: Mapping[str, str]


_OPTIONS = ("fusion", "matmul_precision", "optimize")


def write_manifest(manifest: Manifest) -> bytes:
    """The JSON text of a manifest. Raises `ShloDiscError` for pytrees with containers that only JAX knows."""
    found = {
        "format": FORMAT,
        "schema": SCHEMA,
        "version": manifest.version,
        "name": manifest.name,
        "device": manifest.device,
        "signature": None if manifest.signature is None else _signature(plain(manifest.signature)),
        "source": manifest.source,
        "source_name": manifest.source_name,
        "options": {name: getattr(manifest.options, name) for name in _OPTIONS},
        "hints": _plain(manifest.hints),
        "code": [_plain(one) for one in manifest.code],
        "bound": None if manifest.bound is None else _plain(manifest.bound),
        "digests": dict(manifest.digests),
    }
    return json.dumps(found, indent=1).encode()


def _plain(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _signature(signature: Signature) -> dict[str, Any]:
    rest = ("names", "kept", "platform", "keys", "key_results", "leading")
    trees = {"arguments": signature.in_tree.to_json(), "results": signature.out_tree.to_json()}
    return {**trees, **{name: getattr(signature, name) for name in rest}}


def package_version() -> str:
    """The version of this package, which it says itself."""
    return import_module("shlo_disc").__version__


def read_manifest(data: bytes, file: str) -> Manifest:
    """The manifest in a JSON text.

    `file`: its name, for errors. Raises `ProgramFileError` for a newer schema, and for anything else that
    `write_manifest` does not write.
    """
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProgramFileError(f"{file} is no whole program of shlo_disc: {MANIFEST} is no JSON: {error}") from error
    if not isinstance(found, dict) or cast("dict[str, Any]", found).get("format") != FORMAT:
        raise ProgramFileError(f"{file} is no program of shlo_disc: {MANIFEST} does not say so")
    reader = _JsonObject(cast("dict[str, Any]", found))
    try:
        schema, version = reader.whole("schema"), reader.text("version")
        if schema > SCHEMA:
            raise ProgramFileError(
                f"{file} was written by shlo_disc {version}, in schema {schema}; this version reads schemas up to "
                f"{SCHEMA}\n  help: install shlo_disc {version}, or save the program by this version"
            )
        return _read(reader, version, schema)
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise ProgramFileError(f"{file} is no whole program of shlo_disc: {MANIFEST}: {error}") from error


def _read(reader: _JsonObject, version: str, schema: int) -> Manifest:
    options, hints = reader.inner("options"), reader.inner("hints")
    signature, bound = reader.found["signature"], reader.found["bound"]
    return Manifest(
        version,
        reader.text("name"),
        reader.text("device"),
        None if signature is None else _read_signature(reader.inner("signature")),
        reader.text("source"),
        reader.text("source_name"),
        _read_options(options),
        _read_hints(hints, schema),
        tuple([_read_code(_JsonObject(one), schema) for one in reader.items("code", dict)]),
        None if bound is None else _read_bound(reader.inner("bound")),
        reader.mapping("digests", str),
    )


def _read_options(reader: _JsonObject) -> CompileOptions:
    found = replace(CompileOptions(), **{name: reader.found[name] for name in _OPTIONS})
    if found.fusion not in ("none", "full") or found.matmul_precision not in ("default", "highest"):
        raise ValueError(f"found the options {reader.found}")
    if found.optimize not in range(4):
        raise ValueError(f"found the options {reader.found}")
    return found


def _read_hints(reader: _JsonObject, schema: int) -> Hints:
    likely = [_JsonObject({"name": name, "values": values}) for name, values in reader.items("likely", list)]
    return Hints(
        tuple(reader.items("constraints", str)),
        tuple([(one.text("name"), tuple(one.items("values", int))) for one in likely]),
        tuple(reader.items("donated", int)),
        reader.flag("allows_empty"),
        reader.flag("donates_marked"),
        _read_ragged(reader) if schema > 2 else (),
    )


def _read_ragged(reader: _JsonObject) -> tuple[tuple[str, str | int], ...]:
    found = list[tuple[str, str | int]]()
    for name, argument in reader.items("ragged", list):
        if not isinstance(name, str) or not isinstance(argument, str | int):
            raise TypeError(f"found the ragged size {name!r} of {argument!r}")
        found.append((name, argument))
    return tuple(found)


def _read_code(reader: _JsonObject, schema: int) -> CodeEntry:
    objects = tuple(reader.items("objects", str))
    hosts = tuple(reader.items("hosts", str)) if schema > 1 else ()
    if schema > 1 and len(hosts) != len(objects):
        raise ValueError(f"found {len(hosts)} host programs of {len(objects)} parts")
    return CodeEntry(
        reader.text("machine"),
        reader.whole("interface"),
        reader.text("program"),
        reader.text("report"),
        objects,
        hosts,
        reader.text("runtime"),
        reader.text("constants"),
    )


def _read_bound(reader: _JsonObject) -> BoundEntry:
    shapes, positional = reader.mapping("shapes", list), reader.whole("positional")
    if positional > _MOST_ARGUMENTS:
        raise ValueError(f"found positional = {positional}, expected at most {_MOST_ARGUMENTS}")
    return BoundEntry(
        positional,
        tuple(reader.items("keywords", str)),
        {name: tuple(_JsonObject({"shape": shape}).items("shape", int)) for name, shape in shapes.items()},
        reader.mapping("known", int),
        reader.text("machine"),
        reader.text("form"),
        reader.text("member"),
    )


def _read_signature(reader: _JsonObject) -> Signature:
    in_tree, out_tree = plain_tree.from_json(reader.found["arguments"]), plain_tree.from_json(reader.found["results"])
    names, kept = tuple(reader.items("names", str)), tuple(reader.items("kept", int))
    keys, key_results = tuple(reader.items("keys", str)), tuple(reader.items("key_results", str))
    is_call = in_tree.kind == "tuple" and [child.kind for child in in_tree.children] == ["tuple", "dict"]
    if not is_call or len(names) != in_tree.num_leaves or not set(kept) <= set(range(len(names))):
        raise ValueError(f"found the arguments {in_tree.to_json()}, named {names}, of which {kept} are taken")
    if len(keys) not in (0, len(names)) or len(key_results) not in (0, out_tree.num_leaves):
        raise ValueError(f"found random keys {keys} and {key_results}")
    is_flat = in_tree == flat_tree(len(names), in_tree) and len(kept) == len(names) and not keys
    platform, leading = reader.whole("platform"), reader.whole("leading")
    return Signature(in_tree, out_tree, names, kept, platform, is_flat, keys, key_results, leading)


class _JsonObject:
    """The members of a JSON object, by type. Raises `KeyError`, `TypeError` and `ValueError`."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.found = found

    def text(self, name: str) -> str:
        return self._typed(name, str)

    def whole(self, name: str) -> int:
        found = self._typed(name, int)
        if not 0 <= found < 1 << 63:
            raise ValueError(f"found {name} = {found}")
        return found

    def flag(self, name: str) -> bool:
        return self._typed(name, bool)

    def inner(self, name: str) -> _JsonObject:
        return _JsonObject(self._typed(name, dict))

    def items(self, name: str, kind: type) -> Sequence[Any]:
        found = self._typed(name, list)
        if any(type(item) is not kind for item in found):
            raise TypeError(f"found {name} = {repr(found)[:80]}")
        return found

    def mapping(self, name: str, kind: type) -> Mapping[str, Any]:
        found = self._typed(name, dict)
        if any(type(item) is not kind for item in found.values()):
            raise TypeError(f"found {name} = {repr(found)[:80]}")
        return found

    def _typed(self, name: str, kind: type) -> Any:
        found = self.found[name]
        if type(found) is not kind:
            raise TypeError(f"found {name} = {repr(found)[:80]}, expected a {kind.__name__}")
        return found
