#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `aiflame import` of a trace of 2 million events (about 600 MB): CPU time and memory, beside what yajl takes only to read the same
# text, in turns; bars: 500 MB/s of one core, 48 bytes an event and 100 MB.
#   [BUILD_DIR=build] bench/import.sh [EVENTS [TIMES]]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD_DIR:-$here/../build} events=${1:-1930000} times=${2:-5}
ninja --quiet -C "$build" src/aiflame
ninja --quiet -C "$build" bench/read_by_yajl >/dev/null 2>&1 || echo "without yajl: it is not installed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/import_trace.py" "$events" >"$work/trace.json"
python3 - "$build/src/aiflame" "$build/bench/read_by_yajl" "$work" "$events" "$times" <<'END'
import os, resource, statistics, sys
aiflame, yajl, work, events, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
trace, size = work + "/trace.json", os.path.getsize(work + "/trace.json")


def run(*argv):
    """CPU seconds and peak memory (bytes) of a child of its own."""
    pid = os.fork()
    if not pid:
        os.execv(argv[0], argv)
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"{argv[0]} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


mine, theirs = [], []
for _ in range(times):
    mine.append(run(aiflame, "import", "-q", "-o", work + "/t.data", trace))
    if os.path.exists(yajl):
        theirs.append(run(yajl, trace))
cpu = statistics.median(x[0] for x in mine)
rss = max(x[1] for x in mine)
print(f"import: {size / 1e6:.0f} MB, {events} events: {size / 1e6 / cpu:.0f} MB/s of CPU time (median of {times}), "
      f"{rss / 1e6:.0f} MB, {rss / events:.0f} bytes an event; bar {(48 * events + 100e6) / 1e6:.0f} MB")
if theirs:
    other = statistics.median(x[0] for x in theirs)
    print(f"yajl, reading only: {size / 1e6 / other:.0f} MB/s; import takes {cpu / other:.2f} of its time")
END
