"""What the seeds measure: the whole of it on small programs, and the parts that have an answer of their own."""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from benchmarks.seeds import __main__ as command
from benchmarks.seeds.apollo import APOLLO
from benchmarks.seeds.disc import split
from benchmarks.seeds.local_padding import count
from benchmarks.seeds.programs import Cell, recurrent
from benchmarks.seeds.rows import Row, Settings
from benchmarks.seeds.table import SEEDS
from shlo_disc import CompileOptions
from tests.conftest import ROOT

Array = NDArray[Any]
FAST = CompileOptions(optimize=0, threads=1)


def test_rows_as_text() -> None:
    values: tuple[float | str, ...] = (0.1234, 1234.5, 1234, "not built")
    assert [Row("", value, "x", "", "-").text for value in values] == ["0.123 x", "1,234 x", "1,234 x", "not built"]


def test_unknown_systems_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--only", "disc,tvm"])
    assert "found the system 'tvm' in --only, expected some of disc, bladedisc" in capsys.readouterr().err


def test_the_page_has_a_section_for_each_paper() -> None:
    sections = re.split(r"^## ", (ROOT / "docs/explanation/seeds.md").read_text(), flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == [seed.name for seed in SEEDS.values()]
    for section, seed in zip(sections, SEEDS.values(), strict=True):
        assert f"{seed.paper}." in " ".join(section.split())
        for name in re.findall(r"`([\w/]+/[\w./]*)`", section):  # files and folders
            assert any((ROOT / folder / name).exists() for folder in (".", "shlo_disc")), name


def test_what_is_missing_is_said() -> None:
    rows = list(SEEDS["cora"].measure(Settings(quick=True, lengths=Path("nowhere.json"))))
    assert [row.value for row in rows if isinstance(row.value, str)][-1] == "not measured: no file nowhere.json"


def test_padded_work_of_given_lengths(tmp_path: Path) -> None:
    """Batches of samples that are all as long as each other have no padding."""
    (tmp_path / "lengths.json").write_text(json.dumps({"CoLA": {"histogram": {"7": 5}}}))
    measured = SEEDS["cora"].measure(Settings(quick=True, lengths=tmp_path / "lengths.json"))
    assert [row.value for row in islice(measured, 2)] == [1.0, 1]  # before anything is compiled


def _state_of(node: int, cell: Cell, xs: Array, children: Array) -> tuple[Array, Array]:
    """A Tree-LSTM's state at a node, numbered from 1 on; of 0 it is zeros."""
    inputs, states, bias = (np.asarray(part, np.float64) for part in cell)
    size = len(states)
    if node == 0:
        return np.zeros(size), np.zeros(size)
    below = [_state_of(child, cell, xs, children) for child in children[node - 1]]

    def gate(number: int, h: Array) -> Array:
        columns = slice(number * size, (number + 1) * size)
        return xs[node - 1] @ inputs[:, columns] + h @ states[:, columns] + bias[columns]

    def sigmoid(x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    h = below[0][0] + below[1][0]
    kept = sum(sigmoid(gate(3, one)) * memory for one, memory in below)
    memory = sigmoid(gate(0, h)) * np.tanh(gate(2, h)) + kept
    return sigmoid(gate(1, h)) * np.tanh(memory), memory


@pytest.mark.slow
def test_tree_lstm() -> None:
    _, workload = recurrent(quick=True)
    weights, (xs, children) = workload.weights(), workload.at((9,))
    found = shlo_disc.compile(workload.export(weights), device="cpu", options=FAST)(weights, xs, children)
    np.testing.assert_allclose(found, _state_of(9, weights, xs, children)[0], rtol=1e-5)


def _product_and_sums(x: Any, w: Any) -> tuple[Any, Any]:
    return x @ w, (x * x).sum(0)


@pytest.mark.slow
def test_times_are_split_by_what_a_step_computes() -> None:
    run = shlo_disc.compile(_product_and_sums, shapes=["f32[n, 64]", "f32[64, 64]"], device="cpu", options=FAST)
    profile = run.profile(np.ones((16, 64), np.float32), np.ones((64, 64), np.float32), repeat=1)
    parts = split(profile, run.executable.artifact)
    products = [step.seconds.least for step in profile.steps if step.kind == "product"]
    assert parts["products"] == pytest.approx(sum(products))
    assert sum(parts.values()) == pytest.approx(profile.seconds)
    assert parts["other kernels"] > 0
    assert len(products) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("m", "k", "n"), [(5, 16, 64), (70, 17, 33)])
def test_local_padding_leaves_predicates_to_fetches_and_results(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    padded, checked = count("padded", x, w), count("checked", x, w)
    np.testing.assert_allclose(padded.result, x @ w, rtol=1e-4, atol=1e-5)
    assert np.array_equal(padded.result, checked.result)
    tiles, steps = -(-m // 64) * -(-n // 64), -(-k // 16)
    assert checked.predicates - padded.predicates == tiles * steps * 64 * 64 * 16
    packs = 4 if k % 4 == 0 else 1, 4 if n % 4 == 0 else 1  # elements that one predicate is for
    fetched = tiles * steps * 64 * 16 * (1 / packs[0] + 1 / packs[1])
    assert padded.predicates == fetched + tiles * 64 * 64


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_each_table_is_measured(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "seeds.json"
    command.main(["--only", name, "--quick", "--json", str(target)])
    (found,) = json.loads(target.read_text())["seeds"]
    rows = [Row(**row) for row in found["rows"]]
    assert len({row.what for row in rows}) == len(rows) >= 2
    assert all(row.dynamic for row in rows)
    printed = " ".join(capsys.readouterr().out.split())
    assert SEEDS[name].name in printed
    assert "reported:" in printed
    numbers = {row.what: row.value for row in rows if not isinstance(row.value, str)}
    by_rules = [value for what, value in numbers.items() if "by fusion rules" in what]
    if name == "disc":
        assert by_rules == sorted(by_rules, reverse=True)
        assert 0 < numbers["the host program over the VM in Python"] < 1
    if name == APOLLO.name.lower():
        kernels = [value for what, value in numbers.items() if "kernels: " in what]
        assert kernels == sorted(kernels, reverse=True)
        shared, groups = numbers["cuda: launches that independent groups share"], numbers["cuda: groups in them"]
        assert kernels[-2] - kernels[-1] == groups - shared > 0
