// What XLA runs where a JAX function calls a compiled program: handlers of XLA's typed C ABI for custom calls. They get
// XLA's buffers and run on XLA's threads, several at once, without Python and without its lock.
// Compiled behind the text of XLA's own header, xla/ffi/api/c_api.h; see runtime/xla/library.py.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "call/filling.h"
#include "call/float_mode.h"
#include "call/memory.h"
#include "call/runtime.h"

extern "C" {

struct ShloXlaType {  // of a buffer
  int64_t dtype;  // XLA_FFI_DataType
  int64_t rank;
  const int64_t* dims;
  int64_t bytes;
};

struct ShloXlaDonation {  // an argument whose memory the program overwrites
  int64_t given;     // its number among the buffers that XLA passes
  int64_t argument;  // among all arguments
  int64_t result;    // the result that ends up in this memory, or -1
};

// A program at fixed sizes. Only `references` changes; the other fields belong to Python, which keeps all of it alive
// until `shlo_xla_remove` succeeds.
struct ShloXlaCall {
  ShloXlaCall* next;
  int64_t number;
  int64_t references;  // of JAX's modules that contain the call, and of XLA's executables
  int64_t given, results;
  const ShloXlaType* types;  // of the arguments that XLA passes, then of the results
  const int64_t* places;     // of each of these arguments among all arguments
  int64_t arguments;         // all of them, and all operands that may be packed
  char* const* addresses;    // of bound arguments and of packed operands
  int64_t donations;
  const ShloXlaDonation* donated;
  int64_t (*run)(const ShloRuntime*, void* const*, void* const*, const void* const*, const int64_t*, void*);
  const ShloRuntime* runtime;
  const void* const* constants;
  const int64_t* symbols;
  int64_t arena_bytes;
};

}  // extern "C"

namespace {

// memory.h keeps its free lists in variables of each library that includes it. Those of the runtime library are guarded
// by Python's lock, which is not held here; this library has lists of its own, guarded by this mutex.
pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;  // guards the list of calls and their references
ShloXlaCall* calls;
int64_t process;  // a random number of this process

struct Locked {
  pthread_mutex_t* mutex;
  explicit Locked(pthread_mutex_t* taken) : mutex(taken) { pthread_mutex_lock(mutex); }
  ~Locked() { pthread_mutex_unlock(mutex); }
};

// --- what XLA is told -----------------------------------------------------------------------------------------------

XLA_FFI_Error* error_of(XLA_FFI_CallFrame* frame, XLA_FFI_Error_Code code, const char* message) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message, code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

XLA_FFI_Error* no_memory(XLA_FFI_CallFrame* frame, const char* what, int64_t bytes) {
  char text[160];
  snprintf(text, sizeof text, "shlo_disc: no memory for %s of this call: %lld bytes", what,
           static_cast<long long>(bytes));
  return error_of(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, text);
}

void release(void* call) {
  const Locked lock(&table_mutex);
  static_cast<ShloXlaCall*>(call)->references--;
}

// The state of a custom call of an executable is its `ShloXlaCall`: XLA releases it when it destroys the executable.
XLA_FFI_TypeId state_type;
XLA_FFI_TypeInfo state_info = {XLA_FFI_TypeInfo_STRUCT_SIZE, nullptr, release};

// Whether XLA asks for the version of the ABI and the type of the state instead of a run.
bool is_question(XLA_FFI_CallFrame* frame) {
  XLA_FFI_Extension_Base* extension = frame->extension_start;
  if (extension == nullptr || extension->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  metadata->traits = 0;
  metadata->state_type_id = state_type;
  return true;
}

bool read_attribute(const XLA_FFI_Attrs& attributes, const char* name, int64_t* value) {
  for (int64_t k = 0; k < attributes.size; k++) {
    const XLA_FFI_ByteSpan* span = attributes.names[k];
    if (span->len != strlen(name) || memcmp(span->ptr, name, span->len) != 0) continue;
    if (attributes.types[k] != XLA_FFI_AttrType_SCALAR) return false;
    const XLA_FFI_Scalar* scalar = static_cast<const XLA_FFI_Scalar*>(attributes.attrs[k]);
    if (scalar->dtype != XLA_FFI_DataType_S64) return false;
    memcpy(value, scalar->value, sizeof *value);
    return true;
  }
  return false;
}

// The call with a number, with one reference more; null if there is none.
ShloXlaCall* find(int64_t number) {
  const Locked lock(&table_mutex);
  ShloXlaCall* call = calls;
  while (call != nullptr && call->number != number) call = call->next;
  if (call != nullptr) call->references++;
  return call;
}

XLA_FFI_Error* instantiate(XLA_FFI_CallFrame* frame) {
  int64_t number, made_by;
  if (!read_attribute(frame->attrs, "call", &number) || !read_attribute(frame->attrs, "process", &made_by))
    return error_of(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT,
                    "shlo_disc: expected the attributes `call` and `process` of 64 bits");
  if (made_by != process)
    return error_of(frame, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                    "shlo_disc: found an executable that another process compiled, expected one of this process: "
                    "compiled programs are not part of XLA's executables");
  ShloXlaCall* call = find(number);
  if (call == nullptr)
    return error_of(frame, XLA_FFI_Error_Code_NOT_FOUND,
                    "shlo_disc: found a call of a compiled program that is gone, expected one that is loaded: trace "
                    "the function again");
  XLA_FFI_State_Set_Args args = {XLA_FFI_State_Set_Args_STRUCT_SIZE, nullptr,     frame->ctx,
                                 XLA_FFI_ExecutionStage_INSTANTIATE, &state_type, call};
  XLA_FFI_Error* error = frame->api->XLA_FFI_State_Set(&args);
  if (error != nullptr) release(call);
  return error;
}

// --- a run ----------------------------------------------------------------------------------------------------------

bool is_of(const void* found, const ShloXlaType& type) {
  const XLA_FFI_Buffer* buffer = static_cast<const XLA_FFI_Buffer*>(found);
  return buffer->dtype == type.dtype && buffer->rank == type.rank &&
         memcmp(buffer->dims, type.dims, static_cast<size_t>(type.rank) * sizeof(int64_t)) == 0;
}

bool fits(const ShloXlaCall* call, const XLA_FFI_CallFrame* frame) {
  if (frame->args.size != call->given || frame->rets.size != call->results) return false;
  for (int64_t k = 0; k < call->given; k++)
    if (!is_of(frame->args.args[k], call->types[k])) return false;
  for (int64_t k = 0; k < call->results; k++)
    if (!is_of(frame->rets.rets[k], call->types[call->given + k])) return false;
  return true;
}

// Temporary memory of one run; null if there is none.
Cell* borrow(int64_t bytes) {
  const Locked lock(&memory_mutex);
  return take_arena(bytes);
}

void hand_back(Cell* cell) {
  const Locked lock(&memory_mutex);
  give_back_arena(cell);
}

// The program overwrites donated arguments. XLA may read them afterwards: they are copied, to the result that takes the
// place of the argument (unless XLA has put both at one address) or to memory of this run.
XLA_FFI_Error* take_donated(XLA_FFI_CallFrame* frame, const ShloXlaCall* call, char** pointers, void* const* results,
                            Cell** copies) {
  for (int64_t k = 0; k < call->donations; k++) {
    const ShloXlaDonation& it = call->donated[k];
    const int64_t bytes = call->types[it.given].bytes;
    char* target = it.result < 0 ? nullptr : static_cast<char*>(results[it.result]);
    if (it.result < 0) {
      copies[k] = borrow(bytes);
      if (copies[k] == nullptr) return no_memory(frame, "a copy of a donated argument", bytes);
      target = copies[k]->data;
    }
    if (bytes > 0 && target != pointers[it.argument])
      memcpy(target, pointers[it.argument], static_cast<size_t>(bytes));
    pointers[it.argument] = target;
  }
  return nullptr;
}

XLA_FFI_Error* run(XLA_FFI_CallFrame* frame, const ShloXlaCall* call, char* const* pointers, void* const* results) {
  Cell* arena = borrow(call->arena_bytes);
  if (arena == nullptr) return no_memory(frame, "the temporaries", call->arena_bytes);
  const uint64_t mode = set_default_float_mode();
  const int64_t end = call->run(call->runtime, reinterpret_cast<void* const*>(pointers), results, call->constants,
                                call->symbols, arena->data);
  restore_float_mode(mode);
  hand_back(arena);
  if (end == SHLO_DONE) return nullptr;
  return error_of(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
                  "shlo_disc: no memory for what the calling thread needs for itself while it computes");
}

bool is_donated(const ShloXlaCall* call, int64_t result) {
  bool found = false;
  for (int64_t k = 0; k < call->donations; k++) found |= call->donated[k].result == result;
  return found;
}

XLA_FFI_Error* execute(XLA_FFI_CallFrame* frame) {
  XLA_FFI_State_Get_Args args = {XLA_FFI_State_Get_Args_STRUCT_SIZE, nullptr,     frame->ctx,
                                 XLA_FFI_ExecutionStage_INSTANTIATE, &state_type, nullptr};
  if (XLA_FFI_Error* error = frame->api->XLA_FFI_State_Get(&args)) return error;
  const ShloXlaCall* call = static_cast<const ShloXlaCall*>(args.state);
  if (!fits(call, frame))
    return error_of(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT,
                    "shlo_disc: found buffers of other types or sizes than the program was called with");
  const size_t room = static_cast<size_t>(call->arguments + 1) * sizeof(char*);
  char** pointers = static_cast<char**>(memcpy(__builtin_alloca(room), call->addresses, room - sizeof(char*)));
  void** results = static_cast<void**>(__builtin_alloca(static_cast<size_t>(call->results + 1) * sizeof(void*)));
  for (int64_t k = 0; k < call->given; k++)
    pointers[call->places[k]] = static_cast<char*>(static_cast<XLA_FFI_Buffer*>(frame->args.args[k])->data);
  for (int64_t k = 0; k < call->results; k++) {
    results[k] = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[k])->data;
    if (poisons && !is_donated(call, k)) poison(results[k], call->types[call->given + k].bytes);
  }
  if (call->donations == 0) return run(frame, call, pointers, results);
  const size_t cells = static_cast<size_t>(call->donations) * sizeof(Cell*);
  Cell** copies = static_cast<Cell**>(memset(__builtin_alloca(cells), 0, cells));
  XLA_FFI_Error* error = take_donated(frame, call, pointers, results, copies);
  if (error == nullptr) error = run(frame, call, pointers, results);
  for (int64_t k = 0; k < call->donations; k++)
    if (copies[k] != nullptr) hand_back(copies[k]);
  return error;
}

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

XLA_FFI_Error* shlo_xla_instantiate(XLA_FFI_CallFrame* frame) {
  return is_question(frame) ? nullptr : instantiate(frame);
}

XLA_FFI_Error* shlo_xla_execute(XLA_FFI_CallFrame* frame) { return is_question(frame) ? nullptr : execute(frame); }

// A call of no program, to measure what XLA takes for one.
XLA_FFI_Error* shlo_xla_nothing(XLA_FFI_CallFrame* frame) { return is_question(frame), nullptr; }

void* shlo_xla_state_type() { return &state_type; }

void* shlo_xla_state_info() { return &state_info; }

void shlo_xla_begin(int64_t number_of_process, int64_t poison_memory) {
  process = number_of_process;
  poisons = poison_memory;
}

// Adds a call, with one reference.
void shlo_xla_add(ShloXlaCall* call) {
  const Locked lock(&table_mutex);
  call->references = 1;
  call->next = calls;
  calls = call;
}

void shlo_xla_hold(ShloXlaCall* call) {
  const Locked lock(&table_mutex);
  call->references++;
}

void shlo_xla_release(ShloXlaCall* call) { release(call); }

// Removes a call without references. False if there are some.
int64_t shlo_xla_remove(ShloXlaCall* call) {
  const Locked lock(&table_mutex);
  if (call->references > 0) return 0;
  ShloXlaCall** place = &calls;
  while (*place != call) place = &(*place)->next;
  *place = call->next;
  return 1;
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
