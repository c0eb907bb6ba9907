"""What each part of the posterior bridge gains: the table of docs/posterior.md.

    BRIDGED_DATA=../shared/data python tools/posterior_parts.py target/release/bridged results/parts

Runs the studies of experiments/ with one part switched off at a time, and prints the mean error ÷ error of
the mean of y, and the share of draws on which switching the part off is worse. A second run goes on.
"""

import json
import pathlib
import subprocess
import sys
import tomllib

DATA = ["fashion", "flickr8k", "butterflies", "emoji", "wikipedia", "digits"]
PARTS = {
    "all parts": "",
    "hard memberships": "[parameters.bridged-posterior.bridge]\ntemperature = 0.0\n",
    "flat prior of q": "[parameters.bridged-posterior.bridge]\nreliability = 0.5\nprior = 2.0\n",
    "plain means": '[parameters.bridged-posterior.bridge]\nmeans = "plain"\n',
    "no residual map": '[parameters.bridged-posterior.refine]\nkind = "none"\n',
    "none of the four": "[parameters.bridged-posterior.bridge]\ntemperature = 0.0\nreliability = 0.5\nprior = 2.0\n"
    'means = "plain"\n[parameters.bridged-posterior.refine]\nkind = "none"\n',
}
CELLS = 'groups = [3, 5, 7]\npairs = [1, 2, 4]\nseeds = 2\nmethods = ["bridged-posterior"]\n'
DRAWS = ["", "unequal-random-pairs"]  # equal groups with stratified pairs; Zipf groups with i.i.d. pairs


def errors(bridged: str, folder: pathlib.Path, data: str, draws: str, part: str) -> dict:
    base = pathlib.Path(__file__).parent.parent / "experiments"
    given = tomllib.loads((base / "datasets" / f"{data}.toml").read_text())
    condition = tomllib.loads((base / "conditions" / f"{draws or 'base'}.toml").read_text())
    own = condition.get("dataset", {}).get(data, {})
    keys = given["protocol"] | condition.get("protocol", {}) | own.get("protocol", {})
    head = f'data = "{data}.parquet"\ntruth = "{given.get("truth", "own")}"\n{CELLS}'
    protocol = "\n".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())
    name = f"{data}-{draws}-{part}".replace(" ", "_")
    study = folder / f"{name}.toml"
    study.write_text(f"{head}[protocol]\n{protocol}\n{PARTS[part]}")
    subprocess.run([bridged, "lab", "run", study, "-o", folder / name, "-q"], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for line in (folder / name / "runs.jsonl").read_text().splitlines():
        run = json.loads(line)
        key = draws, run["groups"], run["pairs"], run["setting"], run["direction"], run["run"]
        found[key] = run["scores"]["mse"] / run["scores"]["mse_of_mean"]
    return found


def main() -> None:
    bridged, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    print("| |", " | ".join(DATA), "| worse on |")
    print("|---|", "---|" * (len(DATA) + 1), sep="")
    of = {p: {d: {} for d in DATA} for p in PARTS}
    for part in PARTS:
        for data in DATA:
            for draws in DRAWS:
                of[part][data] |= errors(bridged, folder, data, draws, part)
        means = [sum(e.values()) / len(e) for e in of[part].values()]
        pairs = [(of[part][d][k], full) for d in DATA for k, full in of["all parts"][d].items()]
        worse = "" if part == "all parts" else f"{100 * sum(a > b for a, b in pairs) / len(pairs):.0f} %"
        print(f"| {part} |", " | ".join(f"{m:.3f}" for m in means), f"| {worse} |", flush=True)


if __name__ == "__main__":
    main()
