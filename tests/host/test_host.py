"""The text of host programs: sizes that many launches share are computed once."""

from __future__ import annotations

import re

import pytest

from shlo_disc.expr.dim import Dim, maximum, symbol
from shlo_disc.lower_cuda.host_parts import SizePrinter, print_dim

pytestmark = pytest.mark.quick

N, M = symbol("n"), symbol("m")


def expanded(lines: list[str], text: str) -> str:
    """The text with what its names stand for."""
    for line in reversed(lines):
        name, value = line.strip().removeprefix("const int64_t ").removesuffix(";").split(" = ")
        text = re.sub(rf"\b{name}\b", lambda _, value=value: value, text)
    return text


def test_what_is_long_has_one_name() -> None:
    blocks = (N * M + 47) // 48
    sizes: list[Dim] = [blocks * 12, maximum(1, blocks * 5 + N), blocks, N * M]
    printer = SizePrinter()
    texts = [printer.text(size) for size in sizes]
    lines = printer.take()
    assert texts == ["(size0 * 12)", "size1", "size0", "(n_m * n_n)"]
    assert sum("48" in line for line in lines) == 1, lines
    assert not any("48" in text for text in texts), texts
    assert printer.take() == []
    assert [expanded(lines, text) for text in texts] == [print_dim(size) for size in sizes]


def test_names_are_defined_before_they_are_read() -> None:
    printer = SizePrinter()
    size = maximum(64, ((N * M * 3 + 255) // 256 * 640 + 96 * M) // maximum(M * 512 + 7, 4096))
    text = printer.text(size)
    known = set[str]()
    for line in printer.take():
        name, value = line.strip().removeprefix("const int64_t ").split(" = ")
        assert set(re.findall(r"size\d+", value)) <= known, line
        known.add(name)
    assert set(re.findall(r"size\d+", text)) <= known
    assert len(known) >= 3


def test_short_sizes_stay_in_place() -> None:
    printer = SizePrinter()
    assert printer.text(N // 2 + M) == "(n_m + floordiv(n_n, 2))"
    assert printer.take() == []
