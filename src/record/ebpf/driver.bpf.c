// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The driver's functions that launches enter: runs at each ioctl() of a device file, and does something where the thread
 * is in a launch's call, as its agent has noted in the thread's own memory (agent/thread.h).
 */
#include "record/ebpf/maps.bpf.h"

/* Frames of an event: entry.S, the system call, and what a driver's dispatcher needs. */
#define AIF_DRIVER_FRAMES 32

#define AIF_FILE_TYPE   0170000 /* S_IFMT */
#define AIF_FILE_DEVICE 0020000 /* S_IFCHR */

/* ioctl() commands that the kernel answers itself, for all files: FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC, FIOQSIZE, FIGETBSZ. */
static __always_inline int aif_is_generic(unsigned int command)
{
	return command == 0x5421 || command == 0x5450 || command == 0x5451 || command == 0x5452 ||
	       command == 0x5460 || command == 2;
}

/* Offsets by process, from the thread pointer, of the number of the launch that a thread is in. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __s64);
} aif_launching_at SEC(".maps");

/* Returns 1 + the number of the launch whose call this thread is in; 0: it is in none. */
static __always_inline __u64 aif_launching(__u32 pid)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__s64 *at = bpf_map_lookup_elem(&aif_launching_at, &pid);
	__u64 base, launching = 0;

	if (!at)
		return 0;
#if defined(__TARGET_ARCH_x86)
	base = BPF_CORE_READ(task, thread.fsbase);
#else
	base = BPF_CORE_READ(task, thread.uw.tp_value);
#endif
	if (bpf_probe_read_user(&launching, sizeof(launching), (const void *)(base + (__u64)*at)))
		return 0;
	return launching;
}

/* Sends that the function is about to be called; probed: what the program runs in front of; pc: of the thread. */
static __always_inline void aif_driver(void *ctx, __u32 kind, __u64 function, __u64 probed,
				       __u64 pc)
{
	struct {
		struct aif_ebpf_event event;
		__u64 user, kernel[AIF_DRIVER_FRAMES];
	} * s;
	__u32 pid, tid;
	__u64 launching;
	long n;

	if (!aif_who(&pid, &tid))
		return;
	launching = aif_launching(pid);
	if (!launching)
		return;
	s = bpf_ringbuf_reserve(&aif_ring, sizeof(*s), 0);
	if (!s) {
		aif_count_lost(AIF_EBPF_LOST_DRIVERS);
		return;
	}
	s->event.time = bpf_ktime_get_ns();
	s->event.kind = kind;
	s->event.pid = pid;
	s->event.tid = tid;
	s->event.zero = 0;
	s->event.caller = function;
	s->event.launch = launching - 1;
	s->event.probed = probed;
	__builtin_memset(s->event.comm, 0, sizeof(s->event.comm));
	s->event.user_len = 1;
	s->user = pc;
	/* Fails now and then, where another thread was in the middle of it on this CPU. */
	n = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
	s->event.kernel_len = n > 0 ? (__u32)n / sizeof(__u64) : 0;
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
}

/* Returns the driver's function for an ioctl() of the file; 0: it is no device's, or the kernel answers itself. */
static __always_inline __u64 aif_ioctl_function(struct file *file, unsigned int command)
{
	if ((BPF_CORE_READ(file, f_inode, i_mode) & AIF_FILE_TYPE) != AIF_FILE_DEVICE ||
	    aif_is_generic(command))
		return 0;
	return (__u64)BPF_CORE_READ(file, f_op, unlocked_ioctl);
}

/* Returns where the thread has entered the kernel. */
static __always_inline __u64 aif_pc(void)
{
	struct aif_registers *regs =
		(struct aif_registers *)bpf_task_pt_regs(bpf_get_current_task_btf());

	return AIF_PC(regs);
}

/* In front of each ioctl(), where the kernel lets its functions be probed. */
SEC("fentry/security_file_ioctl")
int BPF_PROG(aif_ioctl, struct file *file, unsigned int command)
{
	__u64 function = aif_ioctl_function(file, command);

	if (function)
		aif_driver(ctx, AIF_EBPF_DRIVER_INSTEAD, function, bpf_get_func_ip(ctx), aif_pc());
	return 0;
}

/* In the dispatcher of all DRM drivers (xe, i915, amdgpu, nouveau ...), whose second argument is the driver's own function. */
SEC("fentry/drm_ioctl_kernel")
int aif_drm_ioctl(void *ctx)
{
	__u64 function = 0;

	if (!bpf_get_func_arg(ctx, 1, &function) && function)
		aif_driver(ctx, AIF_EBPF_DRIVER_BELOW, function, bpf_get_func_ip(ctx), aif_pc());
	return 0;
}

static __always_inline struct file *aif_file(unsigned int fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0;

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd))
		return 0;
	return file;
}

/* Elsewhere: at each system call, of which it looks for ioctl(). */
SEC("tp_btf/sys_enter")
int BPF_PROG(aif_sys_enter, struct aif_registers *regs, long number)
{
	__u32 pid, tid;
	struct file *file;
	__u64 function;

	if (number != AIF_SYS_IOCTL || !aif_who(&pid, &tid) || !aif_launching(pid))
		return 0;
	file = aif_file((unsigned int)AIF_ARGUMENT_0(regs));
	function = file ? aif_ioctl_function(file, (unsigned int)AIF_ARGUMENT_1(regs)) : 0;
	if (function)
		aif_driver(ctx, AIF_EBPF_DRIVER_SYSCALL, function, 0, AIF_PC(regs));
	return 0;
}
