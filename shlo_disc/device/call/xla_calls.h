// What the handlers of XLA's custom calls have in common on all platforms: the table of compiled programs, what XLA
// asks and is told, and the order of a run. Handlers get XLA's buffers and run on XLA's threads, several at once,
// without Python and without its lock. Compiled behind the text of XLA's own header, xla/ffi/api/c_api.h; see
// runtime/xla/library.py. Each platform has a library of its own, with a `Run` (see `execute`).
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "call/poison.h"

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
  void* const* constants;
  const int64_t* symbols;
  int64_t arena_bytes;
  const void* program;  // what only the handler of its platform reads
};

}  // extern "C"

namespace {

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

// What an error of XLA says, as long as that exists.
[[maybe_unused]] const char* message_of(XLA_FFI_CallFrame* frame, XLA_FFI_Error* error) {
#if XLA_FFI_API_MINOR < 4  // before jaxlib 0.11.2
  XLA_FFI_Error_GetMessage_Args args = {XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE, nullptr, error, nullptr};
  frame->api->XLA_FFI_Error_GetMessage(&args);
#else
  XLA_FFI_Error_GetDetails_Args args = {XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE, nullptr, error, nullptr, {}};
  frame->api->XLA_FFI_Error_GetDetails(&args);
#endif
  return args.message;
}

void destroy(XLA_FFI_CallFrame* frame, XLA_FFI_Error* error) {
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  frame->api->XLA_FFI_Error_Destroy(&args);
}

// `why` is what an allocator said.
XLA_FFI_Error* no_memory(XLA_FFI_CallFrame* frame, const char* what, int64_t bytes, const char* why = nullptr) {
  char text[400];
  snprintf(text, sizeof text, "shlo_disc: no memory for %s of this call: %lld bytes%s%s", what,
           static_cast<long long>(bytes), why == nullptr ? "" : ": ", why == nullptr ? "" : why);
  return error_of(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, text);
}

void release(void* call) {
  const Locked lock(&table_mutex);
  static_cast<ShloXlaCall*>(call)->references--;
}

// The state of a custom call of an executable is its `ShloXlaCall`: XLA releases it when it destroys the executable.
XLA_FFI_TypeId state_type;
XLA_FFI_TypeInfo state_info = {XLA_FFI_TypeInfo_STRUCT_SIZE, nullptr, release};

// Whether XLA asks for the version of the ABI and the type of the state instead of a run. Runs have no traits: one that
// XLA records in a graph would leave the addresses of temporaries there, which belong to others when the graph runs.
bool is_question(XLA_FFI_CallFrame* frame) {
  auto* extension = frame->extension_start;  // its type has another name since jaxlib 0.11.2
  while (extension != nullptr && extension->type != XLA_FFI_Extension_Metadata) extension = extension->next;
  if (extension == nullptr) return false;
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

// The program overwrites donated arguments. XLA may read them afterwards: they are copied, to the result that takes the
// place of the argument (unless XLA has put both at one address) or to memory of this run.
template <class Run>
XLA_FFI_Error* take_donated(Run& run, const ShloXlaCall* call, char** pointers, void* const* results) {
  for (int64_t k = 0; k < call->donations; k++) {
    const ShloXlaDonation& it = call->donated[k];
    const int64_t bytes = call->types[it.given].bytes;
    char* target = it.result < 0 ? nullptr : static_cast<char*>(results[it.result]);
    if (it.result < 0)
      if (XLA_FFI_Error* error = run.take("a copy of a donated argument", bytes, &target)) return error;
    if (bytes > 0 && target != pointers[it.argument])
      if (XLA_FFI_Error* error = run.copy(target, pointers[it.argument], bytes)) return error;
    pointers[it.argument] = target;
  }
  return nullptr;
}

bool is_donated(const ShloXlaCall* call, int64_t result) {
  bool found = false;
  for (int64_t k = 0; k < call->donations; k++) found |= call->donated[k].result == result;
  return found;
}

template <class Run>
XLA_FFI_Error* poison_results(Run& run, const ShloXlaCall* call, void* const* results) {
  for (int64_t k = 0; k < call->results; k++)
    if (!is_donated(call, k))
      if (XLA_FFI_Error* error = run.poison(static_cast<char*>(results[k]), call->types[call->given + k].bytes))
        return error;
  return nullptr;
}

template <class Run>
XLA_FFI_Error* run_on(Run& run, const ShloXlaCall* call, char** pointers, void* const* results) {
  if (XLA_FFI_Error* error = run.begin()) return error;
  if (poisons)
    if (XLA_FFI_Error* error = poison_results(run, call, results)) return error;
  if (XLA_FFI_Error* error = take_donated(run, call, pointers, results)) return error;
  char* arena = nullptr;
  if (XLA_FFI_Error* error = run.take("the temporaries", call->arena_bytes, &arena)) return error;
  return run.compute(pointers, results, arena);
}

// A platform's `Run` of a call is made of the frame, the call, and room for all memory that it may take. It has
//   begin()                      what it needs before anything else;
//   take(what, bytes, &memory)   memory until its end;
//   copy(target, source, bytes), poison(memory, bytes)   where bytes > 0, and in the order of the computation;
//   compute(pointers, results, arena);
//   end()                        gives back what it took, whatever happened before.
// All of them return XLA's error, or null.
template <class Run>
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
  for (int64_t k = 0; k < call->results; k++)
    results[k] = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[k])->data;
  typedef typename Run::Memory Memory;
  Run run(frame, call,
          static_cast<Memory*>(__builtin_alloca(static_cast<size_t>(call->donations + 1) * sizeof(Memory))));
  XLA_FFI_Error* error = run_on(run, call, pointers, results);
  XLA_FFI_Error* late = run.end();
  if (error == nullptr) return late;
  if (late != nullptr) destroy(frame, late);
  return error;
}

}  // namespace

extern "C" {

XLA_FFI_Error* shlo_xla_instantiate(XLA_FFI_CallFrame* frame) {
  return is_question(frame) ? nullptr : instantiate(frame);
}

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

}  // extern "C"
