// What XLA runs on a GPU where a JAX function calls a compiled program; see xla_calls.h. It queues the program's
// commands on XLA's stream. Temporaries are XLA's memory, which goes back when the handler returns: in the order of the
// stream, as that of XLA's own handlers does.
#include <stdlib.h>

#include "call/driver.h"
#include "call/xla_calls.h"

extern "C" {

// Functions of CUDA's driver and of cuBLAS, and the context that kernels are loaded in: that of one GPU.
struct ShloXlaDriver {
  ShloCuda cuda;  // without a stream and a handle
  int (*stream_context)(void* stream, void** context);      // cuStreamGetCtx
  int (*enter)(void* context);                              // cuCtxPushCurrent_v2
  int (*leave)(void** context);                             // cuCtxPopCurrent_v2
  int (*error_name)(int code, const char** text);           // cuGetErrorName
  int (*error_text)(int code, const char** text);           // cuGetErrorString
  int (*create_cublas)(void** handle);                      // cublasCreate_v2; null without cuBLAS
  void* context;
};

struct ShloXlaCudaProgram {
  int64_t (*run)(const ShloCuda*, void* const*, void* const*, void* const*, const int64_t*, char*, void* const*,
                 const int32_t*);  // `shlo_run` of driver.h
  const ShloXlaDriver* driver;
  void* const* functions;
  const int32_t* choices;           // of a call whose arguments start at multiples of 16 bytes
  const int32_t* choices_anywhere;  // of any other call
  int64_t has_products;             // some may be cuBLAS's
  const char* const* commands;      // what each command is called in errors, by its number
  char* nowhere;                    // an address for no temporaries
};

}  // extern "C"

namespace {

constexpr uintptr_t kAligned = 16;     // bytes that one vectorized access moves; XLA refuses to promise more
constexpr int kOutOfMemory = 2;        // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kCublasError = 0x10000;  // added to the status of cuBLAS; see driver.h
constexpr int kCublasFull = 3;         // CUBLAS_STATUS_ALLOC_FAILED

// A handle of cuBLAS. Each stream has one of its own: two threads must not use one at once, and cuBLAS promises equal
// bits only where streams do not share its workspace. They live as long as XLA's streams: until the process ends.
struct Handle {
  Handle* next;
  void* context;
  void* stream;
  void* cublas;
  pthread_mutex_t busy;  // held while a run queues commands
};

pthread_mutex_t handles_mutex = PTHREAD_MUTEX_INITIALIZER;
Handle* handles;

// The handle of a stream, made when it is first asked for. Returns 0, or an error's code as host programs do.
int find_handle(const ShloXlaDriver* driver, void* stream, Handle** found) {
  const Locked lock(&handles_mutex);
  Handle* one = handles;
  while (one != nullptr && (one->stream != stream || one->context != driver->context)) one = one->next;
  if (one == nullptr) {
    one = static_cast<Handle*>(malloc(sizeof(Handle)));
    if (one == nullptr) return kOutOfMemory;
    *one = {handles, driver->context, stream, nullptr, PTHREAD_MUTEX_INITIALIZER};
    if (const int status = driver->create_cublas(&one->cublas)) {
      free(one);
      return kCublasError + status;
    }
    handles = one;
  }
  *found = one;
  return 0;
}

struct CudaRun {
  struct Memory {
    char* data;
    int64_t bytes;
  };

  XLA_FFI_CallFrame* frame;
  const ShloXlaCall* call;
  const ShloXlaCudaProgram* program;
  Memory* taken;
  int64_t count = 0;
  ShloCuda cuda;  // the driver's functions, on XLA's stream
  bool has_entered = false;

  CudaRun(XLA_FFI_CallFrame* of_frame, const ShloXlaCall* of_call, Memory* room)
      : frame(of_frame), call(of_call), program(static_cast<const ShloXlaCudaProgram*>(of_call->program)), taken(room),
        cuda(program->driver->cuda) {}

  // The error for a command that the GPU refused; null if it did not.
  XLA_FFI_Error* checked(const char* command, int code) {
    if (code == 0) return nullptr;
    const bool is_full = code == kOutOfMemory || code == kCublasError + kCublasFull;
    const char *name = "an unknown error", *text = "";
    if (code < kCublasError) {
      program->driver->error_name(code, &name);
      program->driver->error_text(code, &text);
    }
    char message[600];
    if (code >= kCublasError)
      snprintf(message, sizeof message, "shlo_disc: %s failed: cuBLAS status %d", command, code - kCublasError);
    else
      snprintf(message, sizeof message, "shlo_disc: %s failed: %s (%d): %s", command, name, code, text);
    return error_of(frame, is_full ? XLA_FFI_Error_Code_RESOURCE_EXHAUSTED : XLA_FFI_Error_Code_INTERNAL, message);
  }

  XLA_FFI_Error* begin() {
    XLA_FFI_Stream_Get_Args args = {XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, frame->ctx, nullptr};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_Stream_Get(&args)) return error;
    cuda.stream = args.stream;
    void* context = nullptr;
    if (const int code = program->driver->stream_context(cuda.stream, &context)) return checked("cuStreamGetCtx", code);
    if (context != program->driver->context)
      return error_of(frame, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                      "shlo_disc: found arrays on another GPU, expected them on the one that the program was compiled "
                      "for: make that GPU CuPy's current device, and compile the program there");
    if (const int code = program->driver->enter(context)) return checked("cuCtxPushCurrent", code);
    has_entered = true;
    return nullptr;
  }

  XLA_FFI_Error* take(const char* what, int64_t bytes, char** memory) {
    *memory = program->nowhere;
    if (bytes == 0) return nullptr;
    XLA_FFI_DeviceMemory_Allocate_Args args = {XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                               static_cast<size_t>(bytes), kAligned, nullptr};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_DeviceMemory_Allocate(&args)) {
      XLA_FFI_Error* ours = no_memory(frame, what, bytes, message_of(frame, error));
      destroy(frame, error);
      return ours;
    }
    *memory = static_cast<char*>(args.data);
    taken[count++] = {*memory, bytes};
    return poisons ? poison(*memory, bytes) : nullptr;
  }

  XLA_FFI_Error* copy(char* target, const char* source, int64_t bytes) {
    return checked("copying a donated argument", shlo_copy(&cuda, target, source, bytes));
  }

  XLA_FFI_Error* poison(char* memory, int64_t bytes) {
    return checked("poisoning memory", shlo_fill(&cuda, memory, kPoison, bytes));
  }

  XLA_FFI_Error* compute(char* const* pointers, void* const* results, char* arena) {
    const int32_t* choices = program->choices;
    for (int64_t k = 0; k < call->given; k++)
      if (reinterpret_cast<uintptr_t>(pointers[call->places[k]]) % kAligned) choices = program->choices_anywhere;
    for (int64_t k = 0; k < call->results; k++)
      if (reinterpret_cast<uintptr_t>(results[k]) % kAligned)
        return error_of(frame, XLA_FFI_Error_Code_INTERNAL,
                        "shlo_disc: found memory for a result that does not start at a multiple of 16 bytes");
    Handle* handle = nullptr;
    if (program->has_products) {
      if (const int code = find_handle(program->driver, cuda.stream, &handle)) return checked("cublasCreate", code);
      pthread_mutex_lock(&handle->busy);
      cuda.cublas = handle->cublas;
    }
    const int64_t failed = program->run(&cuda, reinterpret_cast<void* const*>(pointers), results, call->constants,
                                        call->symbols, arena, program->functions, choices);
    if (handle != nullptr) pthread_mutex_unlock(&handle->busy);
    return checked(program->commands[failed >> 32], static_cast<int>(failed & 0xffffffff));
  }

  // Gives back memory and the context; the first error of that is returned.
  XLA_FFI_Error* end() {
    XLA_FFI_Error* first = nullptr;
    while (count > 0) {
      const Memory& one = taken[--count];
      XLA_FFI_DeviceMemory_Free_Args args = {XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE, nullptr, frame->ctx,
                                             static_cast<size_t>(one.bytes), one.data};
      XLA_FFI_Error* error = frame->api->XLA_FFI_DeviceMemory_Free(&args);
      if (first == nullptr) first = error;
      else if (error != nullptr) destroy(frame, error);
    }
    void* context;
    if (has_entered) program->driver->leave(&context);
    return first;
  }
};

}  // namespace

extern "C" XLA_FFI_Error* shlo_xla_execute(XLA_FFI_CallFrame* frame) {
  return is_question(frame) ? nullptr : execute<CudaRun>(frame);
}
