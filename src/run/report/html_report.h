#pragma once

#include <string>

#include "run/run_record.h"

namespace lockstep {

/// Text of report.html: one self-contained page with curves, epochs, options and environment.
std::string html_report(const RunRecord& record);

}  // namespace lockstep
