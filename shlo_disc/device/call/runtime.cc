// The thread pool that runs kernels, and whole calls of programs. Built once, loaded once.
#include "call/host_code.h"
#include "call/interpreter.h"
#include "call/limits.h"
#include "call/pool.h"
#include "call/step_times.h"

extern "C" {

struct ShloSize {  // axis `axis` of argument `argument` (of those that a call brings)
  int64_t argument;
  int64_t axis;
  int64_t value;  // the size, or the number of a raw symbol
};

struct ShloReading {  // the integer at byte `offset` of argument `argument` is raw symbol number `value`
  int64_t argument;
  int64_t offset;
  int64_t width;  // bytes; negative if the integer is signed
  int64_t value;
};

struct ShloBind {
  int64_t object_header;      // bytes of an object's header; its last word is the type
  int64_t tuple_header;       // bytes before the members of a tuple
  const void* array_type;
  int64_t arguments;          // that a call brings: all but the bound ones
  const int64_t* places;      // the number of each among all arguments
  const void* const* dtypes;  // one per argument that a call brings
  const int64_t* ranks;       // as many
  int64_t results;
  int64_t raw_sizes, same_sizes, fixed_sizes;
  const ShloSize* sizes;      // those that define a raw symbol, then those that repeat one, then fixed ones
  int64_t read_elements;
  const ShloReading* readings;
};

}  // extern "C"

// Whether an array can be passed as argument `i` unconverted: C-contiguous, aligned, of its dtype and rank.
static bool array_fits(const ShloBind* bind, int64_t i, const ShloArray* array) {
  constexpr int32_t kUsable = kShloContiguous | kShloAligned;
  return array->dtype == bind->dtypes[i] && array->rank == bind->ranks[i] && (array->flags & kUsable) == kUsable;
}

// Fills `raw` from the shapes and elements of the arrays of a call. False if a size does not match the program.
static bool sizes_fit(const ShloBind* bind, const int64_t* const* shapes, const char* const* data, int64_t* raw) {
  const ShloSize* size = bind->sizes;
  for (const ShloSize* end = size + bind->raw_sizes; size < end; size++)
    raw[size->value] = shapes[size->argument][size->axis];
  for (const ShloSize* end = size + bind->same_sizes; size < end; size++)
    if (shapes[size->argument][size->axis] != raw[size->value]) return false;
  for (const ShloSize* end = size + bind->fixed_sizes; size < end; size++)
    if (shapes[size->argument][size->axis] != size->value) return false;
  const ShloReading* reading = bind->readings;
  for (const ShloReading* end = reading + bind->read_elements; reading < end; reading++)
    raw[reading->value] =
        host_code::read_index(data[reading->argument] + reading->offset, static_cast<int32_t>(reading->width));
  return true;
}

extern "C" {

// Fills `pointers` and `raw` from a tuple with the arrays of a call, except for bound arguments. Returns 0, or 1 if an
// array needs conversion or does not match. The caller holds the GIL.
int64_t shlo_bind(const ShloBind* bind, const char* tuple, char** pointers, int64_t* raw) {
  const int64_t header = bind->object_header;
  const char* const* objects = reinterpret_cast<const char* const*>(tuple + bind->tuple_header);
  const size_t room = static_cast<size_t>(bind->arguments + 1) * sizeof(char*);
  const int64_t** shapes = static_cast<const int64_t**>(__builtin_alloca(room));
  const char** data = static_cast<const char**>(__builtin_alloca(room));
  for (int64_t i = 0; i < bind->arguments; i++) {
    const void* type = *reinterpret_cast<const void* const*>(objects[i] + header - sizeof(void*));
    const ShloArray* array = reinterpret_cast<const ShloArray*>(objects[i] + header);
    if (type != bind->array_type || !array_fits(bind, i, array)) return 1;
    shapes[i] = array->shape;
    data[i] = pointers[bind->places[i]] = array->data;
  }
  return sizes_fit(bind, shapes, data, raw) ? 0 : 1;
}

// Fills `pointers` from a tuple with the ndarrays for the results. The caller holds the GIL.
void shlo_locate(const ShloBind* bind, const char* tuple, char** pointers) {
  const char* const* objects = reinterpret_cast<const char* const*>(tuple + bind->tuple_header);
  for (int64_t i = 0; i < bind->results; i++)
    pointers[i] = reinterpret_cast<const ShloArray*>(objects[i] + bind->object_header)->data;
}

}  // extern "C"

#include "call/call.h"
