"""The result of printing one group for a GPU: its text, and the ways to launch it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shlo_disc.emit.indices import size_name
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim
from shlo_disc.host.program import InPlace
from shlo_disc.host_ir import GridLaunch, Guard, Variant
from shlo_disc.kernels.kernel import Param
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

ALIGNMENT = 16  # bytes, of every array in shared memory


@record
class Printed:
    """CUDA functions (their names begin with `naming.NAME`), and variants that launch them.

    In the variants' calls, buffer k is the kernel's param k; the `workspaces` (bytes) follow the params.
    `spaces` are numbers of elements that 32-bit indices have to count: iteration spaces, and extents of buffers that
    are read or written. `in_place`: pairs of params, where any variant may write the second in place of the first.
    """

    text: str
    variants: tuple[Variant[Dim], ...]
    spaces: tuple[Dim, ...]
    workspaces: tuple[Dim, ...] = ()
    in_place: InPlace = ()


@record
class Shared:
    """An array in shared memory: a C++ type, a name, the number of elements, and the bytes of one."""

    kind: str
    name: str
    count: int
    bytes: int


@record
class KernelText:
    """A kernel whose place in the grid is `block` and `blocks`, so that it can be a part of a larger one.

    `params` are its pointers, `written` those that it writes, `aliases` those that may alias another, `symbols` the
    program's sizes; `threads` as in `heading`.
    """

    name: str
    params: tuple[Param, ...]
    written: tuple[Param, ...]
    symbols: tuple[str, ...]
    threads: int | tuple[int, int]
    shared: tuple[Shared, ...]
    body: tuple[str, ...]
    workspaces: tuple[str, ...] = ()
    aliases: frozenset[Param] = frozenset()

    def kernel(self) -> list[str]:
        """Print it as a kernel, whose blocks are those of the grid."""
        head = heading(self.name, self._buffers, self.symbols, self.threads)
        arrays = [f"SHLO_SHARED({s.kind}, {s.name}, {s.count});" for s in self.shared]
        place = "const idx block = (idx)blockIdx.x, blocks = (idx)gridDim.x;"
        return [*head, *(INDENT + line for line in (*arrays, place, *self.body)), "}"]

    def function(self) -> list[str]:
        """Print it as a device function of the shared memory, its block, and the number of blocks."""
        arrays, offset = list[str](), 0
        for array in self.shared:
            arrays.append(f"{array.kind}* const {array.name} = ({array.kind}*)(memory + {offset});")
            offset += -(-array.count * array.bytes // ALIGNMENT) * ALIGNMENT
        parameters = [
            *self._buffers,
            *(f"const idx {size_name(s)}" for s in self.symbols),
            *(["char* const memory"] if self.shared else []),
            "const idx block, const idx blocks",
        ]
        head = f"SHLO_DEVICE void {self.name}({', '.join(parameters)}) {{"
        return [head, *(INDENT + line for line in (*arrays, *self.body)), "}"]

    @property
    def _buffers(self) -> list[str]:
        return pointers(self.params, self.written, self.aliases, self.workspaces)

    @property
    def memory(self) -> int:
        """Bytes of shared memory of a block."""
        return sum(-(-s.count * s.bytes // ALIGNMENT) * ALIGNMENT for s in self.shared)


@record
class Way:
    """One way to compute a group, or a stage of it: kernels, functions that these call, and launches.

    `guards` and `aligned` are those of a variant.
    """

    label: str
    calls: tuple[GridLaunch[Dim], ...]
    kernels: tuple[KernelText, ...]
    functions: tuple[str, ...] = ()
    guards: tuple[Guard[Dim], ...] = ()
    aligned: bool = False

    @property
    def variant(self) -> Variant[Dim]:
        """The variant for the launch table."""
        return Variant(self.label, self.guards, self.aligned, self.calls)

    @property
    def text(self) -> list[str]:
        """The lines of all kernels."""
        return [line for kernel in self.kernels for line in kernel.kernel()]


def pointers(
    params: Sequence[Param],
    written: Collection[Param],
    aliases: Collection[Param] = (),
    workspaces: Sequence[str] = (),
) -> list[str]:
    """A parameter per buffer, `__restrict__` unless it is in `aliases`."""
    spell, found = CudaSpelling(), list[str]()
    for param in params:
        qualifier = "" if param in aliases else "__restrict__ "
        kind = spell.memory_type(param.dtype)
        found.append(f"{'' if param in written else 'const '}{kind}* {qualifier}const {param.name}")
    return [*found, *(f"char* __restrict__ const {w}" for w in workspaces)]


def signature(
    name: str,
    params: Sequence[Param],
    written: Sequence[Param],
    symbols: Sequence[str],
    *,
    threads: int | tuple[int, int],
    workspaces: Sequence[str] = (),
) -> list[str]:
    """The head of a kernel whose buffers do not alias."""
    return heading(name, pointers(params, written, workspaces=workspaces), symbols, threads)


def heading(name: str, buffers: Sequence[str], symbols: Sequence[str], threads: int | tuple[int, int]) -> list[str]:
    """The head of a kernel: a pointer per buffer, then the program's sizes, which become `idx`.

    `threads`: of a block; or also the least number of resident blocks per multiprocessor, which bounds registers.
    """
    arguments = [*buffers, *(f"const int64_t {size_name(s)}_" for s in symbols)]
    bounds = str(threads) if isinstance(threads, int) else f"{threads[0]}, {threads[1]}"
    head = f'extern "C" __global__ void __launch_bounds__({bounds}) {name}('
    sizes = [f"{INDENT}const idx {size_name(s)} = (idx){size_name(s)}_;" for s in symbols]
    return [head + ", ".join(arguments) + ") {", *sizes]
