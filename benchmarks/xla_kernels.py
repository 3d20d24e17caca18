"""What XLA runs for a program at given shapes: the kernels of its optimized HLO, counted."""

# jaxlib's executables are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax

from tests.oracle import xla_executable

# What runs no code of its own: names for memory, and control flow, whose bodies are counted.
_NO_KERNEL = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "while", "conditional", "call",
    "opt-barrier", "partition-id", "replica-id",
})  # fmt: skip
_COMPUTE_BOUND = frozenset({"dot", "convolution", "sort", "topk", "cholesky", "triangular-solve", "fft"})
_HEAD = re.compile(r"^(?:ENTRY )?%?(\S+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%\S+ = (?:\([^=]*?\)|\S+) ([\w-]+)\(")
_CALLED = re.compile(r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_MATMUL_CALL = re.compile(r'custom_call_target="[^"]*(?:[Mm]at[Mm]ul|gemm|[Cc]onv|TopK|onednn|cublas)[^"]*"')


@dataclass(frozen=True, slots=True)
class KernelCount:
    """Kernels that one call may launch, each branch and loop body once. `memory`: those that move more than compute."""

    total: int
    memory: int


@dataclass(frozen=True, slots=True)
class _Instruction:
    opcode: str
    text: str

    @property
    def called(self) -> Sequence[str]:
        names = _CALLED.findall(self.text)
        for branches in _BRANCHES.findall(self.text):
            names += [name.strip().lstrip("%") for name in branches.split(",")]
        return names


def xla_kernels(text: str, shapes: Sequence[tuple[int, ...]]) -> KernelCount:
    """Compile `@main` of a StableHLO text by XLA for the CPU at these shapes, and count."""
    with jax.enable_x64(True):
        executable = xla_executable(text, shapes, jax.devices("cpu")[0])
    return count_kernels(executable.hlo_modules()[0].to_string())


def count_kernels(hlo: str) -> KernelCount:
    """Count the fusions and the other kernels of a module, loop bodies and branches included.

    On the CPU, XLA wraps products into fusions of kind kCustom: a fusion is bound by compute if a product, a
    convolution or a sort is in it, or in what it calls. A library call counts as what its name says.
    """
    entry, computations = _computations(hlo)
    total = memory = 0
    pending, seen = [entry], {entry}
    while pending:
        for instruction in computations[pending.pop()]:
            if instruction.opcode in ("while", "conditional", "call"):
                fresh = [name for name in instruction.called if name not in seen]
                seen.update(fresh)
                pending += fresh
            if instruction.opcode not in _NO_KERNEL and not instruction.opcode.endswith("-done"):
                total += 1
                memory += not _is_compute_bound(instruction, computations)
    return KernelCount(total, memory)


def _is_compute_bound(instruction: _Instruction, computations: Mapping[str, Sequence[_Instruction]]) -> bool:
    if instruction.opcode in _COMPUTE_BOUND:
        return True
    if instruction.opcode == "custom-call":
        return _MATMUL_CALL.search(instruction.text) is not None
    if instruction.opcode != "fusion":
        return False
    inside = [i for name in instruction.called for i in computations.get(name, ())]
    return any(_is_compute_bound(i, computations) for i in inside)


def _computations(hlo: str) -> tuple[str, Mapping[str, Sequence[_Instruction]]]:
    """The name of the entry, and every computation's instructions."""
    found, entry, current = dict[str, list[_Instruction]](), "", list[_Instruction]()
    for line in hlo.splitlines():
        if (head := _HEAD.match(line)) is not None and not line.startswith("HloModule"):
            current = found[head[1]] = []
            entry = head[1] if line.startswith("ENTRY") else entry
        elif (instruction := _INSTRUCTION.match(line)) is not None:
            current.append(_Instruction(instruction[1], line))
    assert entry, "a module has an entry"
    return entry, found
