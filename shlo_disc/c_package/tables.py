"""The tables of a program for `device/call/c_api.h`, as C++: sizes, shapes, messages, literals, and its bytecode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode import HostCode
from shlo_disc.bytecode.binary import NUMBERS, SECTIONS
from shlo_disc.bytecode.code import WIDTHS
from shlo_disc.bytecode.encode import encode_with
from shlo_disc.bytecode.instructions import FORMATS
from shlo_disc.c_package.header import DTYPES
from shlo_disc.c_package.spelling import c_numbers, c_string, utf8
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Launch
from shlo_disc.runtime.arguments import expected_shape, reason_of_size
from shlo_disc.runtime.checks import ShownSize, message_parts
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.limits import HINTS
from shlo_disc.runtime.packing import known_symbols, packed_sizes
from shlo_disc.size_expr import SizeExpr, evaluate, symbols_of

_ALIGNMENT = 64
_TYPES = {"q": "int64_t", "i": "int32_t"}
_COUNTED = ("constants", "bounds", "sizes", "checks", "dims", "conditions", "slots")  # in the order of `ShloHostCode`
_NOTHING = "{nullptr, 0}"


def package_text(artifact: Artifact, name: str) -> str:
    """The C++ of a package: all but its kernels and literals."""
    shown = dict.fromkeys(
        part.size
        for check in artifact.checks
        for part in message_parts(artifact, check)
        if isinstance(part, ShownSize) and _is_known(artifact, part.size)
    )
    shown |= dict.fromkeys(dim for limit in artifact.limits for dim in limit.dims)
    code, registers = encode_with(artifact, tuple(shown))
    places: dict[SizeExpr, int] = dict(zip(shown, registers, strict=True))
    needed = _needed(code)
    packings = list(_packings(artifact))
    kernels = dict.fromkeys([*code.names, *(one.kernel for _, one in packings)])
    lines = ['#include "call/c_api.h"', "", 'extern "C" {', "extern const unsigned char shlo_literals[];"]
    lines += [f"void {_kernel(one)}({_KERNEL});" for one in kernels]
    lines += ["}", "", "namespace {", ""]
    lines += [*_host_code(code), *_tensors(artifact), *_dims(artifact), *_readings(artifact)]
    lines += [*_messages(artifact, places), *_limits(artifact, places)]
    lines += [_array("int32_t", "needed", needed), *_literals(artifact), *_packing_tables(artifact, packings)]
    lines += [
        "const c_api::Package package = {",
        f"    &host_code, arguments, results, alignments, dims, places, {len(artifact.raw)}, readings,",
        f"    {len(artifact.unbacked_sizes)}, checks, needed, {len(needed)}, limits, {len(artifact.limits)},",
        f"    shlo_literals, literal_offsets, packings, {len(packings)}}};",
        "", "}  // namespace", "", f"SHLO_C_API({name}, package)", "",
    ]  # fmt: skip
    return "\n".join(lines)


def literal_bytes(artifact: Artifact) -> bytes:
    """The large literals of a program, one after the other, each aligned."""
    return b"".join([bytes(one.data) + bytes(-len(one.data) % _ALIGNMENT) for one in artifact.constants])


_KERNEL = "const ShloRuntime*, void* const*, const int64_t*, int64_t, int64_t, void*"


def _kernel(name: str) -> str:
    """The name of a kernel, which the compiler chose."""
    if not (name.isascii() and name.isidentifier()):
        raise InternalError(f"found a kernel named {name!r}, expected an identifier of C")
    return name


def _is_known(artifact: Artifact, size: SizeExpr) -> bool:
    return set(symbols_of(size)) <= set(artifact.symbols)


def _array(kind: str, name: str, values: Iterable[int]) -> str:
    return f"const {kind} {name}[] = {{\n    {c_numbers(values)}}};\n"


def _records(kind: str, name: str, records: Sequence[str], none: str = "{}") -> str:
    return f"const {kind} {name}[] = {{\n    " + ",\n    ".join(records or [none]) + "};\n"


def _text(text: str) -> str:
    return f"{{{c_string(text)}, {len(utf8(text))}}}" if text else _NOTHING


def _host_code(code: HostCode) -> Iterator[str]:
    for name, typecode in SECTIONS.items():
        if name != "slots":
            yield _array(_TYPES[typecode], f"code_{name}", getattr(code, name))
    words, slots = code.slots, len(code.slots) // 5
    yield _records("ShloSlot", "code_slots", [f"{{{c_numbers(words[5 * k : 5 * k + 5])}}}" for k in range(slots)])
    yield _records("ShloKernel", "kernels", [_kernel(name) for name in code.names], "nullptr")
    numbers = c_numbers(getattr(code, name) for name in NUMBERS)
    sections = ", ".join(f"code_{name}, {len(getattr(code, name))}" for name in _COUNTED)
    yield f"const ShloHostCode host_code = {{\n    {numbers},\n    {sections},\n    code_steps, kernels}};\n"


def _tensors(artifact: Artifact) -> Iterator[str]:
    alignments = list[int]()
    for kind, tensors in (
        ("argument", [(one.name, one.dtype, one.shape) for one in artifact.arguments]),
        ("result", [(f"result {k}", one.dtype, one.shape) for k, one in enumerate(artifact.results)]),
    ):
        records = list[str]()
        for number, (name, dtype, shape) in enumerate(tensors):
            if dtype not in DTYPES:
                raise InternalError(f"found the element type {dtype}, which the header of a package does not have")
            sizes = [size if isinstance(size, int) else -1 for size in shape]
            yield _array("int64_t", f"{kind}_{number}_shape", sizes)
            bytes_ = dtype_of(dtype).itemsize
            alignments.append(bytes_ // 2 if dtype.startswith("complex") else bytes_)
            head = f"{c_string(name)}, {DTYPES.index(dtype)}, {len(shape)}, {bytes_}"
            records.append(f"{{{head}, {kind}_{number}_shape}}")
        yield _records("ShloTensor", f"{kind}s", records)
    yield _array("int64_t", "alignments", alignments)


def _dims(artifact: Artifact) -> Iterator[str]:
    """A record for each dim of each argument, and where the first symbols get their values."""
    first, records, numbers = dict[str, tuple[int, int]](), list[str](), dict[tuple[int, int], int]()
    for number, argument in enumerate(artifact.arguments):
        for axis, size in enumerate(argument.shape):
            fixed, place, reason = size, (number, axis), ""
            if not isinstance(size, int):
                fixed, place = -1, first.setdefault(size, (number, axis))
                reason = reason_of_size(artifact, size, place, is_bound=False)
            texts = (f"{argument.name}, dim {axis}", reason, expected_shape(artifact, argument, axis))
            numbers[number, axis] = len(records)
            records.append(f"{{{', '.join(map(str, (fixed, *place)))}, {', '.join(map(_text, texts))}}}")
    yield _records("c_api::Dim", "dims", records)
    places = [f"{{{argument}, {axis}, {numbers[argument, axis]}}}" for argument, axis in artifact.raw]
    yield _records("c_api::Place", "places", places)


def _readings(artifact: Artifact) -> Iterator[str]:
    records = list[str]()
    for symbol, one in enumerate(artifact.unbacked_sizes, start=len(artifact.raw)):
        width = WIDTHS[artifact.arguments[one.argument].dtype]
        records.append(f"{{{one.argument}, {one.element * abs(width)}, {width}, {symbol}}}")
    yield _records("c_api::Reading", "readings", records)


def _messages(artifact: Artifact, places: Mapping[SizeExpr, int]) -> Iterator[str]:
    """The message of each check, as texts with registers between them."""
    records = list[str]()
    for number, check in enumerate(artifact.checks):
        pieces = [[_NOTHING, -1]]
        text = ""
        for part in message_parts(artifact, check):
            if isinstance(part, str):
                text += part
            elif part.size in places:
                pieces.append([_text(text), places[part.size]])
                text = ""
            else:  # it depends on a size that this check guards
                text += "?"
        pieces.append([_text(text), -1])
        yield _records("c_api::Piece", f"message_{number}", [f"{{{text}, {value}}}" for text, value in pieces[1:]])
        records.append(f"{{message_{number}, {len(pieces) - 1}}}")
    yield _records("c_api::Message", "checks", records)


def _needed(code: HostCode) -> list[int]:
    """The registers on which results and memory depend: all that are read but grains and work."""
    found = dict.fromkeys([*range(code.symbols), code.arena, *code.dims, *code.conditions])
    found |= dict.fromkeys([code.reserve] if code.reserve >= 0 else [])
    found |= dict.fromkeys(register for _, _, *places, _ in code.slot_records() for register in places)
    for one in code.instructions():
        for name, kind in FORMATS[one.code]:
            if kind == "register" and name not in HINTS:
                value = one.operands[name.rstrip("*")]
                found |= dict.fromkeys(value if isinstance(value, tuple) else [value])
    return list(found)


def _limits(artifact: Artifact, places: Mapping[SizeExpr, int]) -> Iterator[str]:
    """The sizes of arrays that are not stored, whose elements kernels number all the same."""
    records = list[str]()
    for number, limit in enumerate(artifact.limits):
        yield _array("int32_t", f"limit_{number}_dims", [places[dim] for dim in limit.dims])
        records.append(f"{{{limit.unit}, {len(limit.dims)}, limit_{number}_dims}}")
    yield _records("c_api::Limit", "limits", records)


def _literals(artifact: Artifact) -> Iterator[str]:
    lengths = [-(-len(one.data) // _ALIGNMENT) * _ALIGNMENT for one in artifact.constants]
    yield _array("int64_t", "literal_offsets", np.cumsum([0, *lengths]).tolist())


def _packings(artifact: Artifact) -> Iterator[tuple[int, Launch]]:
    """The packings of constants, with their numbers: those whose sizes are known now."""
    slots = [slot for slot, one in enumerate(artifact.buffers) if one.kind == "constant"]
    for number in packed_sizes(artifact, slots, {}):
        yield number, artifact.packings[number]


def _packing_tables(artifact: Artifact, packings: Sequence[tuple[int, Launch]]) -> Iterator[str]:
    known, records = known_symbols(artifact, {}), list[str]()
    for number, packing in packings:
        *sources, target = packing.buffers
        yield _array("int64_t", f"packing_{number}_sources", [artifact.buffers[slot].number for slot in sources])
        yield _array("int64_t", f"packing_{number}_dims", [evaluate(one, known) for one in packing.symbols])
        sizes = (artifact.buffers[target].size, packing.extent, packing.grain, packing.scratch)
        numbers = ", ".join(str(evaluate(one, known)) for one in sizes)
        tables = f"packing_{number}_sources, packing_{number}_dims"
        records.append(f"{{{_kernel(packing.kernel)}, {number}, {numbers}, {len(sources)}, {tables}}}")
    yield _records("c_api::Packing", "packings", records)
