#!/usr/bin/env bash
# Every fuzz target under libFuzzer for some seconds each: tools/fuzz.sh [SECONDS] [TARGET...]
#
# Builds the instrumented targets (many minutes when cold), writes their seeds, runs them one after the other on one
# core, and prints a line of a table for each: executions, seconds, coverage, what came of it. Inputs that break a target
# are left in fuzz/artifacts/NAME/. Without instrumentation and in seconds, `cargo test --test driver` runs the same.
#
# SANITIZER=address watches memory too (for the targets that reach `unsafe` code of other libraries); the default is
# none, which is several times faster. The flags of instrumentation are unstable, so stable needs RUSTC_BOOTSTRAP.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-10}"
shift || true
sanitizer="${SANITIZER:-none}"
export RUSTC_BOOTSTRAP=1 CARGO_TERM_COLOR=never
target="${CARGO_TARGET_DIR:-target}"
if ! cargo fuzz --version > /dev/null 2>&1; then
    cargo install --locked --quiet cargo-fuzz
fi

# The seeds and dictionaries come from the library of the targets.
RUSTC_BOOTSTRAP=0 cargo test --locked --quiet --workspace --test driver seeds_and_dictionaries > /dev/null
mkdir -p fuzz/corpus
cp -r "$target"/tmp/fuzz/corpus/. fuzz/corpus/

cargo fuzz build --fuzz-dir fuzz --sanitizer "$sanitizer"
built="fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release"
names=("$@")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' fuzz/Cargo.toml)

failed=0
echo "| target | executions | seconds | coverage | found |"
echo "|---|---:|---:|---:|---|"
for name in "${names[@]}"; do
    log="fuzz/artifacts/$name/log"
    mkdir -p "fuzz/artifacts/$name"
    found="nothing"
    start=$(date +%s)
    if ! "$built/$name" "fuzz/corpus/$name" -dict="fuzz/corpus/$name.dict" -max_total_time="$seconds" \
        -rss_limit_mb=2048 -timeout=10 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="fuzz/artifacts/$name/" > "$log" 2>&1; then
        found="**$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)**"
        failed=1
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: //p' "$log" | tail -1)
    coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -1 | cut -c6-)
    echo "| $name | ${executions:-?} | $(($(date +%s) - start)) | ${coverage:-?} | $found |"
done
exit "$failed"
