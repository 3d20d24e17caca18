"""Groups that a Python function computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from shlo_disc.custom_calls import find_hook, how_to_register
from shlo_disc.diagnostics import UnsupportedOpError, one_line
from shlo_disc.dynamic_ops.custom import CustomCallAttrs
from shlo_disc.dynamic_ops.fourier import FftAttrs
from shlo_disc.dynamic_ops.linear_algebra import routine
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.host.program import HostCallRef
from shlo_disc.kernels.groups import Group, GroupKind
from shlo_disc.linear_algebra import Routine
from shlo_disc.records import record

_REGISTERED = "the function that is registered for its target"


@record
class HostLibraries:
    """The libraries of a target's host calls: `fft` is the name of the one for Fourier transforms.

    `routine` gives the callee and the library's name for a routine, None if kernels call it themselves.
    """

    target: str
    fft: str
    routine: Callable[[Routine], tuple[str, str] | None]


def host_call(group: Group, libraries: HostLibraries) -> HostCallRef | None:
    """The call of a group's op, if Python computes it.

    Raises `UnsupportedOpError` for a custom call whose target has no registered function.
    """
    op = group.ops[0]
    match op.attrs:
        case FftAttrs(transform, rank):
            return _call(
                op, "fft", libraries.fft, f"{transform.value.lower()}", {"transform": transform.value, "rank": rank}
            )
        case CustomCallAttrs(target, entries, aliases, _, takes, returns):
            if find_hook(target, libraries.target) is None:
                raise UnsupportedOpError(
                    f"op 'stablehlo.custom_call' is not supported for the target @{target} on {libraries.target}",
                    op.span,
                    hint=how_to_register(target, libraries.target),
                )
            attributes = {
                "target": target, "entries": entries, "aliases": aliases, "takes": takes, "returns": returns,
            }  # fmt: skip
            return _call(op, "custom_call", _REGISTERED, f"custom_call @{target}", attributes)
        case _ if group.kind is GroupKind.LIBRARY and (called := libraries.routine(routine(op))) is not None:
            return _call(op, *called, routine(op).name, asdict(routine(op)))
        case _:
            return None


def _call(op: Op[object], callee: str, library: str, what: str, attributes: Mapping[str, Any]) -> HostCallRef:
    place = f"{one_line(what)}, {op.span.where()}"
    return HostCallRef(callee, library, (*op.operands, *op.results), len(op.results), attributes, place)
