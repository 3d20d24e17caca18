"""What printing one group for a GPU gives: its text, and the ways to launch it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shlo_disc.codegen.host import CallVariant
from shlo_disc.codegen.indices import size_name
from shlo_disc.codegen.kernel import Param
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.expr.dim import Dim
from shlo_disc.lower_cuda.spelling import CudaSpelling


@dataclass(frozen=True, slots=True)
class Printed:
    """CUDA functions (their names begin with `naming.NAME`), and variants that launch them.

    In the variants' calls, buffer k is the kernel's param k; beyond the params come the `workspaces` (bytes).
    `spaces` are numbers of elements that 32-bit indices have to count: iteration spaces, and extents of buffers that
    are read or written.
    """

    text: str
    variants: tuple[CallVariant, ...]
    spaces: tuple[Dim, ...]
    workspaces: tuple[Dim, ...] = ()


def signature(
    name: str,
    params: Sequence[Param],
    written: Sequence[Param],
    symbols: Sequence[str],
    *,
    threads: int | tuple[int, int],
    workspaces: Sequence[str] = (),
) -> list[str]:
    """The head of a kernel: a pointer per param and workspace, then the program's sizes, which become `idx`.

    `threads`: of a block; or those, and how many blocks a multiprocessor shall hold at once, which bounds registers.
    """
    spell = CudaSpelling()
    arguments = [
        f"{'' if p in written else 'const '}{spell.memory_type(p.dtype)}* __restrict__ const {p.name}" for p in params
    ]
    arguments += [f"char* __restrict__ const {w}" for w in workspaces]
    arguments += [f"const int64_t {size_name(s)}_" for s in symbols]
    bounds = str(threads) if isinstance(threads, int) else f"{threads[0]}, {threads[1]}"
    head = f'extern "C" __global__ void __launch_bounds__({bounds}) {name}('
    sizes = [f"{INDENT}const idx {size_name(s)} = (idx){size_name(s)}_;" for s in symbols]
    return [head + ", ".join(arguments) + ") {", *sizes]
