#!/usr/bin/env bash
# Whether `bridged serve` keeps what its OpenAPI document promises: schemathesis asks every operation with what fits the
# document and with what does not. tools/serve_contract.sh [BINARY] [EXAMPLES]; needs Python 3.10 with venv and a package index.
set -euo pipefail
cd "$(dirname "$0")/.."
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)"
bridged="$(realpath "${1:-$target/debug/bridged}")"
examples="${2:-200}"
environment="$target/serve-contract"
[ -x "$environment/bin/schemathesis" ] || {
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check 'schemathesis>=4.3,<5'
}
folder="$(mktemp -d)"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
(
    cd "$folder"
    "$bridged" demo --save . --quiet > /dev/null
    "$bridged" fit --x pictures.parquet --y names.parquet --pairs pairs.csv -k 7 -o emoji.bridged --quiet > /dev/null
)
"$bridged" serve "$folder/emoji.bridged" --port 0 2> "$folder/log" &
server=$!
for _ in $(seq 100); do grep -q 'listening on' "$folder/log" && break; sleep 0.1; done
url="$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$folder/log")"
cd "$folder"
# What fits the document can still be more than a model can answer: a level that its pairs do not allow, ids that are not one per row.
# The document promises 422 for that.
printf '[checks.positive_data_acceptance]\nexpected-statuses = ["2xx", "422"]\n' > schemathesis.toml
"$environment/bin/schemathesis" run "$url/openapi.json" --max-examples "$examples" --seed 7 --no-color \
    --checks all --phases examples,coverage,fuzzing
if grep -q panicked log; then cat log >&2; exit 1; fi
