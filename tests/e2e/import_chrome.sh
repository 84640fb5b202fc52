#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces in Trace Event JSON that other readers are known to get wrong: open and equal spans, ranks in one file, numbers
# of streams and calls, device work that cannot be.
. "$(dirname "$0")/tap.sh"

# stacks TRACE WANTED ARGS...: the folded stacks of an imported trace, whole
stacks() {
	trace=$1 wanted=$2
	shift 2
	"$aiflame" import -q -o s.data "$trace" && "$aiflame" flame --detail full "$@" -o s.folded s.data || return 1
	[ "$(tr '\n' ',' <s.folded)" = "$wanted" ] || { cat s.folded; return 1; }
}
info_says() { # REASON COUNT DETAIL: a loss of the profile that was imported last
	"$aiflame" info s.data >info.out
	grep -E "^ +[0-9]+ $1 +$2 " info.out | grep -qF -- "$3" || { sed -n '/^losses/,$p' info.out; return 1; }
}

# ---- begin and end ------------------------------------------------------------------------------------
b() { printf '{"ph":"B","pid":1,"tid":1,"ts":%s,"name":"%s"}' "$1" "$2"; }
e() { printf '{"ph":"E","pid":1,"tid":1,"ts":%s%s}' "$1" "${2:+,\"name\":\"$2\"}"; }
echo "[$(b 0 main),$(b 10 outer),$(b 10 inner),$(e 16 inner),$(e 16 outer),$(e 20 main)]" >equal.json
check "spans that begin and end together are nested as they began" stacks equal.json "main 14000,main;outer;inner 6000," --of cpu
check "nothing is lost of spans that begin and end together" says "  none" "$aiflame" info s.data
echo "[$(b 0 main),$(b 10 f),$(e 30),{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":40,\"dur\":10,\"name\":\"g\"}]" >open.json
check "a span that never ends lasts until the trace ends" stacks open.json "main 20000,main;f 20000,main;g 10000," --of cpu
check "info counts spans that never end" info_says IMPORT_UNENDED 1 "open.json"
echo "[$(b 0 main),$(b 10 f),$(e 30 main),$(b 40 g),$(e 50)]" >inner.json
check "a span that never ends lasts until the one that it is in ends" stacks inner.json "g 10000,main 10000,main;f 20000," --of cpu
echo "[$(b 0 main),$(b 10 f),{\"ph\":\"C\",\"pid\":1,\"tid\":1,\"ts\":70,\"name\":\"c\"}]" >counter.json
check "a trace ends with its last event, of any kind" stacks counter.json "main 10000,main;f 60000," --of cpu

done_testing
