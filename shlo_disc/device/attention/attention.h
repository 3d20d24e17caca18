// Attention: the interface between generated kernels and attention/online.h.
#pragma once
#include <stdint.h>

// A launch has batch * ceil(rows / ROWS) tasks; adjacent tasks of one matrix are best run together, up to GROUP rows.
#define SHLO_ATTENTION_ROWS 48
#define SHLO_ATTENTION_GROUP 192
#define SHLO_ATTENTION_KEYS 256  // of a block
#define SHLO_ATTENTION_BLOCK 48  // rows whose scores are computed together

#ifndef SHLO_EPILOGUE_DEFINED
#define SHLO_EPILOGUE_DEFINED
// Takes a finished block: rows [i0, i0 + rows) and columns [j0, j0 + columns) of the result, row-major at `tile`, which
// is 64-byte aligned; ld and the readable columns are multiples of 16. The tile may be overwritten.
typedef void (*ShloEpilogue)(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                             int64_t columns);
#endif

// Element (i, j) is at[i * row + j * column].
struct ShloMatrix {
  const void* at;
  int64_t row, column;
};

// softmax(score(q k^T)) v: `rows` queries and `keys` keys of `depth` elements, values of `width`. The functions take
// blocks of numbers as epilogues do and change them in place.
struct ShloAttention {
  ShloMatrix q, k, v;
  int64_t rows, keys, depth, width;
  ShloEpilogue score;   // products of queries and keys become scores
  ShloEpilogue weigh;   // null, or exponentials become the weights of values
  ShloEpilogue kept;    // null, or numbers become 1 where the weight may be other than 0, else 0
  bool (*hidden)(void* context, int64_t i0, int64_t i1, int64_t j0, int64_t j1);  // null, or whether it proves that
  double fill;                                                                    // these scores are at most `fill`
  ShloEpilogue epilogue;  // takes rows of the result
  void* context;
};

// Compute rows [i0, i1), at most GROUP. Scratch: 64-byte aligned, KEYS * (depth + width) + BLOCK * (KEYS + 16 + depth)
// + GROUP * (width + 2) numbers of 4 or 8 bytes, where depth and width are rounded up to 16. ROWS, GROUP and BLOCK are
// multiples of 16.
#define SHLO_ATTENTION_KERNEL(name) \
  extern "C" void shlo_attention_##name(const ShloAttention* attention, int64_t i0, int64_t i1, void* scratch);
SHLO_ATTENTION_KERNEL(f32) SHLO_ATTENTION_KERNEL(f64)

// The same with split keys (Flash-Decoding), for at most BLOCK rows: a split is keys [j0, j1), whose sums are kept as a
// state; `join` combines the states of all splits. A state is 64-byte aligned and has rows * width + 2 * BLOCK numbers;
// those of a matrix are adjacent.
#define SHLO_ATTENTION_SPLITS(name)                                                                                \
  extern "C" void shlo_attention_split_##name(const ShloAttention* attention, int64_t j0, int64_t j1, void* state, \
                                              void* scratch);                                                      \
  extern "C" void shlo_attention_join_##name(const ShloAttention* attention, const void* states, int64_t splits,   \
                                             void* scratch);
SHLO_ATTENTION_SPLITS(f32) SHLO_ATTENTION_SPLITS(f64)

// Functions that gradients share with attention, compiled with the latter; programs with gradients link both. (See the
// functions of these names in attention/online.h; `b`, `high`, `b_ld` and `first` are its Panels.)
#define SHLO_ATTENTION_SHARED(name, T)                                                                               \
  extern "C" void shlo_attention_multiply_##name(const T* a, int64_t lda, int64_t rows, const T* b, int64_t high,    \
                                                 int64_t b_ld, int64_t first, T* c, int64_t ldc, int64_t k,          \
                                                 int64_t columns, bool add);                                         \
  extern "C" void shlo_attention_lay_out_##name(const T* from, int64_t row, int64_t column, int64_t rows,            \
                                                int64_t columns, T* to, int64_t ld);
SHLO_ATTENTION_SHARED(f32, float) SHLO_ATTENTION_SHARED(f64, double)

// ---- gradients (attention/gradients.h) ------------------------------------------------------------------------------

#define SHLO_BACKWARD_ROWS 48   // of a block, which is computed with all keys
#define SHLO_BACKWARD_KEYS 256  // of a chunk, whose weights fit in a cache

// Computes `to` for a block of (row, key) pairs from their products `raw` and `gradient`, both with leading dimension
// ld, and from the row sums. Sum k of row i is sums[k * ROWS + i - i0]. `to` may be `raw`.
typedef void (*ShloPairs)(void* context, const void* raw, const void* gradient, void* to, const void* sums, int64_t ld,
                          int64_t to_ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns);

// The largest, or the sum, of all elements of a row. `kept`: the elements replace `raw`.
struct ShloRowSum {
  ShloPairs element;
  bool greatest, kept;
};

// Operands of a product: numbers, or words of two bf16; for ROUNDED_PAIRS each sum of two products may be rounded.
enum ShloWords { SHLO_NUMBERS, SHLO_PAIRS, SHLO_ROUNDED_PAIRS };

// Weights of (row, key) pairs: numbers, or if `narrow`, elements of the operands' type, which are read as words.
struct ShloWeights {
  ShloPairs element;
  bool narrow;
};

// The sum of weights[number] times `right`: over rows for each key, or over keys for each row.
struct ShloGradient {
  ShloMatrix right;
  int64_t columns, number;
  bool by_key;
  ShloWords words;
  ShloEpilogue epilogue;
};

struct ShloAttentionBackward {
  ShloMatrix q, k, g, v;  // raw = q k^T over `depth`, gradient = g v^T over `width`
  int64_t rows, keys, depth, width;
  const ShloRowSum* sums;  // the largest score is the first
  int64_t sum_count;
  const ShloWeights* weights;
  int64_t weight_count;
  const ShloGradient* gradients;
  int64_t gradient_count;
  bool (*hidden)(void* context, int64_t i0, int64_t i1, int64_t j0, int64_t j1);  // as in ShloAttention
  ShloPairs vacant;  // null, or stores for hidden pairs what `weights` store for others
  double fill;
  double moderate;  // pairs of exponential 0 add nothing if all numbers of q, k, g and v are at most so large
  ShloWords raw_words, gradient_words;
  void* context;
};

// Computes all rows. Sums over rows start with the `first` call and go to the epilogue in the `last`. Scratch: 64-byte
// aligned; its size is in lower_cpu/attention/backward.py. For 2-byte operands, values between the products are f32.
#define SHLO_ATTENTION_BACKWARD_KERNEL(name)                                                                        \
  extern "C" void shlo_attention_backward_##name(const ShloAttentionBackward* attention, bool first, bool last,    \
                                                 void* scratch);
SHLO_ATTENTION_BACKWARD_KERNEL(f32) SHLO_ATTENTION_BACKWARD_KERNEL(f64)
SHLO_ATTENTION_BACKWARD_KERNEL(f16) SHLO_ATTENTION_BACKWARD_KERNEL(bf16)

// ---- types of two bytes (attention/rows.h) --------------------------------------------------------------------------

// softmax(score(q k^T)) v by the program's own formulas, which may round after every operation: values between the
// products are f32, rounded where a formula rounds.
struct ShloAttentionRows {
  ShloMatrix q, k, v;
  int64_t rows, keys, depth, width;
  const ShloRowSum* sums;  // the largest score is the first
  int64_t sum_count;
  ShloPairs weights;  // computes the weights of values: bf16 as bf16, f16 as f32
  ShloEpilogue epilogue;
  bool (*hidden)(void* context, int64_t i0, int64_t i1, int64_t j0, int64_t j1);  // as in ShloAttention
  double fill;
  void* context;
};

// Computes rows [i0, i1), which begin at a multiple of ROWS. Scratch: 64-byte aligned; its size is in
// lower_cpu/attention/rows.py. bf16_rounded: dot products of pairs where the CPU has them (gemm/narrow.h),
// half_rounded: in the second product.
#define SHLO_ATTENTION_ROWS_KERNEL(name) \
  extern "C" void shlo_attention_rows_##name(const ShloAttentionRows* attention, int64_t i0, int64_t i1, void* scratch);
SHLO_ATTENTION_ROWS_KERNEL(f16) SHLO_ATTENTION_ROWS_KERNEL(bf16) SHLO_ATTENTION_ROWS_KERNEL(bf16_rounded)
SHLO_ATTENTION_ROWS_KERNEL(bf16_half_rounded)
