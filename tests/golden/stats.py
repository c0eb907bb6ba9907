#!/usr/bin/env python3
"""Writes stats.json: what SciPy says of fixed samples.

    pip install -r requirements.txt && python3 stats.py
"""

import json
from pathlib import Path

import numpy as np
from scipy import stats

rng = np.random.default_rng(7)


def round_list(values, digits=6):
    return [round(float(v), digits) for v in values]


wilcoxon = []
samples = [
    rng.normal(0.3, 1, 12),
    rng.normal(0.0, 1, 30),
    rng.normal(0.4, 1, 50),
    rng.normal(0.1, 1, 120),
    np.round(rng.normal(0.3, 1, 90), 1),  # equal sizes and zeros
    np.array([0.0, 1.0, 2.0, -1.0, 3.0, 0.0, 4.5]),
    rng.normal(3.0, 1, 80),
]
for sample in samples:
    differences = round_list(sample)
    wilcoxon.append({"differences": differences, "p": float(stats.wilcoxon(differences).pvalue)})

friedman = []
for rows in [rng.normal(0, 1, (10, 3)), rng.normal(0, 1, (25, 5)) + np.arange(5) * 0.4, np.round(rng.normal(0, 1, (20, 4)))]:
    rows = [round_list(row) for row in rows]
    found = stats.friedmanchisquare(*np.array(rows).T)
    friedman.append({"rows": rows, "statistic": float(found.statistic), "p": float(found.pvalue)})

x = round_list(rng.normal(0, 1, 30))
y = round_list(0.6 * np.array(x) + rng.normal(0, 1, 30))
pearson = stats.pearsonr(x, y)
interval = pearson.confidence_interval()
line = stats.linregress(x, y)
correlation = {
    "x": x,
    "y": y,
    "pearson": float(pearson.statistic),
    "pearson_low": float(interval.low),
    "pearson_high": float(interval.high),
    "spearman": float(stats.spearmanr(x, y).statistic),
    "slope": float(line.slope),
    "intercept": float(line.intercept),
}
out = {"wilcoxon": wilcoxon, "friedman": friedman, "correlation": correlation}
Path(__file__).with_suffix(".json").write_text(json.dumps(out) + "\n")
