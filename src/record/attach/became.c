/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/became.h"

#include "base/clock.h"
#include "base/name_sanitize.h"
#include "base/proc.h"
#include "base/process.h"
#include "base/program_held.h"
#include "record/attach/attach.h"
#include "record/attach/attach_dir.h"
#include "record/attach/unprepared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A program has its libraries within milliseconds, as a rule. */
#define LOADING_NS (10 * AIF_NS_PER_S)
/* Programs in which none of the threads could be borrowed so far: each try lasts some seconds. */
#define TRIES_MOST 3
/* A process that becomes one program after the other is looked at less and less often: each look stops a thread. */
#define PAUSE_NS   (AIF_NS_PER_S / 5)
#define PAUSES_MAX 5 /* doublings */

void aif_became_watch(struct aif_became *b, int program, uid_t uid,
		      const struct aif_record_opts *opts)
{
	*b = (struct aif_became){
		.program = program, .uid = uid, .agent = opts->agent, .runtime = opts->runtime};
}

static void hold(struct aif_became *b, int program)
{
	if (b->program >= 0)
		close(b->program);
	b->program = program;
}

void aif_became_finish(struct aif_became *b)
{
	aif_inject_cancel(&b->in);
	hold(b, -1);
}

static void note(struct aif_attach *a, int pid, const struct aif_became_news *news)
{
	struct aif_became_news *n;
	char path[64];

	if (aif_grow(&a->news, &a->news_cap, a->news_len + 1, sizeof(*a->news)) < 0)
		return;
	n = &a->news[a->news_len++];
	*n = *news;
	n->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	aif_proc_read(path, n->name, sizeof(n->name));
	n->name[strcspn(n->name, "\n")] = '\0';
	aif_name_sanitize_in_place(n->name);
}

/* Gives a program up, and watches for the next. */
static void give_up(struct aif_attach *a, struct aif_attach_request *w, const char *why)
{
	struct aif_became_news news = {.pid = 0};

	snprintf(news.why, sizeof(news.why), "%s", why);
	note(a, w->pid, &news);
	w->became.has_left = false;
	hold(&w->became, aif_program_hold_in_time(w->pid));
}

/* Looks whether the program that has the agent is still there. */
static void look_for_end(struct aif_attach *a, struct aif_attach_request *w, uint64_t now)
{
	struct aif_became *b = &w->became;
	struct aif_standby_maps maps;

	if (aif_program_is_held(b->program) || aif_proc_has_ended(w->pid))
		return;
	/* Programs that bring the agent along come by themselves. */
	if (aif_standby_maps(w->pid, 0, &maps) == 0 && maps.has_agent) {
		hold(b, maps.is_injected ? aif_program_hold_in_time(w->pid) : -1);
		return;
	}
	aif_attach_left(a, w->pid);
	b->has_left = true;
	b->tries = 0;
	b->left_ns = now;
	b->next_ns = now + (PAUSE_NS << AIF_MIN(b->times, PAUSES_MAX)) - PAUSE_NS;
	b->times++;
	note(a, w->pid, &(struct aif_became_news){.has_left = true});
}

/* Begins to put the agent into the program that the process is now. */
static void begin(struct aif_attach *a, struct aif_attach_request *w, uint64_t now)
{
	const struct aif_inject_left none = {0};
	struct aif_became *b = &w->became;
	struct aif_err err = {0};
	int r;

	b->tries++;
	r = aif_unprepared_start(&b->in, w->pid, b->uid, b->agent, b->runtime, &none, b->standby,
				 &err);
	if (r == -EINPROGRESS && now - b->left_ns < LOADING_NS)
		b->tries--;
	else if (r < 0 && r != -ESRCH && ((r != -EAGAIN && r != -EBUSY) || b->tries >= TRIES_MOST))
		give_up(a, w, err.text);
}

static void end(struct aif_attach *a, struct aif_attach_request *w, uint64_t now)
{
	struct aif_inject_result result;
	struct aif_became *b = &w->became;
	struct aif_err err = {0};

	if (!aif_inject_poll(&b->in, 0, &result))
		return;
	if (result.error == -ESRCH) { /* that program is gone, too */
		b->next_ns = now + (PAUSE_NS << AIF_MIN(b->times, PAUSES_MAX));
		b->times++;
		b->tries = 0;
	} else if (result.error) {
		if (result.error != -EAGAIN || b->tries >= TRIES_MOST)
			give_up(a, w, result.text);
	} else if (aif_attach_use_standby(a, w->pid, b->uid, b->standby, &err) < 0) {
		close(result.program);
		give_up(a, w, err.text);
	} else {
		b->has_left = false;
		hold(b, result.program);
		note(a, w->pid, &(struct aif_became_news){.times = result.times});
	}
}

void aif_became_look(struct aif_attach *a, struct aif_attach_request *w, uint64_t now)
{
	struct aif_became *b = &w->became;

	/* Another process may have the number by now. */
	if (b->program < 0 || aif_attach_has_ended(w)) {
		if (b->in.injector)
			aif_inject_cancel(&b->in);
		return;
	}
	if (b->in.injector)
		end(a, w, now);
	else if (!b->has_left)
		look_for_end(a, w, now);
	if (b->has_left && !b->in.injector && now >= b->next_ns && !aif_proc_has_ended(w->pid))
		begin(a, w, now);
}

bool aif_became_is_gone(const struct aif_attach *a, int pid)
{
	for (unsigned i = 0; i < a->requests; i++)
		if (a->request[i].pid == pid && !aif_program_is_held(a->request[i].became.program))
			return true;
	return false;
}

bool aif_became_next(struct aif_attach *a, struct aif_became_news *ret)
{
	if (a->news_at == a->news_len)
		return false;
	*ret = a->news[a->news_at++];
	if (a->news_at == a->news_len)
		a->news_at = a->news_len = 0;
	return true;
}
