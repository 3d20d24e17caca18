"""Machines that code is compiled for: this one, or all CPUs that have certain instructions.

The levels of x86-64 are those of its System V ABI (section 3.1.1, "Processor Architecture"). "aarch64" is what every
64-bit ARM has: Armv8-A with NEON. The system is Linux.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.records import record

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_CACHE_BYTES = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}  # by level, where they are not known


@record
class TargetMachine:
    """What code is compiled for. `native`: this machine and no other.

    `family` is what Python's `platform.machine` calls it, `flags` are those of compilers, `features` names that Linux
    reports of a CPU that has them. `registers`: how many there are for vectors, of `register` bytes each.
    """

    name: str
    family: str
    flags: tuple[str, ...]
    features: frozenset[str]
    register: int
    registers: int

    @property
    def is_native(self) -> bool:
        """Whether it is this machine alone."""
        return self.name == NATIVE

    @property
    def identity(self) -> str:
        """What object files depend on besides the flags: code for one CPU must not run on another."""
        return cpu_name() if self.is_native else self.name

    @property
    def is_foreign(self) -> bool:
        """Whether this machine is of another family: it cannot load the code, and needs another C library for it."""
        return self.family != _family()

    @property
    def runs_here(self) -> bool:
        """Whether this machine runs its code."""
        return self.is_native or (not self.is_foreign and self.features <= cpu_features())

    @property
    def cache_bytes(self) -> tuple[int, ...]:
        """The bytes of the data caches of levels 1 to 3; those of common CPUs if this is not the native machine."""
        return tuple([cache_bytes(level) if self.is_native else size for level, size in _CACHE_BYTES.items()])


NATIVE = "native"
_WIDEST = "-mprefer-vector-width=512"
_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})
_V4 = _V3 | _AVX512 | {"avx512cd"}
# Inline sequences of instructions instead of calls of functions that choose between two of them: those are in libgcc.
_ATOMICS = "-mno-outline-atomics"
_SYSTEM = "-linux"  # may end the name of a machine
MACHINES = {
    machine.name: machine
    for machine in (
        TargetMachine("x86-64-v2", "x86_64", ("-march=x86-64-v2",), _V2, 16, 16),
        TargetMachine("x86-64-v3", "x86_64", ("-march=x86-64-v3",), _V3, 32, 16),
        TargetMachine("x86-64-v4", "x86_64", ("-march=x86-64-v4", _WIDEST), _V4, 64, 32),
        TargetMachine("aarch64", "aarch64", ("-march=armv8-a", _ATOMICS), frozenset(), 16, 32),
    )
}

# Instructions that libraries use beyond those of a level: by the name of Linux, the flag of compilers.
_EXTRA = {
    "avx_vnni": "-mavxvnni",
    "avx_vnni_int8": "-mavxvnniint8",
    "avx512_vnni": "-mavx512vnni",
    "avx512_bf16": "-mavx512bf16",
}
# The other instructions that decide what libraries do, which are those of some level.
_OF_LEVELS = {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"}


def _extended(level: TargetMachine, *extra: str) -> TargetMachine:
    """A level with more instructions."""
    name = "+".join((level.name, *extra))
    flags = (*level.flags, *map(_EXTRA.__getitem__, extra))
    return replace(level, name=name, flags=flags, features=level.features | set(extra))


# What wheels bring objects for: each CPU that makers sell is one of these, as far as libraries use instructions.
PREBUILT = (
    *MACHINES.values(),
    _extended(MACHINES["x86-64-v3"], "avx_vnni"),
    _extended(MACHINES["x86-64-v3"], "avx_vnni", "avx_vnni_int8"),
    _extended(MACHINES["x86-64-v4"], "avx512_vnni"),
    _extended(MACHINES["x86-64-v4"], "avx512_vnni", "avx512_bf16"),
)


def native() -> TargetMachine:
    """This machine."""
    flags = ("-march=native", _WIDEST) if _family() == "x86_64" else ("-mcpu=native",)
    return TargetMachine(NATIVE, _family(), flags, cpu_features(), *_vectors(_family(), cpu_features()))


def _vectors(family: str, features: frozenset[str]) -> tuple[int, int]:
    """The bytes of a vector register, and how many there are, as `device/values/tile.h` takes them."""
    if features >= _AVX512:
        return 64, 32
    return 32 if "avx" in features else 16, 32 if family == "aarch64" else 16


def machine_named(name: object) -> TargetMachine:
    """A machine by its name, such as "x86-64-v3" or "aarch64-linux". Raises `ShloDiscError` if there is none."""
    found = MACHINES.get(name.removesuffix(_SYSTEM)) if isinstance(name, str) else None
    if found is None:
        raise ShloDiscError(f"found the machine {name!r}, expected {' or '.join(map(repr, MACHINES))}")
    return found


def best_machine(names: Iterable[str] = tuple(MACHINES)) -> TargetMachine | None:
    """The machine of the widest vectors, among some, whose code this one runs."""
    found = [MACHINES[name] for name in names if name in MACHINES and MACHINES[name].runs_here]
    return max(found, key=lambda machine: machine.register, default=None)


def target_machine(name: str | None) -> TargetMachine:
    """The machine of a name, or the best that this one is if there is no name. Raises `ShloDiscError`."""
    if name is not None:
        return machine_named(name)
    if (best := best_machine()) is None:
        raise ShloDiscError(f"found {cpu_title()}, expected one of the machines {', '.join(MACHINES)}")
    return best


def equivalent(machine: TargetMachine) -> TargetMachine | None:
    """The machine of `PREBUILT` whose libraries are as good as those for `machine`; None if there is none.

    For this machine it is one that has all instructions that libraries would use here, and no others.
    """
    if not machine.is_native:
        return machine if machine in PREBUILT else None
    here = _used_by_libraries(cpu_features())
    found = [one for one in PREBUILT if one.runs_here and _used_by_libraries(one.features) == here]
    return found[0] if found else None


def _used_by_libraries(features: frozenset[str]) -> frozenset[str]:
    """The instructions of a CPU that libraries use: those of AVX-512 in place of those of 256 bits."""
    found = features & {*_EXTRA, *_OF_LEVELS}
    is_wide = found >= _V4 & _OF_LEVELS
    return found - {"avx_vnni", "avx_vnni_int8"} if is_wide else found - {"avx512_vnni", "avx512_bf16"}


def _family() -> str:
    found = platform.machine()
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(found, found)


@lru_cache
def cpu_features() -> frozenset[str]:
    """The features of this CPU, as Linux names them."""
    name = "Features" if _family() == "aarch64" else "flags"  # an emulator of ARM may show those of its host
    lines = [line for line in cpu_name().splitlines() if line.startswith(name)]
    return frozenset(word for line in lines for word in line.partition(":")[2].split())


def cpu_title() -> str:
    """The name of this CPU."""
    names = [
        line.partition(":")[2].strip()
        for line in cpu_name().splitlines()
        if line.startswith(("model name", "CPU part"))
    ]
    return names[0] if names else platform.machine()


@lru_cache
def cache_bytes(level: int) -> int:
    """The size of the data cache of level 1, 2 or 3, or of a common one if the system does not report it."""
    try:
        for folder in sorted(CACHES.glob("index*")):
            if int((folder / "level").read_text()) == level and "Instr" not in (folder / "type").read_text():
                return int((folder / "size").read_text().strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        pass
    return _CACHE_BYTES[level]


@lru_cache
def cpu_name() -> str:
    """The model and features of this CPU: code for one must not be run on another."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return f"{platform.machine()} {platform.processor()}"
    first = info.read_text(errors="replace").partition("\n\n")[0]
    wanted = ("model name", "flags", "CPU implementer", "CPU part", "Features")
    return "\n".join(line for line in first.splitlines() if line.startswith(wanted))
