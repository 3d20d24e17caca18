// A call whose results are arrays that XLA makes: between the runtime library, which calls, and what XLA runs.
#pragma once

#include <stdint.h>

extern "C" {

struct ShloFilling {
  int64_t (*fill)(ShloFilling*, void* const* results);  // runs the program; a ShloEnd
  int64_t results;
  const int64_t* bytes;  // of each result
  const int64_t* ranks;  // of each; null if the call writes none
  const int64_t* dims;   // of all, concatenated
  int64_t end;           // how the run ended
  int64_t is_filled;     // XLA has run it
};

}  // extern "C"
