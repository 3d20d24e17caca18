"""The launch table's numbers by hand, what it refuses, and that its choices turn where they should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shlo_disc.artifact import Artifact, SourceFile
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import BatchLoop, Buffer, Choice, Copy, Fill, GridLaunch, Guard, Product, Variant
from shlo_disc.report_model import ReportModel
from shlo_disc.runtime.cuda.device import Limits, LoadedKernel
from shlo_disc.runtime.cuda.launch_table import (
    OVERHEAD,
    Estimate,
    LaunchTable,
    cheapest,
    launch_cycles,
    occupancy,
    product_cycles,
)
from tests.size_text import parsed

pytestmark = pytest.mark.quick

H200 = Limits(132, 2048, 32, 65536, 228 << 10, 227 << 10)
FEW_ROWS = GridLaunch("warps", (0, 1), ("n",), parsed("(n + 7) // 8"), 256, 0, parsed("8 * m"), parsed("2 * m"))
LONG_ROWS = GridLaunch("blocks", (0, 1), ("n",), "n", 256, 0, "m", parsed("m // 4 + 600"))

HALVES = ("float16", "float16")


def product(**changed: object) -> Product:
    plain: Product = Product(0, 1, 1, 0, 0, 0, "m", "n", "n", False, False, "n", "n", "m", (), HALVES, "f32")
    return replace(plain, **changed)  # pyright: ignore[reportArgumentType] - fields of a Product


def table(*variants: Variant, functions: dict[str, LoadedKernel] | None = None, has_cublas: bool = True) -> LaunchTable:
    artifact = Artifact(
        "p", (), (), ("n", "m"), (), (), (),
        (Buffer("argument", 0, 0, parsed("n * m * 4"), "x"), Buffer("result", 0, 0, parsed("n * 4"), "y")),
        (), 0, (Choice(0, variants),), (), SourceFile("host", ""), ReportModel(), "cuda",
    )  # fmt: skip
    known = {"warps": LoadedKernel(1, 32, 0), "blocks": LoadedKernel(2, 32, 64)} | (functions or {})
    return LaunchTable(artifact, H200, known, cheapest, has_cublas=has_cublas)


@pytest.mark.parametrize(
    ("registers", "static", "threads", "dynamic", "resident"),
    [
        (16, 0, 1024, 0, 2),  # by threads
        (32, 0, 32, 0, 32),  # by blocks
        (64, 0, 256, 0, 4),  # by registers: 8 warps of 2048
        (65, 0, 256, 0, 3),  # a warp takes 2304, in pieces of 256
        (255, 0, 1024, 0, 0),  # too many for one block
        (32, 0, 128, 48 << 10, 4),  # by shared memory, 1 KB of which CUDA takes
        (32, 40 << 10, 128, 8 << 10, 4),
        (32, 0, 128, 227 << 10, 1),
        (32, 0, 33, 0, 32),  # two warps
    ],
)
def test_occupancy(registers: int, static: int, threads: int, dynamic: int, resident: int) -> None:
    assert occupancy(H200, LoadedKernel(0, registers, static), threads, dynamic) == resident


@pytest.mark.parametrize(
    ("blocks", "cycles", "latency", "time"),
    [
        (1, 10, 1000, 1000),  # one block waits for itself
        (264, 10, 1000, 1000),  # a full wave of two per multiprocessor hides nothing, and costs nothing more
        (265, 10, 1000, 2000),
        (264, 900, 1000, 1800),  # they share the multiprocessor
        (132, 900, 1000, 1000),
        (264 * 5 + 1, 900, 1000, 5 * 1800 + 1000),
        (264 * 5 + 133, 900, 1000, 5 * 1800 + 1800),
    ],
)
def test_waves_and_tail(blocks: int, cycles: int, latency: int, time: int) -> None:
    assert launch_cycles(H200, 2, blocks, cycles, latency, pipelined=True) == OVERHEAD + time


@pytest.mark.parametrize(("cycles", "share"), [(1, 1.0), (500, 2 ** (2 / 3)), (100_000, 200.0)])
def test_waiting_and_working_overlap_in_part(cycles: int, share: float) -> None:
    """Where one of the two is much longer it alone counts; where they are equal, neither hides the other."""
    found = launch_cycles(H200, 2, 264, cycles, 1000) - OVERHEAD
    assert found == pytest.approx(share * 1000, rel=2e-3)


def test_the_choice_turns_with_the_sizes() -> None:
    choose = table(Variant("warps", (), False, (FEW_ROWS,)), Variant("blocks", (), False, (LONG_ROWS,))).choose
    assert choose((100_000, 64), ()) == (0,)  # many short rows: a warp each
    assert choose((16, 100_000), ()) == (1,)  # few long ones: a block each
    assert choose((0, 5), ()) == (0,)  # nothing to launch: the first


def test_a_longer_sequence_of_commands_costs_its_launches() -> None:
    two = Variant("two passes", (), False, (LONG_ROWS, Fill(1, 0), Copy(0, 1)))
    assert table(two, Variant("one", (), False, (LONG_ROWS,))).choose((64, 64), ()) == (1,)


def test_guards_and_alignment() -> None:
    fast = Variant(
        "packs", (Guard(parsed("m % 4"), "==", 0), Guard("m", ">=", 8)), True, (replace(LONG_ROWS, cycles=1),)
    )
    choose = table(fast, Variant("plain", (), False, (LONG_ROWS,))).choose
    assert choose((64, 4096), ()) == (0,)
    assert choose((64, 4095), ()) == (1,)
    assert choose((64, 4), ()) == (1,)
    assert choose((64, 4096), (0,)) == (1,)
    assert choose((64, 4096), (3,)) == (0,)  # an argument that this choice does not touch


@pytest.mark.parametrize(
    ("command", "functions", "reason"),
    [
        (replace(LONG_ROWS, shared="m"), {}, "300064 bytes of shared memory, expected at most 232448"),
        (LONG_ROWS, {"blocks": LoadedKernel(2, 255, 0)}, ""),
        (
            replace(LONG_ROWS, threads=1024),
            {"blocks": LoadedKernel(2, 128, 0)},
            "128 registers for each of 1024 threads",
        ),
        (replace(LONG_ROWS, blocks=parsed("2147483648 + m")), {}, "blocks of 256 threads: too many"),
    ],
)
def test_what_the_device_cannot_run_is_not_chosen(
    command: GridLaunch, functions: dict[str, LoadedKernel], reason: str
) -> None:
    greedy = Variant("greedy", (), False, (replace(command, cycles=0, latency=0),))
    found = table(greedy, Variant("safe", (), False, (FEW_ROWS,)), functions=functions).choose((16, 300_000), ())
    assert found == ((1,) if reason else (0,))
    if reason:
        with pytest.raises(InternalError, match=f"greedy: .*{reason}"):
            table(greedy, functions=functions).choose((16, 300_000), ())


def test_products_need_cublas() -> None:
    library, own = (
        Variant("library", (), False, (product(),)),
        Variant("own", (), False, (replace(LONG_ROWS, cycles=parsed("n * m")),)),
    )
    assert table(library, own).choose((4096, 64), ()) == (0,)
    assert table(library, own, has_cublas=False).choose((4096, 64), ()) == (1,)
    with pytest.raises(InternalError, match="library: there is no cuBLAS"):
        table(library, has_cublas=False).choose((4096, 64), ())


def test_products_are_as_fast_as_tiles_and_memory_allow() -> None:
    def cycles(m: int, n: int, k: int, batch: int = 1, **changed: object) -> float:
        return product_cycles(H200, product(**changed), (m, n, k, batch))

    large = cycles(8192, 8192, 8192)
    ideal = 8192**3 / (2048 * 132)
    assert ideal / 0.85 < large < ideal / 0.6
    assert cycles(8192, 8192, 8192, dtypes=("float32", "float32")) > 10 * large
    assert 4 * large > cycles(8192, 8192, 8192, dtypes=("float32", "float32"), compute="tf32") > 1.5 * large
    assert cycles(1, 8192, 8192) > 2 * 8192**2 / (20 * 132)  # it reads the matrix once
    assert cycles(64, 64, 64, batch=1000) < 1000 * cycles(64, 64, 64) / 10
    assert cycles(128, 128, 65536) < 128 * 128 * 65536 / 2048  # long sums are split


def test_outer_batch_loops_are_calls() -> None:
    loop = BatchLoop("n", "m", "m", "m")
    library = Variant("loops", (), False, (product(batch=(loop, loop)),))
    batched = Variant("batched", (), False, (product(batch=(loop,)),))
    assert table(library, batched).choose((8, 8), ()) == (1,)


def test_the_cheapest_of_equal_ones_is_the_first() -> None:
    choice = Choice(0, ())
    assert cheapest(choice, (Estimate(3, 5.0), Estimate(4, 5.0), Estimate(5, 6.0))) == 3
