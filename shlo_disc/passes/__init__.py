"""DHLO to DHLO rewrites, in the order in which they run.

In: a program. Out: a program with the same results. A pass may be added to `PASSES`; the reference
interpreter has to give the same results before and after it.
"""

from shlo_disc.passes.convolution_to_dot import CONVOLUTION_TO_DOT
from shlo_disc.passes.cse import CSE
from shlo_disc.passes.dce import DCE
from shlo_disc.passes.dot_to_reduce import DOT_TO_REDUCE
from shlo_disc.passes.dynamic_slice_to_view import DYNAMIC_SLICE_TO_VIEW
from shlo_disc.passes.fold import FOLD
from shlo_disc.passes.pad_into_convolution import PAD_INTO_CONVOLUTION
from shlo_disc.passes.rewriting import Pass
from shlo_disc.passes.sort_to_top_k import SORT_TO_TOP_K
from shlo_disc.passes.unit_dim_reduction import UNIT_DIM_REDUCTION
from shlo_disc.passes.update_to_scatter import UPDATE_TO_SCATTER
from shlo_disc.passes.views import CUT_VIEWS

PASSES: tuple[Pass, ...] = (
    DCE,
    CSE,
    UNIT_DIM_REDUCTION,
    FOLD,
    DYNAMIC_SLICE_TO_VIEW,
    CSE,
    PAD_INTO_CONVOLUTION,
    CONVOLUTION_TO_DOT,
    DOT_TO_REDUCE,
    UPDATE_TO_SCATTER,
    DCE,
    SORT_TO_TOP_K,
    CUT_VIEWS,
)

__all__ = ["PASSES", "Pass"]
