#pragma once

#include <string>

#include "cli/output.h"
#include "core/json/json.h"
#include "lockstep/field.h"

namespace lockstep {

/// Form in which a command prints its results.
struct ResultOptions {
  bool json = false;
};

template <OptionsOf<ResultOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [json] = options;
  field(json, {.name = "json",
               .help = "print the results as one JSON document instead of text (docs/json.md)",
               .group = "Results",
               .scope = Scope::local});
}

/// Prints the results of a command, a struct that `visit` describes, on stdout: as text, part by part as they
/// are measured, or with --json as one document once they are complete. Functions throw Error(resource) as
/// print_report() does.
class ResultPrinter {
 public:
  /// `prints`: whether this process prints; only rank 0 does.
  ResultPrinter(const ResultOptions& options, bool prints) : json_(options.json), prints_(prints) {}

  /// Prints the text of a part at once; nothing with --json.
  void text(const std::string& part) const {
    if (!json_ && prints_) print_report(part);
  }
  /// Prints the document with --json; else nothing. Call once.
  template <class Results>
  void finish(const Results& results) const {
    if (json_ && prints_) print_report(json_text(json_of(results), 2) + "\n");
  }
  /// Prints complete results in either form; their text is text_of(results).
  template <class Results>
  void print(const Results& results) const {
    json_ ? finish(results) : text(text_of(results));
  }

 private:
  bool json_;
  bool prints_;
};

}  // namespace lockstep
