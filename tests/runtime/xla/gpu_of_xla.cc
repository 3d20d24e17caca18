// A stand-in for XLA on an emulated GPU: it calls handlers as XLA does, with a stream and an allocator of its own, and
// counts what they do with these. Commands are the emulator's; they pass through here. Compiled behind XLA's c_api.h.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call/driver.h"

extern "C" {
void* emu_allocate(size_t size);
void emu_free(void* start);
int emu_entered();
int emu_stream_context(void* stream, void** context);

struct GpuBuffer {  // a buffer that a call passes
  int64_t dtype;
  int64_t rank;
  const int64_t* dims;
  void* data;
};

// One of XLA's streams, and all that was done in calls that were given it. Counters of commands are those of launches,
// copies, fills and products.
struct GpuStream {
  void* stream;
  int64_t commands, elsewhere, outside;  // `elsewhere`: on another stream; `outside`: without the GPU's context
  int64_t allocations, bytes, in_use;    // of memory
  int64_t fails_at, code;                // the command of this number fails with the code; -1 for none
  int64_t has_no_memory;
  void* cublas;      // the handle of the last product
  void* state;       // what the handler keeps with the executable
  int64_t answer;    // XLA_FFI_Error_Code of the last call; 0 if it was right
  char message[600];
};

typedef XLA_FFI_Error* Handler(XLA_FFI_CallFrame*);
}

namespace {

struct Error {
  XLA_FFI_Error_Code code;
  char message[600];
};

constexpr int kMost = 16;  // buffers of a call, and threads
constexpr size_t kMostAligned = 16;  // XLA's allocator (ffi_api.cc) refuses to align memory more
constexpr int kOtherStream = 400;  // CUDA_ERROR_INVALID_HANDLE

int64_t errors;  // that nobody has destroyed
ShloCuda emulator;
thread_local GpuStream* here;

// --- XLA's functions ------------------------------------------------------------------------------------------------

XLA_FFI_Error* error_with(XLA_FFI_Error_Code code, const char* message) {
  Error* made = static_cast<Error*>(malloc(sizeof(Error)));
  made->code = code;
  snprintf(made->message, sizeof made->message, "%s", message);
  __atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
  return reinterpret_cast<XLA_FFI_Error*>(made);
}

GpuStream* of(XLA_FFI_ExecutionContext* context) { return reinterpret_cast<GpuStream*>(context); }

XLA_FFI_Error* create(XLA_FFI_Error_Create_Args* args) { return error_with(args->errc, args->message); }

void get_message(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = reinterpret_cast<Error*>(args->error)->message;
}

void destroy(XLA_FFI_Error_Destroy_Args* args) {
  __atomic_fetch_sub(&errors, 1, __ATOMIC_RELAXED);
  free(args->error);
}

XLA_FFI_Error* set_state(XLA_FFI_State_Set_Args* args) {
  of(args->ctx)->state = args->state;
  return nullptr;
}

XLA_FFI_Error* get_state(XLA_FFI_State_Get_Args* args) {
  args->state = of(args->ctx)->state;
  return nullptr;
}

XLA_FFI_Error* get_stream(XLA_FFI_Stream_Get_Args* args) {
  args->stream = of(args->ctx)->stream;
  return nullptr;
}

XLA_FFI_Error* allocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  GpuStream* it = of(args->ctx);
  if (it->has_no_memory) return error_with(XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "the allocator is empty");
  if (args->size == 0) return error_with(XLA_FFI_Error_Code_INVALID_ARGUMENT, "no bytes are asked for");
  if (args->alignment > kMostAligned || (args->alignment & (args->alignment - 1)) != 0)
    return error_with(XLA_FFI_Error_Code_INVALID_ARGUMENT, "Unsupported alignment");
  args->data = static_cast<char*>(emu_allocate(args->size + kMostAligned)) + kMostAligned;  // no more than it promises
  it->allocations++, it->bytes += static_cast<int64_t>(args->size), it->in_use += static_cast<int64_t>(args->size);
  return nullptr;
}

XLA_FFI_Error* give_back(XLA_FFI_DeviceMemory_Free_Args* args) {
  emu_free(static_cast<char*>(args->data) - kMostAligned);
  of(args->ctx)->in_use -= static_cast<int64_t>(args->size);
  return nullptr;
}

XLA_FFI_Api make_api() {
  XLA_FFI_Api made = {};
  made.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  made.XLA_FFI_Error_Create = create;
  made.XLA_FFI_Error_GetMessage = get_message;
  made.XLA_FFI_Error_Destroy = destroy;
  made.XLA_FFI_State_Set = set_state;
  made.XLA_FFI_State_Get = get_state;
  made.XLA_FFI_Stream_Get = get_stream;
  made.XLA_FFI_DeviceMemory_Allocate = allocate;
  made.XLA_FFI_DeviceMemory_Free = give_back;
  return made;
}

const XLA_FFI_Api api = make_api();

void answer(GpuStream* it, XLA_FFI_Error* error) {
  it->answer = 0;
  it->message[0] = 0;
  if (error == nullptr) return;
  const Error* found = reinterpret_cast<Error*>(error);
  it->answer = found->code;
  memcpy(it->message, found->message, sizeof it->message);
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  destroy(&args);
}

// --- the driver's functions -----------------------------------------------------------------------------------------

// The code with which a command fails; 0 if it is to run.
int count(const void* stream) {
  const int64_t number = here->commands++;
  if (emu_entered() == 0) here->outside++;
  if (stream != here->stream) return here->elsewhere++, kOtherStream;
  return number == here->fails_at ? static_cast<int>(here->code) : 0;
}

int launch(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
           unsigned block_z, unsigned shared, void* stream, void** params, void** extra) {
  if (const int code = count(stream)) return code;
  return emulator.launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, params, extra);
}

int copy(uint64_t target, uint64_t source, size_t bytes, void* stream) {
  if (const int code = count(stream)) return code;
  return emulator.copy(target, source, bytes, stream);
}

int fill(uint64_t target, unsigned char byte, size_t bytes, void* stream) {
  if (const int code = count(stream)) return code;
  return emulator.fill(target, byte, bytes, stream);
}

int gemm(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha, const void* a,
         int a_type, int64_t lda, long long a_stride, const void* b, int b_type, int64_t ldb, long long b_stride,
         const void* beta, void* c, int c_type, int64_t ldc, long long c_stride, int64_t batch, int compute,
         int algorithm) {
  here->cublas = handle;
  if (const int code = count(*static_cast<void**>(handle))) return code;
  return emulator.gemm(handle, transa, transb, m, n, k, alpha, a, a_type, lda, a_stride, b, b_type, ldb, b_stride, beta,
                       c, c_type, ldc, c_stride, batch, compute, algorithm);
}

XLA_FFI_CallFrame frame_of(GpuStream* it) {
  XLA_FFI_CallFrame frame = {};
  frame.api = &api;
  frame.ctx = reinterpret_cast<XLA_FFI_ExecutionContext*>(it);
  return frame;
}


void fill_buffers(const GpuBuffer* given, int64_t count, XLA_FFI_Buffer* buffers, void** places) {
  for (int64_t k = 0; k < count; k++) {
    buffers[k] = {};
    buffers[k].dtype = static_cast<XLA_FFI_DataType>(given[k].dtype);
    buffers[k].data = given[k].data;
    buffers[k].rank = given[k].rank;
    buffers[k].dims = const_cast<int64_t*>(given[k].dims);
    places[k] = &buffers[k];
  }
}

}  // namespace

extern "C" {

// Lets all commands of a table pass through here.
void gpu_watch(ShloCuda* table) {
  emulator = *table;
  table->launch = launch;
  table->copy = copy;
  table->fill = fill;
  table->gemm = gemm;
}

int64_t gpu_errors() { return __atomic_load_n(&errors, __ATOMIC_RELAXED); }

void gpu_load(Handler* instantiate, GpuStream* it, int64_t number, int64_t made_by) {
  XLA_FFI_Scalar scalars[] = {{XLA_FFI_DataType_S64, &number}, {XLA_FFI_DataType_S64, &made_by}};
  XLA_FFI_AttrType types[] = {XLA_FFI_AttrType_SCALAR, XLA_FFI_AttrType_SCALAR};
  XLA_FFI_ByteSpan spans[] = {{"call", 4}, {"process", 7}};
  XLA_FFI_ByteSpan* names[] = {&spans[0], &spans[1]};
  void* values[] = {&scalars[0], &scalars[1]};
  XLA_FFI_CallFrame frame = frame_of(it);
  frame.attrs.size = 2, frame.attrs.types = types, frame.attrs.names = names, frame.attrs.attrs = values;
  answer(it, instantiate(&frame));
}

void gpu_execute(Handler* execute, GpuStream* it, const GpuBuffer* given, int64_t givens, const GpuBuffer* results,
                 int64_t count) {
  XLA_FFI_Buffer buffers[2][kMost];
  void* places[2][kMost];
  fill_buffers(given, givens, buffers[0], places[0]);
  fill_buffers(results, count, buffers[1], places[1]);
  XLA_FFI_CallFrame frame = frame_of(it);
  frame.args.size = givens, frame.args.args = places[0];
  frame.rets.size = count, frame.rets.rets = places[1];
  here = it;
  answer(it, execute(&frame));
  if (emu_entered()) it->outside++;  // a context was left behind
}

// The same call, `rounds` times in each of several threads, with streams and buffers of their own. The buffers of a
// thread follow those of the one before. Returns how many threads have ended within a minute.
struct Work {
  Handler* execute;
  GpuStream* it;
  const GpuBuffer *given, *results;
  int64_t givens, count, rounds;
};

static void* work(void* data) {
  const Work* it = static_cast<const Work*>(data);
  for (int64_t k = 0; k < it->rounds; k++) {
    gpu_execute(it->execute, it->it, it->given, it->givens, it->results, it->count);
    if (it->it->answer) break;
  }
  return nullptr;
}

int64_t gpu_execute_at_once(Handler* execute, GpuStream* streams, int64_t threads, int64_t rounds,
                            const GpuBuffer* given, int64_t givens, const GpuBuffer* results, int64_t count) {
  pthread_t started[kMost];
  static Work all[kMost];  // a thread that does not end may read it later
  for (int64_t k = 0; k < threads; k++) {
    all[k] = {execute, streams + k, given + k * givens, results + k * count, givens, count, rounds};
    pthread_create(&started[k], nullptr, work, &all[k]);
  }
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 60;
  int64_t ended = 0;
  for (int64_t k = 0; k < threads; k++) ended += pthread_timedjoin_np(started[k], nullptr, &until) == 0;
  return ended;
}

}  // extern "C"
