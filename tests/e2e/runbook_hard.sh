#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame runbook where something is in its way: signals, a full disk, a directory that cannot be written, two at once, and names
# with blanks and newlines.
. "$(dirname "$0")/tap.sh"
program=$build/tests/e2e/cpu_program
nl='
'
# Two at once.
printf '#!/bin/sh\necho $$ >>ran\n"%s" 1 >/dev/null\nwhile [ -e hold ]; do sleep 0.05; done\n' "$program" >held
chmod +x held
wait_for() { # COMMAND...: until it holds
	for _ in $(seq 1200); do "$@" && return; sleep 0.05; done
	return 1
}
at_once() {
	: >hold
	"$aiflame" runbook run -d one -r 1 -- ./held >first.out 2>&1 &
	first=$!
	wait_for test -s ran || return 1
	status_is 1 "$aiflame" runbook run -d one -r 1 -- true 2>second.err && grep "another aiflame works in" second.err || return 1
	for stage in check ledger render; do status_is 1 "$aiflame" runbook $stage one 2>second.err && grep "another aiflame works in" second.err || return 1; done
	status_is 2 "$aiflame" gate --dir one --v7-exit || return 1
	rm hold
	wait $first
}
check "two runs at once in one directory: the second says so, and ends" at_once
check "two runs at once in one directory: the first has all its files" sh -c "'$aiflame' runbook check one --cannot-tell pass && '$aiflame' runbook ledger one && python3 '$root/tests/e2e/runbook_fields.py' one"

# Signals, in each stage: as the command is counted, and as it is recorded.
ended() { ! kill -0 "$1" 2>/dev/null; }
stopped() { # SIGNAL STAGE: how often the command has begun
	rm -rf ran stopped
	: >hold
	setsid env --default-signal=INT,QUIT "$aiflame" runbook run -d stopped -r 1 -- ./held >stopped.out 2>&1 &
	group=$!
	if [ "$2" = 2 ]; then wait_for test -s ran && rm hold && wait_for sh -c '[ "$(wc -l <ran)" = 2 ]' && : >hold; else wait_for test -s ran; fi || return 1
	case $1 in
	INT) kill -s INT -- "-$group" ;; # as the terminal's Ctrl-C: to all
	*) kill "-$1" $group ;;
	esac
	wait $group
	status=$?
	rm -f hold
	[ $status -ne 0 ] || { echo "status 0"; return 1; }
	# shellcheck disable=SC2013 # numbers
	for pid in $(cat ran); do wait_for ended "$pid" || { echo "$pid lives on"; return 1; }; done
	# What is there is whole, and is not taken for a run.
	! ls stopped/*.tmp stopped/flamegraph_manifest.json stopped/run_index.json 2>/dev/null || return 1
	status_is 2 "$aiflame" runbook check stopped --v7-exit
}
for signal in INT TERM HUP; do
	check "SIG$signal as the command is counted: the run ends, and leaves no run files" stopped $signal 1
	check "SIG$signal as the command is recorded: the run ends, and leaves no run files" stopped $signal 2
done
check "a directory of an interrupted run can be used again" sh -c "'$aiflame' runbook run -d stopped -r 1 -- '$program' 1 && '$aiflame' runbook check stopped --cannot-tell pass"

# Directories that are none, or are not to be written to.
check "a run directory in a directory that is not there is refused" says "No such file or directory" "$aiflame" runbook run -d none/deep -r 1 -- true
check "a file in the place of the run directory is refused" sh -c ": >file; ! '$aiflame' runbook run -d file -- true 2>said.err && grep -q 'file: Not a directory' said.err"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$aiflame"; then
	chmod 755 . && mkdir -m 755 closed
	closed() {
		rm -f began && ! setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "$aiflame" runbook run -d closed -- sh -c ': >/dev/null; echo began' >began 2>said.err &&
			grep 'closed: Permission denied' said.err && [ ! -s began ]
	}
	check "a directory that cannot be written to is refused before the command runs" closed
else
	skip "a directory that cannot be written to is refused before the command runs" "not root, or the build is closed to other users"
fi

# A full disk.
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=256k tmpfs small 2>/dev/null; then
	trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
	full() {
		head -c 250000 /dev/zero >small/filler
		! "$aiflame" runbook run -d small/run -r 1 -- "$program" 1 2>said.err && grep -E 'disk is full|No space left' said.err &&
			! ls small/run/*.tmp 2>/dev/null && ! ls small/run/run_index.json 2>/dev/null
	}
	check "a full disk is told, and leaves no run files" full
	ledger() { # what does not fit is not half there
		rm -rf small/run small/filler && cp -r one small/run && before=$(cksum <small/run/ledger.jsonl)
		cat /dev/zero >small/filler 2>/dev/null
		head -c 3000 /dev/zero | tr '\0' n >note
		while "$aiflame" runbook ledger small/run --note "$(cat note)" 2>said.err; do before=$(cksum <small/run/ledger.jsonl); done
		grep 'No space left' said.err && [ "$(cksum <small/run/ledger.jsonl)" = "$before" ]
	}
	rm -f one/*.data one/*.html one/*.svg
	check "a ledger that cannot grow keeps whole lines" ledger
	umount small
else
	skip "a full disk is told, and leaves no run files" "no file system can be mounted here"
fi

# Names.
odd="a  b${nl}c'\"\\&<d>"
cp "$program" "./my program"
named() {
	"$aiflame" runbook run -d "$odd" -r 1 -m "de code$nl\"x" -- "./my program" 1 "two${nl}lines" 1 '' &&
		"$aiflame" runbook check "$odd" --cannot-tell pass && "$aiflame" runbook ledger "$odd" --note "first${nl}second" --baseline "$odd" &&
		"$aiflame" runbook render "$odd" && "$aiflame" runbook compare "$odd" "$odd" && python3 "$root/tests/e2e/runbook_fields.py" "$odd"
}
check "directory, mode, command and note may have blanks, newlines and quotes" named
check "run files with blanks, newlines and quotes in their names say the same as each other" python3 - "$odd" <<'PY'
import csv, hashlib, json, os, sys
d, mode = sys.argv[1], 'de code\n"x'
load = lambda name: json.load(open(os.path.join(d, name)))
p = load("profile_summary.json")
assert list(p["by_mode"]) == [mode] and {e["mode"] for e in p["entries"]} == {mode}
assert list(csv.DictReader(open(os.path.join(d, "profile_decode.csv"), newline=""))) == p["entries"]
m = load("flamegraph_manifest.json")
assert m["mode"] == mode and all(os.path.getsize(m[k]) for k in ("svg_path", "folded_path", "perf_data_path"))
assert load("perf_stat_summary.json")["aiflame"]["command"] == ["./my program", "1", "two\nlines", "1", ""]
assert load("config.json")["command"] == "./my program 1 two\nlines 1 "
lines = open(os.path.join(d, "ledger.jsonl")).read().splitlines()
assert len(lines) == 1
l = json.loads(lines[0])
assert l["note"] == "first\nsecond" and l["baseline"] == d and l["artifacts"]
for f in l["artifacts"].values(): assert hashlib.sha256(open(f["path"], "rb").read()).hexdigest() == f["sha256"], f
for f in load("run_index.json")["files"].values(): assert f["exists"] == os.path.exists(f["path"])
hub = open(os.path.join(d, "hub.html")).read()
assert "<d>" not in hub and 'de%20code%0A%22x.html"' in hub
PY
for mode in hub a/b "$(head -c 201 /dev/zero | tr '\0' m)" ''; do
	check "a mode that can be no file's name: $(printf %.9s "$mode")" status_is 2 "$aiflame" runbook run -d none -m "$mode" -- true
done
check "a mode given twice is misuse" status_is 2 "$aiflame" runbook run -d none -m a -m a -- true
check "a mode that stands twice in runbook.json is refused" sh -c "printf '{\"schema\": \"aiflame.runbook.v1\", \"modes\": {\"a\": {}, \"a\": {}}}' >bad.json; ! '$aiflame' runbook check one --plan bad.json 2>said.err && grep -qE 'at byte [0-9]+: (this mode stands twice|.*twice)' said.err"

# Files of others in a run directory.
not_replaced() { # NAME: a file that no run made stays as it is, and the run is refused
	rm -rf mine && mkdir mine && echo "my own" >"mine/$1" &&
		status_is 1 "$aiflame" runbook run -d mine -r 1 -m decode -- true 2>said.err && grep -q "mine/$1: is there, and no run of aiflame made it" said.err &&
		[ "$(cat "mine/$1")" = "my own" ] && [ "$(ls -A mine)" = "$1" ]
}
for name in hub.html config.json advisor decode.svg vtune-hotspots; do
	check "a run does not replace a file of the user's that has the name of its own: $name" not_replaced "$name"
done
keeps_files() {
	rm -rf kept && "$aiflame" runbook run -d kept -r 1 -m decode -- "$program" 1 >said.out 2>&1 && mkdir kept/advisor-of-mine && echo "my own" >kept/plot.svg &&
		echo "my own" >kept/plot.folded && printf 'plot.txt\n../one\n.hidden\n' >>kept/.aiflame-runbook && echo "my own" >kept/plot.txt &&
		"$aiflame" runbook run -d kept -r 1 -m other -- "$program" 1 >said.out 2>&1 && [ "$(cat kept/plot.svg kept/plot.folded kept/plot.txt | sort | uniq -c | tr -s " ")" = " 3 my own" ] &&
		[ -d kept/advisor-of-mine ] && [ -d one ] && [ ! -e kept/decode.svg ] && [ -e kept/other.svg ]
}
check "a second run removes what the first one made, and nothing else" keeps_files
in_a_directory() { # NAME: a directory of the user's that has the name of a file of a run stays as it is, and the run is refused
	rm -rf kept && "$aiflame" runbook run -d kept -r 1 -m decode -- "$program" 1 >said.out 2>&1 && rm -f "kept/$1" && mkdir "kept/$1" && echo "my own" >"kept/$1/keep" &&
		status_is 1 "$aiflame" runbook run -d kept -r 1 -m decode -- "$program" 1 2>said.err && grep -q "kept/$1: is a directory, and no run of aiflame made it" said.err &&
		[ "$(cat "kept/$1/keep")" = "my own" ] && [ -e kept/profile_summary.json ]
}
for name in hub.html decode.svg; do
	check "a second run does not remove a directory of the user's: $name" in_a_directory "$name"
done
hard_link() {
	rm -rf led && cp -r one led && rm -f led/ledger.jsonl && echo "not ours" >victim && ln victim led/ledger.jsonl &&
		! "$aiflame" runbook ledger led >said.out 2>&1 && grep -q "led/ledger.jsonl: is another file, too (a hard link)" said.out && [ "$(cat victim)" = "not ours" ]
}
check "runbook ledger does not write to another name's file" hard_link
through_links() { # STAGE FILE: another's file that a link leads to is left alone
	rm -rf led && cp -r one led && echo "not ours" >victim && rm -f "led/$2" && ln -s "$work/victim" "led/$2" &&
		! "$aiflame" runbook "$1" led >said.out 2>&1 && grep -q "led/$2: is a link or no file" said.out && [ "$(cat victim)" = "not ours" ]
}
check "runbook check does not write through a link" through_links check run_index.json
check "runbook render does not write through a link" through_links render hub.html
check "runbook ledger does not write through a link" through_links ledger ledger.jsonl
at_fifo() { # STAGE FILE
	rm -rf led && cp -r one led && rm -f "led/$2" && mkfifo "led/$2" && ! timeout 60 "$aiflame" runbook "$1" led >said.out 2>&1 && grep -q "led/$2: is a link or no file" said.out
}
check "runbook check does not wait for a FIFO's writer" at_fifo check profile_summary.json
check "runbook render does not wait for a FIFO's reader" at_fifo render hub.html
check "runbook ledger does not wait for a FIFO's reader" at_fifo ledger ledger.jsonl

# A repository from an archive, whose configuration names programs.
git_runs_nothing() { # OPTION VALUE
	rm -rf repository ran.git && mkdir repository && (
		cd repository && git init -q . && echo a >a && echo "a filter=x" >.gitattributes && git add . && git -c user.name=a -c user.email=a@b commit -qm a && git config "$1" "$2" && echo b >a && touch -d '1 hour ago' .git/index
		"$aiflame" runbook ledger ../one
	) && [ ! -e ran.git ] && tail -n 1 one/ledger.jsonl | grep "\"dirty\": $3"
}
if command -v git >/dev/null; then
	check "runbook ledger does not run a repository's file system monitor" git_runs_nothing core.fsmonitor "touch $work/ran.git; false" true
	check "runbook ledger does not run a repository's filters" git_runs_nothing filter.x.clean "touch $work/ran.git; cat" null
else
	skip "runbook ledger runs no program of a repository" "no git here"
fi

# Where a run writes is no part of its configuration.
printf '#!/bin/sh\necho "$@" >said.words\necho 1 >"${1#--out=}"\necho 1 >"$3"\nexec "%s" 8 "$(cat "$4")"\n' "$build/tests/e2e/runbook_app" >writer
chmod +x writer
echo 0 >copies
places() { # DIR FILE: a run that writes into its directory, and to a file in /tmp
	"$aiflame" runbook run -d "$1" -r 1 -m decode -- ./writer "--out={}/train.json" --log "$2" copies && [ -s "$1/train.json" ] && grep -q -- "^--out=$1/train.json --log" said.words
}
one=$(mktemp /tmp/runbook.XXXXXX) two=$(mktemp /tmp/runbook.XXXXXX)
check "{} in a word of the command is the run directory" places here "$one"
echo 4000 >copies # so many that no other load hides them
check "{} in a word of the command is another run directory" places there "$two"
check "two places for output are one configuration, whose changes are signals" sh -c "'$aiflame' runbook compare here there >said.out && grep -q '^signal  *throughput drop' said.out"
check "runbook compare has the functions that grew" grep -E '^grew  *[0-9.]+ % -> *[0-9.]+ %  shuffle_weights' said.out
check "config.json has places by their role" grep -qF '"command": "./writer --out={}/train.json --log /tmp/* copies"' here/config.json
rm -f "$one" "$two"
other_program() { "$aiflame" runbook run -d other -r 1 -m decode -- "$build/tests/e2e/runbook_app" 8 && "$aiflame" runbook compare here other >said.out; [ $? -eq 4 ]; }
check "another program is another configuration" other_program

# Values that a project names.
echo '{"loss": 2.5}' >one/train.json
"$aiflame" runbook run -d ranges -r 1 -m decode -- "$build/tests/e2e/runbook_app" 10 0
echo '{"loss": 2.25}' >ranges/train.json
check "--metric takes a number of a file, and the mean length of a range" sh -c "'$aiflame' runbook ledger ranges --metric 'loss={}/train.json:.loss' --metric ms=range:decode --metric none=range:nothing && python3 -c '
import json
m = json.loads(open(\"ranges/ledger.jsonl\").readline())[\"metrics\"]
print(m)
assert m[\"loss\"] == 2.25 and abs(m[\"ms\"] * m[\"decode_tok_s\"] / 1000 - 1) < 0.01 and \"none\" not in m'"
check "--metric of a range is compared" sh -c "'$aiflame' runbook compare ranges ranges --metric ms=range:decode | grep -E '^ms  *[0-9.]+ -> *[0-9.]+'"
numbers() { mkdir -p slower && cp -r ranges/* slower/ && echo '{"tok": 100, "loss": 2, "acc": 0.9}' >ranges/n.json && echo '{"tok": 2, "loss": 3, "acc": 0.5}' >slower/n.json; }
check "two runs have numbers of their own" numbers
check "a metric that fell is a throughput drop, by its name" sh -c "'$aiflame' runbook compare ranges slower --metric 'train_tok_s={}/n.json:.tok' | grep '^signal  *throughput drop: train_tok_s is 2, beyond 97:'"
check "a metric that grew is a throughput drop where less is better" sh -c "'$aiflame' runbook compare ranges slower --metric 'loss={}/n.json:.loss lower' | grep '^signal  *throughput drop: loss is 3, beyond 2.06:'"
check "a metric that fell is a throughput drop where more is better" sh -c "'$aiflame' runbook compare ranges slower --metric 'acc={}/n.json:.acc higher' | grep '^signal  *throughput drop: acc is 0.5'"
check "a metric that got better is no signal" sh -c "'$aiflame' runbook compare slower ranges --metric 'train_tok_s={}/n.json:.tok' >said.out && grep -q '^train_tok_s  *2 -> *100' said.out && ! grep '^signal.*train_tok_s' said.out"
check "a metric without a direction is no signal" sh -c "'$aiflame' runbook compare ranges slower --metric 'loss={}/n.json:.loss' >said.out && grep -q '^loss  *2 -> *3' said.out && ! grep '^signal.*loss' said.out"
check "a metric that was 0 has no limit, and compare says so" sh -c "echo '{\"n\": 0}' >ranges/zero.json && echo '{\"n\": 1}' >slower/zero.json &&
	'$aiflame' runbook compare ranges slower --metric 'errors={}/zero.json:.n lower' >said.out && grep -q '^errors  *0 -> *1  no limit: a part of 0' said.out && ! grep '^signal.*errors' said.out"
check "a metric's direction is no part of a range's name" sh -c "'$aiflame' runbook compare ranges ranges --metric 'ms=range:decode lower' | grep -E '^ms  *[0-9.]+ -> *[0-9.]+'"
steps() { # those of training are steps, not tokens of decode
	sed 's/"mode": "decode"/"mode": "train"/' ranges/profile_summary.json >slower/profile_summary.json
	"$aiflame" runbook compare slower slower >said.out && grep -E '^train_steps_s  *[0-9.]+ -> *[0-9.]+' said.out && ! grep decode_tok_s said.out
}
check "steps of training are train_steps_s, not decode_tok_s" steps
for bad in loss loss=x =range:a 'a=range:'; do check "--metric that is no metric is misuse: $bad" status_is 2 "$aiflame" runbook compare one one --metric "$bad"; done
done_testing
