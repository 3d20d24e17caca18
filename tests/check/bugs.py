"""Bugs to put into the compiler: for a tester to find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops import indexing, slices
from shlo_disc.dynamic_ops.opdef import ElementQuery
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.registry import OPS
from shlo_disc.emit.reductions import identity
from shlo_disc.emit.spelling import Spelling
from shlo_disc.expr.scalar import Binary, Const, Index, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Reduction
from shlo_disc.lower_cpu.stages import lane_reduction

Element: TypeAlias = Callable[[Op[Any], ElementQuery, int, Index], Scalar]
Patch: TypeAlias = pytest.MonkeyPatch


def _with_element(patch: Patch, name: str, element: Callable[[Element], Element]) -> None:
    old = OPS[name].element
    assert old is not None
    patch.setitem(OPS, name, replace(OPS[name], element=element(old)))  # pyright: ignore[reportArgumentType]


def _clamp_too_low(patch: Patch) -> None:
    """A dynamic slice may not begin at the last place where it fits."""

    def starts(ask: ElementQuery, starts: tuple[Tensor, ...], shape: Shape, window: Shape) -> tuple[Any, ...]:
        wider = [w if w == n else w + 1 for w, n in zip(window, shape, strict=True)]
        pairs = zip(starts, shape, wider, strict=True)
        return tuple([indexing.clamped(indexing.as_dim(ask.at(a, ())), n, w) for a, n, w in pairs])

    patch.setattr(slices, "_starts", starts)


def _zero_below_maximum(patch: Patch) -> None:
    """The lanes beyond the end of a row are 0 in a maximum."""

    def wrong(spell: Spelling, reduction: Reduction) -> str:
        return "0.0f" if reduction.fn is BinaryFn.MAXIMUM else identity(spell, reduction)

    patch.setattr(lane_reduction, "identity", wrong)


def _swapped_difference(patch: Patch) -> None:
    """A - b is b - a."""

    def swapped(old: Element) -> Element:
        return lambda op, ask, k, index: old(replace(op, operands=op.operands[::-1]), ask, k, index)

    _with_element(patch, "subtract", swapped)


def _inaccurate_tanh(patch: Patch) -> None:
    """Tanh is off by 10 to 20 units in the last place."""

    def element(old: Element) -> Element:
        def wrong(op: Op[Any], ask: ElementQuery, k: int, index: Index) -> Scalar:
            return Binary(BinaryFn.MULTIPLY, old(op, ask, k, index), Const(1 + 10 * 2.0**-23, DType.F32), DType.F32)

        return wrong

    _with_element(patch, "tanh", element)


def _no_reverse(patch: Patch) -> None:
    """The compiler breaks down at a reverse."""

    def element(_old: Element) -> Element:
        def wrong(_op: Op[Any], _ask: ElementQuery, _k: int, _index: Index) -> Scalar:
            raise InternalError("no rule")

        return wrong

    _with_element(patch, "d_reverse", element)


BUGS: Mapping[str, tuple[Callable[[Patch], None], str]] = {
    "clamp": (_clamp_too_low, "stablehlo.dynamic_slice"),
    "identity": (_zero_below_maximum, "stablehlo.reduce"),
    "swapped": (_swapped_difference, "stablehlo.subtract"),
    "accuracy": (_inaccurate_tanh, "stablehlo.tanh"),
    "breakdown": (_no_reverse, "stablehlo.reverse"),
}
