"""The C-family printer: formulas become statements, each hoisted to the outermost loop that it can be in.

An `Emitter` keeps a stack of scopes (kernel, row, loops). Printing a node defines what the node needs in the right
scopes and returns an expression. Targets differ in spelling (see `Spelling`) and in what a lane is: in a vector scope
values that depend on the lane symbol are vectors, everything else stays scalar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce

from shlo_disc.emit.indices import IndexPrinter
from shlo_disc.emit.scopes import INDENT, clean
from shlo_disc.emit.spelling import infix_level
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Arg,
    Binary,
    Bitcast,
    Compare,
    Const,
    Convert,
    Fold,
    FoldResult,
    FromDim,
    InRange,
    Load,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Param, Scratch

# functions whose result is a value of the operands' type without rounding
EXACT = frozenset({
    UnaryFn.ABS, UnaryFn.CEIL, UnaryFn.FLOOR, UnaryFn.NEGATE, UnaryFn.ROUND_NEAREST_AFZ, UnaryFn.ROUND_NEAREST_EVEN,
    UnaryFn.SIGN, UnaryFn.IS_FINITE, BinaryFn.MAXIMUM, BinaryFn.MINIMUM,
})  # fmt: skip
LONGEST_INLINE = 90  # characters of an expression before it gets a name


class Emitter(IndexPrinter):
    """Prints the formulas of one kernel."""

    def value(self, node: Scalar, outer: int = 0) -> str:
        """The text of a formula in the current scope, in parentheses if precedence `outer` requires them."""
        match node:
            case Const(value, dtype):
                return self.spell.const(value, dtype)
            case Arg(name, _):
                return self.arg(name)
            case _:
                pass
        level = self.level(node)
        for depth in range(len(self.scopes) - 1, -1, -1):
            if (name := self.scopes[depth].names.get(node)) is not None:
                return name + ("[k]" if self.scopes[depth].arrayed else "")
        if level < len(self.scopes) - 1:
            return self._hoisted(node, level)
        text, precedence = self._text(node)
        if self.uses[node] <= 1 and len(text) <= LONGEST_INLINE:
            return f"({text})" if precedence < outer else text
        return self.define(node, text)

    def lanes(self, node: Scalar, outer: int = 0) -> str:
        """The value as a vector: a scalar is broadcast to the lanes."""
        text = self.value(node, 0 if self.lane and not self.is_vector(node) else outer)
        if self.lane is None or self.is_vector(node):
            return text
        return self.spell.splat(text, node.dtype)

    def define(self, node: Scalar, text: str) -> str:
        """Name a value in the current scope."""
        name = self.fresh()
        vector = self.is_vector(node)
        kind = self.spell.vector_type(node.dtype) if vector else self.spell.value_type(node.dtype)
        if self.scope.arrayed:
            self.scope.lines.append(f"{kind} {name}[R];")
            self.scope.pending.append(f"{name}[k] = {text};")
            self.scope.names[node] = name
            return f"{name}[k]"
        self.scope.lines.append(f"const {kind} {name} = {text};")
        self.scope.names[node] = name
        return name

    def _hoisted(self, node: Scalar, level: int) -> str:
        """Compute a value in an outer scope."""
        inner = self.scopes[level + 1 :]
        del self.scopes[level + 1 :]
        lane, self.lane = self.lane, self.lane if self.is_vector(node) else None
        try:
            text, _ = self._text(node)
            return self.define(node, text)
        finally:
            self.lane = lane
            self.scopes.extend(inner)

    def _text(self, node: Scalar) -> tuple[str, int]:
        """The expression of one node and its precedence (a call binds tightest)."""
        vector = self.is_vector(node)
        go = self.lanes if vector else self.value
        spell = self.spell
        match node:
            case Load(source, (offset,)):
                assert isinstance(source, Param | Scratch), "tensors were replaced by params"
                return self.load(source, offset), 100
            case Unary(fn, x, dtype):
                return spell.rounded(spell.unary(fn, go(x), x.dtype), dtype, exact=fn in EXACT), 100
            case Binary():
                return self._binary(node)
            case Compare(direction, a, b, total):
                return spell.compare(direction, go(a), go(b), a.dtype, total=total), 100
            case Select():
                return self._select(node), 100
            case Convert(x, dtype):
                change = spell.convert_lanes if vector else spell.convert
                return change(go(x, 100), x.dtype, dtype), 100  # it may change nothing, so x keeps its parentheses
            case Bitcast(x, dtype):
                return spell.bitcast(go(x), x.dtype, dtype), 100
            case ReducePrecision(x, exponent, mantissa):
                text = f"reduce_precision({go(x)}, {exponent}, {mantissa})"
                return spell.rounded(text, x.dtype, exact=True), 100  # a small type may lack the infinity
            case FromDim(dim, dtype, within):
                if dim.constant is not None:
                    return spell.const(dim.constant, dtype), 100
                return spell.convert(self.number(dim, dtype if dtype.is_integer else within), DType.I64, dtype), 100
            case InRange(dim, lower, upper):
                return self._in_range(dim, lower, upper), 100
            case FoldResult(fold, position):
                return self._fold(fold, position), 100
            case _:
                raise AssertionError(f"{type(node).__name__} has no text")

    def _binary(self, node: Binary) -> tuple[str, int]:
        """An operator where there is one, else a call."""
        go, fn, dtype = self.lanes if self.is_vector(node) else self.value, node.fn, node.dtype
        if (sign := self.spell.infix(fn, dtype)) is None:
            text = self.spell.binary(fn, go(node.a), go(node.b), dtype)
            return self.spell.rounded(text, dtype, exact=fn in EXACT), 100
        left, right = self.spell.operand_levels(fn, dtype)
        plain = f"{go(node.a, left)} {sign} {go(node.b, right)}"
        text = self.spell.rounded(plain, dtype, exact=False)
        return text, infix_level(fn) if text == plain else 100

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        """One element, or one vector along the lane."""
        pointer = clean(source.name)
        if isinstance(source, Scratch):
            pointer = self.spell.scratch_row(pointer, arrayed=self.scopes[self.row_scope].arrayed)
        if self.lane is None or not self.is_vector(offset):
            return self.spell.load(pointer, self.dim(offset), source.dtype)
        split = offset.linear(Sym(self.lane))
        if split is None or any(map(self.is_vector, split)):
            left = "left" if self.partial else ""
            return self.spell.gather(pointer, self.dim(offset), source.dtype, left, self.mask)
        stride, rest = split
        start = self.dim_scalar(rest + stride * of(Sym(self.lane)))
        if stride == const(1):
            left = "left" if self.partial and not self.is_padded(source, offset) else ""
            return self.spell.load_vector(f"{pointer} + {start}", source.dtype, left, self.mask)
        left, step = "left" if self.partial else "", self.dim_scalar(stride)
        return self.spell.load_strided(f"{pointer} + {start}", step, source.dtype, left, self.mask)

    def is_padded(self, buffer: Param | Scratch, offset: Dim) -> bool:
        """Whether the last vector along the lane lies whole in the buffer: scratch is rounded up to whole vectors."""
        return isinstance(buffer, Scratch) and self.lane is not None and offset == of(Sym(self.lane))

    def _select(self, node: Select) -> str:
        vector = self.is_vector(node)
        if is_guard(node.condition):
            return self._masked(node) if self.is_vector(node.condition) else self._branch(node, vector)
        go = self.lanes if vector else self.value
        return f"select({self.value(node.condition)}, {go(node.then)}, {go(node.other)})"

    def _branch(self, node: Select, vector: bool) -> str:
        """Compute only the side that the guard chooses: the other side's loads may be out of range."""
        condition = self.value(node.condition)
        kind = self.spell.vector_type(node.dtype) if vector else self.spell.value_type(node.dtype)
        name = self.fresh("g")
        lines = [f"{kind} {name};"]
        for head, side in ((f"if ({condition}) {{", node.then), ("} else {", node.other)):
            with self.inside() as scope:
                floor, self.floor = self.floor, len(self.scopes) - 1
                text = self.lanes(side) if vector else self.value(side)
                self.floor = floor
                lines.append(head)
                lines += [INDENT + line for line in scope.lines]
                lines.append(f"{INDENT}{name} = {text};")
        lines.append("}")
        self._statements(lines)
        return name

    def _masked(self, node: Select) -> str:
        """A branch on the conditions that are the same for all lanes, around a choice by those that differ."""
        parts = list(conjuncts(node.condition))
        if agreed := [part for part in parts if not self.is_vector(part)]:
            differing = [part for part in parts if self.is_vector(part)]
            inner = Select(_all_of(differing), node.then, node.other)
            return self._branch(Select(_all_of(agreed), inner, node.other), vector=True)
        return self.by_lane(node)

    def by_lane(self, node: Select) -> str:
        """A masked choice: each lane loads only on the side that the guard chooses for it."""
        around = self.mask or ("mask_n(left)" if self.partial else "")
        condition, chosen, name = self.value(node.condition), self.fresh("m"), self.fresh("g")
        lines = [f"const maskv {chosen} = {condition};", f"{self.spell.vector_type(node.dtype)} {name};"]
        outer, floor, self.floor = self.mask, self.floor, len(self.scopes)
        for side, held, kept in (
            (node.then, chosen, ""),
            (node.other, f"m_not({chosen})", f"select({chosen}, {name}, "),
        ):
            with self.inside() as scope:
                self.mask = f"m_and({held}, {around})" if around else held
                text = self.lanes(side)
            store = f"{name} = {kept}{text}{')' if kept else ''};"
            lines += ["{", *(INDENT + line for line in (*scope.lines, store)), "}"] if scope.lines else [store]
        self.mask, self.floor = outer, floor
        self._statements(lines)
        return name

    def _statements(self, lines: list[str]) -> None:
        if self.scope.arrayed:
            self.scope.pending.extend(lines)
        else:
            self.scope.lines.extend(lines)

    def _in_range(self, dim: Dim, lower: Dim, upper: Dim) -> str:
        if (between := self.lanes_between(dim, lower, upper)) is not None:
            return between
        at, low, high = self.dim(dim), self.dim(lower), self.dim(upper)
        if self.is_vector(dim):
            low, high = (self.index_lanes(d, t) for d, t in ((lower, low), (upper, high)))
            return f"m_and(ge({at}, {low}), lt({at}, {high}))"
        if lower == const(0) and upper.constant is not None and upper.constant > 0:  # a pad of nothing has upper < 0
            return f"(uint64_t)({at}) < (uint64_t)({high})"
        return f"(({at}) >= {low} && ({at}) < {high})"

    def lanes_between(self, dim: Dim, lower: Dim, upper: Dim) -> str | None:
        """The mask of the lanes whose index is in range, if they are contiguous; else None."""
        if self.lane is None or self.lane not in self.deps.of(dim):
            return None
        split = dim.linear(Sym(self.lane))
        if split is None or (step := split[0].constant) is None or not step:
            return None
        if any(map(self.is_vector, (split[1], lower, upper))):
            return None
        if step > 0:
            first, last = ((bound - dim + (step - 1)) // step for bound in (lower, upper))
        else:
            first, last = ((dim - bound) // -step + 1 for bound in (upper, lower))
        return f"lanes_between({self.dim_scalar(first)}, {self.dim_scalar(last)})"

    def _fold(self, fold: Fold, position: int) -> str:
        """A loop inside one element: carries are variables, updated together."""
        names = [clean(c.name) for c in fold.carries]
        vector = self.is_vector(FoldResult(fold, position))
        kind, go = (self.spell.vector_type, self.lanes) if vector else (self.spell.value_type, self.value)
        # In another segment of an axis the same carries may be scalars.
        around, carries = self.lane_args, {c.name for c in fold.carries}
        self.lane_args = around | carries if vector else around - carries
        lines = [
            f"{kind(c.dtype)} {name} = {go(init)};"
            for c, name, init in zip(fold.carries, names, fold.init, strict=True)
        ]
        symbols = [s.name for s, _ in fold.axes]
        extents = [self.dim(extent) for _, extent in fold.axes]
        heads = [
            f"for ({self.spell.index} {clean(s)} = 0; {clean(s)} < {e}; ++{clean(s)}) {{"
            for s, e in zip(symbols, extents, strict=True)
        ] or ["{"]  # no axes: a block, as another fold may declare the same names beside it
        with self.inside(*symbols, *(c.name for c in fold.carries)) as scope:
            uses, self.uses = self.uses, Counter[Node]()
            self.count_uses(fold.update)
            texts = [go(u) for u in fold.update]
            self.uses, self.lane_args = uses, around
            body = [*scope.lines, *_assign_together(names, texts)]
        for depth, head in enumerate(heads):
            lines.append(INDENT * depth + head)
        lines += [INDENT * len(heads) + line for line in body]
        lines += [INDENT * depth + "}" for depth in range(len(heads) - 1, -1, -1)]
        if not self.scope.carries.isdisjoint(names):  # another segment of an axis has the same fold of other elements
            kept = [self.fresh("g") for _ in names]
            variables = [f"{kind(c.dtype)} {name};" for c, name in zip(fold.carries, kept, strict=True)]
            results = [f"{one} = {name};" for one, name in zip(kept, names, strict=True)]
            lines, names = [*variables, "{", *(INDENT + line for line in (*lines, *results)), "}"], kept
        self.scope.carries.update(names)
        self._statements(lines)
        if not self.scope.arrayed:
            self.scope.names.update((FoldResult(fold, k), name) for k, name in enumerate(names))
        return names[position]


def is_guard(condition: Scalar) -> bool:
    """Whether a condition guards loads: it is a range check of an index, or a conjunction with one."""
    match condition:
        case InRange():
            return True
        case Binary(BinaryFn.AND, a, b, DType.I1):
            return is_guard(a) or is_guard(b)
        case _:
            return False


def conjuncts(condition: Scalar) -> Iterator[Scalar]:
    """The conjuncts of a condition."""
    match condition:
        case Binary(BinaryFn.AND, a, b, DType.I1):
            yield from conjuncts(a)
            yield from conjuncts(b)
        case _:
            yield condition


def _all_of(conditions: Sequence[Scalar]) -> Scalar:
    return reduce(lambda a, b: Binary(BinaryFn.AND, a, b, DType.I1), conditions)


def _assign_together(names: list[str], texts: list[str]) -> list[str]:
    if len(names) == 1:
        return [f"{names[0]} = {texts[0]};"]
    fresh = [f"const auto next_{name} = {text};" for name, text in zip(names, texts, strict=True)]
    return [*fresh, *(f"{name} = next_{name};" for name in names)]
