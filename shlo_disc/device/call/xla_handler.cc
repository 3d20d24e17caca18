// What XLA runs on the CPU where a JAX function calls a compiled program; see xla_calls.h.
#include "call/filling.h"
#include "call/float_mode.h"
#include "call/host_code.h"
#include "call/memory.h"
#include "call/runtime.h"
#include "call/xla_calls.h"

extern "C" {

struct ShloXlaHostProgram {
  const ShloHostCode* code;
  const ShloRuntime* runtime;
};

}  // extern "C"

namespace {

// memory.h keeps its free lists in variables of each library that includes it. Those of the runtime library are guarded
// by Python's lock, which is not held here; this library has lists of its own, guarded by this mutex.
pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;

struct HostRun {
  typedef Cell* Memory;

  XLA_FFI_CallFrame* frame;
  const ShloXlaCall* call;
  Memory* taken;
  int64_t count = 0;

  HostRun(XLA_FFI_CallFrame* of_frame, const ShloXlaCall* of_call, Memory* room)
      : frame(of_frame), call(of_call), taken(room) {}

  XLA_FFI_Error* begin() { return nullptr; }

  XLA_FFI_Error* take(const char* what, int64_t bytes, char** memory) {
    const Locked lock(&memory_mutex);
    Cell* cell = take_arena(bytes);
    if (cell == nullptr) return no_memory(frame, what, bytes);
    taken[count++] = cell;
    *memory = cell->data;
    return nullptr;
  }

  XLA_FFI_Error* copy(char* target, const char* source, int64_t bytes) {
    memcpy(target, source, static_cast<size_t>(bytes));
    return nullptr;
  }

  XLA_FFI_Error* poison(char* memory, int64_t bytes) {
    ::poison(memory, bytes);
    return nullptr;
  }

  XLA_FFI_Error* compute(char* const* pointers, void* const* results, char* arena) {
    const ShloXlaHostProgram* program = static_cast<const ShloXlaHostProgram*>(call->program);
    const uint64_t mode = set_default_float_mode();
    const int64_t end = shlo_run_call(program->code, program->runtime, reinterpret_cast<void* const*>(pointers), results,
                                 call->constants, call->symbols, arena, nullptr, nullptr);
    restore_float_mode(mode);
    if (end == SHLO_DONE) return nullptr;
    return error_of(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
                    "shlo_disc: no memory for what the calling thread needs for itself while it computes");
  }

  XLA_FFI_Error* end() {
    const Locked lock(&memory_mutex);
    while (count > 0) give_back_arena(taken[--count]);
    return nullptr;
  }
};

// --- results that XLA makes -----------------------------------------------------------------------------------------

thread_local ShloFilling* filling;  // the call that this thread has begun

// Whether these are the results of a call.
bool belong_to(const ShloFilling* call, const XLA_FFI_CallFrame* frame) {
  if (call == nullptr || frame->rets.size != call->results) return false;
  const int64_t* dims = call->dims;
  for (int64_t k = 0; call->ranks != nullptr && k < call->results; dims += call->ranks[k++]) {
    const XLA_FFI_Buffer* buffer = static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[k]);
    const size_t bytes = static_cast<size_t>(call->ranks[k]) * sizeof(int64_t);
    if (buffer->rank != call->ranks[k] || memcmp(buffer->dims, dims, bytes) != 0) return false;
  }
  return true;
}

XLA_FFI_Error* fill(XLA_FFI_CallFrame* frame) {
  ShloFilling* it = filling;
  filling = nullptr;
  if (!belong_to(it, frame))
    return error_of(frame, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                    "shlo_disc: found no call in this thread whose results these are, expected XLA to run in the thread "
                    "that calls it");
  void** results = static_cast<void**>(__builtin_alloca(static_cast<size_t>(it->results + 1) * sizeof(void*)));
  for (int64_t k = 0; k < it->results; k++) {
    results[k] = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[k])->data;
    if (poisons) poison(results[k], it->bytes[k]);  // of a trial no bytes
  }
  const uint64_t mode = set_default_float_mode();
  it->end = it->fill(it, results);
  it->is_filled = 1;
  restore_float_mode(mode);
  return nullptr;
}

}  // namespace

extern "C" {

// Begins a call in this thread, whose results XLA makes; ends it if null.
void shlo_xla_begin_filling(ShloFilling* call) { filling = call; }

XLA_FFI_Error* shlo_xla_fill(XLA_FFI_CallFrame* frame) { return is_question(frame) ? nullptr : fill(frame); }

XLA_FFI_Error* shlo_xla_execute(XLA_FFI_CallFrame* frame) {
  return is_question(frame) ? nullptr : execute<HostRun>(frame);
}

// The same for a program that Python runs in a thread of XLA.
int64_t shlo_xla_default_float_mode() { return static_cast<int64_t>(set_default_float_mode()); }

void shlo_xla_restore_float_mode(int64_t mode) { restore_float_mode(static_cast<uint64_t>(mode)); }

// Bytes of cached free memory; `drop` returns them to the system.
int64_t shlo_xla_unused_memory(int64_t drop) {
  const Locked lock(&memory_mutex);
  if (drop) drop_unused();
  return unused;
}

}  // extern "C"
