"""The commands and their options. It imports nothing of the compiler, so that `--help` answers at once."""

from __future__ import annotations

import argparse
from pathlib import Path

from shlo_disc.check.names import KINDS, OTHERS, WAYS, xla_is_installed
from shlo_disc.target_names import HOST, target_names

FUSION = ("none", "full")  # `options.FusionRules`, whose module imports NumPy
_WITHOUT_JSON = ("print", "completion")  # their output is a text of a language of its own
_FORMS = "text, MLIR bytecode or a serialized jax.export; - reads any"
SHELLS = ("bash", "zsh", "fish", "tcsh", "powershell")


def command_line(program: str = "python -m shlo_disc") -> argparse.ArgumentParser:
    """The parser of all arguments of `program`; `command` of what it parses is the name of the command."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Look at StableHLO programs. Exit codes: 0 fine, 1 a program is refused, 2 a file cannot be read.",
    )
    names = "print|verify|ops|report|compile|build|check|fuzz|tune|run|bench|explain|profile|advise|cache|completion"
    commands = parser.add_subparsers(dest="command", required=True, metavar=names)
    printing = commands.add_parser("print", help="parse programs and print them as MLIR does")
    printing.add_argument("--generic", action="store_true", help="every op in generic form")
    printing.add_argument("--locations", action="store_true", help="with the places in the user's source")
    verifying = commands.add_parser("verify", help="check programs against the StableHLO specification")
    verifying.add_argument("--verbose", action="store_true", help="a line for each file that is fine, too")
    tabulating = commands.add_parser("ops", help="count the ops, and say which of them run on which target")
    reporting = commands.add_parser("report", help="compile a program, or two, and write a page about it for a browser")
    reporting.add_argument("-o", "--output", default="report.html", metavar="PAGE", help="default: report.html")
    reporting.add_argument("--device", choices=target_names(), default=HOST, help=f"default: {HOST}")
    compiling = commands.add_parser("compile", help="compile a program, and write a file that runs without a compiler")
    compiling.add_argument("-o", "--output", type=Path, metavar="SAVED", help="default: FILE with the suffix .shlo")
    compiling.add_argument(
        "--targets", metavar="LEVELS", help="such as x86-64-v3,x86-64-v4,aarch64 (default: the best for this CPU)"
    )
    building = commands.add_parser("build", help="compile a program, and write it as a library for C")
    _add_options_of_build(building)
    _add_options_of_check(
        commands.add_parser("check", help="run a program in several ways, and shrink it where they differ")
    )
    _add_options_of_fuzz(commands.add_parser("fuzz", help="check random programs"))
    tuning = commands.add_parser("tune", help="time the matrix products of this CPU, and those of a program")
    tuning.add_argument("file", nargs="?", metavar="FILE", help="a program to tune too: text or MLIR bytecode")
    tuning.add_argument(
        "--dim", action="append", default=[], metavar="NAME=FIRST:END", help="values of a size, such as s=1:129; repeat"
    )
    about = {
        "run": "call a program, with arrays of a file or random ones",
        "bench": "time calls of a program",
        "explain": "say how a program was compiled",
        "profile": "measure the steps of a call of a program",
    }
    for name, text in about.items():
        _add_options_of_calls(name, commands.add_parser(name, help=text))
    for command in (reporting, compiling, building, *[commands.choices[name] for name in about]):
        _add_options_of_compilation(command, has_ragged=command is not building)
    _add_options_of_advise(
        commands.add_parser("advise", help="say what padding and compilations cost for the sizes of calls")
    )
    _add_options_of_cache(commands.add_parser("cache", help="look at the cache on disk, and clean it up"))
    completing = commands.add_parser("completion", help="print what makes a shell complete commands and options")
    completing.add_argument("shell", choices=SHELLS)
    compiling.add_argument("file", metavar="FILE", help=_FORMS)
    for command in (printing, verifying, tabulating, reporting):
        command.add_argument("files", nargs="+", metavar="FILE", help="text or MLIR bytecode; - is the standard input")
    for name, command in commands.choices.items():
        if name not in _WITHOUT_JSON:
            command.add_argument("--json", action="store_true", help="for other programs to read")
    return parser


def _add_options_of_compilation(parser: argparse.ArgumentParser, *, has_ragged: bool) -> None:
    parser.add_argument("--fusion", choices=FUSION, help="whether ops share kernels (default: full)")
    if has_ragged:
        about = "a padded size, and the argument, by name or number, that says its lengths; repeat"
        parser.add_argument("--ragged", action="append", default=[], metavar="SIZE=ARGUMENT", help=about)


def _add_options_of_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=f"a program that `save` wrote, {_FORMS}")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument("--name", default="model", help="of the library and its functions (default: model)")
    parser.add_argument(
        "--target",
        metavar="MACHINE",
        help="x86-64-v2, -v3 or -v4, aarch64, or native (default: the best that this CPU is)",
    )
    parser.set_defaults(ragged=[])  # a library for C cannot hold a program that reads sizes while it runs


def _add_options_of_calls(name: str, parser: argparse.ArgumentParser) -> None:
    file = "a program that `save` wrote, StableHLO text, MLIR bytecode or a serialized jax.export"
    parser.add_argument("file", metavar="FILE", help=file)
    if name == "explain":
        parser.add_argument("topic", nargs="?", metavar="TOPIC", help="fusion, facts, ... (default: all)")
        return
    parser.add_argument("--inputs", type=Path, metavar="ARRAYS", help=".npz, .npy or .safetensors")
    sizes = "of random inputs (default: 4 each)"
    parser.add_argument("--sizes", "--dims", default="", metavar='"b=8,s=3"', help=sizes)
    parser.add_argument("--seed", type=int, default=0, help="of random inputs (default: 0)")
    if name == "profile":
        parser.add_argument("--repeat", type=int, default=10, metavar="N", help="calls to measure (default: 10)")
        parser.add_argument("--html", type=Path, metavar="PAGE", help="write a page for a browser there")
        parser.add_argument("--trace", type=Path, metavar="TRACE", help="write one call for Perfetto there, as JSON")
        parser.add_argument("--selections", action="store_true", help="say how products and kernels were chosen, too")
    if name == "run":
        parser.add_argument("-o", "--output", type=Path, metavar="ARRAYS", help="write the results there")


def _add_options_of_advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="text or CSV, a line of sizes for each call; - reads any")
    parser.add_argument(
        "--columns", default="", metavar="NAMES", help="or numbers, such as batch,length (default: all)"
    )
    parser.add_argument("--batch", type=int, metavar="B", help="lines that form a call, padded to the longest of them")
    parser.add_argument(
        "--buckets", default="2,4,8,16", metavar="COUNTS", help="of sizes to pad to (default: 2,4,8,16)"
    )
    parser.add_argument(
        "--cost", default="linear", metavar="NAME", help="linear, quadratic or layer:WIDTH (default: linear)"
    )
    parser.add_argument("--compile-seconds", type=float, metavar="S", help="that XLA takes to compile one shape")
    parser.add_argument("-o", "--output", type=Path, metavar="PLOT", help="write a plot there, as an SVG")


def _add_options_of_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("path", "ls", "prune", "verify"), help="verify removes damaged entries")
    parser.add_argument("--limit", metavar="SIZE", help="of prune: what may stay, such as 500MB (default: the bound)")


def _add_options_of_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="text, MLIR bytecode or a serialized jax.export; - reads text")
    parser.add_argument("--shapes", default="", metavar='"b=0,1,2;s=5"', help="sizes to try, all combinations of them")
    parser.add_argument("--random", type=int, default=6, metavar="N", help="else, N different sizes (default: 6)")
    parser.add_argument("--seed", type=int, default=0, help="of random sizes and inputs (default: 0)")
    parser.add_argument("--inputs", type=Path, metavar="NPZ", help="the arrays of one call, instead of random ones")
    parser.add_argument(
        "--numbers",
        default=",".join(KINDS),
        metavar="KINDS",
        help=f"kinds of random inputs, of {', '.join(KINDS)} (default: all)",
    )
    _add_ways(parser)


def _add_options_of_fuzz(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, metavar="N", help="random programs (default: 200, or no end)")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no programs after so many seconds")
    parser.add_argument("--random", type=int, default=4, metavar="N", help="sizes for each (default: 4)")
    parser.add_argument("--seed", default="0", help="of the first programs, or `random` (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure, and tell of all at the end")
    parser.add_argument("--log", type=Path, metavar="FILE", help="add a line of JSON for each module of programs")
    parser.add_argument(
        "--patience", type=float, default=1200.0, metavar="S", help="seconds for one module of programs (default: 1200)"
    )
    _add_ways(parser)
    parser.set_defaults(against="", optimize=1, shrink=60.0, timeout=120.0)


def _add_ways(parser: argparse.ArgumentParser) -> None:
    """Declare how programs are run and compared."""
    parser.add_argument(
        "--against",
        default=",".join(WAYS if xla_is_installed() else WAYS[:-1]),
        metavar="WAYS",
        help=f"which of {', '.join((*WAYS, *OTHERS))} are held against the interpreter (default of check: "
        f"{', '.join(WAYS)}; of fuzz: all in turn)",
    )
    parser.add_argument("--tolerance", type=float, default=1.0, metavar="X", help="times the error that is allowed")
    parser.add_argument("--atol", type=float, default=0.0, help="an absolute error that is allowed as well")
    parser.add_argument("--optimize", type=int, choices=range(4), default=3, help="the C++ compiler's -O (default: 3)")
    parser.add_argument("--compiler", metavar="CXX", help="a path, clang, gcc or zig (default: the best there is)")
    parser.add_argument(
        "--device", choices=target_names(), default=HOST, help=f"where compiled programs run (default: {HOST})"
    )
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for one run (default: 60)")
    parser.add_argument("--shrink", type=float, default=180.0, metavar="S", help="seconds for shrinking (default: 180)")
    parser.add_argument("--out", type=Path, default=Path("check-failure"), metavar="DIR", help="for what fails")
