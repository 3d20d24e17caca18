"""The corpus on the emulator: every case that the CPU target supports is right here too.

A run takes one case of each operation, of static and of dynamic sizes; `--exhaustive` takes them all.
`unsupported.txt` lists those that the CUDA target refuses: it may only get shorter. See tests/corpus.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shlo_disc
from tests.conftest import SEED
from tests.corpus.judged import Case, Runner, all_cases, check, judge, listed, parametrize
from tests.corpus.on_gpu import BF16_TRANSFORMERS, SORTS, TOP_K, for_gpu
from tests.corpus.test_cases import KNOWN
from tests.corpus.test_cases import LIST as ON_CPU
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import OPTIONS, compiled, emulate, variants

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
LIST = HERE / "unsupported.txt"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, _wanted if metafunc.config.getoption("--exhaustive") else _sample)


def _wanted(corpus: Path) -> dict[str, Case]:
    skipped = listed(ON_CPU).keys() | listed(KNOWN).keys()
    return {name: case for name, case in all_cases(corpus).items() if name not in skipped}


def _sample(corpus: Path) -> dict[str, Case]:
    names = dict[tuple[str, bool], list[str]]()
    for name, case in _wanted(corpus).items():
        names.setdefault((case["group"], case["dynamic"]), []).append(name)
    random, wanted = Random(SEED), _wanted(corpus)
    return {name: wanted[name] for name in map(random.choice, names.values())}


@pytest.fixture(scope="session")
def runner(corpus: Path) -> Generator[Runner]:
    with judge(corpus, HERE / "adapter.py") as worker:
        yield worker


def test_case(case: Case, runner: Runner, request: pytest.FixtureRequest) -> None:
    check(for_gpu(case), runner, LIST, update=bool(request.config.getoption("--update-golden")))


def test_both_targets_support_the_same_cases() -> None:
    assert not listed(LIST), "what the CPU target can do, the CUDA target can do too"


def _case(corpus: Path, name: str) -> tuple[str, Sequence[np.ndarray[Any, Any]]]:
    """The text of a case, and its first inputs."""
    with np.load(corpus / f"{name}.npz") as arrays:
        names = sorted(key for key in arrays.files if key.startswith("v0_in"))
        return (corpus / f"{name}.mlir").read_text(), [arrays[key] for key in names]


@pytest.mark.parametrize("name", SORTS)
def test_an_unstable_sort_is_stable(name: str, corpus: Path) -> None:
    text, inputs = _case(corpus, name)
    attributes = "<{dimension = 1 : i64}>"
    assert attributes in text
    stable = shlo_disc.compile(text.replace(attributes, "<{dimension = 1 : i64, is_stable = true}>"), device="cpu")
    for number in variants(text):
        for found, wanted in zip(emulate(text, inputs, variant=number), stable(*inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_the_top_elements_are_where_they_are_said_to_be(corpus: Path) -> None:
    text, (bits,) = _case(corpus, TOP_K)
    x = bits.view(ml_dtypes.bfloat16)
    values, places = emulate(text, [x])
    np.testing.assert_array_equal(np.take_along_axis(x, places, -1), values)
    assert all(len(set(row)) == len(row) for row in places.reshape(-1, places.shape[-1]).tolist())


@pytest.mark.parametrize("name", BF16_TRANSFORMERS)
def test_without_attention_in_one_kernel_bf16_is_what_the_cpu_gives(name: str, corpus: Path) -> None:
    with np.load(corpus / f"{name}.npz") as arrays:
        last = max(int(key[1 : key.index("_")]) for key in arrays.files)
        names = sorted(key for key in arrays.files if key.startswith(f"v{last}_in"))
        inputs = [
            arrays[key].view(ml_dtypes.bfloat16) if arrays[key].dtype.itemsize == 2 else arrays[key] for key in names
        ]
    text = (corpus / f"{name}.mlir").read_text()
    apart = compiled(text, EmulatedDevice(), options=replace(OPTIONS, fusion="none")).executable(inputs)
    for found, wanted in zip(apart, shlo_disc.compile(text, device="cpu")(*inputs), strict=True):
        np.testing.assert_array_equal(np.asarray(found), wanted)
