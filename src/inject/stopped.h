/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/image.h"
#include "inject/stop_time.h"

#include <sys/user.h>

/* Is the kernel's struct sched_attr, in its first version: how a thread is scheduled. */
struct aif_stopped_schedule {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/*
 * Describes one thread of a running process that is stopped by ptrace. For a process with one thread that does nothing else:
 * the kernel frees what it traces when it ends.
 *
 * What counts as its stop begins when it has stopped: until then it goes on, or waits for a processor as without us. The kernel
 * does not say when that was; it is taken to be earlier than it was seen by all that this process ran or waited for a processor
 * since it last looked, for otherwise this process slept until the stop woke it.
 */
struct aif_stopped {
	const struct aif_image *im;
	pid_t tid;
	uint64_t stopped_ns; /* when the stop was seen */
	struct aif_stop_time time;
	uint64_t
		delay_ns; /* that the thread had waited for processors by then; UINT64_MAX: not known */
	struct user_regs_struct regs;
	uint64_t mask;
	uint8_t xstate[16384] __attribute__((aligned(64)));
	size_t xstate_len;
	struct aif_stopped_schedule schedule;
	bool is_hurried;     /* the thread is SCHED_FIFO now, and gets `schedule` back */
	bool ignores_traps;  /* its process ignores SIGTRAP */
	unsigned copy_stops; /* to come of a copy that is not over */
	int late_signal;     /* that came meanwhile */
};

/* Stops the thread where it is. 0; -EBUSY: it does not within a second, and is free when the calling process has ended; -EAGAIN:
 * it was stopped already, and stays so; -EPERM, -ESRCH. */
int aif_stopped_begin(struct aif_stopped *t, const struct aif_image *im, pid_t tid);
/* Takes over the thread that a stopped one has made with CLONE_PTRACE, once it has stopped: before its first instruction. 0, -ETIMEDOUT,
 * -ESRCH: it has ended. */
int aif_stopped_adopt(struct aif_stopped *t, const struct aif_image *im);
/* Has such a thread end, by the instruction `syscall` at `at`. */
void aif_stopped_exit(struct aif_stopped *t, uint64_t at);
/* Lets it go. */
void aif_stopped_end(struct aif_stopped *t);

int aif_stopped_get_regs(struct aif_stopped *t, struct user_regs_struct *ret);
int aif_stopped_set_regs(struct aif_stopped *t, const struct user_regs_struct *regs);

/* Saves and restores the rest of it: vector registers and the signal mask. */
int aif_stopped_save(struct aif_stopped *t);
void aif_stopped_restore(struct aif_stopped *t);

/* Has the thread go before all others, at root's leave, until it is let go: what it does for us takes a fraction of a millisecond, and
 * the thread would wait for its turn, twice perhaps, in which it cannot do its own work. What it forks is scheduled as ever. */
void aif_stopped_hurry(struct aif_stopped *t);

/* True if a signal waits for the thread, which the kernel is about to deliver. */
bool aif_stopped_has_signal(struct aif_stopped *t);
/* Returns true if the thread is in a restartable sequence (rseq(2)), in which it would go on without knowing that it was interrupted. */
bool aif_stopped_is_in_rseq(const struct aif_stopped *t);

/* Makes a system call in the thread, by the instruction at `at`. Its result; -ESRCH; -EFAULT: there is no such instruction. */
long aif_stopped_call(struct aif_stopped *t, uint64_t at, long nr, const uint64_t args[5]);

/* Has it copy memory by the instructions `rep movsb` and `syscall` at `at`. 0; -EFAULT: that memory is not there;
 * -ETIMEDOUT: it is at it; -ESRCH. */
int aif_stopped_copy(struct aif_stopped *t, uint64_t at, uint64_t to, uint64_t from, size_t len,
		     uint64_t until);

/* Waits for the end of such a copy. */
int aif_stopped_finish_copy(struct aif_stopped *t, uint64_t until);

/* Lets it run at `pc` on a stack that ends at `sp`. 0 or -ESRCH. */
int aif_stopped_run(struct aif_stopped *t, uint64_t pc, uint64_t sp);
/* Returns true while it runs on; false: it has crashed or ended, *ret_error says which (-EFAULT, -ESRCH). */
bool aif_stopped_runs(struct aif_stopped *t, int *ret_error);
/* Stops it again. 0 or -errno. */
int aif_stopped_again(struct aif_stopped *t);

/* True of signals that a fault raises. */
bool aif_stopped_is_fault(int sig);
/* All signals but those. */
uint64_t aif_stopped_all_signals(void);
