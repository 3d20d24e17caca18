"""A program that is compiled by way of a cache, for tests of what happens to that."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import shlo_disc
from shlo_disc.diagnostics import CacheWarning
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building import cache, temporary

ADD = """module @m { func.func public @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
 %1 = stablehlo.OP %a, %b : tensor<?xf32>
 return %1 : tensor<?xf32> } }"""


def forget() -> None:
    """One process tests many: forget what it knows of folders, and what is in the temporary one."""
    cache._opened.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    temporary._folders.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def answer(root: Path, op: str = "add") -> float:
    """Compile and run; a fresh look at the cache each time."""
    cache._opened.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    options = CompileOptions(cache_dir=root, threads=1, optimize=0)
    run: Any = shlo_disc.compile(ADD.replace("OP", op), device="cpu", options=options)
    return float(run(np.array([5], np.float32), np.array([3], np.float32))[0][0])


def entries(root: Path, kind: str) -> list[Path]:
    return [path for path in sorted((root / kind).glob("??/*")) if not path.name.startswith(".")]


def programs(root: Path) -> list[Path]:
    """The shared objects of programs: that of the pool is read once per process."""
    return [
        path for path in entries(root, "shared") if any(name in path.read_bytes() for name in (b"add_0", b"subtract_0"))
    ]


@contextmanager
def warns(count: int, match: str = "") -> Generator[None]:
    """Exactly so many warnings of ours, and no others."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    texts = [str(one.message) for one in found]
    assert [one.category for one in found] == [CacheWarning] * count, texts
    assert all(match in text and "help: " in text for text in texts), texts
