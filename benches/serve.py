"""`bridged serve` under load from a second process, beside what the same server answers with an empty body.

    cargo build --release --locked -p bridged-cli --features serve
    python benches/serve.py SCRATCH --columns 64 --k 100 --seconds 10

Makes a mixture of Gaussians, fits a model, starts the server on a free port, and measures

- requests of one row per second (wrk, one thread), and requests with an empty body, which are refused before a model is asked,
- the 99th percentile at half of that load (hey, which keeps a rate),
- batches of 10,000 rows as Arrow IPC, beside `bridged predict` on the same rows and on twenty times as many.

Loads come in turns, and each figure is the median of `--repeats`. `--members one` fits one clustering with its links, the default all
members. Needs numpy and pyarrow, and wrk and hey (packages of Debian). Scratch data stay in SCRATCH.
"""

import argparse
import http.client
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

ARROW = "application/vnd.apache.arrow.stream"
BODIES = 64

LUA = """
local bodies = {}
for line in io.lines("%s") do bodies[#bodies + 1] = line end
local at = 0
request = function()
  at = at %% #bodies + 1
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[at])
end
"""


def write(path, rows, columns, groups, seed, spread=0.5):
    """An Arrow file of `id` and `v`, a list of 32-bit floats; row i is in group i % groups."""
    centres = np.random.default_rng(seed).normal(size=(groups, columns)).astype(np.float32)
    noise = np.random.default_rng((seed, rows)).normal(size=(rows, columns)).astype(np.float32)
    values = centres[np.arange(rows) % groups] + spread * noise
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), columns)
    table = pa.table({"id": pa.array(np.arange(rows)), "v": vectors})
    with pa.OSFile(str(path), "wb") as sink, ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=16_384)
    return values


def wrk(url, script, connections, seconds):
    """Requests per second, and the 99th percentile in milliseconds."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script, url]
    out = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
    return rate, float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit], out


def hey(url, body, connections, rate, seconds):
    """The rate that was kept, and the 99th percentile in milliseconds."""
    command = ["hey", "-z", f"{seconds}s", "-c", connections, "-q", rate / connections, "-m", "POST"]
    command += ["-T", "application/json", "-D", body, url]
    out = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout
    if set(re.findall(r"\[(\d+)\]\s+\d+ responses", out)) != {"200"}:
        raise SystemExit(f"not all were answered:\n{out}")
    kept = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    return kept, float(re.search(r"99%+ in ([\d.]+) secs", out)[1]) * 1e3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--bridged", default="target/release/bridged")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--members", help="as of `bridged fit`")
    parser.add_argument("--batch", type=int, default=10_000)
    args = parser.parse_args()
    folder = args.scratch
    folder.mkdir(parents=True, exist_ok=True)

    write(folder / "x.arrow", args.rows, args.columns, args.k, 1)
    write(folder / "y.arrow", args.rows, args.columns, args.k, 2)
    (folder / "pairs.csv").write_text("x_id,y_id\n" + "".join(f"{i},{i}\n" for i in range(3 * args.k)))
    model = folder / f"{args.members or 'all'}.bridged"
    fit = [args.bridged, "fit", "--x", folder / "x.arrow", "--y", folder / "y.arrow", "--pairs", folder / "pairs.csv"]
    fit += ["-k", args.k, "--force", "-o", model, "--quiet"] + (["--members", args.members] if args.members else [])
    subprocess.run([str(c) for c in fit], check=True, stdout=subprocess.DEVNULL)
    new = write(folder / "new.arrow", args.batch, args.columns, args.k, 1)
    write(folder / "many.arrow", 20 * args.batch, args.columns, args.k, 1)
    bodies = [json.dumps({"row": [float(str(v)) for v in row]}) for row in new[:BODIES]]
    (folder / "bodies").write_text("\n".join(bodies) + "\n")
    (folder / "body").write_text(bodies[0])
    (folder / "empty").write_text("\n")
    for name in ["bodies", "empty"]:
        (folder / f"{name}.lua").write_text(LUA % (folder / name))

    server = subprocess.Popen(
        [args.bridged, "serve", f"m={model}", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    try:
        host = re.search(r"http://(\S+)", server.stderr.readline())[1]
        url = f"http://{host}/v1/models/m/predict"
        found = {name: [] for name in ["predict", "predict_p99", "empty", "half", "half_p99", "batch", "command", "many"]}
        for _ in range(args.repeats):
            for name, script in [("empty", "empty.lua"), ("predict", "bodies.lua")]:
                rate, p99, out = wrk(url, folder / script, args.connections, args.seconds)
                if ("Non-2xx" in out) != (name == "empty"):
                    raise SystemExit(f"{name}: not answered as expected\n{out}")
                found[name].append(rate)
                if name == "predict":
                    found["predict_p99"].append(p99)
            kept, p99 = hey(url, folder / "body", args.connections, found["predict"][-1] / 2, args.seconds)
            found["half"].append(kept)
            found["half_p99"].append(p99)
            body = (folder / "new.arrow").read_bytes()
            connection = http.client.HTTPConnection(host)
            for turn in range(6):
                began = time.perf_counter()
                connection.request("POST", "/v1/models/m/predict", body, {"Content-Type": ARROW})
                reply = connection.getresponse()
                answer = reply.read()
                if reply.status != 200:
                    raise SystemExit(answer.decode())
                if turn > 0:
                    found["batch"].append(args.batch / (time.perf_counter() - began))
            for name, rows in [("command", args.batch), ("many", 20 * args.batch)]:
                source = folder / ("new.arrow" if name == "command" else "many.arrow")
                command = [args.bridged, "predict", model, source, "--force", "--quiet", "-o", folder / "out.arrow"]
                began = time.perf_counter()
                subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
                found[name].append(rows / (time.perf_counter() - began))
            with pa.OSFile(str(folder / "out.arrow")) as file:
                ipc.open_file(file)
    finally:
        server.terminate()
        server.wait()

    median = {name: statistics.median(values) for name, values in found.items()}
    print(f"{platform.machine()}, {os.cpu_count()} cores, members {args.members or 'all'}, {args.columns} columns, k {args.k}")
    print(f"one row      {median['predict']:10,.0f} requests/s, p99 {median['predict_p99']:.2f} ms, {args.connections} connections")
    print(f"empty body   {median['empty']:10,.0f} requests/s; one row is {median['predict'] / median['empty']:.2f} of it")
    print(f"half load    {median['half']:10,.0f} requests/s, p99 {median['half_p99']:.2f} ms")
    print(f"batches      {median['batch']:10,.0f} rows/s of {args.batch} rows each, Arrow IPC")
    print(f"the command  {median['command']:10,.0f} rows/s on a file of {args.batch}; batches are {median['batch'] / median['command']:.2f} of it")
    print(f"             {median['many']:10,.0f} rows/s on a file of {20 * args.batch}; batches are {median['batch'] / median['many']:.2f} of it")


if __name__ == "__main__":
    main()
