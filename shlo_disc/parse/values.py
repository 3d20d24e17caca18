"""Read the values of a function: their names, their uses, the types that an op states for them."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.diagnostics import Note, ParseError, Source
from shlo_disc.ir.attributes import FunctionType, Location, Type
from shlo_disc.ir.core import Value
from shlo_disc.ir.spelling import spell_type
from shlo_disc.parse.draft import OpDraft, ResultNames
from shlo_disc.parse.locations import LocationReader


class ValueReader(LocationReader):
    """Tracks the visible values."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._values: dict[str, Value] = {}
        self._defined: list[str] = []

    def operands(self, draft: OpDraft) -> None:
        """Read `%a, %b, …`, or nothing."""
        tokens, at, values = self.tokens, self.at, self._values
        token = tokens[at]
        if token[:1] != "%":
            return
        while True:
            draft.operands.append(values.get(token) or self._only_result(token, at))
            draft.operands_at.append(at)
            at += 1
            if tokens[at] != "," or tokens[at + 1][:1] != "%":
                break
            at += 1
            token = tokens[at]
        self.at = at

    def operand(self, draft: OpDraft) -> None:
        """Read exactly one `%a`."""
        token = self.tokens[self.at]
        draft.operands.append(self._values.get(token) or self._only_result(token, self.at))
        draft.operands_at.append(self.at)
        self.at += 1

    def _only_result(self, token: str, at: int) -> Value:
        """Take `%0#0` for `%0`, the only result of an op."""
        value = self._values.get(token.removesuffix("#0")) if token[:1] == "%" else None
        if value is None:
            raise self.unexpected("a value that is defined above", at)
        return value

    def check_types(self, draft: OpDraft, types: Sequence[Type], types_at: int) -> None:
        """Check the operand types that an op states against those of its operands."""
        operands = draft.operands
        if len(types) != len(operands):
            raise ParseError(
                f"expected the types of {len(operands)} operands, found {len(types)}",
                self.span(types_at),
            )
        for i, (operand, stated) in enumerate(zip(operands, types, strict=True)):
            if operand.type is not stated and operand.type != stated:
                raise ParseError(
                    f"expected operand {i} of the type that is stated, {spell_type(stated)}, "
                    f"found '%{operand.name}' of type {spell_type(operand.type)}",
                    self.span(draft.operands_at[i]),
                    notes=(Note(f"'%{operand.name}' is defined here", operand.span),),
                )

    def functional(self, draft: OpDraft) -> None:
        """Read the operand and result types in the form `(T, …) -> T`."""
        at = self.at
        type_: FunctionType = self.function_type()
        self.check_types(draft, type_.inputs, at)
        draft.results = type_.results

    # --- names

    def enter(self) -> list[str]:
        """Begin a region: values defined from here on are not visible after it."""
        outer, self._defined = self._defined, []
        return outer

    def leave(self, outer: list[str]) -> None:
        """End the region that began when `enter` gave `outer`."""
        for key in self._defined:
            del self._values[key]
        self._defined = outer

    def define(self, key: str, value: Value, at: int) -> None:
        """Make a value visible as `key`, `%a` or `%a#1`."""
        if key in self._values:
            raise ParseError(
                f"expected a new name, found '{key}', which is defined already",
                self.span(at),
                notes=(Note("it is defined here", self._values[key].span),),
            )
        self._values[key] = value
        self._defined.append(key)

    def value_name(self) -> str:
        """Read the `%name` of a value that is being defined."""
        token = self.tokens[self.at]
        if token[:1] != "%" or "#" in token or len(token) < 2:
            raise self.unexpected("the name of a value, such as '%0'")
        self.at += 1
        return token

    def result_names(self) -> ResultNames:
        """Read `%a:2, %b =`: names, number of values each, and where."""
        names: ResultNames = []
        while True:
            at = self.at
            name = self.value_name()
            count = self.integer() if self.accept(":") else 1
            if count < 1:
                raise self.unexpected("a positive number of results", self.at - 1)
            names.append((name, count, at))
            if not self.accept(","):
                break
        self.expect("=")
        return names

    def results(self, names: ResultNames, draft: OpDraft, location: Location | None) -> tuple[Value, ...]:
        """Make the results of an op, with the names before it."""
        types = draft.results
        if not names:
            span = self.span(draft.at)
            return tuple([Value("", type_, span, location) for type_ in types])
        if len(names) == 1 and names[0][1] == 1 and len(types) == 1:
            name, _, at = names[0]
            value = Value(name[1:], types[0], self.span(at), location)
            self.define(name, value, at)
            return (value,)
        if sum(count for _, count, _ in names) != len(types):
            named = sum(count for _, count, _ in names)
            raise ParseError(
                f"expected names for the {len(types)} results of '{draft.name}', found {named}",
                self.span(names[0][2]),
            )
        return self._result_groups(names, types, location)

    def _result_groups(self, names: ResultNames, types: Sequence[Type], location: Location | None) -> tuple[Value, ...]:
        results: list[Value] = []
        for name, count, at in names:
            span = self.span(at)
            for k in range(count):
                suffix = f"#{k}" if count > 1 else ""
                value = Value(name[1:] + suffix, types[len(results)], span, location)
                self.define(name + suffix, value, at)
                if k == 0 and suffix:
                    self.define(name, value, at)
                results.append(value)
        return tuple(results)
