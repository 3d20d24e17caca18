"""Two programs on one page: what their table says. What frames show is tested in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.report.comparison import Side, write_comparison
from tests.report.test_page import made

TEXT = """\
func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = stablehlo.tanh %x : tensor<?x8xf32> loc("model.py":3:1)
  %1 = stablehlo.multiply %0, %0 : tensor<?x8xf32> loc("model.py":4:1)
  return %1 : tensor<?x8xf32>
}
"""


def rows(text: str) -> dict[str, list[str]]:
    """The rows of all tables, by their first cell."""
    found = re.findall(r"<tr><th>([^<]*)</th>((?:<td>[^<]*</td>)+)</tr>", text)
    return {name: re.findall(r"<td>([^<]*)</td>", cells) for name, cells in found}


def test_programs_stand_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_comparison([Side("<one>", made("chain")), Side("two", made("loop"))], path)
    text = path.read_text()
    found = rows(text)
    assert found["groups"] == [str(len(made(name).report.groups)) for name in ("chain", "loop")]
    assert "measured at" not in found
    assert text.count("<iframe ") == 2
    assert "<one>" not in text
    assert "&lt;one&gt;" in text
    assert "default-src 'none'" in text


def test_profiles_are_compared_by_line(tmp_path: Path) -> None:
    path, x = tmp_path / "report.html", np.ones((3, 8), np.float32)
    fused = shlo_disc.compile(TEXT, options=CompileOptions(optimize=0))
    apart = shlo_disc.compile(TEXT, options=CompileOptions(optimize=0, fusion="none"))
    profiles = fused.profile(x, repeat=1), apart.profile(x, repeat=1)
    fused.report(path, profiles[0], beside=apart, beside_profile=profiles[1])
    found = rows(path.read_text())
    assert found["launches"] == ["1", "2"]
    assert found["measured at"] == ["s0 = 3", "s0 = 3"]
    # Both launches are one group by rows: what the first writes is read while it is in a cache.
    assert found["bytes read and written"] == [str(2 * 96), str(3 * 96)]
    assert found["FLOPs, estimated"] == [str(11 * 24)] * 2
    (whole,), (group,) = (one.steps for one in profiles)
    parts = [member.seconds / sum(one.seconds for one in group.members) for member in group.members]
    times = [part * group.seconds.least for part in parts]
    assert found["model.py:3"] == ["0.00 us", f"{times[0] * 1e6:.2f} us"], "fused, it is a part of the other's step"
    assert found["model.py:4"] == [f"{one * 1e6:.2f} us" for one in (whole.seconds.least, times[1])]
    with pytest.raises(shlo_disc.ShloDiscError, match="found a profile of other steps"):
        fused.report(path, profiles[1])
    fused.report(path, beside=apart)
    assert "measured at" not in rows(path.read_text())
