/* SPDX-License-Identifier: Apache-2.0 */
#include "top/session.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

/* Launches are kept longer than the window, as their executions may come later. */
#define LAUNCHES_NS (3 * AIF_NS_PER_S)
/* Bound of compressed chunks: 30 s of 50,000 launches a second are 8 MB. */
#define MAX_BYTES (64 << 20)

static uint64_t own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * AIF_NS_PER_S +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
}

int aif_top_session_begin(struct aif_top_session *s, const struct aif_top_options *o)
{
	int r = aif_live_reader_new(o->window_ns + LAUNCHES_NS, MAX_BYTES, &s->reader);

	s->o = o;
	s->cpu_ns = own_cpu();
	s->at_ns = aif_now_ns();
	s->info = (struct aif_top_info){.what = o->what, .recorder_cpu = -1, .own_cpu = -1};
	s->info.recording = *s->source.name ? s->source.name : NULL;
	return r ? r : aif_top_new(&s->top);
}

void aif_top_session_end(struct aif_top_session *s)
{
	aif_top_free(s->top);
	aif_live_reader_free(s->reader);
}

int aif_top_session_read(struct aif_top_session *s, unsigned *ret_commits, struct aif_err *err)
{
	static uint8_t bytes[256 << 10];
	ssize_t n = read(s->source.stream, bytes, sizeof(bytes));

	*ret_commits = 0;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	s->source.stream_ended = n <= 0;
	if (n <= 0)
		return -ENODATA;
	return aif_live_feed(s->reader, bytes, (size_t)n, ret_commits, err);
}

void aif_top_session_measure(struct aif_top_session *s)
{
	const struct aif_live_commit *c = aif_live_last(s->reader);
	uint64_t now = aif_now_ns(), cpu = own_cpu();

	if (now - s->at_ns >= AIF_NS_PER_S / 2) {
		s->info.own_cpu = (double)(cpu - s->cpu_ns) / (double)(now - s->at_ns);
		s->cpu_ns = cpu;
		s->at_ns = now;
	}
	if (!s->commit_ns || c->now_ns - s->commit_ns >= AIF_NS_PER_S / 2) {
		if (s->commit_ns)
			s->info.recorder_cpu = (double)(c->recorder_cpu_ns - s->recorder_ns) /
					       (double)(c->now_ns - s->commit_ns);
		s->recorder_ns = c->recorder_cpu_ns;
		s->commit_ns = c->now_ns;
	}
	s->info.recorder = c->pid;
	s->info.missed = c->missed + aif_live_dropped(s->reader);
}

int aif_top_session_analyse(struct aif_top_session *s, enum aif_top_view view, struct aif_err *err)
{
	int r = aif_top_analyse(s->top, aif_live_profile(s->reader), s->o->window_ns, view,
				s->o->pids, &s->model, err);

	aif_top_session_measure(s);
	return r;
}
