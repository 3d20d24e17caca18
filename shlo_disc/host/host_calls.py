"""Groups that a function of Python computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shlo_disc.artifact import DeviceKind
from shlo_disc.custom_calls import find_hook, how_to_register
from shlo_disc.diagnostics import UnsupportedOpError, one_line
from shlo_disc.dynamic_ops.custom import CustomCallAttrs
from shlo_disc.dynamic_ops.fourier import FftAttrs
from shlo_disc.dynamic_ops.linear_algebra import routine
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.host.program import HostCallRef
from shlo_disc.kernels.groups import Group, GroupKind


def host_call(group: Group, device: DeviceKind, *, calls_lapack: bool) -> HostCallRef | None:
    """The call of a group's op, if Python computes it. `calls_lapack`: kernels of the device can call LAPACK.

    Raises `UnsupportedOpError` for a custom call whose target has no function yet.
    """
    op = group.ops[0]
    match op.attrs:
        case FftAttrs(transform, rank):
            return _call(op, "fft", f"{transform.value.lower()}", {"transform": transform.value, "rank": rank})
        case CustomCallAttrs(target, entries, aliases, _, returns):
            if find_hook(target, device) is None:
                raise UnsupportedOpError(
                    f"op 'stablehlo.custom_call' is not supported for the target @{target} on {device}",
                    op.span,
                    hint=how_to_register(target, device),
                )
            attributes = {"target": target, "entries": entries, "aliases": aliases, "returns": returns}
            return _call(op, "custom_call", f"custom_call @{target}", attributes)
        case _ if group.kind is GroupKind.LIBRARY and (not calls_lapack or routine(op).is_in_python):
            found = routine(op)
            return _call(op, "cusolver" if found.is_in_cusolver else "lapack", found.name, asdict(found))
        case _:
            return None


def _call(op: Op[object], callee: str, what: str, attributes: Mapping[str, Any]) -> HostCallRef:
    place = f"{one_line(what)}, {op.span.where()}"
    return HostCallRef(callee, (*op.operands, *op.results), len(op.results), attributes, place)
