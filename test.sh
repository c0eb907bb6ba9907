#!/usr/bin/env bash
# Every test: the Rust crates, then the Python package, built into an environment of its own under
# the target directory. Needs Rust, Python 3.10 or later with venv, and a package index for pip.
#
#   ./test.sh          what must hold before a change lands
#   ./test.sh --slow   the same, then the tests that take minutes (`#[ignore = "slow: …"]`), the sanitizers and ten
#                      seconds of every fuzz target: an hour and a half on two cores when cold
set -euo pipefail
cd "$(dirname "$0")"
slow=false
case "$#,${1-}" in
    0,) ;;
    1,--slow) slow=true ;;
    *)
        echo "error: the only option is --slow, which adds the tests that take minutes" >&2
        exit 2
        ;;
esac
python="${PYTHON:-python3}"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)"
environment="$target/python-tests"

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "error: the tests of the Python package need Python 3.10 or later; set PYTHON to one" >&2
    exit 1
fi
if ! "$environment/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$environment"
    if ! "$python" -m venv "$environment"; then
        echo "error: $python cannot make an environment; on Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    fi
fi
# Two tests and an example run on real weights; without a package index they say that they are skipped.
if PYTHON="$environment/bin/python" tools/encoder_weights.sh "$target/encoder-weights"; then
    export BRIDGED_ENCODER_WEIGHTS="$target/encoder-weights"
else
    echo "the weights of the encoders cannot be fetched: tests that need them are skipped" >&2
fi

# Rows from a bucket are read from moto's server; without a package index that test says that it is skipped.
if "$environment/bin/python" -m pip install --quiet --disable-pip-version-check 'moto[s3]>=5.1,<6' 'flask<4' 'flask-cors<7'; then
    export BRIDGED_MOTO_SERVER="$environment/bin/moto_server"
else
    echo "moto cannot be installed: the test that reads from a bucket is skipped" >&2
fi

cargo test --locked --workspace --exclude bridged-py --features bridged-cli/remote,bridged-cli/serve

# The dev profile and the same target directory: little is compiled twice.
CARGO_TARGET_DIR="$target" "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
    --config-settings='build-args=--profile=dev --locked' '.[test]'
# Spark in local mode, if it is here already; the slow tests fetch it.
if "$slow" && ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check 'pyspark[connect]>=4.1,<5' 'pandas<3'; then
    echo "pyspark cannot be installed: the tests on Spark are skipped" >&2
fi
if "$slow"; then
    export BRIDGED_SPARK_CLUSTER=1
elif ! "$environment/bin/python" -c 'import pyspark' 2>/dev/null; then
    echo "pyspark is not installed in $environment: the tests on Spark are skipped" >&2
fi
BRIDGED_BIN="$target/debug/bridged" "$environment/bin/python" -m pytest

if "$slow"; then
    # Not the examples in the docs: what is ignored there is not meant to be run.
    cargo test --locked --tests --features bridged-cli/serve -- --ignored
    tools/serve_contract.sh
    tools/sanitize.sh
    tools/fuzz.sh 10
fi
