"""What a caller asks for: the device, the options, and what is declared about the program."""

from __future__ import annotations

from shlo_disc.call_signature import Signature
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.records import record
from shlo_disc.schedules.tables import UNKNOWN, Scheduling
from shlo_disc.target_names import HOST

_DEFAULTS, _NO_HINTS = CompileOptions(), Hints()


@record
class Request:
    """One compilation: the device, the options, and what the caller declares about the program."""

    device: str = HOST
    options: CompileOptions = _DEFAULTS
    signature: Signature | None = None
    hints: Hints = _NO_HINTS
    scheduling: Scheduling = UNKNOWN

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the program's arguments; () if it has no signature."""
        return () if self.signature is None else self.signature.arguments

    @property
    def key(self) -> tuple[str, ...]:
        """The cache key besides the text and the compiler; valid only if the options name the fusion planner."""
        signature, options = self.signature, self.options
        known = () if signature is None else (*signature.arguments, str(signature.platform))
        chosen = (options.fusion, options.matmul_precision, self.device)
        return repr(known), repr(chosen), repr(self.hints), repr(self.scheduling)
