"""Linear algebra on a GPU: batches, layouts and options, with SciPy in the place of cuSOLVER and cuBLAS."""

# pyright: reportUnknownMemberType=false
# JAX's functions are partly untyped.

from __future__ import annotations

import inspect
import re
from importlib.metadata import files
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.linear_algebra import Routine
from shlo_disc.lower_cuda.host_libraries import is_in_cusolver
from shlo_disc.runtime.cuda import cusolver, cusolver_spectra, nvrtc
from shlo_disc.runtime.cuda import matrices as cuda_matrices
from shlo_disc.runtime.cuda.cusolver import bind_routine
from shlo_disc.runtime.host_calls import Callee
from tests.emulator.run import EmulatedDevice, compiled
from tests.runtime.cuda.cusolver_stub import BLAS, SOLVER, on_device, stub_libraries
from tests.runtime.cuda.linear_algebra_cases import KINDS, Case, cases


@pytest.fixture(autouse=True)
def small_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of matrices up to 4 x 4 take the batched routines, so that larger ones are soon reached."""
    monkeypatch.setattr(cusolver_spectra, "BATCHED_JACOBI", 4)
    monkeypatch.setattr(cusolver_spectra, "JACOBI", 8)


def as_it_is(callee: Callee) -> Callee:
    return callee


def run(case: Case) -> list[Any]:
    given, before = [on_device(x) for x in case.inputs], [x.copy() for x in case.inputs]
    found = [on_device(x) for x in case.blank()]
    bind_routine(stub_libraries(), case.routine, as_it_is)(given, found)
    for x, old in zip(given, before, strict=True):
        np.testing.assert_array_equal(x, old)
    return [np.asarray(x) for x in found]


@pytest.mark.parametrize("kind", KINDS)
def test_routines(kind: Any) -> None:
    """Operands stay what they are; results are NaN where nobody writes them."""
    seen = set[str]()
    for case in cases(kind):
        seen.add(case.routine.name)
        try:
            case.check(run(case))
        except Exception as error:
            error.add_note(f"{case.routine} of {[x.shape for x in case.inputs]}")
            raise
    assert seen == set(cusolver.ROUTINES)


def test_large_matrices_have_their_singular_values_by_qr_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SOLVER, "dgesvdj")  # pyright: ignore[reportArgumentType]
    wanted = Routine("gesdd", "N")
    (case,) = [one for one in cases(np.float64) if one.inputs[0].shape == (40, 9) and one.routine == wanted]
    case.check(run(case))


def test_nvrtc_takes_the_kernel() -> None:
    assert nvrtc.compile_kernels(cusolver.PERMUTE, "permute.cu", 80, "int32_t").cubin


def test_an_old_cusolver_leaves_geev_to_scipy() -> None:
    on_host: list[Callee] = []

    def keep(callee: Callee) -> Callee:
        on_host.append(callee)
        return callee

    with pytest.warns(RuntimeWarning, match=r"no geev, CUDA 12\.6 brings it: SciPy computes it"):
        found = bind_routine(stub_libraries(has_geev=False), Routine("geev", "NV"), keep)
    assert on_host == [found]


def test_what_is_not_in_cusolver() -> None:
    assert [is_in_cusolver(Routine("geev", jobs)) for jobs in ("NN", "NV", "VN", "VV")] == [True, True, False, False]
    assert all(is_in_cusolver(Routine(name)) for name in cusolver.ROUTINES)
    assert not any(is_in_cusolver(Routine(name)) for name in ("gees", "gehrd", "sytrd", "gtsv", "geqp3"))


def test_a_missing_library_is_an_error_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ImportError(f"libcusolver.so.12 ({name})")

    monkeypatch.setattr(cuda_matrices, "import_module", fail)
    with pytest.raises(ToolchainError, match=r"cuSOLVER is needed: libcusolver\.so\.12 .*\n  help: pip install"):
        cuda_matrices.open_libraries(None)


def test_explain_says_who_computes() -> None:
    shape = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    parts = jnp.linalg.cholesky, jax.scipy.linalg.schur, jnp.fft.fft
    program = export.export(jax.jit(lambda x: tuple(part(x) for part in parts)))(shape)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    text = compiled(program, EmulatedDevice()).explain("fusion")
    assert re.search(r"ops: d_potrf\n(  .*\n)*  computed by cuSOLVER and cuBLAS\n", text)
    assert "computed by SciPy on the host, between two copies" in text
    assert "computed by cuFFT" in text


def test_the_declarations_are_those_of_cupy() -> None:
    """CuPy's wheel has the declarations of its bindings as text; importing them takes the libraries."""
    pytest.importorskip("cupy")
    for library, functions in (("cusolver", SOLVER), ("cublas", BLAS)):
        (binary,) = [
            one for one in files("cupy-cuda13x") or () if re.search(rf"libs/{library}\.cpython.*so$", str(one))
        ]
        text = Path(str(binary.locate())).read_bytes()
        declared = dict(re.findall(rb"\0(\w+)\((intptr_t handle, [^)]*)\)", text))
        for name, function in functions.items():
            names = [one.split()[-1] for one in declared[name.encode()].decode().split(", ")]
            assert names == list(inspect.signature(function).parameters), name
