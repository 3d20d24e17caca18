"""Compile a traced function."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from shlo_disc.choices import read_options
from shlo_disc.compiled import origin_of
from shlo_disc.diagnostics import Source, Span, UnsupportedOpError
from shlo_disc.jit.callbacks import TARGET as CALLBACK
from shlo_disc.jit.callbacks import callbacks_as_custom_calls
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.lowering import allowed, lowering
from shlo_disc.jit.program import TracedProgram
from shlo_disc.jit.results import let_xla_make_results
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.pipeline import compile_for
from shlo_disc.targets import default_target, target_named

log = logging.getLogger("shlo_disc")


class TraceCompiler:
    """Compiles the programs of one function, and counts them."""

    def __init__(self, device: str | None, options: CompileOptions | None, likely: Mapping[str, Sequence[int]]) -> None:
        self._target = default_target() if device is None else target_named(device)
        self._options = read_options(options, None)
        self._likely = likely
        self._backend: Any = None
        self.seconds = list[tuple[str, float]]()  # of every program, by name

    def runnable(self, program: TracedProgram, names: Sequence[str]) -> Any:
        """The program, ready to run. `names`: of its arguments, unless it is derived from another one.

        Raises `UnsupportedOpError` if JAX cannot export it, JAX's own `TypeError` if the function has no such
        derivative (`custom_vjp` has none in forward mode), and what compiling an export raises.
        """
        export = jax_module("jax.export")

        started = time.perf_counter()
        trace = program.trace
        try:
            with lowering(), callbacks_as_custom_calls() as callbacks:
                platforms, checks = (self._target.platform,), allowed(CALLBACK)
                make = export.export(trace.jitted, platforms=platforms, disabled_checks=checks)
                exported = make(*trace.specs)
        except Exception as error:  # the function is traced already: JAX cannot lower it, or not export what it lowered
            if isinstance(error, TypeError) and not program.is_original:
                raise
            raise UnsupportedOpError(
                f"JAX cannot export {program.name}: {error}", Span(Source(program.name, ""), 0, 0)
            ) from error
        if self._backend is None:
            self._backend = self._target.open(self._options)
        known = trace.abstraction.names
        likely = tuple([(name, tuple(values)) for name, values in self._likely.items() if name in known])
        hints = Hints(likely=likely, allows_empty=True)
        own = tuple(names) if len(names) == len(trace.specs) and program.is_original else None
        compiled = compile_for(self._backend, exported, self._options, hints=hints, names=own)
        runnable: Any = compiled.executable
        runnable.origin = origin_of(compiled)  # to save it
        if runnable.entry is not None:
            weak = [bool(aval.weak_type) for aval in trace.jaxpr.out_avals]
            runnable.entry.return_jax(weak)
            let_xla_make_results(runnable, runnable.entry, weak)
        runnable.owned = callbacks  # copies of the program with bound arguments have it, too
        took = time.perf_counter() - started
        self.seconds.append((f"{program.name} for {trace.abstraction}", took))
        log.info("%s for %s: compiled in %.2f s", program.name, trace.abstraction, took)
        return runnable
