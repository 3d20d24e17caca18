"""What a profile shows itself as: a table, HTML, a trace. The profiles are made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import shlo_disc
from shlo_disc.profiling.profile import Event, MemberProfile, Profile, Seconds, StepProfile
from shlo_disc.profiling.text import TITLES
from shlo_disc.runtime.machine_rates import MachineRates, from_bytes, to_bytes
from shlo_disc.runtime.selection import Option, SelectionTrace

pytestmark = pytest.mark.quick

RATES = MachineRates(2, ((1 << 10, 4e9), (1 << 20, 2e9), (1 << 28, 1e9)), {"f32": 100e9, "f64": 50e9})
CHOICE = SelectionTrace(
    "%3",
    (4, 8, 16, 1),
    "tiles 6",
    "by the model",
    "s",
    2e-6,
    0.25,
    0.5,
    (Option("tiles 6", 2e-6), Option("own 4", 9e-6)),
)
NAME = "dot_0<script>"


def step(**changes: Any) -> StepProfile:
    seconds = Seconds(1e-3, 2e-3)
    lines = ("/src/model.py:3", "/src/model.py:7 (calls @f)")
    made = StepProfile(
        "", 0, "product", NAME, (0,), lines, 1, seconds, 500_000, 500_000, 10_000_000, "f32", 2, (CHOICE,)
    )
    return replace(made, **changes)


def made(*steps: StepProfile) -> Profile:
    events = (Event(0, 0.0, 1e-3), *(Event(k, k * 2e-3, k * 2e-3 + 1e-3) for k in range(1, len(steps))))
    return Profile("main", "cpu", "a CPU", 2, 3, {"b": 8}, steps, Seconds(4e-3, 5e-3), events, RATES)


COPY = step(kind="copy", name="a to b", number=1, flops=0, selections=(), lines=(), part="partition 1", runs=2)


def notebook_text(profile: Any) -> str:
    """What notebooks show."""
    return profile._repr_html_()


def test_the_limit_of_a_step_is_that_of_its_bytes_or_its_operations() -> None:
    found = made(step())
    # 1 MB within a working set of 1 MiB at 2 GB/s takes 0.5 ms, 10 MFLOP at 100 GFLOP/s 0.1 ms; it took 1 ms.
    assert found.of_limit(found.steps[0]) == pytest.approx(0.5)
    assert found.bound(found.steps[0]) == "memory"
    busy = step(flops=90_000_000)
    assert (found.of_limit(busy), found.bound(busy)) == (pytest.approx(0.9), "arithmetic")
    assert found.of_limit(replace(busy, precision="f64")) == pytest.approx(1.8)
    assert found.of_limit(step(bytes_read=0, bytes_written=0, flops=0)) is None
    assert replace(found, rates=None).of_limit(busy) is None
    assert RATES.bandwidth(1) == 4e9
    assert RATES.bandwidth(1 << 40) == 1e9


def test_the_table_has_a_row_for_each_step() -> None:
    lines = str(made(step(), COPY)).splitlines()
    assert lines[0] == "main at b=8: 3 calls on a CPU, 2 threads"
    assert lines[2].split() == " ".join(TITLES).split()
    assert "  1000.00  50.0%" in lines[3]
    assert lines[3].endswith("/src/model.py:7 (calls @f) and 1 more")
    assert " 1.00 " in lines[3], "GB/s"
    assert " 10.00 " in lines[3], "GFLOP/s"
    assert "50% memory" in lines[3]
    assert lines[4] == "partition 1"
    assert "steps 2000.00 us; a call 4000.00 us at least, 5000.00 us in the median" in lines
    assert "\x1b" not in str(made(step(name="\x1b[31m")))


def test_the_table_has_a_row_for_each_launch_of_a_group() -> None:
    members = (MemberProfile("dot_0", 0, ("a.py:1",), 1e-5), MemberProfile("add_1", 1, ("a.py:2",), 2e-6))
    lines = str(made(step(kind="launch group", members=members))).splitlines()
    assert lines[4].split() == ["alone", "10.00", "dot_0", "a.py:1"]
    assert lines[5].split() == ["alone", "2.00", "add_1", "a.py:2"]


def test_the_selections_say_what_was_predicted_and_measured() -> None:
    assert made(step(), COPY).selection_trace().splitlines() == [
        "step 0, %3: 4 x 8 x 16",
        "  tiles 6, by the model",
        "  padding 25.0%, occupancy 50%, predicted 2.00 us, measured 1000.00 us",
        "    * tiles 6: 2.00 us",
        "      own 4: 9.00 us",
    ]
    assert made(COPY).selection_trace() == "no step had a choice"


def test_html_links_the_lines_and_escapes_names(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("import jax\n\ny = x < w\n")
    found = made(step(lines=(f"{source}:3",)), step(lines=("<b>:1",)))
    for text in (found.html(), notebook_text(found)):
        assert f'href="{source.as_uri()}#L3"' in text
        assert "<code>y = x &lt; w</code>" in text
        assert "dot_0&lt;script&gt;" in text
        assert "<script>" not in text
        assert "&lt;b&gt;:1" in text
    assert found.html().startswith("<!doctype html>")
    assert ">partition 1</th>" in made(step(), COPY).html()
    assert "default-src 'none'" in found.html()


def test_the_trace_is_in_the_trace_event_format() -> None:
    """The rules of the format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU."""
    data = json.loads(made(step(), COPY).chrome_trace())
    events = data["traceEvents"]
    assert data["displayTimeUnit"] in ("ms", "ns")
    for event in events:
        assert {"name", "ph", "pid", "tid", "ts"} <= event.keys()
        assert isinstance(event["name"], str)
        assert all(isinstance(event[key], int) for key in ("pid", "tid"))
        assert isinstance(event["ts"], int | float)
        assert event["ph"] in ("X", "M")
    complete = [event for event in events if event["ph"] == "X"]
    assert [(event["ts"], event["dur"]) for event in complete] == [
        (0.0, pytest.approx(1000)),
        (2000.0, pytest.approx(1000)),
    ]
    assert all(isinstance(event["args"], dict) and isinstance(event["cat"], str) for event in complete)
    assert [event["args"]["bytes read"] for event in complete] == [500_000, 250_000], "of one run"
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert [names[event["tid"]] for event in complete] == ["steps", "partition 1"]
    for track in names:  # complete events of a track do not overlap
        own = [event for event in complete if event["tid"] == track]
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in pairwise(own))


def test_a_file_has_the_form_that_its_name_asks_for(tmp_path: Path) -> None:
    found = made(step())
    for name, text in {"p.json": found.to_json(), "p.trace.json": found.chrome_trace(), "p.html": found.html()}.items():
        found.save(tmp_path / name)
        assert (tmp_path / name).read_text() == text
    with pytest.raises(shlo_disc.ShloDiscError, match=r"'p.txt', expected a name that ends with .trace.json, "):
        found.save(tmp_path / "p.txt")
    assert not (tmp_path / "p.txt").exists()


def test_limits_are_kept_as_text() -> None:
    assert from_bytes(to_bytes(RATES)) == RATES
    for damaged in (b"", b"[1]", b"[2, [], {}]", b'{"a": 1}'):
        with pytest.raises(ValueError, match="found no rates of a machine"):
            from_bytes(damaged)
