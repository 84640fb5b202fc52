#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which libcupti the agent takes: that of the Python packages whose libraries the process has loaded, wherever they
# are. The libraries are empty ones, made here, that say when they are loaded; so they are refused in the end.
. "$(dirname "$0")/tap.sh"
export LOADED="$work/loaded"

for soname in libcuda.so.1 libcublas.so.13 libcupti.so.13 libcupti.so.12; do
	cat >stub.c <<EOF
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void here(void)
{
	FILE *f = fopen(getenv("LOADED"), "a");
	fputs("$soname\n", f);
	fclose(f);
}
EOF
	gcc -shared -fPIC -Wl,-soname,$soname -o $soname stub.c
done
# As the driver does: libraries are there, and then the agent is called.
cat >app.c <<EOF
#include <dlfcn.h>
int main(int argc, char **argv)
{
	int (*initialize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "InitializeInjection");
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			return 1;
	return !initialize || initialize() != 1;
}
EOF
gcc -D_GNU_SOURCE -o app app.c -ldl
# takes WANTED DIRECTORY PACKAGE...: with packages in that directory, of which the first is loaded
takes() {
	wanted=$1
	dir=$work/tree/$2
	shift 2
	rm -rf tree loaded
	for place in "$@"; do
		mkdir -p "$dir/$(dirname "$place")" && cp "$(basename "$place")" "$dir/$place" || return 1
	done
	"$aiflame" record -q -o a.data ./app "$work/libcuda.so.1" "$dir/$1" || return 1
	cat loaded
	[ "$(sed -n '3,$p' loaded)" = "$wanted" ]
}
check "libcupti of site-packages is loaded" takes libcupti.so.13 venv/lib/python3.12/site-packages/nvidia cu13/lib/libcublas.so.13 cu13/lib/libcupti.so.13
check "libcupti of an older CUDA's package is loaded" takes libcupti.so.12 venv/lib/python3.12/site-packages/nvidia cublas/lib/libcublas.so.13 cuda_cupti/lib/libcupti.so.12
check "libcupti of Debian's dist-packages is loaded" takes libcupti.so.13 lib/python3.12/dist-packages/nvidia cu13/lib/libcublas.so.13 cu13/lib/libcupti.so.13
check "libcupti below the home of a user called nvidia is loaded" takes libcupti.so.13 home/nvidia/lib/python3.12/site-packages/nvidia cu13/lib/libcublas.so.13 cu13/lib/libcupti.so.13
check "info says that the loaded libcupti was of no use" says "libcupti was not found" "$aiflame" info a.data
done_testing
