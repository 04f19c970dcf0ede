#include "ops/cuda/kernels/batch_norm_training.h"

#include <algorithm>
#include <cmath>

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/kernels/sum_pair.h"

namespace lockstep::cuda {
namespace {

// A chunk is a range of pixels. Few chunks are cheap to merge (each row of threads merges the chunks of its
// channels); many chunks keep the whole GPU busy. The constants are computed, not measured.
constexpr std::size_t min_chunk = 128;
constexpr std::size_t max_chunks = 128;
constexpr std::size_t wanted_rows = 512;
static_assert(max_lanes * channel_unit <= max_row_lanes);

/// Division of a tensor into tiles: a row of threads processes a chunk of pixels and a group of adjacent
/// packs.
struct Tiles {
  Index pixels, packs;  ///< pixels of the tensor, packs of a pixel
  Index lanes;          ///< packs of a group; the last group may extend beyond the last pack
  Index groups;         ///< of a pixel
  Index chunk;          ///< pixels of a chunk
  Index chunks;

  LOCKSTEP_HD Index channels() const { return packs * channel_unit; }
  LOCKSTEP_HD Index size_of_chunk(Index number) const {
    const Index rest = pixels - number * chunk;
    return rest < chunk ? rest : chunk;
  }
  /// A pack of channels in a chunk.
  struct Place {
    Index chunk;
    Index pack;   ///< of a pixel
    Index first;  ///< index of the first pack in the tensor
    Index count;  ///< number of pixels; 0 beyond the last pack
  };
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane) const {
    const Index number = static_cast<Index>(row) / groups;
    const Index pack = static_cast<Index>(row) % groups * lanes + lane;
    return {number, pack, number * chunk * packs + pack, pack < packs ? size_of_chunk(number) : 0};
  }
  LOCKSTEP_HD Index index(const Place& at, std::size_t k) const {
    return at.first + static_cast<Index>(k) * packs;
  }
  /// A channel of a row's group.
  struct ChannelPlace {
    Index channel;
    bool first_chunk;  ///< whether the row's chunk is the first one
    Index chunks;      ///< number of chunks; 0 beyond the last channel
  };
  LOCKSTEP_HD ChannelPlace channel_place(std::size_t row, unsigned lane) const {
    const Index channel = static_cast<Index>(row) % groups * lanes * channel_unit + lane;
    return {channel, row < groups, channel < channels() ? chunks : 0};
  }
  std::size_t rows() const { return std::size_t{chunks} * groups; }
};

Tiles tiles_of(const NormTraining& norm) {
  const std::size_t packs = packs_of(1, norm.channels);
  const std::size_t lanes = lanes_for(packs);
  const std::size_t groups = (packs + lanes - 1) / lanes;
  const std::size_t wanted = std::clamp(wanted_rows / groups, std::size_t{1}, max_chunks);
  const std::size_t chunk = std::max(min_chunk, (norm.pixels + wanted - 1) / wanted);
  return {.pixels = static_cast<Index>(norm.pixels),
          .packs = static_cast<Index>(packs),
          .lanes = static_cast<Index>(lanes),
          .groups = static_cast<Index>(groups),
          .chunk = static_cast<Index>(chunk),
          .chunks = static_cast<Index>((norm.pixels + chunk - 1) / chunk)};
}

/// Results of a chunk for one channel: mean and sum of squared distances from the mean, or two sums.
struct alignas(2 * sizeof(float)) ChunkPair {
  float first, second;
};

/// Statistics of the micro-batch, each [padded channel].
struct Statistics {
  float* mean;
  float* inverse_deviation;
  float* variance;  ///< biased: divided by the number of values
};

Statistics statistics_of(const NormTraining& norm) {
  const auto channels = static_cast<std::size_t>(padded_channels(norm.channels));
  return {norm.statistics, norm.statistics + channels, norm.statistics + 2 * channels};
}

/// Values before the activation, for the channels of a pack: (x - mean) * scale + bias.
struct Normalization {
  Pack<float> mean, scale, bias;
  LOCKSTEP_HD float operator()(float x, int c) const {
    return std::fma(x - mean.values[c], scale.values[c], bias.values[c]);
  }
};

/// Number of values, their mean, and the sum of their squared distances from the mean, for several channels.
/// Merged by the formula of Chan, Golub and LeVeque (1983), which is Welford's if a single value is added.
template <int channels>
struct Moments {
  float count = 0.0F;
  float mean[channels] = {};
  float squares[channels] = {};

  LOCKSTEP_HD Moments& operator+=(const Moments& other) {
    if (other.count == 0.0F) return *this;
    const float total = count + other.count;
    const float share = other.count / total;
    const float factor = count * share;
    for (int c = 0; c < channels; ++c) {
      const float distance = other.mean[c] - mean[c];
      mean[c] = std::fma(distance, share, mean[c]);
      squares[c] = std::fma(distance * distance, factor, squares[c] + other.squares[c]);
    }
    count = total;
    return *this;
  }
};

/// Computes the moments of each chunk.
template <class T>
struct MeasureChunks {
  using Sum = Moments<channel_unit>;
  static constexpr unsigned ahead = 4;
  Tiles tiles;
  const Pack<T>* input;
  ChunkPair* chunks;  ///< [chunk][padded channel]

  LOCKSTEP_HD unsigned lanes() const { return tiles.lanes; }
  LOCKSTEP_HD Tiles::Place place(std::size_t row, unsigned lane) const { return tiles.place(row, lane); }
  LOCKSTEP_HD std::size_t terms(const Tiles::Place& at) const { return at.count; }
  LOCKSTEP_HD Pack<T> load(const Tiles::Place& at, std::size_t k) const { return input[tiles.index(at, k)]; }
  LOCKSTEP_HD Sum term(const Tiles::Place& /*at*/, std::size_t /*k*/, const Pack<T>& pack) const {
    const Pack<float> values = to_floats(pack);
    Sum sum{.count = 1.0F};
    for (int c = 0; c < channel_unit; ++c) sum.mean[c] = values.values[c];
    return sum;
  }
  LOCKSTEP_HD void finish(const Tiles::Place& at, const Sum& sum) const {
    if (at.count == 0) return;
    ChunkPair* const to = chunks + (at.chunk * tiles.packs + at.pack) * channel_unit;
    for (int c = 0; c < channel_unit; ++c) to[c] = {sum.mean[c], sum.squares[c]};
  }
};

/// Reads the chunk results of the channels that a row of threads processes afterwards.
struct ChunksOfChannels {
  static constexpr unsigned ahead = 4;
  Tiles tiles;
  const ChunkPair* chunks;

  LOCKSTEP_HD unsigned lanes() const { return tiles.lanes * channel_unit; }
  LOCKSTEP_HD Tiles::ChannelPlace place(std::size_t row, unsigned lane) const {
    return tiles.channel_place(row, lane);
  }
  LOCKSTEP_HD std::size_t terms(const Tiles::ChannelPlace& at) const { return at.chunks; }
  LOCKSTEP_HD ChunkPair load(const Tiles::ChannelPlace& at, std::size_t k) const {
    return chunks[k * tiles.channels() + at.channel];
  }
};

/// Merges the chunks of each channel. The first row of each group stores the statistics.
struct MergeMoments : ChunksOfChannels {
  using Sum = Moments<1>;
  struct Result {
    float mean, scale, bias;
  };
  float eps;
  const float* weight;
  const float* bias;
  Statistics statistics;

  LOCKSTEP_HD Sum term(const Tiles::ChannelPlace& /*at*/, std::size_t k, const ChunkPair& chunk) const {
    return {static_cast<float>(tiles.size_of_chunk(static_cast<Index>(k))), {chunk.first}, {chunk.second}};
  }
  LOCKSTEP_HD Result finish(const Tiles::ChannelPlace& at, const Sum& sum) const {
    if (at.chunks == 0) return {0.0F, 0.0F, 0.0F};
    const float variance = sum.squares[0] / sum.count;
    const float inverse = 1.0F / std::sqrt(variance + eps);
    if (at.first_chunk) {
      statistics.mean[at.channel] = sum.mean[0];
      statistics.inverse_deviation[at.channel] = inverse;
      statistics.variance[at.channel] = variance;
    }
    return {sum.mean[0], weight[at.channel] * inverse, bias[at.channel]};
  }
};

/// Normalizes a chunk, after MergeMoments.
template <class T>
struct NormalizeChunk {
  static constexpr unsigned ahead = 4;
  Tiles tiles;
  NormClamp clamp;
  const Pack<T>* input;
  const Pack<T>* residual;
  Pack<T>* output;

  struct Place {
    Tiles::Place at;
    Normalization normalization;
  };
  struct Loaded {
    Pack<T> input, residual;
  };

  LOCKSTEP_HD unsigned lanes() const { return tiles.lanes; }
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane, const MergeMoments::Result* results) const {
    Place place{tiles.place(row, lane), {}};
    for (int c = 0; c < channel_unit; ++c) {
      const MergeMoments::Result& result = results[lane * channel_unit + static_cast<unsigned>(c)];
      place.normalization.mean.values[c] = result.mean;
      place.normalization.scale.values[c] = result.scale;
      place.normalization.bias.values[c] = result.bias;
    }
    return place;
  }
  LOCKSTEP_HD std::size_t terms(const Place& place) const { return place.at.count; }
  LOCKSTEP_HD Loaded load(const Place& place, std::size_t k) const {
    const Index i = tiles.index(place.at, k);
    Loaded loaded{input[i], {}};
    if (residual != nullptr) loaded.residual = residual[i];
    return loaded;
  }
  LOCKSTEP_HD void store(const Place& place, std::size_t k, const Loaded& loaded) const {
    Pack<float> values = to_floats(loaded.input);
    const Pack<float> more = to_floats(loaded.residual);
    for (int c = 0; c < channel_unit; ++c) {
      float value = place.normalization(values.values[c], c);
      if (residual != nullptr) value += more.values[c];
      values.values[c] = clamp(value);
    }
    output[tiles.index(place.at, k)] = from_floats<T>(values);
  }
};

/// Computes the gradient before the activation.
template <class T>
struct GradientSource {
  const Pack<T>* input;
  const Pack<T>* grad;
  const Pack<T>* more;    ///< added to `grad`; may be null
  const Pack<T>* output;  ///< the activation's output; null: the activation's input is recomputed
  bool clamps;            ///< whether there is an activation
  NormClamp clamp;

  struct Loaded {
    Pack<T> input, grad, more, output;
  };
  LOCKSTEP_HD Loaded load(Index i) const {
    Loaded loaded{input[i], grad[i], {}, {}};
    if (more != nullptr) loaded.more = more[i];
    if (output != nullptr) loaded.output = output[i];
    return loaded;
  }
  /// Rounds the sum of both gradients to the type, so that the result does not depend on whether the sum is
  /// stored.
  LOCKSTEP_HD Pack<T> operator()(const Loaded& loaded, const Normalization& normalization) const {
    Pack<T> result = loaded.grad;
    for (int c = 0; c < channel_unit; ++c) {
      if (more != nullptr) {
        result.values[c] = from_float<T>(to_float(result.values[c]) + to_float(loaded.more.values[c]));
      }
      if (!clamps) continue;
      const float value = output != nullptr ? to_float(loaded.output.values[c])
                                            : normalization(to_float(loaded.input.values[c]), c);
      if (!clamp.passes(value)) result.values[c] = from_float<T>(0.0F);
    }
    return result;
  }
};

/// Sums of the gradients before the activation, and of their products with the input's distance from the
/// mean.
struct ChunkSums {
  float gradients[channel_unit] = {};
  float products[channel_unit] = {};

  LOCKSTEP_HD ChunkSums& operator+=(const ChunkSums& other) {
    for (int c = 0; c < channel_unit; ++c) {
      gradients[c] += other.gradients[c];
      products[c] += other.products[c];
    }
    return *this;
  }
};

/// Computes the sums of each chunk, and stores the gradient before the activation as the residual's gradient.
template <class T>
struct SumGradients {
  using Sum = ChunkSums;
  static constexpr unsigned ahead = 2;
  Tiles tiles;
  GradientSource<T> source;
  const float* weight;
  const float* bias;
  Statistics statistics;
  Pack<T>* grad_residual;  ///< may be null
  ChunkPair* chunks;       ///< [chunk][padded channel]

  struct Place {
    Tiles::Place at;
    Normalization normalization;
  };

  LOCKSTEP_HD unsigned lanes() const { return tiles.lanes; }
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane) const {
    Place place{tiles.place(row, lane), {}};
    if (place.at.count == 0) return place;
    Normalization& normalization = place.normalization;
    normalization.mean = packs_at<float>(statistics.mean)[place.at.pack];
    normalization.scale = packs_at<float>(weight)[place.at.pack];
    normalization.bias = packs_at<float>(bias)[place.at.pack];
    const Pack<float> inverse = packs_at<float>(statistics.inverse_deviation)[place.at.pack];
    for (int c = 0; c < channel_unit; ++c) normalization.scale.values[c] *= inverse.values[c];
    return place;
  }
  LOCKSTEP_HD std::size_t terms(const Place& place) const { return place.at.count; }
  LOCKSTEP_HD auto load(const Place& place, std::size_t k) const {
    return source.load(tiles.index(place.at, k));
  }
  LOCKSTEP_HD Sum term(const Place& place, std::size_t k,
                       const typename GradientSource<T>::Loaded& loaded) const {
    const Pack<T> gradient = source(loaded, place.normalization);
    if (grad_residual != nullptr) grad_residual[tiles.index(place.at, k)] = gradient;
    const Pack<float> values = to_floats(loaded.input);
    const Pack<float> gradients = to_floats(gradient);
    Sum sum;
    for (int c = 0; c < channel_unit; ++c) {
      sum.gradients[c] = gradients.values[c];
      sum.products[c] = gradients.values[c] * (values.values[c] - place.normalization.mean.values[c]);
    }
    return sum;
  }
  LOCKSTEP_HD void finish(const Place& place, const Sum& sum) const {
    if (place.at.count == 0) return;
    ChunkPair* const to = chunks + (place.at.chunk * tiles.packs + place.at.pack) * channel_unit;
    for (int c = 0; c < channel_unit; ++c) to[c] = {sum.gradients[c], sum.products[c]};
  }
};

/// Adds up the chunks of each channel. The first row of each group stores the parameters' gradients.
struct MergeGradients : ChunksOfChannels {
  using Sum = SumPair<double>;
  /// The input's gradient is (grad + shift + (x - mean) * slope) * scale.
  struct Result {
    float mean, scale, bias, slope, shift;
  };
  Index network_channels;
  float samples;
  const float* weight;
  const float* bias;
  Statistics statistics;
  float* grad_weight;
  float* grad_bias;
  float* grad_mean;
  float* grad_variance;

  LOCKSTEP_HD Sum term(const Tiles::ChannelPlace& /*at*/, std::size_t /*k*/, const ChunkPair& chunk) const {
    return {static_cast<double>(chunk.first), static_cast<double>(chunk.second)};
  }
  LOCKSTEP_HD Result finish(const Tiles::ChannelPlace& at, const Sum& sum) const {
    if (at.chunks == 0) return {0.0F, 0.0F, 0.0F, 0.0F, 0.0F};
    const Index c = at.channel;
    const float inverse = statistics.inverse_deviation[c];
    const auto values = static_cast<double>(tiles.pixels);
    if (at.first_chunk && c < network_channels) {
      grad_bias[c] = static_cast<float>(sum.first);
      grad_weight[c] = static_cast<float>(sum.second * static_cast<double>(inverse));
      const auto unbiased = static_cast<float>(values > 1.0 ? values / (values - 1.0) : 1.0);
      grad_mean[c] = samples * statistics.mean[c];
      grad_variance[c] = samples * (statistics.variance[c] * unbiased);
    }
    const double square = static_cast<double>(inverse) * static_cast<double>(inverse);
    return {statistics.mean[c], weight[c] * inverse, bias[c],
            -static_cast<float>(sum.second * square / values), -static_cast<float>(sum.first / values)};
  }
};

/// Computes a chunk of the input's gradient, after MergeGradients.
template <class T>
struct DifferentiateChunk {
  static constexpr unsigned ahead = 2;
  Tiles tiles;
  GradientSource<T> source;
  Pack<T>* grad_input;  ///< null: not needed

  struct Place {
    Tiles::Place at;
    Normalization normalization;
    Pack<float> slope, shift;
  };

  LOCKSTEP_HD unsigned lanes() const { return tiles.lanes; }
  LOCKSTEP_HD Place place(std::size_t row, unsigned lane, const MergeGradients::Result* results) const {
    Place place{tiles.place(row, lane), {}, {}, {}};
    for (int c = 0; c < channel_unit; ++c) {
      const MergeGradients::Result& result = results[lane * channel_unit + static_cast<unsigned>(c)];
      place.normalization.mean.values[c] = result.mean;
      place.normalization.scale.values[c] = result.scale;
      place.normalization.bias.values[c] = result.bias;
      place.slope.values[c] = result.slope;
      place.shift.values[c] = result.shift;
    }
    return place;
  }
  LOCKSTEP_HD std::size_t terms(const Place& place) const {
    return grad_input != nullptr ? place.at.count : 0;
  }
  LOCKSTEP_HD auto load(const Place& place, std::size_t k) const {
    return source.load(tiles.index(place.at, k));
  }
  LOCKSTEP_HD void store(const Place& place, std::size_t k,
                         const typename GradientSource<T>::Loaded& loaded) const {
    const Pack<float> gradients = to_floats(source(loaded, place.normalization));
    const Normalization& normalization = place.normalization;
    Pack<float> values = to_floats(loaded.input);
    for (int c = 0; c < channel_unit; ++c) {
      const float distance = values.values[c] - normalization.mean.values[c];
      const float centered = gradients.values[c] + place.shift.values[c];
      values.values[c] = std::fma(distance, place.slope.values[c], centered) * normalization.scale.values[c];
    }
    grad_input[tiles.index(place.at, k)] = from_floats<T>(values);
  }
};

}  // namespace

std::size_t NormTraining::statistics_bytes() const {
  return 3 * static_cast<std::size_t>(padded_channels(channels)) * sizeof(float);
}

std::size_t NormTraining::scratch_bytes() const {
  return tiles_of(*this).chunks * static_cast<std::size_t>(padded_channels(channels)) * sizeof(ChunkPair);
}

void batch_norm_forward(StreamHandle stream, const NormForward& norm) {
  const Tiles tiles = tiles_of(norm);
  auto* const chunks = reinterpret_cast<ChunkPair*>(norm.scratch);
  with_stored(norm.type, [&]<class T>(T /*stored*/) {
    const Pack<T>* const input = packs_at<T>(norm.input);
    for_each_row(stream, tiles.rows(), MeasureChunks<T>{tiles, input, chunks});
    for_each_row(
        stream, tiles.rows(),
        MergeMoments{{tiles, chunks}, norm.eps, norm.weight, norm.bias, statistics_of(norm)},
        NormalizeChunk<T>{tiles, norm.clamp, input, packs_at<T>(norm.residual), packs_at<T>(norm.output)});
  });
}

void batch_norm_backward(StreamHandle stream, const NormBackward& norm) {
  const Tiles tiles = tiles_of(norm);
  auto* const chunks = reinterpret_cast<ChunkPair*>(norm.scratch);
  with_stored(norm.type, [&]<class T>(T /*stored*/) {
    const GradientSource<T> source{
        packs_at<T>(norm.input),  packs_at<T>(norm.grad_output), packs_at<T>(norm.more_grad_output),
        packs_at<T>(norm.output), norm.clamp.clamps(),           norm.clamp};
    auto* const grad_residual = packs_at<T>(norm.grad_residual);
    for_each_row(
        stream, tiles.rows(),
        SumGradients<T>{tiles, source, norm.weight, norm.bias, statistics_of(norm), grad_residual, chunks});
    // The residual's gradient is the gradient before the activation.
    const GradientSource<T> stored_source{source.input, grad_residual, nullptr, nullptr, false, {}};
    for_each_row(stream, norm.grad_input != nullptr ? tiles.rows() : tiles.groups,
                 MergeGradients{{tiles, chunks},
                                static_cast<Index>(norm.channels),
                                static_cast<float>(norm.samples),
                                norm.weight,
                                norm.bias,
                                statistics_of(norm),
                                norm.grad_weight,
                                norm.grad_bias,
                                norm.grad_mean,
                                norm.grad_variance},
                 DifferentiateChunk<T>{tiles, grad_residual != nullptr ? stored_source : source,
                                       packs_at<T>(norm.grad_input)});
  });
}

}  // namespace lockstep::cuda
