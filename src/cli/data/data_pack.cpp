#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/files/file.h"
#include "core/files/folder.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "data/files/shard_index.h"
#include "data/sets/images/image_parts.h"
#include "data/sets/images/labelled_images.h"
#include "data/sets/images/pack_images.h"
#include "data/sets/images/packed_images.h"
#include "data/sets/parts.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "ops/cpu/level.h"

namespace lockstep {
namespace {

struct PackRequest {
  std::string source;
  std::string target;
  int shard_megabytes = 1000;
  std::string labels;
  std::string label_column;
  Names drop_columns;
  double test_fraction = 0.0;
  PackOptions options;
};

template <OptionsOf<PackRequest> O, class Visitor>
void visit(O& request, Visitor&& field) {
  [[maybe_unused]] auto& [source, target, shard_megabytes, labels, label_column, drop_columns, test_fraction,
                          options] = request;
  field(options.size, {.name = "size",
                       .help = "shorter side of the packed images, in pixels; smaller images keep their size",
                       .group = "Packing",
                       .range = {.min = 1, .max = 4096}});
  field(options.quality,
        {.name = "quality", .help = "quality of the JPEG compression", .range = {.min = 1, .max = 100}});
  field(shard_megabytes, {.name = "shard-size",
                          .help = "size of a packed file, in megabytes, at which the next one is started",
                          .placeholder = "MB",
                          .range = {.min = 1, .max = 1000000}});
  field(labels,
        {.name = "labels",
         .help = "table of the images in DIR: a column with the names of the files, and one with their "
                 "classes; or a folder with train.csv, val.csv and test.csv",
         .placeholder = "FILE.csv",
         .scope = Scope::file});
  field(label_column,
        {.name = "label-column",
         .help = "name of the column with the classes; without it: 'label' or, if there is none, "
                 "the only one beside the names of the files",
         .needs = {{"labels"}}});
  field(drop_columns, {.name = "drop-columns",
                       .help = "names of columns with neither the names of the files nor the classes",
                       .needs = {{"labels"}}});
  field(
      test_fraction,
      {.name = "test-fraction",
       .help = "share of the images of each class that is held out for testing; for data without a test part",
       .range = {.below = 1}});
  field(options.strict,
        {.name = "strict",
         .help = "end with an error at an image that cannot be read, instead of skipping it"});
}

OptionSet option_set(PackRequest& request) {
  OptionSet set(
      "lockstep data pack [options] DIR OUT",
      "Packs the images of DIR/train/CLASS/, DIR/val/CLASS/ and DIR/test/CLASS/, or with "
      "--test-fraction those of DIR/CLASS/, or with --labels those of a table, into a few large files in "
      "OUT, which are smaller and faster to read. Train on them with --dataset images --data-dir OUT. An OUT "
      "that already holds packed images is refused; what an interrupted packing left there is replaced.");
  set.positional("DIR", "folder with the images, or tar files (train-{00..09}.tar)", request.source);
  set.positional("OUT", "folder for the packed files", request.target);
  set.add(request);
  set.epilogue("Example:\n  lockstep data pack imagenet imagenet-256 --size 256\n");
  return set;
}

void pack_part(const PackRequest& request, const std::string& part, const ImageList& list) {
  print_warnings(warnings_of(list));
  const PackResult result = pack_images(list, request.target, part, request.options);
  print_report(fmt::format("{:<6} {} of {} in {}, {:.1f} MB; {} not readable\n", part,
                           counted(result.packed, "image"), counted(list.classes.size(), "class"),
                           counted(result.shards, "file"), static_cast<double>(result.bytes) * 1e-6,
                           result.bad));
}

/// Lists the images of DIR. Errors do not name --data-dir, which this command does not have.
ImageParts list_parts(const PackRequest& request) {
  try {
    if (request.labels.empty()) return list_image_parts(request.source, request.test_fraction);
    return list_labelled_images({.directory = request.source,
                                 .labels = request.labels,
                                 .label_column = request.label_column,
                                 .drop_columns = request.drop_columns,
                                 .test_fraction = request.test_fraction});
  } catch (const Error& error) {
    if (error.field() != "data-dir") throw;
    throw Error(error.category(), error.message());
  }
}

/// Throws Error(usage) if `target` already has a complete packing, which a new one would overwrite.
void check_not_packed(const std::filesystem::path& target) {
  if (!has_packed_images(target)) return;
  std::vector<std::string> counts;
  for (const Part part : {Part::train, Part::validation, Part::test}) {
    const std::filesystem::path index = find_part(target, part, ".index");
    if (index.empty()) continue;
    try {
      const std::size_t images = parse_shard_index(read_file(index), index.string()).entries.size();
      counts.push_back(fmt::format("{} {}", images, part == Part::train ? "training" : names_of(part)[0]));
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      counts.push_back(fmt::format("{} is damaged", printable(index.filename().string())));
    }
  }
  throw Error(Category::usage,
              fmt::format("{}: already holds packed images ({}): remove it, or choose another folder for OUT",
                          target.string(), fmt::join(counts, ", ")));
}

/// Throws Error(usage) if packed files would hide the images in `target`, or would be taken for a class of
/// `list`.
void check_target(const std::filesystem::path& target, const ImageList& list) {
  for (const Part part : {Part::train, Part::validation, Part::test}) {
    const std::filesystem::path place = find_image_part(target, part);
    if (place.empty()) continue;
    throw Error(Category::usage, fmt::format("{}: holds {}, whose images the packed ones would hide; choose "
                                             "another folder for OUT",
                                             target.string(), place.filename().string()));
  }
  if (!lies_in(target, list.folder)) return;
  throw Error(Category::usage,
              fmt::format("{}: lies in the folder of the images, {}; choose another folder for OUT",
                          target.string(), list.folder.string()));
}

void pack_parts(PackRequest request) {
  request.options.shard_bytes = static_cast<std::uint64_t>(request.shard_megabytes) * 1'000'000;
  check_not_packed(request.target);
  request.options.on_bad_file = [](const std::string& line) { print_warning(line + "; skipped"); };
  const ImageParts images = list_parts(request);
  check_target(request.target, images.train);
  for (const std::optional<ImageList>* list : {&images.validation, &images.test}) {
    if (*list) check_target(request.target, **list);
  }
  // Pack the training images last: their index marks the packing as complete.
  for (const char* part : {"train", "validation", "test"}) remove_packed_images(request.target, part);
  if (images.validation) pack_part(request, "validation", *images.validation);
  if (images.test) pack_part(request, "test", *images.test);
  pack_part(request, "train", images.train);
}

int pack(World& world, const PackRequest& request) {
  world.agree([&] {
    cpu::best_level();  // throws on a processor without the instructions for resizing
    if (world.rank() == 0) pack_parts(request);
  });
  return 0;
}

}  // namespace

constinit const Command data_pack_command = command_of_ranks<PackRequest, option_set, pack>(
    "data pack", "pack a folder of images into a few files that are read faster");

}  // namespace lockstep
