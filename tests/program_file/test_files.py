"""What is in a file, and what becomes of a damaged one."""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import pickle
import re
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shlo_disc
from shlo_disc import ShloDiscError
from shlo_disc.bytecode.binary import from_bytes, to_bytes
from shlo_disc.bytecode.instructions import FORMATS, RelationCode, SizeCode, StepCode
from shlo_disc.device import headers
from shlo_disc.program_file.archive import PAGE, Archive, write_archive
from shlo_disc.program_file.manifest import MANIFEST, SCHEMA
from shlo_disc.program_file.tensors import StoredTensor, read_tensors, write_tensors
from shlo_disc.runtime.building.cache import digest
from shlo_disc.runtime.library import INTERFACE, RUNTIME_FUNCTIONS
from tests.conftest import SEED
from tests.pipeline.exports import FAST
from tests.program_file.saving import BIG, CASES, weighted

ROOT = Path(__file__).resolve().parents[2]


@cache
def saved(name: str = "literals") -> bytes:
    """The bytes of the file of a program."""
    return CASES[name].compiled().__reduce__()[1][0]


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(data: dict[str, bytes]) -> bytes:
    return write_archive(None, data, mapped=frozenset(name for name in data if name.endswith("safetensors")))


def test_the_file_is_a_zip_of_text_code_and_tensors() -> None:
    found = members(saved())
    assert list(found)[:2] == [MANIFEST, "program.mlir"]
    manifest = json.loads(found[MANIFEST])
    assert (manifest["format"], manifest["schema"]) == ("shlo_disc program", SCHEMA)
    assert shlo_disc.parse(found["program.mlir"].decode())
    (code,) = manifest["code"]
    named = {code["program"], code["report"], code["runtime"], code["constants"], *code["objects"], *code["hosts"]}
    assert named | {MANIFEST, "program.mlir"} == set(found)
    assert set(manifest["digests"]) == set(found) - {MANIFEST}
    assert all(found[name].startswith(b"\x7fELF") for name in (*code["objects"], code["runtime"]))


def test_literals_are_at_pages_in_the_format_of_safetensors() -> None:
    data = saved()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        info = archive.getinfo("constants.safetensors")
    begin = data.index(members(data)["constants.safetensors"])
    assert begin % PAGE == 0
    length = int.from_bytes(data[begin : begin + 8], "little")
    header = json.loads(data[begin + 8 : begin + 8 + length])
    ends = [one["data_offsets"] for name, one in header.items() if name != "__metadata__"]
    assert ends[0][0] == 0
    assert all(one[1] == other[0] for one, other in pairwise(ends)), "there are no gaps"
    assert ends[-1][1] == info.file_size - 8 - length
    wanted = [one for one in header.values() if one.get("shape") == [96, 80]]
    start, end = wanted[0]["data_offsets"]
    place = begin + 8 + length
    assert (place + start) % 64 == 0
    found = np.frombuffer(data[place + start : place + end], np.float32).reshape(96, 80)
    np.testing.assert_array_equal(found, BIG)


@pytest.mark.quick
def test_tensors_of_every_type_are_read_as_they_were_written() -> None:
    rng = np.random.default_rng(SEED)
    dtypes = (np.float32, np.bool_, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3b11fnuz, np.complex128, np.int64)
    given = {f"{k}": np.asarray(rng.integers(0, 2, (k, 3)), dtype) for k, dtype in enumerate(dtypes)}
    tensors = {name: StoredTensor(x.dtype.name, x.shape, x.tobytes()) for name, x in given.items()}
    found = read_tensors(write_tensors(tensors))
    assert {name: one._replace(data=bytes(one.data)) for name, one in found.items()} == tensors


def damaged_files() -> dict[str, bytes]:
    """A file with a bit changed, bytes left out or repeated, at many places; most of them are in the tables of zip."""
    data, rng = saved(), np.random.default_rng(SEED)
    tables = len(data) - data.index(b"PK\x01\x02")
    places = [
        *rng.integers(0, len(data), 120),
        *(len(data) - 1 - rng.integers(0, tables, 120)),
        *rng.integers(0, 60, 30),
    ]
    found = dict[str, bytes]()
    for place in map(int, places):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        found[f"bit of {place}"] = bytes(changed)
        end = place + int(rng.integers(1, 400))
        found[f"without {place}:{end}"] = data[:place] + data[end:]
        found[f"repeated {place}:{end}"] = data[:end] + data[place:]
        found[f"up to {place}"] = data[:place]
    return found


def is_refused(data: bytes, label: str) -> bool:
    """Whether a damaged file is refused, by name. If it is not, what it returns has to be right."""
    x = BIG.T[:, :96].copy()
    try:
        run: Any = shlo_disc.load(data)
    except ShloDiscError as error:
        return "<bytes>" in str(error) or pytest.fail(f"{label}: {error}")
    np.testing.assert_allclose(run(x), np.tanh(x @ BIG) + BIG[0, :80], rtol=1e-5, atol=1e-5, err_msg=label)
    return False


@pytest.mark.quick
def test_damaged_files_are_refused_or_right() -> None:
    every = damaged_files()
    refused = sum(is_refused(data, label) for label, data in every.items())
    assert refused > len(every) // 2


def read_all(data: bytes) -> None:
    """Read every member of a file."""
    run: Any = shlo_disc.load(data)
    run.explain()
    pickle.dumps(run)


@pytest.mark.quick
def test_members_that_do_not_belong_together_are_refused() -> None:
    one, other = members(saved()), members(saved("control"))
    level = json.loads(one[MANIFEST])["code"][0]["machine"]
    for name in one.keys() & other.keys() - {f"{level}/runtime.so"}:
        with pytest.raises(ShloDiscError, match="<bytes> is no whole program of shlo_disc: the digest of"):
            read_all(repacked({**one, name: other[name]}))
    for name in one:
        rest = {other_name: data for other_name, data in one.items() if other_name != name}
        with pytest.raises(ShloDiscError, match=f"<bytes> is no whole program of shlo_disc: it has no {name}"):
            read_all(repacked(rest))


MANIFESTS: list[tuple[Any, str]] = [
    ({"format": "x"}, "is no program of shlo_disc"),
    (
        {"schema": SCHEMA + 1, "version": "7.1"},
        f"written by shlo_disc 7.1, in schema {SCHEMA + 1}; this",
    ),
    ({"schema": "1"}, "found schema = '1', expected a int"),
    ({"code": [1]}, "found code"),
    ({"code": []}, "found a program with code for no machine"),
    ({"options": {"fusion": "all", "matmul_precision": "default", "optimize": 3}}, "found the options"),
    ({"signature": {}}, "manifest.json: 'arguments'"),
    ({"signature": 1}, "found signature = 1"),
    ({"bound": 0}, "found bound = 0"),
    ({"digests": {"a": 1}}, "found digests"),
    ({"hints": {"constraints": [1]}}, "manifest.json"),
]


@pytest.mark.parametrize(("change", "message"), MANIFESTS, ids=[f"{k}" for k in range(len(MANIFESTS))])
@pytest.mark.quick
def test_manifests_that_are_not_ours_are_refused(change: Any, message: str) -> None:
    found = members(saved())
    manifest = {**json.loads(found[MANIFEST]), **change}
    with pytest.raises(ShloDiscError, match=re.escape(message)):
        shlo_disc.load(repacked({**found, MANIFEST: json.dumps(manifest).encode()}))


def test_a_member_of_many_zeros_is_not_unpacked() -> None:
    """64 GiB of them take 64 MiB of a file, but no header says so: a wrong size is damage."""
    data = bytearray(saved())
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = (0x7FFF_FFFF).to_bytes(4, "little")  # the size of the manifest in the table
    with pytest.raises(ShloDiscError, match=r"manifest.json: found 2147483647 bytes, expected at most"):
        Archive(bytes(data), "a test").read(MANIFEST, checked=False)


def test_other_interfaces_are_not_run() -> None:
    found = members(saved())
    manifest = json.loads(found[MANIFEST])
    manifest["code"][0]["interface"] = INTERFACE + 1
    data = repacked({**found, MANIFEST: json.dumps(manifest).encode()})
    with pytest.raises(
        ShloDiscError, match=rf"of shlo_disc .* \(interface {INTERFACE + 1}\), expected interface {INTERFACE}"
    ):
        shlo_disc.load(data)
    assert not is_refused(saved(), "as it was")
    run: Any = shlo_disc.load(data, code="verify")
    assert run(BIG.T[:, :96].copy()).shape == (80, 80)


BOUND: list[tuple[Any, str]] = [
    ({"shapes": {"0": [96, 81]}}, "expected"),
    ({"shapes": {"0": [-1, 80]}}, "found the shapes"),
    ({"shapes": {"0": [96, 80], "7": [1]}}, "found bound arguments"),
    ({"shapes": {}}, "found bound arguments"),
    ({"known": {"0": 5}}, r"found the sizes \{0: 5\}, expected \{\}"),
    ({"member": "constants.safetensors"}, "weights|constants"),
    ({"positional": 2}, "found bound arguments"),
    ({"positional": 3}, "found 3 positional arguments"),
    ({"positional": 1 << 40}, "positional"),
]


@cache
def saved_bound() -> bytes:
    return weighted().bind(BIG).__reduce__()[1][0]


@pytest.mark.parametrize("code", ["trust", "verify"])
@pytest.mark.parametrize(("change", "message"), BOUND, ids=[f"{k}" for k in range(len(BOUND))])
def test_bound_arguments_that_do_not_fit_are_refused(change: Any, message: str, code: Any) -> None:
    """Sizes in the file are not believed: they decide which memory kernels read."""
    found = members(saved_bound())
    manifest = json.loads(found[MANIFEST])
    manifest["bound"] |= change
    data = repacked({**found, MANIFEST: json.dumps(manifest).encode()})
    with pytest.raises(ShloDiscError, match=message):
        shlo_disc.load(data, code=code, options=FAST)


def test_packed_operands_of_another_size_or_form_are_refused() -> None:
    found = members(saved_bound())
    manifest = json.loads(found[MANIFEST])
    for name, message in (("packed.0", "expected bytes"), ("packed.9", "found packed operands")):
        changed = write_tensors({name: StoredTensor("uint8", (64,), bytes(64))})
        manifest["digests"]["weights.safetensors"] = hashlib.sha256(changed).hexdigest()
        data = {**found, "weights.safetensors": changed, MANIFEST: json.dumps(manifest).encode()}
        with pytest.raises(ShloDiscError, match=message):
            shlo_disc.load(repacked(data))
    manifest = json.loads(found[MANIFEST])
    manifest["bound"]["form"] = "0" * 64
    data = repacked({**found, MANIFEST: json.dumps(manifest).encode()})
    with pytest.raises(ShloDiscError, match="packed by other code than is compiled here"):
        shlo_disc.load(data, code="verify", options=FAST)


def test_a_host_program_is_the_one_of_its_program() -> None:
    found = members(saved("control"))
    manifest = json.loads(found[MANIFEST])
    (name,) = manifest["code"][0]["hosts"]
    code = from_bytes(found[name])
    others = {
        "of another": members(saved("literals"))[name],
        "without a kernel": to_bytes(replace(code, names=("no_kernel", *code.names[1:]))),
        "cut": found[name][:-1],
        "of one argument more": to_bytes(replace(code, arguments=code.arguments + 1)),
        "with a host call": to_bytes(replace(code, host_calls=1)),
        "without checks": to_bytes(replace(code, checks=code.checks[3:])),
    }
    for what, changed in others.items():
        manifest["digests"][name] = hashlib.sha256(changed).hexdigest()
        data = {**found, name: changed, MANIFEST: json.dumps(manifest).encode()}
        with pytest.raises(ShloDiscError, match=r"<bytes>.*host program: "):
            pytest.fail(f"{what}: {shlo_disc.load(repacked(data))}")
    manifest["code"][0]["hosts"] = []
    with pytest.raises(ShloDiscError, match="found 0 host programs of 1 parts"):
        shlo_disc.load(repacked({**found, MANIFEST: json.dumps(manifest).encode()}))


SCHEMAS = Path(__file__).parent / "schemas"


@pytest.mark.parametrize("schema", range(1, SCHEMA + 1))
def test_files_of_every_schema_are_read(schema: int) -> None:
    """Machine code of another interface is not run; the text in the file is compiled instead."""
    path = SCHEMAS / f"{schema}.shlo"
    manifest = json.loads(members(path.read_bytes())[MANIFEST])
    assert manifest["schema"] == schema
    if manifest["code"][0]["interface"] != INTERFACE:
        with pytest.raises(ShloDiscError, match=f"expected interface {INTERFACE}"):
            shlo_disc.load(path, code="trust")
    x, w = np.arange(12, dtype=np.float32).reshape(4, 3) / 7, BIG[:3, :2].copy()
    c = np.array([1, -2], np.float32)
    run: Any = shlo_disc.load(path, code="verify" if manifest["code"][0]["interface"] != INTERFACE else "trust")
    found = run({"w": w, "c": c}, x)
    np.testing.assert_allclose(found["y"], np.tanh(x @ w) + c, rtol=1e-5)
    np.testing.assert_allclose(found["n"], x.sum(), rtol=1e-5)


def test_a_library_is_not_taken_for_an_earlier_one_at_its_descriptor() -> None:
    """The system's loader knows libraries by their paths, for as long as they are loaded."""
    x = BIG.T[:, :96].copy()
    first: Any = shlo_disc.load(saved("literals"))
    path = first.executable.program.path
    held = ctypes.CDLL(str(path))  # it stays loaded when the program is gone
    second: Any = shlo_disc.load(saved("control"))
    assert Path(second.executable.program.path) == Path(path), "the descriptor has the same number"
    third: Any = shlo_disc.load(saved("literals"))
    np.testing.assert_array_equal(first(x), third(x))
    assert second(x[0]).shape == x[0].shape
    del held


# Raise `INTERFACE` with any change of what programs, the runtime and the package expect of each other, then these.
KNOWN_INTERFACE = 4
KNOWN_DIGEST = "8bd96e5d3e68e255386b2a097fc9aafe70fed81fca71e2c5b151c365cad2a773"


def test_a_change_of_the_interface_has_another_number() -> None:
    structures_of = [headers.text(f"call/{name}.h").partition("namespace")[0] for name in ("host_code", "call")]
    exported = re.findall(r"^\S.* \**(?:shlo_\w+)\([^{;]*", headers.text("call/call.h"), re.MULTILINE)
    interfaces = "\n".join([headers.text("call/runtime.h"), *structures_of, *exported])
    text = re.sub(r"//[^\n]*|\s+", " ", interfaces)
    library = "".join(
        [(ROOT / f"shlo_disc/runtime/{name}.py").read_text() for name in ("library", "host_code", "entry")]
    )
    structures = re.findall(r"^class _\w+\(ctypes.Structure\):.*?\n\n\n", library, re.DOTALL | re.MULTILINE)
    opcodes = [str(list(one)) for one in (SizeCode, RelationCode, StepCode)]
    found = digest(re.sub(r" +", " ", text), *RUNTIME_FUNCTIONS, *structures, *opcodes, str(FORMATS))
    assert (INTERFACE, found) == (KNOWN_INTERFACE, KNOWN_DIGEST)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == shlo_disc.__version__


LIGHT = """
import sys
sys.modules.update(dict.fromkeys(["jax", "jaxlib", "sympy", "scipy", "cupy"]))  # importing one of these fails
import numpy as np
before = set(sys.modules)
import shlo_disc
run = shlo_disc.load(sys.argv[1])
x = np.ones((3, 96), np.float32)
np.save(sys.argv[2], run(x))
compiler = {"parse", "legalize", "dynamic_ops", "fusion", "kernels", "host", "lower_cpu", "pipeline", "expr", "emit"}
ours = [name for name in sys.modules if name.startswith("shlo_disc.")]
loaded = {name.split(".")[1] for name in ours}
assert not loaded & compiler, loaded & compiler
costly = {"concurrent", "logging", "secrets", "shutil", "subprocess", "tempfile", "typing_extensions", "zipfile"}
assert not costly & (set(sys.modules) - before), costly
assert len(ours) <= int(sys.argv[3]), sorted(ours)
"""
MOST_MODULES = 75  # of shlo_disc: each takes a third of a millisecond


def test_a_process_without_jax_or_compiler_runs_a_file(tmp_path: Path) -> None:
    """Nothing on the PATH, no home folder, no cache."""
    file, out = tmp_path / "model.shlo", tmp_path / "out.npy"
    file.write_bytes(saved())
    environment = {"PATH": "/nonexistent", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, file, out, str(MOST_MODULES)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert not done.returncode, done.stderr
    x = np.ones((3, 96), np.float32)
    np.testing.assert_allclose(np.load(out), np.tanh(x @ BIG) + BIG[0, :80], rtol=1e-5, atol=1e-5)
