#!/usr/bin/env bash
# Installs the C library: install.sh BUILT PREFIX, where BUILT has libgemmtree.so and libgemmtree.a.
# DESTDIR is put before PREFIX as files are written; LIBDIR (lib) is the folder of libraries in PREFIX.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
built=${1:?name the folder that has libgemmtree.so}
prefix=${2:?name the prefix}
libdir=${LIBDIR:-lib}
to=${DESTDIR:-}$prefix
version=$(sed -n 's/^#define GEMMTREE_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$here/include/gemmtree.h" | paste -sd .)
IFS=. read -r major minor _ <<<"$version"
# From the folder of libraries back to the prefix.
up=$(sed 's:[^/][^/]*:..:g' <<<"$libdir")
# What a program needs beside the static library.
private='-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc'

fill() {
    sed -e "s:@PREFIX@:$prefix:" -e "s:@LIBDIR@:$libdir:" -e "s:@VERSION@:$version:g" -e "s:@UP@:$up:" \
        -e "s:@MAJOR@:$major:g" -e "s:@MINOR@:$minor:g" -e "s:@PRIVATE@:$private:" "$1" >"$2"
}

install -d "$to/include" "$to/$libdir/pkgconfig" "$to/$libdir/cmake/gemmtree"
install -m 644 "$here/include/gemmtree.h" "$here/include/gemmtree_clblast.h" "$to/include"
install -m 644 "$built/libgemmtree.a" "$to/$libdir"
install -m 755 "$built/libgemmtree.so" "$to/$libdir/libgemmtree.so.$version"
ln -sf "libgemmtree.so.$version" "$to/$libdir/libgemmtree.so.0"
ln -sf libgemmtree.so.0 "$to/$libdir/libgemmtree.so"
fill "$here/gemmtree.pc.in" "$to/$libdir/pkgconfig/gemmtree.pc"
for name in gemmtreeConfig gemmtreeConfigVersion; do
    fill "$here/cmake/$name.cmake.in" "$to/$libdir/cmake/gemmtree/$name.cmake"
done
case $prefix in
/usr | /usr/local) ;;
*)
    echo "installed to $prefix; a program is compiled and run with"
    echo "  export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig LD_LIBRARY_PATH=$prefix/$libdir"
    ;;
esac
