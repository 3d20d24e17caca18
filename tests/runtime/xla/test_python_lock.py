# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""A program inside of a jitted function needs neither Python nor its lock."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from shlo_disc.runtime.building.toolchain import find_compiler
from tests.runtime.xla.texts import CHAIN, normal, program

# `gate` lets the function go on when a thread holds Python's lock in `hold`, which returns 1 when `mark` was reached.
WATCH = r"""
namespace {
int begun, held, marked;
bool wait_for(int* flag) {
  for (long k = 0; k < 200000 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE); k++) usleep(100);
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}
bool is_question(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start == nullptr) return false;
  auto* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  return true;
}
void copy(XLA_FFI_CallFrame* frame) {
  auto* from = static_cast<XLA_FFI_Buffer*>(frame->args.args[0]);
  auto* to = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  __builtin_memcpy(to->data, from->data, from->dims[0] * from->dims[1] * 4);
}
}  // namespace
extern "C" XLA_FFI_Error* gate(XLA_FFI_CallFrame* frame) {
  if (is_question(frame)) return nullptr;
  __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
  wait_for(&held);
  return copy(frame), nullptr;
}
extern "C" XLA_FFI_Error* mark(XLA_FFI_CallFrame* frame) {
  if (is_question(frame)) return nullptr;
  __atomic_store_n(&marked, 1, __ATOMIC_RELEASE);
  return copy(frame), nullptr;
}
extern "C" int has_begun() { return __atomic_load_n(&begun, __ATOMIC_ACQUIRE); }
extern "C" int hold() {
  __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
  return wait_for(&marked);
}
"""


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("watch")
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    (folder / "watch.cc").write_text(f"#include <unistd.h>\n{header}\n{WATCH}")
    compiler = find_compiler(None, 60)
    compiler.compile(folder / "watch.cc", folder / "watch.o", 1, ())
    compiler.link([folder / "watch.o"], folder / "watch.so")
    return folder / "watch.so"


def test_a_call_ends_while_a_thread_holds_the_lock(watch: Path) -> None:
    library, holding = ctypes.CDLL(str(watch)), ctypes.PyDLL(str(watch))
    for name in ("gate", "mark"):
        jax.ffi.register_ffi_target(f"test_{name}", jax.ffi.pycapsule(library[name]), platform="cpu")
    run, w, a = program(CHAIN), normal(0, 64, 64) / 8, normal(1, 500, 64)

    def through(name: str, x: Any) -> Any:
        return jax.ffi.ffi_call(f"test_{name}", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    compiled = jax.jit(lambda a: through("mark", run.as_jax()(through("gate", a), w)[0])).lower(a).compile()
    found = list[Any]()
    caller = threading.Thread(target=lambda: found.append(np.asarray(compiled(a))))
    caller.start()
    while not library.has_begun():
        pass
    assert holding.hold() == 1, "the call did not end while this thread held the lock"
    caller.join()
    np.testing.assert_array_equal(found[0], run(a, w)[0])
