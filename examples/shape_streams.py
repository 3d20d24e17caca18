"""Serve a stream of requests of many shapes in one of several ways, from nothing, and measure each request.

    python -m examples.shape_streams "jax.jit" --requests 64

It prints a line of JSON per request. `recompilation.ipynb` runs each way in a process of its own.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import argparse
import json
import operator
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import numpy as np

from examples.quickstart import LONGEST, Floats, Ints, Params, encoder, export_once, random_batch, random_params

ROOT = Path(__file__).resolve().parents[1]
COMPILED = "/jax/core/compile/backend_compile_duration"  # JAX's event of a compilation by XLA


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its shape, its seconds, and what the process has used when it is served.

    `cpu` are seconds of the process and its children (C++ compilers), `memory` bytes of the process, `computed` is the
    number of elements of `tokens` that were computed, `checksum` the sum of the result's absolute values.
    """

    batch: int
    length: int
    seconds: float
    cpu: float
    memory: int
    compilations: int
    computed: int
    checksum: float


def draw_stream(requests: int) -> list[tuple[int, int]]:
    """Shapes (batch, length) as a server sees them: log-normal lengths up to 512, batches of 1 to 8."""
    rng = np.random.default_rng(5)
    batches = np.clip(np.exp(rng.normal(np.log(2), 0.7, requests)), 1, 8).astype(int)
    lengths = np.clip(np.exp(rng.normal(np.log(64), 0.9, requests)), 1, LONGEST).astype(int)
    return list(zip(batches.tolist(), lengths.tolist(), strict=True))


def power_of_two(size: int) -> int:
    """The least power of two that is not less than a size."""
    return 1 << max(0, size - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Server:
    """A way to serve: `serve` computes one request; `computed` is the number of elements that it computes for a shape.

    `compilations` counts programs; None: those that XLA compiles.
    """

    serve: Callable[[Ints, Ints], Floats]
    computed: Callable[[int, int], int] = operator.mul
    compilations: Callable[[], int] | None = None


def _jit(params: Params) -> Server:
    function = jax.jit(encoder)
    return Server(lambda tokens, lengths: np.asarray(function(params, tokens, lengths)))


def _padded(params: Params) -> Server:
    function = jax.jit(encoder)

    def serve(tokens: Ints, lengths: Ints) -> Floats:
        b, s = tokens.shape
        rows, columns = power_of_two(b) - b, power_of_two(s) - s
        padded = np.pad(tokens, ((0, rows), (0, columns)))
        masked = np.pad(lengths, (0, rows), constant_values=1)  # a row without any length would be NaN
        return np.asarray(function(params, padded, masked))[:b, :s]

    return Server(serve, lambda batch, length: power_of_two(batch) * power_of_two(length))


def _exported(params: Params) -> Server:
    function = jax.jit(export_once(params).call)
    return Server(lambda tokens, lengths: np.asarray(function(params, tokens, lengths)))


def _ours(params: Params) -> Server:
    import shlo_disc  # noqa: PLC0415  its time counts

    function = shlo_disc.jit(encoder)
    return Server(
        lambda tokens, lengths: np.asarray(function(params, tokens, lengths)),
        compilations=lambda: function.report().compilations,
    )


CACHED = "jax.jit, persistent cache"
WAYS: dict[str, Callable[[Params], Server]] = {
    "jax.jit": _jit,
    "jax.jit, padded to powers of two": _padded,
    CACHED: _jit,
    "Exported.call": _exported,
    "shlo_disc.jit": _ours,
}


def serve_stream(way: str, requests: int) -> Iterator[Request]:
    """Serve the stream in one way, in this process."""
    compiled = list[float]()
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration_secs, **_: compiled.append(duration_secs) if event == COMPILED else None
    )
    params = random_params(np.random.default_rng(7))
    jax.block_until_ready(params)
    compiled.clear()  # those that make the weights
    begun, rng = _cpu(), np.random.default_rng(1)
    server = WAYS[way](params)
    count = server.compilations or (lambda: len(compiled))
    for batch, length in draw_stream(requests):
        tokens, lengths = random_batch(rng, (batch, length))
        start = time.perf_counter()
        result = server.serve(tokens, lengths)
        seconds, used = time.perf_counter() - start, _cpu() - begun
        computed, checksum = server.computed(batch, length), float(abs(result).sum())
        yield Request(batch, length, seconds, used, _memory(), count(), computed, checksum)


def stream_in_process(way: str, requests: int, cache: Path) -> list[Request]:
    """Serve the stream in one way from nothing: a new process, with an empty cache folder of ours at `cache`.

    JAX's persistent cache, where it is used, is that of a process before, which served the same stream.
    """
    command = [sys.executable, "-m", "examples.shape_streams", way, "--requests", str(requests), "--cache", str(cache)]
    environment = {**os.environ, "SHLO_DISC_CACHE": str(cache / "ours")}
    found = list[Request]()
    for _ in range(2 if way == CACHED else 1):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        found = [Request(**json.loads(line)) for line in done.stdout.splitlines()]
    return found


def _cpu() -> float:
    """CPU seconds of this process and its children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _memory() -> int:
    """Bytes of physical memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Print a line for each request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--requests", type=int, default=64)
    parser.add_argument("--cache", type=Path, required=True, help="a folder for caches")
    options = parser.parse_args()
    if options.way == CACHED:
        jax.config.update("jax_compilation_cache_dir", str(options.cache / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    for request in serve_stream(options.way, options.requests):
        print(json.dumps(asdict(request)), flush=True)


if __name__ == "__main__":
    main()
