"""The printed kernels of a program as C++ files; kernels with the same text are printed once."""

from __future__ import annotations

import re

from shlo_disc.artifact import SourceFile
from shlo_disc.device.libraries import interface
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.emit.tidy import tidy
from shlo_disc.lower_cpu.templates import SIZES, KernelBody, signature
from shlo_disc.records import record

FILE = 24_000  # characters of kernels that are worth a separate file, which costs 0.1 s of compiler start and headers

# Names declared in the headers of complex numbers, which are half of the text that a file would have to parse.
_IS_COMPLEX = re.compile(r"c64|c128|\b(complex|real|imag|conj)_\(")


@record
class _Kernel:
    """A printed kernel, with `NAME` in its text as a placeholder for its name."""

    name: str
    text: str
    comment: str
    libraries: tuple[str, ...]


class SourceFiles:
    """Collects kernels, and gives each a name."""

    def __init__(self) -> None:
        self._kernels = dict[str, _Kernel]()  # by their texts

    def add(self, body: KernelBody, stem: str, comment: str) -> str:
        """Add a kernel, or find the one with the same text; return its name, which begins with `stem` if it is new."""
        sizes = [f"{INDENT}const int64_t {size_name(s)} = dims[{k}];" for k, s in enumerate(body.sizes)]
        lines = list[str]()
        for line in body.functions:
            lines += sizes if line == SIZES else [line]
        lines += signature('extern "C"', NAME)
        lines += [*sizes, *(INDENT + line for line in body.statements), "}"]
        text = "\n".join(tidy(lines))
        if text not in self._kernels:
            self._kernels[text] = _Kernel(f"{stem}_{len(self._kernels)}", text, comment, body.libraries)
        return self._kernels[text].name

    def files(self, most: int) -> tuple[SourceFile, ...]:
        """The kernels in up to `most` files of about the same length, to be compiled in parallel if long enough."""
        length = sum(map(len, self._kernels))
        files = [list[_Kernel]() for _ in range(max(1, min(most, len(self._kernels), length // FILE)))]
        weights = [0] * len(files)
        for kernel in sorted(self._kernels.values(), key=lambda kernel: len(kernel.text), reverse=True):
            lightest = weights.index(min(weights))
            weights[lightest] += len(kernel.text)
            files[lightest].append(kernel)
        return tuple(_file(number, kernels) for number, kernels in enumerate(files) if kernels)


def _file(number: int, kernels: list[_Kernel]) -> SourceFile:
    libraries = tuple(sorted({library for kernel in kernels for library in kernel.libraries}))
    interfaces = dict.fromkeys(map(interface, libraries))
    parts = ['#include "call/kernel.h"', *(f'#include "{header}"' for header in interfaces)]
    if any(_IS_COMPLEX.search(kernel.text) for kernel in kernels):
        parts.append('#include "math/complex_elementary.h"')
    parts.append("")
    parts += [f"{kernel.comment}\n{kernel.text.replace(NAME, kernel.name)}\n" for kernel in kernels]
    return SourceFile(f"kernels_{number}", "\n".join(parts), libraries)
