#!/usr/bin/env bash
# The command as it is published: tools/release.sh TARGET FOLDER writes bridged-vVERSION-TARGET.tar.gz (.zip on Windows),
# its man pages and completions inside, and its SHA-256 beside it. No path of the building machine is in the binary;
# that is checked here.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${1:?a target, for instance x86_64-unknown-linux-gnu}"
mkdir -p "${2:?a folder}" && out="$(cd "$2" && pwd)"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"

root="$(pwd)"
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
sysroot="$(rustc --print sysroot)"
case "$target" in
    *windows*) root="$(cygpath -w "$root")"; cargo_home="$(cygpath -w "$cargo_home")" ;;
esac
# Encoded flags may hold paths with spaces; the separator is the unit separator, as cargo wants it.
flags=("--remap-path-prefix=$root=bridged" "--remap-path-prefix=$cargo_home=cargo" "--remap-path-prefix=$sysroot=rust")
CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f'; echo "${flags[*]}")"
export CARGO_ENCODED_RUSTFLAGS
case "$target" in
    *msvc*) ;;
    *) export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$root=bridged -ffile-prefix-map=$cargo_home=cargo" ;;
esac
cargo build --locked --profile dist --target "$target" -p bridged-cli --features remote,serve
built="${CARGO_TARGET_DIR:-target}/$target/dist"
case "$target" in *windows*) binary="$built/bridged.exe" ;; *) binary="$built/bridged" ;; esac

# The folder of the build may be elsewhere, and so may the compiler.
made="$(cd "$built" && pwd)"
for path in "$root" "$cargo_home" "$sysroot" "${made%/"$target"/dist}" "$HOME"; do
    # A short home such as / or /root is searched with what follows it in a build.
    case "$path" in / | /root) path="$path/." ;; esac
    if grep -qaF -- "$path" "$binary"; then
        echo "error: the binary holds the path $path of the machine that built it" >&2
        grep -aoF -m 3 -- "$path" "$binary" >&2
        exit 1
    fi
done

name="bridged-v$version-$target"
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/$name/man" "$stage/$name/completions"
cp "$binary" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$stage/$name/"
"$binary" demo > /dev/null # it runs on the machine that built it
"$binary" man "$stage/$name/man"
for shell in bash zsh fish powershell; do
    "$binary" completions "$shell" > "$stage/$name/completions/bridged.$shell"
done
cd "$stage"
case "$target" in
    *windows*) archive="$name.zip"; 7z a -bso0 "$archive" "$name" ;;
    *) archive="$name.tar.gz"; tar -czf "$archive" "$name" ;;
esac
mv "$archive" "$out/"
cd "$out"
if command -v sha256sum > /dev/null; then sha256sum "$archive" > "$archive.sha256"; else shasum -a 256 "$archive" > "$archive.sha256"; fi
echo "wrote $out/$archive"
