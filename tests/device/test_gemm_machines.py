"""Products for vectors of 32 and of 16 bytes, and for ARM, whatever this machine has."""

from __future__ import annotations

import platform
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shlo_disc.lower_cpu.products.multiplication import kernel_named
from tests.device.compilers import FLAGS, INCLUDE, require, run, write_library
from tests.device.gemm_kinds import OF_NAME, Kind, Products, build

pytestmark = pytest.mark.slow

SOME = tuple(OF_NAME[name] for name in ("f32", "f16", "bf16", "i8", "c64"))
X86 = platform.machine() in {"x86_64", "AMD64"}


NEEDED = {"haswell": "avx2", "nehalem": "sse4_2", "alderlake": "avx_vnni"}  # by what compilers call a CPU


@pytest.fixture(scope="module", params=tuple(NEEDED))
def products(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Products:
    """Kernels with AVX2, with SSE, and with AVX2 and products of bytes."""
    if not X86:
        pytest.skip("needs an x86")
    if NEEDED[request.param] not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"needs {NEEDED[request.param]}")
    library = build("zig", tmp_path_factory.mktemp("gemm"), SOME, request.param)
    return Products(library, lambda kind: kernel_named(kind.name).scratch)


@pytest.mark.parametrize("kind", SOME, ids=lambda kind: kind.name)
def test_narrower_vectors(products: Products, kind: Kind) -> None:
    rng = np.random.default_rng(4)
    for m, k, n in ((1, 33, 130), (3, 64, 65), (7, 5, 64), (12, 130, 97), (70, 31, 33), (100, 600, 70)):
        a, b = kind.draw(rng, (m, k)), kind.draw(rng, (k, n))
        for x, y in product((a, np.asfortranarray(a)), (b, np.asfortranarray(b))):
            kind.check(products.run(kind, x, y), a, b)
            kind.check(products.run(kind, x, y, packed=products.pack(kind, y)), a, b)


@pytest.mark.parametrize("kind", SOME, ids=lambda kind: kind.name)
def test_arm_compiles(tmp_path: Path, kind: Kind) -> None:
    for name in (f"gemm_{kind.name}", f"gemm_small_{kind.name}"):
        compile_for(["-target", "aarch64-linux-gnu"], name, tmp_path)


@pytest.mark.parametrize("name", ["gemm_i8", "gemm_u8"])
def test_products_of_bytes_of_equal_signs_compile(tmp_path: Path, name: str) -> None:
    compile_for(["-target", "x86_64-linux-gnu", "-mcpu=sierraforest"], name, tmp_path)


def compile_for(machine: list[str], name: str, folder: Path) -> None:
    """Compile a library of the prelude for another machine."""
    require("zig")
    flags = [flag for flag in FLAGS if flag not in {"-march=native", "-shared"}]
    command = [sys.executable, "-m", "ziglang", "c++", *machine, *flags, INCLUDE, "-c"]
    source, target = write_library(name, folder), folder / f"{name}.o"
    run(*command, source, "-o", target)
