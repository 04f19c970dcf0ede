#include "core/json/json.h"
#include "data/files/table_encoding.h"
#include "fuzz.h"

namespace {

/// An accepted table must have a code for every row and column, finite elements, and an encoding that
/// survives JSON and then yields the same codes for the same file.
void read_input(std::span<const std::byte> file) {
  using namespace lockstep;
  CsvReader reader(as_text(file), "file");
  CsvTable table = parse_csv_table(reader);
  if (table.cells.size() != table.rows() || sorted_classes(table.labels.texts).empty()) __builtin_trap();
  const TableEncoding fitted = fit_table_encoding(table);
  const std::string text = json_of(fitted).dump();
  const JsonDocument document(text, {.file = "json"});
  TableEncoding encoding;
  document.read(document.root(), encoding);
  if (encoding != fitted) __builtin_trap();
  const EncodedTable encoded = encode_table(std::move(table), encoding);
  CsvReader again(as_text(file), "file");
  const EncodedTable read = read_encoded_table(again, encoding, encoding.label_column);
  std::vector<float> elements(encoding.elements()), others(encoding.elements());
  for (std::size_t row = 0; row < encoded.rows(); ++row) {
    encoding.write_elements(encoded.codes[row], elements);
    encoding.write_elements(read.codes[row], others);
    if (elements != others) __builtin_trap();
    for (const float element : elements) {
      if (!(element > -3.4e38F && element < 3.4e38F)) __builtin_trap();
    }
  }
}

const Parser csv("csv", read_input);

}  // namespace
