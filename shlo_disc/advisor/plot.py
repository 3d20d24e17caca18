"""A plot of an advice, with Matplotlib."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shlo_disc.advisor.text import calls_of
from shlo_disc.diagnostics import ShloDiscError, counted

if TYPE_CHECKING:
    from shlo_disc.advisor.advice import Advice


def plot(advice: Advice, path: Path) -> None:
    """Draw the work of each way over its number of compilations. Raises `ShloDiscError` if it cannot be written."""
    try:
        figures: Any = import_module("matplotlib.figure")
    except ImportError:
        raise ShloDiscError("plots need Matplotlib: pip install 'shlo-disc[notebooks]'") from None
    figure = figures.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    to_buckets = [way for way in advice.ways if way.buckets]
    axes.plot(
        [way.compilations for way in to_buckets],
        [way.ratio for way in to_buckets],
        marker=".",
        color="0.3",
        label="jax.jit, padded to the best sizes",
    )
    for way in advice.ways:
        if not way.buckets:
            axes.scatter([way.compilations], [way.ratio], label=way.name, zorder=3)
    axes.set(xscale="log", ylim=(0, None), xlabel="compilations", ylabel="work over what is needed")
    axes.set_title(f"{calls_of(advice)}, {counted(advice.shapes, 'different shape')}")
    axes.axhline(1, color="0.7", linewidth=1, zorder=0)
    axes.legend(fontsize="small")
    try:
        figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise ShloDiscError(f"{path}: {error.strerror}") from error
