/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "inject/image.h"
#include "inject/payload.h"
#include "inject/stopped.h"

/*
 * Borrows one thread of a running process, by ptrace, to start another thread in it (payload_x86_64.S), and gives it back
 * as it was. Only that thread is stopped, and for no more than 20 ms, as far as it gets a processor: once it has stood still for
 * longer than a stop takes where there is one, nothing new is begun. The thread goes on as it was, and the next try, or that of
 * another thread, has less left to do.
 *
 * For a process with one thread that does nothing else: the kernel frees what it traces when it ends.
 */
/* Addresses in the target. */
struct aif_borrow_functions {
	uint64_t create, attr_init, attr_size, dlopen, dlsym, dlerror, self, detach;
	uint64_t agent;   /* the agent's own, where the process carries it; 0: not there */
	uint64_t syscall; /* an instruction `syscall` */
};

struct aif_borrow {
	struct aif_image *im;
	int program; /* of which all here is true (base/program_held.h) */
	struct aif_borrow_functions fn;
	struct aif_payload *payload;  /* what the new thread is given */
	uint64_t memory;              /* of the payload in the target; 0: not there */
	bool is_executable;           /* its first page, where the code is */
	struct aif_payload *page;     /* its second one and the stack, shared; NULL: not there */
	bool has_mapper;              /* the thread that maps it is there (mapper.h) */
	struct aif_stop_time longest; /* the longest stop of a thread */
	unsigned stops;               /* how often threads were stopped */
	uint64_t made_ns;             /* when the new thread was there */
	unsigned unsafe, handler, unknown, library, busy, late,
		tables;   /* why they were given back */
	unsigned waits;   /* looks until none of its threads waited to map memory */
	int create_error; /* that pthread_create() has returned */
};

/* Looks once for a thread that can be borrowed, and starts the new thread. 0; -EAGAIN: none can be now; -EBUSY: one does
 * not stop, and is free when the calling process has ended; -EPERM; -ESRCH: it has ended, or become another program; -EACCES: no memory for code; -ENOMEM: no memory;
 * -EFAULT: pthread_create() has crashed, which nothing else noticed; -ENOSPC: it has failed (create_error). */
int aif_borrow_start(struct aif_borrow *b);

/* Says why no thread could be borrowed. */
const char *aif_borrow_why_none(const struct aif_borrow *b);
