"""Data that several tests share, and the command to compare with."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def groups(rng, centres, rows, spread=0.3):
    """Rows around centres, and the centre of each."""
    of = np.arange(rows) % len(centres)
    return (centres[of] + rng.normal(size=(rows, centres.shape[1])) * spread).astype(np.float32), of


@pytest.fixture(scope="session")
def task():
    """Four groups on both sides, eight pairs."""
    rng = np.random.default_rng(7)
    X, x_class = groups(rng, rng.normal(size=(4, 5)) * 6, 120)
    Y, y_class = groups(rng, rng.normal(size=(4, 3)) * 6, 90)
    pairs = [
        (i, j) for c in range(4) for i, j in zip(np.flatnonzero(x_class == c)[:2], np.flatnonzero(y_class == c)[:2])
    ]
    return SimpleNamespace(X=X, Y=Y, pairs=[(int(i), int(j)) for i, j in pairs], x_class=x_class, y_class=y_class)


@pytest.fixture(scope="session")
def command():
    """The `bridged` command: $BRIDGED_BIN, else what `cargo build` left."""
    given = os.environ.get("BRIDGED_BIN")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    found = Path(given) if given else target / "debug" / "bridged"
    if not found.exists():
        if given:
            pytest.fail(f"BRIDGED_BIN={given} is not there")
        pytest.skip("no `bridged` command to compare with: cargo build -p bridged-cli")

    def run(*arguments, cwd):
        done = subprocess.run([found, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
