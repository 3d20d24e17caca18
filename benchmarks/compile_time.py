"""Where compilation spends its time, for an encoder with its backward pass, from 1 to 48 layers.

    python -m benchmarks.compile_time [--layers 1,4,12,48] [--fusion full] [--json FILE] [--profile]

CPU milliseconds of every stage up to the text of the kernels (the C++ compiler is not part of it), the least of several
rounds: one thread, so what a machine with nothing else to do takes. Analysis is `legalize` and `passes`, decisions are
`fuse`. `facts` is the part of all stages that is spent asking about sizes and indices (`expr/`), found by sampling.
Linear means that a layer costs as much in a program of 48 layers as in one of 4.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.fusion_rules import PLANNERS
from examples.quickstart import Params, encoder, random_params
from shlo_disc.kernels.groups import Fuse
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from shlo_disc.pipeline import Request, Stopwatch, compile_text

LAYERS = (1, 4, 12, 48)
ROUNDS = 12
SECONDS = 15.0  # of CPU time, after which a program gets no further round
ANALYSIS = ("legalize", "passes", "fuse")  # what the target is about
STAGES = ("parse", "verify", *ANALYSIS, "generate", "describe")
TARGET, TARGET_LAYERS = 0.4, 12  # seconds of these
SAMPLE = 0.001  # seconds of CPU time
WIDTH = 130  # columns of the table
EXPRESSIONS = "/shlo_disc/expr/"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of the stages of one compilation. `facts` is a part of them, not one more."""

    layers: int
    ops: int
    stages: dict[str, float]
    facts: float

    @property
    def analysis(self) -> float:
        """Legalization, passes and fusion."""
        return sum(self.stages[stage] for stage in ANALYSIS)


def training_params(layers: int) -> Params:
    """Weights of an encoder, whose layers are equal."""
    params = random_params(np.random.default_rng(0))
    return params._replace(layers=(params.layers[0],) * layers)


def training_export(layers: int) -> export.Exported:
    """Export the loss of an encoder, its gradients, and a step of gradient descent."""

    def loss(params: Params, tokens: jax.Array, lengths: jax.Array, targets: jax.Array) -> jax.Array:
        scores = jax.nn.log_softmax(encoder(params, tokens, lengths) @ params.embedding.T)
        likelihood = jnp.take_along_axis(scores, targets[..., None], -1, mode="clip")[..., 0]
        counted = (jnp.arange(tokens.shape[1]) < lengths[:, None]).astype(jnp.float32)
        return -(likelihood * counted).sum() / counted.sum()

    def step(params: Params, tokens: jax.Array, lengths: jax.Array, targets: jax.Array) -> tuple[jax.Array, Params]:
        value, gradient = jax.value_and_grad(loss)(params, tokens, lengths, targets)
        return value, jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradient)

    spec = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), training_params(layers))
    b, s = export.symbolic_shape("b, s")
    tokens = jax.ShapeDtypeStruct((b, s), jnp.int32)
    return export.export(jax.jit(step))(spec, tokens, jax.ShapeDtypeStruct((b,), jnp.int32), tokens)


def training_text(layers: int) -> str:
    """The text of `training_export`."""
    return training_export(layers).mlir_module()


class Samples:
    """Where the program is, looked at once a millisecond of CPU time."""

    def __init__(self) -> None:
        self.all = self.facts = 0

    def _look(self, _: int, frame: FrameType | None) -> None:
        self.all += 1
        while frame is not None:
            if EXPRESSIONS in frame.f_code.co_filename:
                self.facts += 1
                return
            frame = frame.f_back

    @contextmanager
    def taken(self) -> Generator[None]:
        """Take samples while the block runs."""
        before = signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE, SAMPLE)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def count_ops(text: str) -> int:
    """How many ops fusion gets to see."""
    program = legalize(parse_module(text, "<training step>"))
    for step in PASSES:
        program = step.run(program)
    return sum(1 for _ in program.body.walk())


def measure(layers: int, fuse: Fuse) -> Timing:
    """The least seconds of every stage over some rounds."""
    text = training_text(layers)
    rounds, samples, start = list[Stopwatch](), Samples(), time.process_time()
    while len(rounds) < ROUNDS and time.process_time() - start < SECONDS:
        gc.collect()
        rounds.append(Stopwatch(time.process_time))
        compile_text(text, "<training step>", Request(), rounds[-1], fuse)
    with samples.taken():
        compile_text(text, "<training step>", Request(), Stopwatch(), fuse)
    stages = {name: min(watch.seconds[name] for watch in rounds) for name in STAGES}
    return Timing(layers, count_ops(text), stages, sum(stages.values()) * samples.facts / max(1, samples.all))


def show(timings: Sequence[Timing], console: Console) -> None:
    """Print CPU milliseconds by stage, and what an op costs."""
    table = Table(title="CPU milliseconds by stage: an encoder with its backward pass")
    for heading in ("layers", "ops", *STAGES, "facts (in all)", "analysis + fusion", "us per op"):
        table.add_column(heading, justify="right")
    for timing in timings:
        stages = [f"{1e3 * timing.stages[name]:.0f}" for name in STAGES]
        sums = [
            f"{1e3 * timing.facts:.0f}",
            f"{1e3 * timing.analysis:.0f}",
            f"{1e6 * timing.analysis / timing.ops:.0f}",
        ]
        table.add_row(str(timing.layers), str(timing.ops), *stages, *sums)
    console.print(table)
    for timing in timings:
        if timing.layers == TARGET_LAYERS:
            console.print(f"target: {TARGET_LAYERS} layers in {TARGET} s, found {timing.analysis:.2f} s")


def profile(text: str, fuse: Fuse) -> None:
    """Print the functions that take longest, with what they call."""
    profiler = cProfile.Profile()
    profiler.runcall(compile_text, text, "<training step>", Request(), Stopwatch(), fuse)
    pstats.Stats(profiler).sort_stats("cumulative").print_stats(60)


def main() -> None:
    """Measure what the command line names."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--layers", default=",".join(map(str, LAYERS)), help="numbers of layers")
    options.add_argument("--fusion", choices=PLANNERS, default="full")
    options.add_argument("--json", type=Path, help="file for the numbers")
    options.add_argument("--profile", action="store_true", help="where the time goes, for the largest number of layers")
    given = options.parse_args()
    layers = sorted(map(int, given.layers.split(",")))
    console, fuse = Console(width=WIDTH), PLANNERS[given.fusion]
    if given.profile:
        profile(training_text(layers[-1]), fuse)
        return
    timings = [measure(n, fuse) for n in track(layers, "programs", console=Console(stderr=True))]
    show(timings, console)
    if given.json is not None:
        report = [{**asdict(timing), "analysis": timing.analysis} for timing in timings]
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
