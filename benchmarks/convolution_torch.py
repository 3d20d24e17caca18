"""Measures PyTorch's convolutions for `benchmarks.convolution`, which starts it by an interpreter that has PyTorch.

Each line of the input is a request, each line of the output an answer: `{"layer": ...}` prepares one,
`{"turn": seconds}` calls it for so long, and says the least seconds of a call.
"""

# PyTorch is in another interpreter than the one that checks types.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

FORMATS = {2: torch.channels_last, 3: torch.channels_last_3d}


def prepare(layer: Mapping[str, Any]) -> Callable[[], object]:
    """The call of a layer, on arrays of its layout."""
    rank = len(layer["sizes"])
    each, groups = layer["channels"] // layer["groups"], layer["groups"]
    window = [layer["window"]] * rank

    def made(*shape: int) -> Any:
        x = torch.randn(*shape)
        return x.contiguous(memory_format=FORMATS[rank]) if layer["layout"] == "last" and rank in FORMATS else x

    x = made(layer["batch"], layer["channels"], *layer["sizes"])
    w = made(
        *(layer["channels"], layer["features"] // groups) if layer["transposed"] else (layer["features"], each), *window
    )
    stride, pad, dilation = ([layer[key]] * rank for key in ("stride", "pad", "dilation"))
    rest = (stride, pad, dilation, layer["transposed"], [0] * rank, groups)

    def forward() -> Any:
        return torch.ops.aten.convolution(x, w, None, *rest)

    if layer["kind"] == "forward":
        return forward
    g = torch.randn_like(forward())
    mask = [layer["kind"] == "gradient of x", layer["kind"] == "gradient of w", False]
    return lambda: torch.ops.aten.convolution_backward(g, x, w, None, *rest, mask)


def turn(call: Callable[[], object], length: float, clock: Callable[[], float]) -> float:
    """The least seconds of a call."""
    least, end = float("inf"), clock() + length
    while True:
        start = clock()
        call()
        stop = clock()
        least = min(least, stop - start)
        if stop > end:
            return least


def main() -> None:
    """Answer requests."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    call: Callable[[], object] = torch.get_num_threads
    clock = time.perf_counter
    with torch.inference_mode():
        for line in sys.stdin:
            request = json.loads(line)
            if "layer" in request:
                call = prepare(request["layer"])
                clock = time.process_time if request["clock"] == "cpu" else time.perf_counter
                for _ in range(2):
                    call()
                answer = 0.0
            else:
                answer = turn(call, request["turn"], clock)
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
