"""The rates of a CPU's micro-kernels, and measurements of a program's products: plain data, and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any, Literal, TypeAlias, cast, get_args

from shlo_disc.records import record
from shlo_disc.schedules.candidates import MICRO_KERNELS, Hardware, MicroKernel, parse_kernel
from shlo_disc.schedules.model import UNIT, Rates

Origin: TypeAlias = Literal["measured", "shipped", "analytic"]
Kinds: TypeAlias = tuple[tuple[str, tuple[tuple[MicroKernel, Rates], ...]], ...]

# Assumptions of analytic tables: a slow clock, one multiply-add of vectors per cycle, memory bandwidth of 10 bytes per
# ns and core. Pessimism about multiplications alone would favour packing.
_CYCLE = 0.4  # ns
_READ = 0.1  # ns per byte
_SIZES: Mapping[str, int] = {"f32": 4, "f64": 8}  # bytes of the element types of analytic tables


@record
class CostTable:
    """The rates of micro-kernels on one CPU, by element type as named in the prelude.

    `origin`: `measured` here, `shipped` with the package for such a CPU, or `analytic`, which is a guess.
    """

    cpu: str
    origin: Origin
    kinds: Kinds

    def rates(self, kind: str) -> Mapping[MicroKernel, Rates]:
        """The rates for one element type; none if it was not measured."""
        return dict(next((rates for name, rates in self.kinds if name == kind), ()))

    @property
    def text(self) -> str:
        """The source of the numbers, for users."""
        sources: Mapping[Origin, str] = {
            "measured": f"measured on this CPU ({self.cpu})",
            "shipped": f"shipped with the package for {self.cpu}",
            "analytic": f"not measured: guessed from {self.cpu}; `python -m shlo_disc tune` measures",
        }
        return sources[self.origin]


@record
class TunedProduct:
    """Measured times of one product on one core: `UNIT`s by micro-kernel, at some values of the size that varies.

    `product` is its name in the compiler (`f32 ? x 2304 x 768`: the rows vary). Between two counts, and beyond them,
    the model's costs are corrected by their errors at the nearest ones.
    """

    product: str
    counts: tuple[int, ...]
    times: tuple[tuple[MicroKernel, tuple[int, ...]], ...]


@record
class Schedules:
    """The basis of `compile`'s choices: the costs of micro-kernels, and measurements of a program's products."""

    costs: CostTable
    tuned: tuple[TunedProduct, ...] = ()

    def find(self, product: str) -> TunedProduct | None:
        """Find the measurements of a product.

        Args:
            product: its name, such as `"f32 ? x 2304 x 768"`.

        Returns:
            The measurements; None if there are none.
        """
        return next((one for one in self.tuned if one.product == product), None)

    def to_json(self) -> str:
        """Serialize to JSON.

        Returns:
            The text, which `parse_schedules` reads.
        """
        kinds = {kind: {kernel.name: astuple(rates) for kernel, rates in found} for kind, found in self.costs.kinds}
        tuned = {
            one.product: {"counts": one.counts, "times": {kernel.name: found for kernel, found in one.times}}
            for one in self.tuned
        }
        content = {"cpu": self.costs.cpu, "origin": self.costs.origin, "kinds": kinds, "tuned": tuned}
        return json.dumps(content, indent=1)


def parse_schedules(text: str | bytes) -> Schedules:
    """Parse the output of `to_json`. Raises `ValueError` for any other text.

    >>> parse_schedules(Schedules(CostTable("a", "analytic", ())).to_json())
    Schedules(costs=CostTable(cpu='a', origin='analytic', kinds=()), tuned=())
    """
    try:
        content = _entries(json.loads(text), {"cpu", "origin", "kinds", "tuned"})
    except RecursionError as error:
        raise ValueError("found no schedules: they are nested too deeply") from error
    cpu, origin = content["cpu"], content["origin"]
    if type(cpu) is not str or origin not in get_args(Origin):
        raise ValueError(f"found schedules of {cpu!r} from {origin!r}, expected a text and one of {get_args(Origin)}")
    kinds = tuple((kind, _rates(found)) for kind, found in _entries(content["kinds"]).items())
    tuned = tuple(_tuned(product, found) for product, found in _entries(content["tuned"]).items())
    return Schedules(CostTable(cpu, origin, kinds), tuned)


def _rates(content: object) -> tuple[tuple[MicroKernel, Rates], ...]:
    found = {name: _numbers(rates) for name, rates in _entries(content).items()}
    count = len(fields(Rates))
    if any(len(numbers) != count for numbers in found.values()):
        raise ValueError(f"found rates {found}, expected {count} of each micro-kernel")
    return tuple((parse_kernel(name), Rates(*numbers)) for name, numbers in found.items())


def _tuned(product: str, content: object) -> TunedProduct:
    found = _entries(content, {"counts", "times"})
    counts = _numbers(found["counts"])
    times = tuple((parse_kernel(name), _numbers(times)) for name, times in _entries(found["times"]).items())
    if any(len(numbers) != len(counts) for _, numbers in times):
        raise ValueError(f"found times {times}, expected one for each of the counts {counts}")
    return TunedProduct(product, counts, times)


def _entries(content: object, keys: set[str] | None = None) -> dict[str, Any]:
    """Check that JSON content is a mapping, with exactly these keys if given."""
    if not isinstance(content, dict) or keys not in (None, set(cast("dict[str, Any]", content))):
        raise ValueError(f"found {str(cast('object', content))[:80]} in schedules, expected {keys or 'a mapping'}")
    return cast("dict[str, Any]", content)


def _numbers(content: object) -> tuple[int, ...]:
    """Check that JSON content is a list of whole numbers in the range of a program's."""
    found = cast("list[Any]", content) if isinstance(content, list) else None
    if found is None or not all(type(x) is int and 0 <= x < 1 << 62 for x in found):
        raise ValueError(f"found {str(cast('object', content))[:80]} in schedules, expected a list of whole numbers")
    return tuple(found)


def analytic(hardware: Hardware) -> CostTable:
    """Rates derived from hardware limits: registers and loads determine which micro-kernel is better, not how fast.

    A tile takes a multiply-add per vector of results and depth, and at least a load per vector of B, of which there is
    one per cycle. Packing reads and writes B.
    """
    kinds = list[tuple[str, tuple[tuple[MicroKernel, Rates], ...]]]()
    for kind, size in _SIZES.items():
        lanes = hardware.register // size
        found = list[tuple[MicroKernel, Rates]]()
        for kernel in MICRO_KERNELS:
            read, step = _READ * size, _CYCLE / lanes
            pack = 2 * step if kernel.form == "tiles" else 0.0
            tile = step if kernel.form == "tiles" else 2 * step
            ns = {"call": 100.0, "pack": pack, "tile": tile, "product": step, "store": 2 * step, "read": read}
            units = {name: round(value / UNIT) for name, value in ns.items()}
            found.append((kernel, Rates(**units, alias_a=0, alias_b=0, reread=0, near=hardware.l2 // size)))
        kinds.append((kind, tuple(found)))
    return CostTable(hardware.text, "analytic", tuple(kinds))


@record
class Scheduling:
    """The basis of choices: costs, and the number of cores."""

    schedules: Schedules
    threads: int = 1


# For an unknown CPU, since generated text must not depend on the machine that generates it.
UNKNOWN = Scheduling(Schedules(analytic(Hardware(64, 24, 32 << 10, 1 << 20))))
