"""The spelling of StableHLO's ops."""

from __future__ import annotations

from shlo_disc.functions.record import Prefix
from shlo_disc.parse.entry import FUNCTIONAL, SAME, OpSyntax, elementwise, entries

_WINDOW = "window_dimensions:i64s window_strides:i64s padding"
_CONVOLUTION = (
    "batch_group_count feature_group_count precision_config window_strides:i64s lhs_dilation:i64s rhs_dilation:i64s "
    "window_reversal:flags"
)
_GROUPS = "replica_groups channel_handle"
_SENT = "channel_handle is_host_transfer source_target_pairs"

_ELEMENTWISE = (
    *elementwise(Prefix.STABLEHLO, SAME, {"complex": " {operands}{attr-dict} : {complex}"}),
    *entries("stablehlo", "convert uniform_dequantize uniform_quantize", "1 1", SAME),
    OpSyntax("stablehlo.clamp", "3 1", SAME),
    OpSyntax("stablehlo.select", "3 1", " {operands}{attr-dict} : {select}"),
    OpSyntax(
        "stablehlo.compare",
        "2 1",
        " {enum:comparison_direction}, {operands}{compare-type}{attr-dict} : {functional}",
        "compare_type:comparison_type",
    ),
    OpSyntax("stablehlo.reduce_precision", "1 1", " {operands}, format = {format}{attr-dict} : {same}"),
    OpSyntax("stablehlo.map", "1+ 1 1", None, "dimensions:i64s"),
)

_CREATE = (
    OpSyntax("stablehlo.constant", "0 1", "{attr-dict} {literal:value}"),
    OpSyntax("stablehlo.iota", "0 1", " dim = {i64:iota_dimension}{attr-dict} : {result}"),
    OpSyntax("stablehlo.dynamic_iota", "1 1", " {operands}, dim = {i64:iota_dimension}{attr-dict} : {functional}"),
    OpSyntax("stablehlo.rng", "3 1", " {operands}, distribution = {enum:rng_distribution}{attr-dict} : {functional}"),
    OpSyntax(
        "stablehlo.rng_bit_generator",
        "1 2",
        " {operands}, algorithm = {enum:rng_algorithm}{attr-dict} : {functional}",
    ),
    *entries("stablehlo", "create_token partition_id replica_id", "0 1", "{attr-dict} : {result}"),
)

_MOVE = (
    *entries("stablehlo", "bitcast_convert reshape", "1 1", FUNCTIONAL),
    *entries("stablehlo", "dynamic_reshape", "2 1", FUNCTIONAL),
    *entries("stablehlo", "real_dynamic_slice", "4 1", FUNCTIONAL),
    *entries("stablehlo", "dynamic_pad", "5 1", FUNCTIONAL),
    *entries("stablehlo", "dynamic_update_slice", "2+ 1", FUNCTIONAL),
    OpSyntax("stablehlo.broadcast", "1 1", " {operands}, sizes = {i64s:broadcast_sizes}{attr-dict} : {functional}"),
    OpSyntax(
        "stablehlo.broadcast_in_dim",
        "1 1",
        " {operands}, dims = {i64s:broadcast_dimensions}{attr-dict} : {functional}",
    ),
    OpSyntax(
        "stablehlo.dynamic_broadcast_in_dim",
        "2 1",
        " {operands}, dims = {i64s:broadcast_dimensions}{attr-dict} : {functional}",
        "known_expanding_dimensions:i64s known_nonexpanding_dimensions:i64s",
    ),
    OpSyntax("stablehlo.transpose", "1 1", " {operands}, dims = {i64s:permutation}{attr-dict} : {functional}"),
    OpSyntax("stablehlo.reverse", "1 1", " {operands}, dims = {i64s:dimensions}{attr-dict} : {same}"),
    OpSyntax("stablehlo.concatenate", "1+ 1", " {operands}, dim = {i64:dimension}{attr-dict} : {functional}"),
    OpSyntax("stablehlo.get_dimension_size", "1 1", " {operands}, dim = {i64:dimension}{attr-dict} : {functional}"),
    OpSyntax("stablehlo.set_dimension_size", "2 1", " {operands}, dim = {i64:dimension}{attr-dict} : {functional}"),
    OpSyntax(
        "stablehlo.slice",
        "1 1",
        " {operands} {ranges}{attr-dict} : {functional}",
        "start_indices:i64s limit_indices:i64s strides:i64s",
    ),
    OpSyntax("stablehlo.dynamic_slice", "1+ 1", " {operands}, sizes = {i64s:slice_sizes}{attr-dict} : {functional}"),
    OpSyntax(
        "stablehlo.pad",
        "2 1",
        " {operands}, low = {i64s:edge_padding_low}, high = {i64s:edge_padding_high}, "
        "interior = {i64s:interior_padding}{attr-dict} : {functional}",
    ),
    OpSyntax("stablehlo.gather", "2 1", None, "dimension_numbers slice_sizes:i64s indices_are_sorted"),
    OpSyntax("stablehlo.dynamic_gather", "3 1", None, "dimension_numbers indices_are_sorted"),
    OpSyntax("stablehlo.scatter", "3+ 1+ 1", None, "scatter_dimension_numbers indices_are_sorted unique_indices"),
    OpSyntax("stablehlo.torch_index_select", "2 1", None, "dim batch_dims"),
    OpSyntax("stablehlo.sort", "1+ 1+ 1", None, "dimension is_stable"),
)

_COMBINE = (
    OpSyntax(
        "stablehlo.dot_general",
        "2 1",
        " {operands}, {dot-dimensions}{precision}{algorithm}{attr-dict} : {functional}",
    ),
    OpSyntax("stablehlo.dot", "2 1", " {operands}{precision}{attr-dict} : {functional}"),
    OpSyntax("stablehlo.einsum", "2 1", " {operands}, config = {string:einsum_config}{attr-dict} : {functional}"),
    OpSyntax("stablehlo.unary_einsum", "1 1", " {operands}, config = {string:einsum_config}{attr-dict} : {functional}"),
    OpSyntax(
        "stablehlo.convolution",
        "2 1",
        "({operands}) dim_numbers = {conv-dimensions}, window = {window}{attr-dict} : {functional}",
        _CONVOLUTION,
    ),
    OpSyntax(
        "stablehlo.dynamic_conv",
        "3 1",
        None,
        f"dimension_numbers {_CONVOLUTION}",
    ),
    OpSyntax(
        "stablehlo.reduce",
        "2+ 1+ 1",
        "{reduced} across dimensions = {i64s:dimensions}{attr-dict} : {functional}{reducer}",
    ),
    OpSyntax("stablehlo.reduce_window", "2+ 1+ 1", None, f"{_WINDOW} base_dilations:i64s window_dilations:i64s"),
    OpSyntax("stablehlo.select_and_scatter", "3 1 2", None, _WINDOW),
    OpSyntax(
        "stablehlo.fft",
        "1 1",
        " {operands}, type = {enum:fft_type}, length = {i64s:fft_length}{attr-dict} : {functional}",
    ),
    OpSyntax("stablehlo.cholesky", "1 1", " {operands}(?, lower = {bool:lower}){attr-dict} : {same}"),
    OpSyntax("stablehlo.triangular_solve", "2 1", None, "left_side lower unit_diagonal transpose_a:transpose"),
    OpSyntax("stablehlo.batch_norm_grad", "5 3", None, "epsilon feature_index"),
    OpSyntax("stablehlo.batch_norm_inference", "5 1", None, "epsilon feature_index"),
    OpSyntax("stablehlo.batch_norm_training", "3 3", None, "epsilon feature_index"),
)

_CONTROL = (
    OpSyntax("stablehlo.return", "0+ 0", "{spaced-operands}{attr-dict}{returned}"),
    OpSyntax("stablehlo.while", "0+ 0+ 2", "{while}"),
    OpSyntax("stablehlo.case", "1 0+ 1+"),
    OpSyntax("stablehlo.if", "1 0+ 2"),
    OpSyntax(
        "stablehlo.custom_call",
        "0+ 0+",
        " {symbol-string:call_target_name}({operands}){attr-dict} : {functional}",
        "api_version backend_config called_computations has_side_effect operand_layouts output_operand_aliases "
        "result_layouts",
    ),
    OpSyntax(
        "stablehlo.composite",
        "0+ 0+ 0+",
        " {string:name}{spaced-operands}{regions}{attr-dict} : {functional}",
        "composite_attributes decomposition version",
    ),
    OpSyntax("stablehlo.optimization_barrier", "0+ 0+", "{barrier}"),
    OpSyntax("stablehlo.after_all", "0+ 1", "{spaced-operands}{attr-dict} : {same}"),
    OpSyntax("stablehlo.tuple", "0+ 1", "{spaced-operands}{attr-dict} : {tuple}"),
    OpSyntax("stablehlo.get_tuple_element", "1 1", " {operands}[{i32:index}]{attr-dict} : {functional}"),
)

_DISTRIBUTION = (
    OpSyntax("stablehlo.all_gather", "1+ 1+", None, f"all_gather_dim {_GROUPS} use_global_device_ids"),
    OpSyntax("stablehlo.all_reduce", "1+ 1+ 1", None, f"{_GROUPS} use_global_device_ids"),
    OpSyntax("stablehlo.all_to_all", "1+ 1+", None, f"{_GROUPS} split_dimension concat_dimension split_count"),
    OpSyntax("stablehlo.reduce_scatter", "1 1 1", None, f"scatter_dimension {_GROUPS} use_global_device_ids"),
    OpSyntax("stablehlo.collective_broadcast", "1+ 1+", None, f"{_GROUPS} has_dynamic_root"),
    OpSyntax("stablehlo.collective_permute", "1 1", None, "source_target_pairs channel_handle"),
    OpSyntax("stablehlo.collective_reduce", "1+ 1+ 1", None, f"{_GROUPS} use_global_device_ids has_dynamic_root"),
    OpSyntax("stablehlo.cross-replica-sum", "1 1", None, "replica_groups"),
    OpSyntax("stablehlo.async_start", "0+ 1 1"),
    OpSyntax("stablehlo.async_done", "1 1"),
    OpSyntax("stablehlo.infeed", "1 1+", None, "infeed_config layout"),
    OpSyntax("stablehlo.outfeed", "1+ 1", None, "outfeed_config"),
    OpSyntax("stablehlo.recv", "1 1+", None, _SENT),
    OpSyntax("stablehlo.send", "1+ 1", None, _SENT),
)

STABLEHLO = (*_ELEMENTWISE, *_CREATE, *_MOVE, *_COMBINE, *_CONTROL, *_DISTRIBUTION)
