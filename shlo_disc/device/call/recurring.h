// JAX arrays that a program gets again and again, as parameters are: such an array is read once, and remembered, since
// JAX's arrays never change. Included by call/call.h alone.
//
// What is remembered is JAX's own ndarray on the array's memory. It holds the memory, also if the array is deleted, but
// not the array: that dies as if it were not remembered, and its weak reference then lets go of the memory. While there
// is such an ndarray, JAX copies the array where it is donated. So large arrays, whose reading does not matter beside
// what is computed from them, are not remembered.
#pragma once

#include <stdlib.h>

#include "call/objects.h"

namespace {

struct Remembered {
  ShloObject* array;    // not held; null: it is gone
  ShloObject* view;     // the ndarray; null: it is gone
  ShloObject* weak;     // the weak reference
  ShloObject* capsule;  // of this struct, which is freed with it: the weak reference's callback has it, too
};

}  // namespace

extern "C" {

struct ShloRecurring {     // the JAX arrays that calls pass for one argument
  Remembered* remembered;  // null: none yet
  const ShloObject* last;  // the last one that was not remembered; not held: another one may have its address by now
  int64_t times;           // calls that brought it, one after the other
  int64_t patience;        // an array is remembered after so many
  int64_t served;          // calls that brought the remembered one
};

}  // extern "C"

namespace {

constexpr int64_t kPatience = 3;
constexpr int64_t kMostPatience = 1 << 20;
constexpr int64_t kMostBytes = 1 << 20;  // of an array that is remembered
constexpr int64_t kWorthwhile = 64;  // remembering an array costs as much as reading it in some calls

void let_view_go(Remembered* it) {
  ShloObject* view = it->view;
  it->array = it->view = nullptr;
  if (view != nullptr) python.decrease(view);
}

ShloObject* array_is_gone(ShloObject* capsule, ShloObject*) {
  let_view_go(static_cast<Remembered*>(python.capsule_pointer(capsule, nullptr)));
  return one_more(python.none);
}

Method gone_method = {"array_is_gone", reinterpret_cast<void*>(array_is_gone), kOneArgument, nullptr};

void free_remembered(ShloObject* capsule) { free(python.capsule_pointer(capsule, nullptr)); }

// Remembers something else. Other threads may run while it lets go of memory.
void replace(ShloRecurring* recurring, Remembered* by) {
  Remembered* it = recurring->remembered;
  recurring->remembered = by;
  if (it == nullptr) return;
  let_view_go(it);
  python.decrease(it->weak);
  python.decrease(it->capsule);
}

// What is remembered of an array with an ndarray on its memory; null if that fails, with an error set.
Remembered* new_remembered(ShloObject* array, ShloObject* view) {
  Remembered* it = static_cast<Remembered*>(malloc(sizeof(Remembered)));
  ShloObject* capsule = it == nullptr ? nullptr : python.new_capsule(it, nullptr, free_remembered);
  if (capsule == nullptr) return free(it), nullptr;
  *it = {nullptr, nullptr, nullptr, capsule};
  ShloObject* callback = python.new_function(&gone_method, capsule, nullptr);
  if (callback != nullptr) {
    it->weak = python.new_weak_reference(array, callback);
    python.decrease(callback);
  }
  if (it->weak == nullptr) return python.decrease(capsule), nullptr;
  it->array = array;
  it->view = one_more(view);
  return it;
}

// JAX's own ndarray on an array, if it fits argument `i`; null if there is none.
ShloObject* new_view(ShloObject* array, const ShloBind* bind, int64_t i) {
  ShloObject* view = jax.to_numpy == nullptr ? nullptr : python.call(jax.to_numpy, &array, 1, nullptr);
  if (view == nullptr) return clear_error(), nullptr;
  if (type_of(view) == python.array_type && array_fits(bind, i, array_of(view))) return view;
  return python.decrease(view), nullptr;
}

// Whether an array that a call has read is to be remembered, since the last calls brought it, too. The more often that
// was in vain, the more calls it takes.
bool comes_again(ShloRecurring* recurring, ShloObject* array, int64_t bytes) {
  if (recurring->last != array) recurring->last = array, recurring->times = 0;
  if (++recurring->times < recurring->patience) return false;
  const int64_t doubled = recurring->patience < kMostPatience ? 2 * recurring->patience : kMostPatience;
  recurring->patience = recurring->served >= kWorthwhile ? kPatience : doubled;
  recurring->times = recurring->served = 0;
  // Programs may have to tell weak types apart.
  return bytes <= kMostBytes && jax.is_deleted != nullptr && !is_weak(array);
}

void remember(ShloRecurring* recurring, ShloObject* array, ShloObject* view) {
  Remembered* it = new_remembered(array, view);
  it == nullptr ? python.clear_error() : replace(recurring, it);
}

// A new reference to the ndarray on the memory of an array; null if the array is not remembered, or was deleted.
ShloObject* view_of(ShloRecurring* recurring, ShloObject* array) {
  const Remembered* it = recurring->remembered;
  if (it == nullptr || it->array != array) return nullptr;
  ShloObject* view = one_more(it->view);
  if (is_alive(array)) return recurring->served++, view;
  replace(recurring, nullptr);
  return python.decrease(view), nullptr;
}

ShloRecurring* new_recurring(int64_t count) {
  ShloRecurring* made = static_cast<ShloRecurring*>(calloc(static_cast<size_t>(count + 1), sizeof(ShloRecurring)));
  for (int64_t k = 0; made != nullptr && k < count; k++) made[k].patience = kPatience;
  return made;
}

void drop_recurring(ShloRecurring* recurring, int64_t count) {
  for (int64_t k = 0; k < count; k++) replace(&recurring[k], nullptr);
  free(recurring);
}

}  // namespace
