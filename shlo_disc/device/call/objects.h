// Objects of Python and JAX as C sees them. Included by call/call.h and what it includes.
#pragma once

#include "call/interpreter.h"

extern "C" {

// `put(*given)` makes a JAX array. `given`: its arguments, of which the first is the type of the array and the third a
// list with an ndarray; the first `positional` ones, then those that `keywords` name (null: none). `strong`, `alive`:
// what `array.weak_type` is for ordinary types, and `is_deleted(array)` for arrays with memory. `is_deleted`,
// `to_numpy` and `remove` are methods of the type; null if it lacks them.
struct ShloJax {
  static constexpr int kMost = 8;
  ShloObject *array_type, *put, *given[kMost];
  int64_t positional;
  ShloObject *keywords, *weak_type, *strong, *is_deleted, *alive, *to_numpy, *remove;
};

}  // extern "C"

namespace {

ShloInterpreter python;
ShloJax jax;

struct Method {  // PyMethodDef
  const char* name;
  void* function;
  int32_t flags;
  const char* doc;
};

constexpr int32_t kOneArgument = 0x0008;       // METH_O
constexpr int32_t kSeveralArguments = 0x0080;  // METH_FASTCALL
constexpr int32_t kKeywords = 0x0002;          // METH_KEYWORDS

const void* type_of(const ShloObject* object) {
  const char* own = reinterpret_cast<const char*>(object) + python.object_header;
  return *reinterpret_cast<const void* const*>(own - sizeof(void*));
}

ShloObject* one_more(ShloObject* object) { return python.increase(object), object; }

ShloArray* array_of(ShloObject* object) {
  return reinterpret_cast<ShloArray*>(reinterpret_cast<char*>(object) + python.object_header);
}

ShloObject* const* members_of(ShloObject* tuple) {
  return reinterpret_cast<ShloObject* const*>(reinterpret_cast<char*>(tuple) + python.tuple_header);
}

int64_t length_of(ShloObject* tuple) {  // ob_size, the first word after the object header
  return *reinterpret_cast<const int64_t*>(reinterpret_cast<char*>(tuple) + python.object_header);
}

void let_go(ShloObject** objects, int64_t count) {
  for (int64_t k = 0; k < count; k++) python.decrease(objects[k]);
}

// Forgets an error of what Python ran, but no interrupt by the user: that is raised when Python goes on.
void clear_error() {
  const bool is_interrupt = python.error() != nullptr && python.error_is(python.interrupt) != 0;
  python.clear_error();
  if (is_interrupt) python.set_interrupt();
}

// Whether JAX lets the array's type give way to others in arithmetic, as that of a Python number.
bool is_weak(ShloObject* array) {
  ShloObject* found = python.get_attribute(array, jax.weak_type);
  if (found == nullptr) return python.clear_error(), true;  // not known: Python decides
  python.decrease(found);  // True or False, which live on
  return found != jax.strong;
}

// Whether a JAX array still has its memory.
bool is_alive(ShloObject* array) {
  ShloObject* found = python.call(jax.is_deleted, &array, 1, nullptr);
  if (found == nullptr) return python.clear_error(), false;
  python.decrease(found);
  return found == jax.alive;
}

}  // namespace
