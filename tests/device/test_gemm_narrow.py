"""Products of one and two bytes: extremes, numbers that are none, subnormal ones, and who computes which part."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shlo_disc.lower_cpu.products.multiplication import kernel_named
from tests.device.compilers import COMPILERS
from tests.device.gemm_kinds import OF_NAME, Array, Kind, Products, build

BYTES = tuple(OF_NAME[name] for name in ("i8", "u8"))
BRAIN = tuple(OF_NAME[name] for name in ("bf16", "bf16_rounded"))
FLOATS = (OF_NAME["f16"], *BRAIN)
SIZES = ((1, 130), (3, 64), (13, 70), (100, 65))  # rows and columns
LEAST = 2.0**-126  # that is no subnormal f32


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def products(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Products:
    """The kernels of these kinds, by one compiler."""
    library = build(request.param, tmp_path_factory.mktemp("gemm"), (*BYTES, *FLOATS))
    return Products(library, lambda kind: kernel_named(kind.name).scratch)


def brain(x: Array) -> Array:
    """Bits of bf16; what it cannot hold is cut."""
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def both_ways(products: Products, name: str, a: Array, b: Array) -> tuple[Array, Array]:
    """The product with B where it is, and packed before."""
    kind = OF_NAME[name]
    return products.run(kind, a, b), products.run(kind, a, b, packed=products.pack(kind, b))


@pytest.mark.parametrize("name", ["i8", "u8"])
def test_products_of_the_largest_bytes_are_exact(products: Products, name: str) -> None:
    """Their sums leave 16 bits with the second product, and a depth beyond one part of packed memory."""
    limits = np.iinfo(OF_NAME[name].memory)
    for (m, n), k in product(SIZES, (1, 2, 3, 4, 67, 3000)):
        for x, y in product((limits.min, limits.max), repeat=2):
            a, b = np.full((m, k), x, limits.dtype), np.full((k, n), y, limits.dtype)
            for layout in (np.ascontiguousarray, np.asfortranarray):
                for found in both_ways(products, name, layout(a), b):
                    np.testing.assert_array_equal(found, int(x) * int(y) * k)


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_specials_reach_their_row_and_column_only(products: Products, kind: Kind, special: float) -> None:
    name = kind.name
    for (m, n), k in product(SIZES, (1, 2, 5, 66)):
        for p in (0, k - 1):
            a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
            a[m - 1, p], b[p, n - 1] = special, 2 * special
            expected = np.full((m, n), k, np.float32)
            expected[m - 1], expected[:, n - 1] = special, special
            expected[m - 1, n - 1] = np.float32(special) * np.float32(2 * special)
            narrow = [x.astype(np.float16) if name == "f16" else brain(x) for x in (a, b)]
            for found in both_ways(products, name, *narrow):
                np.testing.assert_array_equal(found, expected)


def test_subnormal_numbers_count_where_products_are_exact(products: Products) -> None:
    """And are zeros, or not, elsewhere: the error of a sum is less than the least normal number for each product."""
    rng = np.random.default_rng(6)
    for (m, n), k in product(SIZES, (1, 7, 64)):
        a = brain(rng.standard_normal((m, k)) * 2.0**-130)  # 3 bits are left
        b = brain(np.exp2(rng.integers(-2, 3, (k, n))))
        exact = OF_NAME["bf16"].numbers(a) @ OF_NAME["bf16"].numbers(b)
        assert np.abs(exact).max() > 0
        for found in both_ways(products, "bf16", a, b):
            np.testing.assert_array_equal(found, exact)  # sums of a few bits
        for found in both_ways(products, "bf16_rounded", a, b):
            assert (np.abs(found - exact) <= 4 * k * LEAST).all()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_packed_operands_give_the_same_bits(products: Products, name: str) -> None:
    """But where dot products were taken: those of columns that are not adjacent and few rows."""
    kind, rng = OF_NAME[name], np.random.default_rng(7)
    for (m, n), k in product(SIZES, (1, 8, 67, 1500)):
        here, packed = both_ways(products, name, kind.draw(rng, (m, k)), kind.draw(rng, (k, n)))
        np.testing.assert_array_equal(here, packed)


@pytest.mark.parametrize("kind", FLOATS, ids=lambda kind: kind.name)
def test_bits_do_not_depend_on_who_computes_which_part(products: Products, kind: Kind) -> None:
    rng = np.random.default_rng(8)
    for m, n, k in ((200, 300, 40), (9, 300, 67), (50, 130, 1500), (13, 200, 30)):
        a, b = kind.draw(rng, (m, k)), kind.draw(rng, (k, n))
        for packed in (None, products.pack(kind, b)):
            whole = products.run(kind, a, b, packed=packed)
            for at in ((0, 1, 0, n), (m - 3, m, 64, n), (0, m, 0, 64), (2, min(m, 40), 128, 129)):
                part = products.run(kind, a, b, at, packed)
                np.testing.assert_array_equal(part, whole[at[0] : at[1], at[2] : at[3]])
