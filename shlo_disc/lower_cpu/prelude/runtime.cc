// The thread pool that kernels are shared out on, and the check of a call's arrays. Built once, loaded once.
#include "pool.h"

extern "C" {

// What an ndarray is after Python's object header: NumPy's documented `PyArrayObject_fields`.
struct ShloArray {
  char* data;
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides;
  const void* base;
  const void* dtype;
  int32_t flags;
};

struct ShloSize {  // axis `axis` of argument `argument` of those that a call brings ...
  int64_t argument;
  int64_t axis;
  int64_t value;  // ... has this size, or is raw symbol number `value`
};

struct ShloReading {  // the integer that begins `offset` bytes into argument `argument` is raw symbol number `value`
  int64_t argument;
  int64_t offset;
  int64_t width;  // bytes; negative if the integer has a sign
  int64_t value;
};

struct ShloBind {
  int64_t object_header;      // bytes before what is an object's own; its type is the last word of them
  int64_t tuple_header;       // bytes before the members of a tuple
  const void* array_type;
  int64_t arguments;          // that a call brings: all but those that are bound
  const int64_t* places;      // the number of each among all arguments
  const void* const* dtypes;  // one per argument that a call brings
  const int64_t* ranks;       // as many
  int64_t results;
  int64_t raw_sizes, same_sizes, fixed_sizes;
  const ShloSize* sizes;      // those that define a raw symbol, then those that repeat one, then fixed ones
  int64_t read_elements;
  const ShloReading* readings;
};

static int64_t read_integer(const char* at, int64_t width) {
  auto as = [&]<class T>(T value) { return __builtin_memcpy(&value, at, sizeof value), (int64_t)value; };
  switch (width) {
    case -1: return as(int8_t());
    case -2: return as(int16_t());
    case -4: return as(int32_t());
    case 1: return as(uint8_t());
    case 2: return as(uint16_t());
    case 4: return as(uint32_t());
    default: return as(int64_t());
  }
}

// Fills `pointers` and `raw` from a tuple with the arrays of a call. 0, or 1 if any is not what the program takes as
// it is: exactly a C-contiguous aligned ndarray of the dtype, rank and fixed sizes. What is bound stays as it is in both.
// The caller holds the GIL.
int64_t shlo_bind(const ShloBind* bind, const char* tuple, char** pointers, int64_t* raw) {
  constexpr int32_t kUsable = 0x0001 | 0x0100;  // NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED
  const int64_t header = bind->object_header;
  const char* const* objects = reinterpret_cast<const char* const*>(tuple + bind->tuple_header);
  auto array = [&](int64_t i) { return reinterpret_cast<const ShloArray*>(objects[i] + header); };
  for (int64_t i = 0; i < bind->arguments; i++) {
    const void* type = *reinterpret_cast<const void* const*>(objects[i] + header - sizeof(void*));
    if (type != bind->array_type) return 1;
    const ShloArray* it = array(i);
    if (it->dtype != bind->dtypes[i] || it->rank != bind->ranks[i] || (it->flags & kUsable) != kUsable) return 1;
    pointers[bind->places[i]] = it->data;
  }
  const ShloSize* size = bind->sizes;
  for (const ShloSize* end = size + bind->raw_sizes; size < end; size++)
    raw[size->value] = array(size->argument)->shape[size->axis];
  for (const ShloSize* end = size + bind->same_sizes; size < end; size++)
    if (array(size->argument)->shape[size->axis] != raw[size->value]) return 1;
  for (const ShloSize* end = size + bind->fixed_sizes; size < end; size++)
    if (array(size->argument)->shape[size->axis] != size->value) return 1;
  const ShloReading* reading = bind->readings;
  for (const ShloReading* end = reading + bind->read_elements; reading < end; reading++)
    raw[reading->value] = read_integer(array(reading->argument)->data + reading->offset, reading->width);
  return 0;
}

// Fills `pointers` from a tuple with the ndarrays that the results go to. The caller holds the GIL.
void shlo_locate(const ShloBind* bind, const char* tuple, char** pointers) {
  const char* const* objects = reinterpret_cast<const char* const*>(tuple + bind->tuple_header);
  for (int64_t i = 0; i < bind->results; i++)
    pointers[i] = reinterpret_cast<const ShloArray*>(objects[i] + bind->object_header)->data;
}

}  // extern "C"
