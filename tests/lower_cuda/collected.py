"""The kernels that programs need on a GPU, each text once, with what its variants promise."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest import mock

from shlo_disc import pipeline
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim
from shlo_disc.host.program import GridRef, LaunchRef
from shlo_disc.host_ir import Command, GridLaunch, Variant
from shlo_disc.kernels.groups import Group, GroupKind
from shlo_disc.lower_cuda import kernels
from shlo_disc.options import CompileOptions


@dataclass(frozen=True, slots=True)
class Printed:
    """One group's kernels: `text` begins all names with `name`, as `variants` do."""

    name: str
    kind: GroupKind
    origin: str
    text: str
    variants: tuple[Variant[Dim], ...]


class Collection:
    """The different texts of many programs."""

    def __init__(self, options: CompileOptions) -> None:
        self.options = options
        self.printed = dict[str, Printed]()  # by the text with NAME for its name
        self.unsupported = dict[str, str]()  # programs that are refused, and why

    def add(self, origin: str, text: str) -> None:
        """Compile a program's text and keep what is new."""
        with self._recording(origin):
            try:
                request = pipeline.Request("cuda", self.options)
                pipeline.compile_text(text, origin, request, pipeline.Stopwatch())
            except UnsupportedOpError as error:
                self.unsupported[origin] = str(error).splitlines()[0]

    @contextmanager
    def _recording(self, origin: str) -> Generator[None]:
        collection = self

        class Recording(kernels.CudaLowering):
            def lower(self, group: Group) -> LaunchRef:
                known = set(self.texts)
                ref = super().lower(group)
                if isinstance(ref, GridRef):
                    for text in self.texts.keys() - known - collection.printed.keys():
                        collection.keep(text, group, origin, ref)
                return ref

        with mock.patch.object(kernels, "CudaLowering", Recording):
            yield

    def keep(self, text: str, group: Group, origin: str, ref: GridRef) -> None:
        """A text that was not there yet, under a name of its own."""
        name = f"{group.kind.name.lower()}_{len(self.printed)}"
        variants = tuple(_renamed(v, ref.name, name) for v in ref.variants)
        self.printed[text] = Printed(name, group.kind, origin, text.replace(NAME, name), variants)


def _renamed(variant: Variant[Dim], old: str, new: str) -> Variant[Dim]:
    calls: tuple[Command[Dim], ...] = tuple(
        replace(c, kernel=new + c.kernel.removeprefix(old)) if isinstance(c, GridLaunch) else c
        for c in variant.commands
    )
    return replace(variant, commands=calls)
