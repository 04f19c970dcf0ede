#pragma once

#include <string>

#include "report/run_record.h"

namespace lockstep {

/// report.html: one page without anything from elsewhere: figures, curves, epochs, options, environment.
std::string html_report(const RunRecord& record);

}  // namespace lockstep
