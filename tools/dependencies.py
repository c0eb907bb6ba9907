"""Checks licences, sources and duplicates of all dependencies by the rules of deny.toml, without a network.

`cargo deny check` does the same and knows advisories too; it takes minutes to compile, so CI runs it once a day
(.github/workflows/supply-chain.yml) and this on every change.
"""

import re
import subprocess
import sys
import tomllib
from collections import defaultdict


def allowed(expression: str, licences: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied; `/` is an old way to write OR."""
    tokens = re.findall(r"\(|\)|[^\s()/]+|/", expression)

    def either(at: int) -> tuple[bool, int]:
        value, at = both(at)
        while at < len(tokens) and tokens[at] in ("OR", "/"):
            other, at = both(at + 1)
            value = value or other
        return value, at

    def both(at: int) -> tuple[bool, int]:
        value, at = one(at)
        while at < len(tokens) and tokens[at] == "AND":
            other, at = one(at + 1)
            value = value and other
        return value, at

    def one(at: int) -> tuple[bool, int]:
        if tokens[at] == "(":
            value, at = either(at + 1)
            return value, at + 1
        name, at = tokens[at], at + 1
        if at < len(tokens) and tokens[at] == "WITH":
            name, at = f"{name} WITH {tokens[at + 1]}", at + 2
        return name in licences, at

    value, end = either(0)
    return value and end == len(tokens)


def dependencies() -> dict[tuple[str, str], tuple[str, str]]:
    """(name, version) → (licence, where from) of all that some build of ours compiles; the lock file names more."""
    command = ["cargo", "tree", "--locked", "--workspace", "--all-features", "--target", "all", "--edges", "normal,build,dev"]
    command += ["--prefix", "none", "--format", "{p}|{l}"]
    found = {}
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        if "|" not in line:  # an empty line between packages
            continue
        package, _, licence = line.removesuffix(" (*)").partition("|")  # (*): seen before
        name, version, *origin = package.split(" ", 2)
        origin = " ".join(origin).replace("(proc-macro)", "").strip()
        if not origin.startswith("(/"):  # a folder of ours
            found[name, version.removeprefix("v")] = (licence.strip(), origin)
    return found


def main() -> int:
    with open("deny.toml", "rb") as file:
        rules = tomllib.load(file)
    foreign = dependencies()
    licences = set(rules["licenses"]["allow"])
    banned = {rule["crate"] for rule in rules["bans"]["deny"]}
    skipped = {tuple(rule["crate"].split("@")) for rule in rules["bans"]["skip"]}
    problems = []
    versions = defaultdict(set)
    for (name, version), (licence, origin) in sorted(foreign.items()):
        if not licence:
            problems.append(f"{name} {version} names no licence")
        elif not allowed(licence, licences):
            problems.append(f"{name} {version} is under {licence}, which deny.toml does not allow")
        if origin:
            problems.append(f"{name} {version} comes from {origin}, not from the registry")
        if name in banned:
            problems.append(f"{name} is banned by deny.toml")
        if (name, version) not in skipped:
            versions[name].add(version)
    for name, found in sorted(versions.items()):
        if len(found) > 1:
            problems.append(f"{name} is there in {len(found)} versions ({', '.join(sorted(found))}); see `skip` of deny.toml")
    unused = sorted(skipped - set(foreign))
    problems += [f"deny.toml skips {name} {version}, which is not there" for name, version in unused]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(f"{len(foreign)} dependencies, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
