"""`compile`: StableHLO in any form, or a function of JAX with the types of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import compile_program


def compile(  # noqa: A001, PLR0913 - the name users expect; what is known and wished of one program
    program: Any,
    *,
    shapes: Any = None,
    device: str | None = None,
    constraints: Sequence[str] = (),
    likely: Mapping[str, Sequence[int]] | None = None,
    donate: Sequence[int] | Literal["marked"] = (),
    ragged: Mapping[str, str | int] | None = None,
    threads: int | None = None,
    options: CompileOptions | None = None,
) -> Compiled:
    """Compile a program once, for every shape.

    Args:
        program: a function of JAX, plain or of `jax.jit`, with `shapes`; a `jax.export.Exported` (of several platforms,
            the device's branches are used), what its `serialize` returns, a `Lowered` of `jax.jit`, StableHLO text,
            MLIR bytecode (read through jaxlib), a path to any of these, or a `Module`.
        shapes: of a function's arguments: one text, `"f32[b, s, 256], i32[b]"`, with a type for each positional
            argument, or a tuple of pytrees like the arguments, with texts, `jax.ShapeDtypeStruct` or arrays as leaves.
            Names are sizes that may change.
        device: the name of a target ("cpu", "cuda"); None for the best one available: a GPU if CuPy finds one.
        constraints: on sizes, beyond those of the export, in JAX's language or Python's: `"b % 8 == 0"`, `"s <= 2*t"`.
            They are used in proofs, and checked in every call.
        likely: usual values of sizes, `{"b": [1, 8], "s": [128]}`. They guide what is fused and how, and are never
            relied on.
        donate: numbers of flat arguments whose memory a call may overwrite, or "marked" for those that the program
            marks, as `jax.jit(donate_argnums=...)` does; without this no argument is overwritten
            (docs/explanation/memory.md).
        ragged: `{"s": "lengths"}`: arguments with the size `s`, and the size of the argument `lengths`, are padded: in
            row `b`, elements from `lengths[b]` on along `s` are padding. Products, and what is computed for each
            position, skip it, and results are zero there (docs/how-to/ragged-batches.md). The argument is named by the
            function, or a flat number; it holds integers [b], or a mask [b, s] of ones up to the length, then zeros.
        threads: `CompileOptions.threads`.
        options: how to compile; None for all defaults.

    Returns:
        The program: called like the function or, from text, with flat arrays.

    Raises:
        ParseError: the text is not StableHLO, with line and column; or a shape is not in its language.
        VerifyError: an op breaks a rule of the specification.
        UnsupportedOpError: an op, or an element type, that the target does not have.
        ShloDiscError: another invalid argument, such as an unknown device or constraint; or results may depend on the
            padding of ragged arguments.
        ToolchainError: a compiler is missing or fails or, for "cuda", a GPU or a library is missing.
        Exception: what the function itself raises when JAX traces it.
    """
    program, constraints = _with_shapes(program, shapes, constraints, device)
    return compile_program(
        program,
        device=device,
        constraints=constraints,
        likely=likely,
        donate=donate,
        ragged=ragged,
        threads=threads,
        options=options,
    )


def _with_shapes(
    program: Any, shapes: Any, constraints: Sequence[str], device: str | None
) -> tuple[Any, Sequence[str]]:
    """The program, a function as its export, and the constraints that the export does not have."""
    if _is_lowered(program):
        return _text_of_lowered(program, shapes), constraints
    if callable(program):
        from shlo_disc.function_export import export_function  # noqa: PLC0415  only functions need `jit`

        return export_function(program, shapes, constraints, device), ()
    if shapes is not None:
        raise ShloDiscError(
            f"found shapes beside a program of type {type(program).__name__}, which has its own\n"
            "  help: pass the function itself, or the program without shapes"
        )
    return program, constraints


def _is_lowered(program: Any) -> bool:
    return type(program).__name__ == "Lowered" and hasattr(program, "as_text")


def _text_of_lowered(program: Any, shapes: Any) -> str:
    if shapes is not None:
        raise ShloDiscError(
            "found shapes beside a Lowered of jax.jit, whose sizes are numbers already\n"
            "  help: pass the function itself with these shapes"
        )
    return str(program.as_text())
