#!/usr/bin/env python3
"""Writes the reference pages that follow from the program: docs/reference/{command-line,names,parameters,baselines}.md.

    tools/reference.py target/debug/bridged            # write the pages
    tools/reference.py target/debug/bridged --check    # fail if a page is not current

Options and names come from the binary, defaults from its JSON output, and the meaning of a parameter from the doc
comment of its field in crates/bridged and crates/bridged-baselines.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
NOTE = "<!-- Written by tools/reference.py. Do not edit. -->"


class Program:
    """The binary that is described."""

    def __init__(self, path):
        self.path = Path(path).resolve()

    def output(self, *arguments, cwd=None):
        # Without a terminal the help is 100 columns wide wherever this runs.
        command = [str(self.path), *arguments]
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed: {done.stderr}")
        return done.stdout

    def verbs(self, *path):
        """Every verb below `path`, each with its help, in the order of the help."""
        text = self.output(*path, "--help")
        yield path, text
        found = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, re.M)
        for name in re.findall(r"^  (\S+)", found.group(1), re.M) if found else []:
            if name != "help":
                yield from self.verbs(*path, name)

    def parameters(self, bridge):
        """All parameters of a fit with this bridge, as a model states them."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "rows.csv").write_text("id,a\n" + "".join(f"{i},{i}\n" for i in range(4)))
            Path(folder, "pairs.csv").write_text("x_id,y_id\n0,0\n3,3\n")
            files = ["--x", "rows.csv", "--y", "rows.csv", "--pairs", "pairs.csv", "-o", "m.bridged"]
            text = self.output("fit", *files, "-k", "2", "--bridge", bridge, "--json", cwd=folder)
            return json.loads(text)["parameters"]


class Item:
    """A field of a struct or a variant of an enum."""

    def __init__(self, name, kind, about):
        self.name, self.kind, self.about = name, kind, about


class Sources:
    """What doc comments say of parameter structs and enums, and which struct a name in a list stands for."""

    def __init__(self):
        self.structs, self.enums, self.named = {}, {}, {}
        for crate in ("bridged", "bridged-baselines"):
            for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
                self.read(crate, path.read_text())

    def read(self, crate, text):
        for block in re.finditer(r"^(?:clusterings|bridges|baselines)! \{\n(.*?)^\}", text, re.M | re.S):
            for struct, name in re.findall(r'^    (\w+)\("([\w-]+)"', block.group(1), re.M):
                self.named[name] = (crate, struct)
        for kind, name, attributes, body in declarations(text):
            if kind == "struct":
                self.structs[crate, name] = list(fields(body))
            else:
                words = any(re.search(r"serde\((try_)?from", attribute) for attribute in attributes)
                self.enums[crate, name] = list(variants(body, words))

    def rows(self, of, defaults, prefix=""):
        """Lines of a table: name, default, meaning; in the order of the struct `of`, a crate and a name."""
        described = [item for item in self.structs[of] if item.name in defaults and item.about]
        for name in defaults.keys() - {item.name for item in described}:
            sys.exit(f"`{of[1]}.{name}` has no doc comment that tools/reference.py can read")
        for item in described:
            meaning = cell(item.about + self.choices(of[0], item.kind))
            yield f"| `{prefix}{item.name}` | {default(defaults[item.name])} | {meaning} |"

    def table(self, of, defaults, prefix=""):
        return [*HEAD, *self.rows(of, defaults, prefix)] if defaults else ["It has no parameters."]

    def choices(self, crate, kind):
        """The values of an enum, each on a line of its own."""
        kind = re.sub(r"Option<(\w+)>", r"\1", kind)
        variants = self.enums.get((crate, kind)) or self.enums.get(("bridged", kind)) or []
        return "".join(f"<br>`{variant.name}`: {variant.about}" for variant in variants)


def declarations(text):
    """The public structs and enums that are read from files: kind, name, attributes and lines."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if opened := re.match(r"pub (struct|enum) (\w+) \{$", line):
            first = at
            while lines[first - 1].startswith(("///", "#[")):
                first -= 1
            attributes = [above for above in lines[first:at] if above.startswith("#[")]
            if any("Deserialize" in attribute for attribute in attributes):
                yield *opened.groups(), attributes, lines[at + 1 : lines.index("}", at)]


def documented(body):
    """The lines that are not comments, each with the comment above it."""
    about = []
    for line in body:
        if line.strip().startswith("///"):
            about.append(line.strip().removeprefix("///").strip())
        elif not line.strip().startswith("#["):
            yield line, prose(about)
            about = []


def fields(body):
    for line, about in documented(body):
        if field := re.match(r"    pub (\w+): (.+),$", line):
            yield Item(field.group(1), field.group(2), about)


def variants(body, words):
    found = []
    for line, about in documented(body):
        if variant := re.match(r"    (\w+)(\(.*\)| \{)?,?$", line):
            found.append(Item(choice(*variant.groups(), words), "", about))
        elif inner := re.match(r"        (\w+): .+,$", line):
            found[-1].name = found[-1].name.replace("…", f'{{"{inner.group(1)}": …}}')
    return found


def prose(comment):
    """A doc comment as one line of Markdown, without links into the code."""
    text = " ".join(comment)
    text = re.sub(r"\s*:?\s*[Ss]ee\s+\[`[^`]*`\]\([^)]*\)", "", text)
    return re.sub(r"\[(`[^`]*`|[^\]]*)\](\([^)]*\))?", r"\1", text)


def choice(variant, load, words):
    """How a variant is written in JSON and TOML."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", variant).lower()
    if not load:
        return name
    if words:
        return "NUMBER"
    return f'{{"{name}": …}}'


def default(value):
    return "none" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def cell(text):
    return text.replace("|", "\\|")


HEAD = ["| name | default | meaning |", "|---|---|---|"]


def command_line(program):
    lines = ["# Command line", "", NOTE, ""]
    lines += [
        "What `bridged VERB --help` prints, for every verb. [Names](names.md) lists the values that options such as",
        "`--cluster` take, [Parameters](parameters.md) what `--set` can change, [Exit codes](exit-codes.md) how a",
        "command ends.",
    ]
    for path, text in program.verbs():
        lines += ["", f"## {' '.join(['bridged', *path])}", "", "```text", text.strip(), "```"]
    return lines


def names(program, listed):
    order = program.output("list").splitlines()
    lines = ["# Names", "", NOTE, "", "What `bridged list` prints: everything that can be named on the command line."]
    for title in sorted(listed.keys() & set(order), key=order.index):
        lines += ["", f"## {title.capitalize()}", "", "| name | what it is |", "|---|---|"]
        lines += [f"| `{entry['name']}` | {cell(entry['about'])} |" for entry in listed[title]]
    return lines


def parameters(program, listed, sources):
    lines = ["# Parameters", "", NOTE, ""]
    lines += [
        "Every parameter by its name, as `--set NAME=VALUE` takes it, with its default. The same names are in the",
        "header of a [model file](model-file.md) and in `[parameters.METHOD]` of a [study](studies.md). A value is",
        "JSON; a word needs no quotes.",
        "",
        "```sh",
        "bridged fit --x x.parquet --y y.parquet --pairs pairs.csv -k 7 --set x.cluster.descent=lloyd -o m.bridged",
        "bridged cluster rows.npy --method agglomerative -k 7 --set linkage=average -o labels.csv",
        "```",
        "",
        "[Baselines](baselines.md) has the parameters of the baselines.",
        "",
        "## A fit",
        "",
        *HEAD,
    ]
    spec = program.parameters(listed["bridges"][0]["name"])
    own = {name: value for name, value in spec.items() if not isinstance(value, dict)}
    lines += sources.rows(("bridged", "BridgedClustering"), own)
    lines += sources.rows(("bridged", "SideSpec"), {"scale": spec["x"]["scale"]}, "x.")
    lines += sources.rows(("bridged", "Refine"), spec["refine"], "refine.")
    other = listed["bridges"][1]["name"]
    refine = ", ".join(f"`{name}` {default(value)}" for name, value in program.parameters(other)["refine"].items())
    lines += ["", f"`y.scale` is the same for y. With `--bridge {other}` the defaults of `refine` are {refine}."]
    for entry in listed["bridges"]:
        rule = program.parameters(entry["name"])["bridge"]
        settings = {name: value for name, value in rule.items() if name != "rule"}
        lines += ["", f"## Bridge {entry['name']}", "", sentence(entry["about"]), ""]
        lines += sources.table(sources.named[entry["name"]], settings, "bridge.")
    for settings in listed["clustering_defaults"]:
        name = settings.pop("method")
        about = next(entry["about"] for entry in listed["clusterings"] if entry["name"] == name)
        prefix = "In a fit, the names begin with `x.cluster.` or `y.cluster.`."
        lines += ["", f"## Clustering {name}", "", f"{sentence(about)} {prefix}", ""]
        lines += sources.table(sources.named[name], settings)
    return lines


def baselines(listed, sources):
    lines = ["# Baselines", "", NOTE, ""]
    lines += [
        "The methods that Bridged Clustering is compared with in [studies](studies.md), and that `bridged.baselines`",
        "has in Python: the eleven of the paper (`knn` to `gw`), fused Gromov–Wasserstein, and plain rivals.",
        "[Fidelity to the paper](../explanation/fidelity.md#the-baselines) says where they differ from the published",
        "code. In a study, `[parameters.METHOD]` changes a parameter.",
    ]
    for entry, settings in zip(listed["baselines"], listed["baseline_defaults"]):
        name = settings.pop("method")
        lines += ["", f"## {name}", "", sentence(entry["about"]), ""]
        lines += sources.table(sources.named[name], settings)
    return lines


def sentence(about):
    return (about if about.startswith("k-") else about[0].upper() + about[1:]) + "."


def hand_written(listed):
    """Names that a page written by hand does not mention."""
    for title, page in (("metrics", "metrics.md"), ("encoders", "encoders.md")):
        text = (PAGES / page).read_text()
        for entry in listed[title]:
            if f"`{entry['name']}`" not in text:
                yield f"docs/reference/{page} does not mention `{entry['name']}`"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    program, sources = Program(arguments[0]), Sources()
    listed = json.loads(program.output("list", "--json"))
    pages = {
        "command-line.md": command_line(program),
        "names.md": names(program, listed),
        "parameters.md": parameters(program, listed, sources),
        "baselines.md": baselines(listed, sources),
    }
    problems = list(hand_written(listed))
    for name, lines in pages.items():
        text, path = "\n".join(lines) + "\n", PAGES / name
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            problems.append(f"docs/reference/{name} is not current: run tools/reference.py {arguments[0]}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
