/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/image.h"
#include "inject/payload.h"

/*
 * Borrows one thread of a running process, by ptrace, to start another thread in it (payload_x86_64.S), and gives it back
 * as it was. Only that thread is stopped, and not for longer than AIF_BORROW_NS, as far as it gets a processor: after half of
 * that nothing new is begun. The thread goes on as it was, and the next try, or that of another thread, has less left to do.
 *
 * For a process with one thread that does nothing else: the kernel frees what it traces when it ends.
 */
#define AIF_BORROW_NS UINT64_C(20000000)

/* Addresses in the target. */
struct aif_borrow_functions {
	uint64_t create, dlopen, dlsym, dlerror, self, detach;
	uint64_t syscall; /* an instruction `syscall` */
};

struct aif_borrow {
	struct aif_image *im;
	struct aif_borrow_functions fn;
	const struct aif_payload *payload; /* what the new thread is given */
	uint64_t memory;                   /* of the payload in the target; 0: not there */
	bool is_executable;                /* its first page, where the code is */
	uint64_t longest_ns; /* that a thread was stopped, counted from when it was asked to */
	unsigned stops;      /* threads that were stopped */
	unsigned unsafe, handler, unknown, library, busy, late,
		tables;   /* why they were given back */
	int create_error; /* that pthread_create() has returned */
};

/* Looks once for a thread that can be borrowed, and starts the new thread. 0; -EAGAIN: none can be now; -EBUSY: one does
 * not stop, and is free when the calling process has ended; -EPERM, -ESRCH; -EACCES: no memory for code; -ENOMEM: no memory;
 * -EFAULT: pthread_create() has crashed, which nothing else noticed; -ENOSPC: it has failed (create_error). */
int aif_borrow_start(struct aif_borrow *b);

/* Says why no thread could be borrowed. */
const char *aif_borrow_why_none(const struct aif_borrow *b);
