"""What a machine does with the rows of one partition, which come as Arrow batches.

Nothing here knows the engine that calls it: Spark, Ray or a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import _native


class BadRow(NamedTuple):
    """A row that no pass can use."""

    row: int
    """Its number among the rows at hand, then in its partition."""
    why: str


def vectors(column: pa.Array) -> np.ndarray | BadRow:
    """The rows of a column of vectors, (n, d) in ``float32``; not copied if they are that already.

    >>> vectors(pa.array([[1, 2], [3, 4]], pa.list_(pa.float32())))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    >>> vectors(pa.array([[1, 2], [3]], pa.list_(pa.float32())))
    BadRow(row=1, why='has 1 number, but the rows before it 2')
    >>> vectors(pa.array([[1], None], pa.list_(pa.float32()))).why
    'has no vector (null)'
    """
    rows = len(column)
    if column.null_count:
        return BadRow(pc.index(column.is_null(), True).as_py(), "has no vector (null)")
    values = column.flatten()
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
    else:
        lengths = np.diff(column.offsets.to_numpy())
        width = int(lengths[0]) if rows else 0
        others = np.flatnonzero(lengths != width)
        if len(others):
            got = int(lengths[others[0]])
            numbers = "number" if got == 1 else "numbers"
            return BadRow(int(others[0]), f"has {got} {numbers}, but the rows before it {width}")
    if values.null_count:
        return BadRow(pc.index(values.is_null(), True).as_py() // max(width, 1), "has a null in its vector")
    if not pa.types.is_floating(values.type) or pa.types.is_float16(values.type):
        values = values.cast(pa.float32(), safe=False)
    with np.errstate(over="ignore"):  # the core says which row is not finite
        numbers = np.ascontiguousarray(values.to_numpy(zero_copy_only=True), dtype=np.float32)
    return numbers.reshape(rows, width)


def run_pass(
    work: bytes, part: int, batches: Iterable[tuple[pa.Array, np.ndarray | None]], threads: int
) -> bytes | BadRow:
    """The partial result of a pass over batches of vectors with their weights."""
    kernel, first = _native.PassKernel(work, part, threads), 0
    for column, weights in batches:
        rows = vectors(column)
        if isinstance(rows, BadRow):
            return BadRow(first + rows.row, rows.why)
        bad = kernel.add(rows, weights)
        if bad is not None:
            return BadRow(*bad)
        first += len(rows)
    return kernel.finish()
