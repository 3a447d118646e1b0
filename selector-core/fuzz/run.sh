#!/usr/bin/env bash
# Runs every fuzz target for a bounded number of inputs, and prints a line for each:
#
#     run.sh [RUNS [SEED]]    (300000 inputs in all, seed 1)
#
# What was worth keeping goes to corpus/, and a longer run goes on from there. An input that fails
# goes to artifacts/, and the last lines say how to repeat it.
set -euo pipefail

here=$(dirname "$0")
target_dir=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-$here/../../target}")/fuzz
cd "$here"
runs=${1:-300000}
seed=${2:-1}
# cargo-fuzz needs compiler flags that the stable compiler keeps for the next one.
export RUSTC_BOOTSTRAP=1
# Nothing outlives the process that could leak; freed memory need not wait long, nor tell where it
# came from.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:malloc_context_size=2

# The dependencies have unsafe code; not every toolchain brings what watches over it.
sanitizer=none
if compgen -G "$(rustc --print target-libdir)/librustc*_rt.asan.a" >/dev/null; then
    sanitizer=address
fi
options=(--fuzz-dir . --target-dir "$target_dir" --sanitizer "$sanitizer" --no-trace-compares)

fuzz() {
    local target=$1 count=$2 length=$3 seeds=$4 log=$target_dir/$1.log
    local mark=$target_dir/$1.start
    mkdir -p "corpus/$target" "artifacts/$target"
    touch "$mark"
    if ! cargo fuzz run "${options[@]}" "$target" "corpus/$target" "$seeds" -- \
        -runs="$count" -seed="$seed" -max_len="$length" -timeout=10 -print_final_stats=1 \
        >"$log" 2>&1; then
        grep --text --after-context 5 'panicked at' "$log" >&2 || tail --lines 40 "$log" >&2
        echo "error: $target failed; all it said is in $log" >&2
        find "artifacts/$target" -type f -newer "$mark" -printf \
            "  hint: to repeat it: cd $PWD; RUSTC_BOOTSTRAP=1 cargo fuzz run --fuzz-dir . $target %p\n" >&2
        exit 1
    fi
    local outcome
    outcome=$(grep --text --only-matching 'cov: [0-9]*' "$log" | tail --lines 1)
    echo "$target: $count inputs, $outcome, $SECONDS s since the start"
}

cargo fuzz build "${options[@]}"
fuzz parse $((runs - runs / 6 * 2)) 4096 ../tests/golden
fuzz select $((runs / 6)) 4096 seeds/select
fuzz round_trip $((runs / 6)) 600 seeds/round_trip
