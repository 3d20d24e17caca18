"""A profile in the Trace Event Format, which Perfetto and chrome://tracing read.

One process is the program, with a track for each partition; a complete event (`X`) is a run of a step. Times are in
microseconds from the first step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shlo_disc.profiling.profile import Profile

_PROCESS = 1


def chrome_trace(profile: Profile) -> str:
    """The trace of one call, as a JSON object."""
    given = {"sizes": dict(profile.sizes), "device": profile.device, "machine": profile.machine}
    return json.dumps(
        {"traceEvents": list(_events(profile)), "displayTimeUnit": "ns", "otherData": given}, ensure_ascii=False
    )


def _events(profile: Profile) -> Iterator[Mapping[str, Any]]:
    tracks = {name: k for k, name in enumerate(dict.fromkeys(step.part for step in profile.steps), start=1)}
    yield _name("process_name", 0, profile.program)
    for part, track in tracks.items():
        yield _name("thread_name", track, part or "steps")
    for event in profile.events:
        step = profile.steps[event.step]
        yield {
            "name": step.name,
            "cat": step.kind,
            "ph": "X",
            "ts": event.began * 1e6,
            "dur": (event.ended - event.began) * 1e6,
            "pid": _PROCESS,
            "tid": tracks[step.part],
            "args": {
                "step": step.number,
                "groups": step.groups,
                "lines": step.lines,
                "bytes read": step.bytes_read // step.runs,
                "bytes written": step.bytes_written // step.runs,
                "FLOPs": step.flops // step.runs,
                "threads": step.threads,
            },
        }


def _name(what: str, track: int, name: str) -> Mapping[str, Any]:
    return {"name": what, "ph": "M", "pid": _PROCESS, "tid": track, "ts": 0, "args": {"name": name}}
