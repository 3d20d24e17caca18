"""The compiled programs of a function, by the structures of its calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from shlo_disc.call_signature import Signature
from shlo_disc.calling import serve_in_c
from shlo_disc.compiled import Compiled
from shlo_disc.jit.arguments import Call, Parameters
from shlo_disc.jit.calls_by_xla import by_xla_if_often
from shlo_disc.jit.compiling import TraceCompiler
from shlo_disc.jit.constraint_text import names_in
from shlo_disc.jit.declared import declared_names, declared_shapes
from shlo_disc.jit.donation import donated_leaves, warn_of_unusable
from shlo_disc.jit.family import CallStructure, Family, SizeVariant
from shlo_disc.jit.flat import FlatFunction, flat_tree
from shlo_disc.records import record


@record
class ServedStructure:
    """How calls of one structure are served. `donated`: which leaves the caller no longer needs."""

    family: Family
    flat: FlatFunction
    donated: tuple[int, ...]

    def compiled(self, variant: SizeVariant) -> Compiled:
        """The compiled program of a variant of the family."""
        if variant.compiled is None:
            runnable: Any = variant.program.runnable
            flat = self.flat
            names = [*self.family.structure.names, *variant.further_names]
            signature = Signature(
                in_tree=flat.in_tree if not variant.further_names else flat_tree(len(names)),
                out_tree=variant.results.tree,
                names=tuple(names),
                kept=tuple(range(len(names))),
                platform=0,
                is_flat=flat.is_flat or bool(variant.further_names),
            )
            variant.compiled = Compiled(runnable, signature, runnable.origin)
            if runnable.entry is not None and not variant.further_names:
                variant.serve = serve_in_c(runnable.entry, signature, self.donated)
                if variant.serve is not None and not flat.has_constants:
                    trace = variant.program.trace
                    variant.serve = by_xla_if_often(variant.serve, runnable, signature, trace, self.donated)
            warn_of_unusable(self.donated, variant.program.trace)
        return variant.compiled


class FunctionPrograms:
    """The programs of one function, with what was learned of the sizes of its calls."""

    def __init__(
        self,
        fun: Callable[..., Any],
        parameters: Parameters,
        declaration: Any,
        constraints: Sequence[str],
        compiler: TraceCompiler,
    ) -> None:
        self._fun, self._parameters, self._declaration = fun, parameters, declaration
        self._constraints, self._compiler = constraints, compiler
        self._served = dict[object, ServedStructure]()

    @property
    def families(self) -> list[Family]:
        """The families of programs, in the order in which calls came first."""
        return [one.family for one in self._served.values()]

    @property
    def last(self) -> Compiled | None:
        """The last program of the last structure that has a compiled one."""
        for family in reversed(self.families):
            for variant in reversed(family.variants):
                if variant.compiled is not None:
                    return variant.compiled
        return None

    def clear(self) -> None:
        """Forget all programs, and what was learned of sizes."""
        self._served.clear()

    def of_call(self, call: Call) -> ServedStructure:
        """The programs for the structure of a call."""
        if (found := self._served.get(call.key)) is None:
            names = self._parameters.leaf_names(call)
            flat = FlatFunction(self._fun, self._parameters, call)
            declared = declared_shapes(self._declaration, self._parameters, call, names)
            absent = declared_names(self._declaration) - {
                x.name for dims in declared for d in dims or () for x in d.symbols()
            }
            structure = CallStructure(
                name=self._parameters.name,
                flat=flat.new,
                results=flat.results,
                types=call.types,
                names=names,
                declared=declared,
                constraints=[text for text in self._constraints if not names_in(text) & absent],
                compile=functools.partial(self._compiler.runnable, names=names),
            )
            donated = donated_leaves(call, self._parameters.donated_positions, self._parameters.donated_names)
            found = self._served.setdefault(call.key, ServedStructure(Family(structure), flat, donated))
        return found
