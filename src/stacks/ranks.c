/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/ranks.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* ---- the first look: what is needed to compare ---- */

static uint64_t begun_in_all(const struct aif_collective_counts *c)
{
	uint64_t n = 0;

	for (size_t i = 0; c && i < AIF_COMMUNICATORS; i++)
		n += c->communicators[i].begun;
	return n;
}

static int trace(const struct aif_stacks_thread *t, struct aif_stacks_trace *ret)
{
	*ret = (struct aif_stacks_trace){
		.tid = t->tid, .native = t->pcs ? t->walk.depth : 0, .python = t->python_len};
	ret->words = malloc((ret->native + 2 * (size_t)ret->python + 1) * sizeof(*ret->words));
	if (!ret->words)
		return -ENOMEM;
	for (uint32_t i = 0; i < ret->native; i++)
		ret->words[i] = t->pcs[ret->native - 1 - i];
	for (uint32_t i = 0; i < ret->python; i++) {
		const struct aif_python_frame *f = &t->python[ret->python - 1 - i];

		ret->words[ret->native + 2 * i] = f->code;
		ret->words[ret->native + 2 * i + 1] = (uint64_t)f->lasti;
	}
	return 0;
}

static int look_first(struct aif_stacks_rank *r)
{
	struct aif_collective_counts *c;
	struct aif_err why = {0};
	struct aif_stacks s;
	int ret = aif_stacks_take(&s, r->pid, &why);

	if (!ret) {
		c = aif_stacks_counts(&s);
		r->begun = begun_in_all(c);
		free(c);
		r->traces = calloc(AIF_MAX(s.len, 1), sizeof(*r->traces));
		ret = r->traces ? 0 : -ENOMEM;
		for (size_t i = 0; i < s.len && !ret; i++) {
			ret = trace(&s.threads[i], &r->traces[i]);
			r->traces_len += !ret;
		}
	}
	aif_stacks_finish(&s);
	return ret == -ENOMEM ? ret : 0;
}

/* ---- the second ---- */

/* Frames of the thread from the operation outward, of one kind. */
static uint32_t outer_frames(const struct aif_stacks_thread *t, size_t from, bool python)
{
	uint32_t n = 0;

	for (size_t i = from; i < t->frames_len; i++)
		n += t->frames[i].is_python == python && !t->frames[i].is_inlined;
	return n;
}

/* True if the thread was in the same call of the same operation, as far as addresses say; a thread that is elsewhere: at the same
 * instruction. */
static bool is_same_place(const struct aif_stacks_rank *r, const struct aif_stacks_trace *before,
			  const struct aif_stacks_trace *now)
{
	const struct aif_stacks_thread *t = &r->s.threads[r->where.thread];
	const bool is_in = r->where.place != AIF_STACKS_ELSEWHERE;
	/* The operation's own frame goes on within it; its caller's does not. */
	uint32_t native = is_in ? AIF_MIN(outer_frames(t, r->where.frame + 1, false), now->native)
				: now->native;
	uint32_t python = is_in ? AIF_MIN(outer_frames(t, r->where.frame + 1, true), now->python)
				: now->python;

	if (!is_in && (before->native != now->native || before->python != now->python))
		return false;
	return before->native >= native && before->python >= python &&
	       !memcmp(before->words, now->words, native * sizeof(*now->words)) &&
	       !memcmp(before->words + before->native, now->words + now->native,
		       2 * (size_t)python * sizeof(*now->words));
}

static int compare_looks(struct aif_stacks_rank *r)
{
	struct aif_stacks_trace now;
	int ret;

	r->was_seen = r->traces_len > 0;
	r->has_moved = r->was_seen;
	if (!r->s.len || r->begun != begun_in_all(r->counts))
		return 0;
	ret = trace(&r->s.threads[r->where.thread], &now);
	for (size_t i = 0; !ret && i < r->traces_len; i++)
		if (r->traces[i].tid == now.tid)
			r->has_moved = !is_same_place(r, &r->traces[i], &now);
	free(now.words);
	return ret;
}

static int look_again(struct aif_stacks_rank *r)
{
	int ret = aif_stacks_take(&r->s, r->pid, &r->why);

	if (!ret) {
		r->counts = aif_stacks_counts(&r->s);
		ret = aif_stacks_name(&r->s);
	}
	if (!ret)
		ret = aif_stacks_waits(&r->s);
	if (!ret)
		ret = aif_stacks_deadlocks(&r->s);
	if (!ret) {
		aif_stacks_where(&r->s, &r->where);
		ret = compare_looks(r);
	}
	if (ret < 0 && !r->why.code)
		aif_err_set(&r->why, ret, "out of memory");
	return ret == -ENOMEM ? ret : 0;
}

int aif_stacks_job_look(struct aif_stacks_job *j, uint64_t apart_ns)
{
	uint64_t first = aif_now_ns(), passed;
	int r = 0;

	for (size_t i = 0; i < j->len && !r; i++)
		r = look_first(&j->ranks[i]);
	passed = aif_now_ns() - first;
	if (!r && passed < apart_ns) {
		uint64_t left = apart_ns - passed;

		nanosleep(&(struct timespec){.tv_sec = (time_t)(left / AIF_NS_PER_S),
					     .tv_nsec = (long)(left % AIF_NS_PER_S)},
			  NULL);
	}
	j->apart_ns = aif_now_ns() - first;
	for (size_t i = 0; i < j->len && !r; i++)
		r = look_again(&j->ranks[i]);
	return r;
}
