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
# Nothing outlives the process that could leak, and freed memory need not wait long.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16

# The dependencies have unsafe code; not every toolchain brings what watches over it.
sanitizer=none
if compgen -G "$(rustc --print target-libdir)/librustc*_rt.asan.a" >/dev/null; then
    sanitizer=address
fi
options=(--fuzz-dir . --target-dir "$target_dir" --sanitizer "$sanitizer" --no-trace-compares)

fuzz() {
    local target=$1 count=$2 length=$3 seeds=$4 log=$target_dir/$1.log
    mkdir -p "corpus/$target"
    if ! cargo fuzz run "${options[@]}" "$target" "corpus/$target" "$seeds" -- \
        -runs="$count" -seed="$seed" -max_len="$length" -timeout=10 -print_final_stats=1 \
        >"$log" 2>&1; then
        tail --lines 60 "$log" >&2
        echo "error: $target failed; see above, and $log" >&2
        exit 1
    fi
    local done
    done=$(grep --text --only-matching 'DONE .*' "$log")
    echo "$target: $count inputs, ${done#DONE *}"
}

cargo fuzz build "${options[@]}"
fuzz parse $((runs - runs / 6 * 2)) 4096 ../tests/golden
fuzz select $((runs / 6)) 4096 seeds/select
fuzz round_trip $((runs / 6)) 600 seeds/round_trip
