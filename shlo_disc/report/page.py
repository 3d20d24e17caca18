"""A self-contained HTML page about a compiled program: its data, and the script that shows it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias, assert_never

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode.listing import host_text
from shlo_disc.host_ir import (
    Case,
    Choice,
    Command,
    Copy,
    Fill,
    GridLaunch,
    HostCall,
    Launch,
    LaunchGroup,
    Product,
    Variant,
    While,
)
from shlo_disc.report.steps import StepPlace, lifetimes, places
from shlo_disc.report.text import explain
from shlo_disc.report_model import GroupText

Json: TypeAlias = Mapping[str, Any]

# In this order.
SCRIPTS = ("size_expr", "sizes", "dom", "profile", "layout", "graph", "group", "growth", "memory", "views", "main")
_STYLE_OF_PARTITIONS = "iframe{width:100%;height:90vh;border:0}body{font-family:sans-serif}"
_FOLDER = files("shlo_disc.report") / "web"
_KERNEL = re.compile(
    r'^extern "C" [^\n]*?\bvoid (?:__launch_bounds__\([^)]*\) )?(\w+)\([^{;]*\{\n.*?^}\n?', re.MULTILINE | re.DOTALL
)


def write_page(artifact: Artifact, path: Path, profile: Json | None = None) -> None:
    """Write a self-contained HTML page about a compiled program, with the data of a profile of it, if there is one."""
    text = page_of(artifact, profile)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")  # names may hold lone surrogates


def page_of(artifact: Artifact, profile: Json | None = None) -> str:
    """The HTML of the page about a program, or about all of its partitions."""
    return _partitions(artifact, profile) if artifact.partitions else page(artifact, profile)


def framed(title: str, style: str, body: str) -> str:
    """A page that holds such pages in frames; `title` and `body` are HTML."""
    style_of_pages, script = _texts()
    styles = " ".join(f"'{_digest(one)}'" for one in dict.fromkeys((style, _STYLE_OF_PARTITIONS, style_of_pages)))
    policy = f"default-src 'none'; style-src {styles}; script-src '{_digest(script)}'"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} · shlo_disc</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style></head>'
        f"<body>{body}</body></html>"
    )


def _partitions(artifact: Artifact, profile: Json | None) -> str:
    """One page that holds the pages of all partitions, below the facts on sizes of the whole program."""
    pages = [(html.escape(n.capitalize()), html.escape(page(part, profile, n))) for n, part in artifact.named_parts]
    frames = [f'<h2>{t}</h2><iframe title="{t}" srcdoc="{p}"></iframe>' for t, p in pages]
    name, facts = html.escape(artifact.name), html.escape(explain(artifact, "facts"))
    return framed(name, _STYLE_OF_PARTITIONS, f"<h1>{name}</h1><pre>{facts}</pre>{''.join(frames)}")


def _texts() -> tuple[str, str]:
    """The style and the script of a page."""
    return _read("style.css"), "\n".join(_read(f"{name}.js") for name in SCRIPTS)


def page(artifact: Artifact, profile: Json | None = None, part: str = "") -> str:
    """The HTML of the page; `part`: the name of the artifact in the profile of the whole program.

    Its content security policy permits this script alone, and no loading.
    """
    style, script = _texts()
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'"
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(artifact.name),
        "STYLE": style,
        "DATA": _embedded(page_data(artifact, profile, part)),
        "SCRIPT": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read("page.html"))


def _embedded(data: Json) -> str:
    """JSON that may stand in an element of HTML."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The source expression of a content security policy that permits exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def page_data(artifact: Artifact, profile: Json | None = None, part: str = "") -> Json:
    """The data of the page, as JSON."""
    steps = places(artifact)
    model = artifact.report
    return {
        "name": artifact.name,
        "device": artifact.device,
        "arguments": [asdict(argument) for argument in artifact.arguments],
        "results": [asdict(result) for result in artifact.results],
        "sizes": asdict(model.sizes),
        "symbols": artifact.symbols,
        "places": artifact.places,
        "dims": len(artifact.raw),
        "definitions": artifact.definitions,
        "checks": [asdict(check) for check in artifact.checks],
        "arena": artifact.arena_bytes,
        "buffers": _buffers(artifact),
        "steps": [_step(place, group) for place, group in zip(steps, model.steps, strict=True)],
        "groups": [_group(group) for group in model.groups],
        "facts": [asdict(fact) for fact in model.facts],
        "shapes": [[s.value, s.dims, s.reason, s.where, s.origin, s.because, s.is_integer] for s in model.shapes],
        "kernels": kernel_texts(artifact),
        "host": host_text(artifact),
        "profile": None if profile is None else _profile(profile, part),
    }


def _profile(profile: Json, part: str) -> Json:
    """What was measured of one part of the program."""
    own = [step for step in profile["steps"] if step["part"] == part]
    return {**{name: profile[name] for name in ("sizes", "repeat", "seconds", "whole")}, "steps": own}


def kernel_texts(artifact: Artifact) -> Mapping[str, str]:
    """The text of every kernel by its name, with the text between it and the kernel before it."""
    found = dict[str, str]()
    for file in artifact.kernels:
        end = 0
        for match in _KERNEL.finditer(file.text):
            before = re.sub(r"^#include .*\n", "", file.text[end : match.start()], flags=re.MULTILINE)
            found[match[1]] = f"{before.strip()}\n{match[0]}".strip()
            end = match.end()
    return found


def _buffers(artifact: Artifact) -> list[Json]:
    """All buffers with the steps that use them; arguments and stored tensors have the user's names."""
    needed, named = lifetimes(artifact), artifact.report.names()
    found = list[Json]()
    for slot, buffer in enumerate(artifact.buffers):
        name = named.get(slot, buffer.label).partition(": ")[0]
        if buffer.kind == "argument" and buffer.memory in (slot, None):
            name = artifact.arguments[buffer.number].name
        found.append(
            {
                "kind": buffer.kind,
                "name": name,
                "dtype": buffer.dtype,
                "shape": buffer.shape,
                "size": buffer.size,
                "offset": buffer.offset,
                "needed": needed.get(slot),
                "memory": slot if buffer.memory is None else buffer.memory,
            }
        )
    return found


def _group(group: GroupText) -> Json:
    return {**asdict(group), "ops": [[op.name, op.text, op.line, op.origin, op.inlined] for op in group.ops]}


def _step(place: StepPlace, group: int | None) -> Json:
    shared: Json = {"depth": place.depth, "end": place.end, "group": group}
    match place.step:
        case Launch() as launch:
            return {**shared, "kind": "launch", **asdict(launch)}
        case LaunchGroup(members, rows, units):
            return {**shared, "kind": "region", "launches": len(members), "rows": rows, "units": units}
        case Choice(_, variants):
            return {**shared, "kind": "choice", "variants": [_variant(variant) for variant in variants]}
        case HostCall(callee=callee, operands=operands, results=results, place=where):
            buffers = (*operands, *results)
            return {**shared, "kind": "host_call", "callee": callee, "buffers": buffers, "place": where}
        case Copy(source, target):
            return {**shared, "kind": "copy", "source": source, "target": target}
        case While(condition, flag, _):
            inside = sum(1 for _ in condition)
            return {**shared, "kind": "while", "flag": flag, "condition": inside}
        case Case(index, _, branches):
            return {**shared, "kind": "case", "index": index, "branches": len(branches)}
        case _:
            assert_never(place.step)


def _variant(variant: Variant) -> Json:
    return {
        "label": variant.label,
        "guards": [[guard.lhs, guard.relation, guard.rhs] for guard in variant.guards],
        "aligned": variant.aligned,
        "commands": [_command(command) for command in variant.commands],
    }


def _command(command: Command) -> Json:
    match command:
        case GridLaunch():
            return {
                "kind": "kernel",
                "kernel": command.kernel,
                "blocks": command.blocks,
                "threads": command.threads,
                "shared": command.shared,
            }
        case Product():
            batch = [loop.extent for loop in command.batch]
            return {"kind": "product", "m": command.m, "n": command.n, "k": command.k, "batch": batch}
        case Copy(source, target):
            return {"kind": "copy", "source": source, "target": target}
        case Fill(target, byte):
            return {"kind": "fill", "target": target, "byte": byte}
        case _:
            assert_never(command)
