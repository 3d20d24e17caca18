"""`python -m shlo_disc check` and `fuzz`: run programs in several ways against each other, and print what differs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shlo_disc.check import xla
from shlo_disc.check.comparing import Tolerance
from shlo_disc.check.judging import Judge
from shlo_disc.check.running import REFERENCE, WAYS, Target, program_of
from shlo_disc.check.sampling import DISTRIBUTIONS, read_shapes
from shlo_disc.check.session import Finding, Plan, Report, check, fuzz, read_inputs, save
from shlo_disc.check.worker import Worker
from shlo_disc.cli.inputs import InputError, read_modules
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions
from shlo_disc.parse.printer import print_module
from shlo_disc.progress import Bar
from shlo_disc.runtime.cuda import open_gpu
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
        help=f"which of {', '.join(WAYS)} are held against the interpreter (default: all there are)",
    )
    parser.add_argument("--tolerance", type=float, default=1.0, metavar="X", help="times the error that is allowed")
    parser.add_argument("--atol", type=float, default=0.0, help="an absolute error that is allowed as well")
    parser.add_argument("--optimize", type=int, choices=range(4), default=3, help="the C++ compiler's -O (default: 3)")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where compiled programs run (default: cpu)"
    )
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for one run (default: 60)")
    parser.add_argument("--shrink", type=float, default=180.0, metavar="S", help="seconds for shrinking (default: 180)")
    parser.add_argument("--out", type=Path, default=Path("check-failure"), metavar="DIR", help="for what fails")


def run_check(options: argparse.Namespace) -> int:
    """Check all programs of a file; the worst counts."""
    codes = [AGREED]
    try:
        others = chosen_ways(options.against)
        target, tolerance = _target(options), Tolerance(options.tolerance, options.atol)
        with Worker(target, options.timeout) as worker:
            for module in read_modules(options.file):
                verify(module)
                plan = _plan(options, module)
                judge = Judge(worker, others, tolerance)
                with Bar() as bar:
                    report = check(module, judge, plan, target, bar.show)
                codes.append(tell(report, judge, options))
    except (ShloDiscError, InputError) as error:
        sys.stderr.write(f"{error}\n")
        return UNCHECKED
    return max(codes)


def add_fuzz_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `fuzz` takes."""
    parser.add_argument("--count", type=int, default=200, metavar="N", help="random programs (default: 200)")
    parser.add_argument("--random", type=int, default=2, metavar="N", help="sizes for each (default: 2)")
    parser.add_argument("--seed", type=int, default=0, help="of the first programs (default: 0)")
    add_ways(parser)


def run_fuzz(options: argparse.Namespace) -> int:
    """Check random programs."""
    try:
        target = _target(options)
        with Worker(target, options.timeout) as worker, Bar() as bar:
            judge = Judge(worker, chosen_ways(options.against), Tolerance(options.tolerance, options.atol))
            plan = Plan(random=options.random, seed=options.seed, seconds=options.shrink)
            report = fuzz(judge, plan, options.count, target, bar.show)
        return tell(report, judge, options)
    except (ShloDiscError, InputError) as error:
        sys.stderr.write(f"{error}\n")
        return UNCHECKED


def _target(options: argparse.Namespace) -> Target:
    """What to compile for. Raises `ToolchainError` if there is no such device."""
    target = Target(CompileOptions(optimize=options.optimize, matmul_precision="highest"), options.device)
    if target.device == "cuda":
        open_gpu()
    return target


def chosen_ways(text: str) -> tuple[str, ...]:
    """The ways that `--against` names, but for the reference. Raises `InputError` for others."""
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    for name in names:
        if name not in WAYS:
            raise InputError(f"found {name!r} in --against, expected {', '.join(WAYS)}")
    if "xla" in names and not xla.is_installed():
        raise InputError("found xla in --against, but JAX is not installed: pip install 'shlo-disc[jax]'")
    others = tuple(name for name in names if name != REFERENCE)
    if not others:
        raise InputError(f"expected something in --against to compare with the {REFERENCE}, found nothing")
    return others


def _plan(options: argparse.Namespace, module: Module) -> Plan:
    text: str = options.numbers
    numbers = tuple([name.strip() for name in text.split(",") if name.strip()])
    for name in numbers:
        if name not in DISTRIBUTIONS:
            raise InputError(f"found {name!r} in --numbers, expected {', '.join(DISTRIBUTIONS)}")
    inputs = None if options.inputs is None else read_inputs(options.inputs, program_of(module))
    shapes = read_shapes(options.shapes)
    return Plan(
        shapes=shapes,
        random=options.random,
        seed=options.seed,
        distributions=numbers,
        inputs=inputs,
        seconds=options.shrink,
    )


def tell(report: Report, judge: Judge, options: argparse.Namespace) -> int:
    """Print a report, save what failed, and give the exit code."""
    ways = ", ".join([*judge.others, REFERENCE])
    for note in report.notes:
        sys.stdout.write(f"note: {note}\n")
    if report.finding is not None:
        sys.stdout.write(describe(report.finding))
        sys.stdout.write(f"reproduce: {save(report.finding.shrunk, options.out, judge, options.device)}\n")
        return DIFFERED
    refused = f", {report.refused} refused by all" if report.refused else ""
    nothing = f", {report.nothing} that could not be compared" if report.nothing else ""
    sys.stdout.write(f"{report.agreed} calls agree{refused}{nothing} ({ways})\n")
    return AGREED if report.agreed or report.refused else UNCHECKED


def describe(finding: Finding) -> str:
    """Spell a failure: the call, the difference, the first wrong op, the smallest program."""
    trial, shrunk = finding.trial, finding.shrunk
    sizes = ", ".join(f"{name}={value}" for name, value in trial.sizes.items()) or "fixed sizes"
    lines = [f"{finding.failure}", f"  sizes: {sizes}; inputs: {trial.distribution}"]
    if finding.place is not None:
        lines.append(f"  first wrong in memory: {finding.place}")
    before, after = trial.case.size, shrunk.case.size
    lines.append(
        f"shrunk from {before} ops to {after} in {shrunk.tried} tries"
        + ("" if shrunk.complete else "; the time was up, --shrink gives more")
    )
    lines.append(print_module(shrunk.case.module).rstrip())
    lines += [f"  arg{k} = {_shown(x)}" for k, x in enumerate(shrunk.case.inputs)]
    lines.append(f"there {shrunk.failure}")
    return "\n".join(lines) + "\n"


def _shown(array: object) -> str:
    text = " ".join(str(array).split())
    return text if len(text) <= 200 else text[:200] + " …"
