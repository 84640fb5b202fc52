/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/target.h"

#include "base/proc.h"
#include "wire/handshake.h"

#include <stdio.h>
#include <string.h>

/*
 * A program may install a seccomp filter at any time, and the filter may end the program at a system
 * call that only the agent makes. The agent sees most of them come (agent/sandbox.h), and says how many forbid nothing of
 * what it calls. For those that it does not see the recorder looks from outside: to ask for a filter is a system call, too.
 * All threads of the program are taken to be as its main thread is: that is the one that installs filters, and those for
 * all threads are its as well.
 */

static uint64_t field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
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

	if (!t->shm) /* without an agent: record --ebpf */
		return;
	read_status(t->pid, status, sizeof(status));
	t->filters = aif_proc_filters(status);
	/* Filters that it installed before it came are new, too. */
	if (t->shm->filters != AIF_FILTERS_UNKNOWN)
		t->filters.len = AIF_MIN(t->filters.len, t->shm->filters);
}

/* The helper and a main thread that has ended are all that is left. */
static bool is_left_alone(const char *status)
{
	return strstr(status, "\nState:\tZ") && field(status, "\nThreads:") == 2;
}

/* Returns what the target's main thread has ended with, as of wait(). */
static uint32_t main_status(int pid)
{
	const char *status;
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	aif_proc_read(path, text, sizeof(text));
	status = aif_proc_stat_field(text, 52);
	return status ? (uint32_t)strtoul(status, NULL, 10) : 0;
}

/* True if the target has a filter more than at first and than those that its agent has found harmless. */
static bool has_another(const struct aif_target *t, const char *status)
{
	struct aif_proc_filters now = aif_proc_filters(status);
	uint32_t harmless = atomic_load(&t->shm->harmless_filters);

	if (now.mode == 1 && t->filters.mode != 1)
		return true;
	if (!now.len) /* Linux does not say */
		return now.mode > t->filters.mode && !harmless;
	return now.len > t->filters.len && now.len - t->filters.len > harmless;
}

/* Tells once of a filter, and once that the agent's thread has ended for good. */
static void report(struct aif_drainer *d, struct aif_target *t, bool is_filtered)
{
	if (is_filtered && !t->is_filtered) {
		t->is_filtered = true;
		aif_store_loss(d->store, AIF_REASON_SECCOMP, t->process, AIF_NONE, 1);
	}
	if (!t->is_helper_gone && atomic_load(&t->shm->helper_gone)) {
		t->is_helper_gone = true;
		aif_store_loss(d->store, AIF_REASON_HELPER_GONE, t->process, AIF_NONE, 1);
	}
}

void aif_filter_last(struct aif_drainer *d, struct aif_target *t)
{
	report(d, t, atomic_load(&t->shm->filtered));
}

void aif_filter_look(struct aif_drainer *d, struct aif_target *t, bool is_due)
{
	char status[4096];
	enum aif_shm_filter filter = AIF_FILTER_NONE;

	if (!is_due && !aif_shm_is_asked(t->shm))
		return;
	read_status(t->pid, status, sizeof(status));
	report(d, t, atomic_load(&t->shm->filtered) || has_another(t, status));
	if (t->is_filtered)
		filter = is_left_alone(status) ? AIF_FILTER_LAST : AIF_FILTER_ON;
	if (filter == AIF_FILTER_LAST)
		atomic_store(&t->shm->main_status, main_status(t->pid));
	aif_shm_answer(t->shm, filter);
}
