"""The public surface: a name that comes or goes is a decision, made here."""

from __future__ import annotations

import shlo_disc

PUBLIC = (
    "ArgumentTypeError",
    "CompileError",
    "CompileOptions",
    "InternalError",
    "ParseError",
    "RuntimeShapeError",
    "ShapeError",
    "ShloDiscError",
    "ToolchainError",
    "UnsupportedOpError",
    "VerifyError",
    "compile",
    "parse",
)


def test_the_public_names_are_these() -> None:
    assert tuple(sorted(shlo_disc.__all__)) == PUBLIC


def test_every_public_name_is_there() -> None:
    missing = [name for name in shlo_disc.__all__ if not hasattr(shlo_disc, name)]
    assert missing == []


def test_every_error_has_one_root() -> None:
    errors = [name for name in shlo_disc.__all__ if name.endswith("Error")]
    assert all(issubclass(getattr(shlo_disc, name), shlo_disc.ShloDiscError) for name in errors)
