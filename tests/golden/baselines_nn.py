#!/usr/bin/env python3
"""Golden data of the neural baselines: losses, gradients and Adam steps of PyTorch.

    python tests/golden/baselines_nn.py > tests/golden/baselines_nn.json

Five steps of a two-layer network on a fixed batch from given weights, with plain Adam and with
AdamW. Parameters are flat, in PyTorch's order: weight (outputs, inputs), then bias, layer by layer.
Pinned versions (tests/golden/requirements.txt): numpy 2.4.6, torch 2.15.0.
"""

import json
import sys

import numpy as np
import torch

WIDTHS = [4, 6, 3]
ROWS = 8
STEPS = 5
CASES = [  # optimiser, step size, weight decay
    (torch.optim.Adam, 0.01, 0.0),
    (torch.optim.AdamW, 0.05, 0.1),
]


def flat(tensors):
    return [float(v) for t in tensors for v in t.detach().reshape(-1)]


def numbers(array):
    return [float(v) for v in array.reshape(-1)]


def network(start):
    net = torch.nn.Sequential(
        torch.nn.Linear(WIDTHS[0], WIDTHS[1]), torch.nn.ReLU(), torch.nn.Linear(WIDTHS[1], WIDTHS[2])
    )
    torch.nn.utils.vector_to_parameters(torch.tensor(start), net.parameters())
    return net


def run(optimiser, lr, decay, start, x, y):
    net = network(start)
    adam = optimiser(net.parameters(), lr=lr, weight_decay=decay)
    steps = []
    for _ in range(STEPS):
        adam.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        gradient = flat(p.grad for p in net.parameters())
        adam.step()
        steps.append({"loss": float(loss.detach()), "gradient": gradient, "params": flat(net.parameters())})
    return {"lr": lr, "weight_decay": decay, "steps": steps}


def main():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(ROWS, WIDTHS[0])).round(3).astype(np.float32)
    y = rng.normal(size=(ROWS, WIDTHS[-1])).round(3).astype(np.float32)
    many = sum((i + 1) * o for i, o in zip(WIDTHS, WIDTHS[1:]))
    start = rng.uniform(-0.5, 0.5, many).round(3).astype(np.float32)
    cases = [run(*case, start, torch.tensor(x), torch.tensor(y)) for case in CASES]
    golden = {"widths": WIDTHS, "x": numbers(x), "y": numbers(y), "start": numbers(start), "cases": cases}
    json.dump(golden, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
