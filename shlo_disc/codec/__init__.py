"""Encode plain data as bytes, and decode it strictly: frozen dataclasses of it, and tuples and mappings of these.

Only the type hints of the requested dataclass determine what is accepted where, nothing in the data: a name in the
bytes is only compared with those of the members of a union. The bytes are the length of a JSON text, that text, and all
values of type `bytes`, one after the other. In the text

    a dataclass                   is the list of its fields, in order; in a union its name stands before them
    a tuple                       is a list; in a union with dataclasses "tuple" stands before its items
    a mapping (its keys are str)  is the list of its pairs
    bytes                         are their number; a path is a str
    a function of sizes           is the list of its name and its operands; a repeated one, the list of its number
    str, int, bool, None          are what JSON has for them

`decode` accepts only what `encode` can have written. Another type, a field too many or too few, an integer of more than
64 bits, a repeated key and bytes that are left over raise `DamagedError`. Its time and memory are linear in the bytes.
"""

from shlo_disc.codec.hints import decode, encode
from shlo_disc.codec.streams import DamagedError

__all__ = ["DamagedError", "decode", "encode"]
