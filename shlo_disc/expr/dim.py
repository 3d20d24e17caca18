"""Dims: integer formulas over sizes and indices, in a canonical form.

A dim is a sum of integer-weighted products of atoms, so equal sums compare equal. Rules that need knowledge about sizes
(`min(a, b)` where a <= b) are in `facts`; the rules here hold for all integers, with one exception: a division by a
symbolic dim is simplified as if the divisor were not zero. A divisor is always an extent, and where an extent is zero
there is no element whose index or count could be needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from math import gcd
from typing import TypeAlias, assert_never

from shlo_disc import size_expr
from shlo_disc.expr import polynomial
from shlo_disc.expr.node import Node, spelled
from shlo_disc.records import record
from shlo_disc.size_expr import SizeExpr, SizeOp


@record(eq=False)
class _Ordered(Node):
    """An atom; `order` is a sort key that is the same in every run (hashes are not) and short despite sharing."""

    order: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        Node.__post_init__(self)
        object.__setattr__(self, "order", self._order())

    def _order(self) -> str:
        return "~" + spelled(self)

    def __repr__(self) -> str:
        return str(self)


@record(eq=False, repr=False)
class Sym(_Ordered):
    """A symbol: a size, or the index variable of a loop. Equal by name."""

    name: str

    def parts(self) -> tuple[object, ...]:
        return (self.name,)

    def _order(self) -> str:
        return _symbol_order(self.name)

    def __str__(self) -> str:
        return self.name


@lru_cache(maxsize=4096)
def _symbol_order(name: str) -> str:
    return re.sub(r"\d+", lambda number: number[0].zfill(6), name)  # s2 before s10


@record(eq=False, repr=False)
class FloorDiv(_Ordered):
    """The quotient rounded down. Build it with `//`, which simplifies."""

    numerator: Dim
    denominator: Dim

    def parts(self) -> tuple[object, ...]:
        return (self.numerator, self.denominator)

    def __str__(self) -> str:
        return f"{_operand(self.numerator)} // {_operand(self.denominator)}"


@record(eq=False, repr=False)
class Mod(_Ordered):
    """The remainder of the quotient rounded down. Build it with `%`, which simplifies."""

    numerator: Dim
    denominator: Dim

    def parts(self) -> tuple[object, ...]:
        return (self.numerator, self.denominator)

    def __str__(self) -> str:
        return f"{_operand(self.numerator)} % {_operand(self.denominator)}"


@record(eq=False, repr=False)
class Min(_Ordered):
    """The least of two or more dims. Build it with `minimum`, which simplifies."""

    members: tuple[Dim, ...]

    def parts(self) -> tuple[object, ...]:
        return self.members

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.members))})"


@record(eq=False, repr=False)
class Max(_Ordered):
    """The greatest of two or more dims. Build it with `maximum`, which simplifies."""

    members: tuple[Dim, ...]

    def parts(self) -> tuple[object, ...]:
        return self.members

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.members))})"


@record(eq=False, repr=False)
class Data(_Ordered):
    """An integer that is read from a tensor: a scalar of `expr.scalar` of an integer type."""

    formula: Node

    def parts(self) -> tuple[object, ...]:
        return (self.formula,)

    def __str__(self) -> str:
        return f"data({spelled(self.formula)})"


Atom: TypeAlias = Sym | FloorDiv | Mod | Min | Max | Data
Product: TypeAlias = tuple[Atom, ...]
Terms: TypeAlias = tuple[tuple[Product, int], ...]


@record(eq=False, repr=False)
class Dim(Node):
    """A sum of integer-weighted products of atoms.

    `terms`: (product, weight), sorted; a power is a repeated factor, the constant is the term of
    the empty product and comes last. Build dims with `const`, `symbol` and operators.

    >>> b, s = symbol("b"), symbol("s")
    >>> (2 * s + 4) * b // 2
    b*s + 2*b
    >>> ((b * s + b) // (s + 1), (7 * s + 9) // 4, (7 * s + 9) % 4)
    (b, s + (3*s + 1) // 4 + 2, (3*s + 1) % 4)
    """

    _leaves: tuple[frozenset[Sym], tuple[Data, ...]] | None = field(init=False, default=None)
    _inner: frozenset[Atom] = field(init=False)  # set by the first use
    terms: Terms = ()

    def __init__(self, terms: Terms = ()) -> None:
        _set_hash(self, hash(terms))
        _set_leaves(self, None)
        _set_terms(self, terms)

    def parts(self) -> tuple[object, ...]:
        return self.terms

    @property
    def constant(self) -> int | None:
        """The value of a dim without atoms, else None."""
        terms = self.terms
        if not terms:
            return 0
        return None if terms[0][0] else terms[0][1]

    @property
    def atom(self) -> Atom | None:
        """The atom that this dim is, else None."""
        terms = self.terms
        if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            return terms[0][0][0]
        return None

    def __add__(self, other: DimLike) -> Dim:
        other = as_dim(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        return Dim(polynomial.add(self.terms, other.terms))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return Dim(polynomial.scale(self.terms, -1))

    def __sub__(self, other: DimLike) -> Dim:
        return self + -other

    def __rsub__(self, other: int) -> Dim:
        return const(other) + -self

    def __mul__(self, other: DimLike) -> Dim:
        other = as_dim(other)
        if (weight := other.constant) is None:
            weight, self, other = self.constant, other, self  # noqa: PLW0642
        if weight is None:
            return Dim(polynomial.multiply(self.terms, other.terms))
        if weight == 1:
            return self
        return Dim(polynomial.scale(self.terms, weight)) if weight else ZERO

    __rmul__ = __mul__

    def __floordiv__(self, other: DimLike) -> Dim:
        return _floordiv(self, as_dim(other))

    def __rfloordiv__(self, other: int) -> Dim:
        return _floordiv(const(other), self)

    def __mod__(self, other: DimLike) -> Dim:
        return _mod(self, as_dim(other))

    def __rmod__(self, other: int) -> Dim:
        return _mod(const(other), self)

    def atoms(self) -> Iterable[Atom]:
        """Every atom, also inside atoms, each once, inner ones first."""
        met = set[Atom]()

        def visit(dim: Dim) -> Iterator[Atom]:
            for factors, _ in dim.terms:
                for atom in factors:
                    if atom not in met:
                        met.add(atom)
                        for child in children(atom):
                            yield from visit(child)
                        yield atom

        return visit(self)

    def inner(self) -> frozenset[Atom]:
        """Every atom, also inside atoms, as a cached set."""
        found: frozenset[Atom] | None = getattr(self, "_inner", None)
        if found is None:
            own = frozenset(atom for factors, _ in self.terms for atom in factors)
            found = own.union(*(child.inner() for atom in own for child in children(atom)))
            object.__setattr__(self, "_inner", found)
        return found

    def symbols(self) -> frozenset[Sym]:
        """All symbols, also inside atoms, but not inside the formulas of `Data`."""
        return (self._leaves or self._find_leaves())[0]

    def data(self) -> tuple[Data, ...]:
        """All integers read from tensors, also inside atoms, each once."""
        return (self._leaves or self._find_leaves())[1]

    def _find_leaves(self) -> tuple[frozenset[Sym], tuple[Data, ...]]:
        """Find symbols and data; each dim caches its own, so shared dims are visited once."""
        symbols, data = set[Sym](), dict[Data, None]()
        for factors, _ in self.terms:
            for atom in factors:
                match atom:
                    case Sym():
                        symbols.add(atom)
                    case Data():
                        data[atom] = None
                    case _:
                        for child in children(atom):
                            symbols |= child.symbols()
                            data |= dict.fromkeys(child.data())
        found = frozenset(symbols), tuple(data)
        _set_leaves(self, found)
        return found

    def replace_top(self, change: Callable[[Atom], Dim]) -> Dim:
        """Replace every atom of the sum itself, not those inside atoms, by `change(atom)`."""
        return total(
            product(map(change, factors)) * weight if factors else const(weight) for factors, weight in self.terms
        )

    def map_atoms(self, change: Callable[[Atom], Dim]) -> Dim:
        """Rebuild bottom-up: `change` is applied to each atom after the dims inside it were rebuilt."""

        def visit(atom: Atom) -> Dim:
            return rebuild(atom, lambda child: child.map_atoms(change)).replace_top(change)

        return self.replace_top(visit)

    def substitute(self, replacements: Mapping[Sym, Dim]) -> Dim:
        """Substitute dims for symbols simultaneously, also inside atoms but not inside the formulas of `Data`.

        >>> s = Sym("s")
        >>> (of(s) // 2 + of(s)).substitute({s: 4 * symbol("k") + 1})
        6*k + 1
        """
        if self.symbols().isdisjoint(replacements):
            return self

        def visit(atom: Atom) -> Dim:
            if isinstance(atom, Sym):
                return replacements[atom] if atom in replacements else of(atom)
            return rebuild(atom, lambda child: child.substitute(replacements))

        return self.replace_top(visit)

    def linear(self, sym: Atom) -> tuple[Dim, Dim] | None:
        """Split into (c, rest), both free of `sym`, with `self == c*sym + rest`; else None."""
        coefficient: list[tuple[Product, int]] = []
        rest: list[tuple[Product, int]] = []
        for factors, weight in self.terms:
            if sym in factors:
                left = polynomial.cancel(factors, (sym,))
                assert left is not None, "the factor was just found"
                coefficient.append((left, weight))
            else:
                left = factors
                rest.append((factors, weight))
            if any(_occurs(sym, atom) for atom in left):
                return None
        return Dim(polynomial.from_weights(dict(coefficient))), Dim(tuple(rest))

    def evaluate(self, values: Mapping[Sym, int]) -> int:
        """Compute the value; a quotient or remainder by zero is 0, as in generated code.

        Raise KeyError for a symbol without value and for data.
        """
        return _value(self, values, {})

    def __str__(self) -> str:
        return _sum_text(self, str)

    def __repr__(self) -> str:
        return str(self)

    def size_expr(self) -> SizeExpr:
        """This dim in the form that artifacts store.

        >>> (3 * symbol("s") + symbol("b") // 2).size_expr()
        SizeOp(fn='+', operands=(SizeOp(fn='*', operands=(3, 's')), SizeOp(fn='//', operands=('b', 2))))
        """
        terms = [
            size_expr.product(
                [*([size_expr.number(weight)] if weight != 1 or not factors else []), *map(_atom_expr, factors)]
            )
            for factors, weight in self.terms
        ]
        return size_expr.total(terms)


# Dims are the most frequently made objects, and the slots' own setters take half as long as `object.__setattr__`.
_set_hash = vars(Node)["_hash"].__set__
_set_leaves, _set_terms = (vars(Dim)[slot].__set__ for slot in ("_leaves", "terms"))
DimLike: TypeAlias = Dim | int

ZERO = Dim()
_SMALL = 1024
_CONSTANTS = (ZERO, *(Dim((((), n),)) for n in range(1, _SMALL)))
ONE = _CONSTANTS[1]


def const(n: int) -> Dim:
    """Make the dim of one integer."""
    return _CONSTANTS[n] if 0 <= n < _SMALL else Dim((((), n),))


def as_dim(value: DimLike) -> Dim:
    """Make a dim of an integer; leave a dim as it is."""
    return value if isinstance(value, Dim) else const(value)


@lru_cache(maxsize=4096)
def symbol(name: str) -> Dim:
    """Make the dim of one symbol."""
    return of(Sym(name))


def of(atom: Atom) -> Dim:
    """Make the dim that is one atom."""
    return Dim((((atom,), 1),))


def total(dims: Iterable[Dim]) -> Dim:
    """Add any number of dims.

    >>> total([symbol("a"), const(1), symbol("a")])
    2*a + 1
    """
    several = [dim for dim in dims if dim.terms]
    if len(several) < 3:
        return several[0] + several[1] if len(several) == 2 else several[0] if several else ZERO
    weights = dict[Product, int]()
    for dim in several:
        for factors, weight in dim.terms:
            weights[factors] = weights.get(factors, 0) + weight
    return Dim(polynomial.from_weights(weights))


def product(dims: Iterable[Dim]) -> Dim:
    """Multiply any number of dims; 1 if there are none."""
    result = ONE
    for dim in dims:
        result *= dim
    return result


def minimum(*dims: DimLike) -> Dim:
    """Take the least dim.

    >>> minimum(symbol("a"), 7, symbol("a") + 1, 5)
    min(a, 5)
    """
    members = _extremes(dims, Min, sign=1)
    return members[0] if len(members) == 1 else of(Min(members))


def maximum(*dims: DimLike) -> Dim:
    """Take the greatest dim.

    >>> maximum(symbol("a"), maximum(symbol("b"), 0), symbol("a") + 1)
    max(a + 1, b, 0)
    """
    members = _extremes(dims, Max, sign=-1)
    return members[0] if len(members) == 1 else of(Max(members))


def _extremes(dims: Iterable[DimLike], kind: type[Min | Max], sign: int) -> tuple[Dim, ...]:
    """Flatten the members, and of those that differ by a constant keep the extreme one."""
    offsets: dict[Terms, int] = {}
    for dim in map(as_dim, dims):
        atom = dim.atom
        for member in atom.members if isinstance(atom, Min | Max) and isinstance(atom, kind) else (dim,):
            variable, offset = split_constant(member)
            known = offsets.get(variable.terms, offset)
            offsets[variable.terms] = sign * min(sign * known, sign * offset)
    assert offsets, "the least of no dims"
    members = [Dim(terms) + offset for terms, offset in offsets.items()]
    return tuple(sorted(members, key=lambda dim: (dim.constant is not None, spelled(dim))))


def split_constant(dim: Dim) -> tuple[Dim, int]:
    """Split a dim into its variable part and a constant.

    >>> split_constant(symbol("s") - 3)
    (s, -3)
    """
    if dim.terms and not dim.terms[-1][0]:
        return Dim(dim.terms[:-1]), dim.terms[-1][1]
    return dim, 0


def children(atom: Atom) -> tuple[Dim, ...]:
    """List the dims inside an atom."""
    match atom:
        case Sym() | Data():
            return ()
        case FloorDiv(numerator, denominator) | Mod(numerator, denominator):
            return (numerator, denominator)
        case Min(members) | Max(members):
            return members
        case _:
            assert_never(atom)


def rebuild(atom: Atom, change: Callable[[Dim], Dim]) -> Dim:
    """Rebuild an atom with `change(child)` in place of every dim inside it."""
    before = children(atom)
    after = tuple(map(change, before))
    if all(a is b for a, b in zip(before, after, strict=True)):
        return of(atom)
    match atom:
        case Sym() | Data():
            return of(atom)
        case FloorDiv():
            return after[0] // after[1]
        case Mod():
            return after[0] % after[1]
        case Min():
            return minimum(*after)
        case Max():
            return maximum(*after)
        case _:
            assert_never(atom)


def divide(numerator: Dim, denominator: Dim) -> tuple[Dim, Dim]:
    """Split as `numerator == denominator*quotient + rest`, taking out what divides exactly.

    A constant denominator must be positive. The rest may exceed it: with 4, the term 3*s stays.
    """
    if (k := denominator.constant) is not None:
        taken = [(factors, _towards_zero(weight, k) if factors else weight // k) for factors, weight in numerator.terms]
        quotient = Dim(tuple([term for term in taken if term[1]]))
        return quotient, numerator - quotient * k
    taken, left = polynomial.divide(numerator.terms, denominator.terms)
    return Dim(taken), Dim(left)


def scale_down(dim: Dim, by: int) -> Dim:
    """Divide by a constant that divides every weight."""
    return Dim(tuple([(factors, weight // by) for factors, weight in dim.terms])) if by != 1 else dim


def _towards_zero(weight: int, k: int) -> int:
    return weight // k if weight >= 0 else -(-weight // k)


def _floordiv(numerator: Dim, denominator: Dim) -> Dim:
    k = denominator.constant
    if k == 0 or not numerator.terms:
        return ZERO  # generated code divides by zero without a trap and gives 0
    if denominator.terms[0][1] < 0:
        return _floordiv(-numerator, -denominator)
    quotient, rest = divide(numerator, denominator)
    if not rest.terms:
        return quotient
    return quotient + (_by_dim(rest, denominator) if k is None else _by_constant(rest, k))


def _by_dim(rest: Dim, denominator: Dim) -> Dim:
    common = gcd(polynomial.content(rest.terms), polynomial.content(denominator.terms))
    return of(FloorDiv(scale_down(rest, common), scale_down(denominator, common)))


def _by_constant(rest: Dim, k: int) -> Dim:
    variable, offset = split_constant(rest)
    # (g*x + c) // (g*k) == (x + c//g) // k
    common = gcd(polynomial.content(variable.terms), k)
    if common == k:
        return scale_down(variable, k) + offset // k
    if common > 1:
        return _floordiv(scale_down(variable, common) + offset // common, const(k // common))
    match variable.atom:
        case FloorDiv(x, d):
            return _floordiv(x + d * offset, d * k)  # (x//d + c)//k == (x + c*d)//(d*k)
        case Mod(x, d) if not offset and d.constant is not None and d.constant % k == 0:
            return _mod(_floordiv(x, const(k)), const(d.constant // k))
        case _ if variable.terms[0][1] < 0:
            return -_floordiv(k - 1 - rest, const(k))  # JAX writes n/2 rounded up as -(-n // 2), others as (n + 1) // 2
        case _:
            return of(FloorDiv(rest, const(k)))


def _mod(numerator: Dim, denominator: Dim) -> Dim:
    k = denominator.constant
    if k == 0 or not numerator.terms:
        return ZERO
    if denominator.terms[0][1] < 0:
        return -_mod(-numerator, -denominator)
    _, rest = divide(_without_inner_mod(numerator, denominator), denominator)
    if not rest.terms:
        return ZERO
    if k is not None:
        return _mod_constant(rest, k)
    common = gcd(polynomial.content(rest.terms), polynomial.content(denominator.terms))
    return of(Mod(scale_down(rest, common), scale_down(denominator, common))) * common


def _mod_constant(rest: Dim, k: int) -> Dim:
    variable, offset = split_constant(rest)
    # (g*x + c) % (g*k) == g*((x + c//g) % k) + c % g
    common = gcd(polynomial.content(variable.terms), k)
    if common == k:
        return const(offset % k)
    if common > 1:
        inner = scale_down(variable, common) + offset // common
        return _mod(inner, const(k // common)) * common + offset % common
    if variable.terms[0][1] < 0:
        return k - 1 - _mod(-rest - 1, const(k))
    return of(Mod(rest, const(k)))


def _without_inner_mod(numerator: Dim, denominator: Dim) -> Dim:
    """Use that (w*(x % m) + y) % d == (w*x + y) % d where d divides w*m."""
    if not any(isinstance(atom, Mod) for factors, _ in numerator.terms for atom in factors):
        return numerator
    result = numerator
    for factors, weight in numerator.terms:
        for atom in factors:
            if isinstance(atom, Mod):
                others = polynomial.cancel(factors, (atom,))
                assert others is not None, "the factor was just found"
                outer = Dim(((others, weight),))
                if not divide(outer * atom.denominator, denominator)[1].terms:
                    return _without_inner_mod(result + outer * (atom.numerator - of(atom)), denominator)
    return result


def _occurs(needle: Atom, atom: Atom) -> bool:
    if isinstance(needle, Sym):
        return needle == atom or any(needle in child.symbols() for child in children(atom))
    return needle == atom or any(needle in child.inner() for child in children(atom))


def _value(dim: Dim, values: Mapping[Sym, int], known: dict[Atom, int]) -> int:
    """The value of a dim; `known` caches the values of composite atoms, which dims share."""
    result = 0
    for factors, weight in dim.terms:
        for atom in factors:
            if isinstance(atom, Sym):
                weight *= values[atom]  # noqa: PLW2901
                continue
            if (value := known.get(atom)) is None:
                value = known[atom] = _evaluate(atom, values, known)
            weight *= value  # noqa: PLW2901
        result += weight
    return result


def _evaluate(atom: FloorDiv | Mod | Min | Max | Data, values: Mapping[Sym, int], known: dict[Atom, int]) -> int:
    match atom:
        case FloorDiv(numerator, denominator):
            divisor = _value(denominator, values, known)
            return _value(numerator, values, known) // divisor if divisor else 0
        case Mod(numerator, denominator):
            divisor = _value(denominator, values, known)
            return _value(numerator, values, known) % divisor if divisor else 0
        case Min(members):
            return min(_value(member, values, known) for member in members)
        case Max(members):
            return max(_value(member, values, known) for member in members)
        case Data():
            raise KeyError(str(atom))
        case _:
            assert_never(atom)


def _sum_text(dim: Dim, text: Callable[[Atom], str]) -> str:
    if not dim.terms:
        return "0"
    pieces: list[str] = []
    for factors, weight in dim.terms:
        many = len(factors) > 1 or abs(weight) != 1 or (weight < 0 and not pieces)
        shown = [f"({text(atom)})" if many and text is str and _is_infix(atom) else text(atom) for atom in factors]
        if abs(weight) != 1 or not factors:
            shown.insert(0, str(abs(weight)))
        sign = "-" if weight < 0 else "+"
        pieces.append(f" {sign} {'*'.join(shown)}")
    return ("-" if pieces[0][1] == "-" else "") + pieces[0][3:] + "".join(pieces[1:])


def _is_infix(atom: Atom) -> bool:
    return isinstance(atom, FloorDiv | Mod)


def _operand(dim: Dim) -> str:
    text = str(dim)
    return text if " " not in text and "*" not in text else f"({text})"


def _atom_expr(atom: Atom) -> SizeExpr:
    match atom:
        case Sym():
            return atom.name
        case FloorDiv():
            return SizeOp("//", _exprs(children(atom)))
        case Mod():
            return SizeOp("%", _exprs(children(atom)))
        case Min(members):
            return SizeOp("min", _exprs(members))
        case Max(members):
            return SizeOp("max", _exprs(members))
        case Data():
            raise AssertionError(f"{atom} must be bound to a symbol before code is printed")
        case _:
            assert_never(atom)


def _exprs(dims: Iterable[Dim]) -> tuple[SizeExpr, ...]:
    return tuple([dim.size_expr() for dim in dims])
