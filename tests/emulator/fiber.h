// Stacks that take turns on one processor.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__

struct Context {
  void* stack;
};

extern "C" void emu_switch(void** save, void* load);
asm(R"(
.text
.globl emu_switch
.type emu_switch, @function
emu_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size emu_switch, .-emu_switch
)");

inline void switch_context(Context& from, Context& to) { emu_switch(&from.stack, to.stack); }

// A context that begins with `entry`, which never returns. At its first instruction the stack is as after a call.
inline void prepare_context(Context& context, char* stack, size_t size, void (*entry)()) {
  void** top = (void**)((uintptr_t)(stack + size) & ~(uintptr_t)63);
  *--top = nullptr;
  *--top = (void*)entry;
  for (int k = 0; k < 6; ++k) *--top = nullptr;  // what emu_switch pops
  context.stack = top;
}

#else

#include <ucontext.h>

struct Context {
  ucontext_t state;
};

inline void switch_context(Context& from, Context& to) { swapcontext(&from.state, &to.state); }

inline void prepare_context(Context& context, char* stack, size_t size, void (*entry)()) {
  getcontext(&context.state);
  context.state.uc_stack.ss_sp = stack;
  context.state.uc_stack.ss_size = size;
  context.state.uc_link = nullptr;
  makecontext(&context.state, entry, 0);
}

#endif
