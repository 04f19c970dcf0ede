#include "ops/cuda/kernels/pool.h"

#include <cstdint>
#include <limits>

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

/// A task in the form that kernels use.
struct Pool {
  explicit Pool(const PoolTask& task)
      : windows(task.windows),
        input(packed_images(windows.rows.size, windows.columns.size, task.channels)),
        output(packed_images(windows.rows.outputs, windows.columns.outputs, task.channels)) {}

  PoolWindows windows;
  PackedImages input;
  PackedImages output;
};

std::size_t packs_of_inputs(const PoolTask& task) { return Pool(task).input.count(task.samples); }
std::size_t packs_of_outputs(const PoolTask& task) { return Pool(task).output.count(task.samples); }

/// Factor of each pixel in an average.
LOCKSTEP_HD float share_of(const PoolRange& rows, const PoolRange& columns) {
  return 1.0F / static_cast<float>(rows.count * columns.count);
}

/// Finds the largest value in an output's window, and the number of its pixel in the window.
template <class T, class Place>
struct MaxForward {
  Pool pool;
  const Pack<T>* input;
  Pack<T>* output;
  Pack<Place>* places;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const PackPlace at = pool.output.place(index);
    const PoolRange rows = pool.windows.rows.window(static_cast<int>(at.row));
    const PoolRange columns = pool.windows.columns.window(static_cast<int>(at.column));
    Pack<float> largest;
    for (float& value : largest.values) value = -std::numeric_limits<float>::infinity();
    Pack<Place> place{};
    unsigned number = 0;
    for (int i = rows.begin; i < rows.end; ++i) {
      for (int j = columns.begin; j < columns.end; ++j, ++number) {
        const Pack<float> pixel = to_floats(input[pool.input.index(at, i, j)]);
        for (int k = 0; k < channel_unit; ++k) {
          const float value = pixel.values[k];
          if (value > largest.values[k] || value != value) {
            largest.values[k] = value;
            place.values[k] = static_cast<Place>(number);
          }
        }
      }
    }
    output[index] = from_floats<T>(largest);
    if (places != nullptr) places[index] = place;
  }
};

/// Computes the gradient of an input value: the sum of the gradients of the windows in which it is the
/// largest value.
template <class T, class Place>
struct MaxBackward {
  Pool pool;
  const Pack<Place>* places;
  const Pack<T>* grad_output;
  Pack<T>* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const PackPlace at = pool.input.place(index);
    const PoolRange rows = pool.windows.rows.holders(static_cast<int>(at.row));
    const PoolRange columns = pool.windows.columns.holders(static_cast<int>(at.column));
    Pack<float> sum{};
    for (int i = rows.begin; i < rows.end; ++i) {
      const int line = static_cast<int>(at.row) - pool.windows.rows.window(i).begin;
      for (int j = columns.begin; j < columns.end; ++j) {
        const PoolRange window = pool.windows.columns.window(j);
        const int number = line * (window.end - window.begin) + static_cast<int>(at.column) - window.begin;
        const std::size_t from = pool.output.index(at, i, j);
        const Pack<Place> place = places[from];
        const Pack<float> grad = to_floats(grad_output[from]);
        for (int k = 0; k < channel_unit; ++k) {
          if (place.values[k] == static_cast<Place>(number)) sum.values[k] += grad.values[k];
        }
      }
    }
    grad_input[index] = from_floats<T>(sum);
  }
};

template <class T>
struct AvgForward {
  Pool pool;
  const Pack<T>* input;
  Pack<T>* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const PackPlace at = pool.output.place(index);
    const PoolRange rows = pool.windows.rows.window(static_cast<int>(at.row));
    const PoolRange columns = pool.windows.columns.window(static_cast<int>(at.column));
    int height = rows.end - rows.begin, width = columns.end - columns.begin;  // size of a band
    if (height * width > pixels_in_one_sum) {
      width = width < pixels_in_one_sum ? width : pixels_in_one_sum;
      height = pixels_in_one_sum / width;
    }
    Pack<float> sum{};
    for (int top = rows.begin; top < rows.end; top += height) {
      for (int left = columns.begin; left < columns.end; left += width) {
        Pack<float> sum_of_band{};
        for (int i = top; i < rows.end && i < top + height; ++i) {
          for (int j = left; j < columns.end && j < left + width; ++j) {
            const Pack<float> pixel = to_floats(input[pool.input.index(at, i, j)]);
            for (int k = 0; k < channel_unit; ++k) sum_of_band.values[k] += pixel.values[k];
          }
        }
        for (int k = 0; k < channel_unit; ++k) sum.values[k] += sum_of_band.values[k];
      }
    }
    const float share = share_of(rows, columns);
    for (float& value : sum.values) value *= share;
    output[index] = from_floats<T>(sum);
  }
};

template <class T>
struct AvgBackward {
  Pool pool;
  const Pack<T>* grad_output;
  Pack<T>* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const PackPlace at = pool.input.place(index);
    const PoolRange rows = pool.windows.rows.holders(static_cast<int>(at.row));
    const PoolRange columns = pool.windows.columns.holders(static_cast<int>(at.column));
    Pack<float> sum{};
    for (int i = rows.begin; i < rows.end; ++i) {
      const PoolRange window_rows = pool.windows.rows.window(i);
      for (int j = columns.begin; j < columns.end; ++j) {
        const float share = share_of(window_rows, pool.windows.columns.window(j));
        const Pack<float> grad = to_floats(grad_output[pool.output.index(at, i, j)]);
        for (int k = 0; k < channel_unit; ++k) sum.values[k] += grad.values[k] * share;
      }
    }
    grad_input[index] = from_floats<T>(sum);
  }
};

/// Whether a byte can number the pixels of a window.
bool places_are_bytes(const PoolTask& task) { return task.windows.rows.kernel <= 16; }

/// Calls run with a value of the stored type and a value of the type that numbers a window's pixels.
template <class Run>
void with_places(const PoolTask& task, const Run& run) {
  with_stored(task.type, [&](auto stored) {
    if (places_are_bytes(task)) {
      run(stored, std::uint8_t{});
    } else {
      run(stored, std::uint32_t{});
    }
  });
}

}  // namespace

std::size_t max_pool_places_bytes(const PoolTask& task) {
  const std::size_t bytes = places_are_bytes(task) ? sizeof(std::uint8_t) : sizeof(std::uint32_t);
  return packs_of_outputs(task) * channel_unit * bytes;
}

void max_pool_forward(StreamHandle stream, const PoolTask& task, const void* input, void* output,
                      void* places) {
  with_places(task, [&]<class T, class Place>(T /*stored*/, Place /*place*/) {
    for_each(
        stream, packs_of_outputs(task),
        MaxForward<T, Place>{Pool(task), packs_at<T>(input), packs_at<T>(output), packs_at<Place>(places)});
  });
}

void max_pool_backward(StreamHandle stream, const PoolTask& task, const void* places, const void* grad_output,
                       void* grad_input) {
  with_places(task, [&]<class T, class Place>(T /*stored*/, Place /*place*/) {
    for_each(stream, packs_of_inputs(task),
             MaxBackward<T, Place>{Pool(task), packs_at<Place>(places), packs_at<T>(grad_output),
                                   packs_at<T>(grad_input)});
  });
}

void avg_pool_forward(StreamHandle stream, const PoolTask& task, const void* input, void* output) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    for_each(stream, packs_of_outputs(task),
             AvgForward<T>{Pool(task), packs_at<T>(input), packs_at<T>(output)});
  });
}

void avg_pool_backward(StreamHandle stream, const PoolTask& task, const void* grad_output, void* grad_input) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    for_each(stream, packs_of_inputs(task),
             AvgBackward<T>{Pool(task), packs_at<T>(grad_output), packs_at<T>(grad_input)});
  });
}

}  // namespace lockstep::cuda
