"""Groups of equal structure share one kernel, whose text is that which each of them would have got."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from shlo_disc.fusion import group_structure
from shlo_disc.fusion.group_structure import GroupStructure
from shlo_disc.kernels.groups import Group
from shlo_disc.lower_cpu import kernels as cpu
from shlo_disc.lower_cuda import kernels as cuda
from tests.fusion.test_fusion import PROGRAMS
from tests.pipeline.exports import In
from tests.pipeline.programs import LAYER, generated, layers, softmax


def nearly_equal(x: Any, y: Any) -> tuple[Any, ...]:
    """Groups that differ in one literal, one attribute, or in which operands are the same."""
    rows = [
        softmax(each) for each in (x * 2.0, y * 3.0, x + y, y + x, x + x, x * (x > y), x * (x < y), x.T + y, y + y.T)
    ]
    return (*rows, (x @ y) * 2.0, (y @ x) * 3.0, x @ x, y @ x.T)


LOWERINGS = {"cpu": cpu.CpuLowering, "cuda": cuda.CudaLowering}


def model(number: int) -> tuple[Callable[..., Any], tuple[In, ...]]:
    """A model of so many layers, and its inputs."""
    return layers(number), (In("b, t, 16"), *LAYER * number)


MODELS = {**PROGRAMS, "four layers": model(4), "nearly equal": (nearly_equal, (In("n, n"), In("n, n")))}


def printed_groups(monkeypatch: pytest.MonkeyPatch, device: str, number: int) -> int:
    """How many groups of a model of so many layers are printed."""
    lowering, printed = LOWERINGS[device], list[Group]()
    real: Any = vars(lowering)["_print"]

    def counted(self: object, group: Group, **how: bool) -> Any:
        printed.append(group)
        return real(self, group, **how)

    with monkeypatch.context() as patch:
        patch.setattr(lowering, "_print", counted)
        function, inputs = model(number)
        generated(function, *inputs, device=device)
    return len(printed)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_twelve_layers_print_no_more_kernels_than_three(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """The first and the last layer have other neighbours than those between."""
    assert printed_groups(monkeypatch, device, 12) == printed_groups(monkeypatch, device, 3)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", MODELS)
def test_sharing_changes_nothing(monkeypatch: pytest.MonkeyPatch, name: str, device: str) -> None:
    function, inputs = MODELS[name]
    shared = generated(function, *inputs, device=device)
    different = count()

    def alone(group: Group, producers: Any) -> GroupStructure:
        found = group_structure.group_structure(group, producers)
        return GroupStructure(next(different), found.tensors)

    for module in (cpu, cuda):
        monkeypatch.setattr(module, "group_structure", alone)
    assert generated(function, *inputs, device=device) == shared
