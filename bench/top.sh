#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `aiflame top` takes of a core: CPU time, from /proc, of top's process and of the recorder below it, over a while.
#   bench/top.sh
# The program: tests/e2e/idle_app on PoCL under `aiflame record`, watched for as long again by `aiflame top`, a drawing a second in
# a terminal of 100 by 30: what the recorder takes more meanwhile is top's, too. SECONDS_EACH (60), BUILD_DIR.
# Bar: 1 % of a core at 1 Hz. Ends with 1 above it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${BUILD_DIR:-$root/build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
unset AIFLAME_STANDBY AIFLAME_LEVEL LD_PRELOAD OPENCL_LAYERS
exec python3 "$root/bench/top_cpu.py" "$root/tests/e2e" "$build/src/aiflame" "$build/tests/e2e/idle_app" "${SECONDS_EACH:-60}"
