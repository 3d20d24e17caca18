"""The fields of records such as `#stablehlo.gather<offset_dims = [1]>`."""

from __future__ import annotations

from collections.abc import Mapping

_CONTRACTED = (
    *("lhs_batching_dimensions", "rhs_batching_dimensions"),
    *("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
)

# The fields that a record may have, by its name; one that is not here may have any.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "channel_handle": ("handle", "type"),
    "dot": _CONTRACTED,
    "dot_algorithm": (
        *("lhs_precision_type", "rhs_precision_type", "accumulation_type"),
        *("lhs_component_count", "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"),
    ),
    "gather": (
        *("offset_dims", "collapsed_slice_dims", "operand_batching_dims"),
        *("start_indices_batching_dims", "start_index_map", "index_vector_dim"),
    ),
    "output_operand_alias": ("output_tuple_indices", "operand_index", "operand_tuple_indices"),
    "ragged_dot": (*_CONTRACTED, "lhs_ragged_dimensions", "rhs_group_dimensions"),
    "result_accuracy": ("atol", "rtol", "ulps", "mode"),
    "scatter": (
        *("update_window_dims", "inserted_window_dims", "input_batching_dims"),
        *("scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"),
    ),
}
