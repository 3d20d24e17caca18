"""`python -m shlo_disc check` and `fuzz`: run programs in several ways against each other, and print what differs."""

from __future__ import annotations

import argparse
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from shlo_disc.check.campaign import Settings, Summary, campaign
from shlo_disc.check.comparing import Tolerance
from shlo_disc.check.judging import Judge
from shlo_disc.check.names import KINDS, OTHERS, REFERENCE, WAYS, xla_is_installed
from shlo_disc.check.running import BuildConfig, program_of
from shlo_disc.check.sampling import read_shapes
from shlo_disc.check.session import CheckPlan, CheckReport, check, read_inputs, save
from shlo_disc.check.worker import Worker
from shlo_disc.cli.inputs import InputError, read_modules
from shlo_disc.cli.output import complain, give, say
from shlo_disc.diagnostics import ShloDiscError, counted
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions
from shlo_disc.progress import Bar
from shlo_disc.target_names import HOST
from shlo_disc.targets import target_named
from shlo_disc.verify.ops import verify

AGREED, DIFFERED, UNCHECKED = 0, 1, 2


def run_check(options: argparse.Namespace) -> int:
    """Check all programs of a file, and give the worst exit code."""
    codes, told = [AGREED], list[Mapping[str, Any]]()
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
                saved = None if report.finding is None else save(report.finding.shrunk, options.out, judge, config)
                told.append(_data(report, saved))
                codes.append(_code(report) if options.json else tell(report, judge, saved))
    except (ShloDiscError, InputError) as error:
        complain(error)
        return UNCHECKED
    if options.json:
        give(json.dumps(told) + "\n")
    return max(codes)


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
        if not options.json:
            say(f"seed {settings.seed}\n")
        with Bar() as bar:
            summary = campaign(settings, bar.show, options.log)
    except (ShloDiscError, InputError) as error:
        complain(error)
        return UNCHECKED
    if options.json:
        findings = [asdict(one) | {"reproduce": one.reproduce} for one in summary.findings]
        programs, calls = (sum(getattr(one, name) for one in summary.examined) for name in ("programs", "calls"))
        give(json.dumps({"seed": settings.seed, "programs": programs, "calls": calls, "findings": findings}) + "\n")
    else:
        _tell_all(summary)
    if summary.findings:
        return DIFFERED
    return AGREED if any(one.agreed or one.refused for one in summary.examined) else UNCHECKED


def _seed(text: str) -> int:
    if text == "random":
        return secrets.randbelow(1 << 31)
    if not text.isdecimal():
        raise InputError(f"found {text!r} in --seed, expected a whole number, or random")
    return int(text)


def _tell_all(summary: Summary) -> None:
    """Print the outcome of random programs."""
    for one in summary.findings:
        say(f"seed {one.seed}: {one.description}")
        say(f"written to {one.folder}\nreproduce: {one.command}\nall of it: {one.reproduce}\n\n")
    say(f"{summary}\n")


def _config(options: argparse.Namespace) -> BuildConfig:
    """The target and the compile options. Raises `ToolchainError` if there is no such device."""
    settings = CompileOptions(optimize=options.optimize, compiler=options.compiler, matmul_precision="highest")
    config = BuildConfig(settings, options.device)
    target_named(config.device).open(settings)
    return config


def chosen_ways(text: str) -> tuple[str, ...]:
    """The ways that `--against` names, except the reference. Raises `InputError` for unknown ones."""
    names = tuple(filter(None, (name.strip() for name in text.split(",")))) or WAYS[: 3 if xla_is_installed() else 2]
    known = (*WAYS, *OTHERS)
    for name in names:
        if name not in known:
            raise InputError(f"found {name!r} in --against, expected {', '.join(known)}")
    if "xla" in names and not xla_is_installed():
        raise InputError("found xla in --against, but JAX is not installed: pip install 'shlo-disc[jax]'")
    others = tuple(name for name in names if name != REFERENCE)
    if not others:
        raise InputError(f"expected something in --against to compare with the {REFERENCE}, found nothing")
    return others


def _plan(options: argparse.Namespace, module: Module) -> CheckPlan:
    text: str = options.numbers
    numbers = tuple([name.strip() for name in text.split(",") if name.strip()])
    for name in numbers:
        if name not in KINDS:
            raise InputError(f"found {name!r} in --numbers, expected {', '.join(KINDS)}")
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


def tell(report: CheckReport, judge: Judge, saved: str | None) -> int:
    """Print a report, and give the exit code. `saved`: the command that shows the failure, if there is one."""
    ways = ", ".join([*judge.others, REFERENCE])
    for note in report.notes:
        say(f"note: {note}\n")
    if report.finding is not None:
        say(str(report.finding))
        say(f"reproduce: {saved}\n")
        return _code(report)
    refused = f", {report.refused} refused by all" if report.refused else ""
    nothing = f", {report.nothing} that could not be compared" if report.nothing else ""
    agreed = f"{counted(report.agreed, 'call')} {'agrees' if report.agreed == 1 else 'agree'}"
    say(f"{agreed}{refused}{nothing} ({ways})\n")
    return _code(report)


def _code(report: CheckReport) -> int:
    if report.finding is not None:
        return DIFFERED
    return AGREED if report.agreed or report.refused else UNCHECKED


def _data(report: CheckReport, saved: str | None) -> Mapping[str, Any]:
    """The same for other programs."""
    finding = None if report.finding is None else {"description": str(report.finding), "reproduce": saved}
    counts = {"agreed": report.agreed, "refused": report.refused, "nothing": report.nothing}
    return {**counts, "notes": list(report.notes), "finding": finding}
