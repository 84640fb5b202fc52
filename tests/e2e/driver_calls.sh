#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record --ebpf: do stacks of launches that enter the OS kernel go on into the driver's functions, and no others'? The driver
# is an OpenCL layer above PoCL that enters those of two real devices, /dev/net/tun and /dev/urandom.
. "$(dirname "$0")/tap.sh"
layer=$build/tests/e2e/driver_layer.so

if [ ! -e "$layer" ]; then
	skip "stacks of launches go on into the OS kernel" "no OpenCL layers to build with"
	done_testing
	exit
fi
if ! "$aiflame" record -q --ebpf -o x.data true >x.out 2>&1 && grep -q -- '--ebpf:' x.out; then
	skip "stacks of launches go on into the OS kernel" "$(sed 's/^aiflame: //' x.out | head -1)"
	done_testing
	exit
fi
number() { # FILE SQL: one value
	"$aiflame" query --format csv "$1" "$2" | tail -1 | tr -d '"\r'
}
# Launches whose stack ends in a function of the OS kernel of that name.
into() { # FILE NAME
	number "$1" "SELECT count(*) FROM launches l JOIN stacks s ON s.id = l.stack JOIN frame_names n ON n.frame = s.frame
		JOIN frames f ON f.id = s.frame WHERE l.kind = 'kernel' AND f.kind = 'os' AND n.name = '$2'"
}
entered() { sed -n 's/^ENTERED \([0-9]*\) of .*/\1/p' "$1"; }

# The first layer is next to the driver.
with_layer() { # OPTIONS...: records a second or more
	"$aiflame" record -q --all-launches "$@" sh -c 'OPENCL_LAYERS=$0:$OPENCL_LAYERS exec "$@"' "$layer" "$matmul" 64 3000 >run.out 2>said || { cat said; return 1; }
}
recorded() {
	with_layer --ebpf -o d.data && entered said | grep -q '[1-9]'
}
check "a driver that enters the OS kernel is recorded" recorded
# The first launches may come before the recorder's programs know the process.
most() {
	got=$(into d.data random_ioctl) truth=$(entered said)
	echo "$got of $truth"
	[ "$got" -le "$truth" ] && [ "$got" -ge $((truth * 9 / 10)) ]
}
check "each launch that entered it has the driver's function, that of its last call" most
# Of a launch that lasts for longer than the recorder holds its row the call before is the last that is known.
others() {
	got=$(into d.data tun_chr_ioctl) slow=$(sed -n 's/^ENTERED .*, \([0-9]*\) slow$/\1/p' said)
	echo "$got, $slow slow"
	[ "$got" -le "$slow" ]
}
check "no launch has the OS kernel's function of another call" others
aligned() {
	"$aiflame" flame --detail full -o d.folded d.data &&
		grep -qE ';main;.*clEnqueueNDRangeKernel;(__GI___)?ioctl;(entry_SYSCALL_64_after_hwframe|el0[^;]*)_.k.;.*;(__x64_|__arm64_)sys_ioctl_.k.;random_ioctl_.k.;multiply_[a-z_]*_.g.' d.folded || { grep random_ioctl d.folded | head -n 3; return 1; }
}
check "the stack goes on from the runtime's call through ioctl() into the driver, and into the kernel" aligned
check "the OS kernel's frames are one ioctl where less detail is asked for" sh -c '"$0" flame -o n.folded d.data && grep -q ";clEnqueueNDRangeKernel;ioctl;" n.folded' "$aiflame"
check "the picture has the OS kernel's colour" sh -c '"$0" flame -o d.svg d.data && grep -q "OS kernel" d.svg && grep -q random_ioctl d.svg' "$aiflame"
# By time: half of the launches entered.
half() {
	"$aiflame" flame --by launches -o n.folded d.data &&
		awk '/multiply_/ { n += $NF } /random_ioctl.*multiply_/ { k += $NF } END { print k + 0, "of", n + 0; exit !(n && k > 0.45 * n && k <= 0.5 * n + 1) }' n.folded
}
check "stacks are split by the share of launches that entered the OS kernel" half
check "counts of a recording with --ebpf add up" sh -c '"$0" info d.data | grep -q "everything adds up"' "$aiflame"
truth() { number d.data "SELECT count(*) FROM launches WHERE kind = 'kernel'" | grep -qx "$(sed -n 's/^ENTERED [0-9]* of \([0-9]*\),.*/\1/p' said)"; }
check "the profile has as many launches as the driver counted" truth
plain() {
	with_layer -o p.data && [ "$(into p.data random_ioctl)" = 0 ]
}
check "no stack goes on into the OS kernel without --ebpf" plain
done_testing
