#!/usr/bin/env bash
# Measure, and keep the raw numbers: benches/keep-run.sh <date>-<machine>
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 <date>-<machine>" >&2
    exit 1
fi
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/benches/runs/$1
if [ -e "$folder" ]; then
    echo "error: \`benches/runs/$1\` is kept already; runs are never edited, choose another name" >&2
    exit 1
fi
cd "$root"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
make --silent build
bash .ci/setup --aarch64 --emulator --figures
cargo build --quiet --release --package benches
# 1: a figure is short of its target; that is kept too.
"${CARGO_TARGET_DIR-target}/release/figures" selector >"$fresh/summary.txt" || [ $? -eq 1 ]
gzip --no-name --stdout target/figures/selector.csv >"$fresh/raw.csv.gz"
mkdir -p "$folder"
mv "$fresh/summary.txt" "$fresh/raw.csv.gz" "$folder/"
{
    echo "# $1"
    echo
    processor=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1)
    virtual=$(grep -q '^flags.* hypervisor' /proc/cpuinfo && echo ', virtual machine' || true)
    echo "- machine: $processor, $(nproc) cores$virtual"
    echo "- compiler: $(rustc --version)"
    echo "- command: \`benches/keep-run.sh $1\`"
    echo "- \`summary.txt\`: each figure: name, value, target, verdict; times are medians of rounds"
    echo "- \`raw.csv.gz\`: nanoseconds a call in each round of 4096 calls; all ways take turns in a round"
} >"$folder/README.md"
echo "kept in benches/runs/$1; add to its README.md what else was running"
