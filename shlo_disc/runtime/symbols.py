"""The symbols of a program at the sizes of a call."""

from __future__ import annotations

from shlo_disc.artifact import Artifact
from shlo_disc.size_expr import evaluate


class Symbols(dict[str, int]):
    """The values of a program's symbols by name. A defined one is computed at its first access."""

    def __init__(self, artifact: Artifact, raw: tuple[int, ...]) -> None:
        count = artifact.given
        super().__init__(zip(artifact.symbols[:count], raw, strict=True))
        self._definitions = dict(zip(artifact.symbols[count:], artifact.definitions, strict=True))

    def __missing__(self, name: str) -> int:
        """Compute a defined symbol."""
        if name not in self._definitions:
            raise KeyError(name)
        value = self[name] = evaluate(self._definitions[name], self)
        return value
