"""Whole models: right at the recorded shapes and at random ones, with one compilation each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shlo_disc
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from tests.models.recorded import MODELS, RECORDED, assert_close, load
from tests.oracle import xla_reference

RANDOM, ALL_RANDOM = 5, 20  # XLA compiles a model for each


LONG = ("t5", "whisper")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in MODELS]


@pytest.mark.parametrize("name", NAMES)
def test_model_is_right_at_every_shape_with_one_compilation(name: str, corpus: Path, exhaustive: bool) -> None:
    model = load(corpus / "models" / name)
    run = shlo_disc.compile(model.text)
    for case in range(RECORDED):
        assert_close(run(*model.inputs(case)), model.outputs(case), f"{name}, case {case}")
    for seed in range(ALL_RANDOM if exhaustive else RANDOM):
        inputs = model.random_inputs(seed)
        shapes = ", ".join(str(inputs[k].shape) for k in range(len(model.params), len(inputs)))
        assert_close(run(*inputs), xla_reference(model.text, inputs), f"{name}, {shapes}")
    assert run.stats.compilations == 1


@pytest.mark.parametrize("name", MODELS)
def test_the_oracle_gives_what_was_recorded(name: str, corpus: Path) -> None:
    model = load(corpus / "models" / name)
    found = xla_reference(model.text, model.inputs(1))
    for ours, recorded in zip(found, model.outputs(1), strict=True):
        np.testing.assert_allclose(ours, recorded, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", MODELS)
def test_the_layout_of_memory_is_proven(name: str, device: str, corpus: Path) -> None:
    """No call has to look at it, but for the rooms of threads that take launches by rows."""
    artifact = compile_text(load(corpus / "models" / name).text, name, Request(device), Stopwatch())
    assert artifact.conditions == ()
