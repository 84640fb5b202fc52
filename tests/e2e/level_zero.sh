#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Level Zero on any machine: its own loader and tracing layer, below them a SIMULATED driver (tests/mock/level_zero),
# which has times and faults; and where it is installed Intel's own driver in AUB mode, which compiles, gives addresses
# and takes launches, but executes nothing and has no times.
. "$(dirname "$0")/tap.sh"
mock=$build/tests/mock/level_zero
[ -x "$mock/ze_app" ] || { echo "1..0 # SKIP the tests were built without Level Zero's headers (libze-dev)"; exit 0; }
agent=$build/src/agent/libaiflame-agent.so
mini=$build/tests/mock/mini_recorder
AIFLAME_STANDBY=$work/standby
export AIFLAME_STANDBY
unset ZE_ENABLE_ALT_DRIVERS ZE_ENABLE_TRACING_LAYER ZE_ENABLE_LOADER_INTERCEPT ZET_ENABLE_METRICS ZE_MOCK
by='timeout -k 5 60'
# With metrics, which nobody has to be told to be off; Intel's crashes with them.
simulated="env ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so ZET_ENABLE_METRICS=1"
aub="env NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=pvc HardwareInfoOverride=1x8x8
	AUBDumpCaptureFileName=/dev/null IGC_EnableZEBinary=1"
both="env NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=pvc HardwareInfoOverride=1x8x8
	AUBDumpCaptureFileName=/dev/null IGC_EnableZEBinary=1 ZE_ENABLE_ALT_DRIVERS=libze_intel_gpu.so.1,$mock/libze_mock.so"
# Without a compiler the simulated driver takes any bytes.
printf 'no code' >mm.bin

# rec NAME WHERE APP WORDS...: as the application would end without us, and it notices nothing
rec() {
	name=$1 where=$2 app=$3
	shift 3
	# shellcheck disable=SC2086 # a list of words
	$by $where "$aiflame" record -q --all-launches -o "$name.data" "$mock/$app" "${module:-mm.bin}" mm,add "$@" >"$name.out" 2>&1 ||
		{ cat "$name.out"; return 1; }
}
ask() { "$aiflame" query --format csv "$1.data" "$2" | tail -n +2; }
is() { got=$(ask "$2" "$3"); [ "$got" = "$1" ] || { echo "got $got instead of $1"; return 1; }; }
reason() { is "$1" "$3" "SELECT coalesce(sum(count), 0) FROM losses WHERE reason = $2"; }
adds_up() {
	"$aiflame" info "$1.data" >info.out && grep -q 'everything adds up' info.out &&
		grep -qE 'started before their launch +0$' info.out || { cat info.out; return 1; }
}
all="a b thrice indirect cooperative copies event timed reload a immediate a b indirect copies event timed reload cooperative"

# ---- on the simulated driver ----
complete() { # 32 launches, of which two are executed three times
	# shellcheck disable=SC2086
	rec "$1" "$simulated" "$2" $all || return 1
	is 33 "$1" 'SELECT count(*) FROM launches' && is 37,33 "$1" 'SELECT count(*), count(DISTINCT launch) FROM
		(SELECT launch FROM executions UNION ALL SELECT launch FROM copies)' &&
		is 'add,0
mm,1' "$1" "SELECT 'add', 0 UNION SELECT 'mm', count(*) > 20 FROM executions WHERE kernel = (SELECT id FROM kernels WHERE name = 'mm')" &&
		is '' "$1" 'SELECT name, count, detail FROM losses WHERE reason NOT IN (1338, 1339)' && adds_up "$1" # which may be over too soon for samples
}
check 'a linked program: every launch has its times' complete linked ze_app
check 'a program that finds the loader by dlopen() and dlsym(): every launch has its times' complete found ze_app_dlopen
# The simulated device's kernels take 0.2 ms, less what its ticks of 52 ns leave out.
durations() { is 0 linked "SELECT count(*) FROM executions e JOIN kernels k ON k.id = e.kernel WHERE k.name = 'mm' AND abs(e.dur_ns - 200000) > 2000"; }
check 'executions last as long as the device says' durations
copies() {
	is 'copy,2,1024
fill,2,2048
read,2,4096
write,2,8192' linked 'SELECT kind, count(*), sum(bytes) FROM copies GROUP BY kind ORDER BY kind'
}
check 'copies have a direction and bytes, fills bytes' copies
barriers() { is "2,1,copies" linked "SELECT count(*), min(o.dur_ns) >= 0, f.function FROM ops o JOIN stacks s ON s.id = o.stack JOIN stacks c ON c.id = s.parent JOIN frames f ON f.id = c.frame
	WHERE o.kind = 'runtime' AND o.name = 'zeCommandListAppendBarrier' GROUP BY 3"; }
check 'barriers are calls, with where they were made, and no work' barriers
several() { is 2 linked "SELECT count(*) FROM executions e JOIN kernels k ON k.id = e.kernel WHERE k.name = 'mm + add'"; }
check 'kernels that one command launches are one' several
paths() {
	rec paths "$simulated" ze_app_dlopen a b b thrice || return 1
	"$aiflame" flame paths.data -o paths.folded || return 1
	grep -q ';path_b;zeCommandListAppendLaunchKernel;mm_\[g\] ' paths.folded || { cat paths.folded; return 1; }
	# a: 1 + 3, b: 2 + 3 executions
	awk '/;path_a;/ { a += $NF } /;path_b;/ { b += $NF } END { exit !(b / a > 1.24 && b / a < 1.26) }' paths.folded || { cat paths.folded; return 1; }
}
check 'two ways to one kernel keep their shares, also of a list that is executed again' paths
# Long enough for somebody to look at the events meanwhile, which still tell of the execution before.
slow() {
	rec slow "$simulated ZE_MOCK=slow" ze_app thrice event && is 1 slow "SELECT count(*) > 0 AND sum(dur_ns) > 400000000 AND count(stack) = count(*) FROM calls WHERE kind = 'synchronise'" &&
		is zeModuleCreate,compile slow "SELECT name, kind FROM calls WHERE name = 'zeModuleCreate'" && is 9,9,1 slow 'SELECT count(*), count(DISTINCT start_ns), min(dur_ns) > 49000000 FROM executions' && adds_up slow
}
check 'times that an event told before are not told again' slow
# Whatever was looked at in time is told once, with its own times: the last two are from after the mark, and of the three
# before it those that are not told are counted.
overlap() {
	rec overlap "$simulated ZE_MOCK=slow" ze_app overlap || return 1
	is 1,1,1 overlap "SELECT count(*) + (SELECT coalesce(sum(count), 0) FROM losses WHERE reason = 1221) = 5, count(*) = count(DISTINCT start_ns), min(dur_ns) > 49000000
		FROM executions WHERE kernel = (SELECT id FROM kernels WHERE name = 'mm')" &&
		is 2 overlap "SELECT count(*) FROM executions e, launches m WHERE e.kernel = (SELECT id FROM kernels WHERE name = 'mm')
			AND m.kernel = (SELECT id FROM kernels WHERE name = 'add') AND e.start_ns > m.time_ns" && adds_up overlap
}
check 'a list that is executed again before it has ended' overlap
quit() {
	rec quit "$simulated" ze_app quit && is 1,1 quit "SELECT count(*) > 0, count(*) + (SELECT coalesce(sum(count), 0) FROM losses WHERE reason = 1221) = 3 FROM executions" && adds_up quit
}
check 'a list that is executed again is whole when the program leaves without a word' quit
race() {
	rec race "$simulated ZE_MOCK=late_return" ze_app immediate race && is 5,5,0 race 'SELECT count(*), count(DISTINCT start_ns), sum(abs(dur_ns - 200000) > 2000) FROM executions' &&
		reason 0 1201 race && adds_up race
}
check 'an event that another thread resets before the launching call returns' race
contexts() { rec contexts "$simulated" ze_app contexts && is 100 contexts 'SELECT count(*) FROM executions' && reason 0 1201 contexts && adds_up contexts; }
check 'a hundred contexts, one after the other' contexts
crowd() { rec crowd "$simulated" ze_app crowd && is 65 crowd 'SELECT count(*) FROM executions' && reason 6 1201 crowd && adds_up crowd; }
check 'seventy contexts at once: the last one has times when others are gone' crowd
parts() {
	rec parts "$simulated" ze_app a tile immediate a a && is 'Simulated GPU,1
"Simulated GPU, tile 0",2' parts 'SELECT d.name, count(*) FROM executions e JOIN devices d ON d.id = e.device GROUP BY 1 ORDER BY 2' && adds_up parts
}
check 'a part of a device is a device' parts
threads() { rec threads "$simulated" ze_app threads && is 8000 threads 'SELECT count(*) FROM executions' && adds_up threads; }
check 'four threads that launch at once have all of their launches' threads
# As SYCL's adapters are: the loader is in no scope but the plug-in's.
plug_in() {
	cat >plugin.c <<-END
		unsigned zeInit(unsigned);
		unsigned plug(void) { return zeInit(0); }
	END
	cat >host.c <<-END
		#include <dlfcn.h>
		#include <stdio.h>
		int main(void)
		{
			void *h = dlopen("./plugin.so", RTLD_LAZY | RTLD_LOCAL);
			unsigned (*plug)(void) = h ? (unsigned (*)(void))dlsym(h, "plug") : 0;
			int has = dlsym(RTLD_DEFAULT, "zeInitDrivers") != 0;

			printf("%#x %d\n", plug ? plug() : 1, has);
			return 0;
		}
	END
	cc -shared -fPIC -o plugin.so plugin.c -lze_loader && cc -o host host.c -ldl && alone=$($simulated ./host) &&
		[ "$($simulated env LD_PRELOAD="$agent" ./host)" = "$alone" ] && [ "$($simulated "$aiflame" record -q -o host.data ./host)" = "$alone" ] &&
		echo "$alone" | grep -q '^0 '
}
check 'a plug-in that is linked to the loader sees its devices, and no function that is not there' plug_in
# The child uses what its parent made.
inherited() {
	rec inherited "$simulated" ze_app_dlopen thrice inherit a && is 8 inherited 'SELECT count(*) FROM executions' && adds_up inherited
}
check 'a child that goes on with what its parent made' inherited
child() { rec child "$simulated" ze_app_dlopen a fork a && is 2 child 'SELECT count(*) FROM executions'; }
check "a child without a runtime leaves its parent's recording alone" child
processes() {
	# shellcheck disable=SC2016
	$by $simulated "$aiflame" record -q --all-launches -o processes.data sh -c '"$0" mm.bin mm a a & "$1" mm.bin mm a & wait' "$mock/ze_app" "$mock/ze_app_dlopen" &&
		is '1
2' processes 'SELECT count(*) FROM executions GROUP BY process ORDER BY 1' && adds_up processes
}
check 'two processes that launch at once have their executions' processes
python() {
	$by $simulated "$aiflame" record -q --all-launches -o python.data python3 "$root/tests/e2e/level_zero.py" mm.bin mm && "$aiflame" flame python.data -o python.folded &&
		grep -q '<module> (level_zero.py)_\[p\];outer (level_zero.py)_\[p\];inner (level_zero.py)_\[p\];.*zeCommandListAppendLaunchKernel;mm_\[g\]' python.folded ||
		{ cat python.folded; return 1; }
}
if command -v python3 >/dev/null; then
	check 'a Python program that launches through ctypes is recorded' python
fi
# Another library that stands between the program and the loader, and asks dlsym() for who is next.
between() {
	cat >between.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int puts(const char *s) { int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts"); return next == puts ? -1 : next(s); }
unsigned zeInit(unsigned flags) { unsigned (*next)(unsigned) = (unsigned (*)(unsigned))dlsym(RTLD_NEXT, "zeInit"); puts("between"); return next(flags); }
EOF
	cc -D_GNU_SOURCE -fno-builtin -shared -fPIC -o between.so between.c -ldl || return 1
	LD_PRELOAD=$work/between.so rec between "$simulated" ze_app a && [ "$(grep -c between between.out)" = 1 ] && is 1 between 'SELECT count(*) FROM executions'
}
check 'another tool between program and loader keeps working' between
# dlsym() is ours in every program: also where a sanitizer asks for it before all else, and in musl's.
cat >asks.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *all = dlopen(NULL, RTLD_NOW);
	return !dlsym(all, "printf") || dlsym(all, "zeNothing") || dlsym(all, "nothing") || !dlsym(RTLD_DEFAULT, "puts");
}
EOF
asks() {
	"$@" -o asks asks.c || return 1
	ASAN_OPTIONS=verify_asan_link_order=0 ./asks && LD_PRELOAD=$agent ASAN_OPTIONS=verify_asan_link_order=0 ./asks
}
check 'dlsym() finds what it finds unrecorded' asks cc -rdynamic -ldl
check "a program with a sanitizer finds Level Zero's loader" asks cc -rdynamic -fsanitize=address -ldl
if command -v musl-gcc >/dev/null; then
	check "a program with musl's C library runs undisturbed" asks musl-gcc -rdynamic
else
	skip "a program with musl's C library runs undisturbed" 'musl-gcc is not installed'
fi
budget() {
	$by $simulated "$aiflame" record -q --overhead 1 -o budget.data "$mock/ze_app" mm.bin mm threads && is 1 budget 'SELECT count(*) BETWEEN 1 AND 8000 FROM executions' && adds_up budget
}
check "--overhead leaves launches out of Level Zero's programs" budget

# ---- what lies where ----
records() { # NAME WHERE WORDS...: what crosses, as text
	name=$1 where=$2
	shift 2
	# shellcheck disable=SC2086
	$by $where ZE_ENABLE_TRACING_LAYER=1 "$mini" -a "$agent" -o "$name.log" "$mock/ze_app_dlopen" "${module:-mm.bin}" mm "$@" >"$name.out" || { cat "$name.out"; return 1; }
	sed 's|^[^ ]* ||' "$name.log" | grep -E '^(code|place) ' >"$name.places"
}
places() {
	records places "$simulated" a reload a || return 1
	sed 's/hash=0x[0-9a-f]*/hash=H/' places.places >got
	printf '%s\n' 'code 0 hash=H symbol=4294967295 name=mm' 'place code=0 device=0 address=0x800000000000 size=7' 'place code=0 device=0 address=0x800000000000 size=0' \
		'code 0 hash=H symbol=4294967295 name=mm' 'place code=0 device=0 address=0x800000000000 size=7' 'place code=0 device=0 address=0x800000000000 size=0' | diff - got
}
check 'the recorder is told where code lies, that it is gone, and what lies there next' places

# ---- faults ----
# as_alone WORD NAME WORDS...: the program ends, and says, what it does without us
as_alone() {
	fault=$1 name=$2
	shift 2
	ZE_MOCK=$fault $simulated "$mock/ze_app" mm.bin mm,add "$@" >alone.out 2>&1
	alone=$?
	ZE_MOCK=$fault $by $simulated "$aiflame" record -q --all-launches -o "$name.data" "$mock/ze_app" mm.bin mm,add "$@" >"$name.out" 2>&1
	got=$?
	[ $got -eq $alone ] && diff alone.out "$name.out" && adds_up "$name"
}
check 'a program whose zeInit() fails ends as it does unrecorded' as_alone init_fails init a
check 'a program that can make no module ends as it does unrecorded' as_alone module_fails module a
launch_fails() { as_alone launch_fails launch a immediate a && is 0 launch 'SELECT count(*) FROM executions' && reason 2 1202 launch; }
check 'a program whose launches are refused ends as it does unrecorded' launch_fails
execute_fails() { as_alone execute_fails execute a && is 0 execute 'SELECT count(*) FROM executions'; }
check 'a program whose lists cannot be executed ends as it does unrecorded' execute_fails
no_address() { as_alone no_address address a && is 1 address 'SELECT count(*) FROM executions'; }
check 'the driver tells no addresses' no_address
no_binary() { as_alone no_binary binary a reload b && is 2 binary 'SELECT count(*) FROM executions'; }
check 'the driver shows no native code' no_binary
no_pools() { as_alone no_pools pools a immediate b && is 0 pools 'SELECT count(*) FROM executions' && reason 2 1201 pools; }
check 'a driver without events with times: launches without times are counted' no_pools
no_times() { as_alone no_times times a thrice immediate a && is 0 times 'SELECT count(*) FROM executions' && reason 4 1201 times && reason 7 1221 times; }
check 'events are never signalled: nobody waits for them, launches and executions are counted' no_times
no_clock() { as_alone no_clock clock a && is 1,0 clock 'SELECT count(*), (SELECT count(*) FROM executions) FROM launches' && reason 1 1407 clock && reason 1 1201 clock; }
check 'a driver whose clock cannot be read: launches without times are counted' no_clock
untraced() { # the variable is taken away again
	$by $simulated "$aiflame" record -q -o untraced.data env -u ZE_ENABLE_TRACING_LAYER "$mock/ze_app" mm.bin mm a >untraced.out &&
		{ is 1 untraced 'SELECT count(*) FROM executions' || is 1 untraced 'SELECT count(*) > 0 FROM losses WHERE reason = 1220'; }
}
check 'a loader without the tracing layer: launches are recorded, or it is said' untraced

# ---- attached later ----
has_runtime() { "$aiflame" ctl status | awk -v pid="$pid" '$1 == pid && $2 != "none" { ok = 1 } END { exit !ok }'; }
# attach LEVEL NAME: to a program that executes a list again and again
attach() {
	# shellcheck disable=SC2046
	eval "$("$aiflame" env --level "$1")"
	rm -f until
	ZE_APP_UNTIL=$work/until $simulated "$mock/ze_app_dlopen" mm.bin mm loop >loop.out &
	pid=$!
	# While it calls exec it does not carry the agent.
	wait_until has_runtime
	$by "$aiflame" record -q --all-launches -p $pid --duration 0.5 -o "$2.data" >"$2.out" 2>&1
	met=$?
	touch until
	[ $met = 0 ] || { cat "$2.out"; return 1; }
	wait $pid || { cat loop.out; return 1; }
	adds_up "$2"
}
later() {
	attach graphs later || return 1
	"$aiflame" flame later.data -o later.folded && grep -qE 'loop(_.i.)?;zeCommandQueueExecuteCommandLists;mm_\[g\] ' later.folded || { cat later.out later.folded; return 1; }
}
unwatched() {
	attach off unwatched && is 1 unwatched 'SELECT sum(count) > 5 FROM losses WHERE reason = 1222'
}
check 'a list that was made before anybody recorded, where it is executed' later
check 'a list that was made before, with --level off: it is counted' unwatched
# Kernels of 50 ms: the helper looks at their events while these show the execution before.
before() { (simulated="$simulated ZE_MOCK=slow" && attach graphs before) && is 1 before 'SELECT count(*) > 3 FROM executions'; }
check 'executions from before the recording are not taken for those in it' before
unset LD_PRELOAD OPENCL_LAYERS CUDA_INJECTION64_PATH ZE_ENABLE_TRACING_LAYER AIFLAME_LEVEL

# ---- Intel's driver ----
if ! command -v ocloc >/dev/null || ! ocloc compile -file "$root/tests/e2e/level_zero.cl" -device pvc -spv_only -out_dir spv >ocloc.out 2>&1; then
	skip "Intel's driver: launches have stacks" 'intel-opencl-icd, libigc1 and libigdfcl1 are not installed'
	done_testing
	exit
fi
module=$(ls "$work"/spv/*.spv)
$aub "$mock/ze_app" "$module" mm >aub.out 2>&1 || { skip "Intel's driver: launches have stacks" 'its AUB mode does not work here'; done_testing; exit; }
real() {
	rec "$1" "$2" "$3" a b thrice indirect cooperative copies event reload a || return 1
	is "$4,0" "$1" 'SELECT count(*), (SELECT count(*) FROM executions) FROM launches' && adds_up "$1" && is 'mm' "$1" "SELECT name FROM kernels WHERE name = 'mm'"
}
check "Intel's driver, a linked program: launches have stacks" real real "$aub" ze_app 15
check "Intel's driver, a program that finds the loader: launches have stacks" real real_found "$aub" ze_app_dlopen 15
check "Intel's driver with ZE_ENABLE_LOADER_INTERCEPT=1, where handles are wrapped: launches have stacks" real intercept "$aub ZE_ENABLE_LOADER_INTERCEPT=1" ze_app_dlopen 15
two() { rec two "$both" ze_app_dlopen a second a && is '2' two 'SELECT count(*) FROM devices' && is 1 two 'SELECT count(*) FROM executions'; }
check 'two drivers at once: launches have stacks' two
real_places() { # an address of the device's, and the size that is in the module
	records "$1" "$2" a reload a && grep -c '^place code=0 device=0 address=0x[0-9a-f]*0000 size=[1-9][0-9]*$' "$1.places" | grep -qx 2 &&
		[ "$(grep -c 'size=0$' "$1.places")" = 2 ] || { cat "$1.places"; return 1; }
}
check "Intel's driver tells addresses and sizes of its kernels" real_places real_places "$aub"
check "Intel's driver tells addresses and sizes where handles are wrapped" real_places wrapped_places "$both"
done_testing
