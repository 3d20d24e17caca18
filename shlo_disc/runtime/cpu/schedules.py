"""The costs of micro-kernels on this machine: measured ones from the cache, shipped ones, or an analytic estimate.

Nothing here measures. What `shlo_disc.tune` has measured is in the cache, by CPU, compiler and prelude; what it has
measured for one program is there, too, by the program's text as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from shlo_disc.device.headers import included
from shlo_disc.device.libraries import library_names, library_text
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.cache import PACKAGE, Cache, digest
from shlo_disc.runtime.building.compiler import Compiler
from shlo_disc.runtime.building.machines import TargetMachine, best_machine, cpu_name, native
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.threads import default_threads
from shlo_disc.schedules.candidates import Hardware
from shlo_disc.schedules.tables import CostTable, Schedules, Scheduling, TunedProduct, analytic, parse_schedules

_CPU_INFO = Path("/proc/cpuinfo")

# Shipped costs: vendor, family and models as the CPU reports them -> the file.
_ZEN4 = frozenset({17, 24, 97, 116, 117, 120, 160})
# The Zen 5 models of servers and desktops (as in Linux' arch/x86/kernel/cpu/amd.c): others take two cycles for a vector
# of 512 bits.
_ZEN5 = frozenset({*range(0x20), *range(0x40, 0x50)})
_SHIPPED: Mapping[tuple[str, int], tuple[frozenset[int], str]] = {
    ("AuthenticAMD", 25): (_ZEN4, "zen4.json"),
    ("AuthenticAMD", 26): (_ZEN5, "zen5.json"),
}


def scheduling(cache: Cache, options: CompileOptions, text: str) -> Scheduling:
    """The scheduling of a program's products: the user's schedules or the best known ones, and the threads."""
    known = options.schedules or find_schedules(cache, find_compiler(options.compiler), options, text)
    return Scheduling(known, options.threads or default_threads())


def find_schedules(cache: Cache, compiler: Compiler, options: CompileOptions, text: str) -> Schedules:
    """The schedules of a program whose options give none: the best known ones for this CPU, and for the program."""
    key = costs_key(compiler, options.optimize)
    known = _load(cache, key)
    costs = known_costs() if known is None else known.costs
    tuned = _load(cache, digest(key, text))
    return Schedules(costs, () if tuned is None else tuned.tuned)


def store_costs(cache: Cache, compiler: Compiler, options: CompileOptions, costs: CostTable) -> None:
    """Keep what was measured of this CPU, for all programs."""
    cache.keep("schedules", costs_key(compiler, options.optimize), Schedules(costs).to_json().encode())


def store_tuned(
    cache: Cache, compiler: Compiler, options: CompileOptions, text: str, tuned: tuple[TunedProduct, ...]
) -> None:
    """Keep what was measured of one program, by its text."""
    key = digest(costs_key(compiler, options.optimize), text)
    cache.keep("schedules", key, Schedules(known_costs(), tuned).to_json().encode())


def costs_key(compiler: Compiler, optimize: int) -> str:
    """The key of measurements: the CPU, the compiler, and the prelude's products."""
    return digest("schedules", cpu_name(), compiler.identity, *compiler.flags(optimize), _products())


def known_costs() -> CostTable:
    """Shipped costs if there are any for this CPU, else an analytic estimate."""
    return _shipped(*_identity()) or analytic(hardware())


def scheduling_for(machine: TargetMachine, here: Scheduling) -> Scheduling:
    """The scheduling of a program for a machine: what is known of this CPU (`here`), if it is of that level itself."""
    if machine.is_native or machine == best_machine():
        return here
    return replace(here, schedules=replace(here.schedules, costs=analytic(hardware_of(machine))))


def hardware_of(machine: TargetMachine) -> Hardware:
    """The vectors and caches of a machine: tiles keep sums in three quarters of its registers, as in `gemm/tiles.h`."""
    level_1, level_2, _ = machine.cache_bytes
    return Hardware(machine.register, machine.registers * 3 // 4, level_1, level_2)


@lru_cache
def hardware() -> Hardware:
    """The vectors and caches of this CPU."""
    return hardware_of(native())


@lru_cache
def _identity() -> tuple[str, int, int]:
    """Vendor, family and model of this CPU, as x86 gives them."""
    try:
        first = _CPU_INFO.read_text(errors="replace").partition("\n\n")[0]
    except OSError:
        return "", 0, 0
    fields = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.*)$", first, re.MULTILINE))
    return fields.get("vendor_id", ""), int(fields.get("cpu family", 0)), int(fields.get("model", 0))


@lru_cache
def _shipped(vendor: str, family: int, model: int) -> CostTable | None:
    models, name = _SHIPPED.get((vendor, family), (frozenset[int](), ""))
    if model not in models:
        return None
    return parse_schedules((PACKAGE / "schedules" / name).read_bytes()).costs


@lru_cache
def _products() -> str:
    """A key for the texts of all products."""
    libraries = [library_text(name) for name in library_names() if name.startswith("gemm")]
    headers = {name: text for library in libraries for name, text in included(library).items()}
    return digest(*libraries, *headers.values())


def _load(cache: Cache, key: str) -> Schedules | None:
    """The stored schedules; None if there are none, or the entry is damaged."""
    data = cache.load("schedules", key)
    try:
        return None if data is None else parse_schedules(data)
    except ValueError:
        return None
