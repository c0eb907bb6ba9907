#!/usr/bin/env bash
# From a folder of pictures and a table of names to predictions both ways:
#
#     tools/encoder_weights.sh weights          # once: MiniLM and EfficientNet-Lite0, 110 MB
#     examples/emoji/run.sh weights out         # what is made goes to the folder out
#
# `bridged` is taken from the path, or from $BRIDGED.
set -euo pipefail
weights="$(cd "${1:?usage: run.sh WEIGHTS OUT}" && pwd)"
out="$(mkdir -p "${2:?usage: run.sh WEIGHTS OUT}" && cd "$2" && pwd)"
bridged="${BRIDGED:-bridged}"
cd "$(dirname "$0")"
images=(--encoder efficientnet-lite0 --weights "$weights/efficientnet-lite0")
text=(--encoder sentence-bert --weights "$weights/minilm")

# Two collections: 98 pictures, and 103 names of which 21 belong to a picture here.
"$bridged" encode images pictures "${images[@]}" -o "$out/x.parquet"
"$bridged" encode text names.csv "${text[@]}" -o "$out/y.parquet"
"$bridged" fit --x "$out/x.parquet" --y "$out/y.parquet" --pairs pairs.csv -k 7 -o "$out/emoji.bridged"

# 42 pictures that nobody has seen: which names do they have? And the names: what do they look like?
"$bridged" encode images new "${images[@]}" -o "$out/new-x.parquet"
"$bridged" encode text new.csv "${text[@]}" --column text -o "$out/new-y.parquet"
"$bridged" predict "$out/emoji.bridged" "$out/new-x.parquet" --nearest 1 -o "$out/names.csv"
"$bridged" predict "$out/emoji.bridged" "$out/new-y.parquet" --reverse --nearest 1 -o "$out/pictures.csv"
