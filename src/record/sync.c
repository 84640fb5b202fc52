/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sync.h"

#include "base/clock.h"
#include "wire/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Names of a frame take a millisecond at most, but for the first one of a large file; those that come later are not in the
 * snapshot. */
#define NAMES_NS (10 * AIF_NS_PER_S)

int aif_syncs_add(struct aif_syncs *s, int sock, bool is_snapshot)
{
	int fd;

	if (s->len == AIF_SYNCS)
		return -EUSERS;
	fd = fcntl(sock, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	s->at[s->len++] =
		(struct aif_sync){.sock = fd, .stage = AIF_SYNC_JOIN, .is_snapshot = is_snapshot};
	return 0;
}

/* fd: the copy, which is closed; -1: none. */
static void answer(struct aif_sync *y, int error, int fd)
{
	enum aif_hello_status status = error < 0         ? AIF_HELLO_REPLY_FAILED
				       : !y->is_snapshot ? AIF_HELLO_REPLY_COMMITTED
				       : fd >= 0         ? AIF_HELLO_REPLY_OK
							 : AIF_HELLO_REPLY_ENDED;

	/* An error means that the asker has gone. */
	(void)aif_hello_reply_send(y->sock, status, fd);
	close(y->sock);
	if (fd >= 0)
		close(fd);
}

static void count_frames(struct aif_sync *y, struct aif_store *store)
{
	pthread_mutex_lock(&store->lock);
	y->frames = store->p.frames_len;
	pthread_mutex_unlock(&store->lock);
	y->names_until_ns = aif_now_ns() + NAMES_NS;
}

/* Returns whether the copy was made, or failed: *ret_error. */
static bool copy(struct aif_sync *y, struct aif_writer_thread *writer, int *ret_error, int *ret_fd)
{
	if (!y->is_asked) {
		/* Another one's is being made: this one's turn comes. */
		y->is_asked = aif_writer_thread_snapshot(writer) == 0;
		return false;
	}
	*ret_error = aif_writer_thread_take_snapshot(writer, ret_fd);
	return *ret_error != -EAGAIN;
}

/* Takes a request as far as it gets now. True: it has its answer, *ret_error and *ret_fd. */
static bool advance(struct aif_sync *y, bool is_joined, const struct aif_sync_threads *t,
		    int *ret_error, int *ret_fd)
{
	*ret_fd = -1;
	*ret_error = aif_writer_thread_error(t->writer, NULL);
	if (*ret_error < 0)
		return true;
	if (y->stage == AIF_SYNC_JOIN && is_joined) {
		y->ticket = aif_drain_thread_sync(t->drain);
		y->stage = AIF_SYNC_DRAIN;
	}
	if (y->stage == AIF_SYNC_DRAIN && aif_drain_thread_is_synced(t->drain, y->ticket)) {
		count_frames(y, t->store);
		y->stage = AIF_SYNC_NAME;
	}
	if (y->stage == AIF_SYNC_NAME && (!y->is_snapshot || aif_naming_has(t->naming, y->frames) ||
					  aif_now_ns() > y->names_until_ns)) {
		/* The drain thread has flushed before it said so. */
		y->flushes = aif_batches_flushes(&t->store->batches);
		y->stage = AIF_SYNC_COMMIT;
	}
	if (y->stage == AIF_SYNC_COMMIT && aif_writer_thread_has(t->writer, y->flushes)) {
		if (!y->is_snapshot)
			return true;
		y->stage = AIF_SYNC_COPY;
	}
	return y->stage == AIF_SYNC_COPY && copy(y, t->writer, ret_error, ret_fd);
}

void aif_syncs_look(struct aif_syncs *s, bool is_joined, const struct aif_sync_threads *t)
{
	for (unsigned i = s->len; i-- > 0;) {
		int error, fd;

		if (!advance(&s->at[i], is_joined, t, &error, &fd))
			continue;
		answer(&s->at[i], error, fd);
		s->at[i] = s->at[--s->len];
	}
}

void aif_syncs_finish(struct aif_syncs *s, int error)
{
	while (s->len)
		answer(&s->at[--s->len], error, -1);
}
