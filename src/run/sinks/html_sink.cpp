#include "run/sinks/html_sink.h"

#include "core/files/atomic_file.h"
#include "lockstep/error.h"
#include "run/report/html_report.h"
#include "run/run_record.h"

namespace lockstep {

void HtmlSink::on_event(const RunEvent& event) {
  if (!std::holds_alternative<EndReport>(event)) return;
  // The record is not an input of the run, so a missing file is not Error(data).
  if (file_kind(folder_.metrics()) == FileKind::missing) {
    refuse_file(folder_.metrics(),
                "was moved or removed during the run, so there is no report: put it back, and run lockstep "
                "report",
                Category::resource);
  }
  write_text_file(folder_.report(), html_report(read_run_record(folder_)));
}

}  // namespace lockstep
