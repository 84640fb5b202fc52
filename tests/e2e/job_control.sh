#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Commands that stop themselves under the recorder: a shell that runs it as a job learns of that.
. "$(dirname "$0")/tap.sh"
job() { python3 "$root/tests/e2e/job_control.py" "$@"; }
# stops HOW COMMAND...: the job stops, and ends with 7
stops() {
	status_is 7 job "$@" >job.out || { cat job.out; return 1; }
	grep -q stopped job.out
}
# runs COMMAND...: the job never stops, and ends with 7
runs() {
	status_is 7 job none "$@" >job.out || { cat job.out; return 1; }
	! grep stopped job.out
}
# A command that stops itself until its child, a moment after it sees that, lets it go on.
cat >helped <<'END'
parent=$$
{ until grep -q '^State:.T' /proc/$parent/status; do sleep 0.05; done
  sleep 0.5
  kill -CONT $parent; } &
kill -STOP $parent
wait
exit 7
END
check "a shell's job stops where it stops itself without a recorder" stops job /bin/sh -c 'kill -STOP $$; exit 7'
check "record: a command that stops itself stops the shell's job, and goes on with it" stops job "$aiflame" record -q -o job.data sh -c 'kill -STOP $$; exit 7'
check "record: a command that stopped itself goes on with the recorder alone" stops leader "$aiflame" record -q -o leader.data sh -c 'kill -STOP $$; exit 7'
check "record: a command that stopped itself has a whole profile" "$aiflame" info job.data
check "record: a command that stops itself in a shell's script, and goes on by itself, leaves the recorder running" \
	runs /bin/sh -c "'$aiflame' record -q -o script.data sh ./helped; exit \$?"
check "record: a command that stops itself where there is no terminal leaves the recorder running" \
	status_is 7 setsid --wait "$aiflame" record -q -o none.data sh ./helped
done_testing
