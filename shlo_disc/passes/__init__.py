"""DHLO to DHLO rewrites, in the order in which they run.

In: a program. Out: a program with the same results. A pass may be added to `PASSES`; the reference
interpreter has to give the same results before and after it.
"""

from shlo_disc.passes.cse import CSE
from shlo_disc.passes.dce import DCE
from shlo_disc.passes.fold import FOLD
from shlo_disc.passes.inner import INNER
from shlo_disc.passes.leading import LEADING
from shlo_disc.passes.padding import PADDING
from shlo_disc.passes.places import PLACES
from shlo_disc.passes.pointwise import POINTWISE
from shlo_disc.passes.rewriting import Pass
from shlo_disc.passes.units import UNITS
from shlo_disc.passes.updates import UPDATES
from shlo_disc.passes.views import CUT_VIEWS

PASSES: tuple[Pass, ...] = (
    DCE,
    CSE,
    UNITS,
    FOLD,
    PLACES,
    CSE,
    PADDING,
    POINTWISE,
    INNER,
    UPDATES,
    DCE,
    LEADING,
    CUT_VIEWS,
)

__all__ = ["PASSES", "Pass"]
