// One column block (up to 64 output features), computed for many consecutive positions.
#pragma once
#include "conv/block_product.h"

namespace {

template <class E, class A, bool GROUPED>
class ColumnBlock : public BlockProduct<E, A, GROUPED> {
  typedef BlockProduct<E, A, GROUPED> Base;
  typedef Memory<E> M;
  using Base::p, Base::m, Base::x_axis, Base::feature, Base::columns, Base::padded, Base::channels, Base::taps,
      Base::copied, Base::merged, Base::unpacked, Base::cached, Base::ready, Base::kept, Base::room,
      Base::all_columns, Base::all_packed, Base::near, Base::panel, Base::full, Base::channel_block, Base::steps,
      Base::chunk, Base::for_parts, Base::pack, Base::take_positions, Base::copy_lines, Base::multiply_rows;

 public:
  using Base::Base;

  // Whether all `count` columns are computed for each chunk of copied lines: if copying is much of the work
  // and the weights stay packed, or if no weights are read twice.
  SHLO_ONCE bool plan_columns(int64_t first, int64_t last, int64_t count) {
    const int64_t needed = taps * channels * round_up(count, LANES<E>);
    if (!copied || !near) return false;
    if (!ready && needed <= M::WEIGHTS) all_packed = m.weights;
    else if (!ready && needed <= room) all_packed = kept;
    const bool stay = ready ? taps == 1 || needed <= M::WEIGHTS : all_packed != nullptr;
    if (!stay && take_positions(first, last) < last - first) return false;
    all_columns = count;
    return true;
  }

  // Like `run`, for all columns.
  SHLO_ONCE void run_columns(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    clear_zeros();
    const E* const given = ready;
    const int64_t first_feature = feature;
    const Part whole = {0, channels, 0, steps, 0};
    const auto for_blocks = [&](auto&& function) {
      for (int64_t j = 0; j < all_columns; j += COLUMNS) {
        columns = smallest(COLUMNS, all_columns - j);
        padded = round_up(columns, LANES<E>);
        panel = panel_columns<E, A>(columns);
        full = full_strip(panel / LANES<E>, padded == panel, A::panel);
        feature = first_feature + j;
        function(j);
      }
    };
    const auto pack_to = [&](E* to) { pack_weights<A>(p, feature, columns, panel, 0, channels, 0, taps, to); };
    if (all_packed) for_blocks([&](int64_t j) { pack_to(all_packed + j * taps * channels); });
    while (first < last) {
      const int64_t rows = take_positions(first, last);
      copy_lines(whole);
      for_blocks([&](int64_t j) {
        if (!given && !all_packed) pack_to(m.weights);
        ready = given ? given + j * taps * channels : all_packed ? all_packed + j * taps * channels : m.weights;
        multiply_near(first, rows, j0 + j, epilogue, context);
      });
      first += rows;
    }
  }

  SHLO_ONCE void run(int64_t first, int64_t last, int64_t j0, ShloEpilogue epilogue, void* context) {
    clear_zeros();
    if (!ready && kept && !unpacked && !cached && last - first > chunk) {
      pack_weights<A>(p, feature, columns, panel, 0, channels, 0, taps, kept);
      ready = kept;
    }
    if (cached && !ready) for_parts([&](const Part& part) { pack(m.weights + part.before * padded, part); });
    while (first < last) {
      const int64_t rows = take_positions(first, last);
      bool add = false;
      for_parts([&](const Part& part) {
        if (!cached && !unpacked && !ready) pack(m.weights, part);
        if (copied) copy_lines(part);
        if (!near) multiply_rows(0, rows, part, add);
        add = true;
      });
      if (near) multiply_near(first, rows, j0, epilogue, context);
      else epilogue(context, m.tile, COLUMNS, first, rows, j0, columns);
      first += rows;
    }
  }

 private:
  void clear_zeros() {
    const int64_t zeros = largest(COLUMNS, channel_block * (merged ? x_axis.taps : 1));
    __builtin_memset(m.zeros, 0, smallest(zeros, M::ZEROS) * sizeof(E));
  }

  // Computes the chunk's `rows` positions from `first` on, a tile at a time; all taps and channels are one part.
  void multiply_near(int64_t first, int64_t rows, int64_t j0, ShloEpilogue epilogue, void* context) {
    for (int64_t i = 0; i < rows; i += TILE_ROWS) {
      const int64_t count = smallest(TILE_ROWS, rows - i);
      multiply_rows(i, count, {0, channels, 0, channels > 0 ? steps : 0, 0}, false);
      epilogue(context, m.tile, COLUMNS, first + i, count, j0, columns);
    }
  }
};

}  // namespace
