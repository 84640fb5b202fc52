#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that install a filter of system calls by an instruction of their own, which neither the agent nor the recorder
# sees come: they get no signals, run on, and the profile says so. ROUNDS=20: each so often (tests/long).
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/unseen_app
rounds=${ROUNDS:-1}
of() { "$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'; }

if [ "$(id -u)" -ne 0 ]; then
	# Without privileges the kernel installs filters after PR_SET_NO_NEW_PRIVS alone.
	hows=announced
else
	hows="number argument announced all"
fi
for round in $(seq "$rounds"); do
	for how in $hows; do
		for filter in few none error; do
			case $filter in few) ways="--cpu=--cpu-clock=tick --cpu --cpu=--wall" ;; none) ways=--cpu=--cpu-clock=tick ;; *) ways=--cpu ;; esac
			for way in $ways; do
				options="$(echo "$way" | tr = ' ') -F 999"
				what="$how, $filter, $options"
				check "$what: the program runs to its end" status_is 3 "$aiflame" record -q $options -o r.data "$app" $how $filter
				check "$what: it is not sampled, and why is said" test "$(of r.data "SELECT count(*) FROM losses WHERE name = 'CPU_FILTER_CODE'")" = 1
			done
		done
	done
done
check "the file with the code is named" says "unseen_app" "$aiflame" info r.data
check "info of a program with such code names record --ebpf" says "record --ebpf" "$aiflame" info r.data
# The loader is what is executed, and maps the program as it maps libraries.
loader=$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null | head -n 1)
if [ -n "$loader" ]; then
	check "a program that the loader is asked to start runs to its end" status_is 3 "$aiflame" record -q --cpu -F 999 -o r.data "$loader" "$app" announced few
	check "a program that the loader is asked to start is not sampled, and why is said" test "$(of r.data "SELECT count(*) FROM losses WHERE name = 'CPU_FILTER_CODE'")" = 1
fi
# Its file has gone: root may look at what is mapped, others at what is executed.
cat >remove.c <<'END'
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void remove_it(void)
{
	char exe[4096] = "";

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 5 && !strcmp(exe + strlen(exe) - 5, "/gone"))
		unlink(exe);
}
END
cc -shared -fPIC -o remove.so remove.c || exit 1
gone() { cp "$app" gone && LD_PRELOAD="$work/remove.so" "$aiflame" record -q --cpu -F 999 -o r.data "$work/gone" announced few; }
check "a program whose file is removed runs to its end" status_is 3 gone
check "a program whose file is removed is not sampled, and why is said" test "$(of r.data "SELECT count(*) FROM losses WHERE name = 'CPU_FILTER_CODE'")" = 1
check "a program without such code is sampled" "$aiflame" record -q --cpu -F 999 -o plain.data "$build/tests/e2e/guest_app" coroutine
check "a program without such code is sampled: nothing is said" test "$(of plain.data "SELECT count(*) FROM losses WHERE name = 'CPU_FILTER_CODE'")" = 0
check "a program without such code is sampled: there are samples" test "$(of plain.data "SELECT count(*) >= 5 FROM cpu_samples")" = 1
done_testing
