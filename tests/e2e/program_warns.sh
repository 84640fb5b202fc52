#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame.py never ends the program that it profiles: what does not work is a warning, once.
. "$(dirname "$0")/tap.sh"
export PYTHONPATH="$root/python" AIFLAME="$aiflame"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
app=$root/tests/e2e/program_warns.py
agent=$build/src/agent/libaiflame-agent.so
[ -e "$agent" ] || { echo "1..0 # SKIP no agent is built"; exit 0; }
# once OUTPUT...: the program ended as it would, and said each thing once
once() { "$@" >said.out 2>&1 && grep -q ^trained said.out && ! grep -qE '^warned ([2-9]|1[0-9])' said.out || { cat said.out; return 1; }; }
check "aiflame.profile() without an agent to load lets the program run" once env AIFLAME=/nonexistent python3 "$app" no-agent n.data
check "aiflame.profile() without an agent to load warns of it" says "warned 1 aiflame: this process does not carry the agent" cat said.out
check "reports while record runs let the program run" once "$aiflame" record -q --cpu -o e.data python3 "$app" early x.data
check "reports while record runs warn that there is nothing yet" says "warned 1 aiflame: the profile is written when the recording ends" cat said.out
check "cycles without work of a device let the program run" once sh -c "eval \"\$('$aiflame' env)\"; exec python3 '$app' idle i.data"
check "cycles without a command to record with let the program run" once sh -c "eval \"\$('$aiflame' env)\"; exec python3 '$app' missing m.data"
check "cycles without a command to record with warn of it" says "warned 1 aiflame: a cycle is not recorded: " cat said.out
check "cycles in a program that nobody prepared let it run" once python3 "$app" idle u.data
check "cycles in a program that nobody prepared are recorded" test -e u.1.data
done_testing
