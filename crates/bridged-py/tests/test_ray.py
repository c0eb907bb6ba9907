"""Fits on Ray. Skipped, and said so, where Ray is not installed.

Ray listens on all interfaces whatever it is told, so it runs in a process of its own without a network (``unshare``).
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'bridged[ray]'")
ALONE = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
if not shutil.which("unshare") or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
    pytest.skip("Ray is not started without a network namespace of its own", allow_module_level=True)

PROGRAM = textwrap.dedent(
    """
    import json
    import numpy as np
    import pyarrow as pa
    import ray
    import bridged
    from bridged.ray import BalancedKMeans, KMeans

    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", _node_ip_address="127.0.0.1")
    ray.data.DataContext.get_current().enable_progress_bars = False
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(5, 4)) * 6
    rows = (centers[rng.integers(0, 5, 3000)] + rng.normal(size=(3000, 4))).astype(np.float32)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 4)
    frame = ray.data.from_arrow([pa.table({"features": lists[i : i + 750]}) for i in range(0, 3000, 750)])
    said = {}

    def same(name, condition):
        said[name] = bool(condition)

    model = KMeans(5, init=rows[:5], tol=0.0, max_iter=100).fit(frame)
    one = bridged.KMeans(5, init=rows[:5], tol=0.0, max_iter=100).fit(rows)
    same("inertia", abs(model.inertia_ - one.inertia_) < 1e-6 * one.inertia_)
    same("sizes", sorted(model.sizes_) == sorted(np.bincount(one.labels_).tolist()))
    tensors = ray.data.from_numpy(np.split(rows, 4)).rename_columns({"data": "features"})
    again = KMeans(5, init=rows[:5], tol=0.0, max_iter=100).fit(tensors)
    same("tensors", np.array_equal(model.cluster_centers_, again.cluster_centers_))
    found = np.array([line["cluster"] for line in model.predict(frame).take_all()])
    same("labels", (np.bincount(found, minlength=5) == model.sizes_).all())

    model = BalancedKMeans(7, seed=2).fit(frame)
    clusters = np.array([line["cluster"] for line in model.clusters_.take_all()])
    same("balanced sizes", np.bincount(clusters).tolist() == model.sizes_ and set(model.sizes_) <= {428, 429})
    means = np.array([rows[clusters == j].mean(axis=0) for j in range(7)])
    same("balanced means", np.allclose(means, model.cluster_centers_, atol=1e-4))
    same("balanced gap", 0 <= model.relative_gap_ < 1e-6)

    def error(rows, **parameters):
        try:
            KMeans(2, **parameters).fit(rows)
        except ValueError as error:
            return str(error)

    bad = lists.to_pylist()[:10]
    bad[3] = [1.0, float("nan"), 2.0, 3.0]
    table = ray.data.from_arrow(pa.table({"features": pa.array(bad, pa.list_(pa.float32()))}))
    same("bad row", error(table) == "row 3 of block 0 holds NaN or infinity in column 1; remove or repair it")
    same("no column", error(frame, column="x") == "there is no column `x`; there are features")
    print(json.dumps(said))
    ray.shutdown()
    """
)


def test_fits_on_ray_are_those_on_one_machine(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # Sockets have short names.
    told = subprocess.run(
        [*ALONE, sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=600,
        env={
            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(tmp_path),
            "RAY_USAGE_STATS_ENABLED": "0",
        },
    )
    assert told.returncode == 0, told.stderr[-3000:]
    said = json.loads(told.stdout.strip().splitlines()[-1])
    assert all(said.values()), said
