#include "cli/results.h"

#include "cli/output.h"

namespace lockstep {

void ResultPrinter::text(const std::string& part) const {
  if (json_ || !prints_) return;
  print_report(part);
}

void ResultPrinter::print_document(const JsonValue& document) { print_report(json_text(document, 2) + "\n"); }

}  // namespace lockstep
