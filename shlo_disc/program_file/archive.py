"""Zip files whose large members begin at a page, so that they can be mapped into memory."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from shlo_disc.diagnostics import ShloDiscError, one_line

Buffer = bytes | memoryview

PAGE: Final = 4096
LARGEST_HASHED: Final = 64 << 20  # bytes of a member: larger ones are only mapped, which reads what is used
_LARGEST_UNPACKED: Final = 1 << 30  # bytes of a compressed member
_LOCAL_HEADER = struct.Struct("<26xHH")  # of a member: the lengths of its name and of its extra field
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
            self._zip = zipfile.ZipFile(_Window(self._data))
            self._infos = {info.filename: info for info in self._zip.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError, UnicodeError) as error:
            raise self.damaged(f"it is no zip file: {error}") from error
        if len(self._infos) != len(self._zip.infolist()):
            raise self.damaged("two members have one name")

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def damaged(self, why: str) -> ProgramFileError:
        """The error that says what is wrong with the file."""
        return ProgramFileError(f"{self.name} is no whole program of shlo_disc: {one_line(why)[:300]}")

    def read(self, name: str, *, checked: bool = True) -> Buffer:
        """The bytes of a member; those of an uncompressed one are the file's own. Raises `ProgramFileError`.

        `checked`: against the digest that the manifest has of it.
        """
        info = self._infos.get(name)
        if info is None:
            raise self.damaged(f"it has no {name}")
        data = self._stored(info) if info.compress_type == zipfile.ZIP_STORED else self._unpacked(info)
        if checked and len(data) <= LARGEST_HASHED and digest(data) != self.digests.get(name):
            raise self.damaged(f"the digest of {name} is another one")
        return data

    def _stored(self, info: zipfile.ZipInfo) -> Buffer:
        begin = info.header_offset
        if not 0 <= begin <= len(self._data) - _LOCAL_HEADER.size - 4:
            raise self.damaged(f"{info.filename} begins behind its end")
        named, extra = _LOCAL_HEADER.unpack_from(self._data, begin)
        begin += _LOCAL_HEADER.size + named + extra
        if info.file_size != info.compress_size or not 0 <= info.file_size <= len(self._data) - begin:
            raise self.damaged(f"{info.filename} has {info.file_size} bytes, which end behind its end")
        return self._data[begin : begin + info.file_size]

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        if info.file_size > _LARGEST_UNPACKED:
            raise self.damaged(f"{info.filename} has {info.file_size} bytes, expected at most {_LARGEST_UNPACKED}")
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, OSError, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
            raise self.damaged(f"{info.filename}: {error}") from error
        except Exception as error:  # zlib has an error of its own
            if type(error).__module__ != "zlib":
                raise
            raise self.damaged(f"{info.filename}: {error}") from error


class _Window(io.RawIOBase):
    """Bytes in memory as a file, without a copy of them."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._data)}[whence]
        if start + offset < 0:
            raise ValueError(f"found the position {start + offset}")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        found = bytes(self._data[self._at : end])
        self._at += len(found)
        return found


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
