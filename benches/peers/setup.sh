#!/usr/bin/env bash
# Installs what kernels and selector are compared with and what Debian does not have: emlearn and
# scikit-learn into target/peers, for `make figures-selector`; on x86-64 Intel's OpenCL runtime for
# CPUs into build/intel-opencl, for `make figures-kernels`. Its file `environment` sets the variables
# that let a program see this driver, and no other:
# (. build/intel-opencl/environment && gemmtree-board devices)
set -euo pipefail
cd "$(dirname "$0")/../.."

# install FOLDER PACKAGE...
install() {
    local folder=$1
    shift
    if ! [ -x "$folder/bin/python" ]; then
        python3 -m venv "$folder"
    fi
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

install "${CARGO_TARGET_DIR-target}/peers" emlearn==0.23.2 scikit-learn==1.9.1

if [ "$(uname -m)" != x86_64 ]; then
    echo "Intel's OpenCL runtime is for x86-64 only; left out" >&2
    exit 0
fi
install build/intel-opencl intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0
folder=$PWD/build/intel-opencl
mkdir -p "$folder/vendors"
echo "$folder/lib/libintelocl.so" >"$folder/vendors/intel.icd"
# The system's libraries first: the packages bring an OpenCL loader of their own.
loader=$(ldconfig -p | sed -n 's/^\tlibOpenCL\.so\.1 .* => //p' | sed -n 1p)
if [ -z "$loader" ]; then
    echo "error: no OpenCL loader is installed" >&2
    echo "  hint: run make setup first" >&2
    exit 1
fi
{
    echo "export OCL_ICD_VENDORS='$folder/vendors'"
    echo "export LD_LIBRARY_PATH='$(dirname "$loader"):$folder/lib'"
} >"$folder/environment.new"
mv "$folder/environment.new" "$folder/environment"
