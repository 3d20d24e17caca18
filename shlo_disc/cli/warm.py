"""`python -m shlo_disc warm`: precompile the runtime library, so that programs compile only their own code."""

from __future__ import annotations

import argparse
import time

from shlo_disc.cli.output import complain, say
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.progress import Bar
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler


def run_warm(options: argparse.Namespace) -> int:
    """Fill the cache, and print how long it took. Gives the exit code."""
    chosen, started = CompileOptions(compiler=options.compiler), time.monotonic()
    try:
        compiler = find_compiler(chosen.compiler, chosen.compiler_seconds)
        builder = Builder(compiler, chosen.optimize, open_cache(chosen.cache_dir))
        with Bar() as bar:
            count = builder.warm(bar.show)
    except ToolchainError as error:
        complain(error)
        return 1
    if builder.cache.is_temporary:  # there was a warning
        return 1
    took = time.monotonic() - started
    say(f"{count} files are in {builder.cache.root}, compiled by {compiler.version}: {took:.1f} s\n")
    return 0
