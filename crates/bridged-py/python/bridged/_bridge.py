"""The bridge as a table, and as a picture."""

from __future__ import annotations

import json
from html import escape

import numpy as np

#: What the rows of a cluster are called is cut to this many letters in the picture.
_LETTERS = 36

#: The columns of the table, in their order.
_COLUMNS = (
    "cluster",
    "rows",
    "pairs",
    "support",
    "linked",
    "weight",
    "probability",
    "vote_share",
    "status",
    "answer",
    "links",
    "members",
    "linked_members",
)


class Bridge(dict):
    """One line for each input cluster; a dict of columns, so that any table library takes it.

    ``pandas.DataFrame(model.bridge_)``, ``polars.DataFrame(model.bridge_)`` and
    ``pyarrow.table(model.bridge_)`` all work; in a notebook it shows as a picture.

    ============ =====================================================================
    cluster      the input cluster
    rows         how many rows it has
    pairs        how many pairs lie in it
    support      how many of them voted for the link
    linked       the output cluster that it leads to; -1 for none
    weight       that cluster's share of the answer
    probability  how probable ``linked`` is, of the posterior bridge; NaN of the others
    vote_share   the share of the pairs in the answering cluster that voted for ``linked``
    status       linked, tied, eliminated, outvoted, no evidence, no partner
    answer       link, nearest cluster N, mean, abstain
    links        all output clusters with their shares, where there are several
    members      what the most typical rows are called: by the carried column that tells clusters
                 apart best (``model.inspect()["x"]["label"]``), or their ids
    linked_members  the same of the output cluster
    ============ =====================================================================

    Examples
    --------
    >>> import numpy as np
    >>> from bridged import BridgedClustering
    >>> X = np.array([[0.0], [0.1], [7.0], [7.1]])
    >>> Y = np.array([[5.0], [5.1], [8.0], [8.1]])
    >>> bridge = BridgedClustering(n_clusters=2).fit(X, Y, [(0, 2), (3, 0)]).bridge_
    >>> bridge["status"].tolist()
    ['linked', 'linked']
    >>> "<svg" in bridge._repr_html_()
    True
    """

    def __init__(self, columns, *, sides=("x", "y"), targets=(), output=()):
        super().__init__(columns)
        self.sides = sides
        self._targets = targets
        self._output = output

    @classmethod
    def of(cls, native, about: dict, reverse: bool) -> Bridge:
        """From a native model and what it says about itself."""
        sides = ("y", "x") if reverse else ("x", "y")

        def members(side, cluster):
            rows = native.members(side, cluster, 6)
            return ", ".join(dict.fromkeys(native.member_titles(side, rows)))

        lines, targets = json.loads(native.link_table(reverse)), []
        for line in lines:
            links = line["links"]
            targets.append([tuple(link) for link in links])
            line["links"] = " ".join(f"{c}:{w:.3f}" for c, w in links) if len(links) > 1 else ""
            line["members"] = members(sides[0], line["cluster"])
            line["linked_members"] = members(sides[1], line["linked"]) if links else ""
            line["linked"] = line["linked"] if links else -1
            for name in ("weight", "probability"):
                line[name] = float("nan") if line[name] is None else line[name]
        columns = {name: np.array([line[name] for line in lines]) for name in _COLUMNS} if lines else {}
        output = [(size, members(sides[1], b)) for b, size in enumerate(about[sides[1]]["sizes"])]
        return cls(columns, sides=sides, targets=targets, output=output)

    def __len__(self) -> int:
        """The number of input clusters."""
        return len(self.get("cluster", ()))

    def __bool__(self) -> bool:
        return True

    def __reduce__(self):
        return _rebuild, (dict(self), self.sides, self._targets, self._output)

    def to_pandas(self):
        """As a pandas frame."""
        import pandas

        return pandas.DataFrame(dict(self))

    def to_polars(self):
        """As a Polars frame."""
        import polars

        return polars.DataFrame(dict(self))

    def __repr__(self) -> str:
        names = [n for n in self if n not in ("weight", "probability", "vote_share", "answer", "links")]
        cells = [[_cut(str(self[n][i]), 32) for n in names] for i in range(len(self))]
        widths = [max([len(n)] + [len(row[c]) for row in cells]) for c, n in enumerate(names)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in [names, *cells]]
        return "\n".join([f"{self.sides[0]} → {self.sides[1]}", *lines])

    def _repr_html_(self) -> str:
        """Both sides as boxes, links as lines between them: no script, no network."""
        step, width, gap = 34, 340, 150
        height = step * max(len(self), len(self._output), 1) + 30
        right = width + gap
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + width} {height}" '
            f'width="{right + width}" style="max-width:100%" font-family="sans-serif" font-size="12" '
            f'role="img" aria-label="bridge from {self.sides[0]} to {self.sides[1]}">',
            f'<text x="0" y="14" fill="currentColor" font-weight="bold">{self.sides[0]}</text>',
            f'<text x="{right}" y="14" fill="currentColor" font-weight="bold">{self.sides[1]}</text>',
        ]
        middle = width + gap / 2
        for a in range(len(self)):
            own, status = str(self["answer"][a]) == "link", str(self["status"][a])
            dash = "" if own and status == "linked" else ' stroke-dasharray="5 4"'
            colour = _COLOURS[a % len(_COLOURS)] if own else "#999"
            title = escape(f"{self['support'][a]} of {self['pairs'][a]} pairs, {status}")
            for b, weight in self._targets[a]:
                top, end = _y(a, step), _y(b, step)
                out.append(
                    f'<path d="M{width} {top} C{middle} {top} {middle} {end} {right} {end}" fill="none" '
                    f'stroke="{colour}" stroke-width="{1 + 5 * weight:.1f}" stroke-opacity="0.7"{dash}>'
                    f"<title>{title}</title></path>"
                )
        for a in range(len(self)):
            status = str(self["status"][a])
            note = f"{self['support'][a]}/{self['pairs'][a]}" if status == "linked" else status
            colour = _COLOURS[a % len(_COLOURS)] if status == "linked" else "#999"
            out.append(_box(0, a, step, width, colour, f"{a} · {self['rows'][a]} rows", str(self["members"][a]), note))
        for b, (size, members) in enumerate(self._output):
            out.append(_box(right, b, step, width, "#999", f"{b} · {size} rows", members, ""))
        return "".join(out) + "</svg>"


def _rebuild(columns, sides, targets, output):
    return Bridge(columns, sides=sides, targets=targets, output=output)


_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee7733", "#009988")


def _y(row, step):
    return 24 + step * row + (step - 6) / 2


def _box(x, row, step, width, colour, head, members, note):
    top = 24 + step * row
    words = escape(_cut(members, _LETTERS - len(note)))
    return (
        f'<rect x="{x}" y="{top}" width="{width}" height="{step - 6}" rx="4" fill="none" stroke="{colour}"/>'
        f'<text x="{x + 8}" y="{top + 18}" fill="currentColor">{escape(head)}</text>'
        f'<text x="{x + 90}" y="{top + 18}" fill="currentColor" opacity="0.7">{words}</text>'
        f'<text x="{x + width - 8}" y="{top + 18}" fill="currentColor" text-anchor="end">{escape(note)}</text>'
    )


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"
