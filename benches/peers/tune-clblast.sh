#!/usr/bin/env bash
# Runs CLBlast's own tuners of what its f32 multiplication is made of, and keeps the best parameters:
# benches/peers/tune-clblast.sh PLATFORM DEVICE FILE [SIZE [FRACTION]]
# PLATFORM and DEVICE are numbers as `gemmtree-board devices` prints them (P:D). SIZE is the side of the
# matrices that the main kernel is tuned on, CLBlast's own 1024 if not given; the direct kernel gets a quarter
# of it. Of configurations drawn at random one in FRACTION is tried (CLBlast's own default if not given).
# Each tuner gets SECONDS_EACH seconds, an hour if not given.
# The tuners lie in PATH (Debian: clblast-utils) or in the folder CLBLAST_TUNERS.
set -euo pipefail

if [ $# -lt 3 ] || [ $# -gt 5 ]; then
    sed -n '2,8s/^# //p' "$0" >&2
    exit 1
fi
platform=$1 device=$2 output=$(realpath "$3") size=${4:-1024} fraction=${5:-}
seconds=${SECONDS_EACH:-3600}
tuners=${CLBLAST_TUNERS:+$(realpath "$CLBLAST_TUNERS")/}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Tuners that did not finish.
cut=()
tune() {
    local tuner=$1
    shift
    echo "$tuner $*" >&2
    # Some driver may crash or hang on some configuration; the others count all the same.
    timeout "$seconds" "${tuners}clblast_tuner_$tuner" \
        -platform "$platform" -device "$device" -precision 32 "$@" >"$tuner.log" || {
        echo "warning: $tuner did not finish; the best that it had tried counts" >&2
        cut+=("$tuner")
    }
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

value() { sed -n "/^  \"$2\": /{s/^  \"$2\": \"\(.*\)\",\$/\1/p;q}" "$1"; }
# The kernel that a tuner is for, as CLBlastOverrideParameters calls it.
declare -A kernels=([copy_fast]=Copy [copy_pad]=Pad [transpose_fast]=Transpose [transpose_pad]=Padtranspose
    [xgemm]=Xgemm [xgemm_direct]=XgemmDirect)
declare -A families=([Copy]=copy [Pad]=pad [Transpose]=transpose [Padtranspose]=padtranspose
    [Xgemm]='xgemm_[0-9]*' [XgemmDirect]='xgemm_direct_[0-9]*')
# Times and parameters that a log tells, for a tuner that did not finish.
logged() {
    sed 's/\x1b\[[0-9;]*m//g' "$1" | awk -F'|' '
        /Parameters explored:/ { sub(/.*explored: */, ""); count = split($0, names, " ") }
        /results match/ && !/ref/ {
            split($4, values, " ")
            line = $8 + 0
            for (place = 1; place <= count; place++) line = line " " names[place] "=" values[place]
            print line
        }'
}
# A kernel may have been searched in several ways: the least time of all counts.
for tuner in "${!kernels[@]}"; do
    kernel=${kernels[$tuner]}
    {
        # shellcheck disable=SC2086
        for file in $(compgen -G "clblast_${families[$kernel]}_32.json" || true); do
            echo "$(value "$file" best_time) $(value "$file" best_parameters | sed 's/ *\bPRECISION=[0-9]*//')"
        done
        logged "$tuner.log"
    } | sort -s -k1,1g | sed -n 1p | sed "s/^[^ ]* /$kernel /"
done | sort >best
finished=$(compgen -G 'clblast_*_32.json' | sed -n 1p || true)
if [ -z "$finished" ] || ! [ -s best ]; then
    echo "error: no tuner finished; \`$output\` is as it was" >&2
    echo "  hint: see whether platform $platform has device $device (gemmtree-board devices)," \
        "and whether SECONDS_EACH is enough" >&2
    exit 1
fi
{
    echo "# CLBlast's parameters for f32, found by its own tuners: kernel, then NAME=VALUE"
    echo "# device: $(value "$finished" device)"
    echo "# platform: $(value "$finished" platform_version)"
    echo "# date: $(date --utc +%F)"
    echo "# command: SECONDS_EACH=$seconds benches/peers/tune-clblast.sh $platform $device FILE $size $fraction" |
        sed 's/ *$//'
    [ ${#cut[@]} -eq 0 ] || echo "# cut short: ${cut[*]}"
    cat best
} >"$output.new"
mv "$output.new" "$output"
