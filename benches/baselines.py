#!/usr/bin/env python3
"""Times the baselines and writes benches/baselines.json and docs/explanation/benchmarks.md.

    python3 benches/baselines.py [--python PATH] [--target DIR]

Builds our release programs, then runs, one after the other: every method on one run of the paper's
largest setting (examples/time_methods.rs), transport beside POT (ot.py) and support vector
regression beside scikit-learn (svr.py, the first of its settings). Leave the machine alone meanwhile.
"""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "baselines.json"
REPEATS = 3
GOAL = 90


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "bridged-bench"
    parser.add_argument("--cache", type=Path, default=home, help=f"the environment of the peers (default {home})")
    parser.add_argument("--python", help="an environment that has the peers, instead of making one")
    parser.add_argument("--target", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")))
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    run.enter_environment(options)

    subprocess.run(["cargo", "build", "--release", "-p", "bridged-baselines", "--examples"], cwd=ROOT, check=True)
    examples = options.target / "release" / "examples"
    busy = run.busy()
    runs = [json_lines([examples / "time_methods"]) for _ in range(REPEATS)]
    methods = []
    for rows in zip(*runs):
        median = {key: statistics.median(row[key] for row in rows) for key in ("fit", "predict", "error")}
        methods.append({"method": rows[0]["method"], **median})
    found = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": run.commit(),
        "environment": {"busy_before": busy},
        "methods": methods,
        "repeats": REPEATS,
        "goal": GOAL,
        "transport": text([sys.executable, HERE / "ot.py", "--target", options.target]),
        "svr": text([sys.executable, HERE / "svr.py", "--target", options.target, "--settings", "10:0.1:1"]),
    }
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")

    import report

    report.write()


def text(command):
    print(*command, file=sys.stderr)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def json_lines(command):
    return [json.loads(line) for line in text(command).splitlines()]


if __name__ == "__main__":
    main()
