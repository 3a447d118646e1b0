#!/usr/bin/env bash
# Runs CLBlast's own tuners of what its f32 multiplication is made of, and keeps the best parameters:
# benches/peers/tune-clblast.sh PLATFORM DEVICE FILE [SIZE [FRACTION]]
# PLATFORM and DEVICE are numbers as `gemmtree-board devices` prints them (P:D). SIZE is the side of the
# matrices that the main kernel is tuned on, CLBlast's own 1024 if not given; the direct kernel gets a quarter
# of it. Of configurations drawn at random one in FRACTION is tried (CLBlast's own default if not given).
# The tuners lie in PATH (Debian: clblast-utils) or in the folder CLBLAST_TUNERS.
set -euo pipefail

if [ $# -lt 3 ] || [ $# -gt 5 ]; then
    sed -n '2,7s/^# //p' "$0" >&2
    exit 1
fi
platform=$1 device=$2 output=$(realpath "$3") size=${4:-1024} fraction=${5:-}
tuners=${CLBLAST_TUNERS:+$(realpath "$CLBLAST_TUNERS")/}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

tune() {
    local tuner=$1
    shift
    echo "$tuner $*" >&2
    # Some driver may not survive some configuration; other kernels can be tuned all the same.
    "${tuners}clblast_tuner_$tuner" -platform "$platform" -device "$device" -precision 32 "$@" >"$tuner.log" ||
        echo "warning: $tuner failed; its kernel stays as CLBlast ships it" >&2
}
some=${fraction:+-fraction $fraction}
quarter=$((size / 4))
for tuner in copy_fast copy_pad transpose_fast transpose_pad; do
    tune "$tuner" -m "$size" -n "$size"
done
# $some is two words or none.
# shellcheck disable=SC2086
tune xgemm -m "$size" -n "$size" -k "$size" $some
# shellcheck disable=SC2086
tune xgemm_direct -m "$quarter" -n "$quarter" -k "$quarter" $some

value() { sed -n "s/^  \"$2\": \"\(.*\)\",\$/\1/p" "$1" | head -1; }
# The kernel whose parameters a tuner's file holds, as CLBlastOverrideParameters calls it.
kernel() {
    case $1 in
        copy) echo Copy ;;
        pad) echo Pad ;;
        transpose) echo Transpose ;;
        padtranspose) echo Padtranspose ;;
        xgemm_direct_*) echo XgemmDirect ;;
        xgemm_*) echo Xgemm ;;
    esac
}
# A kernel may have been searched in several ways: the least time of all counts.
for file in clblast_*.json; do
    name=$(kernel "$(value "$file" kernel_family)")
    parameters=$(value "$file" best_parameters | sed 's/ *\bPRECISION=[0-9]*//')
    [ -z "$name" ] || echo "$name $(value "$file" best_time) $parameters"
done | sort -k1,1 -k2,2g | awk '!seen[$1]++ { $2 = ""; print }' | sed 's/  */ /g' >best
{
    echo "# CLBlast's parameters for f32, found by its own tuners: kernel, then NAME=VALUE"
    echo "# device: $(value clblast_xgemm_direct_1_32.json device)"
    echo "# platform: $(value clblast_xgemm_direct_1_32.json platform_version)"
    echo "# date: $(date --utc +%F)"
    echo "# command: benches/peers/tune-clblast.sh $platform $device FILE $size $fraction" | sed 's/ *$//'
    cat best
} >"$output.new"
mv "$output.new" "$output"
