"""Sizes and indices as C: scalars hoisted to the outermost block that can compute them, or vectors along the lane."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import assert_never

from shlo_disc.emit.scopes import ScopeStack, clean
from shlo_disc.emit.spelling import integer
from shlo_disc.expr.dim import Atom, Data, Dim, FloorDiv, Max, Min, Mod, Sym, const, of
from shlo_disc.expr.scalar import Scalar, as_scalar
from shlo_disc.ir.dtypes import DType

_PLAIN_NAME = re.compile("[A-Za-z0-9_]*[A-Za-z0-9]")  # no final `_`, which CUDA's parameters append to their names


class IndexPrinter(ScopeStack, ABC):
    """Prints dims. Their data atoms hold formulas, which a subclass prints."""

    wide = False  # if set, symbols are read as 64 bits, though indices have 32

    @abstractmethod
    def value(self, node: Scalar, outer: int = 0) -> str:
        """The text of a formula."""

    @abstractmethod
    def lanes(self, node: Scalar, outer: int = 0) -> str:
        """The text of a formula as a vector."""

    def dim(self, dim: Dim) -> str:
        """An index or size: int64_t, or a vector of them where it depends on the lane."""
        if self.lane is None or not self.is_vector(dim):
            return self.dim_scalar(dim)
        split = dim.linear(Sym(self.lane))
        if split is None or any(map(self.is_vector, split)):
            return self.dim_lanes(dim)
        stride, rest = split
        text = f"lanes_i64({clean(self.lane)})"
        if stride != const(1):
            text = f"{text} * splat_i64({self.dim_scalar(stride)})"
        return text if rest == const(0) else f"({text} + splat_i64({self.dim_scalar(rest)}))"

    def number(self, dim: Dim, dtype: DType) -> str:
        """A dim that an integer type holds, as a value: unlike an index, it may be larger than any tensor.

        So it is computed in 64 bits. An expression of loop counters has the width of indices if a signed type of up to
        32 bits holds it, or if it is a sum of counters, which is within a tensor. Products of them are not.
        """
        is_narrow = dtype.is_signed and dtype.bits <= 32
        is_index = self.deps.of(dim) and not _multiplies(dim, self.deps.of) and (is_narrow or _is_sum(dim))
        if self.spell.index == "int64_t" or is_index:
            return self.dim(dim)
        self.wide = True
        try:
            return self._sum(dim)
        finally:
            self.wide = False

    def dim_lanes(self, dim: Dim) -> str:
        """A dim that depends on the lane through data or a clamp, computed for all lanes."""
        parts = list[str]()
        for atoms, weight in dim.terms:
            factors = [self._lanes_of(of(a)) for a in atoms]
            if weight != 1 or not factors:
                factors.append(f"splat_i64({integer(weight)})")
            parts.append(" * ".join(factors))
        return f"({' + '.join(parts)})"

    def _lanes_of(self, dim: Dim) -> str:
        if not self.is_vector(dim):
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
        if self.wide or not inner:  # there is nowhere to hoist to
            return self._sum(dim)
        levels = {self.level_of_dim(Dim((term,))) for term in dim.terms}
        if len(levels) > 1:
            for level in sorted(levels):
                part = Dim(tuple(t for t in dim.terms if self.level_of_dim(Dim((t,))) == level))
                text = self._hoisted_dim(part, level) if level < inner else self._sum(part)
                is_product = len(part.terms) == 1 and text.startswith("(")
                parts.append(text[1:-1] if is_product else text)
            return "(" + " + ".join(parts).replace("+ -", "- ") + ")"
        if levels and (level := levels.pop()) < inner and not _is_simple(dim):
            return self._hoisted_dim(dim, level)
        return self._sum(dim)

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
                scope.lines.append(f"{self._kind(dim)} {known}[R];")
                scope.pending.append(f"{known}[k] = {text};")
            else:
                scope.lines.append(f"const {self._kind(dim)} {known} = {text};")
            scope.names[dim] = known
            self.scopes.extend(inner)
        return known + ("[k]" if scope.arrayed else "")

    def _sum(self, dim: Dim) -> str:
        if dim.constant is not None:
            return integer(dim.constant)
        parts = list[str]()
        for atoms, weight in dim.terms:
            factors = [self._atom(a) for a in atoms]
            if weight == -1 and factors:
                parts.append("-" + " * ".join(factors))
            else:
                parts.append(" * ".join([*factors, integer(weight)] if weight != 1 or not factors else factors))
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
                return self._nested("min_", [*map(go, members)])
            case Max(members):
                return self._nested("max_", [*map(go, members)])
            case Data(formula):
                scalar = as_scalar(formula)
                return self.spell.convert(self.value(scalar), scalar.dtype, DType.I64)
            case _:
                assert_never(atom)

    def _kind(self, dim: Dim) -> str:
        """The C type of a dim: numbers read from tensors may be arbitrary, until they are clamped."""
        return "int64_t" if self.wide or dim.data() else self.spell.index

    def _nested(self, fn: str, members: list[str]) -> str:
        text = members[0]
        for member in members[1:]:
            text = f"{fn}({text}, {member})"
        return text

    def _symbol(self, name: str) -> str:
        if name.startswith("%"):
            text = self.arg(name)
        else:
            self.sizes[name] = None
            text = size_name(name)
        return f"(int64_t){text}" if self.wide else text

    def index_lanes(self, dim: Dim, text: str) -> str:
        return text if self.is_vector(dim) else self.spell.splat(text, DType.I64)


def size_name(name: str) -> str:
    """The C name of a program symbol. Different symbols have different names, whatever users call them.

    >>> size_name("batch_size"), size_name("\N{GREEK SMALL LETTER BETA}"), size_name("s_")
    ('n_batch_size', 'u_3b2', 'u_73_5f')
    """
    if _PLAIN_NAME.fullmatch(name):
        return f"n_{name}"
    return "u_" + "_".join(f"{ord(c):x}" for c in name)


def _multiplies(dim: Dim, deps: Callable[[Dim], Collection[str]]) -> bool:
    """Whether a term has two or more factors that vary."""
    return any(sum(bool(deps(of(atom))) for atom in atoms) > 1 for atoms, _ in dim.terms)


def _is_sum(dim: Dim) -> bool:
    """Whether a dim is a sum of atoms, each taken once, and nothing else."""
    return all(len(atoms) == 1 and weight == 1 for atoms, weight in dim.terms)


def _is_simple(dim: Dim) -> bool:
    return dim.constant is not None or isinstance(dim.atom, Sym)
