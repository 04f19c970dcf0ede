"""Writes tests/optim/references.json: results of PyTorch's optimizers, schedules and clipping, and of timm's lars
and lamb (their formulas written out below), for the tests of ours.

Run from the repository's root with PyTorch: python bench/peers/make_optimizer_references.py
"""

import torch
from compact_json import write

STEPS_PER_EPOCH, EPOCHS, RATE = 7, 10, 0.4
SHAPES = [(4, 3), (4,)]  # a layer: a matrix and a vector


class Lars(torch.optim.Optimizer):
    """timm.optim.Lars without the options that lockstep does not have (dampening, trust_clip)."""

    def __init__(self, params, lr, momentum=0.0, weight_decay=0.0, nesterov=False, adapt=None):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov, adapt=adapt))

    @torch.no_grad()
    def step(self, trust_coeff=0.1, eps=1e-8):
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad.clone()
                ratio = torch.ones(())
                if p.ndim > 1 or group["adapt"]:
                    w_norm, g_norm = p.norm(2.0), grad.norm(2.0)
                    if w_norm > 0 and g_norm > 0:
                        ratio = trust_coeff * w_norm / (g_norm + w_norm * group["weight_decay"] + eps)
                grad = (grad + group["weight_decay"] * p) * ratio
                if group["momentum"] != 0:
                    state = self.state[p]
                    if "momentum_buffer" not in state:
                        state["momentum_buffer"] = grad.clone()
                    else:
                        state["momentum_buffer"].mul_(group["momentum"]).add_(grad)
                    buffer = state["momentum_buffer"]
                    grad = grad + group["momentum"] * buffer if group["nesterov"] else buffer
                p.add_(grad, alpha=-group["lr"])


class Lamb(torch.optim.Optimizer):
    """timm.optim.Lamb with bias correction and grad_averaging; its max_grad_norm is a call of
    clip_grad_norm_ before."""

    def __init__(self, params, lr, weight_decay=0.0, adapt=None):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, adapt=adapt))
        self.number = 0

    @torch.no_grad()
    def step(self, beta1=0.9, beta2=0.999, eps=1e-6):
        self.number += 1
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                m = state["m"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v = state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                denominator = v.sqrt() / (1 - beta2**self.number) ** 0.5 + eps
                update = m / (1 - beta1**self.number) / denominator + group["weight_decay"] * p
                if p.ndim > 1 or group["adapt"]:
                    w_norm, u_norm = p.norm(2.0), update.norm(2.0)
                    if w_norm > 0 and u_norm > 0:
                        update = update * (w_norm / u_norm)
                p.add_(update, alpha=-group["lr"])


def flat(tensors):
    """Elements of all parameters in a row."""
    return [x for tensor in tensors for x in tensor.flatten().tolist()]


def random_layer(generator):
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


generator = torch.Generator().manual_seed(1)
START = random_layer(generator)
GRADIENTS = [random_layer(generator) for _ in range(6)]


def optimizer(make, clip=None):
    """Parameters after each step. GRADIENTS are those before clipping."""
    parameters = [torch.nn.Parameter(start.clone()) for start in START]
    rule = make(parameters)
    results = []
    for gradients in GRADIENTS:
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient.clone()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        rule.step()
        results.append(flat(parameters))
    return results


def schedule(make, every_step=True):
    rule = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], RATE)
    scheduler = make(rule)
    rates = []
    for step in range(STEPS_PER_EPOCH * EPOCHS):
        rates.append(rule.param_groups[0]["lr"])
        rule.step()
        if (every_step and step + 1 < STEPS_PER_EPOCH * EPOCHS) or (not every_step and (step + 1) % STEPS_PER_EPOCH == 0):
            scheduler.step()
    return rates


def decay_on_matrices(parameters):
    return [{"params": parameters[:1], "weight_decay": 0.01}, {"params": parameters[1:], "weight_decay": 0.0}]


TOTAL = STEPS_PER_EPOCH * EPOCHS
S = torch.optim.lr_scheduler
SGD = torch.optim.SGD
write("tests/optim/references.json", {
    "torch": torch.__version__.split("+")[0],
    "start": flat(START),
    "gradients": [flat(gradients) for gradients in GRADIENTS],
    "optimizers": {
        "sgd": optimizer(lambda p: SGD(p, 0.1, momentum=0.9, weight_decay=0.01)),
        "nesterov": optimizer(lambda p: SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True)),
        "filter": optimizer(lambda p: SGD(decay_on_matrices(p), 0.1, momentum=0.9)),
        "clip": optimizer(lambda p: SGD(p, 0.1, momentum=0.9, weight_decay=0.01), clip=1.5),
        "adamw": optimizer(lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.01)),
        "lars": optimizer(lambda p: Lars(p, 0.1, momentum=0.9, weight_decay=0.01)),
        "lars_nesterov": optimizer(lambda p: Lars(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True, adapt=True)),
        "lars_clip": optimizer(lambda p: Lars(p, 0.1), clip=1.5),
        "lamb": optimizer(lambda p: Lamb(p, 0.1, weight_decay=0.01)),
        "lamb_clip": optimizer(lambda p: Lamb(decay_on_matrices(p), 0.1, adapt=True), clip=1.0),
    },
    "schedules": {
        "step": schedule(lambda o: S.StepLR(o, 3, 0.5), every_step=False),
        "multistep": schedule(lambda o: S.MultiStepLR(o, [2, 5, 6], 0.5), every_step=False),
        "cosine": schedule(lambda o: S.CosineAnnealingLR(o, TOTAL, 0.01)),
        "polynomial": schedule(lambda o: S.PolynomialLR(o, TOTAL, 2.0)),
        "onecycle": schedule(lambda o: S.OneCycleLR(o, RATE, total_steps=TOTAL)),
    },
})
