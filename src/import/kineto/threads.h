/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "import/kineto/events.h"
#include "profile/model.h"

/* Threads that have spans, by the pid and tid of events. */
struct kineto;

struct kineto_thread {
	struct kineto_id pid, tid;
	uint32_t number; /* what it is called: .tid's, or what aiflame's export says that it was */
	uint32_t process, thread; /* of the profile */
	uint32_t name;            /* of the profile, AIF_NONE */
};
#define KINETO_THREADS_MAX (1u << 24)

struct kineto_threads {
	AIF_TABLE(kineto_thread, rows);
	struct aif_map ids;
	struct kineto_id last_pid, last_tid; /* of the thread that was asked for last */
	uint32_t last;
};

/* Returns a thread's number; KINETO_THREADS_MAX: there are too many. */
uint32_t kineto_thread(struct kineto *k, struct kineto_id pid, struct kineto_id tid);
/* Returns its row of the profile, made at first use. */
uint32_t kineto_thread_row(struct kineto *k, uint32_t thread);
void kineto_threads_finish(struct kineto_threads *t);
