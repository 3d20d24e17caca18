"""Custom calls of programs: users register functions for them under the name of a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError, ShloDiscError
from shlo_disc.host_ir import Constant
from shlo_disc.records import record
from shlo_disc.target_names import HOST, check_target_name

Plain: TypeAlias = "str | Constant | tuple[Plain, ...]"  # an attribute as plain data
Entries: TypeAlias = tuple[tuple[str, Plain], ...]


@record
class Hook:
    """A function, and whether it fills arrays that it is given."""

    function: Callable[..., Any]
    out: bool


_hooks: dict[tuple[str, str], Hook] = {}


def register_custom_call(target: str, function: Callable[..., Any], *, device: str = HOST, out: bool = False) -> None:
    """Compute `stablehlo.custom_call @target` by a function, in place of one registered before.

    The function must be pure: calls of which no result is read are omitted, equal ones are merged, and the order may
    change, unless the op has `has_side_effect`. Its exceptions propagate from the call of the program, with a note that
    names the op.

    Args:
        target: the name of the custom call's target.
        function: called as `function(*operands, **attributes)`; returns an array, or a tuple of them. Operands are
            arrays that must not be written, of the shapes and dtypes of the op: NumPy's, or on a GPU CuPy's. Attributes
            are the entries of `backend_config`; one that is a string comes as `backend_config`. All arrays are valid
            during the call only: copy what you keep.
        device: the name of the target of compilation for which the function computes.
        out: the keyword `out` is a tuple of the result arrays: the function fills them, and what it returns is ignored.

    Raises:
        ShloDiscError: something that cannot be called, or an unknown device.
    """
    if not callable(function):
        raise ShloDiscError(f"found {function!r} for the custom call @{target}, expected a function")
    _hooks[target, check_target_name(device)] = Hook(function, out)


def find_hook(target: str, device: str) -> Hook | None:
    """The function for a target, if one is registered by now."""
    return _hooks.get((target, device))


def is_registered(target: str) -> bool:
    """Whether there is a function for a target on any device."""
    return any(name == target for name, _ in _hooks)


def how_to_register(target: str, device: str = HOST) -> str:
    """The remedy for a target without a function."""
    where = "" if device == HOST else f", device={device!r}"
    return f"register a function that computes it: shlo_disc.register_custom_call({target!r}, function{where})"


@record
class CustomCall:
    """A custom call of a program: its target, its attributes, and which results begin as a copy of which operand."""

    target: str
    attributes: Mapping[str, Any]
    aliases: Sequence[tuple[int, int]]

    def run(
        self,
        device: str,
        operands: Sequence[Any],
        results: Sequence[Any],
        as_array: Callable[[object], Any] = np.asarray,
    ) -> None:
        """Fill the results by the function that is registered now. Raises `ShloDiscError` if there is none.

        `as_array` views what it returned as an array of the device. Raises `ArgumentTypeError` or `RuntimeShapeError`
        if that differs from the types of the op.
        """
        hook = find_hook(self.target, device)
        if hook is None:
            raise ShloDiscError(
                f"no function is registered for the custom call @{self.target} on {device!r}\n"
                f"  help: {how_to_register(self.target, device)}"
            )
        for result, operand in self.aliases:
            results[result][...] = operands[operand]
        if hook.out:
            hook.function(*operands, out=tuple(results), **self.attributes)
        else:
            self._store(hook.function(*operands, **self.attributes), results, as_array)

    def _store(self, found: Any, results: Sequence[Any], as_array: Callable[[object], Any]) -> None:
        """Copy what a function returned to the results of the op."""
        values: Sequence[Any] = () if found is None else (found,)
        if isinstance(found, tuple | list):
            values = cast("Sequence[Any]", found)
        if len(values) != len(results):
            raise ArgumentTypeError(f"custom call @{self.target}: found {len(values)} results, expected {len(results)}")
        for number, (value, result) in enumerate(zip(values, results, strict=True)):
            array = as_array(value)
            if array.dtype != result.dtype:
                raise ArgumentTypeError(
                    f"custom call @{self.target}: found dtype {array.dtype} of result {number}, "
                    f"expected {result.dtype}\n  help: return value.astype({str(result.dtype)!r})"
                )
            if array.shape != result.shape:
                raise RuntimeShapeError(
                    f"custom call @{self.target}: found shape {array.shape} of result {number}, expected {result.shape}"
                )
            result[...] = array


def decoded(entries: Entries, dtype_of: Callable[[str], np.dtype[Any]]) -> Mapping[str, Any]:
    """Attributes as a user's function gets them: literals are numbers, or arrays that cannot be written."""

    def value(plain: Plain) -> Any:
        match plain:
            case str():
                return plain
            case Constant(dtype, shape, data):
                array = np.frombuffer(data, dtype_of(dtype)).reshape(shape)
                return array if shape else array.item()
            case tuple():
                return tuple(map(value, plain))

    return {name: value(plain) for name, plain in entries}
