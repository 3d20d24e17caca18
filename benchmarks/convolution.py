"""Compare convolutions with jax.jit and, if there is one, PyTorch: the least time of a call, in turns on one core.

    python -m benchmarks.convolution [NAME ...] [--torch PYTHON] [--rounds N] [--threads 1] [--clock wall|cpu]
        [--json FILE]

A layer is compiled once here, for all batches and sizes; XLA compiles it for each. It runs with features last (NHWC,
HWIO) and first (NCHW, OIHW). Features last are PyTorch's `channels_last`, which it has for images and volumes; lines it
gets with features first. `PYTHON` is an interpreter that has PyTorch, as a process of its own on the same core.
`gradient of x` (`of w`): the gradient alone, given that of the result. Weights are arguments. NAME is a part of a
layer's name. The `cpu` clock counts the CPU time of a process: for one thread, on a machine that others use too.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
from jax import export, lax

import shlo_disc
from benchmarks.ops import apart, wait_for
from benchmarks.timing import geometric_mean, measure_in_process, time_in_turns
from shlo_disc.runtime.memory import aligned

TURN = 0.015  # seconds, at least one call
WARM_UP = 2
SPATIAL = ("", "W", "HW", "DHW")
SYMBOLS = ("", "w", "hw", "dhw")

Kind = Literal["forward", "gradient of x", "gradient of w"]
Layout = Literal["last", "first"]
Clock = Literal["wall", "cpu"]
CLOCKS: Mapping[Clock, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True, slots=True)
class Layer:
    """One convolution of images of `sizes`; a number stands for all spatial dims.

    `same`: JAX's padding "SAME", which depends on the sizes: a number that only a call knows. PyTorch pads by `pad`,
    which is as much work.
    """

    name: str
    sizes: tuple[int, ...]
    channels: int
    features: int
    window: int
    stride: int = 1
    pad: int = 0
    dilation: int = 1
    groups: int = 1
    transposed: bool = False
    same: bool = False
    kind: Kind = "forward"
    layout: Layout = "last"
    batch: int = 1

    @property
    def rank(self) -> int:
        """How many spatial dims it has."""
        return len(self.sizes)

    def out(self, size: int) -> int:
        """A size of the result."""
        if self.transposed:
            return size * self.stride
        return (size + 2 * self.pad - self.dilation * (self.window - 1) - 1) // self.stride + 1

    @property
    def dimension_numbers(self) -> tuple[str, str, str]:
        """Those of JAX."""
        space = SPATIAL[self.rank]
        if self.layout == "last":
            return f"N{space}C", f"{space}IO", f"N{space}C"
        return f"NC{space}", f"OI{space}", f"NC{space}"

    def data_shape(self, batch: object, features: int, sizes: Sequence[object]) -> tuple[object, ...]:
        """Entries in the order of the layout."""
        return (batch, *sizes, features) if self.layout == "last" else (batch, features, *sizes)

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """That of the kernel."""
        space, each = (self.window,) * self.rank, self.channels // self.groups
        return (*space, each, self.features) if self.layout == "last" else (self.features, each, *space)

    def convolve(self, x: Any, w: Any) -> Any:
        """The convolution itself."""
        rank = self.rank
        if self.transposed:  # the result is `stride` times the input
            total = self.dilation * (self.window - 1) + self.stride - 1
            padding = ((self.window - 1 - self.pad, total - (self.window - 1 - self.pad)),) * rank
            strides, dilation = (1,) * rank, (self.stride,) * rank
        else:
            strides, dilation, padding = (self.stride,) * rank, (1,) * rank, ((self.pad, self.pad),) * rank
        return lax.conv_general_dilated(
            x,
            w,
            strides,
            "SAME" if self.same else padding,
            lhs_dilation=dilation,
            rhs_dilation=(self.dilation,) * rank,
            dimension_numbers=self.dimension_numbers,
            feature_group_count=self.groups,
        )

    @property
    def program(self) -> Callable[..., Any]:
        """What is measured, of two arrays."""
        if self.kind == "gradient of x":
            return lambda w, g, x: jax.vjp(lambda x: self.convolve(x, w), x)[1](g)[0]
        if self.kind == "gradient of w":
            return lambda x, g, w: jax.vjp(lambda w: self.convolve(x, w), w)[1](g)[0]
        return self.convolve

    def shapes(self, *, symbolic: bool) -> tuple[tuple[object, ...], ...]:
        """Of the program's arguments."""
        if symbolic:  # JAX knows what half of an even size is
            batch, out = "b", list[object](SYMBOLS[self.rank])
            sizes = list[object](s if self.kind == "forward" else f"{self.stride}*{s}" for s in SYMBOLS[self.rank])
        else:
            batch, sizes, out = self.batch, self.sizes, [self.out(n) for n in self.sizes]
        x, w = self.data_shape(batch, self.channels, sizes), self.weights_shape
        g = self.data_shape(batch, self.features, out)
        return {"forward": (x, w), "gradient of x": (w, g, x), "gradient of w": (x, g, w)}[self.kind]

    def export(self) -> export.Exported:
        """Export it for every batch and all sizes."""
        scope = export.SymbolicScope([f"{s} >= {self.dilation * (self.window - 1) + 1}" for s in SYMBOLS[self.rank]])
        specs = [
            jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(map(str, shape)), scope=scope), np.float32)
            for shape in self.shapes(symbolic=True)
        ]
        return export.export(jax.jit(self.program))(*specs)

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        places = np.prod(self.sizes if self.transposed else [self.out(n) for n in self.sizes], dtype=np.int64)
        taps = self.window**self.rank * self.channels // self.groups
        return int(2 * self.batch * places * taps * self.features)


LAYERS = (
    Layer("W6: first", (1600,), 80, 128, 5, stride=2, pad=2),
    Layer("W6: second", (800,), 128, 128, 3, stride=2, pad=2, dilation=2),
    Layer("wav2vec: first", (16000,), 1, 512, 10, stride=5),
    Layer("wav2vec: second", (3199,), 512, 512, 3, stride=2),
    Layer("line: position", (200,), 256, 256, 15, pad=7, groups=16),
    Layer("ResNet: first", (224, 224), 3, 64, 7, stride=2, pad=3),
    Layer("ResNet: 56", (56, 56), 64, 64, 3, pad=1),
    Layer("ResNet: 28", (28, 28), 128, 128, 3, pad=1),
    Layer("ResNet: 28, step", (28, 28), 128, 256, 3, stride=2, pad=1),
    Layer("dynamic padding: first", (224, 224), 3, 64, 7, stride=2, pad=3, same=True),
    Layer("dynamic padding: 28, step", (28, 28), 128, 256, 3, stride=2, pad=1, same=True),
    Layer("dynamic padding: line", (1600,), 80, 128, 5, stride=2, pad=2, same=True),
    Layer("ResNet: 14", (14, 14), 256, 256, 3, pad=1),
    Layer("ResNet: 7", (7, 7), 512, 512, 3, pad=1),
    Layer("1x1: 56, wider", (56, 56), 64, 256, 1),
    Layer("1x1: 56, narrower", (56, 56), 256, 64, 1),
    Layer("1x1: 14", (14, 14), 1024, 256, 1),
    Layer("1x1: 7", (7, 7), 512, 2048, 1),
    Layer("1x1: 56, step", (56, 56), 256, 512, 1, stride=2),
    Layer("depthwise: 112", (112, 112), 32, 32, 3, pad=1, groups=32),
    Layer("depthwise: 112, step", (112, 112), 96, 96, 3, stride=2, pad=1, groups=96),
    Layer("depthwise: 14", (14, 14), 512, 512, 3, pad=1, groups=512),
    Layer("depthwise: 28, 5x5", (28, 28), 240, 240, 5, pad=2, groups=240),
    Layer("dilated: 28", (28, 28), 128, 128, 3, pad=2, dilation=2),
    Layer("dilated: 28, by 4", (28, 28), 128, 128, 3, pad=4, dilation=4),
    Layer("groups: ResNeXt 56", (56, 56), 128, 128, 3, pad=1, groups=32),
    Layer("groups: ResNeXt 14", (14, 14), 512, 512, 3, pad=1, groups=32),
    Layer("transposed: 28", (28, 28), 128, 64, 4, stride=2, pad=1, transposed=True),
    Layer("transposed: 14", (14, 14), 256, 128, 2, stride=2, transposed=True),
    Layer("volume: 16", (16, 16, 16), 32, 32, 3, pad=1),
    Layer("volume: 8", (8, 28, 28), 64, 64, 3, pad=1),
    Layer("volume: first", (16, 56, 56), 3, 32, 3, pad=1),
)
BACKWARD = (
    *("W6: second", "ResNet: 56", "ResNet: 14", "ResNet: 28, step", "ResNet: first", "depthwise: 112"),
    *("depthwise: 14", "depthwise: 112, step", "groups: ResNeXt 14", "volume: 16"),
)


def table() -> list[Layer]:
    """All that is measured."""
    found = [replace(layer, layout=layout, batch=batch) for layer in LAYERS for layout in _LAYOUTS for batch in (1, 8)]
    for kind in _GRADIENTS:
        for layer in LAYERS:
            if layer.name in BACKWARD:
                found += [replace(layer, layout=layout, kind=kind, batch=4) for layout in _LAYOUTS]
    return found


_LAYOUTS: tuple[Layout, ...] = ("last", "first")
_GRADIENTS: tuple[Kind, ...] = ("gradient of x", "gradient of w")


@dataclass(frozen=True, slots=True)
class Measured:
    """Least seconds of a call of all; 0 for a PyTorch that is not there. `apart`: from XLA."""

    name: str
    kind: Kind
    layout: Layout
    batch: int
    flops: int
    ours: float
    xla: float
    torch: float
    apart: float

    @property
    def ratio(self) -> float:
        """Our time over the best one's: lower is better for us."""
        return self.ours / min(x for x in (self.xla, self.torch) if x > 0)


class Torch:
    """A process that measures PyTorch when it is asked to."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).with_name("convolution_torch.py")
        self._process = subprocess.Popen(
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, **request: object) -> float:
        """Send a request, wait for the answer."""
        assert self._process.stdin, "stdin is a pipe"
        assert self._process.stdout, "stdout is a pipe"
        self._process.stdin.write(json.dumps(request) + "\n")
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@contextmanager
def open_torch(python: str | None) -> Generator[Torch | None]:
    """PyTorch in an interpreter of its own; None without one."""
    if python is None:
        yield None
        return
    found = Torch(python)
    try:
        yield found
    finally:
        found.close()


def measure(layers: Sequence[Layer], torch: Torch | None, rounds: int, clock: Clock) -> Iterator[Measured]:
    """Measure layers; those that differ in the batch alone are one program."""
    programs = dict[Layer, Any]()
    for layer in layers:
        key = replace(layer, batch=1)
        run = programs.get(key)
        if run is None:
            run = programs[key] = shlo_disc.compile(layer.export())
        rng = np.random.default_rng(1)
        inputs = [_drawn(rng, shape) for shape in layer.shapes(symbolic=False)]
        ours = partial(run, *inputs)
        xla = partial(wait_for, jax.jit(layer.program), *jax.device_put(inputs))
        difference = apart(ours(), xla())
        least = [float("inf")] * 3
        if torch is not None:
            torch.ask(layer=asdict(layer), clock=clock)
        for turn in range(rounds):
            seconds = time_in_turns((ours, xla), 1, TURN, 0 if turn else WARM_UP, CLOCKS[clock])
            of_torch = 0.0 if torch is None else torch.ask(turn=TURN)
            least = [min(pair) for pair in zip(least, (*map(min, seconds), of_torch), strict=True)]
        of_us, of_xla, of_torch = least
        yield Measured(
            layer.name, layer.kind, layer.layout, layer.batch, layer.flops, of_us, of_xla, of_torch, difference
        )


def _drawn(rng: np.random.Generator, shape: Sequence[Any]) -> Any:
    """Normally distributed numbers that begin at a cache line, as the arrays of JAX and PyTorch do."""
    found = aligned(4 * math.prod(shape)).view(np.float32).reshape(shape)
    found[...] = rng.standard_normal(shape, np.float32)
    return found


HEADINGS = f"{'layer':42}features batch      ours       XLA   PyTorch  ratio GFLOP/s   apart"


def line(one: Measured) -> str:
    """One row of the table: microseconds, and our time over the best one's."""
    name = one.name if one.kind == "forward" else f"{one.name}, {one.kind}"
    times = "".join(f"{1e6 * seconds:10.1f}" if seconds else f"{'-':>10}" for seconds in (one.ours, one.xla, one.torch))
    rate = 1e-9 * one.flops / one.ours
    return f"{name:42}{one.layout:>8}{one.batch:6}{times}{one.ratio:7.2f}{rate:8.0f}{one.apart:8.0e}"


def summary(measured: Sequence[Measured]) -> Iterator[str]:
    """Say how many are slower, for all and for either layout."""
    for title, layout in (("all", None), ("features last", "last"), ("features first", "first")):
        ratios = [one.ratio for one in measured if layout in (None, one.layout)]
        slower = sum(ratio > 1 for ratio in ratios)
        yield (
            f"{title}: {len(ratios)} measured, {slower} slower than the best, worst {max(ratios):.2f}, "
            f"geometric mean {geometric_mean(ratios):.3f}"
        )


def main() -> None:
    """Measure and print; a process of its own, bound to its cores, does the work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall")
    parser.add_argument("--json", type=Path, help="also write every number to this file")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    chosen = [
        x for x in table() if not arguments.names or any(name in f"{x.name}, {x.kind}" for name in arguments.names)
    ]
    if arguments.here:
        with open_torch(arguments.torch) as torch:
            for one in measure(chosen, torch, arguments.rounds, arguments.clock):
                sys.stdout.write(json.dumps(asdict(one)) + "\n")
                sys.stdout.flush()
        return
    command = [*arguments.names, "--here", "--rounds", str(arguments.rounds), "--clock", arguments.clock]
    if arguments.torch:
        command += ["--torch", arguments.torch]
    found = list[Measured]()
    with tempfile.TemporaryDirectory() as cache:
        lines = measure_in_process("benchmarks.convolution", command, arguments.threads, cache)
        print(HEADINGS)
        for answer in lines:
            found.append(Measured(**answer))
            print(line(found[-1]), flush=True)
    print(*summary(found), sep="\n")
    if arguments.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "jax": jax.__version__}
        written = {
            **machine,
            "threads": arguments.threads,
            "clock": arguments.clock,
            "layers": [asdict(one) for one in found],
        }
        arguments.json.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
