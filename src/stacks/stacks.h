/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "remote/python.h"
#include "remote/stop.h"

/*
 * Every thread's stack of a process that runs: native and Python frames in their true order, what the thread waits in, and
 * who holds it up. Seen from outside, once; the process goes on meanwhile.
 */

/* Threads and frames beyond these are not looked at. */
#define AIF_STACKS_THREADS_MAX 65536u
#define AIF_STACKS_FRAMES_MAX  512u

struct aif_stacks_frame {
	char *function, *file, *module; /* file, module: NULL if not known */
	uint32_t line;                  /* 0: not known */
	uint64_t address;               /* address of native code, in the process */
	bool is_python, is_inlined;
	bool is_interpreter; /* code of the Python interpreter itself */
};

/* Activities of a thread. */
enum aif_stacks_activity {
	AIF_STACKS_RUNS,
	AIF_STACKS_WAITS,   /* the thread waits in a system call */
	AIF_STACKS_FAULT,   /* outside of system calls: for a page */
	AIF_STACKS_STOPPED, /* the thread was stopped by a signal or a debugger */
	AIF_STACKS_ENDED,
	AIF_STACKS_UNKNOWN,
};

/* Kinds of locks that a futex is part of. */
enum aif_stacks_lock {
	AIF_STACKS_NO_LOCK,
	AIF_STACKS_MUTEX,
	AIF_STACKS_RWLOCK,
	AIF_STACKS_CONDITION,
	AIF_STACKS_SEMAPHORE,
	AIF_STACKS_BARRIER,
	AIF_STACKS_JOIN,
	AIF_STACKS_GIL,
	AIF_STACKS_FUTEX, /* another one */
};

struct aif_stacks_thread {
	int tid;
	uint32_t inner; /* thread number in the thread's own pid namespace */
	char name[64];
	char state; /* state letter of /proc: R, S, D, T, t, Z */
	enum aif_stacks_activity activity;
	struct aif_remote_call call; /* the system call of AIF_STACKS_WAITS */
	enum aif_stacks_lock lock;
	uint64_t lock_at;
	int holder;  /* thread that it waits for; 0: not known */
	char *waits; /* reason of the wait in words; NULL: does not wait */
	char wchan[64];
	bool was_stopped;
	uint64_t stop_ns;
	bool has_python, python_cut, holds_gil;
	/* the stack lies on a file system that a user serves, and was not read (base/mounts.h) */
	bool is_served;
	/* order of Python's frames among the native ones is not known: they stand together */
	bool unordered;
	/* Addresses, as they were taken. */
	uint64_t *pcs, *sps;
	struct aif_remote_walk walk;
	struct aif_python_frame *python;
	unsigned python_len;
	int error; /* -errno: no stack could be taken */
	/* Named, innermost first. */
	struct aif_stacks_frame *frames;
	size_t frames_len;
};

struct aif_stacks {
	int pid;
	uid_t uid;
	char *command;                     /* arguments of the process, or its name */
	struct aif_stacks_thread *threads; /* sorted by thread number */
	size_t len, cap, left_out;         /* left_out: threads beyond the bound */
	struct aif_remote_memory *memory;
	struct aif_remote_modules modules;
	struct aif_remote_python python;
	enum aif_remote_python_found python_found;
	struct aif_map python_states; /* thread's inner number -> its state */
	uint64_t longest_stop_ns;
	size_t stops;
	/* Threads that wait for each other: indices in `threads`, groups end with SIZE_MAX. */
	size_t *deadlocks;
	size_t deadlocks_len;
};

/* Looks at a process. 0; -ESRCH: there is none (any more); or another -errno with *err. finish() may be called at once. */
int aif_stacks_take(struct aif_stacks *s, int pid, struct aif_err *err);
void aif_stacks_finish(struct aif_stacks *s);

/* Gives frames their names, and says what threads wait in. 0 or -ENOMEM. */
int aif_stacks_name(struct aif_stacks *s);
int aif_stacks_waits(struct aif_stacks *s);
/* Groups of threads that wait for each other: fills s->deadlocks. 0 or -ENOMEM. */
int aif_stacks_deadlocks(struct aif_stacks *s);

/* Says why the memory of a process may not be read, and what to do. `scope`: yama's ptrace_scope, -1 without it. */
struct aif_stacks_refusal {
	int pid, tracer; /* tracer: process that traces it, 0 */
	uid_t uid, our_uid;
	bool has_ptrace; /* we have CAP_SYS_PTRACE */
	bool is_dumpable;
	int scope;
};
void aif_stacks_refused(const struct aif_stacks_refusal *r, struct aif_err *err);
/* Says it of a process, as it is. */
void aif_stacks_refused_by(int pid, struct aif_err *err);

struct aif_stacks_opts {
	bool full;    /* the interpreter's own frames, too */
	bool verbose; /* prints the cost of looking */
};
void aif_stacks_text(const struct aif_stacks *s, const struct aif_stacks_opts *o,
		     struct aif_buf *out);
void aif_stacks_json(const struct aif_stacks *s, struct aif_buf *out);
