"""The tables of a program for `device/call/c_api.h`, as C++: sizes, shapes, messages, literals, and its bytecode."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode import HostCode
from shlo_disc.bytecode.binary import NUMBERS, SECTIONS
from shlo_disc.bytecode.code import WIDTHS
from shlo_disc.bytecode.encode import encode_with
from shlo_disc.bytecode.instructions import FORMATS
from shlo_disc.c_package.header import DTYPES
from shlo_disc.c_package.spelling import c_numbers, c_string, utf8
from shlo_disc.c_package.weights import NO_WEIGHTS, Weights
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Launch
from shlo_disc.records import record
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
_DONATED = 16  # bytes by which the memory of donated arguments is aligned


def package_text(artifact: Artifact, name: str, weights: Weights = NO_WEIGHTS) -> str:
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
    packings = _packings(artifact, weights)
    numbers = [k for k in range(len(artifact.arguments)) if k not in weights.shapes]  # of the arguments of a call
    public = {number: k for k, number in enumerate(numbers)}
    kernels = dict.fromkeys([*code.names, *(one.packing.kernel for one in packings)])
    lines = ['#include "call/c_api.h"', "", 'extern "C" {', "extern const unsigned char shlo_literals[];"]
    lines += [f"void {_kernel(one)}({_KERNEL});" for one in kernels]
    lines += ["}", "", "namespace {", ""]
    lines += [*_host_code(code), *_tensors(artifact, weights), _array("int64_t", "numbers", numbers)]
    lines += [*_dims(artifact, weights, public), *_readings(artifact, public)]
    lines += [*_messages(artifact, places), *_limits(artifact, places)]
    lines += [_array("int32_t", "needed", needed), *_literals(artifact), *_packing_tables(artifact, packings, weights)]
    lines += [*_donations(artifact, public), *_weights(artifact, weights)]
    lines += [
        "const c_api::Package package = {",
        f"    &host_code, arguments, results, weights, {len(numbers)}, {len(weights.shapes)}, numbers, alignments,",
        f"    dims, places, {len(artifact.raw) - len(_raw_known(artifact, weights))}, known, {len(weights.known)},",
        f"    readings, {sum(one.argument in public for one in artifact.unbacked_sizes)},",
        f"    checks, needed, {len(needed)}, limits, {len(artifact.limits)}, shlo_literals, literal_offsets,",
        f"    packings, {len(packings)}, donations, {len(artifact.donations)}, places_of_weights,",
        f"    sizes_in_weights, {len(_sizes_in_weights(artifact, weights))}, {_file(weights)}}};",
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


def _tensors(artifact: Artifact, weights: Weights) -> Iterator[str]:
    """What arguments, results and weights are, and how their memory is aligned: of donated ones for any element."""
    every, shapes, donated = artifact.arguments, weights.shapes, {one.argument: one for one in artifact.donations}
    taken = {one.result for one in artifact.donations}
    rest = [(k, one) for k, one in enumerate(every) if k not in shapes]
    alignments = list[int]()
    for kind, tensors in (
        ("argument", [(one.name, one.dtype, one.shape, donated.get(k), k in donated) for k, one in rest]),
        ("result", [(f"result {k}", one.dtype, one.shape, None, k in taken) for k, one in enumerate(artifact.results)]),
        ("weight", [(every[k].name, every[k].dtype, shape, None, False) for k, shape in shapes.items()]),
    ):
        records = list[str]()
        for number, (name, dtype, shape, donation, holds_temporaries) in enumerate(tensors):
            if dtype not in DTYPES:
                raise InternalError(f"found the element type {dtype}, which the header of a package does not have")
            sizes = [size if isinstance(size, int) else -1 for size in shape]
            yield _array("int64_t", f"{kind}_{number}_shape", sizes)
            bytes_ = dtype_of(dtype).itemsize
            own = bytes_ // 2 if dtype.startswith("complex") else bytes_
            alignments.append(_DONATED if holds_temporaries else own)
            head = f"{c_string(name)}, {DTYPES.index(dtype)}, {len(shape)}, {bytes_}, {kind}_{number}_shape"
            result = -1 if donation is None or donation.result is None else donation.result
            records.append(f"{{{head}, {int(donation is not None)}, {result}}}")
        yield _records("ShloTensor", f"{kind}s", records)
    yield _array("int64_t", "alignments", alignments)


def _dims(artifact: Artifact, weights: Weights, public: Mapping[int, int]) -> Iterator[str]:
    """A record for each dim of each argument, and where the first symbols get their values."""
    first = dict[str, tuple[int, int]]()
    for number in weights.shapes:
        for axis, size in enumerate(artifact.arguments[number].shape):
            if isinstance(size, str):
                first.setdefault(size, (number, axis))
    records, numbers = list[str](), dict[tuple[int, int], int]()
    for number in public:
        argument = artifact.arguments[number]
        for axis, size in enumerate(argument.shape):
            fixed, (one, dim), reason = size, (number, axis), ""
            if isinstance(size, str):
                one, dim = first.setdefault(size, (number, axis))
                is_bound = one in weights.shapes
                fixed = weights.shapes[one][dim] if is_bound else -1
                reason = reason_of_size(artifact, size, (one, dim), is_bound=is_bound)
            texts = (f"{argument.name}, dim {axis}", reason, expected_shape(artifact, argument, axis))
            numbers[number, axis] = len(records)
            records.append(f"{{{fixed}, {public.get(one, -1)}, {dim}, {', '.join(map(_text, texts))}}}")
    yield _records("c_api::Dim", "dims", records)
    known = _raw_known(artifact, weights)
    places = [
        f"{{{symbol}, {public[argument]}, {axis}, {numbers[argument, axis]}}}"
        for symbol, (argument, axis) in enumerate(artifact.raw)
        if symbol not in known
    ]
    yield _records("c_api::Place", "places", places)
    yield _records("c_api::Known", "known", [f"{{{symbol}, {value}}}" for symbol, value in weights.known.items()])


def _raw_known(artifact: Artifact, weights: Weights) -> Collection[int]:
    """The sizes of arguments whose values weights fix."""
    return [symbol for symbol in weights.known if symbol < len(artifact.raw)]


def _readings(artifact: Artifact, public: Mapping[int, int]) -> Iterator[str]:
    records = list[str]()
    for symbol, one in enumerate(artifact.unbacked_sizes, start=len(artifact.raw)):
        if one.argument in public:
            width = WIDTHS[artifact.arguments[one.argument].dtype]
            records.append(f"{{{public[one.argument]}, {one.element * abs(width)}, {width}, {symbol}}}")
    yield _records("c_api::Reading", "readings", records)


def _donations(artifact: Artifact, public: Mapping[int, int]) -> Iterator[str]:
    records = [f"{{{public[one.argument]}, {-1 if one.result is None else one.result}}}" for one in artifact.donations]
    yield _records("c_api::Donation", "donations", records)


def _weights(artifact: Artifact, weights: Weights) -> Iterator[str]:
    """Where the weights are, and their elements that are sizes."""
    records = [f"{{{number}, {weights.offset(f'argument.{number}')}}}" for number in weights.shapes]
    yield _records("c_api::Weight", "places_of_weights", records)
    yield _records("c_api::WeightSize", "sizes_in_weights", _sizes_in_weights(artifact, weights))


def _sizes_in_weights(artifact: Artifact, weights: Weights) -> list[str]:
    records, numbers = list[str](), {number: k for k, number in enumerate(weights.shapes)}
    for symbol, one in enumerate(artifact.unbacked_sizes, start=len(artifact.raw)):
        if one.argument in numbers:
            width = WIDTHS[artifact.arguments[one.argument].dtype]
            place = f"{numbers[one.argument]}, {one.element * abs(width)}, {one.element}, {width}"
            records.append(f"{{{place}, {weights.known[symbol]}}}")
    return records


def _file(weights: Weights) -> str:
    file = weights.file
    return f"{{{_NOTHING}, 0, 0}}" if file is None else f"{{{_text(file.header)}, {len(file.data)}, {file.checksum}u}}"


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


@record
class _Packing:
    """A packing that is made before calls: its number, and the symbols that are known then."""

    number: int
    packing: Launch
    known: Mapping[str, int]


def _packings(artifact: Artifact, weights: Weights) -> list[_Packing]:
    """The packings of constants and weights: those whose sizes are known now."""
    buffers = enumerate(artifact.buffers)
    constants = [slot for slot, one in buffers if one.kind == "constant"]
    bound = [
        slot for slot, one in enumerate(artifact.buffers) if one.kind == "argument" and one.number in weights.shapes
    ]
    found, done = list[_Packing](), list[int]()
    for slots, given in ((constants, NO_WEIGHTS.known), ([*constants, *bound], weights.known)):
        for number in packed_sizes(artifact, slots, given, done):
            found.append(_Packing(number, artifact.packings[number], known_symbols(artifact, given)))
            done.append(number)
    return found


def _packing_tables(artifact: Artifact, packings: Sequence[_Packing], weights: Weights) -> Iterator[str]:
    records, numbers = list[str](), {number: k for k, number in enumerate(weights.shapes)}
    for one in packings:
        number, packing = one.number, one.packing
        *sources, target = packing.buffers
        buffers = [artifact.buffers[slot] for slot in sources]
        places = [x.number if x.kind == "constant" else len(artifact.constants) + numbers[x.number] for x in buffers]
        yield _array("int64_t", f"packing_{number}_sources", places)
        yield _array("int64_t", f"packing_{number}_dims", [evaluate(size, one.known) for size in packing.symbols])
        sizes = (artifact.buffers[target].size, packing.extent, packing.grain, packing.scratch)
        words = ", ".join(str(evaluate(size, one.known)) for size in sizes)
        tables = f"packing_{number}_sources, packing_{number}_dims"
        offset = weights.offset(f"packed.{number}")
        records.append(f"{{{_kernel(packing.kernel)}, {number}, {offset}, {words}, {len(sources)}, {tables}}}")
    yield _records("c_api::Packing", "packings", records)
