"""The public surface: a name that comes or goes is a decision, made here."""

from __future__ import annotations

import inspect

import shlo_disc

PUBLIC = (
    "ArgumentTypeError",
    "Bound",
    "Build",
    "CacheWarning",
    "CompileError",
    "CompileOptions",
    "Compiled",
    "InternalError",
    "JitFunction",
    "Module",
    "Op",
    "ParseError",
    "Profile",
    "RaggedAnalysis",
    "RaggedReport",
    "RuntimeShapeError",
    "Schedules",
    "ShapeError",
    "ShloDiscError",
    "ToolchainError",
    "UnsupportedOpError",
    "Value",
    "VerifyError",
    "advise",
    "analyse_ragged",
    "compile",
    "jit",
    "load",
    "parse",
    "register_custom_call",
    "remove_unused",
    "rewrite",
    "tune",
    "verify",
)


def test_the_public_names_are_these() -> None:
    assert tuple(sorted(shlo_disc.__all__)) == PUBLIC


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    silent = [name for name in shlo_disc.__all__ if not inspect.getdoc(getattr(shlo_disc, name))]
    assert silent == []


def test_every_error_has_one_root() -> None:
    errors = [name for name in shlo_disc.__all__ if name.endswith("Error")]
    assert all(issubclass(getattr(shlo_disc, name), shlo_disc.ShloDiscError) for name in errors)


def test_errors_of_a_call_are_also_the_builtin_ones() -> None:
    assert issubclass(shlo_disc.RuntimeShapeError, ValueError)
    assert issubclass(shlo_disc.ArgumentTypeError, TypeError)


def test_a_compiled_program_offers_this() -> None:
    public = {name for name in vars(shlo_disc.Compiled) if not name.startswith("_")}
    assert public == {
        "as_jax", "bind", "build", "executable", "explain", "explain_dispatch", "facts", "host_source",
        "kernels_source", "machine", "max_size", "peak_formula", "peak_memory", "profile",
        "ragged_report", "report", "save", "selections", "stats",
    }  # fmt: skip
