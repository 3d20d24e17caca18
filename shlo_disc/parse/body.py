"""Read ops, regions and blocks. The text after an op's name is read by the op's form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shlo_disc.diagnostics import ParseError, Source, UnsupportedOpError, VerifyError
from shlo_disc.ir.attributes import Location, QuantizedTensorType, TensorType, Type
from shlo_disc.ir.core import Block, Op, Region, Value
from shlo_disc.ir.verify import TERMINATORS
from shlo_disc.parse.draft import Count, Named, OpDraft, ResultNames
from shlo_disc.parse.old_forms import Renew
from shlo_disc.parse.values import ValueReader
from shlo_disc.records import record

SHORT_NAMES: Mapping[str, str] = {"call": "func.call", "return": "func.return"}


@record
class OpForm:
    """How an op is parsed; without `parse` the op is read in generic form only."""

    operands: Count
    results: Count
    regions: Count
    own: frozenset[str]  # its own attributes, MLIR's properties
    renewed: Mapping[str, Renew]  # attributes that older texts spell in another way
    parse: Callable[[BodyReader, OpDraft], None] | None


class BodyReader(ValueReader):
    """Reads the ops of a function."""

    def __init__(self, source: Source, forms: Mapping[str, OpForm]) -> None:
        super().__init__(source)
        self._forms = forms

    # --- ops

    def op(self) -> Op:
        """Read one op, with its results in front and its location behind."""
        names = self.result_names() if self.tokens[self.at][:1] == "%" else []
        draft = self._generic_op() if self.tokens[self.at][:1] == '"' else self._pretty_op()
        location = self.location()
        if draft.applies:
            draft.regions.append(self._applied_region(draft, names, location))
        form = self._forms[draft.name]
        self._check_counts(form, draft)
        for name, renew in form.renewed.items():
            if name in draft.attributes:
                draft.attributes[name] = renew(draft.attributes[name])
        results = self.results(names, draft, location)
        return Op(
            draft.name,
            tuple(draft.operands),
            draft.attributes,
            results,
            tuple(draft.regions),
            self.span(draft.at),
            location,
        )

    def _pretty_op(self) -> OpDraft:
        at = self.at
        word = self.word("an op")
        name = SHORT_NAMES.get(word, word)
        form = self._forms.get(name)
        if form is None:
            raise UnsupportedOpError(f"op '{word}' is not supported", self.span(at))
        draft = OpDraft(name, at)
        if self.tokens[self.at : self.at + 2] == ["(", ")"] and self.tokens[self.at + 2] in ("<", "{", ":"):
            self._generic_rest(draft)  # a constant whose literal has another type than its result
        elif form.parse is not None:
            form.parse(self, draft)
        else:
            raise UnsupportedOpError(
                f"op '{word}' is supported in its generic form only",
                self.span(at),
                hint=f'write "{word}"(…) : …',
            )
        return draft

    def _generic_op(self) -> OpDraft:
        at = self.at
        name = self.string()
        if name not in self._forms:
            raise UnsupportedOpError(f"op '{name}' is not supported", self.span(at))
        draft = OpDraft(name, at)
        self._generic_rest(draft)
        return draft

    def _generic_rest(self, draft: OpDraft) -> None:
        self.expect("(")
        self.operands(draft)
        self.expect(")")
        if self.tokens[self.at] == "<":
            self._properties(draft)
        if self.tokens[self.at] == "(":
            draft.regions.extend(self.enclosed("(", ")", self.region))
        if self.tokens[self.at] == "{":
            draft.attributes.update(self.dictionary())
        self.expect(":")
        self.functional(draft)

    def _properties(self, draft: OpDraft) -> None:
        at = self.at
        self.expect("<")
        found, own = self.dictionary(), self._forms[draft.name].own
        for name in found:
            if name not in own:
                listed = f"among {', '.join(sorted(own))}" if own else "none"
                message = f"expected the properties of '{draft.name}' to be {listed}, found '{name}'"
                raise ParseError(message, self.span(at), hint="other attributes stand in braces of their own, {…}")
        draft.attributes.update(found)
        self.expect(">")

    def _check_counts(self, form: OpForm, draft: OpDraft) -> None:
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

    # --- regions

    def region(self, arguments: Sequence[Named] = (), end: str = "") -> Region:
        """Read `{ ops }`, with the given block arguments or those of a `^label(…):`.

        `end`: the op, without operands, that ends the block where the text has none.
        """
        outer = self.enter()
        self.expect("{")
        if self.tokens[self.at][:1] == "^":
            self.at += 1
            if self.tokens[self.at] == "(":
                arguments = self.enclosed("(", ")", self.argument)
            self.expect(":")
        block = self.block(arguments, end)
        self.leave(outer)
        return Region((block,))

    def argument(self) -> Named:
        """Read `%a: T loc(…)`."""
        at = self.at
        name = self.value_name()
        self.expect(":")
        type_ = self.type()
        return Named(name, at, type_, self.location())

    def block(self, arguments: Sequence[Named], end: str = "") -> Block:
        """Read ops up to the closing brace; `end` as for `region`."""
        values: list[Value] = []
        for argument in arguments:
            value = Value(argument.name[1:], argument.type, self.span(argument.at), argument.location)
            self.define(argument.name, value, argument.at)
            values.append(value)
        ops: list[Op] = []
        while self.tokens[self.at] != "}":
            if self.tokens[self.at][:1] == "^":
                raise UnsupportedOpError("a region with several blocks is not supported", self.span())
            if ops and ops[-1].name in TERMINATORS:
                raise self.unexpected(f"'}}' after '{ops[-1].name}'")
            ops.append(self.op())
        if end and not (ops and ops[-1].name in TERMINATORS):
            ops.append(Op(end, (), {}, (), (), self.span()))
        if not ops or ops[-1].name not in TERMINATORS:
            raise self.unexpected("a 'return' at the end of the block")
        self.at += 1
        return Block(tuple(values), tuple(ops))

    def _applied_region(self, draft: OpDraft, names: ResultNames, location: Location | None) -> Region:
        """Expand the body of `reduce … applies NAME`, located at the reduce."""
        if len(draft.operands) != 2:
            raise VerifyError(
                f"expected one operand and its initial value, found {len(draft.operands)} operands",
                self.span(draft.at),
            )
        span = self.span(draft.at)
        stem = names[0][0][1:] if names else "reduce"
        scalar = element_type(draft.operands[0].type)
        lhs, rhs, out = (Value(f"{part}.{stem}", scalar, span, location) for part in ("lhs", "rhs", "out"))
        body = (
            Op(draft.applies, (lhs, rhs), {}, (out,), (), span, location),
            Op("stablehlo.return", (out,), {}, (), (), span, location),
        )
        return Region((Block((lhs, rhs), body),))


def element_type(type_: Type) -> Type:
    """Return the type of one element of a tensor, as a tensor without dimensions."""
    return replace(type_, shape=(), encoding=None) if isinstance(type_, TensorType | QuantizedTensorType) else type_
