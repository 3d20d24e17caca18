"""Vectorized access: a stage's innermost axis in packs of N lanes (16 bytes), each loaded or stored by one instruction.

The axis `c` becomes `N*q + lane`. Values that depend on the lane are arrays over `k` in the text, computed in short
loops that NVRTC unrolls; all others stay scalars of the thread. An access is packed if its offset is `lane + rest` and
N divides `rest`: N must divide the factor of every product of loop symbols in `rest`.
In `(c + r) // d` and `(c + r) % d` a pack stays whole if N divides `r` and `d`: its lanes have the same quotient, and
consecutive remainders. Likewise, a range test has the same result for all lanes if N divides both ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace

from shlo_disc.analysis.access import children
from shlo_disc.emit.emitter import Emitter, is_guard
from shlo_disc.emit.scopes import INDENT, Scope, clean
from shlo_disc.expr.dim import Atom, Dim, FloorDiv, Mod, Product, Sym, const, divide, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Fold, FoldResult, InRange, Load, Scalar, Select
from shlo_disc.host_ir import Guard
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, Param, Scratch, Stage, Store
from shlo_disc.kernels.rewrite import DimRewriter, nodes_of
from shlo_disc.kernels.simplify_kernel import rewrite_stage, stage_formulas
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

LANE = Sym("%lane")
PACK_BYTES = 16  # what one instruction loads or stores


@record
class Packing:
    """A stage whose last axis counts packs of `width` lanes; `LANE` is the index in a pack.

    `packs` are the accesses (buffer, and offset without the lane) that are one pack each, if the `guards` hold and
    every buffer is aligned to 16 bytes.
    """

    stage: Stage
    width: int
    guards: tuple[Guard[Dim], ...]
    packs: frozenset[tuple[Param | Scratch, Dim]]

    def start(self, target: Param | Scratch, offset: Dim) -> Dim | None:
        """The first offset of the pack that contains this access; None if it is not in a pack."""
        split = offset.linear(LANE)
        if split is None or split[0] != const(1) or (target, split[1]) not in self.packs:
            return None
        return split[1]


def pack_stage(stage: Stage, facts: Facts, most: int = PACK_BYTES) -> Packing | None:
    """Split the innermost axis of `stage` into packs of at most `most` lanes; None if no access would be packed.

    Packs do not pay where each lane has a loop of its own: loops take more time than loads.
    """
    if not stage.axes or _has_loops(stage):
        return None
    width = min(PACK_BYTES // _widest(stage), most)
    while width > 1:
        if (found := _Packer(stage, width, facts).run()) is not None:
            return found
        width //= 2
    return None


def packed_axis(axis: Axis, width: int) -> Axis:
    """The loop over the packs of an axis."""
    return Axis(axis.symbol, axis.extent // width)


def _widest(stage: Stage) -> int:
    """The bytes of the widest element that is accessed contiguously along the innermost axis."""
    lane = stage.axes[-1].symbol
    accesses = [(s.target, s.offset) for s in _stores(stage)]
    sizes = [target.dtype.bytes for target, offset in accesses if _unit(offset, lane)]
    loads = [n for n in nodes_of(stage_formulas(stage)) if isinstance(n, Load)]
    sizes += [n.dtype.bytes for n in loads if _unit(n.index[0], lane)]
    return max(sizes, default=PACK_BYTES)


def _unit(offset: Dim, lane: Sym) -> bool:
    split = offset.linear(lane)
    if split is None:
        return any(isinstance(a, Mod) and lane in of(a).symbols() for a in offset.atoms())
    return split[0] == const(1)


def _stores(stage: Stage) -> list[Store]:
    return [*stage.stores, *(s for r in stage.reductions for s in r.stores)]


def _loads(stage: Stage) -> list[tuple[Param | Scratch, Dim]]:
    """Loads that all lanes execute together: under no guard that depends on the lane, and outside inner loops."""
    deps = Dependence()
    seen, stack = set[Node](), list[Node](stage_formulas(stage))
    found, inner = list[tuple[Param | Scratch, Dim]](), set[str]()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        match node:
            case Select(condition, _, _) if is_guard(condition) and LANE.name in deps.of(condition):
                stack.append(condition)
                continue
            case FoldResult(fold, _):
                inner.update(s.name for s, _ in fold.axes)
            case Load(source, (offset,)):
                assert isinstance(source, Param | Scratch), "tensors were replaced by params"
                found.append((source, offset))
            case _:
                pass
        stack.extend(children(node))
    return [(source, offset) for source, offset in found if not deps.of(offset) & inner]


def _has_loops(stage: Stage) -> bool:
    deps, lane = Dependence(), stage.axes[-1].symbol.name
    return any(isinstance(n, FoldResult) and lane in deps.of(n) for n in nodes_of(stage_formulas(stage)))


class Divisibility:
    """Divisibility of dims by `width`: proved, refuted, or assumed under a guard that the host checks."""

    def __init__(self, width: int, facts: Facts) -> None:
        self.width, self.facts = width, facts
        self._assumed = dict[Dim, None]()

    @property
    def guards(self) -> tuple[Guard[Dim], ...]:
        """The assumptions."""
        return tuple(Guard(dim % self.width, "==", const(0)) for dim in self._assumed)

    def ask(self, dims: Iterable[Dim]) -> bool:
        """Whether all of these may be divisible; those that are not proved are assumed."""
        found = list[Dim]()
        for dim in dims:
            if self._is_multiple(dim) or any(not divide(dim, d)[1].terms for d in (*self._assumed, *found)):
                continue
            if self.facts.equal(dim % self.width, 0).is_false:
                return False
            found.append(dim)
        self._assumed.update(dict.fromkeys(found))
        return True

    def _is_multiple(self, dim: Dim) -> bool:
        return self.facts.divisor(dim) % self.width == 0

    def ask_all(self, rest: Dim) -> bool:
        """The same for a dim over loop symbols, for all values of these."""
        return all(self._product(moving, factor) for moving, factor in _factors(rest).items())

    def _product(self, moving: Product, factor: Dim) -> bool:
        """Whether a product is divisible: its factor is a multiple, or an atom is the remainder of multiples."""
        if self._is_multiple(factor):
            return True
        for atom in moving:
            if isinstance(atom, Mod) and self.ask([*_factors(atom.numerator).values(), atom.denominator]):
                return True
        return self.ask([factor])


def _factors(dim: Dim) -> dict[Product, Dim]:
    """Products of loop symbols and data, and the factor of each; the empty product has the invariant part."""
    found = defaultdict[Product, Dim](lambda: const(0))
    for atoms, weight in dim.terms:
        moving = tuple(a for a in atoms if _moves(a))
        found[moving] += product(of(a) for a in atoms if a not in moving) * weight
    return dict(found)


def _moves(atom: Atom) -> bool:
    return any(s.name.startswith("%") for s in of(atom).symbols()) or bool(of(atom).data())


class _Packer:
    def __init__(self, stage: Stage, width: int, facts: Facts) -> None:
        self.stage, self.width = stage, width
        self.axis = stage.axes[-1]
        self.check = Divisibility(width, facts)
        self.deps = Dependence()

    def run(self) -> Packing | None:
        if not self.check.ask([self.axis.extent]):
            return None
        axes = (*self.stage.axes[:-1], packed_axis(self.axis, self.width))
        stage = replace(rewrite_stage(self.stage, _Splitter(self)), axes=axes)
        packs = {
            (target, rest)
            for target, offset in ((s.target, s.offset) for s in _stores(stage))
            if (rest := self._rest(offset)) is not None and self.check.ask_all(rest)
        }
        if not packs and _stores(stage):
            return None
        for source, offset in _loads(stage):
            rest = self._rest(offset)
            if rest is not None and (source, rest) not in packs and self.check.ask_all(rest):
                packs.add((source, rest))
        return Packing(stage, self.width, self.check.guards, frozenset(packs)) if packs else None

    def split(self, dim: Dim) -> Dim:
        """Substitute `N*q + lane` for the axis."""
        symbol = self.axis.symbol
        if symbol not in dim.symbols():
            return dim
        return dim.map_atoms(self._division).substitute({symbol: of(symbol) * self.width + of(LANE)})

    def _division(self, atom: Atom) -> Dim:
        """A quotient that is equal in a pack, or a remainder that is consecutive in it, if divisibility allows."""
        symbol = self.axis.symbol
        if not isinstance(atom, FloorDiv | Mod) or symbol not in atom.numerator.symbols():
            return of(atom)
        split = atom.numerator.linear(symbol)
        if (
            split is None
            or split[0] != const(1)
            or not self.check.ask([*_factors(split[1]).values(), atom.denominator])
        ):
            return of(atom)
        # `split` adds the lane to the axis, so it is subtracted here: the atom is that of the pack's first point
        first = atom.numerator - of(LANE)
        if isinstance(atom, FloorDiv):
            return first // atom.denominator
        return first % atom.denominator + of(LANE)

    def first(self, node: InRange) -> InRange:
        """Test only the first lane if both ends of the range are between packs: then all lanes agree."""
        start = self._rest(node.dim)
        if start is None or LANE.name in self.deps.of(node.lower) | self.deps.of(node.upper):
            return node
        factors = [f for d in (start, node.lower, node.upper) for f in _factors(d).values()]
        return replace(node, dim=start) if self.check.ask(factors) else node

    def _rest(self, offset: Dim) -> Dim | None:
        """The `rest` of an offset `lane + rest`, independent of the lane; None for other offsets."""
        split = offset.linear(LANE)
        if split is None or split[0] != const(1) or LANE.name in self.deps.of(split[1]):
            return None
        return split[1]


class _Splitter(DimRewriter):
    """Replaces the innermost axis by packs and lanes everywhere in a stage."""

    def __init__(self, packer: _Packer) -> None:
        super().__init__(packer.split)
        self._packer = packer

    def _rebuild(self, node: Scalar) -> Scalar:
        if isinstance(node, InRange):
            return self._packer.first(InRange(self.dim(node.dim), self.dim(node.lower), self.dim(node.upper)))
        return super()._rebuild(node)


class PackedEmitter(Emitter):
    """Prints formulas over the lanes of a pack, inside `pack`; elsewhere it is the plain printer.

    In the scope of a pack a value is an array over its lanes, unless it is the same for all lanes. Under a guard that
    all lanes share, such values cannot be hoisted further out: they are scalars between the loops over lanes.
    """

    def __init__(self, spelling: CudaSpelling) -> None:
        super().__init__(spelling)
        self.packing: Packing | None = None
        self.finished = list[str]()  # stores of packs, after all values: adjacent loops over lanes spill less
        self.registers = dict[tuple[Scope, Param | Scratch, Dim], str]()  # loaded packs, by scope
        self.held = frozenset[Param | Scratch]()  # scratch in registers: arrays over `u`
        self.singles = dict[tuple[Scope, Scalar], str]()  # values that all lanes share, in the scope of a pack

    @contextmanager
    def pack(self, packing: Packing) -> Generator[Scope]:
        """Open the scope of one pack, with `k` as the index of its `R` lanes."""
        before, self.packing = self.packing, packing
        with self.inside(LANE.name, arrayed=True) as scope:
            scope.lines.append(f"constexpr int R = {packing.width};")
            yield scope
            scope.block(self.finished)
            self.finished.clear()
        self.packing = before

    def store(self, store: Store) -> None:
        """Add the statements of one store to the current scope."""
        scope, target = self.scope, store.target
        start = self.packing.start(target, store.offset) if self.packing and scope.arrayed else None
        if start is not None and (name := self._copied(store)) is not None:
            self.finished.append(self._store_pack(target, start, name))
            return
        value = self.value(store.value)
        if start is None:
            text = self.spell.store(clean(target.name), self.dim_scalar(store.offset), value, target.dtype)
            (scope.pending if scope.arrayed else scope.lines).append(text)
            return
        name = self.fresh("s")
        scope.lines.append(f"Pack<{self.spell.memory_type(target.dtype)}, R> {name};")
        scope.pending.append(self.spell.store(f"{name}.at", "k", value, target.dtype))
        self.finished.append(self._store_pack(target, start, name))

    def _copied(self, store: Store) -> str | None:
        """The name of the pack that a store copies unchanged; None if it does anything else."""
        match store.value:
            case Load(source, (offset,)) if source.dtype == store.target.dtype:
                assert isinstance(source, Param | Scratch), "tensors were replaced by params"
                assert self.packing is not None, "only packs are copied whole"
                start = self.packing.start(source, offset)
                return None if start is None else self._pack(source, start)
            case _:
                return None

    def _store_pack(self, target: Param | Scratch, start: Dim, name: str) -> str:
        if target in self.held:
            return f"{clean(target.name)}[u] = {name};"
        return f"pack_store({clean(target.name)} + {self.dim_scalar(start)}, {name});"

    def arg(self, name: str) -> str:
        return "k" if name == LANE.name else super().arg(name)

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        """One element, taken from a pack where possible."""
        start = self.packing.start(source, offset) if self.packing and self.scope.arrayed else None
        if start is None:
            return super().load(source, offset)
        return self.spell.load(f"{self._pack(source, start)}.at", "k", source.dtype)

    def _pack(self, source: Param | Scratch, start: Dim) -> str:
        """The name of the pack at `start`, which is loaded once."""
        for scope in self.scopes:
            if (known := self.registers.get((scope, source, start))) is not None:
                return known
        name = self.registers[self.scope, source, start] = self.fresh("q")
        place = f"{clean(source.name)}[u]" if source in self.held else None
        text = place or f"pack_load<R>({clean(source.name)} + {self.dim_scalar(start)})"
        self.scope.lines.append(f"const Pack<{self.spell.memory_type(source.dtype)}, R> {name} = {text};")
        return name

    def value(self, node: Scalar, outer: int = 0) -> str:
        for scope in self.scopes:
            if (known := self.singles.get((scope, node))) is not None:
                return known
        return super().value(node, outer)

    def define(self, node: Scalar, text: str) -> str:
        """Name a value in the current scope."""
        if not self.scope.arrayed or self._differs(node):
            return super().define(node, text)
        name = self.singles[self.scope, node] = self.fresh()
        self.scope.lines.append(f"const {self.spell.value_type(node.dtype)} {name} = {text};")
        return name

    def _differs(self, node: Scalar) -> bool:
        """Whether a value varies over lanes: it depends on the lane, or on an array over lanes."""
        return any(name in self.arrays or self.scopes[self.home_of(name)].arrayed for name in self.deps.of(node))

    def _statements(self, lines: list[str]) -> None:
        self.scope.lines.extend(lines)  # of values that all lanes share: those that vary add their own statements

    def _fold(self, fold: Fold, position: int) -> str:
        text = super()._fold(fold, position)
        if self.scope.arrayed:
            names = [clean(c.name) for c in fold.carries]
            self.singles.update({(self.scope, FoldResult(fold, k)): name for k, name in enumerate(names)})
        return text

    def _branch(self, node: Select, vector: bool) -> str:
        """In a pack the result is an array; a guard that all lanes share is evaluated once."""
        if not self.scope.arrayed or not self._differs(node):
            return super()._branch(node, vector)
        outer, name = self.scope, self.fresh("g")
        shared = not self._differs(node.condition)
        condition = self.value(node.condition)
        lines = list[str]()
        for head, side in ((f"if ({condition}) {{", node.then), ("} else {", node.other)):
            with self.inside(arrayed=shared) as scope:
                floor, self.floor = self.floor, len(self.scopes) - 1
                text = self.value(side)
                self.floor = floor
                (scope.pending if shared else scope.lines).append(f"{name}[k] = {text};")
                scope.flush()
                lines += [head, *(INDENT + line for line in scope.lines)]
        lines.append("}")
        declared = f"{self.spell.value_type(node.dtype)} {name}[R];"
        if shared:
            outer.block([declared, *lines])
        else:
            outer.lines.append(declared)
            outer.pending.extend(lines)
        return f"{name}[k]"
