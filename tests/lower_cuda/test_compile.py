"""The kernels of the corpus' models, and of its op cases, compile for GPUs as they are meant to.

A run compiles those of the models for one GPU and 100 op cases for each of two others; `--exhaustive` compiles those of
the models and of 300 op cases for three. No GPU is needed: NVRTC tells registers, spills and shared memory, and the
disassembler shows the instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shlo_disc.expr.dim import Dim
from shlo_disc.host_ir import GridLaunch, Variant
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cuda import nvrtc
from shlo_disc.runtime.cuda.device import IndexType
from shlo_disc.runtime.threads import available_threads
from tests.lower_cuda.collected import Collection, Printed
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.sass import Resources, disassembler, instructions, resources

pytestmark = pytest.mark.slow

MODELS = ("bert", "gpt2", "llama", "mobilenet_v3", "resnet", "t5", "vit", "whisper")
SOURCES = ("handwritten", "jax_poly", "jax_static")
OP_CASES, ALL_OP_CASES = 100, 300
MODULE = 24_000  # characters: about fifty kernels

SHARED = {80: 163 << 10, 90: 227 << 10, 100: 227 << 10}  # bytes that one block may have
DISASSEMBLED = 90  # which instructions there are is the same everywhere
REGISTERS = 65536  # of a multiprocessor
# A call of a slow path (the reduction of a huge angle in f64) saves registers around itself.
SLOW_PATH = re.compile(r"\b(double|c64|c128)\b.*\b(sin|cos|tan|exp|expm1|tanh|pow|cbrt|logistic)_\(", re.DOTALL)

_BOUNDS = re.compile(r'extern "C" __global__ void __launch_bounds__\((\d+)(?:, (\d+))?\) (\w+)\(')
_TENSOR_CORES = re.compile(r"\bTensorTile<|\bmma_m16n8")

Case = Mapping[str, Any]


def _op_cases(corpus: Path) -> list[Path]:
    """Programs to try, smallest first: one per operation and element type."""
    cases: list[Case] = json.loads((corpus / "manifest.json").read_text())["cases"]
    picked = dict[tuple[str, str], Case]()
    for case in sorted(cases, key=_size):
        if case["source"] in SOURCES:
            picked.setdefault((case["group"], case["element_types"][0]), case)
    return [corpus / case["source"] / f"{case['name']}.mlir" for case in picked.values()]


def _size(case: Case) -> tuple[int, str]:
    return case["size"], case["name"]


@pytest.fixture(scope="module")
def models(corpus: Path) -> tuple[Printed, ...]:
    require_nvrtc()
    collection = Collection(CompileOptions())
    for name in MODELS:
        collection.add(name, (corpus / "models" / name / "module.mlir").read_text())
    assert not collection.unsupported
    return tuple(collection.printed.values())


@pytest.fixture(scope="module")
def op_cases(corpus: Path, exhaustive: bool) -> tuple[Printed, ...]:
    require_nvrtc()
    collection, tried = Collection(CompileOptions()), 0
    wanted = ALL_OP_CASES if exhaustive else OP_CASES
    for path in _op_cases(corpus)[:: 1 if exhaustive else 3]:
        collection.add(f"{path.parent.name}/{path.stem}", path.read_text())
        tried += 1
        if tried - len(collection.unsupported) == wanted:
            return tuple(collection.printed.values())
    raise AssertionError(f"only {tried - len(collection.unsupported)} cases compile: {collection.unsupported}")


def _modules(printed: Iterable[Printed]) -> list[str]:
    """Kernels side by side in files of a good size, the largest kernels first."""
    files, size = [list[str]()], 0
    for one in sorted(printed, key=lambda p: -len(p.text)):
        if size > MODULE:
            files.append([])
            size = 0
        files[-1].append(one.text)
        size += len(one.text)
    return ["\n".join(['#include "call/shlo.cuh"', *texts]) for texts in files]


@dataclass(frozen=True, slots=True)
class Built:
    """All kernels for one architecture."""

    resources: Mapping[str, Resources]
    code: Mapping[str, str]  # machine code, as text; empty unless asked for


def _build(
    printed: Iterable[Printed], architecture: int, index: IndexType = "int32_t", *, disassemble: bool = False
) -> Built:
    """Compile on all cores."""

    def one(text: str) -> tuple[Mapping[str, Resources], Mapping[str, str]]:
        compiled = nvrtc.compile_kernels(text, "kernels.cu", architecture, index)
        return resources(compiled.log), instructions(compiled.cubin) if disassemble else {}

    with ThreadPoolExecutor(available_threads()) as pool:
        done = list(pool.map(one, _modules(printed)))
    return Built(
        {k: v for took, _ in done for k, v in took.items()}, {k: v for _, code in done for k, v in code.items()}
    )


def _check_resources(printed: Sequence[Printed], found: Mapping[str, Resources], architecture: int) -> None:
    """Kernels keep to what their launches take for granted."""
    wrong = list[str]()
    for one in printed:
        bounds = {name: (int(threads), int(blocks or 1)) for threads, blocks, name in _BOUNDS.findall(one.text)}
        calls = {c.kernel: c for v in one.variants for c in v.commands if isinstance(c, GridLaunch)}
        assert bounds.keys() == calls.keys(), f"{one.origin}: kernels and launches differ"
        for name, call in calls.items():
            took, (threads, blocks) = found[name], bounds[name]
            shared = took.shared + (call.shared.constant or 0)
            if call.threads > threads:
                wrong.append(f"{name} is launched with {call.threads} threads, but bound to {threads}")
            if took.registers * threads * blocks > REGISTERS:
                wrong.append(f"{name} takes {took.registers} registers in {blocks} blocks of {threads} threads")
            if shared > SHARED[architecture]:
                wrong.append(f"{name} takes {shared} bytes of shared memory")
            if one.kind is GroupKind.ROWS and took.spilled and not SLOW_PATH.search(one.text):
                wrong.append(f"{name} spills {took.spilled} bytes")
    origins = {one.name: one.origin for one in printed}
    assert not wrong, "\n".join(f"{w} ({origins['_'.join(w.split('_')[:2])]})" for w in wrong)


def _check_instructions(printed: Sequence[Printed], code: Mapping[str, str]) -> None:
    """Aligned variants move 16 bytes at once; kernels for tensor cores use them."""
    wrong = list[str]()
    for one in printed:
        for variant in one.variants:
            if variant.aligned and not any("E.128" in code[name] for name in _kernels(variant)):
                wrong.append(f"{one.name} {variant.label} ({one.origin}): no access of 16 bytes")
        for name, body in _bodies(one.text).items():
            if _TENSOR_CORES.search(body) and "HMMA" not in code[name]:
                wrong.append(f"{name} ({one.origin}): no tensor cores")
    assert not wrong, "\n".join(wrong)


def _kernels(variant: Variant[Dim]) -> list[str]:
    return [call.kernel for call in variant.commands if isinstance(call, GridLaunch)]


def _bodies(text: str) -> dict[str, str]:
    heads = list(_BOUNDS.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head[3]: text[head.end() : end] for head, end in zip(heads, ends, strict=True)}


@pytest.mark.parametrize("architecture", SHARED)
def test_models(models: tuple[Printed, ...], architecture: int, exhaustive: bool) -> None:
    if architecture != DISASSEMBLED and not exhaustive:
        pytest.skip("the op cases are compiled for it: --exhaustive")
    look = architecture == DISASSEMBLED
    if look:
        disassembler()
    built = _build(models, architecture, disassemble=look)
    _check_resources(models, built.resources, architecture)
    if look:
        _check_instructions(models, built.code)


@pytest.mark.parametrize(("architecture", "index"), [(80, "int64_t"), (90, "int32_t"), (100, "int32_t")])
def test_op_cases(op_cases: tuple[Printed, ...], architecture: int, index: IndexType, exhaustive: bool) -> None:
    if architecture == DISASSEMBLED and not exhaustive:
        pytest.skip("the models are compiled for it: --exhaustive")
    _check_resources(op_cases, _build(op_cases, architecture, index).resources, architecture)
