#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU samples of threads that live for 1 to 20 ms, against what the threads measure themselves; and threads that end by
# exceptions.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/cpu_threads

# number FILE SQL: one value
number() {
	"$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'
}
# has_share FOLDED NAME TRUE SAMPLES: within 3 standard errors, and 10 points for threads that wait for a CPU, in step with its tick; 20
# where other programs have the CPUs (15.8 were seen at a load of 50)
has_share() {
	awk -v truth="$3" -v n="$4" -v busy="$busy" -v name=";$2(;|\$| )" '
		{ all = $NF; sub(/ [0-9]+$/, "") }
		/;work;/ { sum += all }
		/;work;/ && $0 ~ name { part += all }
		END {
			share = sum ? 100 * part / sum : 0
			bound = (busy ? 20 : 10) + 3 * sqrt(truth * (100 - truth) / (n ? n : 1))
			print share, truth, bound
			exit !(share >= truth - bound && share <= truth + bound)
		}' "$1"
}
# totals FILE SECONDS: 95 to 102 % of it, of which nine tenths have a stack. Where other programs have the CPUs, a thread may have run
# without a tick, and so has no sample: what has no stack for that is counted as CPU_UNSAMPLED.
totals() {
	awk -v all="$2" -v busy="$busy" -v x="$(number "$1" 'SELECT sum(weight_ns) / 1e9 FROM cpu_samples')" \
		-v known="$(number "$1" 'SELECT sum(weight_ns) / 1e9 FROM cpu_samples WHERE stack IS NOT NULL')" \
		-v counted="$(number "$1" "SELECT coalesce(sum(count), 0) / 1e3 FROM losses WHERE name = 'CPU_UNSAMPLED'")" '
		BEGIN { print known, x, all, counted, busy; exit !(x >= 0.95 * all && x <= 1.02 * all && (known >= 0.9 * x || busy && known + counted >= 0.98 * x)) }'
}
# record CLOCK MS: metered
record() { "$aiflame" record -q --cpu --cpu-clock "$1" -F 999 -o "$1$2.data" "$app" "$2" 3 >"$1$2.said"; }

if ! "$aiflame" record -q --cpu --cpu-clock tick -o none.data true 2>refused; then
	skip "threads of 1 to 20 ms have their CPU time" "timers could interrupt system calls of this kernel"
	done_testing
	exit 0
fi
for clock in auto tick; do
	for ms in 1 2 5 10 20; do
		check "$clock: threads of $ms ms are recorded" metered record $clock $ms
		heavy=$(sed -n 's/^heavy //p' $clock$ms.said) light=$(sed -n 's/^light //p' $clock$ms.said)
		truth=$(awk "BEGIN { print 100 * $heavy / ($heavy + $light) }")
		samples=$(number $clock$ms.data 'SELECT count(*) FROM cpu_samples')
		"$aiflame" flame --of cpu -o $clock$ms.folded $clock$ms.data
		check "$clock: in threads of $ms ms a function has its share" has_share $clock$ms.folded heavy "$truth" "$samples"
		check "$clock: threads of $ms ms have all of their CPU time" totals $clock$ms.data "$(sed -n 's/^all //p' $clock$ms.said)"
		check "$clock: no frame of the agent is on the stacks of threads of $ms ms" sh -c "! grep -qi 'aif_\|aiflame' $clock$ms.folded"
	done
done
# Each thread of 1 ms has one sample, if any: hundreds of them would be a comb.
check "hundreds of threads without names of their own are one tower or two" sh -c "grep -qE '^\[[0-9]{3,} threads' tick1.folded &&
	[ \$(cut -d';' -f1 tick1.folded | sort -u | wc -l) -le 5 ]"

cat >throw.cpp <<'END'
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <time.h>
static long clock_ms()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static void *leave(void *)
{
	struct Guard { ~Guard() { count++; } int &count; };
	static thread_local int count;
	Guard guard{count};
	pthread_exit(nullptr);
}
int main(int argc, char **argv)
{
	int caught = 0;
	long until = clock_ms() + 700;
	std::set_terminate([] {
		try {
			std::rethrow_exception(std::current_exception());
		} catch (const std::exception &e) {
			std::printf("terminate: %s\n", e.what());
			std::fflush(stdout);
		}
		std::_Exit(42);
	});
	while (clock_ms() < until) {
		std::thread([&] { try { throw 1; } catch (int i) { caught += i; } }).join();
		pthread_t thread;
		pthread_create(&thread, nullptr, leave, nullptr);
		pthread_join(thread, nullptr);
	}
	std::printf("caught %d\n", caught > 0);
	std::fflush(stdout);
	if (argc > 1 && *argv[1] == 'c') {
		pthread_t thread;
		pthread_create(&thread, nullptr, [](void *) -> void * { throw std::runtime_error("of C"); }, nullptr);
		pthread_join(thread, nullptr);
	}
	std::thread([] { throw std::runtime_error("of std::thread"); }).join();
	return 0;
}
END
if ${CXX:-c++} -O1 -o throw throw.cpp -pthread 2>compiled; then
	for how in std c; do
		./throw $how >bare.said
		echo "status $?" >>bare.said
		check "an exception that nothing catches ends a thread of $how as without the agent" sh -c "
			'$aiflame' record -q --cpu -o throw.data ./throw $how >said; echo status \$? >>said; diff bare.said said && grep -q 'status 42' said"
	done
else
	skip "exceptions in threads end as without the agent" "no C++ compiler"
fi
done_testing
