#!/usr/bin/env bash
# Runs the aarch64 build of gemmtree-board under emulation, in a Debian root with PoCL: `devices`, a few
# kernels of each family from source, then compile and check of the demo's model. Needs root and, the
# first time, about 4 minutes more. Emulated results say nothing about speed.
# SECONDS_PER_FAMILY (default 60) ends a family's part; what it has checked until then must be right.
set -euo pipefail
cd "$(dirname "$0")/../.."

root=${AARCH64_ROOT-build/aarch64/root}
seconds=${SECONDS_PER_FAMILY-60}
model=${1-build/demo/model.gtm}
if [ "$(id -u)" -ne 0 ]; then
    echo "error: an emulated root needs root" >&2
    exit 1
fi
if ! [ -e "$model" ]; then
    echo "error: no model at \`$model\`" >&2
    echo "  hint: run make demo first, or name a model" >&2
    exit 1
fi

missing=()
for package in mmdebstrap qemu-user-static binfmt-support arch-test; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
        missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    apt-get update --quiet --quiet >&2
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends \
        "${missing[@]}" >&2
fi
if ! [ -e /proc/sys/fs/binfmt_misc/register ]; then
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
fi
[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || update-binfmts --enable qemu-aarch64

if ! [ -e "$root/usr/bin/env" ]; then
    mkdir -p "$(dirname "$root")"
    mmdebstrap --variant=apt --architectures=arm64 \
        --include=pocl-opencl-icd,ocl-icd-libopencl1 bookworm "$root" >&2
fi

mounted=()
unmount() { for path in "${mounted[@]}"; do umount --lazy "$path"; done; }
trap unmount EXIT
for name in proc sys dev; do
    mount --rbind "/$name" "$root/$name"
    mount --make-rslave "$root/$name"
    mounted+=("$root/$name")
done

install -D --mode 755 build/aarch64/gemmtree-board "$root/opt/gemmtree/gemmtree-board"
install -D --mode 644 "$model" "$root/opt/gemmtree/model.gtm"
board() { chroot "$root" /opt/gemmtree/gemmtree-board "$@"; }
board devices --text
known=$(board check --sources --few --family '?' 2>&1 || true)
IFS=', ' read -r -a families <<<"$(sed -n 's/.*families: //p' <<<"$known")"
if [ ${#families[@]} -eq 0 ]; then
    echo "error: the board's program names no kernel families: $known" >&2
    exit 1
fi
for family in "${families[@]}"; do
    echo "family $family (emulated):"
    # PoCL has none of Intel's sub-groups.
    board check --sources --few --family "$family" --seconds "$seconds" --text || [ "$family" = subgroup ]
done
# What is checked is that the model's kernels compile and are right here, whatever they were measured with.
board compile --model /opt/gemmtree/model.gtm --output /opt/gemmtree/current.gtb --class f32-nn --text \
    --allow-foreign-space
board check --bundle /opt/gemmtree/current.gtb --text
echo "emulated aarch64: devices, ${#families[@]} families from source, compile and check passed"
