"""Pretty forms that many ops share: with one type for all values, or with the types of operands and results.

A form is a template (`parse/form.py` compiles it): literal text, and directives in braces.
"""

from __future__ import annotations

SAME = " {operands}{attr-dict} : {same}"
FUNCTIONAL = " {operands}{attr-dict} : {functional}"
ARROW = " {operands}{attr-dict} : {arrow}"
