// What a C package exports, for all programs alike: `SHLO_C_API` defines the functions of its header.
// `shlo_disc/c_package` generates the `Package` of a program: tables, nothing else.
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "call/host_code.h"
#include "call/pool.h"
#include "call/system.h"

extern "C" {

// Of the header: `NAME_array` and `NAME_options`.
struct ShloTensor {
  const char* name;
  int dtype, rank;
  size_t item_bytes;
  const int64_t* shape;
  int donated, result;
};

struct ShloOptions {
  int threads;
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*release)(void* context, void* memory);
  void* context;
  ShloParallelFor parallel_for;
  void* callers_threads;
  const char* weights;
  const void* const* weight_arrays;
  int check_weights;
  char* message;
  size_t message_bytes;
};

}  // extern "C"

namespace c_api {

using host_code::kStackBytes;
using host_code::Room;

enum Status : int { kOk, kShapeError, kMemoryError, kArgumentError, kInternalError, kFileError };

constexpr int64_t kLargestSize = (1ll << 31) - (1 << 16);  // `LARGEST_SIZE` of artifact.py
constexpr size_t kAligned = 64;
constexpr int64_t kMostBytes = 1ll << 60;
constexpr int64_t kDonatedAlignment = 16;  // temporaries may be in a donated argument: enough for any element

struct Text {
  const char* data;
  size_t bytes;
};

struct Piece {  // of a message: a text, then the value of a register unless that is negative
  Text text;
  int32_t value;
};

struct Message {
  const Piece* pieces;
  int64_t count;
};

// A dim of an argument: a fixed size, or (if `fixed` is negative) that of `axis` of `argument`, the first dim with the
// same symbol. The texts are those of an error.
struct Dim {
  int64_t fixed;
  int32_t argument, axis;
  Text place, reason, wanted;
};

struct Place {  // where a call finds the value of a symbol: an axis of an argument, and its `Dim`
  int32_t symbol, argument, axis, dim;
};

struct Known {  // a symbol whose value weights fix
  int64_t symbol, value;
};

struct Reading {  // the integer at byte `offset` of an argument is the value of a register; `width` as of `read_index`
  int64_t argument, offset;
  int32_t width, symbol;
};

// Operands of kernels, packed when a model is created, or in the file of weights at an `offset`, which is negative if
// they are not. `sources`: numbers of literals, then (behind all of those) of weights.
struct Packing {
  ShloKernel kernel;
  int64_t number, offset, bytes, extent, grain, scratch, source_count;
  const int64_t *sources, *dims;
};

struct Weight {  // a bound argument: its number in the program, and where it is in the file, or -1
  int64_t argument, offset;
};

struct WeightSize {  // an element of a weight from which sizes follow, and its value: see `Reading`
  int64_t weight, offset, element;
  int32_t width;
  int64_t value;
};

struct Donation {  // an argument that calls overwrite, and the result that is there in the end, or -1
  int64_t argument, result;
};

struct WeightFile {  // what is in the file of weights of a package: a header behind its length, and so many bytes in all
  Text header;
  int64_t bytes;  // 0: the package has none
  uint32_t checksum;  // the CRC-32 of all behind the header
};

struct Limit {  // the product of registers (those that are 0 left out) and `unit` has to fit into 64 bits
  int64_t unit, count;
  const int32_t* dims;
};

struct Package {
  const ShloHostCode* code;
  const ShloTensor *arguments, *results, *weights;  // the arguments are those that a call brings
  int64_t argument_count, weight_count;
  const int64_t* numbers;     // of the arguments, among all that the program has
  const int64_t* alignments;  // of the elements of arguments, then of results, then of weights
  const Dim* dims;            // of all arguments
  const Place* places;        // of the first symbols
  int64_t place_count;
  const Known* known;
  int64_t known_count;
  const Reading* readings;
  int64_t reading_count;
  const Message* checks;  // the message of each
  const int32_t* needed;  // registers whose values have to fit into 64 bits
  int64_t needed_count;
  const Limit* limits;
  int64_t limit_count;
  const unsigned char* literals;
  const int64_t* literal_offsets;
  const Packing* packings;
  int64_t packing_count;
  const Donation* donations;
  int64_t donation_count;
  const Weight* places_of_weights;
  const WeightSize* sizes_in_weights;
  int64_t size_in_weight_count;
  WeightFile file;
};

struct Block {  // the arena of a call: behind this header
  int64_t bytes;
};

struct Model {
  const Package* package;
  ShloOptions options;
  ShloRuntime* runtime;
  void** constants;  // addresses of the literals
  void** packed;     // of packed operands, null where there are none
  void** weights;    // null for those that calls read in packed form alone
  const unsigned char* file;  // of weights, mapped
  size_t file_bytes;
  Block* spare;      // an arena that no call uses
  alignas(kAligned) char nothing[kAligned];
};

// --- messages -------------------------------------------------------------------------------------------------------

// Writes a message into a caller's memory: as much of it as there is room for, with a 0 at the end.
class Writer {
 public:
  Writer(char* memory, size_t bytes) : at_(memory), left_(memory == nullptr ? 0 : bytes) {
    if (left_ > 0) *at_ = 0;
  }

  void add(Text text) {
    if (left_ == 0) return;
    size_t count = text.bytes < left_ ? text.bytes : left_ - 1;
    const bool is_cut = count < text.bytes;
    while (is_cut && count > 0 && (text.data[count] & 0xc0) == 0x80) count--;  // within a character of UTF-8
    memcpy(at_, text.data, count);
    at_ += count;
    *at_ = 0;
    left_ = is_cut ? 0 : left_ - count;
  }

  void add(const char* text) { add(Text{text, strlen(text)}); }

  void add(int64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", static_cast<long long>(number));
    add(digits);
  }

  // A shape as Python prints it.
  void add_shape(const int64_t* shape, int rank) {
    add("(");
    for (int k = 0; k < rank; k++) {
      if (k > 0) add(", ");
      add(shape[k]);
    }
    add(rank == 1 ? ",)" : ")");
  }

 private:
  char* at_;
  size_t left_;
};

// --- memory ---------------------------------------------------------------------------------------------------------

inline void* allocate(void*, size_t bytes, size_t alignment) {
  return aligned_memory(alignment, bytes);
}

inline void release(void*, void* memory) { free_aligned(memory); }

inline void* new_memory(const ShloOptions& options, int64_t bytes) {
  if (bytes < 0 || bytes > kMostBytes) return nullptr;
  return options.allocate(options.context, static_cast<size_t>(bytes), kAligned);
}

inline void drop(const ShloOptions& options, void* memory) {
  if (memory != nullptr) options.release(options.context, memory);
}

// Memory for the temporaries of a call; calls that run at the same time get different ones. Null: there is none.
inline char* take_arena(Model* model, int64_t bytes, Block** block) {
  *block = nullptr;
  if (bytes <= 0) return model->nothing;
  if (bytes > kMostBytes) return nullptr;
  Block* found = __atomic_exchange_n(&model->spare, nullptr, __ATOMIC_ACQ_REL);
  if (found != nullptr && found->bytes < bytes) {
    drop(model->options, found);
    found = nullptr;
  }
  if (found == nullptr) {
    found = static_cast<Block*>(new_memory(model->options, bytes + static_cast<int64_t>(kAligned)));
    if (found == nullptr) return nullptr;
    found->bytes = bytes;
  }
  *block = found;
  return reinterpret_cast<char*>(found) + kAligned;
}

inline void give_back(Model* model, Block* block) {
  if (block != nullptr) drop(model->options, __atomic_exchange_n(&model->spare, block, __ATOMIC_ACQ_REL));
}

// --- sizes ----------------------------------------------------------------------------------------------------------

// The value of a function of sizes, which wraps around. False if it does not fit into 64 bits.
inline bool exact(int32_t function, int64_t a, int64_t b, int64_t* value) {
  using namespace host_code;
  if (function == kAdd) return !__builtin_add_overflow(a, b, value);
  if (function == kMultiply) return !__builtin_mul_overflow(a, b, value);
  *value = value_of(function, a, b);
  return function != kDivide || a != INT64_MIN || b != -1;
}

// All registers of a call; `fit`: which values fit into 64 bits.
inline void evaluate(const ShloHostCode* code, const int64_t* raw, int64_t* registers, bool* fit) {
  for (int64_t k = 0; k < code->registers; k++) fit[k] = true;
  memcpy(registers, raw, static_cast<size_t>(code->given) * sizeof(int64_t));
  memcpy(registers + code->first_constant, code->constants, static_cast<size_t>(code->constant_count) * sizeof(int64_t));
  for (const int32_t *at = code->sizes, *end = at + code->size_words; at < end; at += 4)
    fit[at[1]] = exact(at[0], registers[at[2]], registers[at[3]], registers + at[1]) && fit[at[2]] && fit[at[3]];
}

inline bool within(const Limit& limit, const int64_t* registers, const bool* fit) {
  int64_t total = limit.unit;
  for (int64_t k = 0; k < limit.count; k++) {
    const int32_t dim = limit.dims[k];
    if (!fit[dim] || __builtin_mul_overflow(total, registers[dim] > 1 ? registers[dim] : 1, &total)) return false;
  }
  return true;
}

struct Sizes {  // of a call
  int64_t *raw, *kept, *dims;
  int64_t arena_bytes;
};

// Does what `shlo_plan_call` does, also for sizes so large that its bounds do not exclude an overflow, and says what is
// wrong with sizes that it refuses.
inline Status plan_exactly(const Package* package, Sizes* sizes, Writer* writer) {
  const ShloHostCode* const code = package->code;
  Room room;
  const int64_t count = code->registers;
  char* const memory = static_cast<char*>(SHLO_ROOM(room, (count + 1) * static_cast<int64_t>(sizeof(int64_t) + 1)));
  if (memory == nullptr) return writer->add("no memory to check the sizes of a call"), kMemoryError;
  int64_t* const registers = reinterpret_cast<int64_t*>(memory);
  bool* const fit = reinterpret_cast<bool*>(registers + count);
  evaluate(code, sizes->raw, registers, fit);
  bool all_fit = true;
  const Message* message = package->checks;
  for (const int32_t *at = code->checks, *end = at + code->check_words; at < end && all_fit; at += 3, message++) {
    all_fit = fit[at[1]] && fit[at[2]];
    if (!all_fit || host_code::holds(at[0], registers[at[1]], registers[at[2]])) continue;
    for (const Piece *piece = message->pieces, *last = piece + message->count; piece < last; piece++) {
      writer->add(piece->text);
      if (piece->value < 0) continue;
      if (fit[piece->value]) writer->add(registers[piece->value]);
      else writer->add("?");
    }
    return kShapeError;
  }
  for (int64_t k = 0; k < package->needed_count; k++) all_fit = all_fit && fit[package->needed[k]];
  for (int64_t k = 0; k < package->limit_count; k++) all_fit = all_fit && within(package->limits[k], registers, fit);
  if (!all_fit) {
    writer->add("the sizes of this call are too large: what is computed from them does not fit into 64 bits\n"
                "  help: call with smaller sizes, or cut the arrays into several calls");
    return kShapeError;
  }
  for (int64_t k = 0; k < code->condition_count; k++) {
    if (registers[code->conditions[k]] >= 0) continue;
    return writer->add("the layout of memory does not hold at these sizes, so that nothing was run"), kInternalError;
  }
  for (int64_t k = 0; k < code->dim_count; k++) sizes->dims[k] = registers[code->dims[k]];
  sizes->arena_bytes = registers[code->arena];
  memcpy(sizes->kept, registers, static_cast<size_t>(code->kept) * sizeof(int64_t));
  return kOk;
}

inline void add_place(const Dim& dim, int64_t size, Writer* writer) {
  writer->add(dim.place);
  writer->add(": found size ");
  writer->add(size);
}

// Fills `raw` from the shapes of the arguments of a call.
inline Status read_shapes(const Package* package, const int64_t* const* shapes, int64_t* raw, Writer* writer) {
  const Dim* dim = package->dims;
  for (int64_t k = 0; k < package->argument_count; k++) {
    const int rank = package->arguments[k].rank;
    for (int axis = 0; axis < rank; axis++, dim++) {
      const int64_t size = shapes[k][axis], expected = dim->fixed >= 0 ? dim->fixed : shapes[dim->argument][dim->axis];
      if (size >= 0 && size == expected) continue;
      add_place(*dim, size, writer);
      writer->add(", expected ");
      if (size >= 0) writer->add(expected);
      else writer->add("at least 0");
      if (size >= 0) writer->add(dim->reason);
      writer->add("\n  found shape ");
      writer->add_shape(shapes[k], rank);
      writer->add(", expected ");
      writer->add(dim->wanted);
      return kShapeError;
    }
  }
  for (int64_t k = 0; k < package->place_count; k++) {
    const Place& place = package->places[k];
    const int64_t size = raw[place.symbol] = shapes[place.argument][place.axis];
    if (size <= kLargestSize) continue;
    add_place(package->dims[place.dim], size, writer);
    writer->add(", expected at most ");
    writer->add(kLargestSize);
    writer->add(": a dynamic size, and positions a little beyond it, are i32\n"
                "  help: give the dim a static size, or split it into two");
    return kShapeError;
  }
  return kOk;
}

inline Status wrong(const char* what, int64_t number, const char* how, Writer* writer) {
  writer->add(what);
  writer->add(number);
  writer->add(how);
  return kArgumentError;
}

// Checks the sizes of a call, and computes all others from them.
inline Status plan(const Package* package, const void* const* arguments, const int64_t* const* shapes, Sizes* sizes,
                   Writer* writer) {
  const ShloHostCode* const code = package->code;
  for (int64_t k = 0; k < package->argument_count; k++)
    if (package->arguments[k].rank > 0 && (shapes == nullptr || shapes[k] == nullptr))
      return wrong("argument ", k, ": found no shape", writer);
  if (const Status status = read_shapes(package, shapes, sizes->raw, writer)) return status;
  for (int64_t k = 0; k < package->known_count; k++) sizes->raw[package->known[k].symbol] = package->known[k].value;
  for (int64_t k = 0; k < package->reading_count; k++) {
    const Reading& one = package->readings[k];
    if (arguments == nullptr || arguments[one.argument] == nullptr)
      return wrong("argument ", one.argument, ": found no array, whose elements are sizes", writer);
    sizes->raw[one.symbol] =
        host_code::read_index(static_cast<const char*>(arguments[one.argument]) + one.offset, one.width);
  }
  if (shlo_plan_call(code, sizes->raw, sizes->kept, sizes->dims, &sizes->arena_bytes) != 0)
    if (const Status status = plan_exactly(package, sizes, writer)) return status;
  for (int64_t k = 0; k < code->dim_count; k++)
    if (sizes->dims[k] < 0) return writer->add("a size of a result is negative, so that nothing was run"), kInternalError;
  return kOk;
}

inline int64_t words_of_sizes(const ShloHostCode* code) { return code->given + code->kept + code->dim_count; }

inline Sizes placed(const ShloHostCode* code, int64_t* words) {
  return Sizes{words, words + code->given, words + code->given + code->kept, 0};
}

// --- arrays ---------------------------------------------------------------------------------------------------------

// Whether a call can read, or write, an array: null is none, which is fine without elements.
inline Status check_array(const char* what, int64_t number, const void* data, const ShloTensor& tensor,
                          const int64_t* shape, int64_t alignment, Writer* writer) {
  bool is_empty = false;
  for (int k = 0; k < tensor.rank; k++) is_empty |= shape[k] == 0;
  if (is_empty) return kOk;
  if (data == nullptr) return wrong(what, number, ": found no memory", writer);
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) == 0) return kOk;
  const bool is_donated = alignment == kDonatedAlignment;  // that of no element
  return wrong(what, number, is_donated ? ": found memory that is not aligned to 16 bytes, as that of donated arguments is"
                                        : ": found memory that is not aligned to its elements", writer);
}

inline Status check_arrays(const Package* package, const void* const* arguments, const int64_t* const* shapes,
                           void* const* results, const int64_t* dims, Writer* writer) {
  const ShloHostCode* const code = package->code;
  const int64_t* alignment = package->alignments;
  for (int64_t k = 0; k < package->argument_count; k++) {
    const int64_t* const shape = shapes == nullptr ? nullptr : shapes[k];
    const void* const data = arguments == nullptr ? nullptr : arguments[k];
    if (const Status status = check_array("argument ", k, data, package->arguments[k], shape, *alignment++, writer))
      return status;
  }
  for (int64_t k = 0; k < code->results; k++) {
    void* const data = results == nullptr ? nullptr : results[k];
    if (const Status status = check_array("result ", k, data, package->results[k], dims, *alignment++, writer))
      return status;
    dims += package->results[k].rank;
  }
  return kOk;
}

// --- packed operands ------------------------------------------------------------------------------------------------

// Whether memory of a model is in its file of weights, and so not its own.
inline bool is_mapped(const Model* model, const void* memory) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(memory), file = reinterpret_cast<uintptr_t>(model->file);
  return at >= file && at - file < model->file_bytes;
}

inline void destroy(Model* model) {
  if (model == nullptr) return;
  if (model->runtime != nullptr) shlo_runtime_destroy(model->runtime);
  for (int64_t k = 0; k < model->package->code->packings; k++)
    if (!is_mapped(model, model->packed[k])) drop(model->options, model->packed[k]);
  unmap_file(model->file, model->file_bytes);
  drop(model->options, model->spare);
  const ShloOptions options = model->options;
  drop(options, model);
}

inline Status pack(Model* model, const Packing& one) {
  if (model->packed[one.number] != nullptr) return kOk;  // by the file of weights
  void* const memory = new_memory(model->options, one.bytes > 0 ? one.bytes : 1);
  if (memory == nullptr) return kMemoryError;
  model->packed[one.number] = memory;
  Room room;
  void** const buffers =
      static_cast<void**>(SHLO_ROOM(room, (one.source_count + 1) * static_cast<int64_t>(sizeof(void*))));
  if (buffers == nullptr) return kMemoryError;
  const int64_t literals = model->package->code->literals;
  for (int64_t k = 0; k < one.source_count; k++) {
    const int64_t source = one.sources[k];
    buffers[k] = source < literals ? model->constants[source] : model->weights[source - literals];
  }
  buffers[one.source_count] = memory;
  if (one.extent <= 0) return kOk;
  const int64_t done = model->runtime->parallel(model->runtime, one.kernel, buffers, one.dims, one.extent, one.grain,
                                                one.scratch);
  return done != 0 ? kOk : kMemoryError;
}

// --- weights --------------------------------------------------------------------------------------------------------

// The CRC-32 of zlib and of zip files.
inline uint32_t checksum(const unsigned char* data, size_t bytes) {
  uint32_t table[256];
  for (uint32_t k = 0; k < 256; k++) {
    table[k] = k;
    for (int bit = 0; bit < 8; bit++) table[k] = table[k] >> 1 ^ (table[k] & 1 ? 0xedb88320u : 0);
  }
  uint32_t found = ~0u;
  for (const unsigned char* end = data + bytes; data < end; data++) found = found >> 8 ^ table[(found ^ *data) & 255];
  return ~found;
}

inline Status wrong_file(const Model* model, const char* what, Writer* writer) {
  writer->add(model->options.weights);
  writer->add(": found ");
  writer->add(what);
  writer->add("\n  help: take the file of weights that was written together with this library");
  return kFileError;
}

// Maps the file of weights, and holds it against what was written: its size and header, and all bytes if that is asked
// for. Its header has the checksum of the others, so that of other weights differs.
inline Status map_weights(Model* model, Writer* writer) {
  const WeightFile& expected = model->package->file;
  if (const int error = map_file(model->options.weights, &model->file, &model->file_bytes)) {
    writer->add(model->options.weights);
    writer->add(": found no file of weights that can be mapped: ");
    return writer->add(strerror(error)), kFileError;
  }
  if (model->file_bytes != static_cast<size_t>(expected.bytes)) {
    char what[80];
    snprintf(what, sizeof what, "%lld bytes, expected %lld", static_cast<long long>(model->file_bytes),
             static_cast<long long>(expected.bytes));
    return wrong_file(model, what, writer);
  }
  uint64_t length = 0;
  for (int k = 8; k-- > 0;) length = length << 8 | model->file[k];
  const size_t header = expected.header.bytes;
  if (length != header || memcmp(model->file + 8, expected.header.data, header) != 0)
    return wrong_file(model, "other weights than those with which this library was built", writer);
  const size_t begin = 8 + header;
  if (model->options.check_weights != 0 &&
      checksum(model->file + begin, model->file_bytes - begin) != expected.checksum)
    return wrong_file(model, "another CRC-32 than that of the bytes which were written: the file is damaged", writer);
  return kOk;
}

// An address in the file of weights; null for a negative offset. Offsets are those of the header, which was compared.
inline void* in_file(const Model* model, int64_t offset) {
  return offset < 0 ? nullptr : const_cast<unsigned char*>(model->file + offset);
}

// Finds the weights of a model, in the file or in the caller's memory.
inline Status find_weights(Model* model, Writer* writer) {
  const Package* const package = model->package;
  const ShloOptions& options = model->options;
  if (options.weights != nullptr && options.weight_arrays != nullptr)
    return writer->add("found a file of weights, and arrays of them, expected one of both"), kArgumentError;
  if (package->weight_count == 0) {
    if (options.weights == nullptr && options.weight_arrays == nullptr) return kOk;
    return writer->add("found weights, expected none: this program has no bound arguments"), kArgumentError;
  }
  if (options.weights == nullptr && options.weight_arrays == nullptr) {
    writer->add("found no weights, expected arrays of them");
    return writer->add(package->file.bytes > 0 ? ", or the path of their file" : ""), kArgumentError;
  }
  if (options.weights != nullptr && package->file.bytes == 0)
    return writer->add("found a file of weights, expected arrays: this library was built without a file"), kArgumentError;
  if (options.weights != nullptr) {
    if (const Status status = map_weights(model, writer)) return status;
    for (int64_t k = 0; k < package->packing_count; k++)
      model->packed[package->packings[k].number] = in_file(model, package->packings[k].offset);
  }
  const int64_t* const alignments = package->alignments + package->argument_count + package->code->results;
  for (int64_t k = 0; k < package->weight_count; k++) {
    if (options.weights != nullptr) {
      model->weights[k] = in_file(model, package->places_of_weights[k].offset);
      continue;
    }
    const ShloTensor& weight = package->weights[k];
    const void* const data = options.weight_arrays[k];
    if (const Status status = check_array("weight ", k, data, weight, weight.shape, alignments[k], writer)) return status;
    model->weights[k] = const_cast<void*>(data);  // nothing writes to it
  }
  return kOk;
}

// The sizes that are elements of weights have to be those for which operands are packed.
inline Status check_sizes_in_weights(const Model* model, Writer* writer) {
  for (int64_t k = 0; k < model->package->size_in_weight_count; k++) {
    const WeightSize& one = model->package->sizes_in_weights[k];
    const char* const data = static_cast<const char*>(model->weights[one.weight]);
    if (data == nullptr) continue;  // it is packed in the file
    const int64_t found = host_code::read_index(data + one.offset, one.width);
    if (found == one.value) continue;
    writer->add(model->package->weights[one.weight].name);
    writer->add(": found ");
    writer->add(found);
    writer->add(" as element ");
    writer->add(one.element);
    writer->add(", expected ");
    writer->add(one.value);
    return writer->add(", a size for which this library was built"), kShapeError;
  }
  return kOk;
}

// --- models ---------------------------------------------------------------------------------------------------------

inline Status check_options(const ShloOptions& options, Writer* writer) {
  if (options.threads < 0) return writer->add("found a negative number of threads"), kArgumentError;
  if ((options.allocate == nullptr) == (options.release == nullptr)) return kOk;
  return writer->add("found one of allocate and release, expected both or none"), kArgumentError;
}

// A model without weights and packed operands. Null if there is no memory.
inline Model* new_model(const Package* package, const ShloOptions& options) {
  const int64_t literals = package->code->literals, packings = package->code->packings;
  const int64_t pointers = literals + packings + package->weight_count;
  const int64_t bytes = static_cast<int64_t>(sizeof(Model)) + pointers * static_cast<int64_t>(sizeof(void*));
  Model* const model = static_cast<Model*>(new_memory(options, bytes));
  if (model == nullptr) return nullptr;
  memset(static_cast<void*>(model), 0, static_cast<size_t>(bytes));
  model->package = package;
  model->options = options;
  model->constants = reinterpret_cast<void**>(model + 1);
  model->packed = model->constants + literals;
  model->weights = model->packed + packings;
  for (int64_t k = 0; k < literals; k++)  // nothing writes to them
    model->constants[k] = const_cast<unsigned char*>(package->literals + package->literal_offsets[k]);
  return model;
}

// Finds what a new model computes with: threads, weights, and packed operands.
inline Status equip(Model* model, Writer* writer) {
  const ShloOptions& options = model->options;
  model->runtime = shlo_runtime_create(options.threads == 0 ? available_cpus() : options.threads);
  if (model->runtime == nullptr) return writer->add("no memory for a thread pool"), kMemoryError;
  if (options.parallel_for != nullptr)
    shlo_runtime_share_with(model->runtime, options.parallel_for, options.callers_threads);
  if (const Status status = find_weights(model, writer)) return status;
  if (const Status status = check_sizes_in_weights(model, writer)) return status;
  const uint64_t mode = set_default_float_mode();
  Status status = kOk;
  for (int64_t k = 0; k < model->package->packing_count && status == kOk; k++)
    status = pack(model, model->package->packings[k]);
  restore_float_mode(mode);
  if (status != kOk) writer->add("no memory for packed operands");
  return status;
}

inline Status create(const Package* package, Model** out, const ShloOptions* given) {
  ShloOptions options = given == nullptr ? ShloOptions{} : *given;
  Writer writer(options.message, options.message_bytes);
  if (out == nullptr) return writer.add("found no place for the model"), kArgumentError;
  *out = nullptr;
  if (const Status status = check_options(options, &writer)) return status;
  if (options.allocate == nullptr) options.allocate = allocate, options.release = release;
  Model* const model = new_model(package, options);
  if (model == nullptr) return writer.add("no memory for the model"), kMemoryError;
  const Status status = equip(model, &writer);
  if (status == kOk) *out = model;
  else destroy(model);
  return status;
}

inline Status result_shapes(const Model* model, const void* const* arguments, const int64_t* const* shapes,
                            int64_t* const* found, Writer* writer) {
  if (model == nullptr) return writer->add("found no model"), kArgumentError;
  const Package* const package = model->package;
  Room room;
  const int64_t bytes = (words_of_sizes(package->code) + 1) * static_cast<int64_t>(sizeof(int64_t));
  int64_t* const words = static_cast<int64_t*>(SHLO_ROOM(room, bytes));
  if (words == nullptr) return writer->add("no memory for the sizes of a call"), kMemoryError;
  Sizes sizes = placed(package->code, words);
  if (const Status status = plan(package, arguments, shapes, &sizes, writer)) return status;
  const int64_t* dim = sizes.dims;
  for (int64_t k = 0; k < package->code->results; k++) {
    const int rank = package->results[k].rank;
    if (rank > 0 && (found == nullptr || found[k] == nullptr)) return wrong("result ", k, ": found no shape to fill", writer);
    for (int axis = 0; axis < rank; axis++) found[k][axis] = *dim++;
  }
  return kOk;
}

// A result whose memory is not the donated argument's own begins as a copy of it, and the argument stays as it is.
inline void place_donated(const Package* package, const void* const* arguments, const int64_t* const* shapes,
                          void* const* results, void** addresses) {
  for (int64_t k = 0; k < package->donation_count; k++) {
    const Donation& one = package->donations[k];
    if (one.result < 0 || results[one.result] == arguments[one.argument]) continue;
    const ShloTensor& argument = package->arguments[one.argument];
    size_t bytes = argument.item_bytes;
    for (int axis = 0; axis < argument.rank; axis++) bytes *= static_cast<size_t>(shapes[one.argument][axis]);
    if (bytes > 0) memcpy(results[one.result], arguments[one.argument], bytes);
    addresses[package->numbers[one.argument]] = results[one.result];
  }
}

inline Status run(Model* model, const void* const* arguments, const int64_t* const* shapes, void* const* results,
                  Writer* writer) {
  if (model == nullptr) return writer->add("found no model"), kArgumentError;
  const Package* const package = model->package;
  const ShloHostCode* const code = package->code;
  Room room;
  const int64_t words = words_of_sizes(code), pointers = code->arguments + code->packings;
  void** const addresses =
      static_cast<void**>(SHLO_ROOM(room, (words + pointers + 1) * static_cast<int64_t>(sizeof(int64_t))));
  if (addresses == nullptr) return writer->add("no memory for the sizes of a call"), kMemoryError;
  Sizes sizes = placed(code, reinterpret_cast<int64_t*>(addresses + pointers));
  if (const Status status = plan(package, arguments, shapes, &sizes, writer)) return status;
  if (const Status status = check_arrays(package, arguments, shapes, results, sizes.dims, writer)) return status;
  for (int64_t k = 0; k < package->argument_count; k++)  // nothing writes to them, but to donated ones
    addresses[package->numbers[k]] = arguments == nullptr ? nullptr : const_cast<void*>(arguments[k]);
  for (int64_t k = 0; k < package->weight_count; k++)
    addresses[package->places_of_weights[k].argument] = model->weights[k];
  for (int64_t k = 0; k < code->packings; k++) addresses[code->arguments + k] = model->packed[k];
  Block* block;
  char* const arena = take_arena(model, sizes.arena_bytes, &block);
  if (arena == nullptr) {
    writer->add("no memory for the temporaries of this call: ");
    writer->add(sizes.arena_bytes);
    return writer->add(" bytes"), kMemoryError;
  }
  place_donated(package, arguments, shapes, results, addresses);
  const uint64_t mode = set_default_float_mode();
  const int64_t end = shlo_run_call(code, model->runtime, addresses, results, model->constants, sizes.kept, arena,
                                    nullptr, nullptr);
  restore_float_mode(mode);
  give_back(model, block);
  if (end == SHLO_DONE) return kOk;
  writer->add("no memory for what the calling thread needs for itself while it computes\n"
              "  help: call with smaller sizes");
  return kMemoryError;
}

inline const ShloTensor* tensor(const ShloTensor* tensors, int64_t count, int number) {
  return number < 0 || number >= count ? nullptr : tensors + number;
}

}  // namespace c_api

// Defines the functions of a package named NAME, as its header declares them, for a `Package`. The header is not
// included: a user chose the name, which may mean something here. Its types have the same layout: a status is an int.
#define SHLO_C_API(NAME, package)                                                                                      \
  extern "C" {                                                                                                         \
  int NAME##_create(c_api::Model** out, const ShloOptions* options) { return c_api::create(&package, out, options); }  \
  void NAME##_destroy(c_api::Model* model) { c_api::destroy(model); }                                                  \
  int NAME##_argument_count(void) { return static_cast<int>(package.argument_count); }                                 \
  int NAME##_result_count(void) { return static_cast<int>(package.code->results); }                                    \
  const ShloTensor* NAME##_argument(int number) {                                                                      \
    return c_api::tensor(package.arguments, package.argument_count, number);                                           \
  }                                                                                                                    \
  const ShloTensor* NAME##_result(int number) {                                                                        \
    return c_api::tensor(package.results, package.code->results, number);                                              \
  }                                                                                                                    \
  int NAME##_weight_count(void) { return static_cast<int>(package.weight_count); }                                     \
  const ShloTensor* NAME##_weight(int number) {                                                                        \
    return c_api::tensor(package.weights, package.weight_count, number);                                               \
  }                                                                                                                    \
  int NAME##_result_shapes(const c_api::Model* model, const void* const* arguments, const int64_t* const* shapes,      \
                           int64_t* const* found, char* message, size_t message_bytes) {                               \
    c_api::Writer writer(message, message_bytes);                                                                      \
    return c_api::result_shapes(model, arguments, shapes, found, &writer);                                             \
  }                                                                                                                    \
  int NAME##_run(c_api::Model* model, const void* const* arguments, const int64_t* const* shapes,                      \
                 void* const* results, char* message, size_t message_bytes) {                                          \
    c_api::Writer writer(message, message_bytes);                                                                      \
    return c_api::run(model, arguments, shapes, results, &writer);                                                     \
  }                                                                                                                    \
  }
