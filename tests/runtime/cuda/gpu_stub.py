"""A device without kernels: host memory, functions of the table as Python callbacks, groups run by the reference.

It is for what the runtime does around kernels. Kernels themselves run in tests/emulator and tests/lower_cuda.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import likely_points
from shlo_disc.artifact import Artifact, SourceFile
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.dynamic_ops.reference import _Interpreter  # pyright: ignore[reportPrivateUsage] - one group at a time
from shlo_disc.expr.dim import Dim, Sym, const, product
from shlo_disc.fusion.fuse import plan_unfused
from shlo_disc.host.assemble import assemble
from shlo_disc.host.plan import plan_host
from shlo_disc.host.program import GridRef
from shlo_disc.host_ir import BatchLoop, Copy, GridLaunch, Guard, Product, Variant
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.kernels.groups import Context, Group, GroupKind
from shlo_disc.kernels.op_graph import group_inputs
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cuda.host import print_host
from shlo_disc.parse.parser import parse_module
from shlo_disc.report_model import ReportModel
from shlo_disc.runtime.cuda import table as cuda_table
from shlo_disc.runtime.cuda.device import DeviceArray, DeviceMemory, IndexType, Limits, LoadedKernel
from shlo_disc.runtime.interop import as_numpy, dtype_of
from tests.runtime.cuda.host_memory import HostMemoryDevice

Array = NDArray[Any]
Kernel = Callable[[Sequence[int]], None]
GPU = Limits(multiprocessors=4, threads=2048, blocks=32, registers=65536, shared=228 << 10, shared_per_block=227 << 10)
_DTYPES = {0: np.float32, 1: np.float64, 2: np.float16, 4: np.complex64, 5: np.complex128}
POISON = 0xFF


def view(address: int, dtype: Any, shape: tuple[int, ...]) -> Array:
    """Memory as an array."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = (ctypes.c_char * size).from_address(address) if size else bytearray()
    return np.ndarray(shape, kind, buffer=memoryview(raw))


def _discard(function: Callable[..., object], *arguments: int) -> None:
    function(*arguments)


class Lowering:
    """Every group as kernels that the reference computes: `wide` if sizes and alignment allow it, or `plain`."""

    abilities = CpuLowering.abilities

    def __init__(self, program: Program) -> None:
        self.program = program
        self.producers = producers_of(program.body)
        self.kernels = dict[str, tuple[int, Kernel]]()  # how many params it takes, and what it does

    def lower(self, group: Group) -> GridRef:
        inputs = group_inputs(group, self.producers)
        tensors = (*inputs, *(root for root in group.roots if root not in inputs))
        name = f"{group.ops[-1].name}_{len(self.kernels)}"
        symbols = tuple(sorted({s.name for t in tensors for d in t.shape for s in d.symbols()}))
        size = product(group.roots[0].shape)
        calls = tuple(self._call(f"{name}_{kind}", group, tensors, symbols) for kind in ("wide", "plain"))
        wide = Variant("wide", (Guard(size % 4, "==", const(0)),), True, (calls[0],))
        plain = Variant("plain", (), False, (replace(calls[1], cycles=const(900)),))
        library = self._product(group, inputs)
        copied = Variant("aside", (), False, (*self._aside(calls[1], len(tensors)),))
        return GridRef(name, tensors, (size * group.roots[0].dtype.bytes,), (wide, plain, copied, *library), (size,))

    def _call(self, name: str, group: Group, tensors: Sequence[Tensor], symbols: tuple[str, ...]) -> GridLaunch[Dim]:
        def run(params: Sequence[int]) -> None:
            addresses, numbers = params[: len(tensors)], params[len(tensors) :]
            sizes = {Sym(s): n for s, n in zip(symbols, numbers, strict=True)}
            arrays = {
                t: view(a, numpy_dtype(t.dtype), tuple(d.evaluate(sizes) for d in t.shape))
                for t, a in zip(tensors, addresses, strict=True)
            }
            inputs = [t for t in tensors if t not in group.roots]
            body = Body(tuple(inputs), group.ops, group.roots)
            values = {**self.program.constants}
            for root, found in zip(
                group.roots, _Interpreter(sizes, values).run(body, tuple(arrays[t] for t in inputs)), strict=True
            ):
                arrays[root][...] = found

        self.kernels[name] = (len(tensors) + len(symbols), run)
        blocks = -(-product(group.roots[0].shape) // 64)
        return GridLaunch(name, tuple(range(len(tensors))), symbols, blocks, 64, const(0), const(500), const(100))

    def _aside(self, call: GridLaunch[Dim], workspace: int) -> tuple[GridLaunch[Dim] | Copy, ...]:
        """The result by way of the workspace."""
        target = call.buffers[-1]
        return (replace(call, buffers=(*call.buffers[:-1], workspace), cycles=const(5000)), Copy(workspace, target))

    def _product(self, group: Group, inputs: Sequence[Tensor]) -> tuple[Variant[Dim], ...]:
        """`[b, m, k] @ [b, k, n]`, or the same without b, by the library."""
        op: Op[Any] = group.ops[-1]
        if group.kind is not GroupKind.DOT or len(group.ops) > 1 or not isinstance(op.attrs, DotAttrs):
            return ()
        lhs, rhs = op.operands
        *batch, m, k = lhs.shape
        n = rhs.shape[-1]
        call = Product(
            a=inputs.index(lhs), b=inputs.index(rhs), c=len(inputs),
            a_offset=const(0), b_offset=const(0), c_offset=const(0), a_leading=k, b_leading=n, c_leading=n,
            a_transposed=False, b_transposed=False, m=m, n=n, k=k,
            batch=_loops(batch, m, n, k), dtypes=(lhs.dtype.numpy, op.results[0].dtype.numpy),
            compute="f64" if lhs.dtype.bytes == 8 else "f32",
        )  # fmt: skip
        return (Variant("library", (), False, (call,)),)


def _loops(batch: Sequence[Dim], m: Dim, n: Dim, k: Dim) -> tuple[BatchLoop[Dim], ...]:
    inner = product(batch[1:])
    return tuple(
        BatchLoop(extent, (inner if axis + 1 < len(batch) else const(1)) * m * k,
                  (inner if axis + 1 < len(batch) else const(1)) * k * n,
                  (inner if axis + 1 < len(batch) else const(1)) * m * n)
        for axis, extent in enumerate(batch)
    )  # fmt: skip


def lowered(text: str) -> tuple[Artifact, Mapping[str, tuple[int, Kernel]]]:
    """A StableHLO program, one group per op, for `StubDevice`."""
    program = legalize(parse_module(text, "stub.mlir"))
    lowering = Lowering(program)
    context = Context(program.facts, lowering.producers, lowering.abilities, likely_points(program, {}))
    host = plan_host(program, context, plan_unfused, lowering.lower)
    names = tuple(parameter.tensor.name for parameter in program.parameters)
    driver = SourceFile("host", print_host(program, host))
    artifact = assemble(program, host, (), driver, names, ReportModel())
    return replace(artifact, device="cuda"), lowering.kernels


class Block:
    """Memory of the device, which takes it back when it is dropped."""

    def __init__(self, data: Array, free: list[Array]) -> None:
        self.data, self._free = data, free
        self.pointer = data.ctypes.data + -data.ctypes.data % 256
        data.fill(POISON)

    def __del__(self) -> None:
        self._free.append(self.data)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Commands to run later."""

    commands: Sequence[Callable[[], None]]

    def launch(self) -> None:
        for command in self.commands:
            command()


class StubDevice(HostMemoryDevice):
    """Records every command in `log`; the one of number `fails_at` fails, with the error `code`."""

    name = "stub"
    limits = GPU

    def __init__(self, kernels: Mapping[str, tuple[int, Kernel]], *, has_cublas: bool = True) -> None:
        self.kernels = list(kernels.items())
        self.has_cublas = has_cublas
        self.log = list[str]()
        self.loaded = list[IndexType]()
        self.allocated = list[int]()
        self.free = dict[int, list[Array]]()
        self.held = 0
        self.fails_at: int | None = None
        self.code = 7
        self.tables = 0
        self._allocator = threading.Lock()
        self._local = threading.local()  # `recording`: each thread records its own commands alone
        self._callbacks = (
            cuda_table.Launch(self.launch), cuda_table.Move(self._copy), cuda_table.Read(self._read),
            cuda_table.Synchronize(self._synchronize), cuda_table.Fill(self._fill), cuda_table.Gemm(self._gemm),
            cuda_table.SetStream(self._set_stream),
        )  # fmt: skip
        self._table = cuda_table.Table(*(ctypes.cast(c, ctypes.c_void_p).value for c in self._callbacks), 77, 78)

    # -- the protocol

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, LoadedKernel]:
        del files
        self.loaded.append(index)
        known = [name for name, _ in self.kernels]
        return {name: LoadedKernel(known.index(name) + 1, 32, 0) for name in names}

    def table(self, *, products: bool) -> int:
        del products
        self.tables += 1
        return ctypes.addressof(self._table)

    def xla_driver(self) -> cuda_table.XlaDriver:
        raise AssertionError("the emulator stands for the GPU of XLA")

    def allocate(self, size: int) -> Block:
        """The free memory of this size with the lowest address: who comes again gets the same."""
        self.allocated.append(size)
        with self._allocator:  # a block that is dropped meanwhile is put back without it
            free = self.free.setdefault(size, [])
            if not free:
                free += [np.empty(size + 512, np.uint8) for _ in range(4)]
            lowest = min(range(len(free)), key=lambda k: free[k].ctypes.data)
            return Block(free.pop(lowest), free)

    def upload(self, data: bytes) -> Block:
        block = self.allocate(len(data))
        ctypes.memmove(block.pointer, data, len(data))
        return block

    def import_array(self, array: object) -> DeviceArray:
        found = as_numpy(array)
        return DeviceArray(found.ctypes.data, found.shape, str(found.dtype), array)

    def writable(self, array: object) -> None:
        """Nothing is known to be the device's own."""

    def copy(self, pointer: int, size: int) -> Block:
        return self.upload(self.download(pointer, size))

    def export_array(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: str) -> Array:
        return view(memory.pointer, dtype_of(dtype), shape).copy()

    def hold(self, owners: Sequence[object]) -> None:
        self.held += len(owners)

    def capture(self, run: Callable[[int], None], *, products: bool) -> Recorded:
        self._local.recording = commands = list[Callable[[], None]]()
        try:
            run(self.table(products=products))
        finally:
            self._local.recording = None
        self.log.append("captured")
        return Recorded(commands)

    def mirror(
        self, run: Callable[[Sequence[Any]], tuple[Any, ...]], arrays: Sequence[Any], like: tuple[Any, ...] = ()
    ) -> tuple[object, ...]:
        del like
        return run(arrays)

    def explain_error(self, code: int) -> str:
        return f"stub error {code}"

    # -- the functions of the table

    def _do(self, what: str, command: Callable[[], None]) -> int:
        if self.fails_at is not None and len(self.log) == self.fails_at:
            return self.code
        self.log.append(what)
        recording: list[Callable[[], None]] | None = getattr(self._local, "recording", None)
        if recording is None:
            command()
        else:
            recording.append(command)
        return 0

    def launch(self, handle: int, *rest: int) -> int:
        """`cuLaunchKernel`."""
        grid, params = rest[:7], rest[8]
        name, (count, kernel) = self.kernels[handle - 1]
        assert min(grid[:6]) > 0, f"{name} is launched on an empty grid"
        slots = (ctypes.c_void_p * count).from_address(params)
        values = [ctypes.c_int64.from_address(cast("int", slots[k])).value for k in range(count)]
        return self._do(name, lambda: kernel(values))

    def _copy(self, target: int, source: int, size: int, stream: int) -> int:
        assert stream == 77
        return self._do("copy", partial(_discard, ctypes.memmove, target, source, size))

    def _read(self, target: int, source: int, size: int, stream: int) -> int:
        assert stream == 77
        return self._do("read", partial(_discard, ctypes.memmove, target, source, size))

    def _synchronize(self, stream: int) -> int:
        assert stream == 77
        return 0

    def _fill(self, target: int, byte: int, size: int, stream: int) -> int:
        assert stream == 77
        return self._do("fill", partial(_discard, ctypes.memset, target, byte, size))

    def _set_stream(self, handle: int, stream: int) -> int:
        assert (handle, stream) == (78, 77)
        return 0

    def _gemm(self, handle: int, transa: int, transb: int, m: int, n: int, k: int, *rest: int) -> int:
        """CuBLAS's own definition: column-major, with leading dimensions and strides in elements."""
        alpha, a, a_type, lda, a_stride, b, b_type, ldb, b_stride, beta, c, c_type, ldc, c_stride, batch, compute, _ = (
            rest
        )
        assert handle == 78
        scale = np.float64 if compute == 70 else np.float32
        assert (view(alpha, scale, (1,))[0], view(beta, scale, (1,))[0]) == (1, 0)

        def column_major(start: int, kind: int, shape: tuple[int, int], leading: int, offset: int) -> Array:
            assert leading >= shape[0], f"a leading dimension of {leading} for {shape[0]} rows"
            dtype = np.dtype(_DTYPES[kind])
            flat = view(start + offset * dtype.itemsize, dtype, ((shape[1] - 1) * leading + shape[0],))
            return np.lib.stride_tricks.as_strided(flat, shape, (dtype.itemsize, leading * dtype.itemsize))

        def run() -> None:
            for i in range(batch):
                left = column_major(a, a_type, (k, m) if transa else (m, k), lda, i * a_stride)
                right = column_major(b, b_type, (n, k) if transb else (k, n), ldb, i * b_stride)
                target = column_major(c, c_type, (m, n), ldc, i * c_stride)
                target[...] = (left.T if transa else left) @ (right.T if transb else right)

        return self._do("gemm", run)
