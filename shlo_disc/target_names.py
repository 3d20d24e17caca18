"""The names of targets; `targets.py` says what each is."""

from __future__ import annotations

from shlo_disc.diagnostics import ShloDiscError

HOST = "cpu"  # where Python functions run, unless they are registered for another target
# Modules that save and load the machine code of programs (`runtime/saved_code.py`), which does not load `targets.py`.
_SAVED_CODE = {HOST: "shlo_disc.runtime.cpu.saved_code"}
_names = [HOST, "cuda"]  # those of `targets.py`; names are checked before anything loads it


def add_target_name(name: str) -> None:
    """Add the name of a target. Raises `ShloDiscError` for one that is taken."""
    if name in _names:
        raise ShloDiscError(f"found a target named {name!r} already, expected another name")
    _names.append(name)


def remove_target_name(name: str) -> None:
    """Forget the name of a target. Raises `ShloDiscError` if there is none."""
    _names.remove(check_target_name(name))


def saved_code_module(name: str) -> str | None:
    """The module that saves and loads the machine code of a target's programs; None if they cannot be saved."""
    return _SAVED_CODE.get(name)


def target_names() -> tuple[str, ...]:
    """The names of all targets, in the order in which they were registered."""
    return tuple(_names)


def check_target_name(name: object) -> str:
    """Validate the name of a target. Raises `ShloDiscError` for anything else."""
    if not isinstance(name, str) or name not in _names:
        raise ShloDiscError(f"found device {name!r}, expected {' or '.join(map(repr, _names))}")
    return name
