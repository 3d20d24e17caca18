"""The protocol of backends, which load programs of a target on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from shlo_disc.artifact import Artifact
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.partitions import Runnable


class Backend(Protocol):
    """A device of this machine that runs programs of one target."""

    @property
    def target(self) -> str:
        """The name of the target in `targets.py`."""
        ...

    def load(self, artifact: Artifact, options: CompileOptions, seconds: Mapping[str, float] | None = None) -> Runnable:
        """Compile the generated code, or find it in the cache, and load it.

        `seconds`: of the earlier stages, for `Stats`. Raises `ToolchainError` if a compiler or a library is missing.
        """
        ...
