#include "cli/common_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <limits>
#include <sstream>

#include "core/nearest.h"
#include "lockstep/error.h"
#include "lockstep/models.h"

namespace lockstep {
namespace {

[[noreturn]] void reject_value(const std::string& text, const std::string& reason) {
  throw Error(Category::usage, fmt::format("{} {}", in_quotes(text), reason));
}

/// Statistics of the channels of well-known training sets, as PyTorch's and timm's recipes give them.
struct KnownStatistics {
  const char* name;
  std::vector<double> mean;
  std::vector<double> deviation;
};
std::vector<KnownStatistics> known_statistics() {
  return {{"mnist", {0.1307}, {0.3081}},
          {"fashion-mnist", {0.2860}, {0.3530}},
          {"cifar10", {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
          {"cifar100", {0.5071, 0.4865, 0.4409}, {0.2673, 0.2564, 0.2762}},
          {"imagenet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}};
}

/// Numbers, or those of a set that has a name.
std::vector<double> parse_statistics(const std::string& text, std::vector<double> KnownStatistics::*member,
                                     NumberRange range) {
  std::vector<std::string> names;
  for (const KnownStatistics& known : known_statistics()) {
    if (text == known.name) return known.*member;
    names.emplace_back(known.name);
  }
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0) {
    throw Error(Category::usage, unknown_name("set of statistics", text, names));
  }
  return parse_numbers(text, range);
}

void declare_statistics(OptionSet& set, const std::string& name, const std::string& help,
                        std::vector<double> KnownStatistics::*member, NumberRange range,
                        std::vector<double>& target) {
  set.value(
      name, "X,X,...|NAME",
      help +
          "; a number per channel, one for all, or those of mnist, fashion-mnist, cifar10, cifar100 or "
          "imagenet",
      [&target, member, range](const std::string& text) { target = parse_statistics(text, member, range); },
      [&target] { return fmt::format("{}", fmt::join(target, ",")); });
}

void declare_bounds(OptionSet& set, const std::string& name, const std::string& help, double& least,
                    double& most) {
  set.value(
      name, "MIN,MAX", help,
      [&least, &most](const std::string& text) {
        const std::vector<double> bounds = parse_numbers(text, {});
        if (bounds.size() != 2 || bounds[0] <= 0.0 || bounds[1] < bounds[0]) {
          reject_value(text, "is not MIN,MAX with 0 < MIN <= MAX");
        }
        least = bounds[0];
        most = bounds[1];
      },
      [&least, &most] { return fmt::format("{},{}", least, most); });
}

}  // namespace

Shape parse_shape(const std::string& text) {
  std::vector<int> extents;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, 'x');) {
    extents.push_back(static_cast<int>(parse_integer(item, {.min = 1, .max = 1U << 16}).magnitude));
  }
  if (extents.size() != 3 || text.ends_with('x'))
    reject_value(text, "is not CHANNELSxROWSxCOLUMNS, e.g. 3x224x224");
  return {.channels = extents[0], .height = extents[1], .width = extents[2]};
}

void declare_model(OptionSet& set, const std::string& help, std::string& model) {
  set.value(
      "model", "NAME",
      fmt::format("{}: {}; mlp:256,128 for other widths; or FILE.json, which describes one", help,
                  fmt::join(model_names(), ", ")),
      [&model](const std::string& text) {
        check_model_name(text);
        model = text;
      },
      [&model] { return model; });
}

void declare_data(OptionSet& set, std::string& dataset, DatasetOptions& options) {
  set.choice("dataset", "data set", dataset, dataset_names());
  set.text("data-dir", "DIR", "folder of the data set's files; without it, where the system keeps them",
           options.directory);
  set.integer("image-size", "N", "images: rows and columns that the network sees", options.image_size,
              {.min = 1, .max = 4096});
  set.choice("channels", "images: 3 for colour, 1 for grey", options.channels,
             std::vector<std::pair<std::string, int>>{{"3", 3}, {"1", 1}});
  set.text("label-column", "NAME", "csv: column of the classes; without it 'label', or else the last column",
           options.label_column);
  set.number(
      "test-fraction", "X",
      "csv, images: part of the rows or files that is held out for testing, where there is no test.csv or "
      "folder test",
      options.test_fraction, {.min = 0.0, .below = 1.0});
  set.value(
      "synthetic-shape", "CxHxW", "synthetic: shape of the images",
      [&options](const std::string& text) { options.shape = parse_shape(text); },
      [&options] {
        return fmt::format("{}x{}x{}", options.shape.channels, options.shape.height, options.shape.width);
      });
  set.integer("classes", "N", "synthetic: number of classes", options.classes, {.min = 1, .max = 1U << 20});
  set.integer("samples", "N", "synthetic: training images; for testing there are a fifth as many",
              options.samples, {.min = 1, .max = std::uint64_t{1} << 40});
}

void declare_input(OptionSet& set, InputOptions& input) {
  constexpr NumberRange any{.min = -std::numeric_limits<double>::infinity()};
  declare_statistics(set, "mean", "subtracted from each value (pixels are 0 to 1)", &KnownStatistics::mean,
                     any, input.mean);
  declare_statistics(set, "std", "standard deviation by which the difference is divided",
                     &KnownStatistics::deviation, {}, input.deviation);
  set.number("crop-pct", "X", "images: part of the resized image's shorter side that the network sees",
             input.crop_share, {.min = 0.01, .max = 1.0});
  set.flag("strict", "end with an error at an image that cannot be read, instead of leaving it out",
           input.strict);
}

void declare_augmentation(OptionSet& set, AugmentOptions& augment) {
  set.flag("random-resized-crop", "train on a random part of each image, resized",
           augment.random_resized_crop);
  declare_bounds(set, "scale", "its area, as a share of the image's", augment.scale_min, augment.scale_max);
  declare_bounds(set, "ratio", "its width over its height", augment.ratio_min, augment.ratio_max);
  set.integer("crop-padding", "N", "pad the image by N black pixels on each side, then cut out a random part",
              augment.crop_padding, {.min = 0, .max = 1024});
  set.number("hflip", "P", "swap left and right with probability P", augment.hflip, {.min = 0.0, .max = 1.0});
  set.text("randaugment", "rand-mM-nN", "apply N random operations of magnitude M (0 to 30) to each image",
           augment.randaugment);
  set.integer("cutout", "N", "black square of N pixels at a random place of each image", augment.cutout,
              {.min = 0, .max = 4096});
  set.number("mixup", "ALPHA", "mix each image and its label with another's; the share is Beta(ALPHA, ALPHA)",
             augment.mixup, {.max = 1000.0});
}

void declare_batch(OptionSet& set, std::uint32_t& batch_size, std::uint32_t& micro_batches) {
  set.integer("batch-size", "N", "images per step over all ranks together", batch_size,
              {.min = 1, .max = 1U << 24});
  set.integer_or("auto", "micro-batches",
                 "parts that a batch is cut into, the same on any number of ranks; must divide the batch "
                 "size, and is the largest number of ranks that can work",
                 micro_batches, {.min = 1, .max = 1U << 24});
}

void declare_reduce(OptionSet& set, Reduce& reduce) {
  set.choice("reduce",
             "how gradients are added: canonical gives the same bits on any number of ranks, ring is "
             "the library's own order; auto is canonical on CPU, ring on CUDA",
             reduce, {{"auto", Reduce::automatic}, {"canonical", Reduce::canonical}, {"ring", Reduce::ring}});
}

void declare_execution(OptionSet& set, ExecutionOptions& options) {
  set.choice(
      "device",
      "what ranks compute on; auto: a GPU each where all ranks can have one of their own, else processors",
      options.device, {"auto", "cpu", "cuda"});
  set.choice(
      "dtype",
      "CUDA: what convolutions and linear layers compute in, fp32 without TensorFloat-32; CPU ranks compute "
      "in fp32",
      options.dtype, {{"fp32", DataType::fp32}, {"tf32", DataType::tf32}, {"bf16", DataType::bf16}});
  set.integer_or(
      "auto", "threads",
      "threads of each CPU rank; of a GPU's rank, those that read samples which do not lie in its memory; "
      "auto shares a host's cores among its ranks",
      options.threads, {.min = 1, .max = 4096});
  set.choice("simd", "vector instructions of CPU ranks; all give the same bits", options.simd,
             {"auto", "avx2", "avx512", "neon"});
  set.choice("cuda-graph",
             "whether a GPU is given a whole step at once; off is for debugging, the bits are the same",
             options.cuda_graph, {{"on", true}, {"off", false}});
  set.text("plan-cache", "FILE",
           "CUDA: time the library's engines and keep in this file which is the fastest for each operation; "
           "without "
           "it, the library's own choice",
           options.plan_cache);
  set.numbers("rank-weights", "X,X,...",
              "shares of the work for ranks of different speeds, one per rank; empty: equal ones. Never "
              "changes a bit",
              options.rank_weights);
  set.choice(
      "transport",
      "how ranks exchange data; auto is shared memory within one host, and NCCL between GPUs, each of one "
      "rank; the others go through the host's memory, which lets ranks share a GPU",
      options.transport,
      {{"auto", Transport::automatic},
       {"shared-memory", Transport::shared_memory},
       {"messages", Transport::messages}});
}

}  // namespace lockstep
