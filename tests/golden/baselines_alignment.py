#!/usr/bin/env python3
"""Golden data of the baselines that align two pools by linear maps: Rosetta, SOTAlign, STRUCTURE.

    python tests/golden/baselines_alignment.py > tests/golden/baselines_alignment.json

Pinned versions (tests/golden/requirements.txt): numpy 2.4.6.
"""

import json
import sys

import numpy as np


def polar(rng):
    cases = []
    for r, q in [(3, 3), (2, 5), (6, 4)]:
        a = rng.normal(size=(r, q))
        u, _, vt = np.linalg.svd(a, full_matrices=False)
        cases.append({"a": a.tolist(), "polar": (u @ vt).tolist()})
    return cases


def lion(rng):
    """Chen et al. (2023), algorithm 2, with decoupled decay."""
    lr, decay, (b1, b2) = 0.1, 0.5, (0.9, 0.99)
    theta, mean = rng.normal(size=5), np.zeros(5)
    start, grads, steps = theta.copy(), rng.normal(size=(4, 5)), []
    grads[:, 0] = 0
    for g in grads:
        theta = theta * (1 - lr * decay) - lr * np.sign(b1 * mean + (1 - b1) * g)
        mean = b2 * mean + (1 - b2) * g
        steps.append(theta.tolist())
    return {"lr": lr, "weight_decay": decay, "start": start.tolist(), "gradients": grads.tolist(), "params": steps}


def ridge_cca(rng):
    """Cosines of unseen rows under the projections; singular vectors have no signs of their own."""
    cases = []
    for pairs, d, e in [(12, 5, 4), (4, 6, 7)]:
        x, y, rows_x, rows_y = (rng.normal(size=s) for s in [(pairs, d), (pairs, e), (3, d), (5, e)])
        ridge = 0.1

        def root(z):
            values, vectors = np.linalg.eigh(z.T @ z / pairs + ridge * np.eye(z.shape[1]))
            return vectors / np.sqrt(values) @ vectors.T

        cx, cy = x - x.mean(0), y - y.mean(0)
        rx, ry = root(cx), root(cy)
        u, _, vt = np.linalg.svd(rx @ (cx.T @ cy / pairs) @ ry, full_matrices=False)
        k = min(d, e, pairs - 1)
        a, b = rows_x @ rx @ u[:, :k], rows_y @ ry @ vt[:k].T
        unit = lambda z: z / np.linalg.norm(z, axis=1, keepdims=True)
        cosines = unit(a) @ unit(b).T
        cases.append({"x": x.tolist(), "y": y.tolist(), "rows_x": rows_x.tolist(), "rows_y": rows_y.tolist(),
                      "ridge": ridge, "cosines": cosines.tolist()})
    return cases


def siglip(rng):
    k = np.clip(rng.normal(size=(4, 4)) / 2, -1, 1)
    log_scale, bias = np.log(20), -10
    signs = 2 * np.eye(4) - 1
    loss = np.logaddexp(0, -signs * (np.exp(log_scale) * k + bias)).sum() / 4
    return {"cosines": k.tolist(), "log_scale": log_scale, "bias": bias, "loss": loss}


def clip(rng):
    k, tau = np.clip(rng.normal(size=(4, 4)) / 2, -1, 1), 0.05
    logits = k / tau
    rows = np.log(np.exp(logits).sum(1)) - np.diag(logits)
    columns = np.log(np.exp(logits).sum(0)) - np.diag(logits)
    return {"cosines": k.tolist(), "tau": tau, "loss": (rows.mean() + columns.mean()) / 2}


def structure(rng):
    """The regulariser of the published code, one level, by its own formula."""
    tau, eps = 0.05, 1e-12
    unit = lambda z: z / np.linalg.norm(z, axis=1, keepdims=True)
    before, after = unit(rng.normal(size=(6, 5))), unit(rng.normal(size=(6, 3)))

    def neighbours(z):
        z = z - z.mean(0)
        s = z @ z.T / tau
        e = np.exp(s - s.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    o, a = neighbours(before), neighbours(after)
    m = 0.5 * (o + a)
    kl = lambda p: ((m + eps) * (np.log(m + eps) - np.log(p + eps))).sum() / 6
    return {"before": before.tolist(), "after": after.tolist(), "tau": tau, "loss": 0.5 * (kl(a) + kl(o))}


def main():
    parts = [polar, lion, ridge_cca, siglip, clip, structure]
    golden = {part.__name__: part(np.random.default_rng(seed)) for seed, part in enumerate(parts)}
    json.dump(golden, sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
