# SPDX-License-Identifier: Apache-2.0
# For end-to-end tests behind tap.sh: sourced. Level Zero's real loader, below it the SIMULATED driver with metrics
# (tests/mock/level_zero). No hardware is in it.
mock=$build/tests/mock/level_zero
[ -x "$mock/ze_app" ] || { echo "1..0 # SKIP the tests were built without Level Zero's headers (libze-dev)"; exit 0; }
AIFLAME_STANDBY=$work/standby
ZE_ENABLE_ALT_DRIVERS=$mock/libze_mock.so
export AIFLAME_STANDBY ZE_ENABLE_ALT_DRIVERS
unset ZE_ENABLE_TRACING_LAYER ZE_ENABLE_LOADER_INTERCEPT ZET_ENABLE_METRICS ZE_MOCK ZE_MOCK_STALLS
printf 'no code at all, but two kernels of it' >mm.bin
# What record looks for before it asks a driver for metrics.
mkdir lib && echo 'int nothing;' | cc -shared -x c -o lib/libigdmd.so.1 - || exit 1
with_library="env LD_LIBRARY_PATH=$work/lib"
by='timeout -k 5 120'
options=

ask() { "$aiflame" query --format csv "$1.data" "$2" | tail -n +2; }
# are NAME SQL ROW...: exactly these rows
are() {
	name=$1 sql=$2
	shift 2
	ask "$name" "$sql" >rows.txt
	printf '%s\n' "$@" | diff - rows.txt
}
reason() { are "$1" "SELECT coalesce(sum(count), 0) FROM losses WHERE reason = $2" "$3"; }
