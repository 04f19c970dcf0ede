#include "cli/results.h"

#include "cli/output.h"

namespace lockstep {

void ResultPrinter::text(const std::string& part) const {
  if (json_ || !prints_) return;
  lockstep::print(part);
  flush_output();  // the next part may take seconds
}

void ResultPrinter::print_document(const JsonValue& document) {
  lockstep::print(json_text(document, 2) + "\n");
  flush_output();
}

}  // namespace lockstep
