"""Build a package for C: compile everything, then write all files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shlo_disc.artifact import Artifact
from shlo_disc.c_package.example import example_text
from shlo_disc.c_package.header import exports, header_text
from shlo_disc.c_package.metadata import cmake_text, pkg_config_text
from shlo_disc.c_package.refusals import refuse_device, refuse_program
from shlo_disc.c_package.spelling import check_package_name
from shlo_disc.c_package.tables import literal_bytes, package_text
from shlo_disc.c_package.weights import NO_WEIGHTS, Weights, WeightSource, check_source, weights_of
from shlo_disc.options import CompileOptions
from shlo_disc.program_file.origin import Origin
from shlo_disc.program_file.writer import BoundProgram
from shlo_disc.runtime.building.build import Builder, CLibrary
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.machines import NATIVE, TargetMachine, native, target_machine
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.threads import available_threads


def build_package(
    origin: Origin,
    directory: Path,
    name: str,
    target: str | None,
    bound: BoundProgram | None = None,
    source: WeightSource = "file",
) -> None:
    """Write a program as a package for C into a folder, which is made if need be; files that are there are replaced.

    `target`: the name of a machine, "native" for this CPU, or None for the best machine that this one is. `bound`: the
    program with bound arguments, if it has some, and whether `source` is a file of them, too. Raises `ShloDiscError`
    for what a package cannot hold, before anything is written, `ToolchainError`, and `OSError`.
    """
    check_package_name(name)
    check_source(source)
    machine = native() if target == NATIVE else target_machine(target)
    refuse_device(origin.device)
    artifact = origin.artifact(machine)
    refuse_program(artifact)
    weights = NO_WEIGHTS if bound is None else weights_of(bound, artifact, machine, origin.options, source)
    files = package_files(artifact, name, origin.options, machine, weights)
    directory.mkdir(parents=True, exist_ok=True)
    for file, data in files.items():
        _replace(directory / file, data)


def package_files(
    artifact: Artifact, name: str, options: CompileOptions, machine: TargetMachine, weights: Weights = NO_WEIGHTS
) -> Mapping[str, bytes]:
    """The files of a package by their names. Raises `ToolchainError`."""
    compiler = find_compiler(options.compiler, options.compiler_seconds, machine)
    library = CLibrary(name, package_text(artifact, name, weights), literal_bytes(artifact), exports(name))
    with ThreadPoolExecutor(available_threads()) as pool:
        builder = Builder(compiler, options.optimize, open_cache(options.cache_dir), pool)
        shared, static = builder.c_library(artifact, library)
    mapped = {} if weights.file is None else {f"{name}.weights": weights.file.data}
    return {
        **mapped,
        f"{name}.h": header_text(name).encode(),
        f"lib{name}.so": shared,
        f"lib{name}.a": static,
        f"{name}.pc": pkg_config_text(name).encode(),
        f"{name}-config.cmake": cmake_text(name).encode(),
        "example.c": example_text(artifact, name, weights).encode(),
    }


def _replace(path: Path, data: bytes) -> None:
    """Write a file as a whole: a process that has mapped the old one keeps it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
