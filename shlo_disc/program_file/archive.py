"""Zip files whose large members begin at a page, so that they can be mapped into memory."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from shlo_disc.diagnostics import ShloDiscError, one_line
from shlo_disc.program_file.directory import STORED, StoredMember, inflated, read_directory, stored_bytes

Buffer = bytes | memoryview

PAGE: Final = 4096
LARGEST_HASHED: Final = 64 << 20  # bytes of a member: larger ones are only mapped, which reads what is used
_LARGEST_UNPACKED: Final = 1 << 30  # bytes of a compressed member
_PADDING_FIELD = 0xD935  # the number of an extra field that only pads (Android's zipalign writes it)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH  # a file that others may write to is not trusted when it is loaded
_TIME = (1980, 1, 1, 0, 0, 0)


class ProgramFileError(ShloDiscError):
    """Found a file that holds no program which this version can load."""


def write_archive(path: Path | None, members: Mapping[str, Buffer], *, mapped: frozenset[str]) -> bytes:
    """Write members in this order, the `mapped` ones uncompressed and at a page; to memory if there is no path.

    A file at the path is replaced at once, when all is written. Raises `OSError`, also for what is no file there.
    """
    if path is None:
        memory = io.BytesIO()
        _write(memory, members, mapped)
        return memory.getvalue()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "found what is no file, expected the path of a file to write", str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            os.chmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~_OTHERS_WRITE)  # noqa: PTH101 - the open file
            _write(file, members, mapped)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return b""


def _write(file: io.BufferedIOBase, members: Mapping[str, Buffer], mapped: frozenset[str]) -> None:
    import zipfile  # noqa: PLC0415  reading needs none

    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_STORED if name in mapped else zipfile.ZIP_DEFLATED
            if name in mapped:
                begin = file.tell() + 30 + len(name.encode()) + 4  # behind the header, the name and an empty field
                if len(data) >= 1 << 31:
                    begin += 20  # ZIP64 adds a field for the size
                pad = -begin % PAGE
                info.extra = struct.pack("<HH", _PADDING_FIELD, pad) + bytes(pad)
            with archive.open(info, "w", force_zip64=name in mapped and len(data) >= 1 << 31) as member:
                member.write(data)


class Archive:
    """The members of a program's file, each checked against its digest when it is read."""

    def __init__(self, data: Buffer, name: str) -> None:
        """`name`: of the file, for errors. Raises `ProgramFileError` if the bytes are no zip file."""
        self.name = name
        self._data = memoryview(data)
        self.digests: Mapping[str, str] = {}
        try:
            self._members = read_directory(self._data)
        except ValueError as error:
            raise self.damaged(f"it is no zip file: {error}") from error

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def damaged(self, why: str) -> ProgramFileError:
        """The error that says what is wrong with the file."""
        return ProgramFileError(f"{self.name} is no whole program of shlo_disc: {one_line(why)[:300]}")

    def read(self, name: str, *, checked: bool = True) -> Buffer:
        """The bytes of a member; those of an uncompressed one are the file's own. Raises `ProgramFileError`.

        `checked`: against the digest that the manifest has of it.
        """
        member = self._members.get(name)
        if member is None:
            raise self.damaged(f"it has no {name}")
        try:
            data = self._bytes(member)
        except ValueError as error:
            raise self.damaged(f"{name}: {error}") from error
        if checked and len(data) <= LARGEST_HASHED and digest(data) != self.digests.get(name):
            raise self.damaged(f"the digest of {name} is another one")
        return data

    def _bytes(self, member: StoredMember) -> Buffer:
        found = stored_bytes(self._data, member)
        if member.method == STORED:
            if member.size != member.packed:
                raise ValueError(f"found {member.packed} bytes, expected {member.size}")
            return found
        if member.size > _LARGEST_UNPACKED:
            raise ValueError(f"found {member.size} bytes, expected at most {_LARGEST_UNPACKED}")
        return inflated(found, member)


def map_file(path: Path) -> tuple[Buffer, os.stat_result]:
    """The bytes of a file, mapped: processes share them, and those that are not used are not read. And whose it is."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size == 0:
            return b"", found
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), found


def digest(data: Buffer) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()
