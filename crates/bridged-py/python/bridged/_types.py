"""The types that public signatures name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: Rows: an array, a table of pandas, Polars or Arrow, anything with `__array__` or an Arrow stream; and what need not
#: be in memory: paths, datasets, lazy frames, iterators of batches.
Rows = Any
#: Pairs: tuples, an array of two columns, or a table of two id columns.
Pairs = Any
Floats = NDArray[np.float32]
Labels = NDArray[np.int32]
Seed = int | np.random.RandomState | None
Stage = tuple[str, int, int | None]
Progress = bool | Callable[[list[Stage]], object] | None
Init = str | NDArray[Any] | list[list[float]]
Metric = Literal["euclidean", "cosine"]
Descent = Literal["hartigan", "lloyd"]
Width = str | dict[str, float]
Components = str | dict[str, int]
