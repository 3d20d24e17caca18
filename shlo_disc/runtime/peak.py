"""How much memory a call needs, before it is made."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.artifact import Artifact


def peak_memory(artifact: Artifact, sizes: Mapping[str, int]) -> int:
    """The bytes of temporaries of a call with these sizes."""
    raise NotImplementedError(f"{artifact.name} at {sizes}")


def largest_size(artifact: Artifact, symbol: str, budget: int | str, sizes: Mapping[str, int]) -> int:
    """The largest value of a symbol whose call keeps within the budget (bytes, or "2GiB")."""
    raise NotImplementedError(f"{artifact.name}: {symbol} with {sizes} within {budget}")
