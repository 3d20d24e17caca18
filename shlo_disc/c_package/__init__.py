"""A program as a library for C: what `python -m shlo_disc build` writes.

Input: what a program was compiled from. Output: a folder with a header, a shared and a static library, and what build
systems read. The code that all programs share is `device/call/c_api.h`; here are the tables that it reads
(`tables.py`), and texts. A user's text is in them only as a literal of C (`spelling.py`).
"""

from shlo_disc.c_package.build import build_package

__all__ = ["build_package"]
