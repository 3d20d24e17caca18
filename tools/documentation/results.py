"""Tables of `benchmarks/results`, each with the date and the commit of its measurement.

A file is called by its day and its kind, `2026-11-23-peers.json`. `KINDS` says what is shown of each kind: all rows,
or where there are hundreds, ratios of them. Of other kinds the day, the commit and the file are shown.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean
from typing import Any, cast

from tools.documentation.tables import table

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "results"
_NO_VERSIONS = ("commit", "shlo_disc", "one_thread", "date", "note")
Row = Mapping[str, object]


@dataclass(frozen=True)
class Kind:
    """What is shown of a kind of results."""

    title: str
    meaning: str
    rows: Callable[[Any], Iterable[Row]]


def results_text() -> str:
    """A section for each kind, with a table for each of its files, the latest first."""
    found = [parsed for path in FOLDER.iterdir() if (parsed := re.fullmatch(r"([\d-]{10})-(.*)\.jsonl?", path.name))]
    others = {parsed[2]: Kind(parsed[2], "", lambda _: ()) for parsed in found if parsed[2] not in KINDS}
    parts = list[str]()
    for name, kind in {**KINDS, **others}.items():
        days = sorted((parsed[1], parsed[0]) for parsed in found if parsed[2] == name)
        parts += [f"## {kind.title}", kind.meaning, *(_file(kind, day, FOLDER / file) for day, file in days[::-1])]
    return "\n\n".join(parts)


def _file(kind: Kind, day: str, path: Path) -> str:
    text = path.read_text()
    data: Any = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    entries = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    about = {key: value for key, value in entries.items() if isinstance(value, str)}
    commit = about.get("commit", about.get("shlo_disc", ""))[:8]
    facts = [f"commit {commit}" if commit else f"recorded in commit {_recorded(path)}"]
    facts += [f"{key} {value}" for key, value in about.items() if key not in _NO_VERSIONS]
    shown = [f"**{day}**, {', '.join(facts)}, [{path.name}](/{path.relative_to(ROOT)})", _printed([*kind.rows(data)])]
    if "note" in about:
        shown.append(f"\nNote: {about['note']}.")
    return "\n".join([shown[0], "", *shown[1:]])


def _recorded(path: Path) -> str:
    """The last commit of a file."""
    log = ["git", "log", "-1", "--format=%h", "--", str(path)]
    found = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return found or "none yet"


def _printed(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return table(columns, [[_cell(row.get(key, "")) for key in columns] for row in rows])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return " x ".join(map(str, cast("Sequence[object]", value)))
    return str(value)


def _flat(rows: Iterable[Mapping[str, Any]], *left_out: str) -> Iterator[Row]:
    """Rows with the entries of their mappings as columns of their own."""
    for row in rows:
        shown = dict[str, object]()
        for name, value in row.items():
            if name not in left_out:
                shown |= cast("dict[str, object]", value) if isinstance(value, dict) else {name: value}
        yield shown


def _ratios(
    rows: Iterable[Mapping[str, Any]], keys: Sequence[str], ratios: Mapping[str, Callable[[Any], float | None]]
) -> Iterator[Row]:
    """Geometric mean and largest of ratios, over rows with the same keys. None is a ratio that was not measured."""

    def group(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[key] for key in keys)

    for values, same in groupby(sorted(rows, key=group), key=group):
        members, shown = list(same), dict[str, object](zip(keys, values, strict=True))
        shown["measurements"] = len(members)
        for name, ratio in ratios.items():
            found = [one for one in map(ratio, members) if one is not None]
            shown[name] = f"{geometric_mean(found):.2f} ({max(found):.2f})" if found else ""
        yield shown


def _over(other: str) -> Callable[[Any], float | None]:
    return lambda row: row["ours"] / row[other] if row.get(other) and row.get("ours") else None


def _over_best_peer(ours: str) -> Callable[[Any], float | None]:
    def ratio(row: Any) -> float | None:
        times = row["microseconds"]
        return (
            times[ours] / min(time for side, time in times.items() if not side.startswith("shlo"))
            if ours in times
            else None
        )

    return ratio


def _summaries(data: Mapping[str, Any]) -> Iterator[Row]:
    sections = {name: cast("dict[str, Any]", found) for name, found in data.items() if isinstance(found, dict)}
    for section, found in sections.items():
        results: list[str] = found.get("summary") or [found.get("failed", "")]
        for result in results:
            lines = result.strip(": \n").splitlines()  # of a traceback the ends are shown
            yield {"section": section, "result": lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"}


def _kernels(data: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    for row in data:
        fused = {rules: plan["kernels"]["total"] for rules, plan in row["fused"].items()}
        yield {"model": row["model"], "target": row["target"], **fused, "XLA": row["xla"]["total"]}


def _seeds(data: Mapping[str, Any]) -> Iterator[Row]:
    for seed in data["seeds"]:
        for row in seed["rows"]:
            shown = {"measured": row["what"], "ours": row["value"], "unit": row["unit"]}
            yield {"system": seed["seed"], **shown, "dynamic": row["dynamic"], "compilation": row["compilation"]}


def _nested(data: Mapping[str, Mapping[str, Mapping[str, float]]], section: str) -> Iterator[Row]:
    yield from ({"arrays": count, **times} for count, times in data.get(section, {}).items())


def _grouped(data: Mapping[str, Any]) -> Iterator[Row]:
    for row in data["rows"]:
        times = row["microseconds"]
        ratios = {
            "over dense": times["ours"] / times["dense"] if "dense" in times else None,
            "bound over dense": times["bound"] / times["dense"] if {"dense", "bound"} <= set(times) else None,
            "over XLA": times["ours"] / times["xla"],
        }
        shown = {name: "" if ratio is None else ratio for name, ratio in ratios.items()}
        yield {**{key: row[key] for key in ("what", "groups", "rows")}, "microseconds": times["ours"], **shown}


def _ragged(data: Mapping[str, Any]) -> Iterator[Row]:
    for row in data["rows"]:
        seconds = row["seconds"]
        yield {
            **{key: row[key] for key in ("what", "model", "layers", "batch", "lengths")},
            "milliseconds": 1e3 * seconds["ragged"],
            "padded / needed FLOPs": row["padded_flops"] / row["needed"],
            **{f"{side} / ours": time / seconds["ragged"] for side, time in seconds.items() if side != "ragged"},
            "reached": row["reached"],
            "prelude, %": 100 * row["prelude"] / seconds["ragged"],
        }


def _attention(data: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    ratios = {
        f"ours over {name}": _over(side)
        for side, name in {"xla": "XLA", "torch": "PyTorch", "unfused": "unfused"}.items()
    }
    return _ratios(_flat(data, "peak_memory"), ("gradients", "causal"), ratios)


KINDS: Mapping[str, Kind] = {
    "peers": Kind(
        "Workloads beside peers",
        "Our time over the best peer's (JAX, ONNX Runtime, OpenVINO, PyTorch) at each shape: geometric mean (largest).",
        lambda data: _ratios(
            data["steady"],
            ("workload", "threads"),
            {"weights as arguments": _over_best_peer("shlo"), "bound once": _over_best_peer("shlo-bind")},
        ),
    ),
    "cpu": Kind(
        "Workloads beside XLA",
        "Our time over XLA's at each shape: geometric mean (largest).",
        lambda data: _ratios(data["steady"], ("workload", "threads"), {"ours over XLA": _over("xla")}),
    ),
    "ops": Kind(
        "Single ops beside XLA",
        "Our time over XLA's, by family of ops: geometric mean (largest).",
        lambda data: _ratios(data["ops"], ("family", "threads"), {"ours over XLA": _over("xla")}),
    ),
    "convolution": Kind(
        "Convolutions",
        "Our time over XLA's and PyTorch's, by direction: geometric mean (largest).",
        lambda data: _ratios(
            data["layers"], ("kind", "layout"), {"ours over XLA": _over("xla"), "ours over PyTorch": _over("torch")}
        ),
    ),
    "gemm": Kind(
        "Matrix products in f32",
        "Gigaflops a second of one thread, by the sizes m x n x k: with B in place, and packed before.",
        lambda data: _flat(data["rows"], "of_peak", "to_best"),
    ),
    "gemm_narrow": Kind(
        "Matrix products of narrow types",
        "Microseconds, by the sizes m x n x k.",
        lambda data: _flat(data["rows"]),
    ),
    "grouped": Kind(
        "Products of groups of rows",
        "Our time over that of a dense product of as many operations, with the matrices as arguments and bound, and "
        "over XLA's: by groups and their rows, or the tokens of a layer.",
        _grouped,
    ),
    "ragged": Kind(
        "Batches without padding",
        "A batch drawn from the lengths of a set: our time, and that of our padded program and XLA's, padded to the "
        "longest sample and to the next power of two, over it. Reached: the padded program's time over ours, over the "
        "ratio of FLOPs.",
        _ragged,
    ),
    "dispatch": Kind(
        "Schedules that are chosen",
        "Time of the chosen schedule over the best candidate's, by depth and width: geometric mean (largest).",
        lambda data: _ratios(data["rows"], ("k", "n"), {"chosen over best": lambda row: row["ratio"]}),
    ),
    "fusion": Kind("Kernels", "Kernels of the corpus' models by fusion rules, ours (`full`) and others.", _kernels),
    "seeds": Kind(
        "The systems that this one follows",
        "What their papers report, measured here; [about them](../explanation/seeds.md). Unit x: a ratio, below 1 "
        "where ours is less. Compilation: whether it is in the number (`only`: nothing runs).",
        _seeds,
    ),
    "memory": Kind(
        "Memory",
        "Our bytes of temporaries over XLA's: geometric mean (largest).",
        lambda data: _ratios(data, ("model",), {"ours over XLA": _over("xla")}),
    ),
    "compile_time": Kind(
        "Compile time", "CPU seconds of the stages of an encoder with its backward pass, by layers.", _flat
    ),
    "host_cost": Kind(
        "Calls",
        "Microseconds of a call of a small program, by the number of arrays that it takes.",
        lambda data: _nested(data, "leaves"),
    ),
    "host_programs": Kind("Host programs", "Microseconds of a call, by what runs the host program.", _flat),
    "xla_calls": Kind(
        "Calls inside of jax.jit",
        "Microseconds of a jitted function with one call, and of each of a hundred.",
        lambda data: (
            {"function": name, "calls": calls, **times}
            for calls in ("one call", "each of a hundred")
            for name, times in data[calls].items()
        ),
    ),
    "jit_loops": Kind(
        "Training loops of changing shapes",
        "Seconds of the whole loop, and of its steps when all is compiled.",
        lambda data: _flat(data["ways"], "processor", "losses", "report"),
    ),
    "loading": Kind("Files of programs", "CPU milliseconds; memory in MiB.", _flat),
    "parse": Kind("The parser", "Megabytes of text a second.", lambda data: _flat(data["throughput"])),
    "attention": Kind(
        "Attention",
        "Our time over XLA's, PyTorch's and that of our kernels without fusion: geometric mean (largest).",
        _attention,
    ),
    "nvidia-h100-80gb-hbm3": Kind(
        "On a GPU", "The summary of each section of `python -m benchmarks.gpu_check`.", _summaries
    ),
}
