#!/usr/bin/env bash
# Unit tests of bridged-math and of the clusterings under tools that see what a test cannot: reads and writes
# outside of memory, races, undefined behaviour.
#
#     tools/sanitize.sh                    # all that this machine can run; says what it skips, and why
#     tools/sanitize.sh address thread     # only these; one that cannot run is an error
#
# address    -Zsanitizer=address on the stable compiler (RUSTC_BOOTSTRAP=1)
# thread     -Zsanitizer=thread, with a standard library built for it: needs the component rust-src
# miri       the interpreter, on what needs no vector instructions: needs a nightly toolchain with miri
# valgrind   memcheck on the plain test binary of bridged-math; only if address cannot run, since it sees the same, much
#            slower. It does not stand in for thread: helgrind and drd know no atomics, and report every task of rayon
#
# Builds go to target/sanitize-NAME and run at low priority. Expect a quarter of an hour for each.
set -euo pipefail
cd "$(dirname "$0")/.."
host="$(rustc -vV | sed -n 's/^host: //p')"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)"
sysroot="$(rustc --print sysroot)"
crates=(-p bridged-math -p bridged)
# Under a tool that slows everything down tenfold, a few random cases of each property are enough.
export PROPTEST_CASES="${PROPTEST_CASES:-8}"
export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-4}"
ran=() skipped=()

skip() { # the tool, why
    if [ "${named:-false}" = true ]; then
        echo "error: $1 cannot run: $2" >&2
        exit 1
    fi
    skipped+=("$1: $2")
}

# Tests that compare times or start themselves again say nothing about memory.
without=(--skip every_level_finds --skip work_without_a_checkpoint --skip within_50_milliseconds)

address() {
    if [ ! -e "$sysroot/lib/rustlib/$host/lib/librustc-stable_rt.asan.a" ] &&
        [ ! -e "$sysroot/lib/rustlib/$host/lib/librustc_rt.asan.a" ]; then
        skip address "the toolchain has no runtime for it"
        return 0
    fi
    # Leaks are not looked for: the pool of threads lives as long as the process.
    CARGO_TARGET_DIR="$target/sanitize-address" RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" \
        ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=1" \
        nice -n 15 cargo test --locked --target "$host" "${crates[@]}" --lib -- "${without[@]}"
    ran+=(address)
}

thread() {
    if [ ! -d "$sysroot/lib/rustlib/src/rust/library" ]; then
        skip thread "no source of the standard library: rustup component add rust-src"
        return 0
    fi
    CARGO_TARGET_DIR="$target/sanitize-thread" RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread" \
        TSAN_OPTIONS="halt_on_error=1:suppressions=$PWD/tools/tsan.supp" \
        nice -n 15 cargo test --locked -Zbuild-std --target "$host" "${crates[@]}" --lib -- "${without[@]}"
    ran+=(thread)
}

miri() {
    if ! cargo +nightly miri --version >/dev/null 2>&1; then
        skip miri "no nightly toolchain with it: rustup +nightly component add miri rust-src"
        return 0
    fi
    # Files are not isolated away, since proptest looks for its past failures.
    CARGO_TARGET_DIR="$target/sanitize-miri" PROPTEST_CASES=2 MIRIFLAGS="-Zmiri-disable-isolation" \
        nice -n 15 cargo +nightly miri test --locked -p bridged-math --lib -- \
        chunks:: matrix:: watch:: memory:: simd::gather:: assignment:: --skip agrees --skip brute
    ran+=(miri)
}

valgrind() {
    if ! command -v valgrind >/dev/null; then
        skip valgrind "it is not installed"
        return 0
    fi
    local binary
    binary="$(nice -n 15 cargo test --locked -p bridged-math --lib --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1)"
    # valgrind knows no AVX-512.
    BRIDGED_SIMD=avx2 PROPTEST_CASES=2 nice -n 15 valgrind --error-exitcode=1 --quiet "$binary" --test-threads=1 \
        "${without[@]}"
    ran+=(valgrind)
}

if [ $# -gt 0 ]; then
    named=true
    for tool in "$@"; do
        case "$tool" in
        address | thread | miri | valgrind) "$tool" ;;
        *)
            echo "error: no such tool: $tool; there are address, thread, miri and valgrind" >&2
            exit 2
            ;;
        esac
    done
else
    address
    thread
    miri
    case " ${ran[*]} " in
    *" address "*) skipped+=("valgrind: address sees the same") ;;
    *) valgrind ;;
    esac
fi
echo "ran: ${ran[*]:-nothing}"
for line in ${skipped[@]+"${skipped[@]}"}; do echo "skipped $line"; done
