#!/usr/bin/env python3
"""Checks the book and the pages beside it: links, anchors, the table of contents, and the commands shown.

    tools/check_book.py

Every relative link must lead to a file or folder of the repository, and every anchor to a heading. Every page of
docs/ must be in docs/SUMMARY.md. Every `bridged` command in a shell block must use verbs and options of
docs/reference/command-line.md, which tools/reference.py keeps current.
"""

import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def prose(text):
    """The page without code, where brackets are not links."""
    return re.sub(r"`[^`\n]*`", "code", FENCE.sub("", text))


def anchors(page):
    """The ids of the headings, as mdBook and the usual forges make them."""
    found, seen = set(), {}
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        letters = (c if c.isalnum() or c in "_-" else "-" if c.isspace() else "" for c in heading.strip().lower())
        name = "".join(letters)
        seen[name] = seen.get(name, -1) + 1
        found.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return found


def links(page):
    for target in LINK.findall(prose(page.read_text())):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{page.relative_to(ROOT)}: `{target}` leads to no file"
        elif ROOT != file and ROOT not in file.parents:
            yield f"{page.relative_to(ROOT)}: `{target}` leaves the repository"
        elif anchor and anchor not in anchors(file):
            yield f"{page.relative_to(ROOT)}: `{target}` leads to no heading"


def contents(pages):
    listed = {(DOCS / target).resolve() for target in LINK.findall((DOCS / "SUMMARY.md").read_text())}
    for page in pages:
        if page not in listed and page.name != "SUMMARY.md":
            yield f"{page.relative_to(ROOT)} is not in docs/SUMMARY.md"


def verbs():
    """The options of each verb, from the page of the command line."""
    page = (DOCS / "reference" / "command-line.md").read_text()
    sections = re.findall(r"^## bridged ?([^\n]*)\n\n```text\n(.*?)^```$", page, re.M | re.S)
    option = re.compile(r"^ +(-\w)?,? *(--[\w-]+)?", re.M)
    return {tuple(path.split()): {o for pair in option.findall(text) for o in pair if o} for path, text in sections}


def commands(page, known):
    for language, block in FENCE.findall(page.read_text()):
        if language != "sh":
            continue
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|do |\) ?|; )\s*(?:bridged|cargo run --release --) (.*)", line)
            if not found:
                continue
            words = shlex.split(found.group(1), comments=True)
            verb = ()
            while words and (*verb, words[0]) in known:
                verb = (*verb, words.pop(0))
            asked = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            for option in sorted(asked - known[verb]):
                yield f"{page.relative_to(ROOT)}: `bridged {' '.join(verb)}` has no option {option}"
            if not verb and not asked:
                yield f"{page.relative_to(ROOT)}: there is no `bridged {' '.join(words[:1])}`"


def main():
    pages = sorted(page.resolve() for page in DOCS.rglob("*.md"))
    beside = [*ROOT.glob("*.md"), *ROOT.glob("benches/*.md"), *ROOT.glob("examples/*/*.md")]
    problems, known = list(contents(pages)), verbs()
    for page in [*pages, *beside]:
        problems += [*links(page), *commands(page, known)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(pages)} pages: links, anchors, contents and commands hold")


if __name__ == "__main__":
    main()
