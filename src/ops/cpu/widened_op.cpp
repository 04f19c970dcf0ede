#include "ops/cpu/widened_op.h"

#include <utility>

#include "ops/cpu/kernels/conversion.h"
#include "ops/cpu/rounded_weights.h"

namespace lockstep::cpu {
namespace {

using StoredMemory = NodeMemory<Bfloat16>;

/// Size of a bf16 array, and offset in scratch memory of its copy in floats.
struct Copy {
  std::size_t pixels = 0;  ///< per group of images
  std::size_t offset = 0;
};

struct WidenedOp {
  Op op;
  const ConversionKernels* kernels;
  RoundedWeights weights = {};
  Copy input = {}, grad_input = {}, output = {}, grad_output = {};
};

std::size_t pixels_of(const Copy& copy, int samples) {
  return copy.pixels * static_cast<std::size_t>(groups_of(samples));
}

float* widen(const WidenedOp& widened, const StoredMemory& memory, const Copy& copy, const Bfloat16* from) {
  float* to = floats_at(memory.scratch, copy.offset);
  widened.kernels->widen(pixels_of(copy, memory.samples), from, to);
  return to;
}

/// View of memory for the wrapped operation, with rounded weights and without activations.
OpMemory without_activations(const WidenedOp& widened, const StoredMemory& memory) {
  const OpMemory view{.samples = memory.samples,
                      .parameters = memory.parameters,
                      .grad_parameters = memory.grad_parameters,
                      .saved = memory.saved,
                      .scratch = memory.scratch};
  return with_rounded_weights(widened.weights, view);
}

void forward(const WidenedOp& widened, const StoredMemory& memory) {
  OpMemory view = without_activations(widened, memory);
  view.inputs[0] = widen(widened, memory, widened.input, memory.inputs[0]);
  view.output = floats_at(memory.scratch, widened.output.offset);
  widened.op.forward(view);
  widened.kernels->round(pixels_of(widened.output, memory.samples), view.output, memory.output);
}

void backward(const WidenedOp& widened, const StoredMemory& memory) {
  OpMemory view = without_activations(widened, memory);
  view.inputs[0] = widen(widened, memory, widened.input, memory.inputs[0]);
  view.grad_output = widen(widened, memory, widened.grad_output, memory.grad_output);
  if (memory.grad_inputs[0] != nullptr) {
    view.grad_inputs[0] = floats_at(memory.scratch, widened.grad_input.offset);
  }
  widened.op.backward(view);
  if (memory.grad_inputs[0] == nullptr) return;
  widened.kernels->round(pixels_of(widened.grad_input, memory.samples), view.grad_inputs[0],
                         memory.grad_inputs[0]);
}

/// Places the copies after the wrapped operation's scratch memory.
void lay_out(const OpRequest& request, WidenedOp& widened) {
  ScratchLayout layout;
  layout.add(widened.op.scratch_bytes / sizeof(float) + 1);
  const auto place = [&](const Shape& shape) {
    return Copy{shape.size(),
                layout.add(shape.size() * lanes * static_cast<std::size_t>(groups_of(request.samples)))};
  };
  widened.input = place(request.inputs[0]);
  if (request.input_gradient) widened.grad_input = place(request.inputs[0]);
  widened.output = place(request.node.shape);
  if (request.training) widened.grad_output = place(request.node.shape);
  widened.weights = place_rounded_weights(request, layout);
  widened.op.scratch_bytes = layout.bytes();
}

}  // namespace

Op widened(const OpRequest& request, Op op) {
  WidenedOp widened{.op = std::move(op), .kernels = &conversion_kernels(request.level)};
  lay_out(request, widened);
  Op result = op_of<Bfloat16>(widened);
  result.saved_bytes = widened.op.saved_bytes;
  result.scratch_bytes = widened.op.scratch_bytes;
  result.backward_reads_inputs = widened.op.backward_reads_inputs;
  return result;
}

Loss widened(const Loss& loss, Shape logits, Level level) {
  const ConversionKernels& kernels = conversion_kernels(level);
  return [loss, &kernels, pixels = logits.size()](const LossTensors<Bfloat16>& memory) {
    const std::size_t count = pixels * static_cast<std::size_t>(groups_of(memory.samples));
    auto* const floats = reinterpret_cast<float*>(memory.scratch);
    float* const gradient = memory.gradient == nullptr ? nullptr : floats + count * lanes;
    kernels.widen(count, memory.logits, floats);
    loss(LossMemory{.samples = memory.samples,
                    .logits = floats,
                    .gradient = gradient,
                    .labels = memory.labels,
                    .partner_labels = memory.partner_labels,
                    .targets = memory.targets,
                    .shares = memory.shares,
                    .predictions = memory.predictions,
                    .result = memory.result});
    if (gradient != nullptr) kernels.round(count, gradient, memory.gradient);
  };
}

std::size_t widened_loss_bytes(Shape logits, int samples) {
  return 2 * logits.size() * lanes * static_cast<std::size_t>(groups_of(samples)) * sizeof(float);
}

}  // namespace lockstep::cpu
