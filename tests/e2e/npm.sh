# SPDX-License-Identifier: Apache-2.0
# Sourced: npm_packages brings what tests/e2e/package.json names from npm's registry, once for all tests. It prints why
# where it cannot: status 77 where there is no npm or its registry does not answer, another where npm fails.
npm_dir=$(cd "$(dirname "$0")" && pwd)
# Each with its version: npm writes this file last, so a folder that was not finished does not count.
npm_is_there() {
	sed -n '/dependencies/,/}/s/.*"\([^"]*\)": "\([0-9][^"]*\)".*/\1 \2/p' "$npm_dir/package.json" | while read -r name version; do
		sed -n "/\"node_modules\/$(printf %s "$name" | sed 's/\//\\\//g')\": {/,/}/p" "$npm_dir/node_modules/.package-lock.json" 2>/dev/null |
			grep -qF "\"version\": \"$version\"" || { echo no; break; }
	done | grep -q no && return 1
	return 0
}
# A registry that does not answer is asked once for all tests of a suite: its silence counts for ten minutes.
npm_silence=${BUILD_DIR:-$npm_dir/../../build}/npm-registry-is-silent
npm_is_silent() {
	npm_registry=$(npm config get registry)
	[ -z "$(find "$npm_silence" -mmin -10 2>/dev/null)" ] || ! grep -qxF "$npm_registry" "$npm_silence" || return 0
	timeout -k 1 10 npm view playwright-core version --fetch-retries=0 --fetch-timeout=5000 >/dev/null 2>&1 && return 1
	{ echo "$npm_registry" >"$npm_silence"; } 2>/dev/null
	return 0
}
npm_packages() {
	npm_is_there && return 0
	command -v npm >/dev/null || { echo "npm is not installed"; return 77; }
	# Two tests may want this at once.
	(
		flock -w 150 9 || { echo "npm ci of another test has not ended in 150 s"; exit 1; }
		npm_is_there && exit 0
		cd "$npm_dir" || exit 1
		! npm_is_silent || { echo "npm's registry does not answer"; exit 77; }
		# Its own patience with a registry that cannot be reached is minutes.
		PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 timeout -k 5 100 npm ci --no-audit --no-fund --no-update-notifier \
			--fetch-retries=1 --fetch-retry-mintimeout=2000 --fetch-timeout=30000 2>&1
	) 9<"$npm_dir/package.json"
}
# npm_or_skip WHAT: for a test that is nothing without the packages; ends it where they are not to be had
npm_or_skip() {
	said=$(npm_packages) && return
	case $? in
	77) printf '1..0 # SKIP %s\n' "$said" && exit 0 ;;
	*) failed "npm ci in tests/e2e brings $1" "$said" ;;
	esac
}
