"""Writes tests/ops/references.safetensors: operations as PyTorch computes them, with their gradients.

Run from the repository's root with PyTorch and safetensors: python bench/peers/make_op_references.py
The tests read for each CASE: CASE.input, CASE.weight, CASE.bias, CASE.grad_output, CASE.output,
CASE.grad_input, CASE.grad_weight, CASE.grad_bias; for batch norm also CASE.running_mean and
CASE.running_var after one step with momentum 1; for the loss: logits, labels (as floats), loss, grad.
"""

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

SAMPLES = 3


def conv(kernel, stride, padding, relu, pool):
    def run(x, weight, bias):
        x = F.conv2d(x, weight, bias, stride=stride, padding=padding)
        x = F.relu(x) if relu else x
        return F.avg_pool2d(x, pool) if pool else x

    return run


def linear(relu):
    def run(x, weight, bias):
        x = F.linear(x, weight, bias)
        return F.relu(x) if relu else x

    return run


def group_norm(groups):
    def run(x, weight, bias):
        return F.group_norm(x, groups, weight, bias)

    return run


def batch_norm(x, weight, bias):
    return F.relu(F.batch_norm(x, None, None, weight, bias, training=True))


# name: function, input shape, weight shape
CASES = {
    "conv": (conv(3, 1, 0, False, 0), (2, 7, 9), (5, 2, 3, 3)),
    "conv_pool": (conv(3, 1, 0, True, 2), (2, 8, 8), (5, 2, 3, 3)),
    "conv_pool5": (conv(5, 1, 0, True, 2), (3, 8, 8), (4, 3, 5, 5)),
    "conv_padded": (conv(3, 1, 1, True, 0), (3, 6, 5), (4, 3, 3, 3)),
    "conv_strided": (conv(3, 2, 1, True, 0), (2, 9, 8), (3, 2, 3, 3)),
    "conv_one": (conv(1, 1, 0, False, 0), (4, 4, 4), (3, 4, 1, 1)),
    "conv_seven": (conv(7, 2, 3, True, 0), (1, 14, 14), (2, 1, 7, 7)),
    "linear": (linear(False), (19,), (7, 19)),
    "linear_relu": (linear(True), (24,), (10, 24)),
    "group_norm": (group_norm(3), (12, 5, 7), (12,)),
    "batch_norm": (batch_norm, (11, 9, 8), (11,)),
}


def run_case(name, tensors):
    function, input_shape, weight_shape = CASES[name]
    x = torch.randn(SAMPLES, *input_shape, requires_grad=True)
    weight = torch.randn(weight_shape, requires_grad=True)
    bias = torch.randn(weight_shape[0], requires_grad=True)
    output = function(x, weight, bias)
    grad = torch.randn_like(output)
    output.backward(grad)
    values = {"input": x, "weight": weight, "bias": bias, "grad_output": grad, "output": output,
              "grad_input": x.grad, "grad_weight": weight.grad, "grad_bias": bias.grad}
    if name == "batch_norm":
        mean, variance = torch.zeros(weight_shape), torch.ones(weight_shape)
        F.batch_norm(x, mean, variance, training=True, momentum=1.0)
        values.update({"running_mean": mean, "running_var": variance})
    tensors.update({f"{name}.{key}": value.detach().contiguous() for key, value in values.items()})


def run_loss(tensors):
    logits = (4 * torch.randn(19, 10)).requires_grad_()
    labels = torch.randint(10, (19,))
    loss = F.cross_entropy(logits, labels, reduction="sum")
    loss.backward()
    tensors.update({"loss.logits": logits.detach(), "loss.labels": labels.float(),
                    "loss.loss": loss.detach().reshape(1), "loss.grad": logits.grad})


def main():
    torch.manual_seed(1)
    tensors = {}
    for name in CASES:
        run_case(name, tensors)
    run_loss(tensors)
    save_file(tensors, "tests/ops/references.safetensors")


if __name__ == "__main__":
    main()
