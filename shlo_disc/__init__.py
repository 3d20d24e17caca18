"""shlo_disc: a dynamic-shape compiler for JAX and StableHLO. Compile once, run any shape."""

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; at run time `_HOMES` says the same
    from shlo_disc.advisor.advice import advise
    from shlo_disc.bound import Bound
    from shlo_disc.compiled import Compiled
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
    from shlo_disc.front_door import compile  # noqa: A004 - the name users expect
    from shlo_disc.ir.core import Module, Op, Value
    from shlo_disc.jit.function import JitFunction, jit
    from shlo_disc.loading import load
    from shlo_disc.options import CompileOptions
    from shlo_disc.parse.parser import parse_module as parse
    from shlo_disc.profiling.profile import Profile
    from shlo_disc.ragged.analysis import RaggedAnalysis, RaggedReport
    from shlo_disc.ragged_analysis import analyse_ragged
    from shlo_disc.rewriting import Build, remove_unused, rewrite
    from shlo_disc.schedules.tables import Schedules
    from shlo_disc.tuning import tune
    from shlo_disc.verify.ops import verify

__version__ = "0.1.0"

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
]

# Where each public name comes from: its module, and what it is called there. `import shlo_disc` loads none of them; a
# name is loaded when it is first read.
_HOMES = {
    "ArgumentTypeError": ("shlo_disc.diagnostics", "ArgumentTypeError"),
    "Bound": ("shlo_disc.bound", "Bound"),
    "Build": ("shlo_disc.rewriting", "Build"),
    "CacheWarning": ("shlo_disc.diagnostics", "CacheWarning"),
    "CompileError": ("shlo_disc.diagnostics", "CompileError"),
    "CompileOptions": ("shlo_disc.options", "CompileOptions"),
    "Compiled": ("shlo_disc.compiled", "Compiled"),
    "InternalError": ("shlo_disc.diagnostics", "InternalError"),
    "JitFunction": ("shlo_disc.jit.function", "JitFunction"),
    "Module": ("shlo_disc.ir.core", "Module"),
    "Op": ("shlo_disc.ir.core", "Op"),
    "ParseError": ("shlo_disc.diagnostics", "ParseError"),
    "Profile": ("shlo_disc.profiling.profile", "Profile"),
    "RaggedAnalysis": ("shlo_disc.ragged.analysis", "RaggedAnalysis"),
    "RaggedReport": ("shlo_disc.ragged.analysis", "RaggedReport"),
    "RuntimeShapeError": ("shlo_disc.diagnostics", "RuntimeShapeError"),
    "Schedules": ("shlo_disc.schedules.tables", "Schedules"),
    "ShapeError": ("shlo_disc.diagnostics", "ShapeError"),
    "ShloDiscError": ("shlo_disc.diagnostics", "ShloDiscError"),
    "ToolchainError": ("shlo_disc.diagnostics", "ToolchainError"),
    "UnsupportedOpError": ("shlo_disc.diagnostics", "UnsupportedOpError"),
    "Value": ("shlo_disc.ir.core", "Value"),
    "VerifyError": ("shlo_disc.diagnostics", "VerifyError"),
    "advise": ("shlo_disc.advisor.advice", "advise"),
    "analyse_ragged": ("shlo_disc.ragged_analysis", "analyse_ragged"),
    "compile": ("shlo_disc.front_door", "compile"),
    "jit": ("shlo_disc.jit.function", "jit"),
    "load": ("shlo_disc.loading", "load"),
    "parse": ("shlo_disc.parse.parser", "parse_module"),
    "register_custom_call": ("shlo_disc.custom_calls", "register_custom_call"),
    "remove_unused": ("shlo_disc.rewriting", "remove_unused"),
    "rewrite": ("shlo_disc.rewriting", "rewrite"),
    "tune": ("shlo_disc.tuning", "tune"),
    "verify": ("shlo_disc.verify.ops", "verify"),
}


class _Package(ModuleType):
    """This package, in which the name of a public function stays that function's.

    `jit`, `parse` and `verify` are functions here, and sub-packages too. When Python has imported a sub-package, it
    stores it in this package under its name, in place of what is there. Imports themselves read `sys.modules`, not what
    is stored; so a sub-package with a function's name is not stored at all, and `shlo_disc.parse(text)` works before,
    during and after imports of `shlo_disc.parse.parser`, in any thread. Everything else that is assigned is stored,
    such as what a test puts in place of a function.
    """

    _public = frozenset(_HOMES)  # in the class: reloaders empty the dictionary of a module

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._public or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _check_platform(wheel: Path) -> None:
    """Raise `ImportError` if a wheel's file names another platform than this one. A checkout has no such file."""
    try:
        expected = wheel.read_text().strip()
    except FileNotFoundError:
        return
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ()) else None
    machine = os.uname().machine if hasattr(os, "uname") else "another machine"
    found = f"{sys.platform} {machine} {(libc or 'another C library').partition(' ')[0]}"
    if found != expected:
        raise ImportError(
            f"found {found}, expected {expected}, which this wheel of shlo_disc is for\n"
            "  help: install it from its sources, which compile everything at first use: pip install ."
        )


_check_platform(Path(__file__).parent / "prebuilt" / "platform")


def _load(name: str) -> object:
    """Load a public name, and keep it in the package: the next reader finds it there."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    home, attribute = _HOMES[name]
    return globals().setdefault(name, getattr(import_module(home), attribute))


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


if not TYPE_CHECKING:  # type checkers that see `__getattr__` (PEP 562) take misspelt names for names of this package
    __getattr__ = _load
