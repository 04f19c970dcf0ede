#pragma once

#include <string>
#include <vector>

#include "lockstep/world.h"

namespace lockstep {

/// Image files that a user names, in this order: a file is itself; a folder stands for the image files
/// in it and its folders, in ascending order of their names, without hidden ones; "-" stands for the lines of
/// the standard input, each a file or folder. Names in the result need not exist. Rank 0 looks, and sends the
/// names to the others. Collective. Throws on all ranks Error(data) for a folder without images.
std::vector<std::string> find_inputs(const World& world, const std::vector<std::string>& named);

}  // namespace lockstep
