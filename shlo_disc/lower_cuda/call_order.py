"""Verification of a variant's calls: each reads only buffers that are filled by then.

Calls run in order, the threads of one call in any order. A call may read operands, and results and workspaces that an
earlier call has filled. Where a result may alias an operand (`in_place`), no call reads the operand after a call that
fills the result; a call that does both, element by element, declares neither pointer `__restrict__`. Reads and writes
of a kernel are derived from its text: pointers are `const` or not, and a buffer that the text does not name is unused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import assert_never

from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.host_ir import Command, Copy, Fill, GridLaunch, Product
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.records import record

_KERNEL = re.compile(
    r'^extern "C" __global__ void __launch_bounds__\([^)]*\) (?P<name>[@\w]+)\((?P<params>[^)]*)\) \{\n'
    r"(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_STRUCT = re.compile(r"^struct (?P<name>[@\w]+) \{\n(?P<body>.*?)^\};", re.MULTILINE | re.DOTALL)
_HANDED = re.compile(
    r"^ *(const )?[@\w]+ \w+\{[^{}]*\};$|^ *(const )?\w+\* \w+;$", re.MULTILINE
)  # initializers and members of structs, which pass pointers on but read nothing
_POINTER = re.compile(r"\b(?P<const>const )?\w+\* (?P<restrict>__restrict__ )?const (?P<name>\w+)")


@record
class _Pointer:
    """A pointer parameter: whether the kernel reads and writes through it, and whether it is `__restrict__`."""

    reads: bool
    writes: bool
    alone: bool


def check_calls(printed: Printed, tensors: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Raise `InternalError` if a call reads an unfilled buffer; `results` are the `tensors` that the kernel fills."""
    kernels, filled_at_end = _kernels(printed.text), {tensors.index(result) for result in results}
    own = filled_at_end.union(range(len(tensors), len(tensors) + len(printed.workspaces)))
    for variant in printed.variants:
        filled, overwritten = set[int](), set[int]()  # the latter without copies between a pair in `in_place`
        for number, call in enumerate(variant.commands):
            where = f"call {number} of {len(variant.commands)} of the variant '{variant.label}'"
            pointers = _pointers(call, kernels)
            for place, pointer in pointers.items():
                if pointer.reads and not pointer.writes and place in own and place not in filled:
                    raise InternalError(f"{where} reads buffer {place} of its own launch, which no call has filled yet")
            for read, written in printed.in_place:
                _check_pair(read, written, pointers, overwritten, where)
            writes = {place for place, pointer in pointers.items() if pointer.writes}
            filled |= writes
            if not (isinstance(call, Copy) and (call.source, call.target) in printed.in_place):
                overwritten |= writes
        if missing := sorted(filled_at_end - filled):
            raise InternalError(f"the variant '{variant.label}' does not fill the buffers {missing}")


def _check_pair(
    read: int, written: int, pointers: Mapping[int, _Pointer], overwritten: Collection[int], where: str
) -> None:
    """Raise `InternalError` if an operand is read after a result that may alias it is written, or is `__restrict__`."""
    source, target = pointers.get(read), pointers.get(written)
    if source is None or not source.reads:
        return
    if written in overwritten:
        raise InternalError(f"{where} reads buffer {read}, which may be buffer {written}, after it was overwritten")
    if target is not None and target.writes and (source.alone or target.alone):
        raise InternalError(f"{where} says that buffers {read} and {written} are apart, which may be one memory")


def _pointers(call: Command[Dim], kernels: Mapping[str, Sequence[_Pointer]]) -> dict[int, _Pointer]:
    """How a call accesses its buffers, by position."""
    match call:
        case GridLaunch(kernel=name, buffers=buffers):
            if len(kernels[name]) != len(buffers):
                raise InternalError(f"{name} takes {len(kernels[name])} buffers, found {len(buffers)} for it")
            return dict(zip(buffers, kernels[name], strict=True))
        case Product(a=a, b=b, c=c):
            return {a: _Pointer(True, False, True), b: _Pointer(True, False, True), c: _Pointer(False, True, True)}
        case Copy(source, target):
            # A copy of a buffer onto itself is skipped.
            return {source: _Pointer(True, False, False), target: _Pointer(False, True, False)}
        case Fill(target):
            return {target: _Pointer(False, True, False)}
        case _:
            assert_never(call)


def _kernels(text: str) -> dict[str, list[_Pointer]]:
    """The pointer parameters of every kernel in a text."""
    found = dict[str, list[_Pointer]]()
    structs = {struct["name"]: struct["body"] for struct in _STRUCT.finditer(text)}
    for kernel in _KERNEL.finditer(text):
        body = kernel["body"]
        parts = [body, *(inner for name, inner in structs.items() if name in body)]
        used = {name for part in parts for name in re.findall(r"\w+", _HANDED.sub("", part))}
        found[kernel["name"]] = [
            _Pointer(p["name"] in used, not p["const"] and p["name"] in used, p["restrict"] is not None)
            for p in _POINTER.finditer(kernel["params"])
        ]
    return found
