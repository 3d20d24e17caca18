"""Profiles of programs for a GPU, on the emulator: marks of the device stand around each step."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from tests.emulator.run import EmulatedDevice, compiled

TEXT = """\
func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = stablehlo.tanh %x : tensor<?x8xf32> loc("model.py":3:1)
  return %0 : tensor<?x8xf32>
}
"""


class CountingDevice(EmulatedDevice):
    """A device whose clock counts its marks: each step takes a second, and a second passes between steps."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = 0
        self.names = list[str]()

    def mark(self) -> float:
        """The next second."""
        self.marks += 1
        return float(self.marks)

    def named(self, name: str) -> nullcontext[None]:
        """Note the name."""
        self.names.append(name)
        return nullcontext()


def test_a_step_has_the_time_between_its_marks_and_the_choice_of_its_variant() -> None:
    device = CountingDevice()
    run = compiled(TEXT, device)
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
    found = run.profile(x, repeat=2)
    (step,) = found.steps
    assert (found.device, found.machine, found.rates) == ("cuda", "emulated H200", None)
    assert (step.kind, step.runs, step.lines) == ("kernel", 1, ("model.py:3",))
    assert (step.bytes_read, step.bytes_written, step.flops) == (96, 96, 240)
    assert (step.seconds.least, step.seconds.median) == (pytest.approx(1), pytest.approx(1))
    assert [(event.began, event.ended) for event in found.events] == [(0, pytest.approx(1))]
    assert len(device.names) == 3, "a step in each call, with the first that is not measured"
    (choice,) = step.selections
    assert choice.unit == "cycles"
    assert choice.chosen in [option.name for option in choice.options]
    best = min(option.predicted for option in choice.options if option.predicted is not None)
    assert choice.predicted == best
    assert choice.occupancy is not None
    assert 0 < choice.occupancy <= 1
    assert "cycles" in found.selection_trace()
