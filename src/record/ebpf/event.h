/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#pragma once

/*
 * The interface between the BPF programs and the recorder: a ring, in variables and in maps.
 * Included by both sides, so it includes nothing itself; both have the types of <linux/types.h>
 * before.
 */

enum aif_ebpf_kind {
	AIF_EBPF_SAMPLE = 1, /* a tick found this thread on a CPU */
	AIF_EBPF_LAUNCH = 2, /* it entered a function that launches work on a device */
	/* In a launch's call it is about to enter the driver: .caller is called by who has called .probed, by .probed itself, or by
	 * ioctl()'s function, which is not entered yet (syscalls.h). */
	AIF_EBPF_DRIVER_INSTEAD = 3,
	AIF_EBPF_DRIVER_BELOW = 4,
	AIF_EBPF_DRIVER_SYSCALL = 5,
};

/* Frames of the kernel, and of the program: the kernel's own limit (kernel.perf_event_max_stack). */
#define AIF_EBPF_FRAMES 127
#define AIF_EBPF_COMM   16

/* Innermost frame first: user_len of the program, then kernel_len of the kernel. */
struct aif_ebpf_event {
	__u64 time; /* CLOCK_MONOTONIC ns */
	__u32 kind; /* enum aif_ebpf_kind */
	__u32 pid, tid;
	__u32 user_len, kernel_len;
	__u32 zero;
	__u64 caller; /* of a launch: who has called it, which no frame pointer says on entry; 0: unknown. Of a driver: its function */
	__u64 launch; /* of a driver: the launch's number, as its agent counts */
	__u64 probed; /* of a driver: where the function of the kernel begins that the program runs in front of */
	char comm[AIF_EBPF_COMM];
};
#define AIF_EBPF_EVENT_MAX (sizeof(struct aif_ebpf_event) + 2 * AIF_EBPF_FRAMES * sizeof(__u64))

/* Flags of what not to record of a process (map aif_unwanted: its number -> these). */
#define AIF_EBPF_NO_SAMPLES  1 /* its agent takes them */
#define AIF_EBPF_NO_LAUNCHES 2 /* its agent tells them */

/* Flags of processes whose times off CPU are recorded (map aif_wanted: process -> one of these);
 * a child is wanted if its parent is in it. */
#define AIF_EBPF_WANTED   1
#define AIF_EBPF_CHILDREN 2 /* not itself: the recorder */

/* Stacks lie in several tables (offcpu.bpf.c): which one is in a number's upper bits. */
#define AIF_EBPF_STACK_TABLES  4
#define AIF_EBPF_TABLE_SHIFT   20
#define AIF_EBPF_STACKS_FIRST  16384
#define AIF_EBPF_STACKS_SECOND 4096
#define AIF_EBPF_STACKS_OTHERS 1024

/* Time that a thread did not run, by where it gave its CPU away. */
struct aif_ebpf_off_key {
	__u32 pid, tid;
	__s32 user, kernel; /* numbers of stacks; negative: none, or -errno */
	__u32 runnable;     /* 1: it would have gone on, had it not been taken off */
	__u32 zero;
};
struct aif_ebpf_off_value {
	__u64 ns, times;
	char comm[AIF_EBPF_COMM];
};

/* The thread that ran where another was woken. In an interrupt it is the one that was interrupted, which its stack of
 * the kernel says. */
struct aif_ebpf_waker {
	__u64 at; /* CLOCK_MONOTONIC ns; 0: no wake-up was seen */
	struct aif_ebpf_off_key
		key; /* .pid 0: a CPU that was idle, or a thread that the recorder does not see */
	char comm[AIF_EBPF_COMM];
};

/* A thread that is off CPU (map aif_left). */
struct aif_ebpf_left {
	__u64 since; /* CLOCK_MONOTONIC ns; 0: it is back */
	struct aif_ebpf_off_key key;
	char comm[AIF_EBPF_COMM];
	struct aif_ebpf_waker waker;
};

/* A time off CPU, in a ring of its own (map aif_waits): of aif_least_wait ns or more. Shorter ones, and those for which the
 * ring has no room, are added up (map aif_off). */
struct aif_ebpf_wait {
	__u64 since, ns;
	struct aif_ebpf_off_key key;
	char comm[AIF_EBPF_COMM];
	struct aif_ebpf_waker waker;
};
/* The least aif_least_wait; the recorder raises it where waits are too many. */
#define AIF_EBPF_LEAST_WAIT 50000

/* Kinds of losses, counted by CPU (map aif_lost). */
enum aif_ebpf_loss {
	AIF_EBPF_LOST_SAMPLES,    /* the ring was full */
	AIF_EBPF_LOST_LAUNCHES,   /* the same */
	AIF_EBPF_LOST_OFF,        /* times off CPU: no room for another stack */
	AIF_EBPF_LOST_OFF_STACKS, /* whose places others have: their time lacks a stack */
	AIF_EBPF_LOST_WAITS,      /* the ring of waits was full: when they were is not known */
	AIF_EBPF_LOST_DRIVERS, /* the ring was full: of which driver's functions a launch entered */
	AIF_EBPF_LOSSES
};
