"""Writes tests/optim/references.json: what PyTorch's optimizers and schedules do, for the tests of ours.

    venv/bin/python bench/peers/make_optimizer_references.py > tests/optim/references.json
"""
import json

import torch

STEPS_PER_EPOCH, EPOCHS, RATE = 7, 10, 0.4


def optimizer(make, steps=6):
    generator = torch.Generator().manual_seed(1)
    parameter = torch.nn.Parameter(torch.randn(8, generator=generator))
    start = parameter.tolist()
    rule = make([parameter])
    gradients, parameters = [], []
    for _ in range(steps):
        parameter.grad = torch.randn(8, generator=generator)
        gradients.append(parameter.grad.tolist())
        rule.step()
        parameters.append(parameter.tolist())
    return {"start": start, "gradients": gradients, "parameters": parameters}


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


TOTAL = STEPS_PER_EPOCH * EPOCHS
S = torch.optim.lr_scheduler
print(json.dumps({
    "torch": torch.__version__.split("+")[0],
    "optimizers": {
        "sgd": optimizer(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01)),
        "nesterov": optimizer(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True)),
        "adamw": optimizer(lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.01)),
    },
    "schedules": {
        "step": schedule(lambda o: S.StepLR(o, 3, 0.5), every_step=False),
        "multistep": schedule(lambda o: S.MultiStepLR(o, [2, 5, 6], 0.5), every_step=False),
        "cosine": schedule(lambda o: S.CosineAnnealingLR(o, TOTAL, 0.01)),
        "polynomial": schedule(lambda o: S.PolynomialLR(o, TOTAL, 2.0)),
        "onecycle": schedule(lambda o: S.OneCycleLR(o, RATE, total_steps=TOTAL)),
    },
}, indent=1))
