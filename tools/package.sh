#!/usr/bin/env bash
# The source packages as the registries would get them: every crate packed and compiled from its package, and the
# Python source package, from which a wheel can be built. tools/package.sh FOLDER keeps the latter.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:?a folder}" && out="$(cd "$1" && pwd)"
cargo package --locked --workspace --exclude bridged-py ${PACKAGE_FLAGS:-}
environment="${CARGO_TARGET_DIR:-target}/packaging"
[ -x "$environment/bin/maturin" ] || { python3 -m venv "$environment" && "$environment/bin/pip" install -q 'maturin==1.16.0'; }
rm -rf "$environment/sdist"
"$environment/bin/maturin" sdist --out "$environment/sdist"
# What a user of pip gets must hold all that a build reads.
archive="$(echo "$environment"/sdist/bridged-*.tar.gz)"
contents="$(tar -tzf "$archive")"
for needed in Cargo.lock LICENSE-MIT README.md pyproject.toml crates/bridged-py/src/lib.rs crates/bridged-py/python/bridged/__init__.py; do
    case "$contents" in
        *"/$needed"*) ;;
        *) echo "error: $archive lacks $needed" >&2; exit 1 ;;
    esac
done
cp "$archive" "$out/"
echo "wrote $out/$(basename "$archive")"
