#!/usr/bin/env bash
# Builds the book into the target directory, and fails on a warning, a broken link, a page outside its table of
# contents, an unknown command or option, or a reference page that is not current:
#
#     tools/book.sh                  # target/book/index.html
#
# mdBook is installed into the target directory if it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)"
mdbook="$target/mdbook/bin/mdbook"

cargo build --quiet -p bridged-cli --features remote,serve
python3 tools/reference.py "$target/debug/bridged" --check
python3 tools/check_book.py

if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    cargo install --quiet mdbook --locked --version "$version" --no-default-features \
        --root "$target/mdbook" --target-dir "$target/mdbook/build"
    rm -rf "$target/mdbook/build"
fi
"$mdbook" build --dest-dir "$target/book" 2>&1 | tee "$target/mdbook/build.log"
if grep -qE 'WARN|ERROR' "$target/mdbook/build.log"; then
    echo "error: mdbook has warnings; see above" >&2
    exit 1
fi
