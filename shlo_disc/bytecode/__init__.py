"""The host program as bytecode, which the C runtime interprets (`device/call/host_code.h`).

Input: an artifact. Output: `HostCode`, and its bytes in files. `code.py`, `instructions.py` and `host_code.h` describe
one format: they change together, and with them the `VERSION` of `binary.py` and `INTERFACE` of `runtime/library.py`.
As in the VM of Nimble (arXiv:2006.03031) there are registers and jumps; here registers hold sizes, and slots data.
"""

from shlo_disc.bytecode.code import HostCode
from shlo_disc.bytecode.encode import encode

__all__ = ["HostCode", "encode"]
