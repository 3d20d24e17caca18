"""Without a GPU everything else works, and the error for device="cuda" lists what is missing and how to get it."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

import shlo_disc
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.cuda import detection, nvrtc
from shlo_disc.runtime.cuda.cupy_device import architecture_for, open_gpu
from shlo_disc.runtime.cuda.detection import cuda_is_available
from shlo_disc.runtime.cuda.interop import library_of

pytestmark = pytest.mark.quick

TEXT = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"


def _absent(_: str) -> None:
    return None


def _present(name: str) -> ModuleSpec:
    return ModuleSpec(name, None)


def _no_nvrtc() -> tuple[int, int]:
    raise ToolchainError("no NVRTC, expected CuPy's binding and the library: not found\n  help: pip install it")


def test_all_that_is_missing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "DRIVER", "libcuda-of-nobody.so.1")
    monkeypatch.setattr(detection, "find_spec", _absent)
    assert not cuda_is_available()
    with pytest.raises(ToolchainError) as caught:
        shlo_disc.compile(TEXT, device="cuda")
    assert str(caught.value) == (
        "no GPU can be used (device='cuda')\n"
        "  found no libcuda-of-nobody.so.1, expected NVIDIA's driver\n"
        "    help: install the driver of your GPU (580 or newer for CUDA 13), or run where there is one\n"
        "  found no CuPy\n"
        "    help: pip install shlo-disc[cuda13], or CuPy 14 for the CUDA version of your driver"
    )


def test_a_cupy_that_cannot_be_imported_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "_has_driver", lambda: True)
    monkeypatch.setattr(detection, "find_spec", _present)
    monkeypatch.setitem(sys.modules, "cupy", None)  # as Python does for what must not be imported
    assert not cuda_is_available()
    with pytest.raises(ToolchainError, match="CuPy cannot be imported"):
        open_gpu()


def test_a_missing_nvrtc_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "_has_driver", lambda: True)
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(detection, "find_spec", _present)
    monkeypatch.setattr(nvrtc, "version", _no_nvrtc)
    with pytest.raises(ToolchainError, match=r"no NVRTC, expected CuPy's binding(.|\n)*help: pip install it"):
        open_gpu()


def test_a_driver_without_a_device_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "_has_driver", lambda: True)
    monkeypatch.setattr(detection, "find_spec", _present)
    monkeypatch.setattr(detection, "cuda_is_available", lambda: False)
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    with pytest.raises(ToolchainError, match=r"CuPy finds no GPU\n.*CUDA_VISIBLE_DEVICES"):
        open_gpu()


@pytest.mark.parametrize(("capability", "architecture"), [(80, 80), (86, 86), (87, 86), (90, 90), (121, 120)])
def test_machine_code_is_for_the_same_major_version(
    capability: int, architecture: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvrtc, "architectures", lambda: (75, 80, 86, 90, 100, 120))
    assert architecture_for(capability) == architecture


@pytest.mark.parametrize(
    ("capability", "message"),
    [(75, "compute capability 7.5, expected at least 8.0"), (130, "13.0, which NVRTC .* does not know")],
)
def test_gpus_that_are_too_old_or_too_new(capability: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "architectures", lambda: (75, 80, 90))
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    with pytest.raises(ToolchainError, match=message):
        architecture_for(capability)


def test_importing_and_compiling_for_the_cpu_imports_no_cupy() -> None:
    program = (
        "import sys, shlo_disc\n"
        f"shlo_disc.compile({TEXT!r}, device='cpu')\n"
        "print(sorted({'cupy', 'torch', 'jax', 'shlo_disc.lower_cuda.kernels'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_none_takes_the_cpu_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "DRIVER", "libcuda-of-nobody.so.1")
    assert shlo_disc.compile(TEXT).executable.artifact.device == "cpu"


def test_each_library_gets_its_own_arrays_back() -> None:
    def kind(module: str) -> type:
        return type("Array", (), {"__module__": module})

    jax, torch, cupy, numpy = map(kind, ("jaxlib._jax", "torch", "cupy", "numpy"))
    assert library_of(frozenset({numpy, int})) == "numpy"
    assert library_of(frozenset({numpy, cupy})) == "cupy"
    assert library_of(frozenset({cupy, torch})) == "torch"
    assert library_of(frozenset({cupy, jax, torch})) == "jax"
    assert library_of(frozenset({SimpleNamespace})) == "numpy"
