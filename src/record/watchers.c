/* SPDX-License-Identifier: Apache-2.0 */
#include "record/watchers.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define WATCHERS 4
/* Bytes that wait for one watcher; beyond, it gets no rows until it has read them. */
#define BACKLOG ((size_t)16 << 20)
/* An own watcher that reads nothing for so long has its hands full, or has failed. */
#define LAST_MS 10000

struct aif_watchers {
	pthread_mutex_t lock; /* of .added */
	struct {
		int fd;
		bool is_own;
	} added[WATCHERS];
	unsigned added_len, len;
	struct watcher {
		int fd;
		bool is_own;
		struct aif_live_writer to;
		size_t sent; /* of to.out */
		uint64_t missed;
	} at[WATCHERS];
};

int aif_watchers_new(struct aif_watchers **ret)
{
	struct aif_watchers *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	return 0;
}

static size_t waiting(const struct watcher *w)
{
	return w->to.out.len - w->sent;
}

/* False: nobody reads any more. */
static bool send_some(struct watcher *w)
{
	while (waiting(w)) {
		ssize_t n = send(w->fd, w->to.out.data + w->sent, waiting(w),
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		w->sent += (size_t)n;
	}
	aif_buf_clear(&w->to.out);
	w->sent = 0;
	return true;
}

/* Waits for an own watcher that has not read all. */
static void send_rest(struct watcher *w)
{
	while (w->is_own && waiting(w) &&
	       poll(&(struct pollfd){.fd = w->fd, .events = POLLOUT}, 1, LAST_MS) > 0 &&
	       send_some(w))
		continue;
}

static void forget(struct aif_watchers *w, unsigned i)
{
	close(w->at[i].fd);
	aif_live_writer_finish(&w->at[i].to);
	w->at[i] = w->at[--w->len];
}

void aif_watchers_free(struct aif_watchers *w)
{
	if (!w)
		return;
	while (w->len) {
		send_rest(&w->at[w->len - 1]);
		forget(w, w->len - 1);
	}
	while (w->added_len)
		close(w->added[--w->added_len].fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int aif_watchers_add(struct aif_watchers *w, int fd, bool is_own)
{
	int r = -EUSERS;

	pthread_mutex_lock(&w->lock);
	if (w->added_len < WATCHERS) {
		w->added[w->added_len].fd = fd;
		w->added[w->added_len++].is_own = is_own;
		r = 0;
	}
	pthread_mutex_unlock(&w->lock);
	if (r < 0)
		close(fd);
	return r;
}

static void take_added(struct aif_watchers *w)
{
	pthread_mutex_lock(&w->lock);
	for (unsigned i = 0; i < w->added_len; i++) {
		if (w->len == WATCHERS)
			close(w->added[i].fd);
		else
			w->at[w->len++] = (struct watcher){.fd = w->added[i].fd,
							   .is_own = w->added[i].is_own};
	}
	w->added_len = 0;
	pthread_mutex_unlock(&w->lock);
}

void aif_watchers_chunk(void *watchers, enum aif_chunk_kind kind, size_t rows, const void *data,
			size_t size)
{
	struct aif_watchers *w = watchers;

	for (unsigned i = w->len; i-- > 0;) {
		struct watcher *at = &w->at[i];

		/* The tables come first, for the sizes of rows are compared then. */
		if (!at->to.has_begun)
			continue;
		if (waiting(at) > BACKLOG)
			at->missed++;
		else if (aif_live_chunk(&at->to, kind, rows, data, size) < 0)
			forget(w, i);
	}
}

void aif_watchers_flush(struct aif_watchers *w)
{
	for (unsigned i = w->len; i-- > 0;)
		if (waiting(&w->at[i]) && !send_some(&w->at[i]))
			forget(w, i);
}

static uint64_t ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * AIF_NS_PER_S + (uint64_t)tv.tv_usec * 1000;
}

static uint64_t resident(void)
{
	unsigned long long total = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%llu %llu", &total, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void aif_watchers_commit(struct aif_watchers *w, const struct aif_profile *p, uint64_t file_bytes)
{
	struct aif_live_commit c = {
		.now_ns = aif_now_ns(), .file_bytes = file_bytes, .pid = (uint32_t)getpid()};
	struct rusage own;

	take_added(w);
	if (!w->len)
		return;
	getrusage(RUSAGE_SELF, &own);
	c.recorder_cpu_ns = ns(own.ru_utime) + ns(own.ru_stime);
	c.recorder_rss = resident();
	for (unsigned i = w->len; i-- > 0;) {
		struct watcher *at = &w->at[i];

		if (waiting(at) > BACKLOG)
			continue;
		c.missed = at->missed;
		if (aif_live_tables(&at->to, p) < 0 || aif_live_commit(&at->to, &c) < 0 ||
		    !send_some(at))
			forget(w, i);
	}
}
