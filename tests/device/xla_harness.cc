// A stand-in for XLA on the CPU: threads that make, run and destroy executables of two programs, with the handler of
// xla_handler.cc.
#define HANDLER "call/xla_handler.cc"
#include "xla_harness.h"

namespace {

// --- programs -------------------------------------------------------------------------------------------------------

bool out_of_memory;

int64_t reserve(const ShloRuntime*, int64_t) { return !out_of_memory; }

// result = x + 2 y, by memory that no other run may touch meanwhile: the arena, and y, which is a copy.
void compute(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t, int64_t, void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float *y = static_cast<float*>(buffers[1]), *z = static_cast<float*>(buffers[2]);
  float* arena = static_cast<float*>(buffers[3]);
  for (int64_t k = 0; k < dims[0]; k++) y[k] *= 2, arena[k] = x[k];
  sched_yield();
  for (int64_t k = 0; k < dims[0]; k++) z[k] = arena[k] + y[k];
}

// Its host program: one launch, of one task. Registers: the size, 0 and 1.
const ShloRuntime runtime = {nullptr, 1, nullptr, reserve};
const ShloKernel kernels[] = {compute};
const ShloSlot slots[] = {
    {host_code::kArgument, 0, 1, 1, -1}, {host_code::kArgument, 1, 1, 1, -1}, {host_code::kResult, 0, 1, 1, -1},
    {host_code::kArena, 0, 1, 1, -1}};
const int32_t steps[] = {host_code::kLaunch, 0, 2, 2, 1, -1, 4, 0, 1, 2, 3, 1, 0, host_code::kEnd};

ShloHostCode host_program() {
  ShloHostCode code = {};
  code.kept = code.registers = 3, code.reserve = 1;
  code.arguments = 2, code.results = 1, code.most_buffers = 4, code.most_dims = 1;
  code.slots = slots, code.slot_words = 20, code.steps = steps, code.kernels = kernels;
  return code;
}

const ShloHostCode host_code_of_all = host_program();

struct Program {
  int64_t size, zero, one;  // the registers
  ShloXlaType types[3];
  ShloXlaDonation donation;
  int64_t places[2];
  char* addresses[2];
  ShloXlaHostProgram program;
  ShloXlaCall call;
};

void make(Program* it, int64_t number, int64_t size, int64_t arena_bytes) {
  it->size = size, it->zero = 0, it->one = 1;
  for (ShloXlaType& type : it->types) type = {XLA_FFI_DataType_F32, 1, &it->size, size * 4};
  it->donation = {1, 1, -1};
  it->places[0] = 0, it->places[1] = 1;
  it->call = {};
  it->call.number = number;
  it->call.given = 2, it->call.results = 1, it->call.arguments = 2;
  it->call.types = it->types, it->call.places = it->places, it->call.addresses = it->addresses;
  it->call.donations = 1, it->call.donated = &it->donation;
  it->program = {&host_code_of_all, &runtime};
  it->call.program = &it->program, it->call.symbols = &it->size, it->call.arena_bytes = arena_bytes;
  shlo_xla_add(&it->call);
}

Program programs[2];

void* work(void* given) {
  const int64_t seed = *static_cast<int64_t*>(given);
  for (int64_t round = 0; round < kRounds; round++) {
    const Program& program = programs[(seed + round) % 2];
    const int64_t n = program.size;
    Context context = {};
    need(load(&context, program.call.number, 17) == nullptr, "loading");
    float* arrays = static_cast<float*>(malloc(static_cast<size_t>(n) * 12));
    for (int64_t k = 0; k < n; k++) arrays[k] = static_cast<float>(seed + k), arrays[n + k] = static_cast<float>(k);
    need(execute_on(&context, arrays, arrays + n, arrays + 2 * n, n) == nullptr, "running");
    for (int64_t k = 0; k < n; k++) {
      need(arrays[2 * n + k] == static_cast<float>(seed + 3 * k), "a result");
      need(arrays[n + k] == static_cast<float>(k), "an argument of XLA was overwritten");
    }
    free(arrays);
    need(shlo_xla_remove(const_cast<ShloXlaCall*>(&program.call)) == 0, "removed while an executable has it");
    release(context.state);
  }
  return nullptr;
}

}  // namespace

int main() {
  shlo_xla_begin(17, 0);
  make(&programs[0], 1, 100, 400);
  make(&programs[1], 2, 1000, 5 << 20);  // an arena, of which the first elements are used
  pthread_t threads[kThreads];
  int64_t seeds[kThreads];
  for (int64_t k = 0; k < kThreads; k++) seeds[k] = k, pthread_create(&threads[k], nullptr, work, &seeds[k]);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  need(shlo_xla_unused_memory(0) > 5 << 20, "arenas are kept");
  need(shlo_xla_unused_memory(1) == 0, "and dropped");

  Context context = {};
  float array[100] = {}, other[100] = {}, result[100];
  fails(load(&context, 3, 17), XLA_FFI_Error_Code_NOT_FOUND, "that is gone");
  fails(load(&context, 1, 18), XLA_FFI_Error_Code_FAILED_PRECONDITION, "another process");
  need(load(&context, 1, 17) == nullptr, "loading");
  fails(execute_on(&context, array, other, result, 99), XLA_FFI_Error_Code_INVALID_ARGUMENT, "other types or sizes");
  out_of_memory = true;
  fails(execute_on(&context, array, other, result, 100), XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "the calling thread");
  out_of_memory = false;
  programs[0].call.arena_bytes = 1ll << 61;
  fails(execute_on(&context, array, other, result, 100), XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
        "no memory for the temporaries of this call: 2305843009213693952 bytes");
  programs[0].call.arena_bytes = 400;
  programs[0].types[1].bytes = 1ll << 61;
  fails(execute_on(&context, array, other, result, 100), XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
        "no memory for a copy of a donated argument of this call: 2305843009213693952 bytes");
  shlo_xla_release(&programs[0].call);
  need(shlo_xla_remove(&programs[0].call) == 0, "an executable has it");
  release(context.state);
  need(shlo_xla_remove(&programs[0].call) == 1, "nothing has it");
  fails(load(&context, 1, 17), XLA_FFI_Error_Code_NOT_FOUND, "that is gone");
  shlo_xla_unused_memory(1);
  return 0;
}
