#pragma once

#include <string>
#include <string_view>

#include "core/text/split.h"
#include "lockstep/field.h"

namespace lockstep {

/// Names in a list such as "name, seconds, share".
inline Names split_names(std::string_view list) {
  Names names = split(list, ',');
  for (std::string& name : names) name.erase(0, name.find_first_not_of(' '));
  return names;
}

template <class Visitor, class... Members>
void visit_members(const Names& names, Visitor& field, Members&... members) {
  auto name = names.begin();
  (field(members, Field{.name = (name++)->c_str()}), ...);
}

}  // namespace lockstep

/// Defines `visit` for a struct, with fields named after its members. Use it in the namespace of the struct
/// and list all members in order: LOCKSTEP_MEMBERS(StepPart, name, seconds, share)
#define LOCKSTEP_MEMBERS(Struct, ...)                      \
  template <OptionsOf<Struct> Object_, class Visitor_>     \
  void visit(Object_& object_, Visitor_&& field_) {        \
    static const Names names_ = split_names(#__VA_ARGS__); \
    auto& [__VA_ARGS__] = object_;                         \
    visit_members(names_, field_, __VA_ARGS__);            \
  }
