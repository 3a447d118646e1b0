#!/usr/bin/env bash
# Installs emlearn and scikit-learn into target/peers, for `make figures-selector`.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${CARGO_TARGET_DIR-target}/peers
if ! [ -x "$folder/bin/python" ]; then
    python3 -m venv "$folder"
fi
"$folder/bin/pip" install --quiet --disable-pip-version-check emlearn==0.23.2 scikit-learn==1.9.1
