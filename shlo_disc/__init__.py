"""shlo_disc: a dynamic-shape compiler for JAX and StableHLO. Compile once, run any shape."""

from shlo_disc.compiled import Bound, Compiled
from shlo_disc.custom_calls import register_custom_call
from shlo_disc.diagnostics import (
    ArgumentTypeError,
    CacheWarning,
    CompileError,
    InternalError,
    ParseError,
    RuntimeShapeError,
    ShapeError,
    ShloDiscError,
    ToolchainError,
    UnsupportedOpError,
    VerifyError,
)
from shlo_disc.ir.core import Module, Op, Value
from shlo_disc.jit.function import JitFunction, jit
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module as parse
from shlo_disc.pipeline import compile_program as compile  # noqa: A004 - the name users expect
from shlo_disc.rewriting import Build, remove_unused, rewrite
from shlo_disc.schedules.tables import Schedules
from shlo_disc.tuning import tune
from shlo_disc.verify.ops import verify

__all__ = [
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
    "RuntimeShapeError",
    "Schedules",
    "ShapeError",
    "ShloDiscError",
    "ToolchainError",
    "UnsupportedOpError",
    "Value",
    "VerifyError",
    "compile",
    "jit",
    "parse",
    "register_custom_call",
    "remove_unused",
    "rewrite",
    "tune",
    "verify",
]
