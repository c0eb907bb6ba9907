"""What every estimator shares: parameters on their way to the core, seeds, threads, progress."""

from __future__ import annotations

import json
import numbers
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._progress import bars
from ._types import Progress

#: scikit-learn's word for what the core calls otherwise. Everything else has the core's name.
CORE_NAME = {
    "n_clusters": "k",
    "n_init": "restarts",
    "size_min": "min_size",
    "size_max": "max_size",
}
#: Parameters that are not the algorithm's.
OWN = frozenset({"random_state", "threads", "progress"})


def to_json(value) -> str:
    """Parameters as the core reads them; an array is a matrix."""
    return json.dumps(value, default=_plain, allow_nan=False)


def _plain(value):
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is not a number, a word or an array")


def matrix(values) -> dict:
    """A matrix as the core reads it."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    if values.ndim != 2:
        raise ValueError(f"initial centroids must be (n_clusters, n_features); got {values.shape}")
    return {"rows": values.shape[0], "cols": values.shape[1], "data": values.ravel().tolist()}


@contextmanager
def in_words_of(arguments: dict[str, str]):
    """Errors of the core with the arguments that its keys stand for: argument → key."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        for name, key in arguments.items():
            message = message.replace(f"`{key}`", f"`{name}`")
        if message == str(error):
            raise
        raise type(error)(message) from None


class Runs:
    """An estimator whose work is done by the core.

    Its constructor only stores; ``random_state``, ``threads`` and ``progress`` are its own, every
    other parameter is the core's.
    """

    threads: int | None
    progress: Progress
    get_params: Callable[..., dict[str, Any]]

    def _settings(self) -> str:
        settings = {}
        for name, value in self.get_params(deep=False).items():
            if name in OWN:
                continue
            if name == "init":
                value = _init(value)
            if name == "algorithm" and value == "elkan":
                value = "pruned"
            settings[CORE_NAME.get(name, name)] = value
        try:
            return to_json(settings)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None

    def _seed(self) -> int:
        """An integer is the core's seed as it is; None and generators are asked for one."""
        given = getattr(self, "random_state", 0)
        if isinstance(given, numbers.Integral):
            if given < 0:
                raise ValueError(f"`random_state` must be 0 or more, got {given}")
            return int(given)
        return int(check_random_state(given).randint(2**31 - 1))

    def _host(self):
        """How the native layer runs: threads and what shows progress."""
        threads = self.threads
        if threads is not None:
            if not isinstance(threads, numbers.Integral) or threads < 1:
                raise ValueError(f"`threads` must be at least 1, or None for all cores; got {threads!r}")
            threads = int(threads)
        return threads, bars(self.progress)


def _init(init):
    if isinstance(init, str):
        return "plus-plus" if init == "k-means++" else init
    return {"given": matrix(init)}
