"""What padding and compilations cost, computed another way, and of real sets of lengths."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.advisor.advice import Advice
from shlo_disc.advisor.ways import WayToServe

Ints = NDArray[np.int64]

LENGTHS = Path(__file__).resolve().parents[3] / "shared" / "lengths" / "lengths.json"
LAST: Mapping[str, Callable[[Ints], Ints]] = {
    "linear": lambda sizes: sizes,
    "quadratic": lambda sizes: sizes**2,
    "layer:8": lambda sizes: 2 * (4 * 8 * 8 + 2 * 8 * 32) * sizes + 2 * 2 * 8 * sizes**2,
}


def ways_of(advice: Advice) -> dict[str, WayToServe]:
    return {way.name.removeprefix("jax.jit, "): way for way in advice.ways}


def work_of(cost: str, padded: Ints) -> int:
    return int((np.prod(padded[:, :-1], axis=1) * LAST[cost](padded[:, -1])).sum())


def to_powers(sizes: Ints) -> Ints:
    return 2 ** np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)


def to_next(sizes: Ints, targets: tuple[int, ...]) -> Ints:
    return np.array(targets)[np.searchsorted(targets, sizes)]


def check(way: WayToServe, needed: int, work: int, shapes: Ints) -> None:
    """The work and the number of shapes of a way are these."""
    assert (way.work, way.compilations) == (work, len(np.unique(shapes, axis=0)))
    assert (way.ratio, way.padding) == (pytest.approx(work / needed), pytest.approx(1 - needed / work))
    assert way.seconds == way.compilations * 0.25


@pytest.mark.quick
@pytest.mark.parametrize("cost", LAST)
@pytest.mark.parametrize("columns", [1, 2])
def test_calls(columns: int, cost: str) -> None:
    rows = np.random.default_rng().integers(1, 40, (150, columns))
    advice = shlo_disc.advise(rows, cost=cost, buckets=(3, 1, 5), compile_seconds=0.25)
    ways, needed = ways_of(advice), work_of(cost, rows)
    assert (advice.calls, advice.shapes, advice.needed) == (150, len(np.unique(rows, axis=0)), needed)
    check(ways["each shape"], needed, needed, rows)
    longest = np.broadcast_to(rows.max(axis=0), rows.shape)
    check(ways["padded to the longest"], needed, work_of(cost, longest), longest)
    check(ways["padded to powers of two"], needed, work_of(cost, to_powers(rows)), to_powers(rows))
    ours = ways["shlo_disc.jit, each shape"]
    assert (ours.work, ours.compilations, ours.seconds) == (needed, 1, None)
    to_best = [way for way in advice.ways if way.buckets]
    assert [max(map(len, way.buckets)) for way in to_best] == [1, 3, 5]
    for way in to_best:
        pairs = zip(rows.T, way.buckets, strict=True)
        padded = np.stack([to_next(column, targets) for column, targets in pairs], axis=1)
        check(way, needed, work_of(cost, padded), padded)
    assert to_best[0].work > to_best[1].work > to_best[2].work
    assert to_best[0].work == ways["padded to the longest"].work


@pytest.mark.quick
@pytest.mark.parametrize("cost", LAST)
@pytest.mark.parametrize("columns", [1, 2])
def test_batches(columns: int, cost: str) -> None:
    rows = np.random.default_rng().integers(1, 400, (150, columns))  # the last batch of 16 has 6 samples
    advice = shlo_disc.advise(rows, batch=16, cost=cost, buckets=(2,), compile_seconds=0.25)
    ways, needed = ways_of(advice), work_of(cost, rows)
    assert (advice.calls, advice.needed) == (10, needed)
    parts = [rows[first : first + 16] for first in range(0, 150, 16)]
    exact = np.array([[len(part), *part.max(axis=0)] for part in parts])
    check(ways["each shape"], needed, work_of(cost, exact), exact)
    longest = np.array([[16, *rows.max(axis=0)]] * 10)
    check(ways["padded to the longest"], needed, work_of(cost, longest), longest)
    powers = np.concatenate([np.full((10, 1), 16), to_powers(exact[:, 1:])], axis=1)
    check(ways["padded to powers of two"], needed, work_of(cost, powers), powers)
    assert ways["shlo_disc.jit, each shape"].work == ways["each shape"].work
    assert (ways["no padding (ragged)"].work, ways["no padding (ragged)"].compilations) == (needed, 1)
    assert work_of(cost, longest) > next(way for way in advice.ways if way.buckets).work >= work_of(cost, exact)


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(6))
def test_the_best_sizes_of_two_columns_are_the_best_for_each_other(seed: int) -> None:
    """No other choice of the sizes of one column is less work."""
    first = np.random.default_rng(seed).integers(1, 13, 40)
    rows = np.stack([first, 13 - first], axis=1)  # as if a batch held a given number of elements
    (way,) = [way for way in shlo_disc.advise(rows, buckets=[2]).ways if way.buckets]
    for column in (0, 1):
        largest = int(rows[:, column].max())
        for other in range(1, largest):
            targets = list(way.buckets)
            targets[column] = (other, largest)
            padded = np.stack([to_next(rows[:, at], targets[at]) for at in (0, 1)], axis=1)
            assert work_of("linear", padded) >= way.work


@pytest.mark.quick
def test_every_form_of_sizes(tmp_path: Path) -> None:
    lines = tmp_path / "lengths.csv"
    lines.write_text("batch;length\n2;5\n\n3;7  # long\n2;5\n")
    expected = shlo_disc.advise([(2, 5), (3, 7), (2, 5)]).ways
    columns = {"batch": np.array([2, 3, 2]), "length": [5, 7, 5]}
    for given in (lines, str(lines), np.array([[2, 5], [3, 7], [2, 5]]), columns):
        assert shlo_disc.advise(given).ways == expected
    assert shlo_disc.advise(iter([5, 7])).ways == shlo_disc.advise(jnp.array([5, 7])).ways
    assert shlo_disc.advise(lines).names == ("batch", "length")


def test_the_report_of_a_function() -> None:
    function = shlo_disc.jit(lambda x: x + x)
    with pytest.raises(shlo_disc.ShloDiscError, match="not been called yet"):
        shlo_disc.advise(function.report())
    function(np.ones((2, 4), np.float32))
    with pytest.raises(shlo_disc.ShloDiscError, match="sizes never changed"):
        shlo_disc.advise(function.report())
    for rows in (2, 9, 5, 9):
        function(np.ones((rows, 4), np.float32))
    function(np.ones((3, 4, 1), np.float32))
    advice = shlo_disc.advise(function.report(), buckets=[2])
    assert (advice.names, advice.calls, advice.shapes) == (("x_0",), 3, 3)
    assert ways_of(advice)["padded to 2 best sizes"].buckets == ((5, 9),)
    assert any("counts once" in note for note in advice.notes)
    assert any("without 1 shape of calls with other" in note for note in advice.notes)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "expected the sizes of at least one call"),
        ([1.5], {}, "found a size of call 1 = 1.5, expected a whole number"),
        ([3, -1], {}, "found a size of call 2 = -1, expected a size >= 0"),
        ([(1, 2), (3,)], {}, "expected 2 sizes in call 2, found 1"),
        ([0, 0], {}, "expected a call without a size of 0"),
        ({"a": [1], "b": [1, 2]}, {}, "expected columns of equal lengths, found {'a': 1, 'b': 2}"),
        (7, {}, "found 7, expected sizes"),
        ([1], {"batch": 0}, "found batch = 0"),
        ([1], {"buckets": [0]}, "found 0 buckets"),
        ([1], {"cost": "cubic"}, "found the cost 'cubic', expected linear, quadratic"),
        ([1], {"compile_seconds": -1.0}, "found compile_seconds = -1.0"),
    ],
)
def test_what_is_refused(given: object, options: dict[str, Any], message: str) -> None:
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.advise(given, **options)
    assert message in str(caught.value)


@pytest.mark.quick
def test_a_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    advice = shlo_disc.advise([3, 5, 9, 17], buckets=[1, 2], batch=2)
    advice.plot(tmp_path / "plot.svg")
    assert ElementTree.parse(tmp_path / "plot.svg").getroot().tag.endswith("svg")
    with pytest.raises(shlo_disc.ShloDiscError, match=r"none/plot\.svg: No such file"):
        advice.plot(tmp_path / "none" / "plot.svg")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(shlo_disc.ShloDiscError, match=r"pip install 'shlo-disc\[notebooks\]'"):
        advice.plot(tmp_path / "other.svg")


@pytest.mark.skipif(not LENGTHS.exists(), reason="needs ../shared/lengths")
@pytest.mark.parametrize(
    ("name", "ratios"),
    [
        ("MRPC", (1.52, 1.64, 2.15)),
        ("MNLI", (2.26, 2.74, 4.26)),
        ("XNLI", (1.85, 1.85, 2.68)),
        ("RACE", (1.47, 1.47, 1.86)),
    ],
)
def test_ratios_of_real_lengths(name: str, ratios: tuple[float, ...]) -> None:
    """Those of the CoRa artifact's files in their order; lengths drawn from the histograms have them, too.

    The other sets are not in a random order.
    """
    counts: dict[str, int] = json.loads(LENGTHS.read_text())[name]["histogram"]
    every = np.repeat(np.array(list(map(int, counts))), list(counts.values()))
    drawn = np.random.default_rng(1).choice(every, 64_000)
    settings = ((32, "layer:512"), (128, "layer:512"), (32, "quadratic"))
    for (batch, cost), expected in zip(settings, ratios, strict=True):
        found = shlo_disc.advise(drawn, batch=batch, cost=cost, buckets=[2])
        assert ways_of(found)["each shape"].ratio == pytest.approx(expected, rel=0.01)
