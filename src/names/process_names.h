/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Names of processes. A process goes by its number, or by its command if several that used a device
 * have the same number, as ranks in containers do (process 1 each). The command of an imported rank
 * names the rank: "python3 (rank 1)". If several files were imported, people see the command in any
 * case. The option --process takes both.
 */
struct aif_process_names {
	const struct aif_profile *p;
	bool *are_alike; /* by process: its number is another's, too */
	bool *are_shown; /* by process: people go by its name, which is no other's */
	bool any;        /* one is alike */
	bool any_shown;
};

/* 0 or -ENOMEM; finished by the caller in any case. */
int aif_process_names_init(struct aif_process_names *n, const struct aif_profile *p);
void aif_process_names_finish(struct aif_process_names *n);
/* NULL: the number is enough. AIF_NONE has none. */
const char *aif_process_names_get(const struct aif_process_names *n, uint32_t process);
/* For people, who know a rank by its name better than by its number. */
const char *aif_process_names_show(const struct aif_process_names *n, uint32_t process);
/* aif_process_names_get() without a table of all, in time that grows with the number of processes. */
const char *aif_process_name(const struct aif_profile *p, uint32_t process);
/* Appends "[python3, main thread loader 4711]": what threads' towers stand on; of AIF_NONE "[thread unknown]". */
void aif_thread_note(const struct aif_process_names *n, uint32_t thread, struct aif_buf *out);

/*
 * Towers of many threads. A program that makes hundreds of threads, one after another, would be drawn as a comb of towers that
 * nobody can read: where there are more than AIF_THREAD_TOWERS, those of a process that have the same name, but for its main
 * thread, share one.
 */
#define AIF_THREAD_TOWERS 100

struct aif_thread_groups {
	struct aif_process_names processes;
	uint32_t *
		threads; /* by thread: how many share its tower; 0: it has its own. NULL: all have */
};

/* Groups the threads of `at`, each there once, AIF_NONE too. 0 or -ENOMEM; finished by the caller in any case. */
int aif_thread_groups_init(struct aif_thread_groups *g, const struct aif_profile *p,
			   const uint32_t *at, size_t len);
void aif_thread_groups_finish(struct aif_thread_groups *g);
/* Appends what the thread's tower stands on: "[120 threads worker]", or aif_thread_note(). */
void aif_thread_groups_note(const struct aif_thread_groups *g, uint32_t thread,
			    struct aif_buf *out);
