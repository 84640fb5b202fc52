#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processes of other users, and containers, do not make root's recorder read without end, nor show it the host's files.
. "$(dirname "$0")/tap.sh"
export AIFLAME_STANDBY="$work/standby"
mkdir -m 700 "$AIFLAME_STANDBY"
stranger=
trap '[ -z "$stranger" ] || kill "$stranger" 2>/dev/null; rm -rf "$work"' EXIT

# ---- 64 GiB of environment
cat >reads.py <<'END'
# reads.py MOST COMMAND...: runs it; fails if it fails, or has read more than MOST bytes by all its calls.
import os, subprocess, sys
p = subprocess.Popen(sys.argv[2:])
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
n = next(int(line.split()[1]) for line in open(f"/proc/{p.pid}/io") if line.startswith("rchar"))
print(n, "bytes read")
sys.exit(p.wait() or n > int(sys.argv[1]))
END
most=134217728 # a recorder reads 1 MB, and 8 MiB of an environment that no exec() could have made each time that it looks at all
begins() { grep -q ready said || ended "$stranger"; }
if [ "$(id -u)" -eq 0 ] && python3 reads.py $most true >/dev/null 2>&1; then
	"$build/tests/e2e/environment_app" >said &
	stranger=$!
	wait_until begins
fi
if grep -q ready said 2>/dev/null; then
	check "64 GiB of another's environment: ctl status reads little of it" python3 reads.py $most "$aiflame" ctl status
	check "64 GiB of another's environment: record of a command reads little of it" \
		python3 reads.py $most "$aiflame" record -q -o command.data sleep 1
	# The same by its own user, who looks without the bounds of time that root has.
	chmod 755 "$work" && mkdir user && mkdir -m 700 user/standby && chown -R 65534 user
	as_user="setpriv --reuid=65534 --regid=65534 --clear-groups env AIFLAME_STANDBY=$work/user/standby XDG_STATE_HOME=$work/user"
	if $as_user "$aiflame" --version >/dev/null 2>&1; then
		check "64 GiB of environment of one's own process: ctl status reads little of it" python3 reads.py $most $as_user "$aiflame" ctl status
		check "64 GiB of environment of one's own process: record of a command reads little of it" \
			python3 reads.py $most $as_user "$aiflame" record -q -o user/command.data sleep 1
	else
		skip "64 GiB of environment of one's own process are not read" "needs a user who may start programs of this tree"
	fi
	kill "$stranger"
	stranger=
else
	skip "64 GiB of another's environment are not read" "needs root, /proc/PID/io and a kernel with PR_SET_MM_MAP"
fi

# ---- text of a container's program
"$aiflame" record -q --all-launches -o host.data "$matmul" 128 5 >/dev/null 2>&1
source=$("$aiflame" annotate --of host '^main$' host.data 2>/dev/null | grep -x '/.*/matmul\.cpp')
# shown FILE: the lines of main() with text
shown() { "$aiflame" annotate --of host '^main$' "$1"; }
if [ -n "$source" ] && [ -r "$source" ] && unshare -m mount --bind /dev/null "$source" 2>/dev/null; then
	sed 's/^.*$/the file of the container/' "$source" >other.cpp
	check "the host's program: its source text is the host's" sh -c "'$aiflame' annotate --of host '^main$' host.data | grep -q 'run_benchmark('"
	check "a program in a mount namespace of its own is recorded" "$aiflame" record -q --all-launches -o inside.data \
		unshare -m sh -c 'mount --bind "$1" "$2" && exec "$3" 128 5' sh "$work/other.cpp" "$source" "$matmul"
	shown inside.data >inside.txt 2>&1
	check "a program in a mount namespace of its own has lines" grep -q 'matmul\.cpp:[0-9]' inside.txt
	check "a program in a mount namespace of its own: no text is the host's" status_is 1 grep 'run_benchmark(' inside.txt
else
	skip "a program in a mount namespace of its own: no text is the host's" "needs OpenCL's example and mount namespaces"
fi
done_testing
