"""Puts the tables of a report into a page: docs/explanation/results.md and docs/reference/result-tables.md.

    bridged lab report docs/results -o tables.md && python3 tools/tables.py tables.md docs/explanation/results.md

A comment `<!-- table: CAPTION -->` in the page is followed by the table that the report has under that
caption (its beginning will do). `<!-- table: CAPTION | by: method | value: error ÷ mean's | only: eot, knn -->`
makes a column of every value of `by`, or of those in `only`, filled with `value`; what else tells rows apart
stays, except for the columns in `drop`.
"""

import re
import sys

MARK = re.compile(r"<!-- table: (.*) -->")


def tables(text):
    """Each table of a report by its caption."""
    found, caption = {}, ""
    for line in text.splitlines():
        if line.startswith("|"):
            found.setdefault(caption, []).append(line)
        elif line.strip():
            caption = line
    return found


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def pivot(lines, by, value, only, drop):
    """One column for each entry of the column `by`."""
    names = cells(lines[0])
    rows = [dict(zip(names, cells(line))) for line in lines[2:]]
    only = only or list(dict.fromkeys(row[by] for row in rows))
    keys = [name for name in names if name not in {by, value, *drop}]
    of = {}
    for row in rows:
        of.setdefault(tuple(row[k] for k in keys), {})[row[by]] = row[value]
    shown = [[*key, *(found.get(name, "–") for name in only)] for key, found in of.items()]
    head = [keys + only, ["---"] * len(keys) + ["---:"] * len(only)]
    return ["| " + " | ".join(row) + " |" for row in head + shown]


def table(mark, found):
    caption, *options = [part.strip() for part in mark.split(" | ")]
    matching = [lines for name, lines in found.items() if name.startswith(caption)]
    if len(matching) != 1:
        sys.exit(f"{len(matching)} tables have a caption that begins with: {caption}")
    options = dict(option.split(": ", 1) for option in options)
    lists = {key: [v.strip() for v in options.get(key, "").split(",") if v.strip()] for key in ("only", "drop")}
    return pivot(matching[0], options["by"], options["value"], **lists) if options else matching[0]


def main():
    found = tables(open(sys.argv[1], encoding="utf-8").read())
    page, skip = [], False
    for line in open(sys.argv[2], encoding="utf-8").read().splitlines():
        mark = MARK.match(line)
        skip = skip and (line.startswith("|") or not line.strip())
        if mark:
            page += [line, "", *table(mark.group(1), found), ""]
            skip = True
        elif not skip:
            page.append(line)
    open(sys.argv[2], "w", encoding="utf-8").write("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
