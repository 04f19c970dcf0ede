#include "report/sinks/html_sink.h"

#include "core/files/atomic_file.h"
#include "report/html_report.h"
#include "report/run_record.h"

namespace lockstep {

void HtmlSink::on_end(const EndReport& /*event*/) {
  write_text_file(directory_.report(), html_report(read_run_record(directory_)));
}

}  // namespace lockstep
