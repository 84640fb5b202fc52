#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of `aiflame view` of a large profile in headless Chromium: size, first picture, redraw, search, memory.
#   bench/page.sh
# The profile: 200,000 unique stacks, 74 deep, laid behind one another (bench/gen_folded.py, imported).
# ROUNDS (5) browsers, STACKS (200000), BUILD_DIR, WORK_DIR (for the text of 586 MB; else a temporary folder), CHROMIUM.
# Bars: page <= 5 MB, first picture <= 1 s, redraw <= 16 ms (median), search <= 100 ms, memory <= 300 MB.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
aiflame=${BUILD_DIR:-$root/build}/src/aiflame
work=${WORK_DIR:-$(mktemp -d)}
[ -n "${WORK_DIR:-}" ] || trap 'rm -rf "$work"' EXIT
stacks=${STACKS:-200000}
. "$root/tests/e2e/npm.sh"
npm_dir=$root/tests/e2e
npm_packages
[ -e "$work/r$stacks.folded" ] || python3 "$root/bench/gen_folded.py" "$stacks" "$work/r$stacks.folded"
"$aiflame" import -q --as device --count 300us -o "$work/r.data" "$work/r$stacks.folded"
echo "| aiflame view | $(/usr/bin/time -f '%e s, %M kB' "$aiflame" view "$work/r.data" -o "$work/r.html" 2>&1) |"
node "$root/bench/page.mjs" "$work/r.html" "${ROUNDS:-5}"
