"""The syntax of ops without records: func, and what StableHLO's tests and JAX's shardings use."""

from __future__ import annotations

from shlo_disc.parse.entry import OpSyntax, syntax

FUNC = (
    syntax(
        "func.call", "0+ 0+", " {symbol:callee}({operands}){attr-dict} : {functional}", "arg_attrs no_inline res_attrs"
    ),
    syntax("func.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
)

CHECK = (
    syntax("check.expect_eq", "2 0", " {operands}{attr-dict} : {each}"),
    syntax("check.expect_eq_const", "1 0", " {operands}, {dense:value}{attr-dict}"),
    syntax(
        "check.expect_almost_eq",
        "2 0",
        " {operands}(?, tolerance = {f64:tolerance}){attr-dict} : {each}",
    ),
    syntax(
        "check.expect_almost_eq_const",
        "1 0",
        " {operands}, {dense:value}(?, tolerance = {f64:tolerance}){attr-dict}",
    ),
    syntax(
        "check.expect_close",
        "2 0",
        " {operands}, max_ulp_difference = {ui64:max_ulp_difference}"
        "(?, min_ulp_difference = {ui64:min_ulp_difference}) :{attr-dict} {listed}",
    ),
    syntax(
        "check.expect_serialized_eq",
        "1 0",
        " {operands}, probe_id = {string:probe_id}(?, iter = {ui32:iteration}){attr-dict} : {each}",
    ),
)

INTERPRETER = (
    syntax("interpreter.print", "1 0", " {operands}{attr-dict} : {each}"),
    syntax("interpreter.probe", "1 1", " {operands}, probe_id = {string:probe_id}{attr-dict} : {same}"),
    syntax("interpreter.run_parallel", "0+ 0+"),  # `infeed`, `programs`: texts have them among the foreign ones
)


def _collective(name: str, axes: str) -> OpSyntax:
    """Describe an op of Shardy that moves data between devices."""
    return syntax(
        f"sdy.{name}", "1 1", f" {axes}{{operands}} out_sharding={{sdy:out_sharding}}{{attr-dict}} : {{same}}"
    )


_MANUAL = "in_shardings={sdy:in_shardings} out_shardings={sdy:out_shardings}"
_SHARDED = " {operands} {sdy:sharding}{attr-dict} : {same}"
_BODY = " {sharded-body}{attr-dict} : {functional}"

SDY = (
    syntax("sdy.mesh", "0 0", " {symbol-string:sym_name} = {sdy:mesh}{attr-dict}"),
    syntax("sdy.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
    syntax("sdy.reshard", "1 1", _SHARDED),
    syntax("sdy.sharding_constraint", "1 1", _SHARDED),
    syntax(
        "sdy.manual_computation",
        "0+ 0+ 1",
        f"({{operands}}) {_MANUAL} manual_axes={{sdy:manual_axes}}{_BODY}",
    ),
    syntax("sdy.named_computation", "0+ 0+ 1", f"<{{string:name}}>({{operands}}) {_MANUAL}{_BODY}"),
    syntax("sdy.sharding_group", "1 0", " {operands} group_id={i64:group_id}{attr-dict} : {each}"),
    syntax("sdy.propagation_barrier", "1 1", " {operands} allowed_direction={direction}{attr-dict} : {same}"),
    syntax("sdy.constant", "0 1", "{attr-dict} {literal:value}"),
    _collective("all_gather", "{sdy:gathering_axes} "),
    _collective("all_reduce", "{sdy:reduction_axes} "),
    _collective("all_slice", "{sdy:slicing_axes} "),
    _collective("all_to_all", "{sdy:params} "),
    _collective("collective_permute", ""),
    _collective("reduce_scatter", "{sdy:reduce_scatter_axes} "),
    syntax("sdy.replicated_to_unreduced", "1 1", None, "axes out_sharding"),
    syntax("sdy.sharded_to_unreduced", "1 1", None, "axes out_sharding"),
    syntax("sdy.data_flow_edge", "1 1", None, "sharding"),
    syntax("sdy.func_data_flow_edge", "1 1"),
)
