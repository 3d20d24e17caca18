"""Every template under sanitizers: no access out of bounds, no race, and no barrier that is not needed.

The owners of templates compare all variants with XLA under all schedules (tests/lower_cuda); here are the same texts.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product

import jax
import numpy as np
import pytest

from shlo_disc.jit.lowering import lowering
from tests.emulator.device import EmulatedDevice
from tests.emulator.recording import Recorded, Recording, record
from tests.emulator.run import compiled, numbered, variants
from tests.emulator.sanitize import How, check, needless_barriers, races
from tests.emulator.templates import TEMPLATES, arrays
from tests.pipeline.exports import exported

pytestmark = pytest.mark.slow

_WAYS = (How("fifo"), How("lifo"), How("random", 1), How("random", 2))


@cache
def recording(name: str) -> Recording:
    """All launches that any variant makes at any of the sizes; each kernel once per size and grid."""
    template = TEMPLATES[name]
    launches = dict[object, Recorded]()
    with jax.enable_x64(any(one.dtype in (np.float64, np.int64) for one in template.inputs)):
        with lowering():
            source = exported(template.function, template.inputs)
        program = compiled(source, EmulatedDevice())
        parts = [
            record(program, arrays(template, sizes, source.module_kept_var_idx), chooser=partial(numbered, number))
            for sizes, number in product(template.sizes, variants(source))
        ]
    for part in parts:
        for launch in part.launches:
            key = launch.kernel, launch.blocks, launch.threads, launch.shared, launch.numbers
            launches.setdefault(key, launch)
    return Recording(parts[0].text, parts[0].names, parts[0].index, tuple(launches.values()))


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_access_is_inside_and_every_schedule_gives_the_same(name: str) -> None:
    outcome = check(recording(name), "asan", _WAYS)
    assert outcome.clean, str(outcome)[:3000]


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_two_threads_race(name: str) -> None:
    outcome = races(recording(name))
    assert outcome.clean, str(outcome)[:3000]


@pytest.mark.parametrize(("number", "name"), list(enumerate(TEMPLATES)))
def test_every_barrier_is_needed(number: int, name: str, exhaustive: bool) -> None:
    if number % 3 and not exhaustive:
        pytest.skip("one template of three: --exhaustive")
    needless = needless_barriers(recording(name))
    assert len(needless) <= TEMPLATES[name].unneeded, str(needless)
