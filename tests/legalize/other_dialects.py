"""Runs what ops of other dialects become in the interpreter."""

from __future__ import annotations

import numpy as np

from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify


def run(text: str, *arrays: object) -> list[int]:
    """All numbers of the results of a program."""
    module = parse_module(text)
    verify(module)
    return [int(x) for found in interpret(legalize(module), [np.asarray(x) for x in arrays]) for x in found.reshape(-1)]
