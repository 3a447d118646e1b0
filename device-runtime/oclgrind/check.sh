#!/usr/bin/env bash
# Runs a few configurations of every kernel family at small sizes in the simulator oclgrind, which
# reports data races between work-items and work-groups, reads and writes outside of buffers, barriers
# that not all reach, and wrong API calls. Any message fails. Faults on purpose must be reported first,
# so that the check cannot pass for want of looking.
# Usage: check.sh [FAMILY...]; programs are in ${CARGO_TARGET_DIR:-target}/release.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=$(realpath "${CARGO_TARGET_DIR:-target}/release")
logs=$(mktemp --directory)
trap 'rm -rf "$logs"' EXIT

# The programs load OpenCL at run time: from the simulator itself, without an ICD loader between.
runtime=
for candidate in /usr/lib/oclgrind /usr/lib/x86_64-linux-gnu/oclgrind /usr/local/lib /usr/lib64; do
    if [ -e "$candidate/liboclgrind-rt.so" ]; then runtime=$candidate/liboclgrind-rt.so; break; fi
done
if [ -z "$runtime" ] || ! command -v oclgrind >/dev/null; then
    echo "error: no oclgrind" >&2
    echo "  hint: install Debian's package oclgrind" >&2
    exit 1
fi
export GEMMTREE_OPENCL=$runtime

# simulate LOG PROGRAM ARGUMENT...
# - As much local memory as the largest GPU of the board files, so that no limit of it rules anything out.
# - Without cl_khr_fp16: its compiler defines that, but the device has no 16-bit arithmetic.
simulate() {
    local log=$1
    shift
    oclgrind --data-races --check-api --max-errors 5 --local-mem-size 65536 \
        --build-options "-Ucl_khr_fp16 ${build_options-}" --log "$log" "$@"
}

# fault KERNEL MESSAGE: the kernel has a fault that must be reported.
fault() {
    simulate "$logs/$1" "$programs/examples/faults" "$1"
    if ! grep -q "$2" "$logs/$1"; then
        echo "error: oclgrind does not report \`$1\` of device-runtime/examples/faults.cl:" >&2
        cat "$logs/$1" >&2
        exit 1
    fi
}
fault race_in_local_memory 'data race at local memory'
fault race_between_groups 'data race at global memory'
fault read_outside 'Invalid read'

# few FAMILY: its configurations, into the files of its log.
few() {
    simulate "$logs/$1" "$programs/gemmtree-board" --quiet check --sources --few --text --family "$1" \
        >"$logs/$1.out" 2>"$logs/$1.err"
}

# check FAMILY: prints one line, or what is wrong.
check() {
    local log=$logs/$1 status=0
    few "$@" || status=$?
    # Its compiler's optimiser makes operations that the simulator does not know: it then stops.
    if [ "$status" -ne 0 ] && grep -q 'OCLGRIND FATAL ERROR' "$log" "$log.err"; then
        status=0
        build_options=-cl-opt-disable few "$@" || status=$?
    fi
    # What no simulator can run; any other family that computes nothing is a fault.
    if [ "$1" = subgroup ] && [ "$status" -ne 0 ] && grep -q ', 0 problems' "$log.out"; then
        echo "$1: cannot run in the simulator"
        return
    fi
    if [ "$status" -ne 0 ] || [ -s "$log" ]; then
        echo "error: oclgrind, family $1 (status $status):" >&2
        grep -v ' warnings\? generated' "$log.err" >&2 || true
        head -n 60 "$log" >&2
        return 1
    fi
    echo "$1: $(cat "$log.out")"
    touch "$log.ran"
}

families=("$@")
if [ ${#families[@]} -eq 0 ]; then
    # The program knows them: it lists all where one is unknown.
    known=$("$programs/gemmtree-board" check --sources --few --family '?' 2>&1 || true)
    IFS=', ' read -r -a families <<<"$(sed -n 's/.*families: //p' <<<"$known")"
fi
if [ ${#families[@]} -eq 0 ]; then
    echo "error: \`$programs/gemmtree-board\` names no kernel families" >&2
    exit 1
fi
export logs programs
export -f simulate few check
printf '%s\n' "${families[@]}" | xargs --max-procs="$(nproc)" --replace bash -c 'check "$1"' check {}
ran=$(find "$logs" -name '*.ran' | wc -l)
if [ "$ran" -eq 0 ]; then
    echo "error: no family has run" >&2
    exit 1
fi
echo "oclgrind: no races and no wrong accesses in $ran of ${#families[@]} families; faults on purpose were found"
