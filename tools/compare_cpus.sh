#!/usr/bin/env bash
# Fits every clustering here and on emulated processors, and compares the model files byte by byte:
#   tools/compare_cpus.sh target/debug/bridged [Haswell Skylake-Client ...]
# Needs qemu-x86_64 (Debian: qemu-user). The data are those of the demo, or a paired table with the columns
# id, x and y and its pairs: DATA=digits.parquet PAIRS=pairs.csv K=10.
set -euo pipefail
bridged="$(realpath "${1:?the command}")"
shift
[ $# -gt 0 ] || set -- Haswell Skylake-Client
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
if [ -n "${DATA:-}" ]; then
    inputs=(--x "$(realpath "$DATA")" --y "$(realpath "$DATA")" --x-vector x --y-vector y --x-id id --y-id id --pairs "$(realpath "$PAIRS")" -k "$K")
else
    (cd "$folder" && "$bridged" -q demo --save . > /dev/null)
    inputs=(--x pictures.parquet --y names.parquet --pairs pairs.csv -k 5)
fi
cd "$folder"
full=(--set x.cluster.covariance=full --set y.cluster.covariance=full)
settings() { # name, then its flags
    for name in kmeans balanced minibatch gmm spectral; do echo "$name --cluster $name --restarts 2"; done
    echo "agglomerative --cluster agglomerative"
    echo "dbscan --cluster dbscan --set x.cluster.min_samples=2 --set y.cluster.min_samples=2"
    echo "pca --scale pca:5 --restarts 2"
    echo "full-covariance --cluster gmm --restarts 2 --max-iter 5 ${full[*]}"
    echo "supervised --bridge majority --refine supervised --restarts 2"
}
different=0
while read -r name flags; do
    # shellcheck disable=SC2086 # flags are words
    "$bridged" -q fit "${inputs[@]}" $flags -o "here-$name.bridged"
    for cpu in "$@"; do
        # shellcheck disable=SC2086
        qemu-x86_64 -cpu "$cpu" "$bridged" -q fit "${inputs[@]}" $flags -o "$cpu-$name.bridged" 2> messages ||
            { cat messages >&2; exit 1; }
        if cmp -s "here-$name.bridged" "$cpu-$name.bridged"; then
            echo "$name, $cpu: equal"
        else
            echo "$name, $cpu: different"
            different=1
        fi
    done
done < <(settings)
exit "$different"
