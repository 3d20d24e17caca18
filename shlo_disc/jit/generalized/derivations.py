"""One program for what is derived, at many sizes, from a function that JAX cannot derive it from at symbolic sizes.

Such a function has a trace at the sizes of each call, with the rules of derivatives that its parts have. Forward passes
with residuals, derivatives, transposes and batches are derived from that trace, and are at given sizes, too: each is
the same `Derivation`, or several after each other. Where one has to be compiled, what it is at other sizes is traced,
and one program is made for all of them (`generalization.py`). It runs wherever it is what the trace at hand says.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.generalized.general_program import GeneralProgram, arguments_of
from shlo_disc.jit.generalized.generalization import generalize
from shlo_disc.jit.program import Derivation, TracedProgram
from shlo_disc.jit.tracing import Untraceable, trace
from shlo_disc.runtime.partitions import Runnable

log = logging.getLogger("shlo_disc")

_SAMPLES_KEPT = 32
_MOST_FAILED = 3  # attempts, besides one for each that was successful
_SEEN = 4  # sizes that are compiled alone before there is an attempt, if symbols serve other sizes


@dataclass(frozen=True)
class OriginAtSizes:
    """The origin of a program at these sizes."""

    programs: DerivedAlike
    sizes: Sizes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sizes."""
        return tuple([one.name for one in self.sizes])

    def derived(self, derivation: Derivation) -> OriginAtSizes:
        """The origin of a program that is derived from this one."""
        return OriginAtSizes(self.programs.derived(derivation), {**self.sizes, **derivation.added})

    def served_by(self, program: TracedProgram) -> tuple[Runnable, Sequence[Any]]:
        """The compiled program that runs in place of this one, and its further arguments."""
        return self.programs.served_by(program, self.sizes)


class DerivedAlike:
    """Programs that are derived alike at the sizes of calls, and those for many sizes that run in their places."""

    def __init__(self, at: Callable[[Sizes], TracedProgram], patience: int) -> None:
        """`at` derives one at given sizes. The first ones, as many as `patience`, are compiled for themselves."""
        self._at, self._patience = at, patience
        self._derived = dict[object, DerivedAlike]()
        self._served = WeakKeyDictionary[TracedProgram, tuple[Runnable, Sequence[Any]]]()
        self._general = list[GeneralProgram]()
        self._alone = list[Sizes]()
        self._failed = 0
        self._lock = threading.RLock()

    def derived(self, derivation: Derivation) -> DerivedAlike:
        """What is derived from these programs."""

        def at(sizes: Sizes) -> TracedProgram:
            return derivation.apply(self._at(sizes), sizes)

        with self._lock:
            return self._derived.setdefault(derivation.key, DerivedAlike(at, self._patience))

    def served_by(self, program: TracedProgram, sizes: Sizes) -> tuple[Runnable, Sequence[Any]]:
        """The compiled program that runs in place of one at these sizes, and its further arguments."""
        with self._lock:
            if program not in self._served:
                self._served[program] = self._find(program, sizes)
            return self._served[program]

    def _find(self, program: TracedProgram, sizes: Sizes) -> tuple[Runnable, Sequence[Any]]:
        for one in self._general:
            if (further := one.further_arguments(sizes, program.trace)) is not None:
                return one.program.runnable, further
        if len(self._alone) >= self._patience and self._failed < _MOST_FAILED + len(self._general):
            one = self._generalized(program, sizes)
            if one is not None and (further := one.further_arguments(sizes, program.trace)) is not None:
                self._general.append(one)
                return one.program.runnable, further
            self._failed += 1
        self._alone.append(sizes)
        return program.runnable, ()

    def _generalized(self, program: TracedProgram, sizes: Sizes) -> GeneralProgram | None:
        """A program for these sizes and others, which is compiled."""
        seen = [sizes, *self._alone[-_SEEN:]]
        found = generalize([*sizes], seen, self._jaxpr_at)
        if found is None:
            return None
        every, types, carried = arguments_of(found)
        try:
            made = GeneralProgram(found, program.alike(trace(found.flat(), types, every, (), seen)), carried)
            assert made.program.runnable is not None
        except (Untraceable, ShloDiscError) as error:
            log.info("%s: no program for all sizes: %s", program.name, error)
            return None
        return made

    def _jaxpr_at(self, sizes: Sizes) -> Any:
        """The trace at these sizes; None if there is none."""
        try:
            return self._at(sizes).trace.jaxpr
        except Exception as error:  # noqa: BLE001  the function and rules of derivatives may raise anything
            log.debug("a trace at other sizes, %s: %s", dict(sizes), error)
            return None


def latest(at: Callable[[Sizes], TracedProgram]) -> Callable[[Sizes], TracedProgram]:
    """The same function, which keeps its last results: all that is derived at the same sizes needs them."""
    kept = OrderedDict[frozenset[tuple[Symbol, int]], TracedProgram]()
    lock = threading.RLock()

    def kept_or_made(sizes: Sizes) -> TracedProgram:
        key = frozenset(sizes.items())
        with lock:
            if key not in kept:
                kept[key] = at(sizes)
            kept.move_to_end(key)
            while len(kept) > _SAMPLES_KEPT:
                kept.popitem(last=False)
            return kept[key]

    return kept_or_made
