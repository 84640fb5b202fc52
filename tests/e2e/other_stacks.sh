#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches from fibers and from handlers of signals, whose stacks are not the thread's own.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/other_stacks_app
[ -x "$app" ] || { echo "1..0 # SKIP OpenCL was not there at build time"; exit 0; }

# stack LAUNCHES PATTERN: so many launches have such a stack.
stack() { awk -v n="$1" -v want="$2" '$0 ~ want { sum += $NF } END { print sum + 0; exit sum != n }' f.folded; }
no_stack() { ! grep -E "$1" f.folded; }

check "a program with fibers and handlers of signals is recorded" "$aiflame" record -q --all-launches -o f.data "$app"
"$aiflame" flame --leaf kernel --by launches -o f.folded f.data
cat f.folded
check "launches from main have their stack" stack 10 '^main;launches;'
check "launches from a fiber have its stack" stack 20 '^fiber_launches;fiber_step;launches;'
check "launches from a handler on its own stack are joined to what was interrupted" stack 30 '^main;raises;.*raise.*;from_handler;launches;'
check "launches from a handler that has interrupted a fiber have both stacks" stack 40 '^fiber_raises;.*raise.*;from_handler;launches;'
if [ "$(uname -m)" = x86_64 ]; then
	check "launches from a stack that nobody describes have it as far as it is known" stack 50 '^[[]truncated[]];(on_stack;)?task;launches;'
	# A tail call is a jump: the machine has no frame of tails and of handler_tails (gdb finds the former in debug information).
	check "a tail call in a fiber has no frame of its own, and its callers are there" stack 60 '^fiber_tails;launches;'
	check "a handler that ends in a tail call has no frame, and what it interrupted is there" \
		stack 70 '^main;raises;.*raise.*;__restore_rt;launches;'
	check "a stack that nobody describes is counted" says "1100 STACK_TRUNCATED" "$aiflame" info f.data
else
	check "no stack of fibers and handlers is cut" no_stack truncated
fi
done_testing
