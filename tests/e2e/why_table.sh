#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of all programs that know why their device is idle, by default options: their loop, its steps, the first owner of idle time,
# its share, and the most that repairing it brings, each beside the truth (why_table.py). Asks more than why_programs.sh and shapes.sh.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/shapes_app
[ -x "$app" ] || { echo "1..0 # SKIP no OpenCL"; exit 0; }
for shape in checkpoint both accumulate pingpong products epochs last sparse_log tokens one_line do_while layers; do
	set -- "$@" "$app $shape"
done
for p in python3 /usr/bin/python3; do
	"$p" -c 'import pyopencl; pyopencl.create_some_context(interactive=False)' >/dev/null 2>&1 || continue
	for program in feeder gil loader trainer epochs sleeps logged rounds download pool save files; do
		set -- "$@" "$p $root/tests/e2e/why_programs.py $program"
	done
	break
done
LONGER=4 # samples of 0.3 s are too few for shares
export LONGER
metered python3 "$root/tests/e2e/why_table.py" "$aiflame" -- "$@" >table
sed 's/^/# /' table
check "every program was judged" test "$(wc -l <table)" -eq $(($# + 1))
check "why finds every loop, by its line, and its steps" sh -c "! grep -qE '^[^ ]+ [a-z_]+ +(!|[^ ]+ \([0-9]+\)  !)' table"
# A busy machine is what keeps a device made of its CPUs waiting.
most() { [ "$(sed -n 's/^\([0-9]*\) of [0-9]* right .*/\1/p' table)" -ge "$1" ]; }
on_calm "owners and their shares are right, but for three" most $(($# - 3))
done_testing
