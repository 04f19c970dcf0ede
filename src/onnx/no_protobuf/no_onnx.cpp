#include "lockstep/error.h"
#include "onnx/export.h"
#include "onnx/import.h"

namespace lockstep {
namespace {

[[noreturn]] void refuse_onnx() {
  throw Error(Category::resource, "this program was built without ONNX: " LOCKSTEP_ONNX_MISSING);
}

}  // namespace

OnnxExportSummary export_onnx(const std::filesystem::path& /*file*/, const Network& /*network*/,
                              const ModelFile& /*weights*/, const OnnxExportOptions& /*options*/) {
  refuse_onnx();
}

OnnxImport import_onnx(const std::filesystem::path& /*file*/, const OnnxImportOptions& /*options*/) {
  refuse_onnx();
}

std::vector<std::string> imported_operators() { return {}; }

}  // namespace lockstep
