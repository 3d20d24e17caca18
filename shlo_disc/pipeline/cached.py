"""Compilation for a device of this machine, with a cache of artifacts: the front of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from shlo_disc.artifact import Artifact
from shlo_disc.boundary import boundary
from shlo_disc.call_signature import Signature
from shlo_disc.choices import read_hints, read_options
from shlo_disc.compiled import Compiled
from shlo_disc.custom_calls import find_hook
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.exported import is_exported
from shlo_disc.gc_pause import gc_paused
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.source import read_source
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.runtime.backend import Backend
from shlo_disc.runtime.building.cache import digest, open_cache, package_digest
from shlo_disc.runtime.building.machines import NATIVE, TargetMachine
from shlo_disc.runtime.steps import host_calls
from shlo_disc.targets import default_target, target_named

if TYPE_CHECKING:  # programs in the cache need no analysis
    from shlo_disc.ragged.analysis import RaggedAnalysis

_NO_HINTS = Hints()


def compile_program(  # noqa: PLR0913 - what is known and wished of one program
    program: Any,
    *,
    device: str | None = None,
    constraints: Sequence[str] = (),
    likely: Mapping[str, Sequence[int]] | None = None,
    donate: Sequence[int] | Literal["marked"] = (),
    ragged: Mapping[str, str | int] | None = None,
    threads: int | None = None,
    options: CompileOptions | None = None,
) -> Compiled:
    """Compile StableHLO in any form; `shlo_disc.compile` also takes functions, and describes the arguments."""
    target = default_target() if device is None else target_named(device)
    options = read_options(options, threads)
    hints = read_hints(constraints, likely, donate, ragged)
    return compile_for(target.open(options), program, options, hints=hints)


@boundary("compile")
def compile_for(
    backend: Backend,
    program: Any,
    options: CompileOptions,
    *,
    hints: Hints = _NO_HINTS,
    names: Sequence[str] | None = None,
) -> Compiled:
    """Compile for a device of this machine. `names`: of an export's arguments, instead of JAX's."""
    watch, target = Stopwatch(), target_named(backend.target)
    with watch.stage("read"):
        text, file, signature = read_source(program, target.platform, isolate=options.isolate_reader)
    if signature is not None and names is not None:
        signature = replace(signature, names=tuple(names))
    request = Request(target.name, options, signature, hints, target.scheduling(options, text))
    artifact = load_or_compile(text, file, request, watch)
    return Compiled(
        backend.load(artifact, options, watch.seconds), signature, ProgramOrigin(program, text, file, request)
    )


class ProgramOrigin:
    """What a program was compiled from, to save it for other machines: an `Origin` of `program_file`."""

    def __init__(self, program: Any, text: str, file: str, request: Request) -> None:
        """`text`: of the program. That of an export is not kept, as the export has it."""
        self._program = program if is_exported(program) else None
        self._text = None if is_exported(program) else text
        self._file, self._request, self.machine = file, request, NATIVE
        self.device, self.options, self.hints = request.device, request.options, request.hints

    def source(self) -> tuple[str, str]:
        """The StableHLO text, and its name for errors."""
        if self._text is not None:
            return self._text, self._file
        platform = target_named(self.device).platform
        return read_source(self._program, platform, isolate=self.options.isolate_reader)[0], self._file

    def ragged_analysis(self) -> RaggedAnalysis:
        """What padding does in the program, at its ragged sizes. Raises `ShloDiscError` if it has none."""
        from shlo_disc.pipeline.ragged_analysis import analyse_text  # noqa: PLC0415  few programs need it

        if not self.hints.ragged:
            raise ShloDiscError('found a program without ragged sizes, expected compile(..., ragged={"s": "lengths"})')
        return analyse_text(*self.source(), self._request, dict(self.hints.ragged))

    def artifact(self, machine: TargetMachine) -> Artifact:
        """The program for a machine."""
        scheduling = target_named(self.device).scheduling_for(machine, self._request.scheduling)
        return load_or_compile(*self.source(), replace(self._request, scheduling=scheduling), Stopwatch())


def origin_of_text(
    text: str, file: str, device: str, options: CompileOptions, hints: Hints, signature: Signature | None
) -> ProgramOrigin:
    """The origin of a program that was compiled before, from a text that is kept."""
    scheduling = target_named(device).scheduling(options, text)
    return ProgramOrigin(text, text, file, Request(device, options, signature, hints, scheduling))


def load_or_compile(text: str, file: str, request: Request, watch: Stopwatch) -> Artifact:
    """The artifact of a program, from the cache if it has it; artifacts of targets without a version are not cached."""
    version = target_named(request.device).version
    cache = open_cache(request.options.cache_dir)
    key = digest(text, file, *request.key, version or "", package_digest())
    artifact = None if version is None else cache.load_artifact(key)
    if artifact is None or not _has_hooks(artifact):  # compiling reports the place of a missing one
        artifact = _compiled(text, file, request, watch)
        if version is not None:
            cache.store_artifact(key, artifact)
    return artifact


@gc_paused()  # also while the compiler is imported: what modules define lives on
def _compiled(text: str, file: str, request: Request, watch: Stopwatch) -> Artifact:
    from shlo_disc.pipeline.compilation import compile_text  # noqa: PLC0415  programs in the cache need no compiler

    return compile_text(text, file, request, watch)


def _has_hooks(artifact: Artifact) -> bool:
    """Whether there is a registered function for every custom call that needs one."""
    calls = [call for part in artifact.parts for call in host_calls(part.steps)]
    targets = [str(call.attributes["target"]) for call in calls if call.callee == "custom_call"]
    return all(find_hook(target, artifact.device) is not None for target in targets)
