"""StableHLO to DHLO: `legalize`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from shlo_disc.analysis.value_bounds import with_bounds
from shlo_disc.artifact import LARGEST_SIZE
from shlo_disc.custom_calls import is_registered
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.dialects.table import OTHER_OPS
from shlo_disc.dynamic_ops.program import Body, Check, LateUnbackedDim, Parameter, Program, RawDim, UnbackedDim
from shlo_disc.expr.dim import ZERO, Dim, Sym, const, of, symbol
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.symbol_names import is_symbol_name
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import BoolAttr, IntegerAttr, StringAttr
from shlo_disc.legalize import (
    rules_broadcasting,
    rules_compute,
    rules_contract,
    rules_control,
    rules_custom_calls,
    rules_distribution,
    rules_elementwise,
    rules_library,
    rules_linear_algebra,
    rules_move,
    rules_normalization,
    rules_random,
    rules_scan,
    rules_top_k,
)
from shlo_disc.legalize.attribute_values import string
from shlo_disc.legalize.builder import Bound, FirstOp, OpBuilder, tensor_type
from shlo_disc.legalize.constraints import read_constraints
from shlo_disc.legalize.frame import Frame, Legalizer, Processes, Rule, computed
from shlo_disc.legalize.other_dialects.rewrite import without_other_dialects
from shlo_disc.legalize.outline import NeedsGuard, NeedsOutlining, NextIteration, Outline, Outliner, size_of
from shlo_disc.legalize.quantization import with_quantized
from shlo_disc.legalize.rng_state import with_iteration_counts
from shlo_disc.legalize.shape_value_folding import ShapeArithmetic
from shlo_disc.legalize.tokens import ABOUT_TOKENS, tokens_as_values
from shlo_disc.legalize.tuples import ABOUT_TUPLES, without_tuples
from shlo_disc.legalize.unbacked_dims import SymbolNames, UnbackedDims, demand_early, demand_room
from shlo_disc.parse.origins import find_origins
from shlo_disc.records import record

_RULES: Mapping[str, Rule] = with_quantized(
    {
        **rules_elementwise.RULES,
        **rules_broadcasting.RULES,
        **rules_move.RULES,
        **rules_compute.RULES,
        **rules_linear_algebra.RULES,
        **rules_control.RULES,
        **rules_custom_calls.RULES,
        **rules_top_k.RULES,
        **rules_library.RULES,
        **rules_contract.RULES,
        **rules_normalization.RULES,
        **rules_random.RULES,
        **rules_scan.RULES,
        **rules_distribution.RULES,
    }
)


def legalize(module: ir.Module, argument_names: tuple[str, ...] = (), constraints: Sequence[str] = ()) -> Program:
    """Inline everything into one DHLO program in which shapes are dims.

    JAX names and asserts all sizes before it computes anything: a first run up to there collects names and most facts.
    If the whole run learns more, it is repeated, so that all shapes are canonical under all facts. `argument_names`
    name the arguments in messages. `constraints` are the caller's; they are facts from the start.
    """
    module = without_tuples(module)
    module = without_other_dialects(tokens_as_values(module, _entry(module), _is_users))
    module = with_iteration_counts(module, _entry(module))

    def outlined(outline: Outline) -> Program:
        return _again(_FunctionLegalizer(module, _function_of(outline), (), outliner, outline))

    outliner = Outliner(outlined)
    return _again(_FunctionLegalizer(module, _entry(module), argument_names, outliner), constraints)


@record
class _FunctionLegalizer:
    """A function as a program: the entry of a module, or a region of it."""

    module: ir.Module
    main: ir.Function
    argument_names: tuple[str, ...]
    outliner: Outliner
    outline: Outline | None = None


def _function_of(outline: Outline) -> ir.Function:
    block = outline.block
    results = tuple([x.type for x in block.ops[-1].operands])
    kind = ir.FunctionType(tuple([x.type for x in outline.arguments]), results)
    body = ir.Block(outline.arguments, block.ops)
    return ir.Function(outline.name, kind, body, None, (), (), {}, outline.op.span, outline.op.location)


def _again(text: _FunctionLegalizer, constraints: Sequence[str] = ()) -> Program:
    """Legalize, repeatedly until every op that needs outlining or a guard has it."""
    while True:
        try:
            return _legalized(text, constraints)
        except NeedsOutlining as found:
            text.outliner.ops.add(found.op)
        except NeedsGuard as found:
            text.outliner.guard(found.op)


def _legalized(text: _FunctionLegalizer, constraints: Sequence[str]) -> Program:
    module, main = text.module, text.main
    prefix = _prefix(module)
    raw = _raw_dims(main, prefix, {})
    names = SymbolNames(f"{prefix[:-1]}v", {dim.symbol.name for dim in raw} | _size_names(module))
    first = _named_sizes(text, raw, names)
    renamed = _raw_dims(main, prefix, {size: name for name, size in first.sizes.items() if is_symbol_name(name)})
    replacements = {old.symbol: of(new.symbol) for old, new in zip(raw, renamed, strict=True)}
    sizes = {name: size.substitute(replacements) for name, size in first.sizes.items()}
    sizes = sizes or {dim.symbol.name: of(dim.symbol) for dim in renamed}
    if constraints:
        first = OpBuilder(_sizes(main, renamed), names.size_prefix)
        first.demand_all(read_constraints(constraints, sizes))
        replacements = {}
    second = first.again(_sizes(main, renamed), replacements)
    parameters, body, unbacked_dims, late = _run(text, second, renamed, names)
    if second.learned_more:
        second = second.again(_sizes(main, renamed), {})
        parameters, body, unbacked_dims, late = _run(text, second, renamed, names)
    demand_room(second, body, (*unbacked_dims, *late))
    demand_early(second)
    body, bounded = with_bounds(body, second.facts)
    return Program(
        name=module.name or main.name,
        parameters=parameters,
        raw_dims=renamed,
        definitions=second.facts.definitions,
        checks=_with_origins(module, _known(second, (*renamed, *unbacked_dims, *late))),
        facts=second.facts,
        body=body,
        constants=second.constants,
        names={bounded.get(tensor, tensor): name for tensor, name in second.names.items()},
        sizes={**sizes, **{each.symbol.name: of(each.symbol) for each in (*unbacked_dims, *late)}},
        sized={bounded.get(tensor, tensor): taken for tensor, taken in second.sized.items()},
        unbacked_dims=unbacked_dims,
        late=late,
    )


def missing_rule(op: ir.Op) -> str | None:
    """Why no program with this op can be compiled (it has no rule), or None."""
    if op.name not in _RULES and op.name not in ABOUT_TOKENS | ABOUT_TUPLES | OTHER_OPS.keys():
        return "no rule"
    if op.name == "stablehlo.custom_call":
        target = string(op, "call_target_name")
        if not _is_known(target) and not is_registered(target):
            return f"no rule for the target @{target}"
    return None


def _is_known(target: str) -> bool:
    """Whether legalization has a rule of its own for the custom calls of a target."""
    return target in rules_custom_calls.CUSTOM or rules_custom_calls.op_of_target(target) in _RULES


def _is_users(target: str) -> bool:
    """Whether a function that a user registered computes the custom calls of a target."""
    return not _is_known(target) and is_registered(target)


def _known(builder: OpBuilder, given: Sequence[RawDim | UnbackedDim | LateUnbackedDim]) -> list[Check]:
    """The checks on symbols that a call determines: an earlier run may have read elements that the last one did not."""
    symbols = {each.symbol for each in given}
    for name, dim in builder.facts.definitions:
        if dim.symbols() <= symbols:
            symbols.add(name)
    return [check for check in builder.checks.values() if check.lhs.symbols() | check.rhs.symbols() <= symbols]


def _with_origins(module: ir.Module, checks: Collection[Check]) -> tuple[Check, ...]:
    """Set the origin of each check: the user's line."""
    origins = find_origins(module, [check.span for check in checks])
    return tuple([replace(check, origin=origins.get(check.span, "")) for check in checks])


def _processes(module: ir.Module) -> Processes:
    """The numbers of processes, as JAX states them."""
    replicas, partitions = (
        found.value if isinstance(found := module.attributes.get(f"mhlo.num_{kind}"), IntegerAttr) else 1
        for kind in ("replicas", "partitions")
    )
    return Processes(replicas, partitions)


def _entry(module: ir.Module) -> ir.Function:
    if (main := module.functions.get("main")) is not None:
        return main
    public = [f for f in module.functions.values() if f.visibility != "private"]
    if len(public) == 1:
        return public[0]
    raise UnsupportedOpError(f"expected a function @main, found {sorted(module.functions)}", module.span)


def _size_names(module: ir.Module) -> frozenset[str]:
    """The names of the sizes that JAX passes to functions."""
    return frozenset(
        attribute.value
        for function in module.functions.values()
        for attributes in function.argument_attributes
        if isinstance(attribute := attributes.get("jax.global_constant"), StringAttr)
    )


def _prefix(module: ir.Module) -> str:
    """The prefix for names of unnamed sizes: unlike the user's names and, where possible, sorted after them.

    Symbols that sort last are eliminated first, so that shapes are written in the user's names.
    """
    names = _size_names(module)
    prefix = "s" if all(name < "s" for name in names) else "zs"
    while any(name.startswith(prefix) for name in names):
        prefix = "z" + prefix
    return prefix


def _raw_dims(main: ir.Function, prefix: str, names: Mapping[Dim, str]) -> tuple[RawDim, ...]:
    """One symbol for every `?` of the arguments."""
    found = list[RawDim]()
    for k, value in enumerate(main.body.arguments):
        for axis, size in enumerate(tensor_type(value.type, value.span).shape):
            if size is None:
                plain = f"{prefix}{len(found)}"
                found.append(RawDim(Sym(names.get(symbol(plain), plain)), k, axis))
    return tuple(found)


def _sizes(main: ir.Function, raw: tuple[RawDim, ...]) -> Facts:
    """The facts about every raw size; the runtime refuses sizes above the limit."""
    facts = Facts.empty()
    for dim in raw:
        span = main.body.arguments[dim.argument].span
        facts = facts.assume_at_least(of(dim.symbol), 0, "sizes are not negative", span)
        facts = facts.limited(dim.symbol, LARGEST_SIZE)
    return facts


def _named_sizes(text: _FunctionLegalizer, raw: tuple[RawDim, ...], names: SymbolNames) -> OpBuilder:
    """Learn names and facts of sizes up to the first op, or from the whole program if it names sizes later."""
    builder = OpBuilder(_sizes(text.main, raw), names.size_prefix, sizes_only=True)
    with suppress(FirstOp):
        _run(text, builder, raw, names)
    if _size_names(text.module) <= builder.sizes.keys():
        return builder
    whole = OpBuilder(_sizes(text.main, raw), names.size_prefix)
    _run(text, whole, raw, names)
    return whole


def _run(
    text: _FunctionLegalizer, builder: OpBuilder, raw: tuple[RawDim, ...], names: SymbolNames
) -> tuple[tuple[Parameter, ...], Body, tuple[UnbackedDim, ...], tuple[LateUnbackedDim, ...]]:
    module, main = text.module, text.main
    own = dict[int, list[RawDim]]()
    for dim in raw:
        own.setdefault(dim.argument, []).append(dim)
    parameters = tuple(
        replace(
            _parameter(builder, k, value, own.get(k, ()), text.argument_names), is_marked_donated=_is_marked(main, k)
        )
        for k, value in enumerate(main.body.arguments)
    )
    arithmetic = ShapeArithmetic(builder)
    unbacked_dims = UnbackedDims(builder, arithmetic, names)
    around = None if text.outline is None else text.outline.op
    frame = Frame(
        Legalizer(
            builder, arithmetic, module.functions, _RULES, unbacked_dims, _processes(module), text.outliner, around
        )
    )
    builder.compute = partial(computed, frame.legalizer)
    for value, parameter in zip(main.body.arguments, parameters, strict=True):
        frame.bind(value, parameter.tensor)
    if text.outline is not None:
        _bind_captured(text.outline, frame, raw)
    builder.begin()
    unbacked_dims.enter(parameters)
    results = frame.run(main.body)
    if text.outline is not None and text.outline.next_iteration is not None:
        results = _followed_by(text.outline.next_iteration, frame, results)
    span = main.body.ops[-1].span
    stored, late = unbacked_dims.late([builder.materialized(x, span) for x in results])
    return parameters, builder.end([p.tensor for p in parameters], stored), unbacked_dims.taken, late


def _bind_captured(outline: Outline, frame: Frame, raw: tuple[RawDim, ...]) -> None:
    """Bind captured values that are known as dims, and number the region's random draws unlike those of other ops."""
    sizes = {size_of(each.argument, each.axis): of(each.symbol) for each in raw}
    for value, known in outline.known:
        frame.bind(value, replace(known, dims=tuple([dim.substitute(sizes) for dim in known.dims])))
    frame.build.draws = (outline.op.span.start << 24) + (outline.number << 16)


def _followed_by(following: NextIteration, frame: Frame, returned: Sequence[Bound]) -> tuple[Bound, ...]:
    """The varying results of a loop's body, then its condition on them."""
    carried = following.of(returned)
    for value, bound in zip(following.of(following.condition.arguments), carried, strict=True):
        frame.bind(value, bound)
    return (*carried, *frame.run(following.condition))


def _is_marked(main: ir.Function, k: int) -> bool:
    """Whether JAX's attributes let a call overwrite an argument (`jit(donate_argnums=...)`)."""
    if not main.argument_attributes:
        return False
    attributes = main.argument_attributes[k]
    return "tf.aliasing_output" in attributes or attributes.get("jax.buffer_donor") == BoolAttr(value=True)


def _parameter(
    builder: OpBuilder,
    k: int,
    value: ir.Value,
    raw: Sequence[RawDim],
    argument_names: tuple[str, ...],
) -> Parameter:
    type_ = tensor_type(value.type, value.span)
    symbols: dict[int, Dim] = {dim.axis: of(dim.symbol) for dim in raw}
    shape = tuple(symbols.get(axis, ZERO if size is None else const(size)) for axis, size in enumerate(type_.shape))
    made = builder.parameter(
        argument_names[k] if k < len(argument_names) else value.name, shape, type_.dtype, value.span
    )
    builder.bound_by(shape, type_, f"argument %{value.name}", value.span)
    return Parameter(made, shape)
