"""Whole models on the emulator: right at the recorded shapes and at random ones, whichever kernels are chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shlo_disc.options import CompileOptions
from tests.emulator.device import EmulatedDevice, Schedule
from tests.emulator.run import compiled, variants
from tests.models.recorded import MODELS, RECORDED, assert_close, load
from tests.oracle import xla_reference

pytestmark = pytest.mark.slow

RANDOM = 3
SAMPLE = ("bert", "gpt2", "mobilenet_v3")
SCHEDULES: tuple[tuple[Schedule, int], ...] = (("fifo", 0), ("lifo", 0), ("random", 1), ("random", 2))
HOST_PROGRAM = CompileOptions(matmul_precision="highest")


@pytest.mark.parametrize("name", MODELS)
def test_model_is_right_by_its_host_program(name: str, corpus: Path, exhaustive: bool) -> None:
    if name not in SAMPLE and not exhaustive:
        pytest.skip("the commands of a host program run in smaller models: --exhaustive")
    model = load(corpus / "models" / name)
    device = EmulatedDevice()
    run = compiled(model.text, device, options=HOST_PROGRAM)
    for case in range(RECORDED):
        device.set_schedule(*SCHEDULES[case])
        assert_close(run(*model.inputs(case)), model.outputs(case), f"{name}, case {case}")
    for seed in range(RANDOM):
        inputs = model.random_inputs(seed)
        shapes = ", ".join(str(inputs[k].shape) for k in range(len(model.params), len(inputs)))
        assert_close(run(*inputs), xla_reference(model.text, inputs), f"{name}, {shapes}")
    assert run.stats.compilations == 1


@pytest.mark.parametrize("name", MODELS)
def test_model_is_right_with_every_variant(name: str, corpus: Path) -> None:
    model = load(corpus / "models" / name)
    for number in variants(model.text):
        device = EmulatedDevice()
        run = compiled(model.text, device, variant=number)
        for case in (0, 2):
            device.set_schedule(*SCHEDULES[(number + case) % len(SCHEDULES)])
            assert_close(run(*model.inputs(case)), model.outputs(case), f"{name}, variant {number}, case {case}")


@pytest.mark.parametrize("name", MODELS)
def test_a_replayed_graph_gives_the_same(name: str, corpus: Path) -> None:
    model = load(corpus / "models" / name)
    device = EmulatedDevice()
    run = compiled(model.text, device, options=HOST_PROGRAM)
    inputs = [device.array(array) for array in model.inputs(0)]
    calls = [[np.asarray(result) for result in run(*inputs)] for _ in range(6)]
    for found in calls:
        for ours, wanted in zip(found, calls[0], strict=True):
            np.testing.assert_array_equal(ours, wanted)
    assert run.stats.replays > 0
