"""Where a fit stood, in a folder: local, or wherever Arrow can write (``s3://``, ``gs://``, ``hdfs://``)."""

from __future__ import annotations

import os
import tempfile


class Checkpoint:
    """One state under a name, written every few calls and removed when the fit has ended."""

    def __init__(self, folder: str | None, name: str, every: int):
        self.folder, self.name, self.every = folder, f"{name}.json", every
        self.calls = 0

    def __call__(self, state: str) -> None:
        """Hears of every state."""
        if self.folder and self.calls % self.every == 0:
            write(_joined(self.folder, self.name), state.encode())
        self.calls += 1

    def read(self) -> str | None:
        """Where an earlier fit stood, if it did not end."""
        if not self.folder:
            return None
        found = read(_joined(self.folder, self.name))
        return None if found is None else found.decode()

    def remove(self) -> None:
        if self.folder:
            remove(_joined(self.folder, self.name))


def _joined(folder: str, name: str) -> str:
    return folder.rstrip("/") + "/" + name


def is_address(path: str) -> bool:
    return "://" in path and not path.startswith("file://")


def _local(path: str) -> str:
    return path.removeprefix("file://")


def _store(path: str):
    from pyarrow import fs

    return fs.FileSystem.from_uri(path)


def write(path: str, data: bytes) -> None:
    """Writes a file that appears whole or not at all."""
    if is_address(path):
        store, place = _store(path)
        with store.open_output_stream(place) as out:
            out.write(data)
        return
    path = _local(path)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=folder, prefix=".bridged-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def read(path: str) -> bytes | None:
    """What a file holds; None if there is none."""
    if is_address(path):
        from pyarrow import fs

        store, place = _store(path)
        if store.get_file_info(place).type == fs.FileType.NotFound:
            return None
        with store.open_input_stream(place) as file:
            return file.read()
    try:
        with open(_local(path), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def remove(path: str) -> None:
    if is_address(path):
        if read(path) is not None:
            store, place = _store(path)
            store.delete_file(place)
    else:
        try:
            os.unlink(_local(path))
        except FileNotFoundError:
            pass
