#!/usr/bin/env python3
"""The curve of docs/explanation/suggest.md: error by number of pairs, suggested and by chance.

    bridged lab run experiments/ --data all --condition suggested --condition by-chance --data-dir ../shared/data
    python3 tools/suggest_curve.py results/ docs/explanation/suggest.svg

Prints the table and writes the picture.
"""

import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path

SETS = ["butterflies", "digits", "emoji", "fashion", "flickr8k", "segments", "wikipedia"]
ARMS = {"suggested": "#c2410c", "by-chance": "#64748b"}


def errors_of(folder: Path) -> dict[int, dict[int, float]]:
    """The error as a share of the mean's, by run and number of pairs."""
    errors = defaultdict(dict)
    for path in folder.glob("runs.jsonl*"):
        opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
        with opened as lines:
            for run in map(json.loads, lines):
                if run["method"] == "bridged-default":
                    errors[run["run"]][run["pairs"]] = run["scores"]["mse"] / run["scores"]["mse_of_mean"]
    return errors


def curves_of(folders: dict[str, Path]) -> tuple[dict[str, dict[int, float]], int]:
    """The means over the runs that are whole in both studies, and how many there are."""
    errors = {arm: errors_of(folder) for arm, folder in folders.items()}
    counts = sorted({pairs for of in errors.values() for run in of.values() for pairs in run})
    whole = [run for run in range(100) if all(len(of.get(run, {})) == len(counts) for of in errors.values())]
    mean = {arm: {p: sum(of[run][p] for run in whole) / len(whole) for p in counts} for arm, of in errors.items()}
    return mean, len(whole)


def needed(of: dict[int, float], target: float) -> float | None:
    """How many pairs reach the target, on straight lines between the numbers that were tried."""
    counts = sorted(of)
    if of[counts[0]] <= target:
        return counts[0]
    for a, b in zip(counts, counts[1:]):
        if of[b] <= target:
            return a + (b - a) * (of[a] - target) / (of[a] - of[b])
    return None


def panel(name: str, curves: dict[str, dict[int, float]], left: int, top: int) -> list[str]:
    """One data set."""
    width, height = 170, 110
    values = [v for of in curves.values() for v in of.values()]
    low, high, most = min(values), max(values), max(p for of in curves.values() for p in of)
    parts = [
        f'<text x="{left}" y="{top - 6}" font-weight="bold">{name}</text>',
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#cbd5e1"/>',
        f'<text x="{left - 4}" y="{top + 9}" text-anchor="end">{high:.2f}</text>',
        f'<text x="{left - 4}" y="{top + height}" text-anchor="end">{low:.2f}</text>',
        f'<text x="{left + width}" y="{top + height + 13}" text-anchor="end">{most} pairs</text>',
    ]
    for arm, of in curves.items():
        points = [
            f"{left + width * p / most:.1f},{top + height * (high - v) / max(high - low, 1e-9):.1f}"
            for p, v in of.items()
        ]
        line = " ".join(points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{ARMS[arm]}" stroke-width="2"/>')
    return parts


def main() -> None:
    results, picture = Path(sys.argv[1]), Path(sys.argv[2])
    parts, reached, rows, counts = [], [], [], []
    found_sets = [name for name in SETS if (results / f"{name}-suggested").exists()]
    for at, name in enumerate(found_sets):
        curves, runs = curves_of({arm: results / f"{name}-{arm}" for arm in ARMS})
        parts += panel(name, curves, 50 + at % 4 * 225, 40 + at // 4 * 160)
        chance, asked = curves["by-chance"], curves["suggested"]
        found = needed(asked, chance[60])
        reached.append(found)
        counts = [p for p in chance if p in asked]
        cells = [f"{asked[p]:.3f} / {chance[p]:.3f}" for p in counts]
        rows.append([name, str(runs), *cells, "more than 60" if found is None else f"{found:.0f}"])
    header = ["data set", "runs", *(f"{p} pairs" for p in counts), "as good as 60 by chance"]
    for row in [header, ["---"] * len(header), *rows]:
        print("| " + " | ".join(row) + " |")
    known = [found for found in reached if found is not None]
    print(f"\nreached on {len(known)} of {len(rows)}; mean with 60 where it is not: ", end="")
    print(f"{(sum(known) + 60 * (len(rows) - len(known))) / len(rows):.1f}")
    legend = " ".join(
        f'<text x="{50 + 110 * at}" y="16" fill="{colour}">{arm.replace("-", " ")}</text>'
        for at, (arm, colour) in enumerate(ARMS.items())
    )
    style = 'font-family="sans-serif" font-size="11"'
    body = "\n".join([legend, *parts])
    picture.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 950 350" {style}>\n{body}\n</svg>\n')


if __name__ == "__main__":
    main()
