# SPDX-License-Identifier: Apache-2.0
# Sourced: npm_packages brings what tests/e2e/package.json names from npm's registry, once for all tests, and prints what
# npm says where that fails.
npm_dir=$(cd "$(dirname "$0")" && pwd)
# Each with its version: npm writes this file last, so a folder that was not finished does not count.
npm_is_there() {
	sed -n '/dependencies/,/}/s/.*"\([^"]*\)": "\([0-9][^"]*\)".*/\1 \2/p' "$npm_dir/package.json" | while read -r name version; do
		sed -n "/\"node_modules\/$(printf %s "$name" | sed 's/\//\\\//g')\": {/,/}/p" "$npm_dir/node_modules/.package-lock.json" 2>/dev/null |
			grep -qF "\"version\": \"$version\"" || { echo no; break; }
	done | grep -q no && return 1
	return 0
}
npm_packages() {
	npm_is_there && return 0
	# Its own patience with a registry that cannot be reached is minutes. Two tests may want this at once.
	(
		flock -w 150 9 || exit 1
		npm_is_there || { cd "$npm_dir" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 timeout -k 5 100 npm ci --no-audit --no-fund \
			--no-update-notifier --fetch-retries=1 --fetch-retry-mintimeout=2000 --fetch-timeout=30000 2>&1; }
	) 9<"$npm_dir/package.json"
}
