"""A mixture of Gaussians as Parquet parts, and as one npy file beside them: rows for `out_of_core.py`.

    python benches/mixture_parts.py FOLDER --rows 50000000 --columns 64 --groups 256 [--seed 1] [--part 500000] [--npy FILE]

Centres are drawn from N(0, I), rows from 0.6 · N(0, I) around them; row i is in group i % groups. Parts hold `id`, the number
of the row, and `v`, a list of 32-bit floats. Each part has a random stream of its own, so a part is the same whatever else is
written; parts that are there are kept. One part is in memory at a time.
"""

import argparse
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NOISE = 0.6


def part_of(part, first, count, centres, seed):
    at = np.arange(first, first + count)
    noise = np.random.default_rng((seed, part)).standard_normal((count, centres.shape[1]), dtype=np.float32)
    noise *= NOISE
    noise += centres[at % len(centres)]
    return at, noise


def mixture(folder, rows, columns, groups, seed=1, part_rows=500_000, npy=None):
    folder.mkdir(parents=True, exist_ok=True)
    centres = np.random.default_rng(seed).standard_normal((groups, columns), dtype=np.float32)
    array = None
    if npy is not None and not npy.exists():
        partial = npy.with_suffix(".partial")
        array = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=(rows, columns))
    for part, first in enumerate(range(0, rows, part_rows)):
        path = folder / f"part-{part:05}.parquet"
        if path.exists() and array is None:
            continue
        at, values = part_of(part, first, min(part_rows, rows - first), centres, seed)
        if array is not None:
            array[first : first + len(values)] = values
        if not path.exists():
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), columns)
            partial = path.with_suffix(".partial")
            pq.write_table(pa.table({"id": pa.array(at), "v": vectors}), partial, compression="zstd")
            partial.rename(path)
    if array is not None:
        array.flush()
        del array
        npy.with_suffix(".partial").rename(npy)


def joined(folder, path):
    """The parts as one file, for readers that take no more than one."""
    if path.exists():
        return
    partial, writer = path.with_suffix(".partial"), None
    for part in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(part).iter_batches():
            writer = writer or pq.ParquetWriter(partial, batch.schema, compression="zstd")
            writer.write_batch(batch)
    writer.close()
    partial.rename(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--groups", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=int, default=500_000)
    parser.add_argument("--npy", type=pathlib.Path)
    args = parser.parse_args()
    mixture(args.folder, args.rows, args.columns, args.groups, args.seed, args.part, args.npy)


if __name__ == "__main__":
    main()
