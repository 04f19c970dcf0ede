#include "run/tensorboard/event_records.h"

#include <event.pb.h>

#include "run/tensorboard/record_frame.h"

namespace lockstep::tensorboard {
namespace {

struct ContentWriter {
  void operator()(float number) const { value.set_simple_value(number); }
  void operator()(const Markdown& markdown) const {
    value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
    value.mutable_tensor()->set_dtype(proto::TensorProto::DT_STRING);
    value.mutable_tensor()->add_string_val(markdown.text);
  }
  void operator()(const ConfusionPicture& picture) const {
    constexpr int rgb = 3;
    proto::Summary::Image& image = *value.mutable_image();
    image.set_width(picture.size);
    image.set_height(picture.size);
    image.set_colorspace(rgb);
    image.set_encoded_image_string(picture.png);
  }

  proto::Summary::Value& value;
};

void append(std::string& bytes, const proto::Event& event) { append_frame(bytes, event.SerializeAsString()); }

}  // namespace

void check_available() {}

void append_start(std::string& bytes, double wall_time) {
  proto::Event event;
  event.set_wall_time(wall_time);
  event.set_file_version("brain.Event:2");
  append(bytes, event);
  event.mutable_session_log()->set_status(proto::SessionLog::START);
  append(bytes, event);
}

void append_record(std::string& bytes, const Summary& summary, double wall_time) {
  if (summary.values.empty()) return;
  proto::Event event;
  event.set_wall_time(wall_time);
  event.set_step(summary.step);
  for (const Value& value : summary.values) {
    proto::Summary::Value& written = *event.mutable_summary()->add_value();
    written.set_tag(value.tag);
    std::visit(ContentWriter{written}, value.content);
  }
  append(bytes, event);
}

}  // namespace lockstep::tensorboard
