/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ending.h"

#include "base/proc.h"
#include "base/signals.h"
#include "record/cupti_crashes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

int aif_ending_code(const struct aif_ending *e)
{
	if (!e->has_ended)
		return 0;
	return WIFSIGNALED(e->status) ? 128 + WTERMSIG(e->status) : WEXITSTATUS(e->status);
}

int aif_ending_crash(const struct aif_ending *e)
{
	int number = aif_ending_code(e) - 128;

	return aif_signal_is_crash(number) ? number : 0;
}

/* The process that ended the command, if it had CUPTI in use then. Its signal ended the command
 * itself, or one of which it tells as shells do: that is the last one. */
static const struct aif_drain_cupti *find_crashed(const struct aif_ending *e,
						  const struct aif_drain_stats *st)
{
	if (!aif_ending_crash(e))
		return NULL;
	for (unsigned i = st->cupti_len; i-- > 0;) {
		const struct aif_drain_cupti *c = &st->cupti[i];

		if (c->ended && c->its.in_use && (c->pid == e->pid || !WIFSIGNALED(e->status)))
			return c;
	}
	return NULL;
}

#define MAX_TIDS 256

/* Returns the place in which the process ended, by the kernel's log. */
static enum aif_fault_place find_place(const struct aif_ending *e, struct aif_store *s,
				       uint32_t process, char library[64])
{
	uint32_t tids[MAX_TIDS];
	struct aif_fault_of of = {.tids = tids};
	char names[2][512];

	pthread_mutex_lock(&s->lock);
	tids[of.tids_len++] = s->p.processes[process].pid;
	for (size_t i = 0; i < s->p.threads_len && of.tids_len < MAX_TIDS; i++)
		if (s->p.threads[i].process == process)
			tids[of.tids_len++] = s->p.threads[i].tid;
	snprintf(names[0], sizeof(names[0]), "%s",
		 aif_profile_str(&s->p, s->p.processes[process].exe));
	snprintf(names[1], sizeof(names[1]), "%s",
		 aif_profile_str(&s->p, s->p.processes[process].cmdline));
	pthread_mutex_unlock(&s->lock);
	of.names[0] = names[0];
	of.names[1] = names[1];
	names[1][strcspn(names[1], " ")] = '\0';
	return aif_kernel_log_find(e->kernel_log, &of, library);
}

/* The number of the command's process in the store, of which there may be none. */
static uint32_t find_command(const struct aif_ending *e, struct aif_store *s)
{
	uint32_t found = AIF_NONE;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->p.processes_len; i++)
		if (s->p.processes[i].pid == (uint32_t)e->pid)
			found = (uint32_t)i;
	pthread_mutex_unlock(&s->lock);
	return found;
}

static bool has_id(const struct aif_drain_cupti *c)
{
	static const uint8_t none[AIF_SHM_CUPTI_ID];

	return memcmp(c->its.id, none, sizeof(none)) != 0;
}

static bool remember(const struct aif_ending *e, struct aif_store *s,
		     const struct aif_drain_cupti *c)
{
	struct aif_cupti_crash crash = {.use = c->its.use};
	time_t now = time(NULL);
	struct tm tm;

	if (!has_id(c) || !localtime_r(&now, &tm))
		return false;
	memcpy(crash.id, c->its.id, sizeof(crash.id));
	strftime(crash.date, sizeof(crash.date), "%Y-%m-%d", &tm);
	snprintf(crash.signal, sizeof(crash.signal), "%s", aif_signal_name(aif_ending_crash(e)));
	pthread_mutex_lock(&s->lock);
	snprintf(crash.command, sizeof(crash.command), "%s", aif_profile_meta(&s->p, "command"));
	pthread_mutex_unlock(&s->lock);
	return aif_cupti_crashes_add(&crash) == 0;
}

int64_t aif_ending_oom_kills(void)
{
	static const char key[] = "\noom_kill ";
	char text[16384]; /* 5,000 bytes on Linux 6.1 */
	const char *at;

	if (aif_proc_read("/proc/vmstat", text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, key);
	return at ? (int64_t)strtoull(at + strlen(key), NULL, 10) : -1;
}

static void put_number(struct aif_store *s, const char *key, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	aif_store_meta(s, key, text);
}

static void describe_cupti(struct aif_store *s, const struct aif_drain_cupti *c)
{
	char id[AIF_CUPTI_ID_TEXT];

	aif_cupti_id_text(c->its.id, id);
	aif_store_meta(s, "cupti.use", aif_cupti_use_name(c->its.use));
	put_number(s, "cupti.version", c->its.version);
	if (has_id(c))
		aif_store_meta(s, "cupti.id", id);
}

void aif_ending_describe(const struct aif_ending *e, struct aif_store *s,
			 const struct aif_drain_stats *st)
{
	const struct aif_drain_cupti *crashed = find_crashed(e, st),
				     *last = st->cupti_len ? &st->cupti[st->cupti_len - 1] : NULL;
	uint32_t process = crashed               ? crashed->process
			   : aif_ending_crash(e) ? find_command(e, s)
						 : AIF_NONE;
	enum aif_fault_place place = AIF_FAULT_UNKNOWN;
	char library[64] = "";
	bool is_remembered;

	if (process != AIF_NONE)
		place = find_place(e, s, process, library);
	/* The kernel's log never has an abort, which mostly is the program's own: an exception that
	 * nobody caught. */
	is_remembered = crashed && place != AIF_FAULT_ELSEWHERE &&
			(place != AIF_FAULT_UNKNOWN || aif_ending_crash(e) != SIGABRT) &&
			remember(e, s, crashed);
	pthread_mutex_lock(&s->lock);
	if (crashed || last)
		describe_cupti(s, crashed ? crashed : last);
	if (e->has_ended)
		put_number(s, "exit_status", (uint32_t)aif_ending_code(e));
	if (e->has_ended && WIFSIGNALED(e->status))
		put_number(s, "end.signal", (uint32_t)WTERMSIG(e->status));
	if (e->has_ended && WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGKILL &&
	    e->oom_kills >= 0)
		aif_store_meta(s, "end.oom", e->oom_kills ? "1" : "0");
	if (e->by_kill)
		aif_store_meta(s, "end.by", "--kill");
	if (*library)
		aif_store_meta(s, "end.in", library);
	if (is_remembered)
		aif_store_meta(s, "end.remembered",
			       place == AIF_FAULT_CUPTI ? "libcupti" : "suspected");
	pthread_mutex_unlock(&s->lock);
}
