#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The SVG flame graph in a browser: svg_browser.mjs drives Debian's Chromium.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ -d "$here/node_modules/playwright-core" ] ||
	(cd "$here" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --silent --no-audit --no-fund) || exit 1
AIFLAME=${BUILD_DIR:-$root/build}/src/aiflame exec node "$here/svg_browser.mjs"
