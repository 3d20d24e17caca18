"""Programs on a device, around its kernels: both drivers, choices, products, loops, graphs, errors, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.check.calls import repeated
from shlo_disc.diagnostics import ArgumentTypeError, InternalError, RuntimeShapeError, ToolchainError
from shlo_disc.host_ir import Choice, GridLaunch, Slot, Step
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cuda import build as gpu_build
from shlo_disc.runtime.cuda.build import build_gpu
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.cuda.graphs import GraphCache
from shlo_disc.runtime.cuda.launch_table import Chooser, Estimate, cheapest
from shlo_disc.runtime.peak import peak_memory
from shlo_disc.size_expr import SizeOp
from tests.runtime.cuda.gpu_stub import Recorded, StubDevice, lowered

Floats = NDArray[np.float32]
Driver = Literal["c", "vm"]
DRIVERS: tuple[Driver, ...] = ("c", "vm")

CHAIN = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = stablehlo.add %x, %y : tensor<?xf32>
  %1 = stablehlo.multiply %0, %x : tensor<?xf32>
  %2 = stablehlo.subtract %1, %y : tensor<?xf32>
  return %0, %2 : tensor<?xf32>, tensor<?xf32>
}
"""
DOT = """
func.func @main(%x: tensor<{batch}?x?xTYPE>, %y: tensor<{batch}?x?xTYPE>) -> tensor<{batch}?x?xTYPE> {{
  %0 = "stablehlo.dot_general"(%x, %y) {{dot_dimension_numbers = #stablehlo.dot<
    lhs_batching_dimensions = [{dims}], rhs_batching_dimensions = [{dims}],
    lhs_contracting_dimensions = [{last}], rhs_contracting_dimensions = [{row}]>}}
    : (tensor<{batch}?x?xTYPE>, tensor<{batch}?x?xTYPE>) -> tensor<{batch}?x?xTYPE>
  return %0 : tensor<{batch}?x?xTYPE>
}}
"""
LOOP = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i32>, %b: tensor<i32>, %zero: tensor<i32>, %one: tensor<i32>)
    -> tensor<?xf32> {
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<?xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.multiply %v, %x : tensor<?xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<?xf32>
    }
  %s = "stablehlo.case"(%b) ({
      stablehlo.return %r#1 : tensor<?xf32>
    }, {
      %m = stablehlo.negate %r#1 : tensor<?xf32>
      stablehlo.return %m : tensor<?xf32>
    }) : (tensor<i32>) -> tensor<?xf32>
  return %s : tensor<?xf32>
}
"""


def forced(label: str) -> Chooser:
    """The variant of a label where it is legal, else the cheapest."""

    def choose(choice: Choice, legal: Sequence[Estimate]) -> int:
        found = [e.number for e in legal if choice.variants[e.number].label == label]
        return found[0] if found else cheapest(choice, legal)

    return choose


def ready(
    text: str, options: CompileOptions, driver: Driver = "c", chooser: Chooser = cheapest, **given: Any
) -> tuple[GpuExecutable, StubDevice]:
    artifact, kernels = lowered(text)
    device = StubDevice(kernels, has_cublas=given.pop("has_cublas", True))
    return build_gpu(artifact, replace(options, driver=driver), device, chooser=chooser, **given), device


def vectors(n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(n)
    return rng.standard_normal(n, np.float32), rng.standard_normal(n, np.float32)


def check_chain(run: GpuExecutable, x: Floats, y: Floats) -> None:
    total, last = run((x, y))
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(last, (x + y) * x - y)


@pytest.mark.parametrize("driver", DRIVERS)
def test_repeated_calls_replay_a_graph(driver: Driver, options: CompileOptions) -> None:
    run, _ = ready(CHAIN, options, driver)
    x, y = vectors(33)
    total, last = repeated(run)((x, y))
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(last, (x + y) * x - y)
    assert run.stats.replays, "a graph was launched"


@pytest.mark.parametrize("label", ["wide", "plain", "aside"])
@pytest.mark.parametrize("driver", DRIVERS)
def test_every_variant_by_each_driver(driver: Driver, label: str, options: CompileOptions) -> None:
    run, device = ready(CHAIN, options, driver, forced(label))
    for n in (0, 1, 4, 7, 64, 100):
        device.log.clear()
        check_chain(run, *vectors(n))
        kind = label if label != "wide" or n % 4 == 0 else "plain"
        wanted = [f"{name}_{k}_{'wide' if kind == 'wide' else 'plain'}"
                  for name, k in (("add", 0), ("multiply", 2), ("subtract", 4))]  # fmt: skip
        assert [step for step in device.log if step != "copy"] == (wanted if n else [])
        assert device.log.count("copy") == (3 if kind == "aside" and n else 0)
    assert run.stats.driver == driver


@pytest.mark.parametrize("driver", DRIVERS)
def test_misaligned_arguments_exclude_aligned_variants(driver: Driver, options: CompileOptions) -> None:
    run, device = ready(CHAIN, options, driver)
    x, y = vectors(64)
    storage = np.empty(80, np.float32)
    start = (-storage.ctypes.data // 4) % 4
    for shift, kinds in ((start, {"wide"}), (start + 1, {"plain", "wide"})):
        moved = storage[shift : shift + 64]
        moved[:] = x
        device.log.clear()
        check_chain(run, moved, y if y.ctypes.data % 16 == 0 else moved * 2)
        assert {name.rpartition("_")[2] for name in device.log} == kinds  # intermediate values are aligned


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (2, 0), (1, 1)])
@pytest.mark.parametrize("size", [(4, 5, 6), (1, 1, 1), (3, 0, 2), (0, 2, 2), (2, 2, 0)])
def test_products(driver: Driver, batch: tuple[int, ...], size: tuple[int, int, int], options: CompileOptions) -> None:
    rank = len(batch)
    text = DOT.format(batch="?x" * rank, dims=", ".join(map(str, range(rank))), last=rank + 1, row=rank)
    m, k, n = size
    rng = np.random.default_rng(5)
    for name, dtype in (("f32", np.float32), ("f64", np.float64)):
        run, device = ready(text.replace("TYPE", name), options, driver, forced("library"))
        x, y = rng.standard_normal((*batch, m, k)).astype(dtype), rng.standard_normal((*batch, k, n)).astype(dtype)
        (found,) = run((x, y))
        np.testing.assert_allclose(found, x @ y, rtol=1e-5)
        empty = 0 in (*batch, m, n)
        outer = batch[0] if rank == 2 else 1
        assert device.log == ([] if empty else ["fill"] if k == 0 else ["gemm"] * outer)


def test_without_cublas_other_variants_are_taken(options: CompileOptions) -> None:
    text = DOT.format(batch="", dims="", last=1, row=0).replace("TYPE", "f32")
    run, device = ready(text, options, chooser=forced("library"), has_cublas=False)
    x = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(run((x, x))[0], x @ x)
    assert device.log == ["d_dot_0_wide"]
    assert run.notes == ("cuBLAS is missing: all matrix products run on generated kernels",)


@pytest.mark.parametrize("driver", DRIVERS)
def test_loops_and_branches_read_what_decides(driver: Driver, options: CompileOptions) -> None:
    run, device = ready(LOOP, options, driver)
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    for count in (0, 1, 4):
        for branch in (0, 1, 2, -1):
            device.log.clear()
            (found,) = run((x, count, branch, 0, 1))
            np.testing.assert_allclose(found, x ** (count + 1) * (1 if branch == 0 else -1), rtol=1e-6)
            assert device.log.count("read") == (count + 2 if driver == "c" else 0)
    assert run.graphs is None


@pytest.mark.parametrize(("code", "error"), [(7, InternalError), (2, MemoryError), (0x10003, MemoryError)])
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_command_that_fails_is_named(
    driver: Driver, code: int, error: type[Exception], options: CompileOptions
) -> None:
    for text, arrays in ((CHAIN, vectors(8)), (LOOP, (vectors(8)[0], 2, 1, 0, 1))):
        run, device = ready(text, replace(options, graphs=False), driver)
        run(arrays)
        steps, device.code = list(device.log), code
        for number, name in enumerate(steps):
            device.log.clear()
            device.fails_at = number
            with pytest.raises(error, match=f"stub error {code}") as caught:
                run(arrays)
            wanted = {"copy": "copy failed", "read": "reading the "}.get(name, f"kernel {name} failed")
            assert wanted in str(caught.value)
        device.fails_at = None
        device.log.clear()
        run(arrays)
        assert device.log == steps


def test_graphs_are_captured_at_the_third_call_and_replayed(options: CompileOptions) -> None:
    run, device = ready(CHAIN, options)
    x, y = vectors(8)
    per_call: list[int] = []
    for _ in range(5):
        device.log.clear()
        check_chain(run, x, y)
        per_call.append(len(device.log))
    assert per_call == [3, 3, 4, 0, 0]  # the third is recorded; later ones are one launch
    assert (run.stats.graphs, run.stats.replays, run.stats.calls) == (1, 3, 5)
    x[:] = 2  # the same memory with other contents
    check_chain(run, x, y)
    check_chain(run, x.copy(), y)  # elsewhere
    check_chain(run, x[:5], y[:5])  # another size at the same place
    assert (run.stats.graphs, run.stats.replays, run.stats.calls) == (1, 4, 8)


@pytest.mark.parametrize("graphs", [True, False])
def test_bound_arrays_are_not_looked_at_by_calls(graphs: bool, options: CompileOptions) -> None:
    """Graphs are found by what a call brings: those of other bound arrays, of the same sizes too, are others."""
    run, device = ready(CHAIN, replace(options, graphs=graphs))
    x, y = vectors(8)
    wholes = [run.bind({number: array}) for number in (0, 1) for array in (x, y, x[:5], -x)]
    imported, take = list[object](), device.import_array
    device.import_array = lambda array: (imported.append(array), take(array))[1]  # type: ignore[method-assign]
    for _ in range(5):
        for whole in wholes:
            ((number, held),) = whole.arguments.held.items()
            (size,), other = held.shape, y[: held.shape[0]]
            array = np.asarray(held.owner)
            pair = (array, other) if number == 0 else (other, array)
            total, last = whole((other,))
            np.testing.assert_array_equal(total, pair[0] + pair[1])
            np.testing.assert_array_equal(last, (pair[0] + pair[1]) * pair[0] - pair[1])
            assert size in {5, 8}
    assert len(imported) == 5 * len(wholes)
    assert device.held == 2 * len(imported)  # what a call brings, and all that is bound as one
    assert run.stats.graphs == (len(wholes) if graphs else 0)
    assert run.stats.signatures == 2
    with pytest.raises(RuntimeShapeError):
        wholes[0]((x[:5],))
    with pytest.raises(ArgumentTypeError, match=r"found 2 arrays, expected 1: y"):
        wholes[0]((x, y))


def test_graphs_that_were_not_used_for_long_are_dropped() -> None:
    cache = GraphCache(kept=2, watched=3)
    made: list[object] = []

    def capture() -> Recorded:
        made.append(Recorded(()))
        return Recorded(())

    for key in "aaabbbaccc":  # a is used again before c comes
        cache.find(key, capture)
    assert len(made) == 3
    assert cache.find("a", capture) is not None
    assert cache.find("b", capture) is None  # counted afresh
    for key in "defghi":
        assert cache.find(key, capture) is None
    assert cache.find("b", capture) is None  # too many others came in between
    assert len(made) == 3


@pytest.mark.parametrize("kind", [RuntimeError, InternalError])
def test_what_cannot_be_recorded_runs_without_a_graph(
    kind: type[Exception], options: CompileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, device = ready(CHAIN, options)

    def refuse(run: object, *, products: bool) -> Recorded:
        raise kind(f"cudaErrorStreamCaptureUnsupported {run} {products}")

    monkeypatch.setattr(device, "capture", refuse)
    x, y = vectors(8)
    for _ in range(2):
        check_chain(run, x, y)
    with pytest.warns(RuntimeWarning, match="CUDA graphs are off, recording failed: cudaErrorStreamCapture"):
        check_chain(run, x, y)
    for _ in range(4):
        check_chain(run, x, y)
    assert run.stats.graphs == 0
    assert len(run.notes) == 1


def test_graphs_are_off_when_asked(options: CompileOptions) -> None:
    run, device = ready(CHAIN, replace(options, graphs=False))
    for _ in range(5):
        check_chain(run, *vectors(8))
    assert "captured" not in device.log


def test_wide_indices_are_compiled_when_needed(options: CompileOptions) -> None:
    artifact, kernels = lowered(CHAIN)
    (name,) = artifact.symbols[:1]
    device = StubDevice(kernels)
    run = build_gpu(replace(artifact, index_spaces=(SizeOp("*", (name, 1 << 29)),)), options, device)
    check_chain(run, *vectors(3))
    assert device.loaded == ["int32_t"]
    check_chain(run, *vectors(4))  # 2**31 elements, as it says
    assert device.loaded == ["int32_t", "int64_t"]
    forced_wide = StubDevice(kernels)
    check_chain(build_gpu(artifact, options, forced_wide, index="int64_t"), *vectors(3))
    assert forced_wide.loaded == ["int64_t"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_wrong_arguments_are_refused_as_on_the_cpu(driver: Driver, options: CompileOptions) -> None:
    run, device = ready(CHAIN, options, driver)
    x, y = vectors(4)
    with pytest.raises(ArgumentTypeError, match=r"found 1 arrays, expected 2: x, y"):
        run((x,))
    with pytest.raises(ArgumentTypeError, match="y: found dtype float64, expected float32"):
        run((x, y.astype(np.float64)))
    with pytest.raises(ArgumentTypeError, match=r"x: found rank 2, shape \(4, 1\)"):
        run((x[:, None], y))
    with pytest.raises(RuntimeShapeError):
        run((x, vectors(5)[1]))
    assert device.log == []
    assert run.stats.calls == 0


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_peak_is_what_a_call_takes(driver: Driver, options: CompileOptions) -> None:
    run, device = ready(CHAIN, replace(options, graphs=False), driver)
    for size in (1, 15, 16, 17, 100):
        run(vectors(size))
        assert device.allocated[-1] == peak_memory(run.artifact, {"s0": size}) > 0


def test_memory_is_allocated_once_for_temporaries_and_let_go(options: CompileOptions) -> None:
    run, device = ready(CHAIN, replace(options, graphs=False))
    run(vectors(100))
    assert device.allocated == [0, 400, 400, run.arena_bytes(vectors(100))]  # the first one is of the program
    assert all(len(free) % 4 == 0 for size, free in device.free.items() if size)  # nothing is out
    assert device.held == 2


def test_threads_share_an_executable(options: CompileOptions) -> None:
    run, _ = ready(CHAIN, options)
    gate = threading.Barrier(4)

    def work(seed: int) -> None:
        gate.wait()
        for n in range(20):
            check_chain(run, *vectors(n + seed))

    with ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(work, seed) for seed in range(4)]:
            job.result()
    assert run.stats.calls == 80


def test_without_a_compiler_the_vm_runs_and_says_so(options: CompileOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> Any:
        raise ToolchainError("no C++ compiler")

    monkeypatch.setattr(gpu_build, "find_compiler", none)
    run, _ = ready(CHAIN, options)
    check_chain(run, *vectors(9))
    assert run.stats.driver == "vm"
    assert "no C++ compiler" in run.notes[0]
    with pytest.raises(ToolchainError):
        ready(CHAIN, replace(options, compiler="gcc"))


def test_an_observer_sees_each_step_and_buffer(options: CompileOptions) -> None:
    run, _ = ready(CHAIN, options)
    x, y = vectors(6)
    seen: list[Floats] = []

    def observe(step: Step, buffers: Mapping[Slot, Floats]) -> None:
        assert isinstance(step, Choice)
        launch = step.variants[0].commands[0]
        assert isinstance(launch, GridLaunch)
        seen.append(buffers[launch.buffers[-1]])

    run.trace((x, y), observe)
    for found, wanted in zip(seen, (x + y, (x + y) * x, (x + y) * x - y), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_host_program_is_reviewed_as_text(golden: Callable[[str], None]) -> None:
    texts = [DOT.format(batch="?x", dims="0", last=2, row=1).replace("TYPE", "f32"), LOOP]
    golden("\n".join(lowered(text)[0].host.text for text in texts))
