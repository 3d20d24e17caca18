"""`python -m shlo_disc check` and `fuzz`: run programs in several ways against each other, and print what differs."""

from __future__ import annotations

import argparse
import secrets
from dataclasses import replace
from pathlib import Path

from shlo_disc.check import xla
from shlo_disc.check.campaign import Settings, Summary, campaign
from shlo_disc.check.comparing import Tolerance
from shlo_disc.check.compiling import OTHERS
from shlo_disc.check.judging import Judge
from shlo_disc.check.running import REFERENCE, WAYS, BuildConfig, program_of
from shlo_disc.check.sampling import DISTRIBUTIONS, read_shapes
from shlo_disc.check.session import CheckPlan, CheckReport, check, read_inputs, save
from shlo_disc.check.worker import Worker
from shlo_disc.cli.inputs import InputError, read_modules
from shlo_disc.cli.output import complain, say
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions
from shlo_disc.progress import Bar
from shlo_disc.target_names import HOST, target_names
from shlo_disc.targets import target_named
from shlo_disc.verify.ops import verify

AGREED, DIFFERED, UNCHECKED = 0, 1, 2


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `check` takes."""
    parser.add_argument("file", metavar="FILE", help="text, MLIR bytecode or a serialized jax.export; - reads text")
    parser.add_argument("--shapes", default="", metavar='"b=0,1,2;s=5"', help="sizes to try, all combinations of them")
    parser.add_argument("--random", type=int, default=6, metavar="N", help="else, N different sizes (default: 6)")
    parser.add_argument("--seed", type=int, default=0, help="of random sizes and inputs (default: 0)")
    parser.add_argument("--inputs", type=Path, metavar="NPZ", help="the arrays of one call, instead of random ones")
    parser.add_argument(
        "--numbers",
        default=",".join(DISTRIBUTIONS),
        metavar="KINDS",
        help=f"kinds of random inputs, of {', '.join(DISTRIBUTIONS)} (default: all)",
    )
    add_ways(parser)


def add_ways(parser: argparse.ArgumentParser) -> None:
    """Declare how programs are run and compared."""
    parser.add_argument(
        "--against",
        default=",".join(WAYS if xla.is_installed() else WAYS[:-1]),
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


def run_check(options: argparse.Namespace) -> int:
    """Check all programs of a file, and give the worst exit code."""
    codes = [AGREED]
    try:
        others = chosen_ways(options.against)
        config, tolerance = _config(options), Tolerance(options.tolerance, options.atol)
        with Worker(config, options.timeout) as worker:
            for module in read_modules(options.file):
                verify(module)
                plan = _plan(options, module)
                judge = Judge(worker, others, tolerance)
                with Bar() as bar:
                    report = check(module, judge, plan, config, bar.show)
                codes.append(tell(report, judge, config, options))
    except (ShloDiscError, InputError) as error:
        complain(error)
        return UNCHECKED
    return max(codes)


def add_fuzz_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `fuzz` takes."""
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
    add_ways(parser)
    parser.set_defaults(against="", optimize=1, shrink=60.0, timeout=120.0)


def run_fuzz(options: argparse.Namespace) -> int:
    """Check random programs; print the first seed, and a command that reproduces each failure."""
    try:
        config = _config(options)
        config = replace(config, options=replace(config.options, threads=1))
        settings = Settings(
            seed=_seed(options.seed),
            config=config,
            ways=chosen_ways(options.against) if options.against or options.device != HOST else None,
            seconds=options.seconds,
            count=options.count or (200 if options.seconds is None else None),
            jobs=options.jobs,
            calls=options.random,
            timeout=options.timeout,
            shrink=options.shrink,
            patience=options.patience,
            tolerance=Tolerance(options.tolerance, options.atol),
            out=options.out,
            keeps_going=options.keep_going,
        )
        say(f"seed {settings.seed}\n")
        with Bar() as bar:
            summary = campaign(settings, bar.show, options.log)
    except (ShloDiscError, InputError) as error:
        complain(error)
        return UNCHECKED
    return _tell_all(summary)


def _seed(text: str) -> int:
    if text == "random":
        return secrets.randbelow(1 << 31)
    if not text.isdecimal():
        raise InputError(f"found {text!r} in --seed, expected a whole number, or random")
    return int(text)


def _tell_all(summary: Summary) -> int:
    """Print the outcome of random programs, and give the exit code."""
    for one in summary.findings:
        say(f"seed {one.seed}: {one.description}")
        say(f"written to {one.folder}\nreproduce: {one.command}\nall of it: {one.reproduce}\n\n")
    say(f"{summary}\n")
    if summary.findings:
        return DIFFERED
    return AGREED if any(one.agreed or one.refused for one in summary.examined) else UNCHECKED


def _config(options: argparse.Namespace) -> BuildConfig:
    """The target and the compile options. Raises `ToolchainError` if there is no such device."""
    settings = CompileOptions(optimize=options.optimize, compiler=options.compiler, matmul_precision="highest")
    config = BuildConfig(settings, options.device)
    target_named(config.device).open(settings)
    return config


def chosen_ways(text: str) -> tuple[str, ...]:
    """The ways that `--against` names, except the reference. Raises `InputError` for unknown ones."""
    names = tuple(filter(None, (name.strip() for name in text.split(",")))) or WAYS[: 3 if xla.is_installed() else 2]
    known = (*WAYS, *OTHERS)
    for name in names:
        if name not in known:
            raise InputError(f"found {name!r} in --against, expected {', '.join(known)}")
    if "xla" in names and not xla.is_installed():
        raise InputError("found xla in --against, but JAX is not installed: pip install 'shlo-disc[jax]'")
    others = tuple(name for name in names if name != REFERENCE)
    if not others:
        raise InputError(f"expected something in --against to compare with the {REFERENCE}, found nothing")
    return others


def _plan(options: argparse.Namespace, module: Module) -> CheckPlan:
    text: str = options.numbers
    numbers = tuple([name.strip() for name in text.split(",") if name.strip()])
    for name in numbers:
        if name not in DISTRIBUTIONS:
            raise InputError(f"found {name!r} in --numbers, expected {', '.join(DISTRIBUTIONS)}")
    inputs = None if options.inputs is None else read_inputs(options.inputs, program_of(module))
    shapes = read_shapes(options.shapes)
    return CheckPlan(
        shapes=shapes,
        random=options.random,
        seed=options.seed,
        distributions=numbers,
        inputs=inputs,
        seconds=options.shrink,
    )


def tell(report: CheckReport, judge: Judge, config: BuildConfig, options: argparse.Namespace) -> int:
    """Print a report, save what failed, and give the exit code."""
    ways = ", ".join([*judge.others, REFERENCE])
    for note in report.notes:
        say(f"note: {note}\n")
    if report.finding is not None:
        say(str(report.finding))
        say(f"reproduce: {save(report.finding.shrunk, options.out, judge, config)}\n")
        return DIFFERED
    refused = f", {report.refused} refused by all" if report.refused else ""
    nothing = f", {report.nothing} that could not be compared" if report.nothing else ""
    say(f"{report.agreed} calls agree{refused}{nothing} ({ways})\n")
    return AGREED if report.agreed or report.refused else UNCHECKED
