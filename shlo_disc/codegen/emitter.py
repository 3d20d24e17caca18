"""The C-family printer: formulas become statements, each in the outermost loop that it can be in.

An `Emitter` keeps a stack of scopes (kernel, row, loops). Asking it for the text of a node defines what the node needs
in the right scopes and answers with an expression. Targets differ in spelling (see `Spelling`) and in what a lane is:
in a vector scope values that depend on the lane symbol are vectors, everything else stays scalar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

from shlo_disc.analysis.access import children
from shlo_disc.codegen.dependence import ROW, Dependence
from shlo_disc.codegen.kernel import Param, Scratch
from shlo_disc.codegen.spelling import Spelling
from shlo_disc.expr.dim import Atom, Data, Dim, FloorDiv, Max, Min, Mod, Sym, const, of
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import (
    Arg,
    Binary,
    BinaryFn,
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
    as_scalar,
)

INDENT = "  "
LONGEST_INLINE = 90  # characters of an expression before it gets a name


@dataclass(slots=True, eq=False)
class Scope:
    """One block of statements. `arrayed`: its variables are arrays over the unrolled rows, indexed by `k`."""

    lines: list[str] = field(default_factory=list[str])
    names: dict[Node, str] = field(default_factory=dict[Node, str])
    arrayed: bool = False
    pending: list[str] = field(default_factory=list[str])  # statements that go into the next loop over rows

    def block(self, text: Iterable[str]) -> None:
        """Append whole blocks of text after everything said so far."""
        self.flush()
        self.lines.extend(text)

    def flush(self) -> None:
        """Wrap the waiting statements into a loop over the unrolled rows."""
        if self.pending:
            self.lines.append("for (int k = 0; k < R; ++k) {")
            self.lines.extend(INDENT + line for line in self.pending)
            self.lines.append("}")
            self.pending.clear()


class Emitter:
    """Prints the formulas of one kernel."""

    def __init__(self, spelling: Spelling) -> None:
        self.spell = spelling
        self.scopes = [Scope()]
        self.home = dict[str, int]()  # which scope binds a loop symbol or an arg
        self.lane: str | None = None  # the symbol whose values are vector lanes
        self.partial = False  # lanes beyond `left` are absent
        self.deps = Dependence()
        self.uses = Counter[Node]()
        self.count = 0
        self.arrays = set[str]()  # args that are arrays over the unrolled rows wherever they are read
        self.row_scope = 0
        self.floor = 0  # inside a guard nothing that loads may move further out than this scope
        self.sizes = dict[str, None]()  # program symbols in the order of first use

    # -- scopes

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    @contextmanager
    def inside(self, *symbols: str, arrayed: bool = False) -> Generator[Scope]:
        """Open a scope that binds these symbols; the caller places its lines afterwards."""
        self.scopes.append(Scope(arrayed=arrayed))
        shadowed = {s: self.home.get(s) for s in symbols}
        for symbol in symbols:
            self.home[symbol] = len(self.scopes) - 1
        try:
            yield self.scopes[-1]
        finally:
            self.scopes[-1].flush()
            for symbol, before in shadowed.items():
                if before is None:
                    del self.home[symbol]
                else:
                    self.home[symbol] = before
            self.scopes.pop()

    def bind(self, name: str, scope: int) -> None:
        """Say that an arg is defined in scope number `scope`."""
        self.home[name] = scope

    def fresh(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def count_uses(self, roots: Iterable[Node]) -> None:
        """Learn how often each node is used, so that what is used once stays inside its user's expression."""
        self.uses = Counter[Node]()
        stack, seen = list(roots), set[Node]()
        self.uses.update(stack)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            below = list(children(node))
            self.uses.update(below)
            stack.extend(below)

    def level(self, node: Node) -> int:
        """The number of the outermost scope that knows everything `node` depends on."""
        names = self.deps.of(node)
        found = max((self._home(name) for name in names), default=self.floor)
        found = max(found, self.floor)
        if self.lane in names and self.row_scope and any(self._home(n) == self.row_scope for n in names):
            return max(found, len(self.scopes) - 1)
        return found

    def _home(self, name: str) -> int:
        return self.row_scope if name == ROW else self.home.get(name, 0)

    def is_vector(self, node: Node) -> bool:
        """Whether the value differs from lane to lane."""
        return self.lane is not None and self.lane in self.deps.of(node)

    # -- values

    def value(self, node: Scalar, outer: int = 0) -> str:
        """The text of a formula as the current scope sees it, fit to stand inside precedence `outer`."""
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
        """The value as a vector: a scalar is spread over the lanes."""
        text = self.value(node, 0 if self.lane and not self.is_vector(node) else outer)
        if self.lane is None or self.is_vector(node):
            return text
        return self.spell.splat(text, node.dtype)

    def arg(self, name: str) -> str:
        """The text of an arg: an array element if its scope is the unrolled row."""
        scope = self.home.get(name, 0)
        arrayed = name in self.arrays or (scope < len(self.scopes) and self.scopes[scope].arrayed)
        return _clean(name) + ("[k]" if arrayed else "")

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
            case Const() | Arg():
                return self.value(node), 100
            case Load(source, (offset,)):
                assert isinstance(source, Param | Scratch), "tensors were replaced by params"
                return self.load(source, offset), 100
            case Unary(fn, x, _):
                return spell.unary(fn, go(x), x.dtype), 100
            case Binary(fn, a, b, dtype):
                if (sign := spell.infix(fn, dtype)) is not None:
                    level = 12 if fn in (BinaryFn.MULTIPLY, BinaryFn.DIVIDE) else 11
                    return f"{go(a, level)} {sign} {go(b, level + 1)}", level
                return spell.binary(fn, go(a), go(b), dtype), 100
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
                return f"reduce_precision({go(x)}, {exponent}, {mantissa})", 100
            case FromDim(dim, dtype):
                if dim.constant is not None:
                    return spell.const(dim.constant, dtype), 100
                return spell.convert(self.dim(dim), DType.I64, dtype), 100
            case InRange(dim, lower, upper):
                return self._in_range(dim, lower, upper), 100
            case FoldResult(fold, position):
                return self._fold(fold, position), 100
            case _:
                raise AssertionError(f"{type(node).__name__} has no text")

    def load(self, source: Param | Scratch, offset: Dim) -> str:
        """One element, or one vector along the lane."""
        pointer = _clean(source.name)
        if isinstance(source, Scratch):
            pointer = self.spell.scratch_row(pointer, arrayed=self.scopes[self.row_scope].arrayed)
        if self.lane is None or self.lane not in self.deps.of(offset):
            return self.spell.load(pointer, self.dim(offset), source.dtype)
        split = offset.linear(Sym(self.lane))
        absent = self.partial and isinstance(source, Param)
        left = "left" if absent else ""
        if split is None or self.lane in self.deps.of(split[0]) | self.deps.of(split[1]):
            return self.spell.gather(pointer, self.dim(offset), source.dtype, "left" if self.partial else "")
        stride, rest = split
        start = self.dim_scalar(rest + stride * Dim_of_lane(self.lane))
        if stride == const(1):
            return self.spell.load_vector(f"{pointer} + {start}", source.dtype, left)
        left = "left" if self.partial else ""
        return self.spell.load_strided(f"{pointer} + {start}", self.dim_scalar(stride), source.dtype, left)

    def _select(self, node: Select) -> str:
        vector = self.is_vector(node)
        if is_guard(node.condition) and not self.is_vector(node.condition):
            return self._branch(node, vector)
        if is_guard(node.condition):
            raise AssertionError("a guard that differs from lane to lane is printed without lanes")
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

    def _statements(self, lines: list[str]) -> None:
        if self.scope.arrayed:
            self.scope.pending.extend(lines)
        else:
            self.scope.lines.extend(lines)

    def _in_range(self, dim: Dim, lower: Dim, upper: Dim) -> str:
        at, low, high = self.dim(dim), self.dim(lower), self.dim(upper)
        if self.lane is not None and self.lane in self.deps.of(dim):
            low, high = (self._index_lanes(d, t) for d, t in ((lower, low), (upper, high)))
            return f"m_and(ge({at}, {low}), lt({at}, {high}))"
        if lower == const(0):
            return f"(uint64_t)({at}) < (uint64_t)({high})" if upper.constant else f"(({at}) >= 0 && ({at}) < {high})"
        return f"(({at}) >= {low} && ({at}) < {high})"

    def _index_lanes(self, dim: Dim, text: str) -> str:
        return text if self.lane is not None and self.lane in self.deps.of(dim) else self.spell.splat(text, DType.I64)

    def _fold(self, fold: Fold, position: int) -> str:
        """A loop inside one element: carries are variables, updated together."""
        names = [_clean(c.name) for c in fold.carries]
        lines = [
            f"{self.spell.value_type(c.dtype)} {name} = {self.value(init)};"
            for c, name, init in zip(fold.carries, names, fold.init, strict=True)
        ]
        symbols = [s.name for s, _ in fold.axes]
        extents = [self.dim(extent) for _, extent in fold.axes]
        heads = [
            f"for (int64_t {_clean(s)} = 0; {_clean(s)} < {e}; ++{_clean(s)}) {{"
            for s, e in zip(symbols, extents, strict=True)
        ]
        with self.inside(*symbols, *(c.name for c in fold.carries)) as scope:
            uses, self.uses = self.uses, Counter[Node]()
            self.count_uses(fold.update)
            texts = [self.value(u) for u in fold.update]
            self.uses = uses
            body = [*scope.lines, *_assign_together(names, texts)]
        for depth, head in enumerate(heads):
            lines.append(INDENT * depth + head)
        lines += [INDENT * len(heads) + line for line in body]
        lines += [INDENT * depth + "}" for depth in range(len(heads) - 1, -1, -1)]
        self._statements(lines)
        for k, (carry, name) in enumerate(zip(fold.carries, names, strict=True)):
            del carry
            if not self.scope.arrayed:
                self.scope.names[FoldResult(fold, k)] = name
        return names[position]

    # -- dims

    def dim(self, dim: Dim) -> str:
        """An index or size: int64_t, or a vector of them where it depends on the lane."""
        if self.lane is None or self.lane not in self.deps.of(dim):
            return self.dim_scalar(dim)
        split = dim.linear(Sym(self.lane))
        if split is None or self.lane in self.deps.of(split[0]) | self.deps.of(split[1]):
            return self._dim_lanes(dim)
        stride, rest = split
        text = f"lanes_i64({_clean(self.lane)})"
        if stride != const(1):
            text = f"{text} * splat_i64({self.dim_scalar(stride)})"
        return text if rest == const(0) else f"({text} + splat_i64({self.dim_scalar(rest)}))"

    def _dim_lanes(self, dim: Dim) -> str:
        """A dim that the lane enters through data or a clamp, computed for all lanes."""
        parts = list[str]()
        for atoms, weight in dim.terms:
            factors = [self._lanes_of(of(a)) for a in atoms]
            if weight != 1 or not factors:
                factors.append(f"splat_i64({weight})")
            parts.append(" * ".join(factors))
        return f"({' + '.join(parts)})"

    def _lanes_of(self, dim: Dim) -> str:
        if self.lane not in self.deps.of(dim):
            return f"splat_i64({self.dim_scalar(dim)})"
        match dim.atom:
            case Data(formula):
                scalar = as_scalar(formula)
                return self.spell.convert_lanes(self.lanes(scalar), scalar.dtype, DType.I64)
            case Min(members):
                return self._nested("min_", [self._lanes_of(m) for m in members])
            case Max(members):
                return self._nested("max_", [self._lanes_of(m) for m in members])
            case _:
                return self.dim(dim)

    def dim_scalar(self, dim: Dim) -> str:
        """The value of a dim at the first lane."""
        lane, self.lane = self.lane, None
        try:
            return self._dim_text(dim)
        finally:
            self.lane = lane

    def _dim_text(self, dim: Dim) -> str:
        inner, parts = len(self.scopes) - 1, list[str]()
        levels = {self.level_of_dim(Dim((term,))) for term in dim.terms}
        if len(levels) > 1:
            for level in sorted(levels):
                part = Dim(tuple(t for t in dim.terms if self.level_of_dim(Dim((t,))) == level))
                parts.append(self._hoisted_dim(part, level) if level < inner else self._sum(part))
            return "(" + " + ".join(parts) + ")"
        if levels and (level := levels.pop()) < inner and not _is_simple(dim):
            return self._hoisted_dim(dim, level)
        return self._sum(dim)

    def level_of_dim(self, dim: Dim) -> int:
        """The outermost scope in which a dim can be computed."""
        found = max((self._home(name) for name in self.deps.of(dim)), default=0)
        return max(found, self.floor) if dim.data() else found

    def _hoisted_dim(self, dim: Dim, level: int) -> str:
        if _is_simple(dim):
            return self._sum(dim)
        scope = self.scopes[level]
        if (known := scope.names.get(dim)) is None:
            inner = self.scopes[level + 1 :]
            del self.scopes[level + 1 :]
            text = self._sum(dim)
            known = self.fresh("n")
            if scope.arrayed:
                scope.lines.append(f"int64_t {known}[R];")
                scope.pending.append(f"{known}[k] = {text};")
            else:
                scope.lines.append(f"const int64_t {known} = {text};")
            scope.names[dim] = known
            self.scopes.extend(inner)
        return known + ("[k]" if scope.arrayed else "")

    def _sum(self, dim: Dim) -> str:
        if dim.constant is not None:
            return str(dim.constant)
        parts = list[str]()
        for atoms, weight in dim.terms:
            factors = [self._atom(a) for a in atoms]
            if weight == -1 and factors:
                parts.append("-" + " * ".join(factors))
            else:
                parts.append(" * ".join([*factors, str(weight)] if weight != 1 or not factors else factors))
        text = " + ".join(parts).replace("+ -", "- ")
        return text if len(parts) == 1 and len(dim.terms[0][0]) <= 1 and dim.terms[0][1] == 1 else f"({text})"

    def _atom(self, atom: Atom) -> str:
        go = self._dim_text
        match atom:
            case Sym(name):
                return self._symbol(name)
            case FloorDiv(numerator, denominator):
                return f"floordiv({go(numerator)}, {go(denominator)})"
            case Mod(numerator, denominator):
                return f"mod({go(numerator)}, {go(denominator)})"
            case Min(members):
                return self._nested("min_", [f"(int64_t){go(m)}" for m in members])
            case Max(members):
                return self._nested("max_", [f"(int64_t){go(m)}" for m in members])
            case Data(formula):
                scalar = as_scalar(formula)
                return self.spell.convert(self.value(scalar), scalar.dtype, DType.I64)
            case _:
                assert_never(atom)

    def _nested(self, fn: str, members: list[str]) -> str:
        text = members[0]
        for member in members[1:]:
            text = f"{fn}({text}, {member})"
        return text

    def _symbol(self, name: str) -> str:
        if name.startswith("%"):
            return self.arg(name)
        self.sizes[name] = None
        return size_name(name)


def Dim_of_lane(lane: str) -> Dim:  # noqa: N802
    return Dim((((Sym(lane),), 1),))


def is_guard(condition: Scalar) -> bool:
    """Whether a condition guards loads: it asks whether an index is in range."""
    match condition:
        case InRange():
            return True
        case Binary(BinaryFn.AND, a, b, DType.I1):
            return is_guard(a) or is_guard(b)
        case _:
            return False


def size_name(name: str) -> str:
    """The C name of a program symbol."""
    return "n_" + "".join(c if c.isalnum() else "_" for c in name)


def _clean(name: str) -> str:
    return name.removeprefix("%")


def _is_simple(dim: Dim) -> bool:
    return dim.constant is not None or isinstance(dim.atom, Sym)


def _assign_together(names: list[str], texts: list[str]) -> list[str]:
    if len(names) == 1:
        return [f"{names[0]} = {texts[0]};"]
    fresh = [f"const auto next_{name} = {text};" for name, text in zip(names, texts, strict=True)]
    return [*fresh, *(f"{name} = next_{name};" for name in names)]
