#!/usr/bin/env python3
"""Writes docs/explanation/benchmarks.md and benchmarks-growth.svg beside it from benches/results.json.

    python3 benches/report.py

Runs nothing and needs nothing but Python: the page can be made again without the measurements.
"""

import json
import math
from pathlib import Path

from rows import NAMES

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "explanation"


def write(results=HERE / "results.json", docs=DOCS):
    found = json.loads(Path(results).read_text())
    rows = [found[name] for name in NAMES if name in found]
    growth = found.get("growth")
    if growth:
        (docs / "benchmarks-growth.svg").write_text(svg(growth))
    baselines = HERE / "baselines.json"
    measured = json.loads(baselines.read_text()) if baselines.exists() else None
    (docs / "benchmarks.md").write_text(page(rows, growth, measured))


def page(rows, growth, baselines):
    tables = [row for row in rows if "ours" in row]
    lines = [
        "# Benchmarks",
        "",
        "Written by `python3 benches/report.py` from `benches/results.json`; measured by `python3 benches/run.py`.",
        "Do not edit. What is timed, and how the data are made, is in `benches/README.md`.",
        "",
        machine(rows),
        "",
        "Ratio = the best peer's time ÷ ours, of medians; where each run has a start of its own, the median of the ratios. In parentheses: fastest and slowest run.",
        "",
        "| work | size | ours | best peer | ratio | goal | reached |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in tables:
        best = next(p for p in row["peers"] if p["name"] == row["best"])
        lines.append(
            f"| [{row['title']}](#{row['name']}) | {size(row)} | {spread(row['ours'])} | {best['name']}: {spread(best)} "
            f"| {'> ' if best.get('at_least') else ''}**{number(row['ratio'])}** | {row['goal']} | {yes(row['reached'])} |"
        )
    if growth:
        worst = "; ".join(f"{c['name']} {c['worst']:.2f}" for c in growth["curves"] if c["judged"])
        lines.append(
            f"| [{growth['title']}](#growth) | {growth['curves'][0]['points'][0]['n']:,} to {growth['n']:,} × {growth['d']}, "
            f"k = {growth['k']} | {worst} | – | – | {growth['goal']} | {yes(growth['reached'])} |"
        )
    for row in tables:
        lines += detail(row)
    if growth:
        lines += growth_detail(growth)
    if baselines:
        lines += baselines_detail(baselines)
    return "\n".join(lines) + "\n"


def baselines_detail(found):
    paper = "bridged knn laprls tsvr gcn fixmatch tnnr ucvme kmm em eot gw".split()
    total = sum(m["fit"] + m["predict"] for m in found["methods"] if m["method"] in paper)
    lines = [
        "",
        "## baselines",
        "",
        "Every method with its defaults on one run of the paper's largest setting: 7 groups of 200 rows, 1,280 → 768 dimensions,",
        f"28 pairs, two threads; medians of {found['repeats']} runs by `python3 benches/baselines.py`. The data are synthetic: the error (÷ that of the mean)",
        "shows that a method works, not who is best.",
        "",
        "| method | fit | predict unseen rows and the pool | error ÷ mean's |",
        "|---|---|---|---|",
    ]
    for m in found["methods"]:
        lines.append(f"| {m['method']} | {seconds(m['fit'])} | {seconds(m['predict'])} | {m['error']:.3f} |")
    lines += [
        "",
        f"The twelve methods of the paper together: {seconds(total)}, goal ≤ {found['goal']} s: "
        f"{'holds' if total <= found['goal'] else '**does not hold**'}.",
        "",
        "Transport beside POT (`benches/ot.py`; goal: at least as fast):",
        "",
        "```text",
        found["transport"].rstrip(),
        "```",
        "",
        "Support vector regression of 768 outputs beside scikit-learn (`benches/svr.py`, wall / processor seconds; goal: ≥ 10 × its",
        "`MultiOutputRegressor(SVR)`):",
        "",
        "```text",
        found["svr"].rstrip(),
        "```",
        "",
        stamp(found),
    ]
    return lines


def machine(rows):
    if not rows:
        return "Nothing has been measured yet."
    newest = max(rows, key=lambda row: row["date"])
    e = newest["environment"]
    packages = ", ".join(f"{name} {version}" for name, version in e["packages"].items())
    text = (
        f"{e['cpu']}, {e['cores']} cores, {e['memory_bytes'] / 2**30:.0f} GiB; {e['threads']} threads each; {e['system']}; "
        f"{e['rust']}; Python {e['python']}; {packages}; BLAS of NumPy: {e['blas']}."
    )
    # How busy the machine was, and which BLAS happened to be loaded when it was asked, differ from row to row.
    passing = {"busy_before": 0, "blas": ""}
    same = {json.dumps({**r["environment"], **passing}, sort_keys=True) for r in rows}
    if len(same) > 1:
        text += " **Some rows were measured in another environment**; `benches/results.json` has each."
    return text


def detail(row):
    lines = ["", f"## {row['name']}", "", f"{row['title'][0].upper()}{row['title'][1:]}, {size(row)}. {row['note']}".rstrip(), ""]
    lines += [
        f"| | seconds | runs | iterations | {objective_name(row)} | agreement | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for side in (row["ours"], *row["peers"]):
        lines.append(
            f"| {side['name']} | {spread(side)} | {0 if side.get('at_least') else len(side['seconds'])} | {side['iterations'] or '–'} "
            f"| {precise(side['objective'])} | {precise(side.get('agreement'), 4)} | {memory(side['peak_bytes'])} |"
        )
    lines.append("")
    lines += conditions(row)
    lines += ["", stamp(row)]
    return lines


def growth_detail(growth):
    lines = ["", "## growth", "", f"On the first n of {growth['n']:,} × {growth['d']} rows, k = {growth['k']}, ours alone.", ""]
    lines += ["![Time against the number of rows](benchmarks-growth.svg)", ""]
    names = [c["name"] for c in growth["curves"]]
    lines += ["| rows | " + " | ".join(f"{name} | × " for name in names) + " |"]
    lines += ["|---|" + "---|---|" * len(names)]
    for i, point in enumerate(growth["curves"][0]["points"]):
        cells = []
        for curve in growth["curves"]:
            factor = f"{curve['factors'][i - 1]:.2f}" if i else ""
            cells.append(f"{seconds(curve['points'][i]['median'])} | {factor}")
        lines.append(f"| {point['n']:,} | " + " | ".join(cells) + " |")
    slopes = "; ".join(f"{c['name']} n^{c['slope']:.2f}" for c in growth["curves"])
    lines += ["", f"Line through all sizes: {slopes}.", ""]
    lines += conditions(growth)
    lines += ["", stamp(growth)]
    return lines


def conditions(row):
    signs = {">=": "≥", "<=": "≤"}
    return [
        f"- {c['text']}: {number(c['value'], c['text'])}, goal {signs[c['sign']]} {number(c['limit'], c['text'])}: "
        f"{'holds' if c['holds'] else '**does not hold**'}"
        for c in row["conditions"]
    ]


def stamp(row):
    busy = row["environment"]["busy_before"]
    text = f"Measured {row['date']} at commit {row['commit']}."
    if busy is not None and busy > 0.1:
        text += f" **Others took {busy:.0%} of the machine just before: measure again.**"
    return text


def size(row):
    return f"{row['n']:,} × {row['d']:,}, k = {row['k']}"


def objective_name(row):
    names = {
        "inertia": "inertia",
        "distance": "Σ squared distances",
        "log-likelihood": "mean log-likelihood",
        "cut": "normalised cut",
    }
    return names.get(row["objective"], "objective")


def spread(side):
    if side.get("at_least"):
        return f"more than {seconds(side['median'])} (ended)"
    return f"{seconds(side['median'])} ({seconds(side['min'])}–{seconds(side['max'])})"


def seconds(value):
    if value < 0.1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def number(value, text=""):
    if value is None:
        return "unknown"
    if "bytes" in text:
        return memory(value)
    if value and (abs(value) < 0.01):
        return f"{value:.2g}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"


def precise(value, digits=7):
    return "–" if value is None else f"{value:.{digits}g}"


def memory(value):
    return "–" if value is None else f"{value / 1e6:,.0f} MB"


def yes(reached):
    return "yes" if reached else "**no**"


# One drawing for light and dark pages: the card brings its own background, and both change together.
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de } .text { fill: #1f2328 } .faint { fill: #57606a }
  .grid { stroke: #d0d7de } .ideal { stroke: #57606a; stroke-dasharray: 4 4; fill: none }
  .c0 { stroke: #0969da; fill: #0969da } .c1 { stroke: #bc4c00; fill: #bc4c00 } .c2 { stroke: #1a7f37; fill: #1a7f37 }
  .line { fill: none; stroke-width: 2 }
  text { font: 13px system-ui, sans-serif; stroke: none }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d } .text { fill: #e6edf3 } .faint { fill: #9198a1 }
    .grid { stroke: #30363d } .ideal { stroke: #9198a1 }
    .c0 { stroke: #4493f8; fill: #4493f8 } .c1 { stroke: #f0883e; fill: #f0883e } .c2 { stroke: #3fb950; fill: #3fb950 }
  }
"""


def svg(growth):
    """Time against rows, both axes logarithmic; the dashed lines double where the rows double."""
    width, height, left, right, top, bottom = 760, 460, 76, 24, 56, 56
    curves = growth["curves"]
    xs = [p["n"] for p in curves[0]["points"]]
    ys = [p["median"] for c in curves for p in c["points"]]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))

    def px(n):
        share = math.log(n / xs[0]) / math.log(xs[-1] / xs[0])
        return left + share * (width - left - right)

    def py(s):
        return height - bottom - (math.log10(s) - low) / (high - low) * (height - top - bottom)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Time against the number of rows">',
        f"<style>{STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="text" x="{left}" y="28">Seconds against rows of {growth["d"]} columns, k = {growth["k"]}; '
        "dashed: exactly linear</text>",
    ]
    for power in range(low, high + 1):
        y = py(10.0**power)
        label = f"{10.0**power:g} s" if power >= 0 else f"{10.0 ** (power + 3):g} ms"
        out.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="faint" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for n in xs:
        label = f"{n / 1e6:g} M" if n >= 1e6 else f"{n / 1000:.3g} k"
        out.append(f'<text class="faint" x="{px(n):.1f}" y="{height - bottom + 22}" text-anchor="middle">{label}</text>')
    out.append(f'<text class="faint" x="{(left + width - right) / 2}" y="{height - 12}" text-anchor="middle">rows</text>')
    for i, curve in enumerate(curves):
        points = [(px(p["n"]), py(p["median"])) for p in curve["points"]]
        first, last = curve["points"][0], curve["points"][-1]
        # Anchored at the largest size, so that it leaves the plot nowhere above.
        start = max(last["median"] * first["n"] / last["n"], 10.0**low)
        begin = last["n"] * start / last["median"]
        out.append(
            f'<line class="ideal" x1="{px(begin):.1f}" y1="{py(start):.1f}" x2="{px(last["n"]):.1f}" y2="{py(last["median"]):.1f}"/>'
        )
        out.append(f'<polyline class="c{i} line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        out += [f'<circle class="c{i}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
        at = left + 16
        out.append(f'<circle class="c{i}" cx="{at}" cy="{top + 14 + 20 * i}" r="4"/>')
        out.append(f'<text class="text" x="{at + 12}" y="{top + 18 + 20 * i}">{curve["name"]}: n^{curve["slope"]:.2f}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    write()
