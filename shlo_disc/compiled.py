"""What `compile` returns: a program to call, to bind arguments to, and to inspect."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shlo_disc.artifact import Artifact
from shlo_disc.bound import Bound, cache_dir_of, known_origin, load_function, machine_of
from shlo_disc.call_signature import Signature
from shlo_disc.calling import Served, few, serve
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.program_file.origin import Origin
from shlo_disc.report_model import FactText
from shlo_disc.runtime.dispatch import ScheduleChoice
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.peak import largest_size, peak_memory
from shlo_disc.runtime.xla.function import traceable
from shlo_disc.size_expr import SizeExpr

if TYPE_CHECKING:  # few programs need it
    from shlo_disc.profiling.profile import Profile
    from shlo_disc.ragged.analysis import RaggedReport


class Compiled(Served):
    """A program that runs at any shape. Call it like the function that was exported.

    From StableHLO text it takes flat arrays and returns a tuple. The results are arrays of the arguments' library: of
    JAX, or on a device of one of its libraries (CuPy, Torch), if an argument is, else of NumPy.
    """

    __slots__ = {
        "__call__": """Run the program.

        Args:
            *args: pytrees of arrays like those of the exported function; from text, flat arrays. C-contiguous ones in
                the memory that kernels compute in are taken as they are: NumPy's, JAX's, CuPy's, others by DLPack. What
                is not contiguous is copied. Dtypes have to be the program's.
            **kwargs: keyword arguments of the exported function.

        Returns:
            The pytree of the exported function's results; from text, a tuple of arrays.

        Raises:
            RuntimeShapeError: a size breaks a constraint; before anything is written.
            ArgumentTypeError: a dtype, a rank or a pytree is not the program's; before anything is written.
            MemoryError: there is no memory for temporaries or results.
        """
    }

    def __init__(
        self,
        executable: Runnable,
        signature: Signature | None,
        origin: Origin | None = None,
        describe: Callable[[], Artifact] | None = None,
    ) -> None:
        """`origin`: to save it; `describe`: the artifact with its sources and report, if the executable's has none."""
        self._executable = executable
        self._signature = signature
        self._origin = origin
        self._describe = describe or (lambda: executable.artifact)
        self.serve_by(serve(executable, signature))
        self._as_jax = traceable(executable, signature, self.__call__)

    def bind(self, *args: Any, **kwargs: Any) -> Bound:
        """Fix the leading arguments, and keywords: `bound = run.bind(params)`, then `bound(x)` is `run(params, x)`.

        Bound arguments are checked and packed once, here; calls only check the others. Nothing is compiled. See
        docs/how-to/binding.md.

        Args:
            *args: the leading arguments. The arrays must not be written to afterwards: `bound.rebind` replaces them.
            **kwargs: keyword arguments.

        Returns:
            The program, to be called with the other arguments.

        Raises:
            RuntimeShapeError: sizes of the arrays break a constraint.
            ArgumentTypeError: a dtype or a rank is not the program's.
        """
        return Bound(self._executable, self._signature, args, kwargs, self._origin, None, self._describe)

    def profile(self, *args: Any, repeat: int = 10, **kwargs: Any) -> Profile:
        """Measure where calls with these arguments spend their time, step by step.

        The kernels and the host program are those of every call, and nothing is compiled; ordinary calls run no slower,
        as they do not look at a clock. See docs/how-to/profile.md.

        Args:
            *args: as of a call. Arguments that a call may overwrite are copied for each.
            repeat: how many calls are measured, after a first one that is not.
            **kwargs: as of a call.

        Returns:
            The times of each step, its bytes and operations, and the limits of this machine, which are measured at the
            first use (half a second) and kept in the cache.

        Raises:
            RuntimeShapeError: as of a call.
            ArgumentTypeError: as of a call.
            ShloDiscError: `repeat` is less than 1; a call runs more than a million steps; or the file that the program
                was loaded from brings a runtime of an earlier version.
        """
        from shlo_disc.profiling.measure import ProfiledCall, profile_call  # noqa: PLC0415  few programs need it

        call = ProfiledCall(self, self._executable, self._signature, args, kwargs)
        return profile_call(call, self._describe(), repeat, cache_dir_of(self._origin))

    def as_jax(self) -> Callable[..., Any]:
        """The program as a function to call inside of `jax.jit`, `jax.lax.scan` and others, on its device.

        There a call is one custom call of XLA, without Python: see docs/how-to/inside-jax.md. Outside of a traced
        function it is a call of the program. It cannot be differentiated.

        Returns:
            A function that takes and returns what the program does, always the same one.
        """
        return self._as_jax

    def save(self, path: str | os.PathLike[str], *, targets: Sequence[str] | None = None) -> None:
        """Write the program to a file, which `shlo_disc.load` reads in another process without a compiler or JAX.

        See docs/how-to/ship.md.

        Args:
            path: the file to write; one that is there is replaced.
            targets: the CPUs to compile for: "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64". None takes the best of
                these that this machine is. Code for another family of CPUs is compiled by zig.

        Raises:
            ShloDiscError: an unknown target, a program for a GPU, or arguments in containers that only JAX knows.
            ToolchainError: there is no C++ compiler, or none for a target.
            OSError: the file cannot be written.
        """
        self._save(Path(path), targets)

    def build(self, directory: str | os.PathLike[str], name: str = "model", target: str | None = None) -> None:
        """Write the program as a library for C, which needs no Python: a header, a shared and a static library.

        See docs/how-to/c.md.

        Args:
            directory: the folder to write to, which is made if need be; files of these names are replaced.
            name: of the library; the names of its functions begin with it.
            target: the CPUs to compile for: "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", or "native" for this one
                alone. None takes the best that this machine is. Code for another family of CPUs is compiled by zig.

        Raises:
            ShloDiscError: an unknown target, a name that is no identifier of C, or a program for a GPU, in partitions,
                or with functions that Python computes; before anything is written.
            ToolchainError: there is no C++ compiler, or no objcopy and ar for this target.
            OSError: a file cannot be written.
        """
        from shlo_disc.c_package import build_package  # noqa: PLC0415  few programs need it

        build_package(known_origin(self._origin), Path(directory), name, target)

    def _save(self, path: Path | None, targets: Sequence[str] | None = None) -> bytes:
        from shlo_disc.program_file.writer import save  # noqa: PLC0415  few programs need it

        return save(known_origin(self._origin), self._signature, path, targets)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return load_function(), (self._save(None),)

    def __repr__(self) -> str:
        artifact = self._executable.artifact
        arguments = few([f"{one.name}: {_typed(one.dtype, one.shape)}" for one in artifact.arguments])
        results = few([_typed(one.dtype, one.shape) for one in artifact.results])
        return f"<Compiled {artifact.name}({arguments}) -> ({results})>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from shlo_disc.report.inline import program_html  # noqa: PLC0415  only notebooks need it

        return program_html(self._describe())

    @property
    def stats(self) -> Stats:
        """Compilations, calls, distinct signatures, and seconds in each stage of the compiler."""
        return self._executable.stats

    @property
    def machine(self) -> str:
        """The CPUs that the machine code is for: "native", or of a loaded program the best of its targets here."""
        return machine_of(self._origin)

    @property
    def kernels_source(self) -> str:
        """The generated kernels, in the language of the target."""
        return "\n".join(file.text for part in self._describe().parts for file in part.kernels)

    @property
    def host_source(self) -> str:
        """The host program: a listing of its bytecode, or for a GPU the generated C++."""
        from shlo_disc.bytecode.listing import host_text  # noqa: PLC0415  few programs need it

        return "\n".join(host_text(part) for part in self._describe().parts)

    @property
    def executable(self) -> Runnable:
        """The flat program: arrays in, arrays of the device out; `trace` observes it step by step."""
        return self._executable

    def explain(self, topic: str | None = None, value: str | None = None) -> str:
        """Explain what was known and decided: "facts", "fusion", "memory" or "schedules", or everything.

        `explain("facts", value="%42")` shows why a value of the program has its shape, step by step.

        Args:
            topic: "facts", "fusion", "memory" or "schedules"; None for everything.
            value: the name of a value in the text, with the topic "facts".

        Returns:
            Lines of text for a terminal.

        Raises:
            ShloDiscError: an unknown topic, or a value whose shape does not depend on sizes.
        """
        from shlo_disc.report.text import explain  # noqa: PLC0415  few programs need it
        from shlo_disc.runtime.xla.programs import trace_notes  # noqa: PLC0415

        notes = (*self._executable.notes, *trace_notes(self._executable)) if topic is None else ()
        return "\n\n".join([explain(self._describe(), topic, value), *notes])

    def peak_memory(self, **sizes: int) -> int:
        """The bytes of temporaries that a call with these sizes needs: `peak_memory(b=8, s=512)`.

        Args:
            **sizes: a value for every size. Sizes that the program computes have names, too, also those of a loop's
                worst iteration: see `explain("facts")`.

        Returns:
            Bytes.

        Raises:
            ShloDiscError: a size is missing or unknown.
            RuntimeShapeError: the sizes break a constraint.
        """
        return peak_memory(self._executable.artifact, sizes)

    @property
    def peak_formula(self) -> Any:
        """What `peak_memory` computes, as a SymPy expression of the sizes."""
        return peak_formula(self._executable.artifact)

    def max_size(self, symbol: str, *, budget: int | str, **sizes: int) -> int:
        """The largest value of a size whose call keeps within a budget: `max_size("b", s=512, budget="2GiB")`.

        Args:
            symbol: the name of the size.
            budget: bytes of temporaries, as a number or a text with a unit: "2GiB", "500MB".
            **sizes: values of all other sizes.

        Returns:
            The size.

        Raises:
            ShloDiscError: an unknown size, a budget that is invalid or too small for any value, or memory that does not
                grow with the size.
        """
        return largest_size(self._executable.artifact, symbol, budget, sizes)

    def ragged_report(self, lengths: Any, sizes: Mapping[str, int] | None = None) -> RaggedReport:
        """What the program computes for given lengths, what of it is needed, and what it would compute padded.

        Its text is analysed once more. See docs/how-to/ragged-batches.md.

        Args:
            lengths: whole numbers, one for each row; if several sizes are ragged, a mapping of their names to these.
            sizes: of the padded arguments, by name; without them, a ragged size is its greatest length.

        Returns:
            FLOPs that are needed and padded ones, by op; FLOPs and bytes of this program's steps.

        Raises:
            ShloDiscError: no size is ragged; lengths or sizes are missing, negative, or do not fit each other.
            RuntimeShapeError: the sizes break a constraint.
        """
        from shlo_disc.profiling.ragged_steps import with_steps  # noqa: PLC0415  few programs need it

        report = known_origin(self._origin).ragged_analysis().report(lengths, sizes)
        return with_steps(report, self._describe())

    def explain_dispatch(self, **sizes: int) -> str:
        """Describe which schedule each matrix product takes at these sizes: `explain_dispatch(s=77)`.

        Args:
            **sizes: a value for every size.

        Returns:
            Lines per product: the share of padding, the busy threads, the predicted time, and the measured time on
            arrays of zeros.

        Raises:
            ShloDiscError: an unknown size, a program in partitions, or one that does not run on the CPU.
        """
        return self._executable.explain_dispatch(sizes)

    @property
    def selections(self) -> tuple[tuple[ScheduleChoice, ...], ...]:
        """The schedules of the products of each call so far: of the last 65536 calls, or parts of a program.

        Raises `ShloDiscError` if the program was not compiled with `CompileOptions(trace_selection=True)`.
        """
        log = self._executable.log
        if log is None:
            raise ShloDiscError("found no trace of calls, expected CompileOptions(trace_selection=True) on the CPU")
        return tuple(log)

    def report(
        self,
        path: str | os.PathLike[str],
        profile: Profile | None = None,
        *,
        beside: Compiled | None = None,
        beside_profile: Profile | None = None,
    ) -> None:
        """Write a self-contained HTML page: groups, kernels, facts, decisions, memory over time.

        Args:
            path: the file to write.
            profile: what `profile` measured of this program: the page then shows the times of groups and steps.
            beside: another program, or this one compiled with other options: the page then compares both.
            beside_profile: what was measured of that one.

        Raises:
            ShloDiscError: a profile of another program; before anything is written.
            OSError: it cannot be written.
        """
        from shlo_disc.report.comparison import Side, write_comparison  # noqa: PLC0415  few programs need it
        from shlo_disc.report.page import write_page  # noqa: PLC0415

        own = self._describe()
        data = _profile_data(profile, own)
        if beside is None:
            write_page(own, Path(path), data)
            return
        other = beside._describe()  # noqa: SLF001  (another of ours)
        names = (own.name, other.name) if own.name != other.name else (own.name, f"{other.name}, beside")
        sides = [Side(names[0], own, data), Side(names[1], other, _profile_data(beside_profile, other))]
        write_comparison(sides, Path(path))

    def facts(self) -> tuple[FactText, ...]:
        """Everything that is known of the sizes of the program's values.

        Returns:
            The facts, each with its reason.
        """
        return self._describe().report.all_facts()


def origin_of(program: Compiled | Bound) -> Origin | None:
    """What a program was compiled from."""
    return program._origin  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _profile_data(profile: Profile | None, artifact: Artifact) -> Mapping[str, Any] | None:
    """The data of a profile for a page. Raises `ShloDiscError` if it is another program's."""
    if profile is None:
        return None
    from shlo_disc.profiling.data import data_for  # noqa: PLC0415  few programs need it

    return data_for(profile, artifact)


def profile_of_arrays(
    program: Compiled | Bound, arrays: Sequence[Any], repeat: int, whole: Callable[..., Any] | None = None
) -> Profile:
    """`Compiled.profile` of the flat program, with arrays in the order of its arguments that are not bound.

    `whole` is called with the arrays to time a whole call; None for the flat program.
    """
    from shlo_disc.profiling.measure import ProfiledCall, profile_call  # noqa: PLC0415  few programs need it

    executable = program.executable
    call = ProfiledCall(whole or (lambda *args: executable(args)), executable, None, tuple(arrays), {})
    described, origin = program._describe(), program._origin  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return profile_call(call, described, repeat, cache_dir_of(origin))


def peak_formula(artifact: Artifact) -> Any:
    """The bytes of temporaries of a call, as a SymPy expression of the free sizes."""
    from shlo_disc.expr.sympy_bridge import size_to_sympy  # noqa: PLC0415  a second to import

    count = artifact.given
    known: dict[str, SizeExpr] = dict(zip(artifact.symbols, artifact.raw_sizes, strict=False))
    known |= dict(zip(artifact.symbols[count:], artifact.definitions, strict=True))
    known |= {name: name for name in artifact.free}  # also where the program finds one by a division of a raw size
    return size_to_sympy(artifact.arena_bytes, known)


def _typed(dtype: str, shape: Sequence[SizeExpr]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"
