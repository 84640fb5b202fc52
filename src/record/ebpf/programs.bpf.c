// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* All programs as one object, since they share maps. */
#include "record/ebpf/cpu.bpf.c"
#include "record/ebpf/driver.bpf.c"
#include "record/ebpf/launch.bpf.c"
#include "record/ebpf/offcpu.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
