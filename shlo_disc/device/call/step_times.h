// Runs a program and notes when its steps began and ended. Included by call/runtime.cc alone: calls do not use it.
#pragma once

#include "call/host_code.h"
#include "call/pool.h"

extern "C" {

struct ShloStepTime {
  int64_t position, began, ended;  // of the step in the code; nanoseconds of the monotonic clock
};

struct ShloStepTimes {
  ShloStepTime* times;
  int64_t room, count;  // the steps that ran, of which the first `room` are noted
};

}  // extern "C"

namespace host_code {

struct StepClock {
  const int32_t* first;
  ShloStepTimes* found;

  // `at`: behind the opcode.
  void begin(const int32_t* at) const {
    if (found->count >= found->room) return;
    ShloStepTime& time = found->times[found->count];
    time.position = at - first - 1;
    time.began = now();
  }

  void end() const {
    if (found->count < found->room) found->times[found->count].ended = now();
    found->count++;
  }
};

}  // namespace host_code

extern "C" {

// `shlo_run_call`, and what it takes, then the times of the steps.
int64_t shlo_run_timed(const ShloHostCode* code, const ShloRuntime* runtime, void* const* arguments,
                       void* const* results, void* const* constants, const int64_t* registers, char* arena,
                       ShloHostCall host_call, void* session, ShloStepTimes* found) {
  found->count = 0;
  return host_code::run_steps(code, runtime, arguments, results, constants, registers, arena, host_call, session,
                              host_code::StepClock{code->steps, found});
}

}  // extern "C"
