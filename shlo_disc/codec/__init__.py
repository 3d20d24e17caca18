"""Plain data as bytes, and strictly back: frozen dataclasses of plain data, and tuples and mappings of them.

What may stand where follows from the type hints of the dataclass that is asked for, and from nothing that is read: a
name in the bytes is only ever compared with those of the members of a union. The bytes are the length of a JSON text,
that text, and all values of type `bytes`, one after the other. In the text

    a dataclass                   is the list of its fields, in order; in a union its name stands before them
    a tuple                       is a list; in a union with dataclasses "tuple" stands before its items
    a mapping (its keys are str)  is the list of its pairs
    bytes                         are their number; a path is a str
    a function of sizes           is the list of its name and its operands; one that was there, its number alone
    str, int, bool, None          are what JSON has for them

`decode` takes only what `encode` can have written. Another type, a field too many or too few, an integer of more than
64 bits, a key that comes twice and bytes that are left over raise `DamagedError`. It takes time and memory in
proportion to the bytes.
"""

from shlo_disc.codec.hints import decode, encode
from shlo_disc.codec.streams import DamagedError

__all__ = ["DamagedError", "decode", "encode"]
