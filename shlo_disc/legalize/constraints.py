"""The caller's constraints on sizes, in the language of JAX's symbolic constraints or in Python's: `b % 8 == 0`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from shlo_disc.analysis.assumptions import Assumption
from shlo_disc.diagnostics import ParseError, ShloDiscError, Source, Span
from shlo_disc.dynamic_ops.program import Program, Relation
from shlo_disc.expr.dim import ZERO, Dim, Sym, const, maximum, minimum, of, product
from shlo_disc.records import record


@record
class Constraint:
    """One constraint: what it assumes, and its text."""

    assumption: Assumption
    text: str


def read_constraints(texts: Sequence[str], sizes: Mapping[str, Dim]) -> tuple[Constraint, ...]:
    """Parse constraints over named sizes.

    `expression relation expression`: the relation is one of == >= <= > <, an expression has integers, names, + - * // %
    with Python's precedence, `^` or `**` with a constant, parentheses, and `floordiv(a, b)`, `mod(a, b)`, `max(a, …)`,
    `min(a, …)`, `non_negative(a)`. An equality may define one new name by a multiple of it, which later constraints may
    use: `b == 8*k` says that 8 divides `b`, and `k` is `b // 8`.

    >>> from shlo_disc.expr.dim import symbol
    >>> (one,) = read_constraints(["s <= 2*t"], {"s": symbol("s"), "t": symbol("t")})
    >>> one.assumption.lhs, one.assumption.relation.value, one.assumption.rhs
    (s, '<=', 2*t)
    """
    known = dict(sizes)
    return tuple(
        [_ConstraintParser(text, f"constraints[{number}]", known).constraint() for number, text in enumerate(texts)]
    )


def read_size(text: str, sizes: Mapping[str, Dim]) -> Dim:
    """Parse an expression over named sizes, in the language of `read_constraints`.

    >>> from shlo_disc.expr.dim import symbol
    >>> read_size("floordiv(s + 1, 2)", {"s": symbol("s")})
    (s + 1) // 2
    """
    return _ConstraintParser(text, "size", dict(sizes)).size()


def check_likely(program: Program, likely: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Refuse hints about sizes that the program does not have, and values that can never occur."""
    for name, values in likely:
        if name not in program.sizes:
            raise ShloDiscError(
                f"found a likely value of '{name}', expected a size of the program: {_list(program.sizes)}"
            )
        for value in values:
            if program.facts.equal(program.sizes[name], value).is_false:
                known = "".join(f"\n  {fact}" for fact in program.facts.about(program.sizes[name]))
                raise ShloDiscError(
                    f"found the likely value {name} = {value}, which no call can have; known are{known}"
                )


def _list(names: Mapping[str, Dim]) -> str:
    return ", ".join(names) or "it has none, all its shapes are fixed"


_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<name>[^\W\d]\w*)|(?P<sign>==|>=|<=|\*\*|//|[-+*%^(),<>])|(?P<other>\S))"
)
_RELATIONS: Mapping[str, Relation] = {one.value: one for one in Relation if one is not Relation.NE}
_END = "the end"
_MOST_DIGITS, _LARGEST_EXPONENT, _MOST_NESTED = 18, 64, 80


@record
class _Token:
    kind: str
    text: str
    span: Span


class _ConstraintParser:
    """Recursive descent over one constraint. A name that the constraint defines is added to `sizes`."""

    def __init__(self, text: str, name: str, sizes: dict[str, Dim]) -> None:
        source = Source(name, text)
        self._text, self._sizes = text.strip(), sizes
        self._tokens = [
            _Token(
                match.lastgroup or "other", match[match.lastgroup or 0], Span(source, *match.span(match.lastgroup or 0))
            )
            for match in _TOKEN.finditer(text)
        ]
        self._tokens.append(_Token("end", _END, Span(source, len(text.rstrip()), len(text.rstrip()) + 1)))
        self._whole = Span(source, 0, len(text))
        self._at = 0
        self._depth = 0  # of parentheses, calls and signs
        self._new = dict[str, _Token]()  # names that are no sizes, where they stand first

    def constraint(self) -> Constraint:
        lhs = self._sum()
        sign = self._next()
        if sign.text not in _RELATIONS:
            raise self._unexpected(sign, "one of == >= <= > <")
        rhs = self._sum()
        self._expect_end()
        if self._new:
            lhs, rhs = self._divisible(_RELATIONS[sign.text], lhs - rhs), ZERO
        reason = f"the constraint '{self._text}'"
        return Constraint(Assumption(_RELATIONS[sign.text], lhs, rhs, reason, self._whole), self._text)

    def size(self) -> Dim:
        found = self._sum()
        self._expect_end()
        for name, token in self._new.items():
            raise self._unknown(name, token)
        return found

    def _unknown(self, name: str, token: _Token) -> ParseError:
        wanted = f"a size of the program ({_list(self._sizes)})"
        return ParseError(f"expected {wanted}, found the unknown name '{name}'", token.span)

    def _expect_end(self) -> None:
        if (rest := self._next()).kind != "end":
            raise self._unexpected(rest, f"an operator or {_END}")

    def _divisible(self, relation: Relation, difference: Dim) -> Dim:
        """The remainder that is 0 if some integer, of a new name, makes `difference` 0; defines the name."""
        (name, token), *others = self._new.items()
        split = difference.linear(_unknown(name))
        weight = None if split is None else split[0].constant
        if relation is not Relation.EQ or others or split is None or weight is None or abs(weight) < 2:
            raise self._unknown(name, token)
        multiple = split[1] if weight < 0 else -split[1]  # abs(weight) times what has the name
        self._sizes[name] = multiple // abs(weight)
        return multiple % abs(weight)

    def _next(self) -> _Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _takes(self, *texts: str) -> str | None:
        """Consume one of these signs if it is the next token."""
        token = self._tokens[self._at]
        if token.kind != "sign" or token.text not in texts:
            return None
        self._at += 1
        return token.text

    def _expect(self, text: str) -> None:
        if self._takes(text) is None:
            raise self._unexpected(self._next(), f"'{text}'")

    def _unexpected(self, token: _Token, wanted: str) -> ParseError:
        found = token.text if token.kind == "end" else f"'{token.text}'"
        return ParseError(f"expected {wanted}, found {found}", token.span)

    def _sum(self) -> Dim:
        found = self._product()
        while sign := self._takes("+", "-"):
            term = self._product()
            found = found + term if sign == "+" else found - term
        return found

    def _product(self) -> Dim:
        found = self._power()
        while sign := self._takes("*", "//", "%"):
            operator = self._tokens[self._at - 1]
            factor = self._power()
            if sign == "*":
                found *= factor
            else:
                _refuse_zero(operator, factor)
                found = found // factor if sign == "//" else found % factor
        return found

    def _power(self) -> Dim:
        base = self._atom()
        if self._takes("^", "**") is None:
            return base
        exponent = self._next()
        if exponent.kind != "number":
            raise self._unexpected(exponent, "a number as the exponent")
        power = self._number(exponent)
        if power > _LARGEST_EXPONENT:
            raise ParseError(f"expected an exponent of at most {_LARGEST_EXPONENT}, found {power}", exponent.span)
        return product([base] * power)

    @staticmethod
    def _number(token: _Token) -> int:
        if len(token.text) > _MOST_DIGITS:
            raise ParseError(
                f"expected a number of at most {_MOST_DIGITS} digits, found one of {len(token.text)}", token.span
            )
        return int(token.text)

    def _atom(self) -> Dim:
        token = self._next()
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise ParseError(f"expected at most {_MOST_NESTED} nested parentheses and signs, found more", token.span)
        found = self._value(token)
        self._depth -= 1
        return found

    def _value(self, token: _Token) -> Dim:
        match token.kind, token.text:
            case "number", _:
                return const(self._number(token))
            case "sign", "(":
                found = self._sum()
                self._expect(")")
                return found
            case "sign", "-":
                return -self._power()
            case "name", name if name in _FUNCTIONS and self._takes("("):
                return self._call(token)
            case "name", name if name in self._sizes:
                return self._sizes[name]
            case "name", name:
                self._new.setdefault(name, token)
                return of(_unknown(name))
            case _:
                raise self._unexpected(token, "a number, a name or '('")

    def _call(self, name: _Token) -> Dim:
        arguments = [self._sum()]
        while self._takes(","):
            arguments.append(self._sum())
        self._expect(")")
        count, function = _FUNCTIONS[name.text]
        if count is not None and len(arguments) != count:
            raise ParseError(f"expected {count} arguments of {name.text}, found {len(arguments)}", name.span)
        if name.text in {"floordiv", "mod"}:
            _refuse_zero(name, arguments[1])
        return function(*arguments)


def _unknown(name: str) -> Sym:
    """A symbol that no program has, for a name while its constraint is read."""
    return Sym(f"?{name}")


def _refuse_zero(operator: _Token, divisor: Dim) -> None:
    if divisor.constant == 0:
        raise ParseError(f"expected a divisor that is not 0 in {operator.text}, found 0", operator.span)


def _non_negative(x: Dim) -> Dim:
    return maximum(x, 0)


_FUNCTIONS: Mapping[str, tuple[int | None, Callable[..., Dim]]] = {
    "floordiv": (2, Dim.__floordiv__),
    "mod": (2, Dim.__mod__),
    "max": (None, maximum),
    "min": (None, minimum),
    "non_negative": (1, _non_negative),
}
