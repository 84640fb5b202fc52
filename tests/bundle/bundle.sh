#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs what scripts/make-bundle built where it is meant to run: in the oldest Debian roots that can still be had, as
# an ordinary user, from a read-only directory with a space in its name; and the wheel in a virtual environment.
#   tests/bundle/bundle.sh [SUITE...]     (buster bullseye bookworm trixie: glibc 2.28, 2.31, 2.36, 2.41)
# Prints TAP. Needs root (chroot, mounts of its own) and Debian's mirror; build-bundle/roots keeps the roots.
. "$(dirname "$0")/../e2e/tap.sh"
bundle=$root/build-bundle
roots=$bundle/roots
tarball=$(ls "$bundle"/aiflame-*-x86_64.tar.gz)
wheel=$(ls "$bundle"/aiflame-*.whl)
name=$(basename "$tarball" .tar.gz)
version=${name#aiflame-}
version=${version%-x86_64}
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP not root"; exit 0; }
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[.*\] \)\{0,1\}\([^ ]*\) .*/\2/p' /etc/apt/sources.list.d/debian.sources \
	/etc/apt/sources.list 2>/dev/null | grep 'debian/*$' | head -n 1)

# ---- the files ------------------------------------------------------------------------------------
mkdir unpacked wheel alien
tar -xzf "$tarball" -C unpacked
python3 -m zipfile -e "$wheel" wheel
check "the tarball's binaries need nothing newer" "$root/scripts/bundle/check" "unpacked/$name"
check "the wheel has the same files" sh -c "
	cmp unpacked/'$name'/bin/aiflame wheel/*.data/scripts/aiflame && diff -r unpacked/'$name'/lib wheel/*.data/data/lib &&
	diff -r unpacked/'$name'/share wheel/*.data/data/share"
check "the wheel has no Python" sh -c "! find wheel | grep -E '[.](py|pth)\$'"
check "all licences are there" sh -c "cd unpacked/'$name'/share/doc/aiflame &&
	for f in \$(sed -n 's/.*: \(licenses.*\)/\1/p' NOTICE.md) LICENSE licenses/LGPL-3; do [ -s \"\$f\" ] || exit 1; done
	[ \$(ls licenses | wc -l) -ge 10 ]"
check "no path of the machine that built it" sh -c "! grep -rlF '$root' unpacked wheel"
cp -r "unpacked/$name/." alien
cp -L "$("${CC:-gcc}" -print-file-name=libdw.so)" alien/lib/aiflame/
check "the check sees a library that does need something newer" sh -c "
	! '$root/scripts/bundle/check' alien >alien.out 2>&1 && grep -q 'libdw.so needs GLIBC_2.3' alien.out"

# ---- targets for the roots, linked as the bundle is -----------------------------------------------
link="${CC:-gcc} -O2 -g -pthread -D_GNU_SOURCE -I$root/src -L$bundle/stubs -static-libgcc -Wl,--allow-shlib-undefined"
mkdir targets
check "targets for old systems link" sh -c "
	$link '$root/tests/mock/fake_app.c' -o targets/fake_app -ldl &&
	$link '$root/tests/e2e/two_sites.c' '$root/tests/e2e/agent_cl.c' -o targets/two_sites -l:libOpenCL.so.1"

# in_root SUITE COMMAND: as user 1000, with nothing of this machine's environment; B is the bundle's command
in_root() {
	unshare -m sh -c 'set -e
		mount -t proc proc "$1/proc"
		mount -t sysfs -o ro sysfs "$1/sys"
		mount --bind "$1/opt/read only" "$1/opt/read only"
		mount -o remount,bind,ro "$1/opt/read only"
		exec chroot --userspec=1000:1000 "$1" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/home/u LANG=C.UTF-8 \
			B="/opt/read only/$2/bin/aiflame" sh -c "cd /home/u && $3"' sh "$roots/$1" "$name" "$2"
}
# Kept when complete; a suite that the mirror no longer has cannot be tried.
get_root() {
	[ -e "$roots/$1/complete" ] && return
	rm -rf "${roots:?}/$1"
	mkdir -p "$roots"
	debootstrap --variant=minbase --include=pocl-opencl-icd,ocl-icd-libopencl1,python3-venv "$1" "$roots/$1" "$mirror" \
		>"$roots/$1.log" 2>&1 || return 1
	rm -f "$roots/$1"/var/cache/apt/archives/*.deb
	: >"$roots/$1/complete"
}

for suite in ${*:-buster bullseye bookworm trixie}; do
	if ! get_root "$suite"; then
		n=$((n + 1))
		echo "ok $n - $suite # SKIP debootstrap: $(tail -n 1 "$roots/$suite.log")"
		continue
	fi
	at=$roots/$suite
	rm -rf "$at/opt/read only" "$at/home/u"
	mkdir -p "$at/opt/read only" "$at/home/u"
	cp "$tarball" "$at/opt/bundle.tar.gz"
	cp "$wheel" "$at/opt/"
	cp targets/* "$at/home/u/"
	chroot "$at" tar -xzf /opt/bundle.tar.gz -C "/opt/read only"
	chown -R 1000:1000 "$at/home/u" "$at/opt/read only"
	glibc=$(chroot "$at" ldd --version | sed -n '1s/.* //p')
	here="$suite, glibc $glibc"

	check "$here: --version" says "aiflame $version (" in_root "$suite" '"$B" --version'
	check "$here: doctor finds the agent and the driver" in_root "$suite" '
		"$B" doctor >d.txt 2>&1; grep -q "^ok *agent" d.txt && grep -q "^ok *OpenCL drivers" d.txt'
	check "$here: the directory cannot be written" says "Read-only file system" in_root "$suite" 'touch "$(dirname "$B")/x"'
	# No driver needed: the whole way from the preloaded agent to the picture, symbols included.
	check "$here: record, nothing in its way" in_root "$suite" '
		"$B" record -q -o f.data ./fake_app -b 2000 -d 6 2>f.err && ! [ -s f.err ] &&
		"$B" info f.data >f.txt && grep -q "everything adds up" f.txt && grep -q "= joined *2,\{0,1\}000" f.txt'
	check "$here: report" in_root "$suite" '"$B" report --kernels --format csv f.data | grep ,generated_'
	check "$here: query" in_root "$suite" '
		[ "$("$B" query -i f.data "SELECT sum(launches) FROM kernel_times" | tail -n 1)" -eq 2000 ]'
	check "$here: flame has the program's functions" in_root "$suite" '
		"$B" flame -i f.data -o f.svg && grep -q ">left" f.svg && grep -q ">main" f.svg && grep -q ">generated_19" f.svg'
	if in_root "$suite" '"$B" doctor | grep -q "^ok *OpenCL loader"'; then
		check "$here: OpenCL on PoCL" in_root "$suite" '
			"$B" record -q -o p.data ./two_sites >p.txt 2>&1 && ! [ -s p.txt ] &&
			"$B" report --kernels --format csv p.data | grep ,spin &&
			"$B" flame -i p.data -o p.svg && grep -q small_site p.svg && grep -q large_site p.svg'
	else
		check "$here: an OpenCL loader without layers is named" says "loader has no layers" \
			in_root "$suite" '"$B" record -o p.data ./two_sites'
	fi
	check "$here: the wheel installs" in_root "$suite" '
		python3 -m venv venv && venv/bin/pip -q install --no-index /opt/*.whl && [ -x venv/bin/aiflame ]'
	check "$here: the installed wheel runs" in_root "$suite" '
		venv/bin/aiflame --version && venv/bin/aiflame record -q -o w.data ./fake_app -b 2000 &&
		venv/bin/aiflame report --kernels w.data | grep -q generated_'
	check "$here: the wheel is removed without a trace" in_root "$suite" '
		[ -x venv/bin/aiflame ] && venv/bin/pip -q uninstall -y aiflame && ! [ -e venv/bin/aiflame ] && ! find venv | grep -q aiflame'
done
done_testing
