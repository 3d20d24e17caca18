"""Read ops, regions and blocks. What stands after an op's name is up to the op's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shlo_disc.diagnostics import Note, ParseError, Source, UnsupportedOpError, VerifyError
from shlo_disc.ir.attributes import Attribute, FunctionType, Location, Type
from shlo_disc.ir.core import Block, Op, Region, Value
from shlo_disc.ir.verify import TERMINATORS
from shlo_disc.parse.draft import Count, Draft, Named
from shlo_disc.parse.locations import LocationReader
from shlo_disc.parse.spelling import spell_type

SHORT_NAMES: Mapping[str, str] = {"call": "func.call", "return": "func.return"}


@dataclass(frozen=True, slots=True)
class OpForm:
    """What the parser knows of an op; without `parse` the op is read in generic form only."""

    operands: Count
    results: Count
    regions: Count
    attributes: Mapping[str, type[Attribute]]
    parse: Callable[[BodyReader, Draft], None] | None


class BodyReader(LocationReader):
    """Reads the ops of a function."""

    def __init__(self, source: Source, forms: Mapping[str, OpForm]) -> None:
        super().__init__(source)
        self._forms = forms
        self._values: dict[str, Value] = {}
        self._defined: list[str] = []

    # --- values

    def operands(self, draft: Draft) -> None:
        """Read `%a, %b, …`, or nothing."""
        tokens, at, values = self.tokens, self.at, self._values
        token = tokens[at]
        if token[:1] != "%":
            return
        while True:
            value = values.get(token)
            if value is None:
                raise self.unexpected("a value that is defined above", at)
            draft.operands.append(value)
            draft.operands_at.append(at)
            at += 1
            if tokens[at] != "," or tokens[at + 1][:1] != "%":
                break
            at += 1
            token = tokens[at]
        self.at = at

    def operand(self, draft: Draft) -> None:
        """Read exactly one `%a`."""
        value = self._values.get(self.tokens[self.at])
        if value is None:
            raise self.unexpected("a value that is defined above")
        draft.operands.append(value)
        draft.operands_at.append(self.at)
        self.at += 1

    def check_types(self, draft: Draft, types: Sequence[Type], types_at: int) -> None:
        """Hold the operand types that an op states against those of its operands."""
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

    def _define(self, key: str, value: Value, at: int) -> None:
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

    def _result_names(self) -> list[tuple[str, int, int]]:
        """Read `%a:2, %b =`: names, number of values each, and where."""
        names: list[tuple[str, int, int]] = []
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

    def _results(self, names: list[tuple[str, int, int]], draft: Draft, location: Location | None) -> tuple[Value, ...]:
        types = draft.results
        if not names:
            span = self.span(draft.at)
            return tuple([Value("", type_, span, location) for type_ in types])
        if len(names) == 1 and names[0][1] == 1 and len(types) == 1:
            name, _, at = names[0]
            value = Value(name[1:], types[0], self.span(at), location)
            self._define(name, value, at)
            return (value,)
        if sum(count for _, count, _ in names) != len(types):
            named = sum(count for _, count, _ in names)
            raise ParseError(
                f"expected names for the {len(types)} results of '{draft.name}', found {named}",
                self.span(names[0][2]),
            )
        return self._result_groups(names, types, location)

    def _result_groups(
        self, names: list[tuple[str, int, int]], types: Sequence[Type], location: Location | None
    ) -> tuple[Value, ...]:
        results: list[Value] = []
        for name, count, at in names:
            span = self.span(at)
            for k in range(count):
                suffix = f"#{k}" if count > 1 else ""
                value = Value(name[1:] + suffix, types[len(results)], span, location)
                self._define(name + suffix, value, at)
                if k == 0 and suffix:
                    self._define(name, value, at)
                results.append(value)
        return tuple(results)

    # --- ops

    def op(self) -> Op:
        """Read one op, with its results in front and its location behind."""
        names = self._result_names() if self.tokens[self.at][:1] == "%" else []
        draft = self._generic_op() if self.tokens[self.at][:1] == '"' else self._pretty_op()
        location = self.location()
        if draft.applies:
            draft.regions.append(self._applied_region(draft, names, location))
        self._check_form(draft)
        results = self._results(names, draft, location)
        return Op(
            draft.name,
            tuple(draft.operands),
            draft.attributes,
            results,
            tuple(draft.regions),
            self.span(draft.at),
            location,
        )

    def _pretty_op(self) -> Draft:
        at = self.at
        word = self.word("an op")
        name = SHORT_NAMES.get(word, word)
        form = self._forms.get(name)
        if form is None:
            raise UnsupportedOpError(f"op '{word}' is not supported", self.span(at))
        if form.parse is None:
            raise UnsupportedOpError(
                f"op '{word}' is supported in its generic form only",
                self.span(at),
                hint=f'write "{word}"(…) : …',
            )
        draft = Draft(name, at)
        form.parse(self, draft)
        return draft

    def _generic_op(self) -> Draft:
        at = self.at
        name = self.string()
        if name not in self._forms:
            raise UnsupportedOpError(f"op '{name}' is not supported", self.span(at))
        draft = Draft(name, at)
        self.expect("(")
        self.operands(draft)
        self.expect(")")
        if self.accept("<"):
            draft.attributes.update(self.dictionary())
            self.expect(">")
        if self.tokens[self.at] == "(":
            draft.regions.extend(self.enclosed("(", ")", self.region))
        if self.tokens[self.at] == "{":
            draft.attributes.update(self.dictionary())
        self.expect(":")
        self.functional(draft)
        return draft

    def functional(self, draft: Draft) -> None:
        """Read the operand and result types in the form `(T, …) -> T`."""
        at = self.at
        type_: FunctionType = self.function_type()
        self.check_types(draft, type_.inputs, at)
        draft.results = type_.results

    def _check_form(self, draft: Draft) -> None:
        form = self._forms[draft.name]
        for what, count, found in (
            ("operands", form.operands, len(draft.operands)),
            ("results", form.results, len(draft.results)),
            ("regions", form.regions, len(draft.regions)),
        ):
            if found < count.least or (count.most is not None and found > count.most):
                raise VerifyError(
                    f"expected '{draft.name}' to have {count} {what}, found {found}",
                    self.span(draft.at),
                )
        for name, kind in form.attributes.items():
            attribute = draft.attributes.get(name)
            if type(attribute) is not kind:
                found = "none" if attribute is None else f"a {type(attribute).__name__}"
                raise VerifyError(
                    f"expected an attribute '{name}' of kind {kind.__name__} on '{draft.name}', found {found}",
                    self.span(draft.at),
                )

    # --- regions

    def region(self, arguments: Sequence[Named] = ()) -> Region:
        """Read `{ ops }`, with the given block arguments or those of a `^label(…):`."""
        outer, self._defined = self._defined, []
        self.expect("{")
        if self.tokens[self.at][:1] == "^":
            self.at += 1
            if self.tokens[self.at] == "(":
                arguments = self.enclosed("(", ")", self.argument)
            self.expect(":")
        block = self.block(arguments)
        for key in self._defined:
            del self._values[key]
        self._defined = outer
        return Region((block,))

    def argument(self) -> Named:
        """Read `%a: T loc(…)`."""
        at = self.at
        name = self.value_name()
        self.expect(":")
        type_ = self.type()
        return Named(name, at, type_, self.location())

    def block(self, arguments: Sequence[Named]) -> Block:
        """Read ops up to the closing brace."""
        values: list[Value] = []
        for argument in arguments:
            value = Value(argument.name[1:], argument.type, self.span(argument.at), argument.location)
            self._define(argument.name, value, argument.at)
            values.append(value)
        ops: list[Op] = []
        while self.tokens[self.at] != "}":
            if self.tokens[self.at][:1] == "^":
                raise UnsupportedOpError("a region with several blocks is not supported", self.span())
            if ops and ops[-1].name in TERMINATORS:
                raise self.unexpected(f"'}}' after '{ops[-1].name}'")
            ops.append(self.op())
        if not ops or ops[-1].name not in TERMINATORS:
            raise self.unexpected("a 'return' at the end of the block")
        self.at += 1
        return Block(tuple(values), tuple(ops))

    def _applied_region(self, draft: Draft, names: list[tuple[str, int, int]], location: Location | None) -> Region:
        """Write out the body of `reduce … applies NAME`, in the place of the reduce."""
        if len(draft.operands) != 2:
            raise VerifyError(
                f"expected one operand and its initial value, found {len(draft.operands)} operands",
                self.span(draft.at),
            )
        span = self.span(draft.at)
        stem = names[0][0][1:] if names else "reduce"
        scalar = draft.operands[1].type
        lhs, rhs, out = (Value(f"{part}.{stem}", scalar, span, location) for part in ("lhs", "rhs", "out"))
        body = (
            Op(draft.applies, (lhs, rhs), {}, (out,), (), span, location),
            Op("stablehlo.return", (out,), {}, (), (), span, location),
        )
        return Region((Block((lhs, rhs), body),))
