# SPDX-License-Identifier: Apache-2.0
# Sourced behind tap.sh: jobs of MPI whose program is ./app, and what is said of their ranks.

# job NAME RANKS ARGUMENT...: records ./app ARGUMENT... as so many ranks, in NAME.data
job() {
	name=$1 ranks=$2
	shift 2
	metered "$aiflame" record -q -o "$name.data" ${options-} ${mpirun:-mpirun --oversubscribe} -np "$ranks" ./app "$@" >"$name.out" 2>&1 || { cat "$name.out"; return 1; }
	answer "$name"
}
answer() {
	"$aiflame" report --ranks --format json "$1.data" >"$1.ranks" && "$aiflame" why --format json "$1.data" >"$1.why"
}
# ask NAME EXPRESSION: r: rows of --ranks; w: what why says of ranks
ask() {
	python3 - "$1" "$2" <<'EOP'
import json, sys
name, what = sys.argv[1:]
r = json.load(open(name + ".ranks"))["rows"]
w = json.load(open(name + ".why")).get("ranks", {})
print(w, [{k: x.get(k) for k in ("rank", "step", "wait_given", "wait_suffered", "late", "operations", "idle_other_ranks")} for x in r])
sys.exit(not eval(what))
EOP
}
