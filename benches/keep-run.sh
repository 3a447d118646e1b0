#!/usr/bin/env bash
# Measure, and keep the raw numbers: benches/keep-run.sh <date>-<machine>
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: $0 <date>-<machine>" >&2
    exit 1
fi
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/benches/runs/$1
if [ -e "$folder/raw.csv" ]; then
    echo "error: \`benches/runs/$1\` is kept already; runs are never edited, choose another name" >&2
    exit 1
fi
cd "$root"
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
export CRITERION_HOME=$fresh/criterion
cargo bench --package benches --bench selector -- --noplot --color never >"$fresh/summary.txt"

# One table: the head of the first file, the rows of all.
find "$CRITERION_HOME" -path '*/new/raw.csv' | sort | xargs awk 'FNR > 1 || NR == 1' >"$fresh/raw.csv"
mkdir -p "$folder"
mv "$fresh/summary.txt" "$fresh/raw.csv" "$folder/"
{
    echo "# $1"
    echo
    processor=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -1)
    virtual=$(grep -q '^flags.* hypervisor' /proc/cpuinfo && echo ', virtual machine' || true)
    echo "- machine: $processor, $(nproc) cores$virtual"
    echo "- compiler: $(rustc --version)"
    echo "- command: \`benches/keep-run.sh $1\`"
    echo "- \`summary.txt\`: what criterion printed (lower bound, estimate, upper bound)"
    echo "- \`raw.csv\`: every sample; \`sample_measured_value\` nanoseconds for \`iteration_count\` iterations"
} >"$folder/README.md"
echo "kept in benches/runs/$1; add to its README.md what else was running"
