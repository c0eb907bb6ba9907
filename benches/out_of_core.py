"""Pools larger than the memory that is allowed: our command beside the peers that users have for this.

    python benches/out_of_core.py SCRATCH --rows 50000000 --k 256 --memory 2GB [--balanced-rows 20000000 --balanced-k 100]
        [--fit-rows 20000000] [--peers all] [--limit 7200] [--write]

Writes mixtures of Gaussians into Parquet parts and npy files under SCRATCH (`mixture_parts.py`; kept for the next run), runs one
contender after the other, each in a process of its own, and measures seconds and the largest resident set. The inertia of
all is computed here, in one way, from their centroids over all rows. Results go to SCRATCH/results.json; with --write also to
benches/out_of_core.json and docs/explanation/benchmarks-out-of-core.md. Peers: `pip install -r benches/requirements-out-of-core.txt`.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq

from mixture_parts import joined, mixture

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = {
    "pyarrow scan": "reads every vector once",
    "polars scan": "sums every column once",
    "duckdb scan": "sums the first entry of every vector once",
    "clostera, Parquet": "`Clusterer(algorithm=\"auto\", max_ram_bytes=…)` over one file of all parts: the exact one takes no Parquet",
    "clostera, memmap": "`Clusterer(algorithm=\"clostera-dense-exact-row\")` over a memory-mapped npy file",
    "faiss, memmap": "`faiss.Kmeans(max_points_per_centroid=10**9)` over the memory-mapped file",
    "scikit-learn, partial_fit": "`MiniBatchKMeans.partial_fit`, batches of 16,384 rows of the parts, 3 passes",
    "dask-ml, memmap": "`dask_ml.cluster.KMeans` over blocks of the memory-mapped file",
}
PACKAGES = ["numpy", "pyarrow", "clostera", "faiss-cpu", "scikit-learn", "dask", "dask-ml", "polars", "duckdb"]


# A child begins with the largest resident set of its parent, so the parent of what is measured must be small.
LAUNCH = """
import os, sys, time
began = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
open(sys.argv[1], "w").write(f"{time.perf_counter() - began} {usage.ru_maxrss * 1024}")
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"""


def run(command, args):
    """Seconds, peak bytes, and what the command printed; of one that failed or took too long, that."""
    peak = args.scratch / "peak"
    peak.unlink(missing_ok=True)
    # What waits for the machine is no part of the time.
    launch = [*args.under.split(), sys.executable, "-S", "-E", "-c", LAUNCH, peak, "timeout", f"{args.limit:.0f}", *command]
    environment = {**os.environ, "OMP_NUM_THREADS": str(os.cpu_count())}
    process = subprocess.Popen(
        [str(c) for c in launch], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    out, errors = process.communicate()
    seconds, bytes = peak.read_text().split()
    measured = {"seconds": float(seconds), "peak": int(bytes)}
    if process.returncode == 124:
        return {**measured, "failed": f"ended after {args.limit:.0f} s"}
    if process.returncode != 0:
        lines = errors.strip().splitlines() or [f"status {process.returncode}"]
        return {**measured, "failed": lines[-1][:300]}
    # The command prints one JSON value over several lines; a peer may say other things before its line.
    said = out if out.startswith("{\n") else out.strip().splitlines()[-1]
    return {**json.loads(said), **measured}


def parts(folder):
    return sorted(folder.glob("*.parquet"))


def blocks(folder):
    for path in parts(folder):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=65_536, columns=["v"]):
            column = batch.column(0)
            yield column.flatten().to_numpy().reshape(len(column), -1)


def inertia_of(folder, centroids):
    """Σ ‖row − nearest centroid‖², in f64 where it is summed."""
    total, squares = 0.0, (centroids.astype(np.float64) ** 2).sum(axis=1)
    for x in blocks(folder):
        scores = squares - 2.0 * (x @ centroids.T.astype(np.float32))
        total += float((x.astype(np.float64) ** 2).sum() + scores.min(axis=1).sum())
    return total


def means_of(folder, labels, k):
    """The means of the rows of each label, as the command wrote them; and the sizes."""
    file, sums, sizes = pq.ParquetFile(labels), None, np.zeros(k, dtype=np.int64)
    of_rows = (batch.column(0).to_numpy() for batch in file.iter_batches(batch_size=65_536, columns=["label"]))
    held = np.empty(0, dtype=np.int64)
    for x in blocks(folder):
        while len(held) < len(x):
            held = np.concatenate([held, next(of_rows)])
        of_block, held = held[: len(x)], held[len(x) :]
        order = np.argsort(of_block, kind="stable")
        found, starts = np.unique(of_block[order], return_index=True)
        added = np.add.reduceat(x[order].astype(np.float64), starts, axis=0)
        sums = np.zeros((k, x.shape[1])) if sums is None else sums
        sums[found] += added
        sizes += np.bincount(of_block, minlength=k)
    return (sums / np.maximum(sizes, 1)[:, None]).astype(np.float32), sizes


def cluster(args, work, method, folder, k, *flags, named=""):
    labels = args.scratch / f"labels-{method}.parquet"
    command = [args.bridged, "cluster", folder, "-m", method, "-k", k, "--restarts", 1, "--max-iter", args.iterations]
    command += ["--set", "tol=0"] if method == "kmeans" else []
    command += ["-o", labels, "--json", "--force", "--no-checkpoint", *(flags or ["--memory", args.memory, "--in-passes"])]
    row = run(command, args)
    what = " ".join(str(flag) for flag in flags if flag != args.scratch)
    what = f"`bridged cluster -m {method} {what}`".replace(" `", "`")
    row = {"work": work, "name": f"bridged {method}{named}", "what": what, **keep(row)}
    if "failed" not in row:
        centroids, sizes = means_of(folder, labels, k)
        row |= {"inertia": inertia_of(folder, centroids), "sizes": [int(sizes.min()), int(sizes.max())]}
    return row


def keep(row):
    wanted = ["seconds", "peak", "failed", "iterations", "relative_gap", "predicted_peak", "version", "rows", "verdict"]
    return {name: row[name] for name in wanted if name in row}


def peer(args, work, name, folder, npy, k):
    out = args.scratch / "centroids.npy"
    out.unlink(missing_ok=True)
    command = [sys.executable, HERE / "out_of_core_peers.py", name, "--rows", folder, "--npy", npy, "--k", k]
    command += ["--iterations", args.iterations, "--out", out, "--memory", args.memory]
    row = {"work": work, "name": name, "what": PEERS[name], **keep(run(command, args))}
    if "failed" not in row and out.exists():
        row["inertia"] = inertia_of(folder, np.load(out))
    return row


def fit(args, x, y):
    pairs, model = args.scratch / "pairs.csv", args.scratch / "m.bridged"
    pairs.write_text("x_id,y_id\n" + "".join(f"{i},{i}\n" for i in range(100)))
    row = {}
    for sample in [None, max(args.fit_rows // 20, 1000)]:
        command = [args.bridged, "fit", "--x", x, "--y", y, "--pairs", pairs, "-o", model, "--memory", args.memory, "--json", "--force"]
        command += ["--no-checkpoint", "--in-passes"] + ([] if sample is None else ["--sample", sample])
        measured = run(command, args)
        grade = measured.get("verdict", {})
        name = "bridged fit" if sample is None else f"bridged fit, sample of {sample:,}"
        row = {"work": "fit", "name": name, "what": "both pools in passes, 100 pairs", **keep(measured)}
        row["verdict"] = grade.get("forward", grade) if isinstance(grade, dict) else grade
        yield row


def shown(row):
    def size(bytes):
        return f"{bytes / 1e9:.2f} GB"

    if "failed" in row:
        peak = size(row["peak"]) if "peak" in row else ""
        return f"| {row['name']} | {row['failed']} | {peak} | | | |"
    sizes = " to ".join(f"{n:,}" for n in row["sizes"]) if "sizes" in row else ""
    inertia = f"{row['inertia']:.6g}" if "inertia" in row else ""
    gap = f"{row['relative_gap']:.1e}" if isinstance(row.get("relative_gap"), float) else ""
    return f"| {row['name']} | {row['seconds']:.1f} s | {size(row['peak'])} | {inertia} | {sizes} | {gap} |"


def page(results):
    about = results["about"]
    lines = [
        "# Benchmarks: pools larger than memory",
        "",
        "Written by `python3 benches/out_of_core.py --write` from what it measured; do not edit.",
        "",
        f"{about['machine']}; {', '.join(f'{name} {version}' for name, version in about['versions'].items())}.",
        f"`--memory {about['memory']}`, {about['iterations']} iterations at most, one start; measured {about['when']} at commit {about['commit']}.",
        "Peak is the largest resident set of the process, with pages of files that it has mapped. The inertia of all is computed by one",
        "function from their centroids. What each contender does:",
        "",
        *[f"- {name}: {what}" for name, what in {row["name"]: row["what"] for row in results["rows"]}.items()],
    ]
    for work, title in results["works"].items():
        rows = [row for row in results["rows"] if row["work"] == work]
        if rows:
            lines += ["", f"## {title}", "", "| | time | peak | inertia | sizes | relative gap |", "|---|---|---|---|---|---|"]
            lines += [shown(row) for row in rows]
    return "\n".join(lines) + "\n"


def versions(args):
    found = {"bridged": subprocess.run([args.bridged, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of k-means")
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--k", type=int, default=256)
    parser.add_argument("--balanced-rows", type=int, help="rows of balanced k-means [default: 2/5 of --rows]")
    parser.add_argument("--balanced-k", type=int, default=100)
    parser.add_argument("--fit-rows", type=int, help="rows of each pool of the fit [default: 2/5 of --rows]; 0 leaves it out")
    parser.add_argument("--memory", default="400MB")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--in-memory", default="16GB", help="for the same work with all rows in memory")
    parser.add_argument("--under", default="", help="a command that each contender is run by, such as one that waits for the machine")
    parser.add_argument("--limit", type=float, default=7200, help="seconds after which a contender is ended")
    parser.add_argument("--peers", default="all", help="names with ; between them, all or none")
    parser.add_argument("--bridged", default=str(ROOT / "target/release/bridged"))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    balanced_rows = args.balanced_rows or args.rows * 2 // 5
    args.fit_rows = args.rows * 2 // 5 if args.fit_rows is None else args.fit_rows
    wanted = {"all": list(PEERS), "none": []}.get(args.peers) or [name for name in args.peers.split(";") if name in PEERS]

    def pool(rows, columns, groups, seed, npy=False):
        name = f"{rows}x{columns}-{groups}-{seed}"
        file = args.scratch / f"{name}.npy" if npy else None
        mixture(args.scratch / name, rows, columns, groups, seed, npy=file)
        return args.scratch / name, file

    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    size = f"{args.columns} columns"
    results = {
        "about": {
            "machine": f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {platform.platform()}",
            "versions": versions(args), "memory": args.memory, "iterations": args.iterations,
            "when": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "commit": commit,
        },
        "works": {
            "kmeans": f"k-means, {args.rows:,} rows of {size}, k = {args.k}",
            "balanced": f"Balanced, {balanced_rows:,} rows of {size}, k = {args.balanced_k}",
            "fit": f"Fit, {args.fit_rows:,} rows in both pools",
        },
        "rows": [],
    }

    def done(row):
        results["rows"].append(row)
        print(f"{row['work']:9}{shown(row)}", flush=True)
        args.scratch.joinpath("results.json").write_text(json.dumps(results, indent=1) + "\n")

    x, npy = pool(args.rows, args.columns, args.k, 1, npy=any("memmap" in name for name in wanted))
    done(cluster(args, "kmeans", "kmeans", x, args.k))
    scratch = ["--memory", args.memory, "--in-passes", "--scratch", args.scratch]
    done(cluster(args, "kmeans", "kmeans", x, args.k, *scratch, named=", --scratch"))
    done(cluster(args, "kmeans", "kmeans", x, args.k, "--memory", args.in_memory, named=", in memory"))
    if "clostera, Parquet" in wanted:
        joined(x, x.with_suffix(".parquet"))
    for name in wanted:
        done(peer(args, "kmeans", name, x, npy, args.k))
    x, _ = pool(balanced_rows, args.columns, args.balanced_k, 2)
    for method in ["kmeans", "balanced"]:
        done(cluster(args, "balanced", method, x, args.balanced_k))
    if args.fit_rows:
        x, _ = pool(args.fit_rows, args.columns, 100, 3)
        y, _ = pool(args.fit_rows, args.columns // 2, 100, 4)
        for row in fit(args, x, y):
            done(row)
    if args.write:
        HERE.joinpath("out_of_core.json").write_text(json.dumps(results, indent=1) + "\n")
        ROOT.joinpath("docs/explanation/benchmarks-out-of-core.md").write_text(page(results))
    args.scratch.joinpath("page.md").write_text(page(results))


if __name__ == "__main__":
    main()
