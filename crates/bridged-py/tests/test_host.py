"""Threads, progress, Ctrl-C, fork, and memory."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import bridged


def large(rows=6_000, cols=16):
    return np.random.default_rng(0).random((rows, cols), dtype=np.float32)


def endless(**options):
    """A fit that nobody waits for."""
    return bridged.KMeans(32, n_init=100_000, tol=0, max_iter=10_000, **options)


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal: a shell has what it starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_a_fit(ctrl_c):
    X = large()
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless().fit(X)
    assert time.monotonic() - started < 20
    assert len(bridged.KMeans(2).fit(X[:100]).labels_) == 100


def test_other_threads_run_while_a_fit_runs():
    turns = []

    class Enough(Exception):
        pass

    def enough(stages):
        if len(turns) > 50:
            raise Enough

    def count():
        while len(turns) < 100_000 and not done.is_set():
            turns.append(1)
            time.sleep(0.001)

    done = threading.Event()
    other = threading.Thread(target=count)
    other.start()
    with pytest.raises(Enough):
        endless(progress=enough).fit(large())
    done.set()
    other.join()


def test_progress_tells_stages_steps_and_the_end():
    told = []
    X = large(20_000)
    bridged.KMeans(48, n_init=6, progress=told.append).fit(X)
    stages = {stage for call in told for stage, _, _ in call}
    assert any("kmeans" in stage for stage in stages)
    assert all(done >= 0 and (total is None or done <= total) for call in told for _, done, total in call)
    assert told[-1] == []


def test_progress_bars_are_shown_by_tqdm(capsys):
    bridged.KMeans(48, n_init=6, progress=True).fit(large(20_000))
    assert "kmeans" in capsys.readouterr().err


def test_an_error_in_progress_stops_the_fit():
    def broken(stages):
        raise RuntimeError("no terminal")

    with pytest.raises(RuntimeError, match="no terminal"):
        endless(progress=broken).fit(large())


def test_a_baseline_can_be_stopped_too():
    X = large(400, 8)

    def stop(stages):
        raise StopIteration

    with pytest.raises(StopIteration):
        method = bridged.baselines.FixMatch(max_iter=10_000_000, progress=stop)
        method.fit(X, X, [(i, i) for i in range(10)])


def labels_of(X, queue):
    queue.put(bridged.KMeans(8, n_init=2).fit(X).labels_.tobytes())


@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_computes_what_its_parent_does():
    X = large(5_000)
    expected = bridged.KMeans(8, n_init=2).fit(X).labels_.tobytes()  # the parent's threads exist now
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=labels_of, args=(X, queue))
    child.start()
    assert queue.get(timeout=60) == expected
    child.join(timeout=60)
    assert child.exitcode == 0
    assert bridged.metrics.mse(X, X) == 0.0


@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_that_is_forked_while_a_fit_runs_computes_too():
    X = large(20_000)
    started, stop = threading.Event(), threading.Event()

    class Stopped(Exception):
        pass

    def progress(stages):
        started.set()
        if stop.is_set():
            raise Stopped

    def work():
        with pytest.raises(Stopped):
            endless(progress=progress).fit(X)

    busy = threading.Thread(target=work)
    busy.start()
    started.wait(30)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=labels_of, args=(X[:2_000], queue))
    child.start()
    found = queue.get(timeout=60)
    stop.set()
    busy.join()
    assert found == bridged.KMeans(8, n_init=2).fit(X[:2_000]).labels_.tobytes()


def test_fits_in_several_threads_at_once_give_what_they_give_alone(task):
    expected = [bridged.KMeans(4, random_state=s).fit(task.X).inertia_ for s in range(4)]
    found = [None] * 4

    def work(seed):
        found[seed] = bridged.KMeans(4, random_state=seed).fit(task.X).inertia_

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


MEASURE = """
    import resource, numpy as np, bridged
    X = np.empty((1_000_000, 64), np.float32)
    np.random.default_rng(0).random(out=X, dtype=np.float32)
    bridged.KMeans(2).fit(X[:1000])  # threads and code are there
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = peak()
    {fit}
    print(X.nbytes, peak() - before)
"""


def grown(fit):
    """The bytes of the rows, and by how many the peak memory grew."""
    script = textwrap.dedent(MEASURE).replace("{fit}", fit)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return map(int, done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "fit",
    [
        "bridged.KMeans(16, n_init=1, max_iter=5).fit(X)",
        "bridged.BridgedClustering(16, cluster=bridged.KMeans(n_init=1, max_iter=5), keep_rows=False)"
        ".fit(X, X[:1000], [(0, 0), (1, 1)])",
    ],
    ids=["KMeans", "BridgedClustering"],
)
def test_a_million_rows_are_fitted_without_a_copy(fit):
    rows, more = grown(fit)
    print(f"{rows / 1e6:.0f} MB of rows; the fit added {more / 1e6:.0f} MB")
    assert rows == 256_000_000
    assert more < rows / 2


@pytest.mark.slow
def test_a_copy_would_be_seen():
    rows, more = grown("Y = X.copy()")
    assert more > 0.9 * rows
