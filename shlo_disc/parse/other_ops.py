"""The spelling of ops outside StableHLO: CHLO, func, and what its tests and JAX's shardings use."""

from __future__ import annotations

from shlo_disc.functions.record import Prefix
from shlo_disc.parse.entry import ARROW, FUNCTIONAL, OpSyntax, elementwise, entries

CHLO = (
    *elementwise(Prefix.CHLO, ARROW),
    *elementwise(Prefix.BROADCASTING, FUNCTIONAL, attributes="broadcast_dimensions:i64s"),
    OpSyntax(
        "chlo.broadcast_compare",
        "2 1",
        FUNCTIONAL,
        "broadcast_dimensions:i64s comparison_direction:comparison_direction compare_type:comparison_type",
    ),
    OpSyntax("chlo.broadcast_select", "3 1", FUNCTIONAL),
    OpSyntax("chlo.constant", "0 1", "{attr-dict} {literal:value}"),
    OpSyntax("chlo.constant_like", "1 1", None, "value"),
    OpSyntax("chlo.ragged_dot", "3 1", None, "ragged_dot_dimension_numbers precision_config"),
    OpSyntax(
        "chlo.scan",
        "0+ 0+ 1",
        "{scan}",
        "dimension scan_dim_size is_reverse is_associative operandSegmentSizes resultSegmentSizes",
    ),
    OpSyntax("chlo.top_k", "1 2", "({operands}, k = {i64:k}(?, is_stable = {bool:is_stable})){attr-dict} : {arrow}"),
)

FUNC = (
    OpSyntax(
        "func.call", "0+ 0+", " {symbol:callee}({operands}){attr-dict} : {functional}", "arg_attrs no_inline res_attrs"
    ),
    OpSyntax("func.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
)

CHECK = (
    OpSyntax("check.expect_eq", "2 0", " {operands}{attr-dict} : {each}"),
    OpSyntax("check.expect_eq_const", "1 0", " {operands}, {dense:value}{attr-dict}"),
    OpSyntax(
        "check.expect_almost_eq",
        "2 0",
        " {operands}(?, tolerance = {f64:tolerance}){attr-dict} : {each}",
    ),
    OpSyntax(
        "check.expect_almost_eq_const",
        "1 0",
        " {operands}, {dense:value}(?, tolerance = {f64:tolerance}){attr-dict}",
    ),
    OpSyntax(
        "check.expect_close",
        "2 0",
        " {operands}, max_ulp_difference = {ui64:max_ulp_difference}"
        "(?, min_ulp_difference = {ui64:min_ulp_difference}) :{attr-dict} {listed}",
    ),
    OpSyntax(
        "check.expect_serialized_eq",
        "1 0",
        " {operands}, probe_id = {string:probe_id}(?, iter = {ui32:iteration}){attr-dict} : {each}",
    ),
)

INTERPRETER = (
    OpSyntax("interpreter.print", "1 0", " {operands}{attr-dict} : {each}"),
    OpSyntax("interpreter.probe", "1 1", " {operands}, probe_id = {string:probe_id}{attr-dict} : {same}"),
    OpSyntax("interpreter.run_parallel", "0+ 0+"),  # `infeed`, `programs`: texts have them among the foreign ones
)


def _collective(name: str, axes: str) -> OpSyntax:
    """Describe an op of Shardy that moves data between devices."""
    return OpSyntax(
        f"sdy.{name}", "1 1", f" {axes}{{operands}} out_sharding={{sdy:out_sharding}}{{attr-dict}} : {{same}}"
    )


_MANUAL = "in_shardings={sdy:in_shardings} out_shardings={sdy:out_shardings}"
_BODY = " {sharded-body}{attr-dict} : {functional}"

SDY = (
    OpSyntax("sdy.mesh", "0 0", " {symbol-string:sym_name} = {sdy:mesh}{attr-dict}"),
    OpSyntax("sdy.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
    *entries("sdy", "reshard sharding_constraint", "1 1", " {operands} {sdy:sharding}{attr-dict} : {same}"),
    OpSyntax(
        "sdy.manual_computation",
        "0+ 0+ 1",
        f"({{operands}}) {_MANUAL} manual_axes={{sdy:manual_axes}}{_BODY}",
    ),
    OpSyntax("sdy.named_computation", "0+ 0+ 1", f"<{{string:name}}>({{operands}}) {_MANUAL}{_BODY}"),
    OpSyntax("sdy.sharding_group", "1 0", " {operands} group_id={i64:group_id}{attr-dict} : {each}"),
    OpSyntax("sdy.propagation_barrier", "1 1", " {operands} allowed_direction={direction}{attr-dict} : {same}"),
    OpSyntax("sdy.constant", "0 1", "{attr-dict} {literal:value}"),
    _collective("all_gather", "{sdy:gathering_axes} "),
    _collective("all_reduce", "{sdy:reduction_axes} "),
    _collective("all_slice", "{sdy:slicing_axes} "),
    _collective("all_to_all", "{sdy:params} "),
    _collective("collective_permute", ""),
    _collective("reduce_scatter", "{sdy:reduce_scatter_axes} "),
    OpSyntax("sdy.replicated_to_unreduced", "1 1", None, "axes out_sharding"),
    OpSyntax("sdy.sharded_to_unreduced", "1 1", None, "axes out_sharding"),
    OpSyntax("sdy.data_flow_edge", "1 1", None, "sharding"),
    OpSyntax("sdy.func_data_flow_edge", "1 1"),
)
