"""Every fault that the tests are known to see. A fault that survives its suite is the next test to write."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.mutation.fault import Fault

_LIST = Path(__file__).with_name("faults.toml")
FAULTS = tuple([Fault(**one) for one in tomllib.loads(_LIST.read_text())["fault"]])
