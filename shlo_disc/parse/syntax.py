"""The spelling of every op: one table, from which the parser and the printer come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shlo_disc.ir.attributes import (
    Attribute,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    RecordAttr,
    StringAttr,
)
from shlo_disc.parse.attribute_directives import ATTRIBUTE_DIRECTIVES
from shlo_disc.parse.body import OpForm
from shlo_disc.parse.draft import Count
from shlo_disc.parse.form import Directive, Form, compile_form
from shlo_disc.parse.region_directives import REGION_DIRECTIVES
from shlo_disc.parse.tensor_directives import TENSOR_DIRECTIVES
from shlo_disc.parse.type_directives import TYPE_DIRECTIVES
from shlo_disc.parse.writer import PrettyForm

_Kinds = Mapping[str, type[Attribute]]

_SAME = " {operands}{attr-dict} : {same}"
_FUNCTIONAL = " {operands}{attr-dict} : {functional}"
_ARROW = " {operands}{attr-dict} : {arrow}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One op. Without a `form` it is written in generic form only.

    `signature` says how many operands, results and regions there are: "2 1", "1+ 1 1"; regions are
    0 if left out.
    `attributes` are those that must be there; those in the form need no mention.
    """

    name: str
    signature: str
    form: str | None = None
    attributes: _Kinds = field(default_factory=dict[str, type[Attribute]])


def _all(dialect: str, names: str, signature: str, form: str | None) -> tuple[Entry, ...]:
    return tuple([Entry(f"{dialect}.{name}", signature, form) for name in names.split()])


_UNARY = (
    "abs cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor imag "
    "is_finite log log_plus_one logistic negate not popcnt real round_nearest_afz "
    "round_nearest_even rsqrt sign sine sqrt tan tanh"
)
_BINARY = (
    "add and atan2 divide maximum minimum multiply or power remainder shift_left "
    "shift_right_arithmetic shift_right_logical subtract xor"
)
_CHLO_UNARY = (
    "acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf "
    "is_neg_inf is_pos_inf lgamma sinh square tan"
)

_GATHER: _Kinds = {"dimension_numbers": RecordAttr}
_NORM: _Kinds = {"epsilon": FloatAttr, "feature_index": IntegerAttr}

ENTRIES: tuple[Entry, ...] = (
    Entry("func.call", "0+ 0+", " {symbol:callee}({operands}){attr-dict} : {functional}"),
    Entry("func.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
    Entry("stablehlo.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
    *_all("stablehlo", _UNARY, "1 1", _SAME),
    *_all("stablehlo", _BINARY, "2 1", _SAME),
    *_all("stablehlo", "bitcast_convert reshape", "1 1", _FUNCTIONAL),
    *_all("stablehlo", "dynamic_reshape", "2 1", _FUNCTIONAL),
    *_all("stablehlo", "real_dynamic_slice", "4 1", _FUNCTIONAL),
    *_all("stablehlo", "dynamic_pad", "5 1", _FUNCTIONAL),
    *_all("stablehlo", "dynamic_update_slice", "2+ 1", _FUNCTIONAL),
    Entry("stablehlo.clamp", "3 1", _SAME),
    Entry("stablehlo.select", "3 1", " {operands}{attr-dict} : {select}"),
    Entry("stablehlo.complex", "2 1", " {operands}{attr-dict} : {complex}"),
    Entry("stablehlo.constant", "0 1", "{attr-dict} {literal:value}"),
    Entry("stablehlo.iota", "0 1", " dim = {i64:iota_dimension}{attr-dict} : {result}"),
    Entry(
        "stablehlo.dynamic_iota",
        "1 1",
        " {operands}, dim = {i64:iota_dimension}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.compare",
        "2 1",
        " {enum:comparison_direction}, {operands}{compare-type}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.broadcast_in_dim",
        "1 1",
        " {operands}, dims = {i64s:broadcast_dimensions}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.dynamic_broadcast_in_dim",
        "2 1",
        " {operands}, dims = {i64s:broadcast_dimensions}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.transpose",
        "1 1",
        " {operands}, dims = {i64s:permutation}{attr-dict} : {functional}",
    ),
    Entry("stablehlo.reverse", "1 1", " {operands}, dims = {i64s:dimensions}{attr-dict} : {same}"),
    Entry(
        "stablehlo.concatenate",
        "1+ 1",
        " {operands}, dim = {i64:dimension}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.get_dimension_size",
        "1 1",
        " {operands}, dim = {i64:dimension}{attr-dict} : {functional}",
    ),
    Entry("stablehlo.slice", "1 1", " {operands} {ranges}{attr-dict} : {functional}"),
    Entry(
        "stablehlo.dynamic_slice",
        "1+ 1",
        " {operands}, sizes = {i64s:slice_sizes}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.pad",
        "2 1",
        " {operands}, low = {i64s:edge_padding_low}, high = {i64s:edge_padding_high}, "
        "interior = {i64s:interior_padding}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.dot_general",
        "2 1",
        " {operands}, {dot-dimensions}{precision}{algorithm}{attr-dict} : {functional}",
    ),
    Entry("stablehlo.dot", "2 1", " {operands}{precision}{attr-dict} : {functional}"),
    Entry(
        "stablehlo.convolution",
        "2 1",
        "({operands}) dim_numbers = {conv-dimensions}, window = {window}{attr-dict} : {functional}",
        {"batch_group_count": IntegerAttr, "feature_group_count": IntegerAttr},
    ),
    Entry(
        "stablehlo.reduce",
        "2+ 1+ 1",
        "{reduced} across dimensions = {i64s:dimensions}{attr-dict} : {functional}{reducer}",
    ),
    Entry("stablehlo.while", "0+ 0+ 2", "{while}"),
    Entry(
        "stablehlo.custom_call",
        "0+ 0+",
        " {symbol-string:call_target_name}({operands}){attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.composite",
        "0+ 0+",
        " {string:name}{spaced-operands}{attr-dict} : {functional}",
    ),
    Entry("stablehlo.reduce_precision", "1 1", " {operands}, format = {format}{attr-dict} : {same}"),
    Entry(
        "stablehlo.fft",
        "1 1",
        " {operands}, type = {enum:fft_type}, length = {i64s:fft_length}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.rng",
        "3 1",
        " {operands}, distribution = {enum:rng_distribution}{attr-dict} : {functional}",
    ),
    Entry(
        "stablehlo.rng_bit_generator",
        "1 2",
        " {operands}, algorithm = {enum:rng_algorithm}{attr-dict} : {functional}",
    ),
    Entry("stablehlo.cholesky", "1 1", " {operands}, lower = {bool:lower}{attr-dict} : {same}"),
    Entry("stablehlo.optimization_barrier", "0+ 0+", " {operands}{attr-dict} : {list}"),
    Entry("stablehlo.create_token", "0 1", "{attr-dict} : {result}"),
    Entry("stablehlo.after_all", "0+ 1", "{spaced-operands}{attr-dict} : {same}"),
    Entry("stablehlo.tuple", "0+ 1", "{spaced-operands}{attr-dict} : {tuple}"),
    Entry("stablehlo.get_tuple_element", "1 1", " {operands}[{i32:index}]{attr-dict} : {functional}"),
    Entry("stablehlo.replica_id", "0 1", "{attr-dict} : {result}"),
    Entry("stablehlo.partition_id", "0 1", "{attr-dict} : {result}"),
    *_all("chlo", _CHLO_UNARY, "1 1", _ARROW),
    *_all("chlo", "next_after polygamma zeta", "2 1", _ARROW),
    *_all(
        "chlo",
        "broadcast_add broadcast_divide broadcast_maximum broadcast_multiply",
        "2 1",
        _FUNCTIONAL,
    ),
    *_all("chlo", "broadcast_compare broadcast_power broadcast_subtract", "2 1", _FUNCTIONAL),
    Entry("chlo.broadcast_select", "3 1", _FUNCTIONAL),
    Entry("chlo.top_k", "1 2", "({operands}, k = {i64:k}){attr-dict} : {arrow}"),
    # generic form only
    Entry("stablehlo.gather", "2 1", None, {**_GATHER, "slice_sizes": DenseArrayAttr}),
    Entry("stablehlo.dynamic_gather", "3 1", None, _GATHER),
    Entry("stablehlo.scatter", "3+ 1+ 1", None, {"scatter_dimension_numbers": RecordAttr}),
    Entry("stablehlo.reduce_window", "2+ 1+ 1", None, {"window_dimensions": DenseArrayAttr}),
    Entry("stablehlo.select_and_scatter", "3 1 2"),
    Entry("stablehlo.sort", "1+ 1+ 1"),
    Entry("stablehlo.case", "1 0+ 1+"),
    Entry("stablehlo.if", "1 0+ 2"),
    Entry("stablehlo.map", "1+ 1 1", None, {"dimensions": DenseArrayAttr}),
    Entry(
        "stablehlo.dynamic_conv",
        "3 1",
        None,
        {
            "dimension_numbers": ConvDimensionsAttr,
            "batch_group_count": IntegerAttr,
            "feature_group_count": IntegerAttr,
        },
    ),
    Entry("stablehlo.triangular_solve", "2 1", None, {"transpose_a": EnumAttr}),
    Entry("stablehlo.set_dimension_size", "2 1", None, {"dimension": IntegerAttr}),
    Entry("stablehlo.broadcast", "1 1", None, {"broadcast_sizes": DenseArrayAttr}),
    Entry("stablehlo.einsum", "2 1", None, {"einsum_config": StringAttr}),
    Entry("stablehlo.torch_index_select", "2 1", None, {"dim": IntegerAttr, "batch_dims": IntegerAttr}),
    Entry("stablehlo.batch_norm_grad", "5 3", None, _NORM),
    Entry("stablehlo.batch_norm_inference", "5 1", None, _NORM),
    Entry("stablehlo.batch_norm_training", "3 3", None, _NORM),
    Entry(
        "stablehlo.all_gather",
        "1+ 1+",
        None,
        {"all_gather_dim": IntegerAttr, "replica_groups": DenseAttr},
    ),
    Entry("stablehlo.all_reduce", "1+ 1+ 1", None, {"replica_groups": DenseAttr}),
    Entry("stablehlo.all_to_all", "1+ 1+", None, {"replica_groups": DenseAttr}),
    Entry("stablehlo.collective_permute", "1 1", None, {"source_target_pairs": DenseAttr}),
    Entry("chlo.constant_like", "1 1"),
    Entry("chlo.mulhi", "2 1"),
    Entry("chlo.ragged_dot", "3 1"),
)


_DIRECTIVES = {**TYPE_DIRECTIVES, **TENSOR_DIRECTIVES, **REGION_DIRECTIVES}


def _find(spec: str) -> Directive:
    kind, _, name = spec.partition(":")
    return ATTRIBUTE_DIRECTIVES[kind](name) if name else _DIRECTIVES[kind]


def _count(text: str) -> Count:
    return Count(int(text[:-1]), None) if text.endswith("+") else Count(int(text), int(text))


def _op_form(entry: Entry, form: Form | None) -> OpForm:
    operands, results, *regions = entry.signature.split()
    attributes = {**entry.attributes, **({} if form is None else form.attributes)}
    return OpForm(
        _count(operands),
        _count(results),
        _count(regions[0] if regions else "0"),
        attributes,
        None if form is None else form.read,
    )


_COMPILED = {entry.name: None if entry.form is None else compile_form(entry.form, _find) for entry in ENTRIES}

FORMS: Mapping[str, OpForm] = {entry.name: _op_form(entry, _COMPILED[entry.name]) for entry in ENTRIES}

PRETTY_FORMS: Mapping[str, PrettyForm] = {
    name: PrettyForm(form.write, form.fits) for name, form in _COMPILED.items() if form is not None
}
