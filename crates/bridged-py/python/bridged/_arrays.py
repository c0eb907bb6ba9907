"""Whatever holds numbers, as the rows that the core reads: ``float32``, C order, copied only if need be.

Numbers of ``float64`` stay so until they reach the core: where ``float32`` would lose the differences of
a column, its mean is taken off first and added again to what comes back (``bridged::offset``).

==============================================  ======================================================
given                                           copied
==============================================  ======================================================
``float32`` in C order, also read-only, mapped  never
other types, F order, strided                   once, into ``float32`` in C order
pandas, all columns one ``float32`` block       only if pandas holds it column by column
Polars or Arrow, one column of vectors          not if it is one chunk of ``float32`` without nulls
Polars or Arrow, a column a number              once
==============================================  ======================================================
"""

from __future__ import annotations

import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from . import _native


class Pool(NamedTuple):
    """Rows with what they are called."""

    rows: np.ndarray
    ids: list[str]
    """Empty if the rows are numbered."""
    texts: list[tuple[str, list[str]]]
    """Columns that are carried along."""
    names: list[str]
    """The columns of the vector; empty if they have no names."""
    id_name: str | None = None
    """The column of the ids, if it is one."""

    @property
    def called(self):
        """As the native layer takes it."""
        return self.ids, self.texts, self.names, self.id_name

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def find(self, values) -> list[int | None]:
        """The row of each id; None where no row has it."""
        known = self.ids or [str(i) for i in range(len(self.rows))]
        row_of = {name: row for row, name in enumerate(known)}
        return [row_of.get(text_of(value)) for value in values]

    def like(self) -> list[str]:
        """What ids look like."""
        return self.ids[:3] or [str(i) for i in range(min(3, len(self.rows)))]


def as_rows(X, *, min_rows=1, estimator=None) -> np.ndarray:
    """The rows of anything that holds numbers.

    >>> import numpy as np
    >>> X = np.zeros((3, 2), np.float32)
    >>> np.shares_memory(as_rows(X), X)
    True
    >>> as_rows([[1, 2], [3, 4]]).dtype
    dtype('float32')
    """
    return lowered(as_numbers(X, min_rows=min_rows, estimator=estimator), None)


def as_numbers(X, *, min_rows=1, estimator=None) -> np.ndarray:
    """The same in the precision that it has: ``float32``, or ``float64`` for anything else."""
    table = as_table(X)
    if table is not None:
        vectors = [name for name, column in table.items() if column.kind == "list"]
        if len(vectors) > 1:
            raise ValueError(f"X has several columns of vectors: {', '.join(vectors)}; leave one")
        if vectors:
            X = table[vectors[0]].vectors()
        elif not hasattr(X, "__array__"):
            X = np.column_stack([column.numbers() for column in table.values()])
    # The core looks for NaN itself, in the pass that it makes anyway, and says where it is.
    return check_array(
        X,
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=min_rows,
        estimator=estimator,
        input_name="X",
    )


def centred(numbers: np.ndarray, *, uses_origin: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers as the core takes them, and what was taken off their columns, if something was.

    >>> rows, offset = centred(np.array([[1.7e9], [1.7e9 + 60]]), uses_origin=False)
    >>> rows.ravel().tolist(), offset.tolist()
    ([-30.0, 30.0], [1700000030.0])
    """
    if uses_origin or numbers.dtype == np.float32:
        return lowered(numbers, None), None
    return _native.centre(np.ascontiguousarray(numbers))


def lowered(numbers: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
    """Numbers as the core takes them, without that offset."""
    if offset is not None and numbers.shape[1] == len(offset):
        return _native.lower(np.ascontiguousarray(numbers, dtype=np.float64), offset.tolist())
    with np.errstate(over="ignore"):  # the core says where a number is too large
        return np.ascontiguousarray(numbers, dtype=np.float32)


def raised(rows: np.ndarray, offset: np.ndarray | None) -> np.ndarray:
    """What the core gives, in the units of the data: ``float64`` where there is an offset."""
    return rows if offset is None else rows.astype(np.float64) + offset


def as_pool(X, side: str, ids=None, estimator=None) -> Pool:
    """The rows of one side with their ids, the texts that they carry and the names of the columns.

    A table is read as the ``bridged`` command reads a file: the vector is the list column, or all
    numeric columns; the id is ``id``, or the only column that ends in ``_id``; other columns are
    carried along. The rule itself is the core's, ``bridged::columns``.
    """
    table = as_table(X)
    if table is None:
        rows = as_numbers(X, estimator=estimator)
        return Pool(rows, _texts_of(ids, len(rows), side), [], [])
    columns = list(table.items())
    kinds = [(name, column.kind) for name, column in columns]
    key, vector, carried, _ = _native.choose_columns(kinds, side, ids is not None, None)
    names = [columns[place][0] for place in vector]
    if table[names[0]].kind == "list":
        rows = as_numbers(table[names[0]].vectors(), estimator=estimator)
    else:
        rows = _stack(X, names, table)
        numbers = [(name, np.array(rows[:, at], dtype=np.float64)) for at, name in enumerate(names)]
        _warn(side, _native.suspicious_note(numbers))
    texts = [(columns[place][0], columns[place][1].texts()) for place in carried]
    if key is not None:
        ids = columns[key][1].ids()
    elif ids is None:
        ids = _index_of(X)
    id_name = None if key is None else columns[key][0]
    return Pool(rows, _texts_of(ids, len(rows), side), texts, names, id_name)


def _warn(side: str, note: str | None) -> None:
    if note is not None:
        warnings.warn(f"{side}: {note}", UserWarning, stacklevel=5)


def as_known(X, names: list[str], width: int, side: str, estimator=None) -> np.ndarray:
    """The numbers of a table by the columns that a model was fitted on, or of an array as they are."""
    if not names:
        return as_pool(X, side, estimator=estimator).rows
    table = as_table(X)
    if table is None:
        return as_numbers(X, estimator=estimator)
    kinds = [(name, column.kind) for name, column in table.items()]
    # Ids play no part here: whatever the model does not know is left out.
    _, vector, _, note = _native.choose_columns(kinds, side, True, (names, width))
    _warn(side, note)
    chosen = [kinds[place][0] for place in vector]
    if table[chosen[0]].kind == "list":
        return as_numbers(table[chosen[0]].vectors(), estimator=estimator)
    return _stack(X, chosen, table)


def _stack(X, names, table):
    if hasattr(X, "iloc"):
        known = list(table)
        at = [known.index(name) for name in names]
        return as_numbers(X if at == list(range(len(known))) else X.iloc[:, at])
    return as_numbers(np.column_stack([table[name].numbers() for name in names]))


def _index_of(X):
    """The index of a pandas frame, unless it only numbers the rows."""
    index = getattr(X, "index", None)
    if not hasattr(X, "iloc") or index is None or type(index).__name__ == "RangeIndex":
        return None
    return index


def _texts_of(ids, rows: int, side: str) -> list[str]:
    if ids is None:
        return []
    texts = [text_of(value) for value in as_list(ids)]
    if len(texts) != rows:
        raise ValueError(f"{side} has {rows} rows, but {len(texts)} ids were given")
    if len(set(texts)) != rows:
        twice = next(text for text, count in Counter(texts).items() if count > 1)
        raise ValueError(f"{side} has the id `{twice}` twice; ids name one row each")
    return texts


def as_list(values) -> list:
    """A column of anything as a list of Python values."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            return getattr(values, method)()
    return list(values)


def text_of(value) -> str:
    """An id or a label as text, as the command writes it: 12, 12.0 and "12" are one."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return str(value)


class Column:
    """One column of a table, whatever library holds it."""

    kind = "text"
    """``text``, ``integer``, ``float``, ``bool`` or ``list`` (of numbers); whatever else is skipped."""

    def __init__(self, values):
        self.values = values

    def numbers(self) -> np.ndarray:
        return _precise(np.asarray(self.values))

    def texts(self) -> list[str]:
        """As texts; empty where a cell is missing."""
        return ["" if _missing(v) else text_of(v) for v in as_list(self.values)]

    def ids(self) -> list[str]:
        """As ids, which are texts or whole numbers and all there."""
        values = as_list(self.values)
        for row, value in enumerate(values):
            if _missing(value) or value == "":
                raise ValueError(f"row {row} has no id")
            if isinstance(value, (float, np.floating)) and not float(value).is_integer():
                raise ValueError(f"row {row} has the id {value}; ids are texts or whole numbers")
        return [text_of(value) for value in values]

    def vectors(self) -> np.ndarray:
        """Lists of one length as the rows of an array."""
        values = as_list(self.values)
        self._check_lengths({-1 if v is None else len(v) for v in values})
        return np.stack([_precise(np.asarray(v)) for v in values])

    @staticmethod
    def _check_lengths(lengths: set) -> None:
        if len(lengths) != 1 or lengths & {-1, None}:
            raise ValueError("the vectors must all be there and have one length")


def _precise(numbers: np.ndarray) -> np.ndarray:
    return numbers if numbers.dtype == np.float32 else np.asarray(numbers, dtype=np.float64)


def _missing(value) -> bool:
    # pandas' NA is neither equal to itself nor different.
    return value is None or type(value).__name__ == "NAType" or value != value


def _kind_of_cell(cell) -> str:
    """What a column holds whose type does not tell, by its first cell."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        numbers = len(cell) == 0 or isinstance(cell[0], (int, float, np.number)) and not isinstance(cell[0], bool)
        return "list" if numbers else "lists of other things"
    if isinstance(cell, (bool, np.bool_)):
        return "bool"
    return type(cell).__name__ if isinstance(cell, (bytes, dict, set)) else "text"


class _Pandas(Column):
    KINDS = {"f": "float", "i": "integer", "u": "integer", "b": "bool"}

    def __init__(self, values):
        super().__init__(values)
        kind = getattr(values.dtype, "kind", "O")
        if kind in self.KINDS:
            self.kind = self.KINDS[kind]
        elif kind == "O":
            self.kind = _kind_of_cell(next((v for v in values if v is not None), None))


class _Polars(Column):
    def __init__(self, values):
        super().__init__(values)
        dtype = values.dtype
        if dtype.is_integer():
            self.kind = "integer"
        elif dtype.is_numeric():
            self.kind = "float"
        elif dtype.is_nested() and hasattr(dtype, "inner") and dtype.inner.is_numeric():
            self.kind = "list"
        elif dtype.is_nested() or str(dtype) in ("Binary", "Object"):
            self.kind = str(dtype)
        elif str(dtype) == "Boolean":
            self.kind = "bool"

    def vectors(self):
        if hasattr(self.values.dtype, "size") and not self.values.null_count():
            return self.values.to_numpy()
        lengths = self.values.arr if hasattr(self.values.dtype, "size") else self.values.list
        self._check_lengths(set(lengths.len().to_list()))
        return self.values.explode().to_numpy().reshape(len(self.values), -1)


def _is_number(type) -> bool:
    import pyarrow.types as kind

    return kind.is_integer(type) or kind.is_floating(type) or kind.is_decimal(type)


class _Arrow(Column):
    def __init__(self, values):
        import pyarrow.types as kind

        super().__init__(values)
        type = values.type
        if kind.is_dictionary(type):
            type = type.value_type
        is_list = any(is_kind(type) for is_kind in (kind.is_fixed_size_list, kind.is_list, kind.is_large_list))
        if kind.is_integer(type):
            self.kind = "integer"
        elif _is_number(type):
            self.kind = "float"
        elif is_list and _is_number(type.value_type):
            self.kind = "list"
        elif kind.is_boolean(type):
            self.kind = "bool"
        elif kind.is_nested(type) or "binary" in str(type):
            self.kind = str(type)

    def vectors(self):
        import pyarrow.compute

        self._check_lengths(set(pyarrow.compute.list_value_length(self.values).unique().to_pylist()))
        parts = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in self.values.chunks]
        flat = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return flat.reshape(len(self.values), -1)

    def numbers(self):
        return _precise(np.asarray(self.values.to_numpy()))


def as_table(X) -> dict[str, Column] | None:
    """The columns of a pandas, Polars or Arrow table by name; None if it is not a table."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return {str(name): _Pandas(X[name]) for name in X.columns} if X.columns.is_unique else None
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "get_columns"):
        return {column.name: _Polars(column) for column in X.get_columns()}
    if not hasattr(X, "__arrow_c_stream__"):
        return None
    try:
        import pyarrow
    except ImportError:
        raise ValueError("reading an Arrow stream needs pyarrow: pip install pyarrow") from None
    table = X if isinstance(X, pyarrow.Table) else pyarrow.table(X)
    return {name: _Arrow(table.column(name)) for name in table.column_names}
