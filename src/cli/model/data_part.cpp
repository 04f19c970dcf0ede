#include "cli/model/data_part.h"

#include "comm/world/agreed.h"
#include "data/sets/registry.h"
#include "data/sets/whole.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void check_part(const DatasetPair& data, Split split) {
  if (split == Split::test && !data.test) {
    throw Error(Category::usage, "the data has no test part; --split all takes all samples", "split");
  }
  if (split != Split::validation || data.validation) return;
  throw Error(Category::usage,
              data.tests_on_validation
                  ? "the validation part is the test set here, as there is no other: measure that"
                  : "the data has no validation part, and no validation fraction is given",
              "split");
}

}  // namespace

std::string adjective_of(Split split) {
  if (split == Split::train) return "training";
  return split == Split::all ? "" : name_of(split);
}

DataPart open_part(const World& world, const DatasetOptions& options, Split split, const SavedModel& model) {
  DataPart part{.split = split};
  if (split == Split::all) {
    const auto table = agreed(world, [&] { return trained_table(model); });
    part.whole = open_whole(world, options, options.name == "csv" && table ? &*table : nullptr);
    world.agree([&] { check_kind(*part.whole, model); });
    return part;
  }
  part.data = open_parts(world, options, DataUse::measuring);
  world.agree([&] {
    check_kind(*part.data.train, model);
    check_part(part.data, split);
  });
  return part;
}

}  // namespace lockstep
