#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 1,000 random stacks of a large profile, found by search in its page, each with its exact value and share.
#   bench/page_stacks.sh
# The profile: STACKS (200000) unique stacks, 74 deep (bench/gen_folded.py). The chosen lines alone are imported, too, so
# that their frames have the names that the page has. A stack has the value that `aiflame flame` gives it in the large
# profile, to the nanosecond, and that of the text as near as times that are divided by samples are. WANTED (1000), SEED,
# BUILD_DIR, WORK_DIR (for the texts, 1.1 GB; else a temporary folder), CHROMIUM. Ends with 1 where a stack differs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
aiflame=${BUILD_DIR:-$root/build}/src/aiflame
work=${WORK_DIR:-$(mktemp -d)}
[ -n "${WORK_DIR:-}" ] || trap 'rm -rf "$work"' EXIT
stacks=${STACKS:-200000}
. "$root/tests/e2e/npm.sh"
npm_dir=$root/tests/e2e
npm_packages
text=$work/r$stacks.folded
[ -e "$text" ] || python3 "$root/bench/gen_folded.py" "$stacks" "$text"
all=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$text")
awk -v wanted="${WANTED:-1000}" -v lines="$stacks" -v seed="${SEED:-21}" 'BEGIN {
		srand(seed)
		while (n < wanted && n < lines) {
			k = int(rand() * lines) + 1
			if (!(k in chosen)) {
				chosen[k] = 1
				n++
			}
		}
	}
	NR in chosen' "$text" >"$work/wanted.folded"
[ -e "$work/r.data" ] || "$aiflame" import -q --as device --count 300us -o "$work/r.data" "$text"
"$aiflame" view "$work/r.data" -o "$work/r.html"
"$aiflame" import -q --as device --count 300us -o "$work/wanted.data" "$work/wanted.folded"
"$aiflame" flame --format folded -o "$work/named.folded" "$work/wanted.data"
"$aiflame" flame --format folded -o "$work/all.folded" "$work/r.data"
node "$root/bench/page_stacks.mjs" "$work/r.html" "$work/wanted.folded" "$work/named.folded" "$work/all.folded" "$all"
