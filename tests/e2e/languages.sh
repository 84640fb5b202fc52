#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs in Go (cgo) and Rust that launch OpenCL kernels: their stacks are whole and their functions have names.
. "$(dirname "$0")/tap.sh"
here=$root/tests/e2e/languages
export AIFLAME_STANDBY="$work/standby"
export GOCACHE="$work/go-cache" GOFLAGS=-mod=mod GO111MODULE=on GOTOOLCHAIN=local

printf '#include "%s/towers.h"\nint main(void) { return start(); }\n' "$here" >try.c
if ! { cc -o try try.c -lOpenCL && ./try; } >try.out 2>&1; then
	echo "1..0 # SKIP no OpenCL device, or no headers: apt-get install pocl-opencl-icd opencl-headers ocl-icd-opencl-dev"
	exit 0
fi
# towers NAME PROGRAM: NAME.folded, of its launches
towers() {
	"$aiflame" record -q --all-launches -o "$1.data" "$2" && "$aiflame" flame --by launches --detail full -o "$1.folded" "$1.data" && cat "$1.folded"
}
# are N FILE RE: the launches whose stack matches add up to N
are() {
	awk -v re="$3" -v want="$1" '$0 ~ re { n += $NF } END { print n + 0, "instead of", want, "match", re; exit n != want }' "$2"
}
whole() { # FILE: no stack is truncated
	! grep '\[truncated' "$1"
}

if command -v go >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	mkdir go && cp "$here/towers.go" "$here/towers.h" go && printf 'module towers\ngo 1.19\n' >go/go.mod
	for mode in exe pie; do
		build_go() { (cd go && go build -buildmode=$mode -o "../go-$mode" .); }
		check "Go, $mode: a program is built" build_go
		check "Go, $mode: the program is recorded" towers "go-$mode" "./go-$mode"
		check "Go, $mode: stacks are whole" whole "go-$mode.folded"
		check "Go, $mode: every launch is there" are 41 "go-$mode.folded" ';spin_'
		check "Go, $mode: stacks go from main to the call by each function" are 20 "go-$mode.folded" \
			'runtime.main;main.main;main.outer;main.inner;main._Cfunc_launch[^;]*;runtime.cgocall;runtime.asmcgocall[^;]*;_cgo_[^;]*_Cfunc_launch;.*clEnqueueNDRangeKernel;spin_'
		check "Go, $mode: another caller is told apart" are 10 "go-$mode.folded" 'runtime.main;main.main;main.other;'
		check "Go, $mode: a goroutine begins with its function" are 10 "go-$mode.folded" '(^|guessed.*\];)main.main.func1;main.other;'
		check "Go, $mode: a stack of 500 frames that Go moved is whole" are 1 "go-$mode.folded" 'main.main.func1;main.deep(;main.deep)*;main.other;'
	done
	check "Go: counts of the recording add up" says "everything adds up" "$aiflame" info go-exe.data
else
	skip "Go: stacks are whole" "no Go here: apt-get install golang-go"
fi
if command -v rustc >/dev/null; then
	{ echo "#include \"$here/towers.h\"" && for f in start launch finish; do echo "int tower_$f(void); int tower_$f(void) { return $f(); }"; done; } >towers.c
	build_rust() { cc -O2 -c -o towers.o towers.c && ar rcs libtowers.a towers.o && rustc -O -L . -l static=towers -l OpenCL -o rust "$here/towers.rs"; }
	check "Rust: a program is built" build_rust
	check "Rust: the program is recorded" towers rust ./rust
	check "Rust: stacks are whole" whole rust.folded
	check "Rust: every launch is there" are 40 rust.folded ';spin_'
	check "Rust: names are written out, from main to the call" are 20 rust.folded \
		';main;.*;towers::main;towers::outer;<towers::Caller<u8> as towers::Inner>::inner;tower_launch;.*clEnqueueNDRangeKernel;spin_'
	check "Rust: a thread's stack begins with the thread's function" are 10 rust.folded '^[^;]*;?(__clone3?|clone3?|start_thread).*;towers::other;'
else
	skip "Rust: stacks are whole" "no rustc here: apt-get install rustc"
fi
done_testing
