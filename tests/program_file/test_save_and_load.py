# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a loaded program returns, and what it says of itself."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import ArgumentTypeError, CompileOptions, RuntimeShapeError, ShloDiscError, ToolchainError
from shlo_disc.host_ir import LaunchGroup
from shlo_disc.program_file.archive import Archive
from shlo_disc.program_file.manifest import MANIFEST, read_manifest
from shlo_disc.runtime.building import machines
from shlo_disc.runtime.building.machines import MACHINES
from tests.conftest import SEED
from tests.pipeline.exports import FAST, check
from tests.program_file.saving import BIG, CASES, SIZES, State, weighted

HERE = [name for name, level in MACHINES.items() if level.runs_here]


@cache
def compiled(name: str) -> shlo_disc.Compiled:
    return CASES[name].compiled()


def check_same(one: Any, other: Any, call: Any, label: str) -> None:
    """Two programs return the same pytree of the same arrays, but for rounding."""
    args, kwargs = call
    found, wanted = one(*copy.deepcopy(args), **kwargs), other(*copy.deepcopy(args), **kwargs)
    leaves, expected = (flatten(x) for x in (found, wanted))
    assert leaves[1] == expected[1], label
    check(leaves[0], expected[0], label, 1.0, 1.0)


def flatten(value: Any) -> tuple[list[Any], Any]:
    """The leaves as NumPy arrays, and the structure, in which the class of a named tuple is its name."""
    leaves = [np.asarray(jax.random.key_data(x) if is_key(x) else x) for x in jax.tree.leaves(value)]
    return leaves, str(jax.tree.structure(value))


def is_key(x: Any) -> bool:
    return jnp.issubdtype(getattr(x, "dtype", np.float32), jax.dtypes.prng_key)


def check_at_all_sizes(name: str, loaded: Any, wanted: Any = None) -> None:
    rng = np.random.default_rng([SEED, *name.encode()])
    for n in SIZES:
        check_same(loaded, wanted or compiled(name), CASES[name].call(rng, n), f"{name} at {n}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.shlo"


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_program_returns_what_the_saved_one_does(name: str, file: Path) -> None:
    run = compiled(name)
    run.save(file)
    loaded = shlo_disc.load(file)
    assert isinstance(loaded, shlo_disc.Compiled)
    check_at_all_sizes(name, loaded)
    assert repr(loaded) == repr(run)
    assert loaded.explain("facts") == run.explain("facts")
    assert loaded.kernels_source == run.kernels_source
    assert loaded.host_source == run.host_source
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("name", ["pytrees", "literals", "types"])
def test_code_for_each_level_of_this_cpu(name: str, level: str, file: Path) -> None:
    compiled(name).save(file, targets=[level])
    check_at_all_sizes(name, shlo_disc.load(file.read_bytes()))


@pytest.mark.parametrize("name", ["pytrees", "sizes of data", "keys"])
def test_a_program_is_compiled_from_its_text(name: str, file: Path) -> None:
    compiled(name).save(file)
    check_at_all_sizes(name, shlo_disc.load(file, code="verify", options=FAST))


def test_a_loaded_program_is_saved_again_as_it_was(file: Path) -> None:
    compiled("literals").save(file)
    data = file.read_bytes()
    again = file.with_name("again.shlo")
    loaded = shlo_disc.load(file, options=FAST)
    loaded.save(again)
    assert again.read_bytes() == data
    compiled("control").save(file)  # in the place of a file that a program uses
    assert file.read_bytes() != data
    check_at_all_sizes("literals", loaded)


def bound(name: str = "pytrees") -> tuple[shlo_disc.Bound, Any]:
    """A program with its first argument bound, and a call of the others."""
    (first, *rest), kwargs = CASES[name].call(np.random.default_rng(SEED), 7)
    return compiled(name).bind(first), (tuple(rest), kwargs)


@pytest.fixture(params=["path", "bytes", "verify"])
def way(request: pytest.FixtureRequest, file: Path) -> Callable[[], Any]:
    def load() -> Any:
        if request.param == "bytes":
            return shlo_disc.load(file.read_bytes())
        return shlo_disc.load(file, code=request.param if request.param == "verify" else None, options=FAST)

    return load


def test_bound_arguments_are_in_the_file(way: Any, file: Path) -> None:
    run, call = bound()
    run.save(file)
    loaded = way()
    assert isinstance(loaded, shlo_disc.Bound)
    check_same(loaded, run, call, "bound")
    assert loaded.memory == run.memory
    assert repr(loaded) == repr(run)
    rng = np.random.default_rng([SEED, 1])
    (state, _), _ = CASES["pytrees"].call(rng, 3)
    loaded.rebind(state)
    check_same(loaded, compiled("pytrees").bind(state), call, "rebound")


def test_weights_that_are_packed_are_in_the_file_in_that_form(way: Any, file: Path) -> None:
    """Nothing else is kept of them; other arrays are packed when the program is called with them."""
    program = weighted()
    run = program.bind(BIG)
    assert run.memory.dropped, "the program packs its weights"
    run.save(file)
    loaded = way()
    assert loaded.memory == run.memory
    calls = [CASES["literals"].call(np.random.default_rng([SEED, n]), n) for n in SIZES]
    for call in calls:
        check_same(loaded, run, call, "packed")
    loaded.rebind(-BIG)
    check_same(loaded, program.bind(-BIG), calls[0], "rebound")


def pickled(run: Any) -> Any:
    return pickle.loads(pickle.dumps(run))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_copies_and_pickles(copied: Any) -> None:
    check_at_all_sizes("pytrees", copied(compiled("pytrees")))
    run, call = bound()
    check_same(copied(run), run, call, "bound")


def test_bound_arguments_are_in_the_form_of_the_best_level(file: Path) -> None:
    run = weighted().bind(BIG)
    run.save(file, targets=list(MACHINES))
    archive = Archive(file.read_bytes(), "a test")
    manifest = read_manifest(bytes(archive.read(MANIFEST, checked=False)), "a test")
    assert manifest.bound is not None
    assert [one.machine for one in manifest.code] == [manifest.bound.machine] == HERE[-1:]
    assert shlo_disc.load(file).machine == HERE[-1]
    assert run.machine == "native"
    check_same(shlo_disc.load(file), run, CASES["literals"].call(np.random.default_rng(SEED), 5), "bound")


def test_a_program_of_jit(file: Path) -> None:
    fn = shlo_disc.jit(of_rows, shapes="n 3", options=FAST)
    x = BIG[:7, :3]
    wanted = fn(x)
    fn.compiled.save(file)
    run: Any = shlo_disc.load(file)
    for n in SIZES:
        check_same(run, fn, ((BIG[:n, :3],), {}), f"{n}")
    np.testing.assert_array_equal(run(x)["y"], wanted["y"])


def of_rows(x: Any) -> Any:
    return {"y": jnp.tanh(x), "z": [x.sum(0)]}


def test_the_best_code_that_this_machine_runs_is_taken(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled("literals").save(file, targets=list(MACHINES))
    archive = Archive(file.read_bytes(), "a test")
    manifest = read_manifest(bytes(archive.read(MANIFEST, checked=False)), "a test")
    assert [one.machine for one in manifest.code] == list(MACHINES)
    known = {name: frozenset(MACHINES[name].features) for name in MACHINES}
    for name in HERE:
        monkeypatch.setattr(machines, "cpu_features", lambda name=name: known[name])
        best = machines.best_machine()
        assert best is not None
        assert best.name == name
        loaded = shlo_disc.load(file)
        assert loaded.machine == name
        check_at_all_sizes("literals", loaded)
    monkeypatch.setattr(machines, "cpu_features", frozenset[str])
    with pytest.raises(
        ShloDiscError, match="x86-64-v2, x86-64-v3, x86-64-v4, aarch64, expected code that this CPU runs"
    ):
        shlo_disc.load(file)


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_more_threads_than_a_program_was_compiled_for(driver: Any, file: Path) -> None:
    """Rows that launches hand on by cache have room for the threads of the compilation, and no others take part."""
    options = replace(FAST, threads=2)
    run = shlo_disc.compile(in_rows, shapes="f32[n, 64], f32[64, 128]", device="cpu", options=options)
    assert any(
        one.held for step in run.executable.artifact.steps if isinstance(step, LaunchGroup) for one in step.members
    )
    run.save(file)
    loaded: Any = shlo_disc.load(file, options=CompileOptions(threads=5, driver=driver))
    rng = np.random.default_rng(SEED)
    w = rng.standard_normal((64, 128)).astype(np.float32)
    for n in (200, 1000, 1337):
        x = rng.standard_normal((n, 64)).astype(np.float32)
        np.testing.assert_array_equal(loaded(x, w), run(x, w))


def in_rows(x: Any, w: Any) -> Any:
    return jax.nn.softmax(jax.nn.gelu(x @ w) @ w.T)


def test_the_message_of_the_wrong_structure(file: Path) -> None:
    compiled("pytrees").save(file)
    loaded = shlo_disc.load(file)
    state = State({"w": BIG[:8, :4], "b": BIG[0, :4]}, np.int32(1))
    with pytest.raises(ArgumentTypeError, match=r"args\[1\]: found ndarray, expected a dict of 'x'"):
        loaded(state, BIG[:, :8], scale=np.float32(1), rest=None)
    with pytest.raises(RuntimeShapeError, match=r"args\[1\]\['x'\]"):
        loaded(state, {"x": BIG}, scale=np.float32(1), rest=None)


def test_results_are_arrays_of_jax_where_arguments_are(file: Path) -> None:
    compiled("literals").save(file)
    loaded = shlo_disc.load(file)
    found = loaded(jnp.asarray(BIG.T[:, :96]))
    assert isinstance(found, jax.Array)
    inside = jax.jit(loaded.as_jax())(jnp.asarray(BIG.T[:, :96]))
    np.testing.assert_array_equal(found, inside)


def called(function: Any) -> Any:
    return function(2.0)


def test_what_cannot_be_saved(file: Path) -> None:
    with pytest.raises(ShloDiscError, match="found the machine 'arm', expected 'x86-64-v2'"):
        compiled("literals").save(file, targets=["arm"])
    with pytest.raises(ShloDiscError, match="expected several such as"):
        compiled("literals").save(file, targets="x86-64-v3")
    with pytest.raises(ShloDiscError, match="found no targets"):
        compiled("literals").save(file, targets=[])
    function = jax.export.export(jax.jit(called))(jax.tree_util.Partial(jnp.multiply, jnp.ones(3)))
    with pytest.raises(ShloDiscError, match=r"found jax\..*Partial in the arguments"):
        shlo_disc.compile(function, options=FAST).save(file)
    with pytest.raises(ShloDiscError, match="found a program in partitions with bound arguments"):
        compiled("sizes of data").bind(np.array([1, 2, 3], np.int32)).save(file)
    with pytest.raises(OSError, match="No such file"):
        compiled("literals").save(file / "not" / "there")
    with pytest.raises(OSError, match="found what is no file"):
        compiled("literals").save(file.parent)
    assert not file.exists()


def test_what_cannot_be_loaded(file: Path) -> None:
    with pytest.raises(ArgumentTypeError, match="found a program of type int"):
        shlo_disc.load(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShloDiscError, match="found code = 'no'"):
        shlo_disc.load(file, code="no")  # pyright: ignore[reportArgumentType]
    with pytest.raises(FileNotFoundError):
        shlo_disc.load(file)
    for data in (b"", b"no zip file", b"PK\x05\x06" + bytes(18)):
        file.write_bytes(data)
        with pytest.raises(ShloDiscError, match="is no whole program of shlo_disc: "):
            shlo_disc.load(file)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint8"])
def test_weights_of_each_type_are_loaded_as_the_code_reads_them_or_refused(dtype: Any, file: Path) -> None:
    """Dot products of bytes, which not each CPU of a level has, read another packed form."""
    w = np.asarray(jnp.asarray(np.random.default_rng(SEED).integers(0, 9, (96, 80)), dtype))
    run = weighted_products(dtype).bind(w)
    try:
        run.save(file)
    except ShloDiscError as error:
        assert "packed for this CPU, expected the form which" in str(error)  # noqa: PT017 - it may be saved, too
        return
    x = np.asarray(jnp.asarray(np.random.default_rng([SEED, 1]).integers(0, 9, (17, 96)), dtype))
    check_same(shlo_disc.load(file), run, ((x,), {}), dtype)


def weighted_products(dtype: Any) -> shlo_disc.Compiled:
    def function(w: Any, x: Any) -> Any:
        wide = jnp.int32 if jnp.issubdtype(dtype, jnp.integer) else jnp.float32
        return lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=wide)

    shapes = ((96, 80), jax.export.symbolic_shape("n, 96"))
    specs = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    return shlo_disc.compile(jax.export.export(jax.jit(function))(*specs), options=FAST)


def addresses_of(file: Path) -> list[range]:
    """Where a file is mapped into this process."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(str(file))]
    return [range(*[int(end, 16) for end in line[0].split("-")]) for line in lines]


def test_weights_are_read_from_the_mapped_file(file: Path) -> None:
    weighted().bind(BIG).save(file)
    loaded: Any = shlo_disc.load(file)
    (packed,) = loaded.executable.saved_binding.packed.values()
    assert any(packed.ctypes.data in each for each in addresses_of(file))


def test_what_is_saved_is_trusted_whatever_files_are_created_with(file: Path) -> None:
    before = os.umask(0o000)
    try:
        compiled("literals").save(file)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o644
    shlo_disc.load(file, options=CompileOptions(compiler="/nonexistent"))


def test_a_file_that_others_may_write_to_is_compiled_from_its_text(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled("literals").save(file)
    file.chmod(0o666)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolchainError):
        shlo_disc.load(file, options=CompileOptions(compiler="gcc"))
    shlo_disc.load(file, options=CompileOptions(compiler="gcc"), code="trust")
    file.chmod(0o644)
    shlo_disc.load(file, options=CompileOptions(compiler="gcc"))
