"""What a fault is, and the quick suites that have to see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Names of suites: the arguments of pytest. Each takes seconds, so that a fault is known soon after it was made.
SUITES: Mapping[str, tuple[str, ...]] = {
    "advisor": ("tests/advisor",),
    "dims": (
        "tests/legalize/test_shape_arithmetic.py",
        "tests/expr/test_bounds.py",
        "tests/expr/test_dim.py",
        "tests/expr/test_facts.py",
        "tests/expr/test_indices.py",
        "tests/expr/test_simplify.py",
        "tests/expr/test_soundness.py",
        "tests/expr/test_each_function.py",
        "tests/expr/test_exhaustive.py",
        "tests/analysis/test_value_bounds.py",
    ),
    "facets": ("tests/dynamic_ops/test_facets.py", "tests/dynamic_ops/test_order_and_control.py"),
    "ragged": ("tests/ragged",),
    "rows": (
        "tests/emit/test_emitter.py",
        "tests/kernels/test_known_scratch.py",
        "tests/kernels/test_dependence.py",
        "tests/lower_cpu/test_software_pipelining.py",
        "tests/lower_cpu/test_last_vectors.py",
        "tests/lower_cpu/test_rows.py",
        "tests/lower_cpu/test_short_rows.py",
        "tests/pipeline/test_seam_programs.py",
        "tests/pipeline/test_column_programs.py",
        "tests/pipeline/test_thresholds.py",
        "tests/lower_cpu/test_pipeline_schedule.py",
    ),
    "memory": (
        "tests/kernels/test_inplace.py",
        "tests/host/test_memory.py",
        "tests/host/test_memory_contents.py",
        "tests/host/test_donation.py",
        "tests/host/test_step_order.py",
        "tests/host/test_regions.py",
        "tests/host/test_size_order.py",
        "tests/host/test_verify_host.py",
        "tests/kernels/test_epilogues.py",
        "tests/runtime/test_layout_conditions.py",
        "tests/pipeline/test_control_programs.py",
        "tests/runtime/test_memory.py",
    ),
    "c_packages": (
        "tests/c_package/test_bound.py",
        "tests/c_package/test_donated.py",
        "tests/c_package/test_callers_threads.py",
    ),
    "threads": (
        "tests/runtime/test_pool.py",
        "tests/device/test_pool_threads.py",
        "tests/pipeline/test_threads.py",
        "tests/host/test_regions.py",
    ),
    "attention": (
        "tests/kernels/test_masks.py",
        "tests/lower_cpu/test_attention.py",
        "tests/lower_cpu/test_attention_splits.py",
    ),
    "gradients": ("tests/lower_cpu/test_attention_backward.py",),
    "products": (
        "tests/lower_cpu/test_small_products.py",
        "tests/device/test_gemm.py",
        "tests/device/test_gemm_packed.py",
    ),
    "grouped": ("tests/lower_cpu/test_grouped_products.py",),
    "empty_windows": ("tests/pipeline/test_empty_windows.py",),
    "convolutions": ("tests/device/test_conv.py", "tests/device/test_conv_long.py"),
    "order": (
        "tests/lower_cpu/test_sort.py",
        "tests/lower_cpu/test_updates_in_place.py",
        "tests/pipeline/test_index_programs.py",
        "tests/pipeline/test_scatter_windows.py",
        "tests/device/test_sort.py",
    ),
    "calls": (
        "tests/host/test_donation.py",
        "tests/runtime/test_entry.py",
        "tests/runtime/cpu/test_executable.py",
        "tests/runtime/test_dlpack.py",
    ),
    "recurring": ("tests/runtime/test_recurring.py",),
    "many_leaves": ("tests/jit/test_many_leaves.py", "tests/jit/test_donation.py", "tests/jit/test_calls_by_xla.py"),
    "passes": (
        "tests/passes",
        "tests/pipeline/test_windows_and_units.py",
        "tests/pipeline/test_window_programs.py",
        "tests/pipeline/test_convolution_programs.py",
    ),
    "programs": ("tests/pipeline/test_random_programs.py", "tests/pipeline/test_random_op_programs.py"),
    "functions": (
        "tests/device/test_functions.py",
        "tests/device/test_sums.py",
        "tests/pipeline/test_special_values.py",
        "tests/pipeline/test_undefined_behavior.py",
    ),
    "positions": ("tests/device/test_contraction.py", "tests/pipeline/test_positions.py"),
    "growth": ("tests/pipeline/test_compile_growth.py",),
    "plans": ("tests/fusion/test_legal_plans.py",),
    "cuda_rows": ("tests/lower_cuda/test_row_kernels.py", "tests/lower_cuda/test_columns.py"),
    "cuda_maps": ("tests/lower_cuda/test_maps.py", "tests/lower_cuda/test_packed_transpose.py"),
    "cuda_order": (
        "tests/lower_cuda/test_scan.py",
        "tests/lower_cuda/test_sort.py",
        "tests/lower_cuda/test_scatter.py",
    ),
    "cuda_products": ("tests/lower_cuda/test_matmul.py", "tests/lower_cuda/test_attention.py"),
    "shared": ("tests/lower_cpu/test_attention_shared.py",),
    "integers": ("tests/expr/test_simplify.py", "tests/pipeline/test_integer_programs.py"),
    "search": ("tests/analysis/test_sizes.py",),
    "single": ("tests/pipeline/test_single_elements.py",),
    "known_calls": ("tests/hostile/test_known_calls.py",),
    "linear_algebra": ("tests/pipeline/test_linear_algebra_programs.py",),
    "findings": ("tests/hostile/test_findings.py",),
    "sizes": (
        "tests/legalize/test_demands_of_sizes.py",
        "tests/runtime/test_size_limits.py",
        "tests/pipeline/test_partitions.py",
    ),
    "late_sizes": ("tests/soundness/test_late_sizes.py",),
    "cache": (
        "tests/runtime/building/test_cache.py",
        "tests/runtime/building/test_cache_faults.py",
        "tests/runtime/building/test_prebuilt.py",
        "tests/codec/test_codec_sizes.py",
        "tests/runtime/cpu/test_vm.py",
    ),
    "imports": ("tests/api/test_lazy_imports.py",),
    "traced_calls": ("tests/device/test_xla_handler.py", "tests/runtime/xla"),
    "jit_sizes": ("tests/jit/test_abstraction.py", "tests/jit/test_learning.py"),
    "ordered_calls": ("tests/pipeline/test_ordered_calls.py",),
    "random_keys": ("tests/api/test_random_keys.py",),
    "jit_arguments": ("tests/jit/test_arguments.py", "tests/jit/test_refusals.py"),
    "ends": ("tests/kernels/test_ends_of_reductions.py",),
    "program_files": ("tests/program_file",),
    "host_code": ("tests/bytecode", "tests/runtime/test_packing.py"),
    "jit_callbacks": ("tests/jit/test_callbacks.py",),
    "jit_comparisons": ("tests/jit/test_comparisons.py",),
    "jit_generalized": ("tests/jit/test_generalized.py",),
    "jit_derivations": ("tests/jit/test_derivations.py",),
    "jit_traces": ("tests/jit/test_transforms.py",),
    "user_text": ("tests/pipeline/test_user_text.py",),
    "launches": ("tests/runtime/cuda/test_launch_table.py", "tests/runtime/cuda/test_gpu_executable.py"),
    "profiles": ("tests/profiling", "tests/kernels/test_flops.py", "tests/runtime/cpu/test_machine_rates.py"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """In `file` (below `shlo_disc/`) `old`, which stands there once, becomes `new`; tests of `suite` have to fail."""

    name: str
    file: str
    old: str
    new: str
    suite: str

    def applied_to(self, text: str) -> str:
        """The text with the fault. Raises `ValueError` if it does not say where."""
        if text.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: found {text.count(self.old)} times in {self.file}, expected once: {self.old}"
            )
        return text.replace(self.old, self.new)
