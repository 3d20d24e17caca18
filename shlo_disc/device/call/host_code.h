// The host program as bytecode, and its interpreter. `shlo_disc/bytecode` encodes and verifies it: here it is trusted.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "call/runtime.h"

extern "C" {

// Runs host call `number` of a program: Python, with the GIL. `buffers`: what it reads, then what it fills, with all
// their shapes in `dims`, one after the other. 0 if it raised an error; then the program ends at once.
typedef int64_t (*ShloHostCall)(void* session, int64_t number, void* const* buffers, const int64_t* dims);

struct ShloSlot {  // where a buffer is; `offset` and `size` are registers, `packed` is a slot before this one, or -1
  int32_t kind, number, offset, size, packed;
};

// See `HostCode` of bytecode/code.py for all members.
struct ShloHostCode {
  int64_t given, symbols, kept, registers, first_constant, arena, reserve;
  int64_t arguments, results, literals, packings, host_calls;
  int64_t most_buffers, most_dims, most_members, most_held;
  const int64_t* constants;
  int64_t constant_count;
  const int64_t* bounds;
  int64_t bound_words;
  const int32_t* sizes;
  int64_t size_words;
  const int32_t* checks;
  int64_t check_words;
  const int32_t* dims;
  int64_t dim_count;
  const int32_t* conditions;
  int64_t condition_count;
  const ShloSlot* slots;
  int64_t slot_words;
  const int32_t* steps;
  const ShloKernel* kernels;
};

}  // extern "C"

namespace host_code {

enum Size : int32_t { kAdd, kMultiply, kDivide, kRemainder, kMin, kMax };
enum Relation : int32_t { kEqual, kAtMost, kAtLeast, kLess, kGreater, kUnequal };
enum Step : int32_t { kEnd, kLaunch, kGroup, kMember, kCopy, kHostCall, kJump, kJumpIfZero, kSwitch };
enum Kind : int32_t { kArgument, kResult, kConstant, kArena, kPacked, kNull };

constexpr int64_t kStackBytes = 32 << 10;  // that a call takes of the caller's stack; more comes from the heap
constexpr int64_t kMost = INT64_MAX / 2;   // margin for what a bound omits: what a division adds to round

// Memory for one call, freed with this object.
struct Room {
  void* heap = nullptr;
  ~Room() {
    if (__builtin_expect(heap != nullptr, 0)) free(heap);
  }
};

#define SHLO_ROOM(room, bytes) ((bytes) <= kStackBytes ? __builtin_alloca(bytes) : ((room).heap = malloc(bytes)))

inline int64_t quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));  // of the least number: it wraps around
  return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}

inline int64_t remainder(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a - quotient(a, b) * b;
}

// The value of a function of sizes; sums and products wrap around.
inline int64_t value_of(int32_t function, int64_t a, int64_t b) {
  switch (function) {
    case kAdd: return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case kMultiply: return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case kDivide: return quotient(a, b);
    case kRemainder: return remainder(a, b);
    case kMin: return a < b ? a : b;
    default: return a > b ? a : b;
  }
}

inline bool holds(int32_t relation, int64_t a, int64_t b) {
  switch (relation) {
    case kEqual: return a == b;
    case kAtMost: return a <= b;
    case kAtLeast: return a >= b;
    case kLess: return a < b;
    case kGreater: return a > b;
    default: return a != b;
  }
}

// 0 counts as 1, so that the order of factors does not matter; a negative size counts as its magnitude. That of -2^63
// is not representable: INT64_MAX stands for it and makes the check fail.
inline int64_t magnitude(int64_t size) {
  if (size == INT64_MIN) return INT64_MAX;
  return size < 0 ? -size : size == 0 ? 1 : size;
}

// Whether no product of sizes exceeds its bound: then no formula of the program overflows.
inline bool fits(const ShloHostCode* code, const int64_t* raw) {
  int64_t largest = 1;
  for (int64_t k = 0; k < code->given; k++)
    if (magnitude(raw[k]) > largest) largest = magnitude(raw[k]);
  for (const int64_t *at = code->bounds, *end = at + code->bound_words; at < end;) {
    const int64_t count = *at++;
    int64_t product = at[0];
    for (int64_t k = 1; k < count; k++)
      if (__builtin_mul_overflow(product, at[k] < 0 ? largest : magnitude(raw[at[k]]), &product)) return false;
    if (product > kMost) return false;
    at += count;
  }
  return true;
}

// The integer of so many bytes at an address; negative if it is signed.
inline int64_t read_index(const void* at, int32_t width) {
  auto as = [&]<class T>(T value) { return memcpy(&value, at, sizeof value), static_cast<int64_t>(value); };
  switch (width) {
    case -1: return as(int8_t());
    case -2: return as(int16_t());
    case -4: return as(int32_t());
    case 1: return as(uint8_t());
    case 2: return as(uint16_t());
    case 4: return as(uint32_t());
    default: return as(int64_t());  // beyond the largest: negative, and so out of range, as it should be
  }
}

// Notes no times of steps. `StepClock` of call/step_times.h does.
struct NoClock {
  void begin(const int32_t*) const {}
  void end() const {}
};

// What instructions point to while they run. Each `Clock` has functions of its own: compilers inline them as if there
// were no other.
template <class Clock>
struct Frame {
  const ShloRuntime* runtime;
  const ShloHostCode* code;
  const int64_t* registers;
  char** slots;
  void** buffers;
  int64_t* dims;
  ShloMember* members;
  ShloHeld* held;

  // Reads a list of slots: the number of them, then each.
  void** read_buffers(const int32_t*& at, void** room) const {
    void** end = room;
    for (int64_t left = *at++; left > 0; left--) *end++ = slots[*at++];
    return end;
  }

  int64_t* read_dims(const int32_t*& at, int64_t* room) const {
    int64_t* end = room;
    for (int64_t left = *at++; left > 0; left--) *end++ = registers[*at++];
    return end;
  }

  const int32_t* launch(const int32_t* at) const {
    const ShloKernel kernel = code->kernels[at[0]];
    const int64_t extent = registers[at[1]], grain = registers[at[2]], scratch = registers[at[3]];
    const bool is_done = at[4] >= 0 && slots[at[4]] != nullptr;
    at += 5;
    read_buffers(at, buffers);
    read_dims(at, dims);
    if (!is_done) shlo_launch(runtime, kernel, buffers, dims, extent, grain, scratch);
    return at;
  }

  const int32_t* group(const int32_t* at) const {
    const int64_t count = at[0], units = registers[at[1]], grain = registers[at[2]], work = registers[at[3]];
    const int64_t scratch = registers[at[4]];
    at += 5;
    void** buffer = buffers;
    int64_t* dim = dims;
    ShloHeld* hold = held;
    int64_t most_threads = INT64_MAX;  // for which held buffers have room: the program may be compiled for fewer
    for (int64_t k = 0; k < count; k++) {
      at++;  // the opcode of a member
      ShloMember& member = members[k];
      member.kernel = code->kernels[at[0]];
      member.extent = registers[at[1]];
      member.grain = registers[at[2]];
      member.scratch_bytes = registers[at[3]];
      member.unit_tasks = registers[at[4]];
      member.unit_extent = registers[at[5]];
      at += 6;
      const int32_t* const list = at + 1;  // the slots of the buffers
      member.buffers = buffer;
      buffer = read_buffers(at, buffer);
      member.count = buffer - member.buffers;
      member.dims = dim;
      dim = read_dims(at, dim);
      member.unit_dims = dim;
      dim = read_dims(at, dim);
      member.held = hold;
      member.held_count = *at++;
      for (int64_t i = 0; i < member.held_count; i++) hold[i].buffer = *at++;
      at++;  // the same count
      for (int64_t i = 0; i < member.held_count; i++) {
        hold[i].bytes = registers[*at++];
        const int64_t bytes = registers[code->slots[list[hold[i].buffer]].size];
        if (hold[i].bytes > 0 && bytes / hold[i].bytes < most_threads) most_threads = bytes / hold[i].bytes;
      }
      hold += member.held_count;
    }
    runtime->region(runtime, members, count, units, grain, work, scratch, most_threads);
    return at;
  }
};

inline void place_slots(const ShloHostCode* code, void* const* arguments, void* const* results, void* const* constants,
                        const int64_t* registers, char* arena, char** slots) {
  const ShloSlot* slot = code->slots;
  for (int64_t k = 0; k < code->slot_words / 5; k++, slot++) {
    switch (slot->kind) {
      case kArgument: slots[k] = static_cast<char*>(arguments[slot->number]); break;
      case kResult: slots[k] = static_cast<char*>(results[slot->number]); break;
      case kConstant: slots[k] = static_cast<char*>(constants[slot->number]); break;
      case kArena: slots[k] = arena + registers[slot->offset]; break;
      case kPacked: slots[k] = static_cast<char*>(arguments[code->arguments + slot->number]); break;
      default: slots[k] = nullptr;
    }
    if (slot->packed < 0) continue;
    if (slots[slot->packed] != nullptr) slots[k] = slots[slot->packed];
    else if (registers[slot->size] == 0) slots[k] = nullptr;
  }
}

}  // namespace host_code

extern "C" {

// Checks the sizes `raw` of a call, and computes the registers that it keeps, the results' shapes, and the bytes of the
// arena. Returns 0, the number of a check that fails, or -1 if the runtime has to evaluate the formulas itself: one may
// overflow, or a condition of the layout fails.
int64_t shlo_plan_call(const ShloHostCode* code, const int64_t* raw, int64_t* kept, int64_t* result_dims,
                       int64_t* arena_bytes) {
  using namespace host_code;
  if (!fits(code, raw)) return -1;
  Room room;
  const size_t bytes = static_cast<size_t>(code->registers + 1) * sizeof(int64_t);
  int64_t* const registers = static_cast<int64_t*>(SHLO_ROOM(room, bytes));
  if (registers == nullptr) return -1;
  memcpy(registers, raw, static_cast<size_t>(code->given) * sizeof(int64_t));
  memcpy(registers + code->first_constant, code->constants, static_cast<size_t>(code->constant_count) * sizeof(int64_t));
  for (const int32_t *at = code->sizes, *end = at + code->size_words; at < end; at += 4)
    registers[at[1]] = value_of(at[0], registers[at[2]], registers[at[3]]);
  int64_t number = 1;
  for (const int32_t *at = code->checks, *end = at + code->check_words; at < end; at += 3, number++)
    if (!holds(at[0], registers[at[1]], registers[at[2]])) return number;
  for (int64_t k = 0; k < code->condition_count; k++)
    if (registers[code->conditions[k]] < 0) return -1;
  for (int64_t k = 0; k < code->dim_count; k++) result_dims[k] = registers[code->dims[k]];
  *arena_bytes = registers[code->arena];
  memcpy(kept, registers, static_cast<size_t>(code->kept) * sizeof(int64_t));
  return 0;
}

}  // extern "C"

namespace host_code {

// Runs a program, inlined into its callers: what `clock` does before and after each step is theirs to say.
template <class Clock>
inline __attribute__((always_inline)) int64_t run_steps(
    const ShloHostCode* code, const ShloRuntime* runtime, void* const* arguments, void* const* results,
    void* const* constants, const int64_t* registers, char* arena, ShloHostCall host_call, void* session, Clock clock) {
  if (code->reserve >= 0 && !runtime->reserve(runtime, registers[code->reserve])) return SHLO_NO_MEMORY;
  Room room;
  const size_t count = static_cast<size_t>(code->slot_words / 5), buffers = static_cast<size_t>(code->most_buffers) + 1;
  const size_t dims = static_cast<size_t>(code->most_dims) + 1, members = static_cast<size_t>(code->most_members);
  const size_t held = static_cast<size_t>(code->most_held);
  char* memory = static_cast<char*>(SHLO_ROOM(
      room, static_cast<int64_t>((count + buffers + dims) * 8 + members * sizeof(ShloMember) + held * sizeof(ShloHeld))));
  if (memory == nullptr) return SHLO_NO_MEMORY;
  Frame<Clock> frame;
  frame.runtime = runtime, frame.code = code, frame.registers = registers;
  frame.slots = reinterpret_cast<char**>(memory);
  frame.buffers = reinterpret_cast<void**>(memory + count * 8);
  frame.dims = reinterpret_cast<int64_t*>(memory + (count + buffers) * 8);
  frame.members = reinterpret_cast<ShloMember*>(memory + (count + buffers + dims) * 8);
  frame.held = reinterpret_cast<ShloHeld*>(frame.members + members);
  place_slots(code, arguments, results, constants, registers, arena, frame.slots);
  char* const* const slots = frame.slots;
  for (const int32_t* at = code->steps;;) {
    switch (*at++) {
      case kLaunch:
        clock.begin(at);
        at = frame.launch(at);
        clock.end();
        break;
      case kGroup:
        clock.begin(at);
        at = frame.group(at);
        clock.end();
        break;
      case kCopy:
        clock.begin(at);
        memcpy(slots[at[1]], slots[at[0]], static_cast<size_t>(registers[at[2]]));
        clock.end();
        at += 3;
        break;
      case kHostCall: {
        clock.begin(at);
        const int64_t number = *at++;
        frame.read_buffers(at, frame.buffers);
        frame.read_dims(at, frame.dims);
        if (!host_call(session, number, frame.buffers, frame.dims)) return SHLO_RAISED;
        clock.end();
        break;
      }
      case kJump: at = code->steps + at[0]; break;
      case kJumpIfZero: at = *slots[at[0]] == 0 ? code->steps + at[1] : at + 2; break;
      case kSwitch: {
        const int64_t last = at[2] - 1, index = read_index(slots[at[0]], at[1]);
        at = code->steps + at[3 + (index >= 0 && index < last ? index : last)];
        break;
      }
      default: return SHLO_DONE;
    }
  }
}

}  // namespace host_code

extern "C" {

// Runs a program. `registers`: those that `shlo_plan_call` kept. `host_call` and its `session`: of programs that call Python.
int64_t shlo_run_call(const ShloHostCode* code, const ShloRuntime* runtime, void* const* arguments,
                      void* const* results, void* const* constants, const int64_t* registers, char* arena,
                      ShloHostCall host_call, void* session) {
  return host_code::run_steps(code, runtime, arguments, results, constants, registers, arena, host_call, session,
                              host_code::NoClock());
}

}  // extern "C"
