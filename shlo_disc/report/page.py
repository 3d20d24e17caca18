"""The page: data of a program, and what shows it."""

from __future__ import annotations

from pathlib import Path

from shlo_disc.artifact import Artifact


def write_page(artifact: Artifact, path: Path) -> None:
    """Write a self-contained HTML page about a compiled program."""
    raise NotImplementedError(f"no page for {artifact.name} at {path} yet")
