#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# why of recordings by the wall clock (record --wall): what main threads compute and wait for, beside what programs say themselves.
. "$(dirname "$0")/tap.sh"
app=$build/tests/e2e/wall_app
py=/usr/bin/python3

check "a program that waits, sleeps and computes is recorded by the wall clock" sh -c "'$aiflame' record -q --cpu --wall -F 199 -o w.data '$app' 3 >said"
"$aiflame" why w.data >w.txt
"$aiflame" why --format json w.data >w.json
check "why says of a wall-clock recording that the main thread waits" grep -qE '^bound by waiting: the main thread, [0-9]+ \(wall_app\), computes for ' w.txt
check "why names the call in which the main thread waits for another" grep -qE '^waits .* pthread_cond_wait in ask \(wall_app.c:[0-9]+\)' w.txt
check "why names the call in which the main thread sleeps" grep -qE ' nanosleep in rest \(wall_app.c:[0-9]+\)' w.txt
# says_of WORD: compute() is in the lines under it. Where others have the CPUs, a thread waits for one mostly where it asks for the time.
says_of() {
	awk -v word="$1" '/^[a-z]/ { at = $1 } at == word' w.txt | grep -E ' compute \(wall_app.c:[0-9]+\)' || { cat w.txt; return 1; }
}
check "why names what the main thread computes" says_of computes
check "why has the other threads' computing apart" says_of others
check "shares of waits and of computing are those that the program measures" python3 -c "
import json
said = {w: float(s) for w, s in (l.split() for l in open('said'))}
a = json.load(open('w.json'))
assert a['of'] == 'wall' and a['bound_by'] == ['waiting'] and a['command'] == 'why' and a['verdict'], a
of = lambda call: sum(w['ns'] for w in a['waits'] if w['call'] == call) / a['main_ns']
have = {'waited': of('pthread_cond_wait'), 'slept': of('nanosleep'), 'computed': 1 - a['main_waits_ns'] / a['main_ns']}
print(said, have)
assert all(abs(said[k] - have[k]) < 0.1 for k in said)"
check "a program is recorded by the wall clock beside one that sleeps" sh -c "'$aiflame' record -q --cpu --wall -F 199 -o b.data sh -c 'sleep 1000 & \"\$0\" 3 >/dev/null; kill \$!' '$app'"
"$aiflame" why b.data >b.txt
check "shares of a program are not those of one that sleeps beside it" grep -qE '^bound by waiting: the main thread, [0-9]+ \(wall_app\), computes for ' b.txt
check "why says which main thread it leaves out" grep -qE '^threads .*, without 1 main thread that only waits: [0-9]+ \(sleep\)' b.txt
check "why names no wait of a program that sleeps beside the one that computes" sh -c "! grep -q clock_nanosleep.c b.txt"

check "a program that joins a thread is recorded by the wall clock" "$aiflame" record -q --cpu --wall -F 199 -o j.data "$app" 2 joins
"$aiflame" why j.data >j.txt
check "a thread that waits for another's end, or for a file's lock, does not compute" grep -qE '^bound by waiting: the main thread, [0-9]+ \(wall_app\), computes for [0-9.]+ % and waits for (9[0-9]|100)' j.txt
check "why names the call that waits for the lock of a file" grep -qE ' flock in lock_file \(wall_app.c:[0-9]+\)' j.txt
check "why names the call that waits for another thread's end" grep -qE 'join[a-z_]* in (join|main) \(wall_app.c:[0-9]+\)' j.txt

cat >lines.py <<'EOF'
import queue, threading, time
asked = queue.Queue()
def consume():
    while asked.get() is not None:
        pass
def main():
    t = threading.Thread(target=consume)
    t.start()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        time.sleep(0.05)
    asked.put(None)
    t.join()
main()
EOF
if [ -x "$py" ]; then
	check "a Python program is recorded by the wall clock" "$aiflame" record -q --cpu --wall -o p.data "$py" lines.py
	"$aiflame" why p.data >p.txt
	check "why names the line of Python at which the main thread sleeps" grep -qE '^waits .*nanosleep in main \(lines.py:11\)' p.txt
	check "a thread of Python that waits for a queue does not compute" sh -c "! grep -q consume p.txt"
fi
done_testing
