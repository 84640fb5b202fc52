#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The SVG flame graph in a browser: svg_browser.mjs drives Debian's Chromium through playwright-core, which
# npm's registry gives once. Every step has a time limit, together less than run-tests' own.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/npm.sh"
chromium=${CHROMIUM:-/usr/bin/chromium}
# failed WHAT OUTPUT: nothing else can be tested
failed() {
	printf 'not ok 1 - %s\n1..1\n' "$1"
	printf '%s\n' "$2" | tail -n 25 | sed 's/^/#   /'
	exit 1
}
npm_or_skip playwright-core
said=$(timeout -k 5 30 node --version 2>&1) || failed "node runs" "$said"
echo "# node $said"
said=$(timeout -k 5 60 "$chromium" --version --no-sandbox 2>&1) || failed "$chromium runs" "$said"
printf '%s\n' "$said" | sed 's/^/# /'
AIFLAME=${BUILD_DIR:-$root/build}/src/aiflame CHROMIUM=$chromium exec node "$here/svg_browser.mjs"
