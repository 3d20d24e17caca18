"""`analyse_ragged`: which elements of a masked program depend on its padding, and what the others cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shlo_disc.function_export import export_function
from shlo_disc.options import Hints
from shlo_disc.pipeline.ragged_analysis import analyse_text
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.source import read_source
from shlo_disc.ragged.analysis import RaggedAnalysis
from shlo_disc.target_names import HOST


def analyse_ragged(
    program: Any, ragged: Mapping[str, str | int], *, shapes: Any = None, constraints: Sequence[str] = ()
) -> RaggedAnalysis:
    """Find out whether results of a padded program, within given lengths, are independent of the padding.

    In `{"s": "lengths"}`, arguments that have the size `s`, and the size of `lengths`, are padded: in row `b`, the
    elements from `lengths[b]` on along `s`. The program is analysed as it is, and neither compiled nor run
    (docs/explanation/ragged.md).

    Args:
        program: a function of JAX, with `shapes`; a `jax.export.Exported`, what its `serialize` returns, StableHLO
            text, MLIR bytecode, a path to any of these, or a `Module`.
        ragged: for each ragged size, by name, the argument that says its lengths, by name or flat number: integers
            [b], or a mask [b, s] whose rows are 1 (or true) up to the length, and 0 from there on.
        shapes: of a function's arguments, as for `compile`.
        constraints: on sizes, as for `compile`.

    Returns:
        What is proven, with the reasons, and the work that is needed.

    Raises:
        ParseError: the text is not StableHLO.
        VerifyError: an op breaks a rule of the specification.
        UnsupportedOpError: an op that shlo_disc does not have.
        ShloDiscError: a name is unknown, or an argument is not one that can say lengths.
    """
    if callable(program):
        program, constraints = export_function(program, shapes, constraints, HOST), ()
    text, file, signature = read_source(program, HOST)
    request = Request(signature=signature, hints=Hints(constraints=tuple(constraints)))
    return analyse_text(text, file, request, ragged)
