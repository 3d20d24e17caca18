"""Objects that a wheel brings are taken where they are as good as compiled ones, and only then."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shlo_disc.device import headers
from shlo_disc.device.libraries import library_text
from shlo_disc.runtime.building import machines, prebuilt
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.building.machines import MACHINES, PREBUILT, TargetMachine, equivalent, native
from shlo_disc.runtime.building.toolchain import Compiler, find_compiler
from shlo_disc.runtime.library import RUNTIME_FUNCTIONS

KIND = "i64"
LIBRARY = f"gemm_{KIND}"
_V2 = "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
_AVX = f"{_V2} avx xsave"
_V3 = f"{_AVX} abm avx2 bmi1 bmi2 f16c fma movbe"
_V4 = f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl"
# What Linux reports of CPUs, of what matters here, and what is taken there.
CPUS = {
    "Nehalem": (_V2, "x86-64-v2"),
    "Sandy Bridge": (_AVX, None),  # no level: code for v2 uses half of its vectors
    "Piledriver": (f"{_AVX} fma f16c", None),
    "Zen 3": (_V3, "x86-64-v3"),
    "Alder Lake": (f"{_V3} avx_vnni", "x86-64-v3+avx_vnni"),
    "Arrow Lake": (f"{_V3} avx_vnni avx_vnni_int8", "x86-64-v3+avx_vnni+avx_vnni_int8"),
    "Knights Landing": (f"{_V3} avx512f avx512cd", None),
    "Skylake-X": (_V4, "x86-64-v4"),
    "Ice Lake": (f"{_V4} avx512_vnni avx512vbmi", "x86-64-v4+avx512_vnni"),
    "Zen 4": (f"{_V4} avx512_vnni avx512_bf16", "x86-64-v4+avx512_vnni+avx512_bf16"),
    "Zen 5": (f"{_V4} avx512_vnni avx512_bf16 avx_vnni", "x86-64-v4+avx512_vnni+avx512_bf16"),
}


@pytest.mark.parametrize("cpu", CPUS)
def test_a_cpu_takes_what_uses_all_of_it(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, expected = CPUS[cpu]
    monkeypatch.setattr(machines, "cpu_features", lambda: frozenset(features.split()))
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    found = equivalent(native())
    assert (found and found.name) == expected


def test_every_arm_takes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    features = "flags : avx2 fma\nFeatures : fp asimd asimddp bf16 i8mm sve"  # of an emulator: its host's as well
    monkeypatch.setattr(machines, "cpu_name", lambda: features)
    monkeypatch.setattr(machines, "cpu_features", machines.cpu_features.__wrapped__)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert machines.cpu_features() == {"fp", "asimd", "asimddp", "bf16", "i8mm", "sve"}
    assert equivalent(native()) == MACHINES["aarch64"]


def test_levels_are_their_own() -> None:
    assert [equivalent(one) for one in MACHINES.values()] == list(MACHINES.values())
    assert equivalent(replace(MACHINES["x86-64-v3"], name="x86-64-v3+more")) is None


def test_every_instruction_that_libraries_ask_for_is_looked_at() -> None:
    """A macro of a new instruction in a library makes other objects on machines that have it."""
    known = {"avx", "avx2", "f16c", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"}
    known |= {extra.replace("_", "") for machine in PREBUILT for extra in machine.name.split("+")[1:]}
    asked = {name for library in ("gemm_i8", "gemm_bf16_rounded", "conv_i8") for name in _macros(library)}
    assert {"avx512vnni", "avx512bf16", "avxvnniint8"} <= asked <= known | {"avx512vbmi"}  # gathers of kernels


def _macros(library: str) -> set[str]:
    texts = headers.included(library_text(library)).values()
    return {name.lower() for text in texts for name in re.findall(r"__((?:AVX|F16C|FMA)\w*?)__", text)}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are compiled."""
    found, run = list[str](), Compiler.compile

    def compile_and_tell(self: Compiler, source: Path, target: Path, optimize: int, include: Sequence[Path]) -> None:
        found.append(source.name)
        run(self, source, target, optimize, include)

    monkeypatch.setattr(Compiler, "compile", compile_and_tell)
    return found


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TargetMachine:
    """A package that brings the thread pool and a library, not optimized, for this machine."""
    machine = equivalent(native())
    if machine is None:
        pytest.skip("wheels bring nothing for this CPU")
    builder = Builder(replace(find_compiler(), machine=machine), 0, Cache(tmp_path / "other"))
    monkeypatch.setattr("shlo_disc.runtime.building.build.library_names", lambda: (LIBRARY,))
    prebuilt.write(tmp_path / "prebuilt", builder.prebuild([]))
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "prebuilt")
    return machine


def test_what_a_wheel_brings_is_not_compiled(wheel: TargetMachine, compiled: list[str], tmp_path: Path) -> None:
    compiled.clear()
    builder = Builder(find_compiler(), 0, Cache(tmp_path / "cache"))
    product = ctypes.CDLL(str(builder.timing(KIND)))
    assert product[f"shlo_repeat_gemm_{KIND}"]
    assert compiled == ["gemm_timing.cc"], "what calls the library"
    runtime = builder.runtime()
    assert runtime.parent == prebuilt.FOLDER
    assert builder.code(runtime) == runtime.read_bytes()
    assert ctypes.CDLL(str(runtime))[RUNTIME_FUNCTIONS[0]]
    at_level = replace(builder, compiler=replace(builder.compiler, machine=wheel))
    assert at_level.runtime() == runtime, "programs that are saved take it, too"
    assert compiled == ["gemm_timing.cc"]


def test_what_was_compiled_otherwise_is_not_taken(
    wheel: TargetMachine, compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = library_text(LIBRARY)
    assert prebuilt.find(native(), 0, text, ".o") is not None
    assert prebuilt.find(native(), 0, text, ".so") is None
    assert prebuilt.find(native(), 1, text, ".o") is None, "the flags differ"
    assert prebuilt.find(native(), 0, text + "\n", ".o") is None, "the text differs"
    other = next(one for one in MACHINES.values() if one != wheel)
    assert prebuilt.find(other, 0, text, ".o") is None, "the machine differs"
    others = {**headers.included(text), "gemm/gemm.h": "// changed"}

    def changed(_source: str) -> Mapping[str, str]:
        return others

    monkeypatch.setattr(headers, "included", changed)
    assert prebuilt.find(native(), 0, text, ".o") is None, "a header differs"
    compiled.clear()
    assert Builder(find_compiler(), 0, Cache(tmp_path / "cache")).runtime().parent != tmp_path / "prebuilt"
    assert compiled == ["runtime.cc"]


def test_a_checkout_brings_nothing() -> None:
    assert not prebuilt.FOLDER.exists()
    assert prebuilt.find(native(), 3, library_text("gemm_f32"), ".o") is None
