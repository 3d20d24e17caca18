"""A profile as JSON, and as the text of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ShloDiscError, one_line
from shlo_disc.profiling.html import page
from shlo_disc.profiling.profile import Profile, StepProfile
from shlo_disc.profiling.steps import executed_steps
from shlo_disc.profiling.trace import chrome_trace

FORMAT = 1  # of the JSON


def as_json(profile: Profile) -> str:
    """All fields, and what follows from them."""
    return json.dumps(as_data(profile), ensure_ascii=False)


def as_data(profile: Profile) -> Mapping[str, Any]:
    """The same as plain data."""
    rates = profile.rates
    return {
        "format": FORMAT,
        **{name: getattr(profile, name) for name in ("program", "device", "machine", "threads", "repeat")},
        "sizes": dict(profile.sizes),
        "seconds": profile.seconds,
        "whole": asdict(profile.whole),
        "rates": None if rates is None else {"copies": rates.copies, "flops": dict(rates.flops)},
        "steps": [_step(profile, step) for step in profile.steps],
        "events": [[one.step, one.began, one.ended] for one in profile.events],
    }


def data_for(profile: Profile, artifact: Artifact) -> Mapping[str, Any]:
    """The same for a page about a program. Raises `ShloDiscError` if it is another program's."""
    known = {(name, step.number, step.name) for name, part in artifact.named_parts for step in executed_steps(part)}
    if any((step.part, step.number, step.name) not in known for step in profile.steps):
        raise ShloDiscError(
            f"found a profile of other steps than those of {one_line(artifact.name)}, expected one of this program\n"
            "  help: make it by the same object: run.report(path, run.profile(...))"
        )
    return as_data(profile)


def _step(profile: Profile, step: StepProfile) -> Mapping[str, Any]:
    return {
        **asdict(step),
        "bytes_per_second": step.bytes_per_second,
        "flops_per_second": step.flops_per_second,
        "share": profile.share(step),
        "of_limit": profile.of_limit(step),
        "bound": profile.bound(step),
    }


_FORMS: Mapping[str, Callable[[Profile], str]] = {  # the longer suffix first
    ".trace.json": chrome_trace,
    ".json": as_json,
    ".html": page,
}


def text_for(profile: Profile, name: str) -> str:
    """The text of a file with this name. Raises `ShloDiscError` for another suffix."""
    for suffix, form in _FORMS.items():
        if name.endswith(suffix):
            return form(profile)
    raise ShloDiscError(f"found the file {name!r}, expected a name that ends with {', '.join(_FORMS)}")
