/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/target.h"

#include "base/proc.h"

#include <stdio.h>
#include <string.h>

/*
 * A program may install a seccomp filter at any time, and the filter may end the program at a system
 * call that only the agent makes. To ask for a filter is a system call, too, so the recorder looks from
 * outside. All threads of the program are taken to be as its main thread is: that is the one that
 * installs filters, and those for all threads are its as well.
 */

static uint64_t field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Filters, and the strict mode, as one number that grows; 0 also if nothing can be seen. */
static uint64_t filters_of(const char *status)
{
	/* The second line is there since Linux 5.9. */
	return field(status, "\nSeccomp:") + (field(status, "\nSeccomp_filters:") << 2);
}

static void read_status(int pid, char *text, size_t size)
{
	char path[64];

	*text = '\0';
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (pid > 0)
		aif_proc_read(path, text, size);
}

void aif_filter_begin(struct aif_target *t)
{
	char status[4096];

	read_status(t->pid, status, sizeof(status));
	t->filters = filters_of(status);
}

/* The helper and a main thread that has ended are all that is left. */
static bool is_left_alone(const char *status)
{
	return strstr(status, "\nState:\tZ") && field(status, "\nThreads:") == 2;
}

void aif_filter_look(struct aif_drainer *d, struct aif_target *t, bool is_due)
{
	char status[4096];
	enum aif_shm_filter filter = AIF_FILTER_NONE;

	if (!is_due && !aif_shm_is_asked(t->shm))
		return;
	read_status(t->pid, status, sizeof(status));
	if (!t->is_filtered && filters_of(status) > t->filters) {
		t->is_filtered = true;
		aif_store_loss(d->store, AIF_REASON_SECCOMP, t->process, AIF_NONE, 1);
	}
	if (t->is_filtered)
		filter = is_left_alone(status) ? AIF_FILTER_LAST : AIF_FILTER_ON;
	aif_shm_answer(t->shm, filter);
}
