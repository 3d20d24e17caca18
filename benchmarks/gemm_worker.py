"""One library in a process of its own, which multiplies f32 matrices when `benchmarks.gemm` asks it to.

    python -m benchmarks.gemm_worker LIBRARY [PATH]

Reads lines of JSON, `{"size": [m, n, k], "seconds": s}`, and answers each with the seconds of every call in a turn of
so many. Imports only what the library needs, so that interpreters without shlo_disc or JAX can serve theirs.
"""

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import ROOT, Call, time_in_turns
from shlo_disc.device import headers
from shlo_disc.device.libraries import library_text

Multiplied = Callable[[Any, Any, Any], Call]  # a call that leaves a @ b in c


def address(x: Any) -> ctypes.c_void_p:
    """Where an array is."""
    return ctypes.c_void_p(x.ctypes.data)


def aligned(elements: int) -> Any:
    """Floats that begin where a line of the caches does."""
    memory = np.zeros(elements + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    return memory[start : start + elements]


def harness() -> ctypes.CDLL:
    """Compile the library's products as programs do."""
    toolchain: Any = import_module("shlo_disc.runtime.building.toolchain")
    compiler = toolchain.find_compiler()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "gemm_f32.cc").write_text(library_text("gemm_f32"))
        sources = (folder / "gemm_f32.cc", ROOT / "benchmarks" / "gemm.cc")
        objects = [folder / f"{number}.o" for number in range(len(sources))]
        for source, target in zip(sources, objects, strict=True):
            compiler.compile(source, target, 3, (headers.ROOT,))
        compiler.link(objects, folder / "gemm.so")
        return ctypes.CDLL(str(folder / "gemm.so"))


def ours(*, packed: bool) -> Multiplied:
    """The library, with B as it is or packed before."""
    library = harness()
    scratch = aligned(ctypes.c_int64.in_dll(library, "scratch_bytes").value // 4)
    library.shlo_packed_bytes_f32.restype = ctypes.c_int64

    def multiplied(a: Any, b: Any, c: Any) -> Call:
        m, n, k = (ctypes.c_int64(size) for size in (*c.shape, b.shape[0]))
        right = aligned(library.shlo_packed_bytes_f32(k, n) // 4) if packed else None
        if right is not None:
            library.pack(address(b), n, k, address(right))
        where = None if right is None else address(right)
        arguments = (address(a), address(b), address(c), m, n, k, where, address(scratch))
        return lambda: (library.multiply(*arguments), right)

    return multiplied


def peak() -> Multiplied:
    """Not a product: as many multiply-adds as the registers of the CPU can make, counted as 2 each."""
    library, to = harness(), aligned(64)
    library.peak.restype = ctypes.c_int64
    each = library.peak(ctypes.c_int64(1), address(to))

    def multiplied(a: Any, _: Any, c: Any) -> Call:
        steps = ctypes.c_int64(2 * a.size * c.shape[1] // each)
        return lambda: library.peak(steps, address(to))

    return multiplied


def torch_multiplied() -> Multiplied:
    """PyTorch, of one thread."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)

    def multiplied(a: Any, b: Any, c: Any) -> Call:
        x, y, z = map(torch.from_numpy, (a, b, c))
        return lambda: torch.mm(x, y, out=z)

    return multiplied


def jax_multiplied() -> Multiplied:
    """XLA."""
    jax: Any = import_module("jax")
    run = jax.jit(jax.numpy.matmul)

    def multiplied(a: Any, b: Any, c: Any) -> Call:
        x, y = jax.device_put(a), jax.device_put(b)
        c[:] = run(x, y)
        return lambda: run(x, y).block_until_ready()

    return multiplied


def mkl(path: str) -> Multiplied:
    """MKL by its C interface."""
    library = ctypes.CDLL(path)
    library.MKL_Set_Num_Threads(1)
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def multiplied(a: Any, b: Any, c: Any) -> Call:
        (m, n), k = c.shape, b.shape[0]
        layout = (101, 111, 111)  # row-major, nothing transposed
        return lambda: library.cblas_sgemm(*layout, m, n, k, one, address(a), k, address(b), n, zero, address(c), n)

    return multiplied


def dnnl(path: str) -> Multiplied:
    """Intel's oneDNN by its C interface."""
    library = ctypes.CDLL(path)
    plain, one, zero = ctypes.c_char(b"N"), ctypes.c_float(1), ctypes.c_float(0)

    def multiplied(a: Any, b: Any, c: Any) -> Call:
        m, n, k = (ctypes.c_int64(size) for size in (*c.shape, b.shape[0]))
        left, right = (address(a), k), (address(b), n)
        return lambda: library.dnnl_sgemm(plain, plain, m, n, k, one, *left, *right, zero, address(c), n)

    return multiplied


def find(library: str, path: str) -> Multiplied:
    """How a library multiplies."""
    makers: dict[str, Callable[[], Multiplied]] = {
        "ours": lambda: ours(packed=False),
        "packed": lambda: ours(packed=True),
        "peak": peak,
        "numpy": lambda: lambda a, b, c: lambda: np.matmul(a, b, out=c),
        "torch": torch_multiplied,
        "jax": jax_multiplied,
        "mkl": lambda: mkl(path),
        "dnnl": lambda: dnnl(path),
    }
    return makers[library]()


def main(library: str, path: str = "") -> None:
    """Answer until there is nothing more to read."""
    multiplied, size, call = find(library, path), None, None
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if call is None or asked["size"] != size:
            m, n, k = size = asked["size"]
            rng = np.random.default_rng(m + n + k)
            a, b = (aligned(x * y).reshape(x, y) for x, y in ((m, k), (k, n)))
            for operand in (a, b):
                operand[:] = rng.random(operand.shape, np.float32) - np.float32(0.5)
            c = aligned(m * n).reshape(m, n)
            call = multiplied(a, b, c)
            call()
            assert library == "peak" or np.allclose(c, a @ b, atol=1e-2), f"{library} is wrong at {size}"
        (seconds,) = time_in_turns([call], 1, asked["seconds"], 1)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
