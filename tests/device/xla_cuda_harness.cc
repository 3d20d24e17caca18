// The same on a GPU: threads that share streams, each with a handle of cuBLAS, with the handler of xla_cuda_handler.cc.
// Commands compute at once, on the host.
#define HANDLER "call/xla_cuda_handler.cc"
#include "xla_harness.h"

namespace {

// A handle of cuBLAS: of one stream, and of one thread at a time, which writes to it without a lock.
struct Cublas {
  void* stream;
  int64_t uses;
};

int the_context;
thread_local int entered;
int64_t handles_made;
int64_t streams[2];  // their addresses are streams

int launch(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* stream,
           void** params, void**) {
  need(stream == &streams[0] || stream == &streams[1], "a launch on no stream of XLA");
  need(entered == 1, "a launch without a context");
  return reinterpret_cast<int (*)(void**)>(function)(params);
}

int copy_bytes(uint64_t target, uint64_t source, size_t bytes, void*) {
  memcpy(reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes);
  return 0;
}

int set_stream(void* handle, void* stream) {
  static_cast<Cublas*>(handle)->stream = stream;
  return 0;
}

int create_cublas(void** handle) {
  __atomic_fetch_add(&handles_made, 1, __ATOMIC_RELAXED);
  *handle = calloc(1, sizeof(Cublas));
  return 0;
}

int stream_context(void*, void** context) {
  *context = &the_context;
  return 0;
}

int enter(void* context) {
  need(context == &the_context, "another context");
  return entered++, 0;
}

int leave(void**) { return entered--, 0; }

int error_name(int, const char** text) { return *text = "CUDA_ERROR", 0; }

int error_text(int, const char** text) { return *text = "of the harness", 0; }

// result = x + 2 y, by the arena and y, which is a copy.
int add(void** params) {
  const int64_t n = *static_cast<int64_t*>(params[4]);
  float *x = *static_cast<float**>(params[0]), *y = *static_cast<float**>(params[1]);
  float *z = *static_cast<float**>(params[2]), *arena = *static_cast<float**>(params[3]);
  for (int64_t k = 0; k < n; k++) y[k] *= 2, arena[k] = x[k];
  sched_yield();
  for (int64_t k = 0; k < n; k++) z[k] = arena[k] + y[k];
  return 0;
}

int fails_with;

int64_t compute(const ShloCuda* cuda, void* const* arguments, void* const* results, void* const*,
                const int64_t* symbols, char* arena, void* const* functions, const int32_t*) {
  SHLO_TRY(0, shlo_start_products(cuda));
  Cublas* cublas = static_cast<Cublas*>(cuda->cublas);
  cublas->uses++;
  sched_yield();
  need(cublas->stream == cuda->stream, "a handle on another stream");
  if (fails_with) return 1ll << 32 | fails_with;
  void *x = arguments[0], *y = arguments[1], *z = results[0];
  int64_t n = symbols[0];
  void* params[] = {&x, &y, &z, &arena, &n};
  SHLO_TRY(1, shlo_launch(cuda, functions[0], 1, 1, 0, params));
  return 0;
}

const ShloXlaDriver driver = {{launch, copy_bytes, nullptr, nullptr, nullptr, nullptr, set_stream, nullptr, nullptr},
                              stream_context, enter, leave, error_name, error_text, create_cublas, &the_context};
const char* const commands[] = {"cublasSetStream", "kernel add"};
void* const functions[] = {reinterpret_cast<void*>(add)};
const int32_t choices[] = {0};

constexpr int64_t kSize = 100;
const int64_t size = kSize;
ShloXlaType types[] = {{XLA_FFI_DataType_F32, 1, &size, 4 * kSize},
                       {XLA_FFI_DataType_F32, 1, &size, 4 * kSize},
                       {XLA_FFI_DataType_F32, 1, &size, 4 * kSize}};
const ShloXlaDonation donation = {1, 1, -1};
const int64_t places[] = {0, 1};
char* const addresses[] = {nullptr, nullptr};
char nowhere;
const ShloXlaCudaProgram program = {compute, &driver, functions, choices, choices, 1, commands, &nowhere};
ShloXlaCall call;

void* work(void* given) {
  const int64_t seed = *static_cast<int64_t*>(given);
  alignas(16) float x[kSize], y[kSize], z[kSize];
  for (int64_t round = 0; round < kRounds; round++) {
    Context context = {};
    context.stream = &streams[(seed + round) % 2];
    need(load(&context, 1, 17) == nullptr, "loading");
    for (int64_t k = 0; k < kSize; k++) x[k] = static_cast<float>(seed + k), y[k] = static_cast<float>(k);
    need(execute_on(&context, x, y, z, kSize) == nullptr, "running");
    need(context.in_use == 0 && entered == 0, "memory or a context is left");
    for (int64_t k = 0; k < kSize; k++) {
      need(z[k] == static_cast<float>(seed + 3 * k), "a result");
      need(y[k] == static_cast<float>(k), "an argument of XLA was overwritten");
    }
    release(context.state);
  }
  return nullptr;
}

void fails_and_leaves_nothing(Context* context, XLA_FFI_Error_Code code, const char* message) {
  alignas(16) float x[kSize] = {}, y[kSize] = {}, z[kSize];
  fails(execute_on(context, x, y, z, kSize), code, message);
  need(context->in_use == 0 && entered == 0, "memory or a context is left by a call that failed");
}

}  // namespace

int main() {
  shlo_xla_begin(17, 0);
  call.number = 1, call.given = 2, call.results = 1, call.arguments = 2;
  call.types = types, call.places = places, call.addresses = addresses, call.donations = 1, call.donated = &donation;
  call.symbols = &size, call.arena_bytes = 4 * kSize, call.program = &program;
  shlo_xla_add(&call);
  pthread_t threads[kThreads];
  int64_t seeds[kThreads];
  for (int64_t k = 0; k < kThreads; k++) seeds[k] = k, pthread_create(&threads[k], nullptr, work, &seeds[k]);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  need(handles_made == 2, "one handle for each stream");
  int64_t uses = 0;
  for (const Handle* one = handles; one != nullptr; one = one->next) uses += static_cast<Cublas*>(one->cublas)->uses;
  need(uses == kThreads * kRounds, "uses of the handles");

  Context context = {};
  context.stream = &streams[0];
  need(load(&context, 1, 17) == nullptr, "loading");
  context.has_no_memory = true;
  fails_and_leaves_nothing(&context, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
                           "a copy of a donated argument of this call: 400 bytes: the allocator is empty");
  context.has_no_memory = false;
  fails_with = 700;
  fails_and_leaves_nothing(&context, XLA_FFI_Error_Code_INTERNAL, "add failed: CUDA_ERROR (700): of the harness");
  fails_with = 0x10000 + 3;
  fails_and_leaves_nothing(&context, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "kernel add failed: cuBLAS status 3");
  fails_with = 0;
  alignas(16) float array[kSize + 1] = {}, other[kSize] = {};
  fails(execute_on(&context, array, other, array + 1, kSize), XLA_FFI_Error_Code_INTERNAL, "a multiple of 16 bytes");
  need(context.in_use == 0 && entered == 0, "memory or a context is left");
  release(context.state);
  shlo_xla_release(&call);
  need(shlo_xla_remove(&call) == 1, "nothing has it");
  while (handles != nullptr) {  // they live as long as the process
    Handle* one = handles;
    handles = one->next;
    free(one->cublas);
    free(one);
  }
  return 0;
}
