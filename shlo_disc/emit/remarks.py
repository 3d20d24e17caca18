"""Comments in generated source: the only place where a user's text may enter it.

Everything else that is printed into C++ and CUDA is an identifier or a number that the compiler made.
"""

from __future__ import annotations

import re

from shlo_disc.artifact import SourceFile
from shlo_disc.diagnostics import InternalError

_LONGEST = 160  # characters of a remark
_UNSAFE = re.compile(r"[^ -~]|\\")  # a backslash continues a comment on the next line if it ends one
_SIGNS = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)")  # between the characters of comments and of trigraphs
_STRANGE = re.compile(r"[^\n -~]")


def remark(text: object) -> str:
    r"""A text as a part of one line of a comment, whatever it holds.

    It is printable ASCII without a backslash, `*/` and trigraphs, so that it ends no comment and continues none.

    >>> remark("model\n.py")
    'model<U+000A>.py'
    >>> remark("C:\\x */ what??/")
    'C:<U+005C>x * / what? ?/'
    """
    shown = _UNSAFE.sub(lambda found: f"<U+{ord(found[0]):04X}>", str(text)[: _LONGEST + 1])
    shown = _SIGNS.sub(" ", shown)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def require_plain(file: SourceFile) -> SourceFile:
    """Refuse generated source with a character that no printer writes."""
    if (found := _STRANGE.search(file.text)) is not None:
        line = file.text.count("\n", 0, found.start()) + 1
        raise InternalError(
            f"generated source {file.name}, line {line}: found the character U+{ord(found[0]):04X}, "
            "expected printable ASCII: text of the program may enter it through `remark` alone"
        )
    return file
