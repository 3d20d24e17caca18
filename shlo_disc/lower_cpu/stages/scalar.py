"""Stages of single elements as C++."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.scopes import INDENT, Scope
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis, Reduction, Store
from shlo_disc.lower_cpu.stages.loops import StageLines, rows_store, store_text


class ScalarStage(StageLines):
    """One point at a time: one element, or one of each of 16 rows where rows are the lanes."""

    def lines(self) -> list[str]:
        """The statements of the stage."""
        stage = self.stage
        kept = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if not flag]
        reduced = [a for a, flag in zip(stage.axes, stage.reduced, strict=True) if flag]
        if not stage.reductions:
            return self._map(stage.axes)
        if not kept:
            return self._reduce(reduced, at_row=True)
        with self.emit.inside(*(a.symbol.name for a in kept)) as scope:
            scope.block(self._reduce(reduced, at_row=False))
        return self.nest(kept, scope.lines)

    def _map(self, axes: Sequence[Axis]) -> list[str]:
        if not axes:
            with self.emit.inside() as scope:
                self._stores(self.stage.stores, scope)
            return self._per_row(scope.lines)
        with self.emit.inside(*(a.symbol.name for a in axes)) as scope:
            self._stores(self.stage.stores, scope)
        return self.nest(axes, scope.lines)

    def _per_row(self, lines: list[str]) -> list[str]:
        if not self.row.unroll:
            return ["{", *(INDENT + line for line in lines), "}"]
        return ["for (int k = 0; k < R; ++k) {", *(INDENT + line for line in lines), "}"]

    def _stores(self, stores: Sequence[Store], scope: Scope) -> None:
        for store in stores:
            scope.lines.append(self._store(store, self.emit.lanes(store.value)))

    def _store(self, store: Store, value: str) -> str:
        if self.emit.lane is None:
            return store_text(self.emit, self.spell, store, value, self.row.unroll)
        return rows_store(self.emit, self.spell, store, value)

    def _kind(self, dtype: DType) -> str:
        return self.spell.value_type(dtype) if self.emit.lane is None else self.spell.vector_type(dtype)

    def _reduce(self, reduced: Sequence[Axis], *, at_row: bool) -> list[str]:
        """Declare carries before the loop and update them inside it; they stay visible after it."""
        outer = len(self.emit.scopes) - 1
        before, after, starts = list[str](), list[str](), list[str]()
        for reduction in self.stage.reductions:
            for carry, init in zip(reduction.carries, reduction.init, strict=True):
                kind = self._kind(carry.dtype)
                if at_row and self.row.unroll:
                    self.emit.arrays.add(carry.name)
                    before.append(f"{kind} {carry.name}[R];")
                    starts.append(f"{carry.name}[k] = {self.emit.lanes(init)};")
                else:
                    starts.append(f"{kind} {carry.name} = {self.emit.lanes(init)};")
        carries = [c.name for r in self.stage.reductions for c in r.carries]
        if self.emit.lane is not None:
            self.emit.lane_args.update(carries, (x.name for r in self.stage.reductions for x in r.inputs))
        with self.emit.inside(*(a.symbol.name for a in reduced), *carries) as scope:  # carries change in the loop
            self._stores(self.stage.stores, scope)
            for reduction in self.stage.reductions:
                self._update(reduction, scope, len(self.emit.scopes) - 1)
        loops = self.nest(reduced, scope.lines)
        for name in carries:
            self.emit.bind(name, outer)
        with self.emit.inside(*carries) as final:
            for reduction in self.stage.reductions:
                self._stores(reduction.stores, final)
        after += final.lines
        if at_row and self.row.unroll:
            return [*before, *self._per_row([*starts, *loops, *after])]
        return [*before, *starts, *loops, *after]

    def _update(self, reduction: Reduction, scope: Scope, number: int) -> None:
        texts = [self.emit.lanes(x) for x in reduction.elements]
        for name, text in zip(reduction.inputs, texts, strict=True):
            if text.isidentifier():
                self.emit.aliases[name.name] = text
            else:
                scope.lines.append(f"const {self._kind(name.dtype)} {name.name} = {text};")
            self.emit.bind(name.name, number)
        news = [self.emit.lanes(u) for u in reduction.update]
        self.emit.aliases.clear()
        if len(news) == 1:
            scope.lines.append(f"{self.emit.arg(reduction.carries[0].name)} = {news[0]};")
            return
        for carry, text in zip(reduction.carries, news, strict=True):
            scope.lines.append(f"const {self._kind(carry.dtype)} next_{carry.name} = {text};")
        for carry in reduction.carries:
            scope.lines.append(f"{self.emit.arg(carry.name)} = next_{carry.name};")
