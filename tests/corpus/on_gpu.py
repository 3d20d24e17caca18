"""Cases of the corpus whose results may come another way on a GPU, for the emulator's tests and the GPU check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_POLY = "jax_poly/vmap_"
_UNSTABLE = f"{_POLY}sort_multiple_arrays_num_arrays_3_shape_int32_100_axis_0_isstable_False_num_keys_"
SORTS = (f"{_UNSTABLE}1", f"{_UNSTABLE}2")
TOP_K = f"{_POLY}approx_top_k_large_True_max_False_op_bfloat16_16_256"
CUMULATIVE_PRODUCT = "testdata_static/cumprod_complex64_8_9"
COMPLEX_FACTORS = (
    f"{_POLY}lu_shape_complex128_5_5",
    "jax_poly/lu_shape_complex128_2_3_4_4_poly_b1_b2",
    "jax_poly/lu_shape_complex64_2_3_4_4_poly_b1_b2",
    "jax_static/lu_shape_complex128_3_5_5",
)
BF16_TRANSFORMERS = tuple(
    f"{source}/model_transformer_block_bf16{form}"
    for source, form in (("jax_forms", ".local"), ("jax_models", ""), ("jax_models_platforms", ".cuda"))
)

# The check that takes the place of the corpus' own, by output. Equal keys of an unstable sort come in XLA's order on
# the CPU target, in that of a stable sort here. Attention in one kernel rounds less than the program: of 1584 elements
# 688 then differ from XLA's by a step of bf16 (203 without), one of them by more than the corpus allows. Products of
# complex numbers are XLA's bits where a multiplication and an addition are rounded once: the emulator's are not.
# LAPACK takes the pivot whose |re| + |im| is largest, cuBLAS's batches the one of largest modulus, as XLA does on GPUs:
# other exchanges of rows, which `linear_algebra_cases` judges by what the factors multiply to.
OTHERWISE: Mapping[str, Mapping[int, Mapping[str, Any]]] = {
    SORTS[0]: {1: {"kind": "shape"}, 2: {"kind": "shape"}},
    SORTS[1]: {2: {"kind": "shape"}},
    TOP_K: {1: {"kind": "shape"}},
    CUMULATIVE_PRODUCT: {0: {"kind": "allclose"}},
    **{name: {0: {"kind": "allclose", "tol": 0.15}} for name in BF16_TRANSFORMERS},
    **{name: {k: {"kind": "shape"} for k in range(3)} for name in COMPLEX_FACTORS},
}


def for_gpu(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case of the manifest with the checks that hold on a GPU."""
    other = OTHERWISE.get(f"{case['source']}/{case['name']}", {})
    return {**case, "checks": [other.get(k, rule) for k, rule in enumerate(case["checks"])]}
