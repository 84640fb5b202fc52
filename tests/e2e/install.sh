#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make install DESTDIR=...` puts there works from there, and from wherever it is moved.
. "$(dirname "$0")/tap.sh"
fake=$build/tests/mock/fake_app
unset AIFLAME_AGENT
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"
check "meson install installs below DESTDIR" env DESTDIR="$work/staged" meson install -C "$build" --no-rebuild
mv staged moved
installed=$(find "$work/moved" -name aiflame -type f -perm -u+x)
check "the program is installed" test -x "$installed"
for c in $("$installed" help | sed -n '/^commands:/,$p' | sed -n 's/^  \([a-z]*\)  *[a-zA-Z].*/\1/p'); do
	check "the manual page of $c is installed" grep -q '^.SH SYNOPSIS' "$(dirname "$installed")/../share/man/man1/aiflame-$c.1"
done
for f in bash-completion/completions/aiflame zsh/site-functions/_aiflame fish/vendor_completions.d/aiflame.fish; do
	check "the completion $f is installed" grep -q 'kernels' "$(dirname "$installed")/../share/$f"
done
check "aiflame(1) is installed, and lists commands" grep -q '^.SH COMMANDS' "$(dirname "$installed")/../share/man/man1/aiflame.1"
check "aiflame-reasons(7) is installed, and has imports" grep -q '^.SH IMPORTS' "$(dirname "$installed")/../share/man/man7/aiflame-reasons.7"
for page in "$root"/docs/*.md; do
	page=$(basename "$page")
	check "docs/$page is installed, as texts refer to it" test -s "$(dirname "$installed")/../share/doc/aiflame/$page"
done
check "the header for programs is installed, and compiles" sh -c 'echo "#include <aiflame.h>
int main(void) { aiflame_step(); return aiflame_recording() == -38 ? 0 : 1; }" >h.c && cc -Wall -Wextra -Werror -I "$1" -o h h.c && ./h &&
	cp h.c h.cpp && c++ -Wall -Wextra -Werror -I "$1" -o h h.cpp && ./h' - "$(dirname "$installed")/../include"
check "the module for Python is installed, and finds the command" sh -c 'cd "$1"/../share/aiflame/python && PATH="$1:$PATH" env -u AIFLAME python3 -Bc "
import aiflame; assert aiflame._command() == \"$1/aiflame\" and not aiflame.recording()"' - "$(dirname "$installed")"
agent=$("$installed" env --format sh | sed -n 's/^export LD_PRELOAD=//p')
check "the installed program finds its own agent" sh -c 'case $1 in "$2"/*/libaiflame-agent.so) test -r "$1" ;; *) echo "$1"; exit 1 ;; esac' - \
	"$agent" "$work/moved"
check "the installed program records" "$installed" record -q --all-launches -o i.data "$fake" "generate launches=500"
check "the installed program records every launch" sh -c '[ "$("$1" query --format csv i.data "SELECT count(*) FROM launches" | tail -1)" = 500 ]' - "$installed"
rm -f "$agent"
check "the installed program says that its agent is missing" says "libaiflame-agent.so" "$installed" record -o n.data "$fake" "generate launches=500"
done_testing
