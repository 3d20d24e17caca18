"""The directory of a zip file is what Python's `zipfile` reads, or refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from shlo_disc.program_file.directory import STORED, inflated, read_directory, stored_bytes

pytestmark = pytest.mark.quick

SEED = 20261130
CONTENT = {"a": b"x" * 300, "b/ü.txt": bytes(range(256)), "empty": b"", "c": b"PK\5\6" * 30}


def written(content: Mapping[str, bytes] = CONTENT, comment: bytes = b"") -> bytes:
    """A zip file whose members are stored and compressed in turns."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = comment
        for number, (name, data) in enumerate(content.items()):
            archive.writestr(name, data, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[number % 2])
    return file.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    """All members. Raises `ValueError`."""
    found, view = dict[str, bytes](), memoryview(data)
    for name, member in read_directory(view).items():
        packed = stored_bytes(view, member)
        found[name] = bytes(packed) if member.method == STORED else inflated(packed, member)
    return found


@pytest.mark.parametrize("comment", [b"", b"of any kind", b"c" * 65535])
def test_members_are_read(comment: bytes) -> None:
    assert read(written(comment=comment)) == CONTENT
    assert read(written({}, comment)) == {}


def test_sizes_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are written for small files, too, where the limit is low."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 200)
    data = written()
    assert data.count(b"PK\6\6") == 1
    assert read(data) == CONTENT
    at = data.index(b"PK\1\2")
    for length in (0, 6):  # of its extra field: nothing is in it, or too little
        broken = bytearray(data)
        broken[at + 30 : at + 32] = length.to_bytes(2, "little")
        with pytest.raises(ValueError, match="found"):
            read(bytes(broken))


def test_many_members() -> None:
    content = {f"{k}": b"" for k in range(70_000)}
    assert read_directory(memoryview(written(content))).keys() == content.keys()


def _of_entry(offset: int, value: bytes) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        at = data.index(b"PK\1\2") + offset
        data[at : at + len(value)] = value

    return change


def _duplicate(data: bytearray) -> None:
    at = data.index(b"PK\1\2", data.index(b"PK\1\2") + 1)
    data[at + 46 : at + 47] = b"a"


CHANGES: dict[str, tuple[Callable[[bytearray], None], str]] = {
    "encrypted": (_of_entry(8, b"\1"), "has the flags 1"),
    "method": (_of_entry(10, b"\14"), "and the method 12"),
    "a size": (_of_entry(24, b"\1\1\1\1"), ""),
    "64 bits": (_of_entry(24, b"\xff\xff\xff\xff"), "found sizes of 64 bits nowhere"),
    "place": (_of_entry(42, b"\xf0\xf0\xf0\xf0"), "found no place at"),
    "another place": (_of_entry(42, b"\1"), "found other bytes at 1"),
    "name": (_of_entry(46, b"z"), "another member is in its place"),
    "names": (_duplicate, "two members have one name|another member"),
    "no text": (_of_entry(46, b"\xff"), "can't decode"),
    "appended": (lambda data: data.extend(b"12"), "bytes follow its directory"),
    "prepended": (lambda data: data.__setitem__(slice(0, 0), b"12"), "found a directory of"),
    "nothing": (lambda data: data.clear(), "it has no directory"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_files_are_refused(change: str) -> None:
    apply, message = CHANGES[change]
    data = bytearray(written({"a": b"1" * 40, "b": b"2" * 40}))
    apply(data)
    if change == "a size":  # of a stored member: `Archive` compares the two
        (member, _) = read_directory(memoryview(data)).values()
        assert (member.packed, member.size) == (40, 0x1010101)
        return
    with pytest.raises(ValueError, match=message):
        read(bytes(data))


def test_compressed_bytes_are_checked() -> None:
    data = written({"a": b"", "b": b"2" * 4000})
    (_, member) = read_directory(memoryview(data)).values()
    found = stored_bytes(memoryview(data), member)
    assert inflated(found, member) == b"2" * 4000
    others = [
        (found, member._replace(crc=member.crc ^ 1)),
        (found, member._replace(size=3999)),
        (found, member._replace(size=4001)),
        (found[:-1], member),
        (memoryview(bytes(found) + b"1"), member),
        (memoryview(b"\xff" * 30), member),
    ]
    for packed, other in others:
        with pytest.raises(ValueError, match=r".+"):
            inflated(packed, other)


def test_changed_files_are_refused_or_what_zipfile_reads() -> None:
    data, rng = written(), np.random.default_rng(SEED)
    accepted = 0
    for place in range(data.index(b"PK\1\2"), len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        try:
            found = read(bytes(changed))
        except ValueError:
            continue
        accepted += 1
        if found != CONTENT:  # a stored member's CRC is not compared here: digests are
            stored = list(read_directory(memoryview(changed)).values())
            assert any(one.method == STORED and one.size != one.packed for one in stored), place
    assert 0 < accepted < len(data) - data.index(b"PK\1\2")
