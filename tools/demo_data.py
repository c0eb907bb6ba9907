#!/usr/bin/env python3
"""Make the demo table of `bridged`: seven kinds of emoji, each a picture (x) and a name (y).

    python demo_data.py /work/shared/data/emoji.parquet emoji.parquet

Source: `emoji.parquet` of the shared data: Twemoji graphics (Twitter Inc. and contributors,
CC-BY 4.0) with Unicode names; x = EfficientNet-Lite0 features of the picture (1,280 values),
y = MiniLM embedding of the name (384 values).

What is done to it:
  * seven groups are taken that are told apart at a glance (see `group_of`); no row is in two;
  * x and y are each reduced to 32 dimensions by a principal component analysis fitted on the
    chosen rows (no labels used, no scaling), and rounded to half precision;
  * `name` is the part of the source's `text` before the semicolon (y embeds the whole text).

Pinned versions, with which the bytes of the output are the same on every run:
  python 3.11, numpy 2.4.6, pyarrow 26.0.1
"""

import argparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DIMENSIONS = 32
ZWJ = "\u200d"

# Thirty well-known countries: as many as keeps the groups of like size (the source has 259).
FLAGS = set(
    "ar au br ca ch cl cn de dk eg es fi fr gb gr ie in it jm jp ke kr mx ng nl no se tr us za".split()
)

# People at work. Each is in the source as a man, a woman and a person; only one of them is taken,
# a man and a woman in turn. All are sequences with a zero-width joiner: there are no others.
TRADES = (  # 1f468 man or 1f469 woman, a joiner, and the tool of the trade
    "1f33e 1f373 1f393 1f3a4 1f3a8 1f3eb 1f3ed 1f4bb 1f4bc 1f527 1f52c 1f680 1f692 "
    "2695-fe0f 2696-fe0f 2708-fe0f"
).split()
# Police, construction, guard, detective: then a joiner and the sign for woman or man.
UNIFORMS = "1f46e 1f477 1f482 1f575-fe0f".split()
WORKERS = {f"{('1f468', '1f469')[i % 2]}-200d-{tool}" for i, tool in enumerate(TRADES)} | {
    f"{base}-200d-{('2640', '2642')[i % 2]}-fe0f" for i, base in enumerate(UNIFORMS)
}


def group_of(row):
    """The demo's group of a row of the source, or None."""
    kind, text, glyph = row["subgroup"], row["text"], row["glyph"]
    if row["id"] in WORKERS:
        return "workers"
    if ZWJ in glyph:  # everywhere else only glyphs that are not joined from several
        return None
    if kind == "country-flag":
        code = "".join(chr(ord(c) - 0x1F1E6 + ord("a")) for c in glyph)
        return "flags" if code in FLAGS else None
    if kind == "time":  # the 24 clock faces, without watches and hourglasses
        return "clocks" if text.startswith("clock face") else None
    if kind == "heart":
        return "hearts"
    if kind == "animal-mammal":  # whole animals: heads look and are named like the faces
        return None if any(w in text for w in ("face", "nose", "paw")) else "mammals"
    if kind in ("face-smiling", "face-concerned"):
        return "faces"
    if kind.startswith("hand"):  # but for the rude one: this is shown to strangers
        return None if row["id"] == "1f595" else "hands"
    return None


def column(table, name):
    """A fixed-size list column as a matrix of doubles."""
    array = table[name].combine_chunks()
    return array.flatten().to_numpy().reshape(len(array), -1).astype(np.float64)


def reduce(z):
    """Scores on the leading principal components, as a column of half-precision lists."""
    z = z - z.mean(axis=0)
    components = np.linalg.svd(z, full_matrices=False)[2][:DIMENSIONS]
    largest = np.abs(components).argmax(axis=1)  # the sign of a component is arbitrary: fix it
    components *= np.sign(components[np.arange(DIMENSIONS), largest])[:, None]
    half = (z @ components.T).astype(np.float16)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(half.ravel()), type=pa.list_(pa.field("element", pa.float16()), DIMENSIONS)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="the shared emoji.parquet")
    parser.add_argument("output", help="the table to write")
    args = parser.parse_args()

    source = pq.read_table(args.source)
    groups = [group_of(row) for row in source.drop_columns(["x", "y"]).to_pylist()]
    rows = source.take([i for i, g in enumerate(groups) if g])
    table = pa.table(
        {
            "id": rows["id"].combine_chunks(),
            "glyph": rows["glyph"].combine_chunks(),
            "name": pa.array([t.split(";")[0].strip() for t in rows["text"].to_pylist()]),
            "group": pa.array([g for g in groups if g]),
            "x": reduce(column(rows, "x")),
            "y": reduce(column(rows, "y")),
        }
    ).replace_schema_metadata(
        {
            "source": "Twemoji, Twitter Inc. and contributors; names: Unicode",
            "licence": "CC-BY 4.0, https://creativecommons.org/licenses/by/4.0/",
            "changes": f"features of the pictures and names, reduced to {DIMENSIONS} principal components",
        }
    )
    pq.write_table(table, args.output, compression="zstd", use_dictionary=["group"])
    for value in table["group"].value_counts().to_pylist():
        print(f"{value['values']:<10}{value['counts']:>4}")


if __name__ == "__main__":
    main()
