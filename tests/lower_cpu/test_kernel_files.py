"""How many files the kernels of a program are: two are compiled side by side where there are cores for it."""

from __future__ import annotations

import pytest

from shlo_disc.lower_cpu import source_files
from shlo_disc.pipeline import Request, Stopwatch, back_end, compile_text

TEXT = """
func.func @main(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.sine %x : tensor<8x8xf32>
  %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
    : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(("cores", "files"), [(1, 1), (2, 2), (64, 2)])
def test_kernels_are_as_many_files_as_there_are_cores(monkeypatch: pytest.MonkeyPatch, cores: int, files: int) -> None:
    monkeypatch.setattr(source_files, "FILE", 100)
    monkeypatch.setattr(back_end, "available_threads", lambda: cores)
    artifact = compile_text(TEXT, "two.mlir", Request(), Stopwatch())
    assert len(artifact.kernels) == files
