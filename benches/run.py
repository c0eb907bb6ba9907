#!/usr/bin/env python3
"""Measures every row of the benchmark and writes benches/results.json and docs/explanation/benchmarks.md.

    python3 benches/run.py                        all rows
    python3 benches/run.py --only gmm,ward        some of them; the others keep their last result
    python3 benches/run.py --scale 0.02 --repeats 2    a dry run, which changes no file of the project

Needs Python 3.11 and cargo. Makes an environment with the peers in the cache folder, builds our
release program, makes the data, and then lets the contenders of a row run in turn: ours, a peer,
the next peer, ours again. Each is a process that holds the data and waits for its turn, so that a
slow minute of the machine hits all of them.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results.json"
THREADS = 2
REST = 0.2  # seconds before a run: threads of the one before that still wait for work go to sleep
LIMITS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]
PACKAGES = ["numpy", "scipy", "scikit-learn", "faiss-cpu", "k-means-constrained", "ortools", "threadpoolctl"]


def main():
    from rows import GROWTH, NAMES, ROWS

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "bridged-bench"
    parser.add_argument("--only", metavar="ROW,…", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--scale", type=float, default=1.0, help="times the rows of the data; not 1: a dry run")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each contender (default 5)")
    parser.add_argument(
        "--budget", type=float, default=1200, help="a peer that has run so many seconds runs no more (default 1200)"
    )
    parser.add_argument(
        "--limit", type=float, default=3600, help="a single run of a peer is ended after so many seconds (default 3600)"
    )
    parser.add_argument("--cache", type=Path, default=home, help=f"data and environment (default {home})")
    parser.add_argument("--python", help="an environment that has the peers, instead of making one")
    options = parser.parse_args()
    only = options.only.split(",") if options.only else NAMES
    unknown = set(only) - set(NAMES)
    if unknown:
        parser.error(f"no row is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    enter_environment(options)

    options.cache.mkdir(parents=True, exist_ok=True)
    options.program = build()
    out = RESULTS if options.scale == 1 else options.cache / "dry-run.json"
    for row in ROWS:
        if row.name in only:
            save(out, measure(row, options))
    if GROWTH["name"] in only:
        save(out, measure_growth(GROWTH, options))
    if options.scale == 1:
        import report

        report.write()
    talk(f"results in {out}")


def enter_environment(options):
    """Continues in a Python that has the peers; makes it first if need be."""
    if os.environ.get("BRIDGED_BENCH_INSIDE"):
        return
    python = options.python
    if not python:
        place = options.cache / "venv"
        python = place / "bin" / "python"
        wanted = (HERE / "requirements.txt").read_text()
        done = place / "installed.txt"
        if not done.exists() or done.read_text() != wanted:
            talk(f"installing the peers into {place}")
            venv.create(place, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
            done.write_text(wanted)
    inside = {**os.environ, "BRIDGED_BENCH_INSIDE": "1"}
    os.execve(python, [str(python), *sys.argv], inside)


def build():
    """Our release program."""
    talk("building bench_cluster")
    command = ["cargo", "build", "--release", "-p", "bridged", "--example", "bench_cluster"]
    command += ["--message-format", "json-render-diagnostics"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    made = [json.loads(line) for line in lines if '"executable":"' in line]
    return next(m["executable"] for m in made if m["target"]["name"] == "bench_cluster")


class Worker:
    """A contender's process: holds the data, runs when told to."""

    def __init__(self, contender, data, rows, start, passes, options, n=None):
        self.contender = contender
        self.runs, self.peak, self.spent, self.ended = [], None, 0.0, False
        self.labels = options.cache / f"labels-{contender.name.replace(' ', '-').replace(',', '')}.u32"
        self.labels.unlink(missing_ok=True)
        job = {"rows": str(rows), "n": n or data.n, "d": data.d, "passes": passes, "labels": str(self.labels)}
        if start:
            job["centroids"] = str(start)
        if contender.peer:
            job |= {"peer": contender.peer, "task": contender.task}
            command = [sys.executable, str(HERE / "peers.py"), json.dumps(job)]
        else:
            job["work"] = contender.work
            command = [options.program, json.dumps(job)]
        environment = {**os.environ, **{name: str(THREADS) for name in LIMITS}, **contender.env}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.answer()
        self.loaded = peak_bytes(self.process.pid)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.contender.name} ended with code {self.process.wait()}; see above")
        return json.loads(line)

    def run(self, request, limit=None):
        """One run; None if it took longer than the limit, which ends the process."""
        time.sleep(REST)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        begin = time.monotonic()
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.peak = peak_bytes(self.process.pid)
            self.process.kill()
            self.ended = True
            return None
        run = self.answer()
        self.spent += time.monotonic() - begin
        self.runs.append(run)
        self.peak = peak_bytes(self.process.pid)
        return run

    def close(self):
        if not self.ended:
            self.process.stdin.close()
        self.process.wait()
        self.labels.unlink(missing_ok=True)

    def summary(self, limit=None):
        # A peer that never came to an end took at least the limit.
        seconds = [run["seconds"] for run in self.runs] or [limit]
        return {
            "at_least": not self.runs,
            "name": self.contender.name,
            "seconds": seconds,
            "median": statistics.median(seconds),
            "min": min(seconds),
            "max": max(seconds),
            "iterations": self.runs[0].get("iterations") if self.runs else None,
            "objective": None,
            "loaded_bytes": self.loaded,
            "peak_bytes": self.peak,
            "informational": self.contender.informational,
        }


def peak_bytes(pid):
    """The most memory that was resident in a process and its children, where the system tells."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    own = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    total = int(own.split()[1]) * 1024 if own else 0
    return total + sum(peak_bytes(int(child)) or 0 for child in children)


def measure(row, options):
    """All contenders of a row in turn."""
    import data as data_module
    import rows as rows_module

    data = row.data if options.scale == 1 else row.data.scaled(options.scale)
    talk(f"{row.name}: {row.title}, {data.n:,} × {data.d}, k = {row.k}")
    rows = data_module.rows_file(options.cache, data)
    start = None
    if row.given:
        start = data_module.start_file(options.cache, data, row.k, row.starts)
    result = header(row.name, row.title, row.goal, data, row.k, options)
    workers = []
    try:
        for contender in (row.ours, *row.peers):
            workers.append(Worker(contender, data, rows, start, row.passes, options))
        judged = {worker: Judged(row, data, rows, start) for worker in workers}
        for repeat in range(options.repeats):
            request = {"seed": repeat}
            for worker in workers:
                # A peer that is only shown runs once.
                shown = worker.contender.informational and worker.contender.peer and worker.runs
                if shown or worker.ended or (worker is not workers[0] and worker.spent >= options.budget):
                    continue
                if worker.contender.peer in ("faiss", "faiss-super"):
                    lloyd = next(w for w in workers if w.contender.peer == "sklearn-lloyd")
                    if not lloyd.runs:
                        continue
                    request = {**request, "iterations": lloyd.runs[0]["iterations"]}
                run = worker.run(request, None if worker is workers[0] else options.limit)
                if run is None:
                    talk(f"  {worker.contender.name}: ended after {options.limit:.0f} s")
                    continue
                talk(f"  {worker.contender.name}: {run['seconds']:.4f} s")
                if row.seeded or repeat == 0:
                    judged[worker].look(worker.labels, run)
        sides = []
        for worker in (w for w in workers if w.runs or w.ended):
            sides.append(worker.summary(options.limit) | judged[worker].summary(judged[workers[0]]))
    finally:
        for worker in workers:
            worker.close()
    ours, peers = sides[0], sides[1:]
    best = min((p for p in peers if not p["informational"]), key=lambda p: p["median"])
    conditions = rows_module.judge(row, data.n, ours, best)
    result |= {
        "ours": ours,
        "peers": peers,
        "best": best["name"],
        "ratio": rows_module.ratio(row, ours, best),
        "objective": row.objective,
        "conditions": conditions,
        "reached": all(c["holds"] for c in conditions),
        "note": row.note,
        "passes": row.passes,
    }
    talk(f"  ratio {result['ratio']:.2f}, goal {row.goal}: {'reached' if result['reached'] else 'missed'}")
    return result


class Judged:
    """The objective of a contender's runs, and how its first labels agree with ours."""

    def __init__(self, row, data, rows, start):
        self.row, self.data, self.rows, self.start = row, data, rows, start
        self.objectives, self.labels = [], None

    def look(self, labels, run):
        import numpy as np

        import objective
        from data import open_rows

        if self.row.objective is None or not labels.exists():
            return
        labels = np.fromfile(labels, dtype="<u4")
        x = open_rows(self.rows, self.data.n, self.data.d)
        k = self.row.k
        if self.row.objective == "inertia":
            value = objective.inertia(x, labels, k)
        elif self.row.objective == "distance":
            value = objective.distance(x, labels, np.fromfile(self.start, dtype="<f4").reshape(k, -1))
        elif self.row.objective == "log-likelihood":
            value = objective.log_likelihood(x, run["mixture"])
        else:
            joined = objective.graph(self.rows, self.data.n, self.data.d, 10)
            value = objective.normalised_cut(joined, labels, k)
        self.objectives.append(value)
        if self.labels is None:
            self.labels = labels

    def summary(self, ours):
        import objective

        if not self.objectives:
            return {"objective": None, "objectives": [], "agreement": None}
        agreement = None
        if self is not ours:
            agreement = objective.agreement(self.labels, ours.labels)
        median = statistics.median(self.objectives)
        return {"objective": median, "objectives": self.objectives, "agreement": agreement}


def measure_growth(growth, options):
    """Ours alone, at every size in turn; small sizes are repeated until a measurement takes a while."""
    import data as data_module
    from rows import Contender, condition

    whole = growth["data"] if options.scale == 1 else growth["data"].scaled(options.scale)
    rows = data_module.rows_file(options.cache, whole)
    start = data_module.start_file(options.cache, whole, growth["k"])
    sizes = [max(round(n * whole.n / growth["data"].n), growth["k"]) for n in growth["sizes"]]
    talk(f"growth: {sizes[0]:,} to {sizes[-1]:,} rows of {whole.d}, k = {growth['k']}")
    result = header(growth["name"], "fit and predict as n doubles", growth["goal"], whole, growth["k"], options)
    curves = []
    for name, work in growth["work"].items():
        workers = []
        try:
            for n in sizes:
                passes = max(1, round((100 if work == "predict" else 5) * 20_000 / n))
                workers.append(Worker(Contender(name, work=work), whole, rows, start, passes, options, n=n))
            # A factor of two medians is off by more than each: many short runs rather than few long ones.
            for repeat in range(3 * options.repeats):
                for worker in workers:
                    worker.run({"seed": repeat})
        finally:
            for worker in workers:
                worker.close()
        points = [{"n": n, **worker.summary()} for n, worker in zip(sizes, workers)]
        for point in points:
            talk(f"  {name}, {point['n']:,} rows: {point['median']:.5f} s")
        curves.append({"name": name, "points": points, **growth_of(points), "judged": name in growth["judged"]})
    conditions = [
        condition(f"{c['name']}: the largest factor of a doubling", c["worst"], "<=", growth["most"])
        for c in curves
        if c["judged"]
    ]
    result |= {"curves": curves, "conditions": conditions, "reached": all(c["holds"] for c in conditions)}
    return result


def growth_of(points):
    """The factors from size to size, and the exponent of a line through the logarithms."""
    import numpy as np

    seconds = [p["median"] for p in points]
    factors = [b / a for a, b in zip(seconds, seconds[1:])]
    slope = float(np.polyfit(np.log([p["n"] for p in points]), np.log(seconds), 1)[0])
    return {"factors": factors, "worst": max(factors), "slope": slope}


def header(name, title, goal, data, k, options):
    return {
        "name": name,
        "title": title,
        "goal": goal,
        "n": data.n,
        "d": data.d,
        "k": k,
        "data": {"blobs": data.blobs, "spread": data.spread, "even": data.even},
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "repeats": options.repeats,
        "budget": options.budget,
        "environment": environment(options),
    }


def environment(options):
    import scipy.linalg  # noqa: F401  brings its BLAS, which is listed beside NumPy's
    import threadpoolctl

    cpu = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu)
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
        wide = [name for name in ("avx2", "fma", "avx512f") if name in flags]
        cpu += f" ({', '.join(wide)})" if wide else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    blas = sorted({f"{p['internal_api']} {p['version']}" for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"})
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "system": platform.platform(),
        "threads": THREADS,
        "busy_before": busy(),
        "python": platform.python_version(),
        "rust": rustc,
        "blas": ", ".join(blas),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def busy():
    """The share of the machine that others take, over two seconds in which nothing of ours runs."""

    def ticks():
        fields = [int(v) for v in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    if not Path("/proc/stat").exists():
        return None
    (total, idle), _ = ticks(), time.sleep(2)
    total_after, idle_after = ticks()
    share = 1 - (idle_after - idle) / max(total_after - total, 1)
    if share > 0.1:
        talk(f"  warning: others take {share:.0%} of the machine; two threads that wait for each other suffer most")
    return round(share, 3)


def commit():
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.rstrip()

    changed = [line[3:] for line in git("status", "--porcelain").splitlines()]
    mine = ("benches/results.json", "benches/baselines.json", "docs/explanation/benchmarks")
    dirty = any(not path.startswith(mine) for path in changed)
    return git("rev-parse", "--short", "HEAD") + (" with changes" if dirty else "")


def save(out, result):
    """Puts the row in its place at once, so that nothing is lost if a later row fails."""
    results = json.loads(out.read_text()) if out.exists() else {}
    results[result["name"]] = result
    partial = out.with_suffix(".part")
    partial.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    os.replace(partial, out)


def talk(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
