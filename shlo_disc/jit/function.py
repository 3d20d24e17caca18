"""`jit`: a function that is compiled once for all sizes, and called and transformed as that of `jax.jit`."""

from __future__ import annotations

import functools
import logging
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from shlo_disc.choices import read_hints
from shlo_disc.compiled import Compiled, profile_of_arrays
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError, ShloDiscError
from shlo_disc.jit import primitive
from shlo_disc.jit.arguments import Call, Parameters
from shlo_disc.jit.compiling import TraceCompiler
from shlo_disc.jit.declared import read_declaration
from shlo_disc.jit.donation import delete_donated
from shlo_disc.jit.family import SizeVariant
from shlo_disc.jit.function_programs import FunctionPrograms, ServedStructure
from shlo_disc.jit.jax_modules import context, context_function
from shlo_disc.jit.quick import QuickCalls
from shlo_disc.jit.report import FunctionReport, describe
from shlo_disc.jit.tracing import ClosesOverTracers, FunctionError, is_tracing
from shlo_disc.options import CompileOptions

if TYPE_CHECKING:
    from shlo_disc.profiling.profile import Profile

log = logging.getLogger("shlo_disc")

Fallback = Literal["error", "jax"]

_FOR_XLA = {"inline", "keep_unused", "compiler_options"}


def jit(  # noqa: PLR0913  the parameters of `jax.jit`, and what is known of sizes
    fun: Callable[..., Any] | str | None = None,
    *,
    shapes: Any = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Iterable[str] = (),
    constraints: Sequence[str] = (),
    likely: Mapping[str, Sequence[int]] | None = None,
    device: str | None = None,
    options: CompileOptions | None = None,
    fallback: Fallback = "error",
    **for_xla: Any,
) -> Any:
    """Compile a function for all sizes; a drop-in for `jax.jit`, also as a decorator with or without arguments.

    Sizes are declared, or learned from calls: the first call is compiled for its own sizes; sizes that were seen to
    change become symbols; those that were always equal share one, others stay numbers. See docs/how-to/jit.md.

    Args:
        fun: a function that JAX can trace. Arguments and results are pytrees of arrays.
        shapes: the shapes of arguments, in jaxtyping's language: one text, `"b s 256, b"`, with a part for each
            positional argument, or texts in a tuple by position, a dict by name, or pytrees like the arguments.
            Arrays for which nothing is declared are learned. None: annotations of jaxtyping, if there are any.
        static_argnums: positions of arguments that are constants, as for `jax.jit`; a program for each value.
        static_argnames: the same by name.
        donate_argnums: positions of arguments that the caller no longer needs; a call deletes them.
        donate_argnames: the same by name.
        constraints: on declared sizes, in JAX's language: `"b % 8 == 0"`, `"s <= 2*t"`; a call keeps all.
        likely: usual values of declared sizes, which guide what is fused and how.
        device: "cpu" or "cuda"; None for the best one available.
        options: how to compile; None for all defaults.
        fallback: what to do with calls that cannot be compiled: "error" raises, "jax" hands them to `jax.jit`, with a
            line in the report and a warning in the log `shlo_disc`.
        **for_xla: parameters of `jax.jit` that are about XLA (`inline`, `keep_unused`, `compiler_options`): they are
            used by `lower` and for calls that are handed to `jax.jit`.

    Returns:
        The function, a `JitFunction`; without `fun`, a decorator.

    Raises:
        ParseError: a shape or a constraint is not in its language.
        ShloDiscError: another invalid argument, such as an unknown device.
        TypeError: a keyword that is no parameter of `jax.jit`.
    """
    if not callable(fun):
        if fun is not None:
            raise ShloDiscError(f"found {fun!r} as the function, expected a function\n  help: shapes=... is a keyword")
        return functools.partial(
            jit, shapes=shapes, static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames, constraints=constraints, likely=likely,
            device=device, options=options, fallback=fallback, **for_xla,
        )  # fmt: skip
    _check_choices(fallback, for_xla)
    parameters = Parameters(fun, static_argnums, static_argnames, donate_argnums, donate_argnames, for_xla)
    hints = read_hints(constraints, likely, ())
    compiler = TraceCompiler(device, options, dict(hints.likely))
    declared = read_declaration(shapes, parameters, hints)
    return JitFunction(fun, parameters, declared, hints.constraints, compiler, fallback)


def _check_choices(fallback: str, for_xla: Mapping[str, Any]) -> None:
    if fallback not in {"error", "jax"}:
        raise ShloDiscError(f"found fallback {fallback!r}, expected 'error' or 'jax'")
    if unknown := for_xla.keys() - _FOR_XLA:
        raise TypeError(f"jit() got an unexpected keyword argument {min(unknown)!r}")


class JitFunction:
    """A function that is compiled once for all sizes. Call it like the function itself; make it with `jit`.

    It may be called from several threads at once, and under JAX's transformations.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        parameters: Parameters,
        declaration: Any,
        constraints: Sequence[str],
        compiler: TraceCompiler,
        fallback: Fallback,
    ) -> None:
        self._fun, self._parameters, self._compiler, self._fallback = fun, parameters, compiler, fallback
        self._programs = FunctionPrograms(fun, parameters, declaration, constraints, compiler)
        self._refused = dict[object, str]()
        self._quick = _NEVER
        self._quick_calls = QuickCalls(parameters)
        functools.update_wrapper(self, fun, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function.

        Args:
            *args: the function's positional arguments.
            **kwargs: its keyword arguments.

        Returns:
            What the function returns, with arrays of JAX.

        Raises:
            RuntimeShapeError: sizes do not fit the declared shapes, or break a constraint.
            ArgumentTypeError: a rank is not the declared one.
            UnsupportedOpError: the function has an op that the device does not have, and `fallback` is "error".
            Exception: what the function itself raises when it is traced.
        """
        if kwargs:
            args, kwargs = self._parameters.positional_call(args, kwargs)
        configuration, current, serve = self._quick
        if not kwargs and current() == configuration and (found := serve(*args)) is not NotImplemented:
            return found
        if (found := self._quick_calls(args, kwargs)) is not NotImplemented:
            return found
        return self._call(args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind the first argument, as methods do."""
        del owner
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<shlo_disc.jit of {self._parameters.name}>"

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._fun

    def prepare(self, *args: Any, **kwargs: Any) -> Compiled:
        """Compile ahead of the first call.

        Args:
            *args: arguments as in a call; `jax.ShapeDtypeStruct` may stand for arrays.
            **kwargs: keyword arguments as in a call.

        Returns:
            The compiled program, which serves such calls.

        Raises:
            Exception: as a call.
        """
        args, kwargs = self._parameters.positional_call(args, kwargs)
        call = self._parameters.read(args, kwargs, only_types=True)
        served = self._programs.of_call(call)
        return served.compiled(self._variant(served, call, args, kwargs))

    def profile(self, *args: Any, repeat: int = 10, **kwargs: Any) -> Profile:
        """Measure where calls with these arguments spend their time, step by step: see `Compiled.profile`.

        It is the program that serves such a call, which is compiled first if there is none, as by a call.

        Args:
            *args: arguments as in a call. Donated ones are not deleted.
            repeat: how many calls are measured, after a first one that is not. A parameter of the function that has
                this name is given by position.
            **kwargs: keyword arguments as in a call.

        Returns:
            The profile. Its `whole` is the time of a call of this function; if arguments are donated, of its program.

        Raises:
            ShloDiscError: as of `Compiled.profile`; or arguments are traced by JAX.
            Exception: as a call.
        """
        args, kwargs = self._parameters.positional_call(args, kwargs)
        call = self._parameters.read(args, kwargs)
        if call.is_traced or is_tracing():
            raise ShloDiscError(
                f"found a profile of {self._parameters.name} in a function that JAX traces, expected arguments that "
                "are arrays\n  help: profile outside of jax.jit and other transformations"
            )
        served = self._programs.of_call(call)
        variant = self._variant(served, call, args, kwargs)
        program = served.compiled(variant)
        values = [*call.values, *served.family.given(variant, call.shapes)]

        def whole(*_: Any) -> Any:
            return self(*args, **kwargs)

        return profile_of_arrays(program, values, repeat, None if served.donated else whole)

    def report(self) -> FunctionReport:
        """Say what was compiled, why, and for which calls.

        Returns:
            The report; `print` it.
        """
        refused = list(self._refused.values())
        return describe(self._parameters.name, self._programs.families, refused, self._compiler)

    @property
    def compiled(self) -> Compiled:
        """The program that was compiled last, with `explain`, `peak_memory` and so on.

        Raises `ShloDiscError` if there is none, as the function has not been called yet.
        """
        if (found := self._programs.last) is None:
            raise ShloDiscError(f"{self._parameters.name} has not been called yet, so there is no compiled program")
        return found

    def clear(self) -> None:
        """Forget all programs, and what was learned of sizes."""
        self._quick = _NEVER
        self._quick_calls.clear()
        self._programs.clear()
        self._refused.clear()

    clear_cache = clear

    @functools.cached_property
    def _jax(self) -> Any:
        return self._parameters.jax_jit()

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function at the sizes of these arguments: `jax.jit(fun).trace`.

        Args:
            *args: arguments, or `jax.ShapeDtypeStruct` in their places.
            **kwargs: keyword arguments.

        Returns:
            JAX's `Traced`.
        """
        return self._jax.trace(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Lower the function at the sizes of these arguments, for XLA: `jax.jit(fun).lower`.

        Args:
            *args: arguments, or `jax.ShapeDtypeStruct` in their places.
            **kwargs: keyword arguments.

        Returns:
            JAX's `Lowered`.
        """
        return self._jax.lower(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Find the types of the results without computing them: `jax.jit(fun).eval_shape`.

        Args:
            *args: arguments, or `jax.ShapeDtypeStruct` in their places.
            **kwargs: keyword arguments.

        Returns:
            A pytree of `jax.ShapeDtypeStruct`.
        """
        return self._jax.eval_shape(*args, **kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if is_tracing():
            return self._fun(*args, **kwargs)
        call = self._parameters.read(args, kwargs)
        if call.is_symbolic:  # JAX exports a function that calls this one
            return self._fun(*args, **kwargs)
        if (call.key, call.shapes) in self._refused:
            return self._jax(*args, **kwargs)
        try:
            served = self._programs.of_call(call)
            try:
                variant = served.family.variant(call.shapes)
            except ClosesOverTracers:
                return self._fun(*args, **kwargs)
            except FunctionError as error:
                if call.is_traced:  # raises the same error, unless the function needs what JAX traces around it
                    return self._fun(*args, **kwargs)
                self._raise_own(error, args, kwargs)
            if call.is_traced and variant.program.trace.has_effects:  # JAX orders them among those around the call
                return self._fun(*args, **kwargs)
            values = [*call.values, *served.family.given(variant, call.shapes)]
            if call.is_traced:
                if self._fallback == "jax":
                    served.compiled(variant)  # raises now, not when JAX lowers what it traces
                found = primitive.call(variant.program, values)
            else:
                served.compiled(variant)
                found = variant.program.run(values)
        except (RuntimeShapeError, ArgumentTypeError, MemoryError):
            raise
        except ShloDiscError as error:
            if self._fallback == "error":
                raise
            self._refuse(call, error)
            return self._jax(*args, **kwargs)
        if not call.is_traced:
            self._serve_quickly(variant, call, (args, kwargs))
            delete_donated(served.donated, call.values, found)
        return variant.results.of(found)

    def _variant(
        self, served: ServedStructure, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> SizeVariant:
        """The program of a call that is not traced."""
        try:
            return served.family.variant(call.shapes)
        except ClosesOverTracers:
            raise ShloDiscError(
                f"{self._parameters.name} uses values that JAX traces outside of it, so it has no program of its own\n"
                "  help: give these values as arguments"
            ) from None
        except FunctionError as error:
            self._raise_own(error, args, kwargs)

    def _raise_own(self, error: FunctionError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        """Raise what the function itself raises: with JAX's own words and places, where `jax.jit` raises it, too."""
        self._jax.trace(*args, **kwargs)
        raise error.cause from None

    def _refuse(self, call: Call, error: ShloDiscError) -> None:
        """From now on hand these calls to `jax.jit`."""
        first = str(error).partition("\n")[0]
        reason = f"{self._parameters.name}: calls with shapes {list(call.shapes)} are handed to jax.jit: {first}"
        self._refused[call.key, call.shapes] = reason
        log.warning("%s", reason)

    def _serve_quickly(self, variant: SizeVariant, call: Call, given: tuple[Any, dict[str, Any]]) -> None:
        """Let C serve the next calls like this one, if it can tell them apart."""
        if variant.results.keys or variant.serve is None:
            return
        if call.is_plain:
            self._quick = context(), context_function(), variant.serve
        else:
            self._quick_calls.learn(call, *given, variant.serve)


def _never(*args: Any) -> Any:
    del args
    return NotImplemented


# In which configuration of JAX calls are served, the function that returns the current one, and what serves them.
_NEVER: tuple[object, Callable[[], object], Callable[..., Any]] = (None, object, _never)
