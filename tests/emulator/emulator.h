// What compiled kernels and the emulator know of each other.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct uint3 {
  unsigned x, y, z;
};
typedef uint3 dim3;

struct EmuThread {
  uint3 index;
  unsigned lane, warp;  // in its warp, in its block
};

// A place in the text where threads wait for each other. Every textual occurrence, and every instantiation of a
// template, has one of its own.
struct EmuSite {
  const char* file;
  int line;
  const char* what;
};

// A `SHLO_SHARED` array: where it is in the block that asked for it last.
struct EmuShared {
  EmuSite site;
  uint64_t block;
  void* start;
};

struct EmuParam {
  unsigned size;
  bool is_pointer;
};

// What stands for a CUfunction: `call` takes the address of each argument, as cuLaunchKernel does.
struct EmuKernel {
  const char* name;
  void (*call)(void** params);
  unsigned count;
  const EmuParam* params;
  unsigned most_threads;  // of __launch_bounds__
};

enum { EMU_FIFO, EMU_LIFO, EMU_RANDOM };
enum { EMU_PLAIN, EMU_COUNT, EMU_AND, EMU_OR };  // what a block's barrier computes of its predicates

// How a launch runs. `ordered`: a block sees what earlier blocks wrote, as far as the race checker is concerned.
// `skipped`: the barrier to leave out: the address that its call returns to, 0 for none.
struct EmuSettings {
  int schedule;
  int ordered;
  uint64_t seed;
  uint64_t skipped;
  double seconds;      // of CPU time that a launch may take
  unsigned most_blocks;  // run only the first and the last blocks; 0 runs all
};

extern "C" {
extern EmuThread* emu_thread;
extern uint3 emu_block;
extern dim3 emu_block_size, emu_grid_size;
extern uint64_t emu_block_number;  // counts the blocks that ran, from 1

// For kernels.
int emu_barrier(const EmuSite* site, int operation, int predicate);
void emu_warp_barrier(const EmuSite* site, unsigned mask);
void emu_exchange_at(const EmuSite* site, const void* mine, unsigned bytes, unsigned mask);
const void* emu_peer(unsigned lane);
void emu_exchanged(const EmuSite* site, unsigned mask);
unsigned emu_ballot(const EmuSite* site, unsigned mask, int predicate);
void* emu_shared_array(EmuShared* array, size_t bytes);
void* emu_dynamic(void);

// For hosts. `emu_run` returns 0 or a CUresult; `emu_error` says what happened.
int emu_run(const EmuKernel* kernel, dim3 grid, dim3 block, size_t shared, void** params, const EmuSettings* settings);
int emu_refuse(int code, const char* format, ...);
const char* emu_error(void);
// The barriers that ran in the last launch: a line "offset file:line what" for each; the offset is that of the address that
// its call returns to, in its library.
const char* emu_barriers(void);
}
