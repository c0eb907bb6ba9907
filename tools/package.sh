#!/usr/bin/env bash
# The source packages as the registries would get them: every crate packed, and checked from what its package holds;
# and the Python source package, from which a wheel can be built. tools/package.sh FOLDER keeps the latter.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${1:?a folder}" && out="$(cd "$1" && pwd)"
target="$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)"

# bridged-fuzz is for this repository alone. cargo's own check would compile all dependencies anew for every crate;
# here the packages are unpacked into one workspace and checked together, with the dependencies of the lints.
rm -f "$target"/package/*.crate
cargo package --locked --workspace --exclude bridged-py --exclude bridged-fuzz --no-verify --quiet
unpacked="$(mktemp -d)"
trap 'rm -rf "$unpacked"' EXIT
for package in "$target"/package/*.crate; do tar -xzf "$package" -C "$unpacked"; done
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
    for folder in "$unpacked"/*/; do
        folder="$(basename "$folder")"
        printf '%s = { path = "%s" }\n' "${folder%-*}" "$folder"
    done
    printf '\n'
    sed -n '/^\[profile.dev\]/,/^# No line tables/p' Cargo.toml
} > "$unpacked/Cargo.toml"
cp Cargo.lock "$unpacked/"
(cd "$unpacked" && CARGO_TARGET_DIR="$target" cargo check --workspace --quiet)
echo "checked $(ls "$target"/package/*.crate | wc -l) packages"

environment="$target/packaging"
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
