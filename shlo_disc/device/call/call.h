// A whole call in one crossing from Python: check the arrays, find the plan for their sizes, allocate, run, return.
// Arguments that do not match the program are left to Python, which converts them or raises. Included by
// call/runtime.cc alone.
#pragma once

#include <string.h>

#include "call/filling.h"
#include "call/memory.h"
#include "call/objects.h"
#include "call/pool.h"
#include "call/recurring.h"

extern "C" {

struct ShloPlan {  // what depends on the sizes of the arguments alone; see `CallPlan` in runtime/driver.py
  ShloPlan* next;  // in the same bucket
  ShloObject* owner;  // keeps everything pointed to below alive
  const int64_t* raw;
  const int64_t* registers;  // of the host code
  const int64_t* dims;  // of all results, concatenated
  const int64_t* bytes;  // of each result
  int64_t arena_bytes;
  ShloObject* const* avals;  // JAX's types of the results; null: no call has passed a JAX array yet
  int64_t timed;  // number of timed calls
  int64_t nanoseconds;  // the shortest of them
  int64_t made;         // JAX arrays that calls have returned, until XLA makes them
  ShloObject* maker;    // a function by which XLA makes all results at once; null: each is made on its own
  int64_t spent;        // number of arguments in `spends`; -1: not known yet
  int64_t* spends;      // donated arguments whose memory results could have had
};

struct ShloTree {  // a node of a pytree, in preorder
  int64_t kind;  // ShloTreeKind
  int64_t children;
  ShloObject* const* keys;  // of a dict
};

enum ShloTreeKind : int64_t { kLeaf, kTuple, kList, kDict, kNone };

struct ShloDonation {  // an argument whose memory a call overwrites; runtime/donation.py says when it is copied first
  int64_t place;     // among the arguments that a call brings
  int64_t argument;  // among all
  int64_t result;    // the result that ends up in this memory, or -1
};

constexpr int64_t kBuckets = 1024;

struct ShloEntry {
  const ShloBind* bind;
  char* const* addresses;  // of bound arguments and of packed operands
  const int64_t* raw;      // raw symbols that bound arguments define
  int64_t arguments;       // all arguments, and all operands that may be packed
  int64_t raw_count;
  const char* const* formats;  // buffer-protocol format of each argument that a call brings; null: not by buffer
  int64_t results;
  ShloObject* const* dtypes;  // of the results
  const int64_t* ranks;
  const ShloHostCode* code;
  const ShloRuntime* runtime;
  void* const* constants;
  int64_t donations;
  const ShloDonation* donated;
  const int64_t* donation_of;  // each result: the number of its donation, or -1
  const int64_t* items;        // bytes of an element of each argument that a call brings
  const int64_t* bound_bytes;  // of each argument; 0 if it is not bound
  int64_t is_steady;  // the time of a call depends on its sizes alone
  int64_t of_jax;     // results are JAX arrays even if no argument is
  int64_t no_weak;    // calls with JAX arrays of weak types are left to Python
  ShloObject* prepare_maker;  // takes the owner of a plan, and gives the plan a maker; null: plans get none
  // Null unless the program calls Python functions, by `host_call`. `begin`: takes the owners of the call's memory and
  // returns its session. `fail`: raises the error that ended a session.
  ShloHostCall host_call;
  ShloObject *begin, *fail;
  int64_t* calls;         // number of calls served
  ShloRecurring* recurring;  // of each argument that a call brings
  int64_t donated_count;    // arguments, among those that a call brings, that callers of `spending` functions donate
  const int64_t* donated_arguments;
  ShloPlan** buckets;  // kBuckets
};

struct ShloSignature {  // how the pytrees of a call map to arguments
  const ShloTree* in;   // the positional arguments, a tuple
  const int64_t* places;  // of each leaf: its argument number, or -1 if the program does not take it
  int64_t nested;         // some argument is not a leaf
  const ShloTree* out;
  int64_t spending;  // a call deletes JAX arrays that are donated, as `jax.jit` does, if results could have their memory
};

}  // extern "C"

namespace {

constexpr int64_t kTimedCalls = 8;
constexpr int64_t kBrief = 5000;  // nanoseconds: shorter calls do not release the GIL
constexpr int32_t kFormatAndShape = 0x0004 | 0x0008;  // PyBUF_FORMAT | PyBUF_ND: contiguous

enum Outcome { kDone, kUnfit, kUnplanned, kFailed };

// --- one call -------------------------------------------------------------------------------------------------------

// The state of a call. Its arrays are allocated on the caller's stack.
struct Call {
  const ShloEntry* entry;
  ShloObject* const* given;  // the arrays
  char** pointers;           // of all arguments
  const char** data;         // of each array
  const int64_t** shapes;
  int64_t* raw;
  ShloBuffer* buffers;       // of JAX arrays
  int64_t buffers_held;
  ShloObject** views;        // ndarrays on other JAX arrays: those that are remembered, or have no buffers
  int64_t views_held;
  bool spending;             // see ShloSignature
};

// Blocks until JAX has computed the array; holding the buffer keeps it alive, even if it is deleted or donated.
bool read_buffer(Call& call, int64_t i) {
  const char* format = call.entry->formats[i];
  ShloBuffer* buffer = &call.buffers[call.buffers_held];
  if (call.entry->no_weak != 0 && is_weak(call.given[i])) return false;
  if (python.get_buffer(call.given[i], buffer, kFormatAndShape) != 0) return python.clear_error(), false;
  call.buffers_held++;
  call.data[i] = static_cast<char*>(buffer->data);
  call.shapes[i] = buffer->shape;
  const char* found = buffer->format + (buffer->format[0] == '=' ? 1 : 0);  // standard sizes, the machine's byte order
  if (buffer->rank != call.entry->bind->ranks[i] || strcmp(found, format) != 0) return false;
  ShloRecurring* recurring = &call.entry->recurring[i];
  if (!comes_again(recurring, call.given[i], buffer->bytes)) return true;
  ShloObject* view = new_view(call.given[i], call.entry->bind, i);
  if (view != nullptr && array_of(view)->data == buffer->data) remember(recurring, call.given[i], view);
  if (view != nullptr) python.decrease(view);
  return true;
}

void hold_view(Call& call, int64_t i, ShloObject* view) {
  call.views[call.views_held++] = view;
  call.data[i] = array_of(view)->data;
  call.shapes[i] = array_of(view)->shape;
}

// An array whose type has no format of buffers, such as bfloat16.
bool read_view(Call& call, int64_t i) {
  if (call.entry->no_weak != 0 && is_weak(call.given[i])) return false;
  ShloObject* view = new_view(call.given[i], call.entry->bind, i);
  if (view == nullptr) return false;
  hold_view(call, i, view);
  int64_t bytes = call.entry->items[i];
  for (int64_t axis = 0; axis < call.entry->bind->ranks[i]; axis++) bytes *= call.shapes[i][axis];
  ShloRecurring* recurring = &call.entry->recurring[i];
  if (comes_again(recurring, call.given[i], bytes)) remember(recurring, call.given[i], view);
  return true;
}

bool read_jax(Call& call, int64_t i) {
  ShloObject* view = view_of(&call.entry->recurring[i], call.given[i]);
  if (view != nullptr) return hold_view(call, i, view), true;
  return call.entry->formats[i] == nullptr ? read_view(call, i) : read_buffer(call, i);
}

bool read_array(Call& call, int64_t i) {
  const ShloBind* bind = call.entry->bind;
  const void* type = type_of(call.given[i]);
  // Arrays of a host call may outlive the call, but its buffers are released when it ends.
  if (type != python.array_type)
    return type == jax.array_type && call.entry->host_call == nullptr && read_jax(call, i);
  const ShloArray* array = array_of(call.given[i]);
  call.data[i] = array->data;
  call.shapes[i] = array->shape;
  return array_fits(bind, i, array);
}

ShloPlan** bucket_of(const ShloEntry* entry, const int64_t* raw) {
  uint64_t hash = 0;
  for (int64_t k = 0; k < entry->raw_count; k++)
    hash = (hash ^ static_cast<uint64_t>(raw[k])) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 32;
  return &entry->buckets[hash % kBuckets];
}

ShloPlan* plan_of(const ShloEntry* entry, const int64_t* raw) {
  const size_t bytes = static_cast<size_t>(entry->raw_count) * sizeof(int64_t);
  ShloPlan* plan = *bucket_of(entry, raw);
  while (plan != nullptr && memcmp(plan->raw, raw, bytes) != 0) plan = plan->next;
  return plan;
}

template <void (*give)(Cell*)>
void destroy(ShloObject* capsule) {
  give(static_cast<Cell*>(python.capsule_pointer(capsule, nullptr)));
}

// Result number `k`, an ndarray on memory that `base` owns; takes over the reference to `base`.
ShloObject* new_result(const ShloEntry* entry, int64_t k, const int64_t* dims, char* data, ShloObject* base) {
  if (base == nullptr) return nullptr;
  python.increase(entry->dtypes[k]);
  ShloObject* array =
      python.new_array(python.array_type, entry->dtypes[k], static_cast<int32_t>(entry->ranks[k]), dims, nullptr, data,
                       kShloContiguous | kShloAligned | kShloWriteable, nullptr);
  if (array == nullptr) return python.decrease(base), nullptr;
  if (python.set_base(array, base) != 0) return python.decrease(array), nullptr;
  return array;
}

// Raises MemoryError. Returns null.
ShloObject* no_memory(const char* what, int64_t number, int64_t bytes) {
  return python.raise(python.memory_error, "no memory for %s %lld of this call: %lld bytes", what,
                      static_cast<long long>(number), static_cast<long long>(bytes));
}

ShloObject* no_arena(const ShloPlan* plan) {
  return python.raise(python.memory_error, "no memory for the temporaries of this call: %lld bytes",
                      static_cast<long long>(plan->arena_bytes));
}

ShloObject* no_scratch() {
  return python.raise(python.memory_error,
                      "no memory for what the calling thread needs for itself while it computes\n"
                      "  help: call with smaller sizes");
}

// A capsule that returns the cell to its shelf when its last reference is dropped.
template <void (*give)(Cell*) = give_back>
ShloObject* owner_of(Cell* cell) {
  ShloObject* capsule = python.new_capsule(cell, nullptr, destroy<give>);
  if (capsule == nullptr) give(cell);
  return capsule;
}

// Creates the result arrays: on new memory, in a donated argument, or in its copy, whose ownership they take over.
bool new_results(const Call& call, const ShloPlan* plan, Cell** copies, ShloObject** results, void** pointers) {
  const ShloEntry* entry = call.entry;
  const int64_t* dims = plan->dims;
  for (int64_t k = 0; k < entry->results; dims += entry->ranks[k++]) {
    const int64_t donation = entry->donations ? entry->donation_of[k] : -1;
    if (donation >= 0 && copies[donation] == nullptr) {
      const ShloDonation& taken = entry->donated[donation];
      results[k] = new_result(entry, k, dims, call.pointers[taken.argument], one_more(call.given[taken.place]));
    } else {
      Cell* cell = donation >= 0 ? copies[donation] : take(plan->bytes[k]);
      if (donation >= 0) copies[donation] = nullptr;
      results[k] = cell == nullptr ? no_memory("result", k, plan->bytes[k])
                                   : new_result(entry, k, dims, cell->data, owner_of(cell));
    }
    if (results[k] == nullptr) return let_go(results, k), false;
    pointers[k] = array_of(results[k])->data;
  }
  return true;
}

// Whether an argument overlaps no other one, so that overwriting it is safe.
bool is_apart(const ShloEntry* entry, char* const* pointers, const int64_t* bytes, int64_t argument) {
  bool apart = true;
  for (int64_t k = 0; k < entry->arguments; k++)
    apart &= k == argument || pointers[k] + bytes[k] <= pointers[argument] ||
             pointers[argument] + bytes[argument] <= pointers[k];
  return apart;
}

// Copies those donated arguments that must not be overwritten in place. Out of memory: raises and returns false.
bool take_donated(Call& call, Cell** copies) {
  const ShloEntry* entry = call.entry;
  const ShloBind* bind = entry->bind;
  const size_t room = static_cast<size_t>(entry->arguments) * sizeof(int64_t);
  int64_t* bytes = static_cast<int64_t*>(__builtin_alloca(room));
  char** pointers = static_cast<char**>(__builtin_alloca(room));
  memcpy(bytes, entry->bound_bytes, room);
  memcpy(pointers, call.pointers, room);
  for (int64_t i = 0; i < bind->arguments; i++) {
    int64_t size = entry->items[i];
    for (int64_t axis = 0; axis < bind->ranks[i]; axis++) size *= call.shapes[i][axis];
    bytes[bind->places[i]] = size;
  }
  for (int64_t k = 0; k < entry->donations; k++) {
    const ShloDonation& donation = entry->donated[k];
    char* data = pointers[donation.argument];
    const bool is_own = type_of(call.given[donation.place]) == python.array_type &&
                        (array_of(call.given[donation.place])->flags & kShloWriteable) != 0 &&
                        reinterpret_cast<uintptr_t>(data) % 16 == 0 &&
                        is_apart(entry, pointers, bytes, donation.argument);
    if (is_own) continue;
    copies[k] = take(bytes[donation.argument]);
    if (copies[k] == nullptr) return no_memory("a copy of argument", donation.argument, bytes[donation.argument]), false;
    memcpy(copies[k]->data, data, static_cast<size_t>(bytes[donation.argument]));
    call.pointers[donation.argument] = copies[k]->data;
  }
  return true;
}

// Wraps the results in JAX arrays, without copies.
bool give_to_jax(const ShloEntry* entry, const ShloPlan* plan, ShloObject** results) {
  ShloObject* given[ShloJax::kMost];
  memcpy(given, jax.given, sizeof given);
  for (int64_t k = 0; k < entry->results; k++) {
    ShloObject* list = python.new_list(1);
    if (list == nullptr) return false;
    python.increase(results[k]);
    python.set_in_list(list, 0, results[k]);
    given[0] = plan->avals[k], given[2] = list;
    ShloObject* array = python.call(jax.put, given, static_cast<size_t>(jax.positional), jax.keywords);
    python.decrease(list);
    if (array == nullptr) return false;
    python.decrease(results[k]);
    results[k] = array;
  }
  return true;
}

// Runs the program. Releases the GIL, unless calls of these sizes were measured to take less than kBrief.
int64_t run_program(const ShloEntry* entry, ShloPlan* plan, char* const* pointers, void* const* results, char* arena) {
  auto run = [&] {
    return shlo_run_call(entry->code, entry->runtime, reinterpret_cast<void* const*>(pointers), results, entry->constants,
                    plan->registers, arena, nullptr, nullptr);
  };
  if (plan->timed >= kTimedCalls && plan->nanoseconds < kBrief) return run();
  void* thread = python.save_thread();
  const int64_t start = now();
  const int64_t end = run();
  const int64_t took = now() - start;
  python.restore_thread(thread);
  if (end != SHLO_DONE || !entry->is_steady || plan->timed >= kTimedCalls) return end;
  plan->nanoseconds = plan->timed++ == 0 || took < plan->nanoseconds ? took : plan->nanoseconds;
  return end;
}

// --- donated arrays that a call deletes ------------------------------------------------------------------------------

// Finds which donated arguments could give their memory to a result of the same type, each to another one.
void find_spent(const Call& call, ShloPlan* plan) {
  const ShloEntry* entry = call.entry;
  const ShloBind* bind = entry->bind;
  bool* is_taken = static_cast<bool*>(memset(__builtin_alloca(static_cast<size_t>(entry->results + 1)), 0,
                                             static_cast<size_t>(entry->results + 1)));
  plan->spent = 0;
  for (int64_t d = 0; d < entry->donated_count; d++) {
    const int64_t i = entry->donated_arguments[d];
    const int64_t* dims = plan->dims;
    for (int64_t k = 0; k < entry->results; dims += entry->ranks[k++]) {
      const size_t bytes = static_cast<size_t>(entry->ranks[k]) * sizeof(int64_t);
      if (is_taken[k] || entry->dtypes[k] != bind->dtypes[i] || entry->ranks[k] != bind->ranks[i] ||
          memcmp(dims, call.shapes[i], bytes) != 0)
        continue;
      is_taken[k] = true;
      plan->spends[plan->spent++] = i;
      break;
    }
  }
}

void delete_spent(const Call& call, ShloPlan* plan) {
  if (plan->spent < 0) find_spent(call, plan);
  for (int64_t k = 0; k < plan->spent; k++) {
    ShloObject* array = call.given[plan->spends[k]];
    if (type_of(array) != jax.array_type) continue;
    ShloObject* found = python.call(jax.remove, &array, 1, nullptr);
    found == nullptr ? python.clear_error() : python.decrease(found);
  }
}

// --- results that XLA makes: it takes half of the time for each of many ---------------------------------------------

void (*begin_filling)(ShloFilling*);  // of xla_handler.cc; null as long as there is no maker

struct Filling : ShloFilling {
  const ShloEntry* entry;
  const ShloPlan* plan;
  char* const* pointers;
  char* arena;
};

int64_t fill(ShloFilling* filling, void* const* results) {
  const Filling* it = static_cast<Filling*>(filling);
  return shlo_run_call(it->entry->code, it->entry->runtime, reinterpret_cast<void* const*>(it->pointers), results,
                  it->entry->constants, it->plan->registers, it->arena, nullptr, nullptr);
}

// Calls a maker, which runs the call in this thread and returns a tuple of the results. False, with an error set or not,
// if it does anything else.
bool make(Filling& it, ShloObject* maker, ShloObject** results) {
  begin_filling(&it);
  ShloObject* found = python.call(maker, nullptr, 0, nullptr);
  begin_filling(nullptr);
  if (found == nullptr) return false;
  const bool is_made = it.is_filled && it.end == SHLO_DONE && type_of(found) == python.tuple_type &&
                       length_of(found) == it.results;
  for (int64_t k = 0; is_made && k < it.results; k++) results[k] = one_more(members_of(found)[k]);
  python.decrease(found);
  return is_made;
}

// Runs the program while XLA makes its results. kUnfit if XLA cannot: then this plan does so no more.
Outcome run_in_xla(const Call& call, ShloPlan* plan, ShloObject** results) {
  Cell* arena = take_arena(plan->arena_bytes);
  if (arena == nullptr) return no_arena(plan), kFailed;
  const ShloEntry* entry = call.entry;
  Filling it = {{fill, entry->results, plan->bytes, entry->ranks, plan->dims, SHLO_DONE, 0},
                entry, plan, call.pointers, arena->data};
  const bool is_made = make(it, plan->maker, results);
  give_back_arena(arena);
  if (is_made) return kDone;
  plan->maker = nullptr;
  if (python.error() == nullptr) return kUnfit;
  if (!python.error_is(python.runtime_error)) return kFailed;  // an interrupt, or what JAX found in the results
  return python.clear_error(), kUnfit;
}

// How many arrays calls have to return until a maker pays, for which XLA needs 35 ms, and 0.25 ms for each result: it
// saves 2 us for each array.
int64_t worth_a_maker(const ShloEntry* entry) { return 20000 + 128 * entry->results; }

// Lets a plan have a maker when its calls have returned many arrays. False if that raised an error.
bool count_made(const ShloEntry* entry, ShloPlan* plan) {
  if (entry->prepare_maker == nullptr || plan->made >= worth_a_maker(entry)) return true;
  plan->made += entry->results;
  if (plan->made < worth_a_maker(entry)) return true;
  ShloObject* found = python.call(entry->prepare_maker, &plan->owner, 1, nullptr);
  if (found != nullptr) python.decrease(found);
  return found != nullptr;
}

// Keeps the memory of a call alive: its arguments and results, and capsules of copies that no result has taken over.
ShloObject* keeper_of(const Call& call, Cell** copies, ShloObject* const* results) {
  const ShloEntry* entry = call.entry;
  const int64_t given = entry->bind->arguments;
  ShloObject* tuple = python.new_tuple(given + entry->results + entry->donations);
  if (tuple == nullptr) return nullptr;
  for (int64_t i = 0; i < given; i++) python.set_in_tuple(tuple, i, one_more(call.given[i]));
  for (int64_t k = 0; k < entry->results; k++) python.set_in_tuple(tuple, given + k, one_more(results[k]));
  for (int64_t k = 0; k < entry->donations; k++) {
    ShloObject* copy = copies[k] == nullptr ? one_more(python.none) : owner_of(copies[k]);
    copies[k] = nullptr;
    if (copy == nullptr) return python.decrease(tuple), nullptr;
    python.set_in_tuple(tuple, given + entry->results + k, copy);
  }
  return tuple;
}

// Runs a program that calls Python functions. These may keep arrays on any memory of the call.
Outcome run_calling(Call& call, ShloPlan* plan, Cell** copies, void* const* pointers, ShloObject* const* results) {
  const ShloEntry* entry = call.entry;
  Cell* cell = take_arena(plan->arena_bytes);
  if (cell == nullptr) return no_arena(plan), kFailed;
  ShloObject* const kept[] = {owner_of<give_back_arena>(cell), keeper_of(call, copies, results)};
  ShloObject* session = kept[0] == nullptr || kept[1] == nullptr ? nullptr : python.call(entry->begin, kept, 2, nullptr);
  for (ShloObject* one : kept)
    if (one != nullptr) python.decrease(one);
  if (session == nullptr) return kFailed;
  void* thread = python.save_thread();
  const int64_t end = shlo_run_call(entry->code, entry->runtime, reinterpret_cast<void* const*>(call.pointers), pointers,
                               entry->constants, plan->registers, cell->data, entry->host_call, session);
  python.restore_thread(thread);
  if (end == SHLO_RAISED) python.call(entry->fail, &session, 1, nullptr);
  if (end == SHLO_NO_MEMORY) no_scratch();
  python.decrease(session);
  return end == SHLO_DONE ? kDone : kFailed;
}

// Allocates, runs the program, and frees what the results do not own.
Outcome run_planned(Call& call, ShloPlan* plan, Cell** copies, ShloObject** results) {
  const ShloEntry* entry = call.entry;
  void** pointers = static_cast<void**>(__builtin_alloca(static_cast<size_t>(entry->results + 1) * sizeof(void*)));
  if (entry->donations && !take_donated(call, copies)) return kFailed;
  if (!new_results(call, plan, copies, results, pointers)) return kFailed;
  if (entry->host_call != nullptr) {
    const Outcome outcome = run_calling(call, plan, copies, pointers, results);
    if (outcome != kDone) let_go(results, entry->results);
    return outcome;
  }
  Cell* arena = take_arena(plan->arena_bytes);
  if (arena == nullptr) return let_go(results, entry->results), no_arena(plan), kFailed;
  const int64_t end = run_program(entry, plan, call.pointers, pointers, arena->data);
  give_back_arena(arena);
  if (end == SHLO_DONE) return kDone;
  return let_go(results, entry->results), no_scratch(), kFailed;
}

// Allocates, runs the program, and gives JAX each result if it is to be of JAX.
Outcome run_alone(Call& call, ShloPlan* plan, bool of_jax, ShloObject** results) {
  const ShloEntry* entry = call.entry;
  const size_t room = static_cast<size_t>(entry->donations + 1) * sizeof(Cell*);
  Cell** copies = static_cast<Cell**>(memset(__builtin_alloca(room), 0, room));
  const Outcome outcome = run_planned(call, plan, copies, results);
  for (int64_t k = 0; k < entry->donations; k++)
    if (copies[k] != nullptr) give_back(copies[k]);
  if (outcome != kDone || !of_jax) return outcome;
  if (give_to_jax(entry, plan, results) && count_made(entry, plan)) return kDone;
  return let_go(results, entry->results), kFailed;
}

Outcome run_bound(Call& call, bool of_jax, ShloObject** results) {
  const ShloEntry* entry = call.entry;
  ShloPlan* plan = plan_of(entry, call.raw);
  if (plan == nullptr || (of_jax && plan->avals == nullptr)) return kUnplanned;
  ShloObject* owner = one_more(plan->owner);  // the plan may be dropped while other threads run
  Outcome outcome = of_jax && plan->maker != nullptr ? run_in_xla(call, plan, results) : kUnfit;
  if (outcome == kUnfit) outcome = run_alone(call, plan, of_jax, results);
  if (outcome == kDone && call.spending) delete_spent(call, plan);
  python.decrease(owner);
  return outcome;
}

// Runs the program on the arrays of a call; `results` are new references. `mirrors`: JAX arguments give JAX results.
// `spending`: see ShloSignature.
Outcome run_entry(const ShloEntry* entry, ShloObject* const* given, bool mirrors, bool spending, ShloObject** results) {
  const ShloBind* bind = entry->bind;
  auto room = [](int64_t count, size_t bytes) { return static_cast<size_t>(count + 1) * bytes; };
  Call call = {entry, given, nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr, 0, spending};
  call.pointers = static_cast<char**>(__builtin_alloca(room(entry->arguments, sizeof(char*))));
  call.data = static_cast<const char**>(__builtin_alloca(room(bind->arguments, sizeof(char*))));
  call.shapes = static_cast<const int64_t**>(__builtin_alloca(room(bind->arguments, sizeof(int64_t*))));
  call.raw = static_cast<int64_t*>(__builtin_alloca(room(entry->raw_count, sizeof(int64_t))));
  bool fits = true;
  int64_t of_jax = 0;
  for (int64_t i = 0; i < bind->arguments; i++) of_jax += type_of(given[i]) == jax.array_type;
  call.buffers = static_cast<ShloBuffer*>(__builtin_alloca(room(of_jax, sizeof(ShloBuffer))));
  call.views = static_cast<ShloObject**>(__builtin_alloca(room(of_jax, sizeof(ShloObject*))));
  for (int64_t i = 0; fits && i < bind->arguments; i++) fits = read_array(call, i);
  Outcome outcome = kUnfit;
  if (fits) {
    memcpy(call.pointers, entry->addresses, static_cast<size_t>(entry->arguments) * sizeof(char*));
    memcpy(call.raw, entry->raw, static_cast<size_t>(entry->raw_count) * sizeof(int64_t));
    for (int64_t i = 0; i < bind->arguments; i++) call.pointers[bind->places[i]] = const_cast<char*>(call.data[i]);
    if (sizes_fit(bind, call.shapes, call.data, call.raw))
      outcome = run_bound(call, mirrors && (of_jax > 0 || entry->of_jax), results);
  }
  for (int64_t k = 0; k < call.buffers_held; k++) python.release_buffer(&call.buffers[k]);
  let_go(call.views, call.views_held);
  *entry->calls += outcome == kDone;
  return outcome;
}

// --- pytrees --------------------------------------------------------------------------------------------------------

// Stores the leaves that the program takes in `given`; `leaf` counts all leaves. False if the structure differs.
bool flatten(const ShloSignature* signature, const ShloTree*& node, ShloObject* object, int64_t& leaf,
             ShloObject** given) {
  const ShloTree* self = node++;
  if (object == nullptr) return false;
  if (self->kind == kLeaf) {
    const int64_t place = signature->places[leaf++];
    if (place >= 0) given[place] = object;
    return true;
  }
  if (self->kind == kNone) return object == python.none;
  const void* type = type_of(object);
  const bool is_tuple = self->kind == kTuple, is_list = self->kind == kList;
  if (type != (is_tuple ? python.tuple_type : is_list ? python.list_type : python.dict_type)) return false;
  const int64_t length =
      is_tuple ? length_of(object) : is_list ? python.length_of_list(object) : python.length_of_dict(object);
  if (length != self->children) return false;
  for (int64_t k = 0; k < length; k++) {
    ShloObject* child = is_tuple  ? members_of(object)[k]
                        : is_list ? python.borrow_from_list(object, k)
                                  : python.borrow_from_dict(object, self->keys[k]);
    if (!flatten(signature, node, child, leaf, given)) return false;
  }
  return true;
}

// Builds the object that a tree describes. Steals the references to the leaves, also on failure.
ShloObject* unflatten(const ShloTree*& node, ShloObject**& leaf) {
  const ShloTree* self = node++;
  if (self->kind == kLeaf) return *leaf++;
  if (self->kind == kNone) return one_more(python.none);
  const bool is_tuple = self->kind == kTuple, is_list = self->kind == kList;
  ShloObject* made = is_tuple  ? python.new_tuple(self->children)
                     : is_list ? python.new_list(self->children)
                               : python.new_dict();
  for (int64_t k = 0; k < self->children; k++) {
    ShloObject* child = unflatten(node, leaf);
    if (made == nullptr || child == nullptr) {
      if (child != nullptr) python.decrease(child);
      if (made != nullptr) python.decrease(made);
      made = nullptr;
    } else if (is_tuple) {
      python.set_in_tuple(made, k, child);
    } else if (is_list) {
      python.set_in_list(made, k, child);
    } else {
      if (python.set_in_dict(made, self->keys[k], child) != 0) python.decrease(made), made = nullptr;
      python.decrease(child);
    }
  }
  return made;
}

// --- what Python calls ----------------------------------------------------------------------------------------------

struct Callable {
  const ShloEntry* entry;
  const ShloSignature* signature;  // null: takes a tuple, returns a tuple of ndarrays
  ShloObject* owner;               // keeps both alive
  ShloObject* otherwise;           // a Python function for what C cannot serve; null: `NotImplemented` is returned
};

void destroy_callable(ShloObject* capsule) {
  Callable* callable = static_cast<Callable*>(python.capsule_pointer(capsule, nullptr));
  python.decrease(callable->owner);
  if (callable->otherwise != nullptr) python.decrease(callable->otherwise);
  free(callable);
}

// `function(arrays)`: a tuple of arguments to a tuple of results. `None` if only the plan is missing.
ShloObject* call_flat(ShloObject* self, ShloObject* arrays) {
  const ShloEntry* entry = static_cast<Callable*>(python.capsule_pointer(self, nullptr))->entry;
  if (type_of(arrays) != python.tuple_type || length_of(arrays) != entry->bind->arguments)
    return one_more(python.not_implemented);
  ShloObject** results =
      static_cast<ShloObject**>(__builtin_alloca(static_cast<size_t>(entry->results + 1) * sizeof(ShloObject*)));
  const Outcome outcome = run_entry(entry, members_of(arrays), false, false, results);
  if (outcome == kFailed) return nullptr;
  if (outcome != kDone) return one_more(outcome == kUnfit ? python.not_implemented : python.none);
  ShloObject* tuple = python.new_tuple(entry->results);
  if (tuple == nullptr) return let_go(results, entry->results), nullptr;
  for (int64_t k = 0; k < entry->results; k++) python.set_in_tuple(tuple, k, results[k]);
  return tuple;
}

// Runs the program on the pytrees of a call. `kUnfit`, without side effects, if it needs anything of Python.
Outcome run_on_trees(const Callable* callable, ShloObject* const* objects, int64_t count, ShloObject** made) {
  const ShloEntry* entry = callable->entry;
  const ShloSignature* signature = callable->signature;
  if (count != signature->in->children) return kUnfit;
  const int64_t arguments = entry->bind->arguments;
  ShloObject** given = static_cast<ShloObject**>(
      __builtin_alloca(static_cast<size_t>(arguments + entry->results + 1) * sizeof(ShloObject*)));
  ShloObject** results = given + arguments;
  const ShloTree* node = signature->in + 1;
  int64_t leaf = 0;
  for (int64_t k = 0; k < count; k++)
    if (!flatten(signature, node, objects[k], leaf, given))
      return python.clear_error(), kUnfit;  // comparing keys may have raised
  // Another thread may modify a list or dict while the GIL is released: hold its members until the call ends.
  for (int64_t k = 0; signature->nested && k < arguments; k++) python.increase(given[k]);
  const Outcome outcome = run_entry(entry, given, true, signature->spending != 0, results);
  if (signature->nested) let_go(given, arguments);
  const ShloTree* out = signature->out;
  if (outcome == kDone) *made = unflatten(out, results);
  return outcome;
}

// `function(*pytrees, **keywords)`, which returns a pytree.
ShloObject* call_tree(ShloObject* self, ShloObject* const* objects, int64_t count, ShloObject* keywords) {
  const Callable* callable = static_cast<Callable*>(python.capsule_pointer(self, nullptr));
  ShloObject* made = nullptr;
  const Outcome outcome = keywords == nullptr ? run_on_trees(callable, objects, count, &made) : kUnfit;
  if (outcome == kDone || outcome == kFailed) return made;
  if (callable->otherwise == nullptr) return one_more(python.not_implemented);
  return python.call(callable->otherwise, objects, static_cast<size_t>(count), keywords);
}

Method flat_method = {"run", reinterpret_cast<void*>(call_flat), kOneArgument, nullptr};
Method tree_method = {"call", reinterpret_cast<void*>(call_tree), kSeveralArguments | kKeywords, nullptr};

}  // namespace

extern "C" {

void shlo_know_python(const ShloInterpreter* found) { python = *found; }

void shlo_know_jax(const ShloJax* found) { jax = *found; }

void shlo_know_filling(void (*begin)(ShloFilling*)) { begin_filling = begin; }

// Whether a maker of so many results works: XLA has to run the call in this thread. Its results are not filled.
int64_t shlo_try_maker(ShloObject* maker, int64_t count, const int64_t* bytes) {
  auto nothing = [](ShloFilling*, void* const*) -> int64_t { return SHLO_DONE; };
  ShloObject** results = static_cast<ShloObject**>(__builtin_alloca(static_cast<size_t>(count) * sizeof(ShloObject*)));
  Filling it = {{nothing, count, bytes, nullptr, nullptr, SHLO_DONE, 0}, nullptr, nullptr, nullptr, nullptr};
  const bool works = make(it, maker, results);
  works ? let_go(results, count) : python.clear_error();
  return works;
}

// A Python function that keeps `owner` and `otherwise` alive. The caller holds the GIL, here and below.
ShloObject* shlo_callable(const ShloEntry* entry, const ShloSignature* signature, ShloObject* owner,
                          ShloObject* otherwise) {
  Callable* callable = static_cast<Callable*>(malloc(sizeof(Callable)));
  if (callable == nullptr) return python.raise(python.memory_error, "no memory for a program that is loaded");
  *callable = {entry, signature, owner, otherwise};
  ShloObject* capsule = python.new_capsule(callable, nullptr, destroy_callable);
  if (capsule == nullptr) return free(callable), nullptr;
  python.increase(owner);
  if (otherwise != nullptr) python.increase(otherwise);
  ShloObject* made = python.new_function(signature == nullptr ? &flat_method : &tree_method, capsule, nullptr);
  python.decrease(capsule);
  return made;
}

// The owner of the entry keeps the plan alive until `shlo_forget_plans`. Adding a plan twice has no effect.
void shlo_add_plan(ShloEntry* entry, ShloPlan* plan) {
  ShloPlan** bucket = bucket_of(entry, plan->raw);
  for (ShloPlan* one = *bucket; one != nullptr; one = one->next)
    if (one == plan) return;
  plan->next = *bucket;
  *bucket = plan;
}

// What is known of the arrays of so many arguments: nothing yet. Null if out of memory.
ShloRecurring* shlo_new_recurring(int64_t count) { return new_recurring(count); }

void shlo_drop_recurring(ShloRecurring* recurring, int64_t count) { drop_recurring(recurring, count); }

void shlo_forget_plans(ShloEntry* entry) { memset(entry->buckets, 0, kBuckets * sizeof(ShloPlan*)); }

// Bytes of cached free memory; `drop` returns them to the system.
int64_t shlo_unused_memory(int64_t drop) {
  if (drop) drop_unused();
  return unused;
}

}  // extern "C"
