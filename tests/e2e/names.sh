#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What reaches a terminal: no name in a profile, an argument or another process's directory is an order to it, or a line that
# looks like one of ours. What programs read keeps its bytes.
. "$(dirname "$0")/tap.sh"
names=$root/tests/e2e/names.py
fake=$build/tests/mock/fake_app
"$aiflame" record -q --all-launches -o whole.data "$fake" 'generate launches=200 stacks=5 depth=6 kernels=3 streams=2'
python3 "$names" poison whole.data p.data
[ ! -x "$matmul" ] || { "$aiflame" record -q -o m.data "$matmul" && python3 "$names" poison m.data n.data; }
# clean WHAT COMMAND...: in both places
clean() {
	for place in pty pipe; do
		check "$place: no name takes over the terminal in $*" python3 "$names" clean $place "$aiflame" "$@"
	done
}
for p in p n; do
	[ -e $p.data ] || continue
	clean info $p.data
	clean report $p.data
	for table in kernels stacks copies launches stalls ops ranges steps breakdown comm idle streams counters; do
		clean report --$table $p.data
	done
	clean report --kernels --detail full --sort calls $p.data
	clean annotate . $p.data
	clean query $p.data 'SELECT * FROM kernels'
	clean query $p.data 'SELECT * FROM strings'
	clean query $p.data 'SELECT * FROM devices'
	check "pty: no name takes over the terminal in flame --format svg" python3 "$names" clean pty "$aiflame" flame --format svg -o - $p.data
	for format in csv json; do
		check "pty: no name takes over the terminal in query --format $format" python3 "$names" clean pty \
			"$aiflame" query --format $format $p.data 'SELECT * FROM strings'
		check "pty: no name takes over the terminal in report --format $format" python3 "$names" clean pty \
			"$aiflame" report --kernels --format $format $p.data
	done
	check "pty: no name takes over the terminal in flame --format folded" python3 "$names" clean pty "$aiflame" flame --format folded -o - $p.data
	for format in folded speedscope chrome firefox otlp iaprof; do
		check "pty: no name takes over the terminal in export --format $format" python3 "$names" clean pty \
			"$aiflame" export --format $format -o - $p.data
	done
	check "a pipe: CSV keeps each name as it is" python3 "$names" same $p.data \
		"$aiflame" query --format csv $p.data 'SELECT * FROM strings'
done

# Messages.
odd=$(printf 'no\nFORGED \033[31m\302\233\342\200\256\233\377\a')
clean "$odd"
clean info "$odd"
clean info --"$odd"
clean flame -o "$odd/x.svg" p.data
clean flame --focus "$odd(" p.data
clean report --sort "$odd" --kernels p.data
clean report --kernels --process "$odd" p.data
clean query p.data "SELECT '$odd"
clean query p.data "SELECT 1; $odd"
clean annotate "$odd" p.data
clean ctl "$odd"
clean record -o "$odd/x.data" true
clean import "$odd"
cp p.data "$odd"
clean info "$odd"
clean report "$odd"
clean query "$odd" 'SELECT 1'
printf 'main;work x\nmain;more 1\n' >"$odd.folded"
clean flame -o x.svg "$odd.folded"

# Services that build a project read orders in what its commands print.
order='::error file=a::x ##[error]##vso[task.complete]'
quiet() {
	check "a pipe: no name is an order to a CI server in $*" python3 "$names" quiet "$aiflame" "$@"
}
python3 "$names" poison whole.data op.data "$order"
[ ! -e m.data ] || python3 "$names" poison m.data on.data "$order"
for p in op on; do
	[ -e $p.data ] || continue
	quiet info $p.data
	quiet report $p.data
	quiet why $p.data
	for table in kernels stacks copies launches stalls ops ranges steps breakdown comm idle streams counters; do
		quiet report --$table $p.data
	done
	quiet annotate . $p.data
	quiet query $p.data 'SELECT name FROM kernels'
	quiet query $p.data 'SELECT * FROM strings'
	for format in table md; do
		quiet diff --format $format $p.data $p.data
	done
	for format in text md; do
		quiet gate --format $format --annotations --budget 'launches 0' $p.data $p.data
	done
done
printf '%s;%s a;%s b 5\n' "$order" "$order" "$order" >order.folded
"$aiflame" import -o order.data order.folded 2>order.err
quiet annotate . order.data
quiet annotate --of cpu a order.data
quiet report order.data
quiet report --cpu order.data
quiet annotate "$order" op.data
quiet gate --budget "$order 0" op.data op.data
quiet info "$order"

# A recording of it: its arguments, and what `ctl status` says of it.
clean record -o r.data sh -c ': "$0"; exit 0' "$odd"
clean report r.data
clean info r.data
done_testing
