"""Products of all kinds whose right operand is packed, against NumPy."""

from __future__ import annotations

import ctypes
from itertools import product
from random import Random

import numpy as np
import pytest

from shlo_disc.expr.dim import const
from shlo_disc.lower_cpu.products.blocks import packed_bytes
from shlo_disc.lower_cpu.products.multiplication import kernel_named
from tests.device.compilers import COMPILERS
from tests.device.gemm_kinds import KINDS, Array, Kind, Products, ShloSchedule, build

pytestmark = pytest.mark.slow

# m, k, n: nothing, one, a panel and just beyond, a lone column, beyond a block of rows and of depth.
SIZES = (
    (0, 5, 7), (3, 0, 5), (3, 5, 0), (1, 1, 1), (1, 67, 64), (2, 64, 65), (3, 7, 130), (5, 33, 63), (6, 16, 257),
    (7, 129, 1), (8, 3, 66), (13, 130, 129), (64, 64, 64), (97, 31, 48), (200, 65, 100), (5, 2500, 70), (100, 3100, 9),
)  # fmt: skip


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def products(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Products:
    """The kernels of all kinds, by one compiler."""
    library = build(request.param, tmp_path_factory.mktemp("gemm"), KINDS)
    return Products(library, lambda kind: kernel_named(kind.name).scratch)


def layouts(b: Array) -> tuple[Array, ...]:
    """The same numbers, adjacent along the columns, along the depth, and nowhere."""
    return b, np.asfortranarray(b), np.repeat(np.repeat(b, 2, axis=0), 3, axis=1)[::2, ::3]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_all_kinds_and_sizes(products: Products, kind: Kind) -> None:
    rng = np.random.default_rng(1)
    for m, k, n in SIZES:
        a, b = kind.draw(rng, (m, k)), kind.draw(rng, (k, n))
        for x, y in product((a, np.asfortranarray(a)), layouts(b)):
            kind.check(products.run(kind, x, y, packed=products.pack(kind, y)), a, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_parts(products: Products, kind: Kind) -> None:
    """Columns are packed by several calls, in any order of them, and read from a panel on."""
    rng = np.random.default_rng(2)
    for m, k, n in ((5, 35, 200), (70, 9, 260)):
        a, b = kind.draw(rng, (m, k)), kind.draw(rng, (k, n))
        packed = products.pack(kind, b, parts=(64, 192))
        for i0, i1, j0, j1 in ((0, m, 0, n), (2, 5, 64, 100), (1, m, 128, n), (0, 1, 192, 193), (3, 3, 0, n)):
            found = products.run(kind, a, b, (i0, i1, j0, j1), packed)
            kind.check(found, a[i0:i1], b[:, j0:j1])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_compiler_knows_how_much_memory_it_takes(products: Products, kind: Kind) -> None:
    count = products.library[f"shlo_packed_bytes_{kind.name}"]
    count.restype = ctypes.c_int64
    for k, n in product((0, 1, 2, 3, 63, 64, 65), repeat=2):
        expected = packed_bytes(kernel_named(kind.name), const(k), const(n)).constant
        assert count(ctypes.c_int64(k), ctypes.c_int64(n)) == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_parts_of_the_depth_serve_as_many_rows_as_scratch_memory_has_sums_of(products: Products, kind: Kind) -> None:
    rng = np.random.default_rng(4)
    a, b = kind.draw(rng, (900, 70)), kind.draw(rng, (70, 66))
    for packed in (None, products.pack(kind, b)):
        kind.check(products.run(kind, a, b, packed=packed, schedule=ShloSchedule(form=1, depth=34)), a, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_few_rows_of_any_depth(products: Products, kind: Kind) -> None:
    """One tile reads packed columns along all of the depth, several read parts of it. Rows of A are adjacent or not."""
    rng = np.random.default_rng(5)
    for m, k in product((1, 2, 6, 7, 12, 13), (1, 31, 1023, 1025, 2100)):
        a, b = kind.draw(rng, (m, k)), kind.draw(rng, (k, 130))
        packed = products.pack(kind, b)
        for x in (a, np.asfortranarray(a)):
            kind.check(products.run(kind, x, b, packed=packed), x, b)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_schedule_computes_the_same(products: Products, kind: Kind) -> None:
    """Forms, tiles and blocks at random, also ones that a product or a CPU does not have."""
    draw, rng = Random(7), np.random.default_rng(3)
    for _ in range(60):
        m, k, n = draw.choice((1, 2, 7, 13, 70, 200)), draw.choice((0, 1, 33, 130, 1100)), draw.choice((1, 40, 64, 150))
        a, b = kind.draw(rng, (m, k)), kind.draw(rng, (k, n))
        y = draw.choice(layouts(b))
        schedule = ShloSchedule(
            form=draw.randrange(4),
            tile_rows=draw.choice((0, 1, 3, 6, 12, 50)),
            tile_vectors=draw.choice((0, 1, 2, 3, 4, 16, 100)),
            pack_left=draw.randrange(2),
            pack_right=draw.randrange(2),
            depth=draw.choice((0, 1, 16, 100, 5000)),
            rows=draw.choice((0, 1, 5, 48, 1000)),
            columns=draw.choice((0, 1, 100, 5000)),
        )
        for packed in (None, products.pack(kind, y)):
            kind.check(products.run(kind, a, y, packed=packed, schedule=schedule), a, b)
