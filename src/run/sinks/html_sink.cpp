#include "run/sinks/html_sink.h"

#include "core/files/atomic_file.h"
#include "run/report/html_report.h"
#include "run/run_record.h"

namespace lockstep {

void HtmlSink::on_event(const RunEvent& event) {
  if (!std::holds_alternative<EndReport>(event)) return;
  write_text_file(folder_.report(), html_report(read_run_record(folder_)));
}

}  // namespace lockstep
