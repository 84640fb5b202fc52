/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#pragma once

/*
 * The little of the kernel that the programs need, instead of a vmlinux.h of some ten thousand
 * types made on one machine: nothing of the machine that builds is asked. Of the kernel's own
 * structures only the fields that are read; where these lie is found out when the program is loaded
 * (CO-RE).
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Tests compile the programs as plain C, where these mean nothing. */
#ifndef AIF_CORE
#define AIF_CORE    __attribute__((preserve_access_index))
#define AIF_SETTING const volatile
#endif

struct thread_struct { /* of it: the thread pointer */
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#else
	struct {
		unsigned long tp_value;
	} AIF_CORE uw;
#endif
} AIF_CORE;
struct task_struct {
	int pid, tgid;        /* of a thread and of its process, in the kernel's words */
	unsigned int flags;   /* PF_... */
	unsigned int __state; /* TASK_... */
	struct thread_struct thread;
	struct files_struct *files;
} AIF_CORE;
struct inode {
	unsigned short i_mode;
} AIF_CORE;
struct file_operations {
	long (*unlocked_ioctl)(void *file, unsigned int command, unsigned long argument);
} AIF_CORE;
struct file {
	struct inode *f_inode;
	const struct file_operations *f_op;
} AIF_CORE;
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} AIF_CORE;
struct files_struct {
	struct fdtable *fdt;
} AIF_CORE;
struct task_struct___old { /* before Linux 5.14 */
	long state;
} AIF_CORE;

#define PF_KTHREAD 0x00200000 /* a thread of the kernel */
#define TASK_DEAD  0x00000080 /* it will not come back */

/* Registers of a program, as uprobes and system calls find them: a fixed layout of each architecture. */
#if defined(__TARGET_ARCH_x86)
struct aif_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
#define AIF_SYS_IOCTL        16
#define AIF_ARGUMENT_0(regs) ((regs)->di)
#define AIF_ARGUMENT_1(regs) ((regs)->si)
#define AIF_PC(regs)         ((regs)->ip)
#elif defined(__TARGET_ARCH_arm64)
struct aif_registers {
	__u64 regs[31], sp, pc, pstate;
};
#define AIF_SYS_IOCTL        29
#define AIF_ARGUMENT_0(regs) ((regs)->regs[0])
#define AIF_ARGUMENT_1(regs) ((regs)->regs[1])
#define AIF_PC(regs)         ((regs)->pc)
#endif
