#include "ops/cuda/dnn/native/cudnn_graph.h"

// Only this source includes cudnn_frontend.h, which takes half a minute to compile.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/files/file.h"
#include "device/cuda/native/check.h"
#include "lockstep/error.h"
#include "ops/cuda/dnn/cudnn.h"
#include "ops/cuda/dnn/native/cudnn_target.h"

// Library in which the frontend looks up functions.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace lockstep::cuda {
namespace {

namespace fe = cudnn_frontend;
using Dims = std::vector<std::int64_t>;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

/// Shortens a message to one line: cuDNN's messages may list all engines.
std::string one_line(std::string text) {
  constexpr std::size_t enough = 300;
  if (text.size() > enough) text = text.substr(0, enough) + "...";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void check(fe::error_t status, const std::string& what) {
  if (status.is_bad())
    throw Error(Category::resource, "cuDNN: " + what + ": " + one_line(status.get_message()));
}

/// Calls `code` and converts exceptions of the frontend to Error.
template <class Code>
auto guarded(const std::string& what, const Code& code) {
  try {
    return code();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(Category::resource, "cuDNN: " + what + ": " + one_line(error.what()));
  }
}

std::string read_description(const std::filesystem::path& path) {
  constexpr std::size_t max_bytes = std::size_t{1} << 20;
  std::string text = read_text(path, max_bytes);
  if (text.empty()) throw Error(Category::data, path.string() + ": is empty");
  return text;
}

std::string name_in(const std::string& description, const std::filesystem::path& path) {
  const auto json = nlohmann::json::parse(description, nullptr, false);
  if (!json.is_object() || !json.value("deviceName", nlohmann::json()).is_string()) {
    throw Error(Category::data, path.string() + ": not a description of a GPU: no \"deviceName\"");
  }
  return json["deviceName"];
}

std::string current_gpu() {
  int device = 0;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties.name;
}

std::shared_ptr<const fe::DeviceProperties> properties_in(const std::string& description,
                                                          const std::filesystem::path& path) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  auto status = properties->deserialize({description.begin(), description.end()});
  if (status.is_bad()) {
    throw Error(Category::data,
                path.string() + ": not a description of a GPU: " + one_line(status.get_message()));
  }
  return properties;
}

fe::DataType_t storage_of(Type type) {
  return type == Type::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::FLOAT;
}

/// Notes that exclude an engine: nondeterministic results, sums not in float and, with fp32, products not in
/// float.
std::vector<fe::NumericalNote_t> unwanted_notes(Type type) {
  using Note = fe::NumericalNote_t;
  if (type == Type::fp32) {
    return {Note::NONDETERMINISTIC, Note::REDUCED_PRECISION_REDUCTION, Note::TENSOR_CORE,
            Note::DOWN_CONVERT_INPUTS};
  }
  return {Note::NONDETERMINISTIC, Note::REDUCED_PRECISION_REDUCTION};
}

const char* name_of_note(fe::NumericalNote_t note) {
  using Note = fe::NumericalNote_t;
  static const std::map<Note, const char*> names = {{Note::TENSOR_CORE, "TENSOR_CORE"},
                                                    {Note::DOWN_CONVERT_INPUTS, "DOWN_CONVERT_INPUTS"},
                                                    {Note::FFT, "FFT"},
                                                    {Note::WINOGRAD, "WINOGRAD"}};
  const auto found = names.find(note);
  return found == names.end() ? "another note" : found->second;
}

/// Gives access to protected lists of the frontend.
struct OpenGraph : fe::graph::Graph {
  std::string notes_of(std::int64_t i) const {
    std::string text;
    for (const fe::NumericalNote_t note : plans.numeric_notes[static_cast<std::size_t>(i)]) {
      if (note == fe::NumericalNote_t::NOT_SET) continue;  // the frontend fills its lists with NOT_SET
      text += (text.empty() ? "" : " ") + std::string(name_of_note(note));
    }
    return text;
  }
  bool has_note(std::int64_t i, fe::NumericalNote_t note) const {
    return std::ranges::count(plans.numeric_notes[static_cast<std::size_t>(i)], note) > 0;
  }
  bool is_wanted(std::int64_t i) { return plans.check_support_at_index(i).is_good(); }
};

/// Tensors are NHWC in memory, with extents in the order NCHW, and numbered in the order of creation.
class GraphImpl final : public CudnnGraph {
 public:
  GraphImpl(const CudnnTarget& target, const ConvProblem& problem, ConvDirection direction)
      : target_(target),
        problem_(problem),
        direction_(direction),
        what_(fmt::format("convolution {} of {}", name_of(direction), describe(problem))) {
    graph_.set_io_data_type(storage_of(type_))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    // By default, the frontend loads another CUDA runtime to keep plans alive; here, the plans' owner keeps
    // them alive.
    graph_.set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
  }

  static Dims strides(const Dims& dims) {
    return {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
  }

  Tensor input(const Dims& dims, const Dims& strides) {
    auto attributes = fe::graph::Tensor_attributes()
                          .set_dim(dims)
                          .set_stride(strides)
                          .set_data_type(storage_of(type_))
                          .set_uid(next_uid());
    tensor_bytes_.push_back(bytes(dims, strides));
    return graph_.tensor(attributes);
  }
  Tensor input(const Dims& dims) { return input(dims, strides(dims)); }

  void output(const Tensor& tensor, const Dims& dims, const Dims& strides) {
    tensor->set_output(true)
        .set_dim(dims)
        .set_stride(strides)
        .set_data_type(storage_of(type_))
        .set_uid(next_uid());
    tensor_bytes_.push_back(bytes(dims, strides));
  }
  void output(const Tensor& tensor, const Dims& dims) { output(tensor, dims, strides(dims)); }

  Tensor pointwise(const Tensor& a, const Tensor& b, fe::PointwiseMode_t mode) {
    return graph_.pointwise(a, b, fe::graph::Pointwise_attributes().set_mode(mode));
  }
  Tensor relu(const Tensor& x) {
    return graph_.pointwise(x, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
  }
  OpenGraph& graph() { return graph_; }

  /// Completes the graph and lists its engines.
  void finish() {
    guarded(what_, [&] {
      if (target_.is_described()) graph_.set_device_properties(target_.properties());
      if (!is_good(graph_.validate()) || !is_good(graph_.build_operation_graph(raw_handle()))) return;
      // Either mode may yield no engines.
      for (const auto mode : {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}) {
        is_good(graph_.create_execution_plans({mode}));
      }
      graph_.deselect_numeric_notes(unwanted_notes(type_));
      graph_.deselect_behavior_notes({fe::BehaviorNote_t::RUNTIME_COMPILATION});
      graph_.deselect_workspace_greater_than(static_cast<std::int64_t>(cudnn_workspace_limit));
      list_engines();
    });
  }

  const std::vector<Engine>& engines() const override { return engines_; }
  const std::string& refusal() const override { return refusal_; }
  const std::vector<std::size_t>& tensor_bytes() const override { return tensor_bytes_; }

  bool build(std::size_t engine) override {
    return guarded(what_, [&] { return graph_.build_plan_at_index(plan_of_[engine]).is_good(); });
  }

  std::size_t workspace_bytes(std::size_t engine) const override {
    std::int64_t bytes = 0;
    check(graph_.get_workspace_size_plan_at_index(plan_of_[engine], bytes), what_);
    return static_cast<std::size_t>(bytes);
  }

  void run(std::size_t engine, StreamHandle stream, std::span<void* const> tensors,
           void* workspace) const override {
    if (target_.is_described())
      throw Error(Category::internal, what_ + " was planned for a GPU that is described, not present");
    guarded(what_, [&] {
      std::unordered_map<std::int64_t, void*> addresses;
      for (std::size_t i = 0; i < tensors.size(); ++i)
        addresses[static_cast<std::int64_t>(i) + 1] = tensors[i];
      check(graph_.execute_plan_at_index(target_.handle().on(stream), addresses, workspace, plan_of_[engine]),
            what_);
    });
  }

 private:
  cudnnHandle_t raw_handle() const { return target_.is_described() ? nullptr : target_.handle().get(); }

  bool is_good(fe::error_t status) {
    if (status.is_bad()) refusal_ = one_line(status.get_message());
    return status.is_good();
  }

  std::int64_t next_uid() const { return static_cast<std::int64_t>(tensor_bytes_.size()) + 1; }

  std::size_t bytes(const Dims& dims, const Dims& strides) const {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
    return static_cast<std::size_t>(last + 1) * bytes_of(type_);
  }

  void list_engines() {
    for (std::int64_t i = 0; i < graph_.get_execution_plan_count(); ++i) {
      std::string name;
      if (!graph_.is_wanted(i) || graph_.get_plan_name_at_index(i, name).is_bad()) continue;
      const auto is_same = [&](const Engine& engine) { return engine.name == name; };
      if (std::any_of(engines_.begin(), engines_.end(), is_same)) continue;
      if (is_wrong(problem_, direction_, name, graph_.has_note(i, fe::NumericalNote_t::FFT))) continue;
      engines_.push_back({name, graph_.notes_of(i)});
      plan_of_.push_back(i);
    }
    if (engines_.empty() && refusal_.empty())
      refusal_ = "its engines are not deterministic, not exact or not compiled";
  }

  const CudnnTarget& target_;
  ConvProblem problem_;
  ConvDirection direction_;
  Type type_ = problem_.type;
  std::string what_;
  OpenGraph graph_;
  std::vector<std::size_t> tensor_bytes_;
  std::vector<Engine> engines_;
  std::vector<std::int64_t> plan_of_;  ///< by engine: index in the frontend's list
  std::string refusal_;
};

/// Sizes of a convolution's tensors. `input` is the part that the convolution reads, with the strides of the
/// whole tensor.
struct ConvTensors {
  explicit ConvTensors(const ConvProblem& p)
      : rows(rows_of(p)),
        columns(columns_of(p)),
        input{p.samples, p.in_channels, rows.size, columns.size},
        input_strides(GraphImpl::strides({p.samples, p.in_channels, p.in_height, p.in_width})),
        weight{p.out_channels, p.in_channels / p.groups, p.kernel, p.kernel},
        bias{1, p.out_channels, 1, 1},
        output{p.samples, p.out_channels, p.out_height, p.out_width} {}

  ConvExtent rows, columns;
  Dims input, input_strides, weight, bias, output;
};

template <class Attributes>
Attributes conv_attributes(const ConvProblem& p, const ConvTensors& tensors) {
  return Attributes()
      .set_pre_padding({p.padding, p.padding})
      .set_post_padding({tensors.rows.padding_after, tensors.columns.padding_after})
      .set_stride({p.stride, p.stride})
      .set_dilation({p.dilation, p.dilation});
}

}  // namespace

CudnnTarget::CudnnTarget(const std::filesystem::path& device_properties) {
  const CudnnLibrary& library = CudnnLibrary::open();
  fe::cudnn_dlhandle = library.handle();
  std::string gpu;
  if (device_properties.empty()) {
    gpu = current_gpu();
    handle_.emplace(library);
  } else {
    const std::string description = read_description(device_properties);
    gpu = name_in(description, device_properties);
    properties_ =
        guarded(device_properties.string(), [&] { return properties_in(description, device_properties); });
  }
  name_ = fmt::format("{}, cuDNN {}", gpu, library.version());
}

CudnnTarget::~CudnnTarget() = default;

std::unique_ptr<CudnnGraph> conv_graph(const CudnnTarget& target, const ConvTask& task) {
  auto impl = std::make_unique<GraphImpl>(target, task.problem, task.direction);
  const ConvProblem& problem = task.problem;
  const ConvTensors sizes(problem);
  if (task.direction == ConvDirection::forward) {
    const Tensor input = impl->input(sizes.input, sizes.input_strides);
    const Tensor weight = impl->input(sizes.weight);
    Tensor result = impl->graph().conv_fprop(
        input, weight, conv_attributes<fe::graph::Conv_fprop_attributes>(problem, sizes));
    result->set_dim(sizes.output).set_stride(GraphImpl::strides(sizes.output));
    if (task.bias) result = impl->pointwise(result, impl->input(sizes.bias), fe::PointwiseMode_t::ADD);
    if (task.relu) result = impl->relu(result);
    impl->output(result, sizes.output);
  } else if (task.direction == ConvDirection::backward_data) {
    const Tensor grad_output = impl->input(sizes.output);
    const Tensor weight = impl->input(sizes.weight);
    const Tensor grad_input = impl->graph().conv_dgrad(
        grad_output, weight, conv_attributes<fe::graph::Conv_dgrad_attributes>(problem, sizes));
    impl->output(grad_input, sizes.input, sizes.input_strides);
  } else {
    const Tensor input = impl->input(sizes.input, sizes.input_strides);
    const Tensor grad_output = impl->input(sizes.output);
    const Tensor grad_weight = impl->graph().conv_wgrad(
        grad_output, input, conv_attributes<fe::graph::Conv_wgrad_attributes>(problem, sizes));
    impl->output(grad_weight, sizes.weight);
  }
  impl->finish();
  return impl;
}

}  // namespace lockstep::cuda
