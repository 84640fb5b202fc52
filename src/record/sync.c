/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sync.h"

#include "wire/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int aif_syncs_add(struct aif_syncs *s, int sock)
{
	int fd;

	if (s->len == AIF_SYNCS)
		return -EUSERS;
	fd = fcntl(sock, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	s->at[s->len++] = (struct aif_sync){.sock = fd, .stage = AIF_SYNC_JOIN};
	return 0;
}

static void answer(struct aif_sync *y, int error)
{
	/* An error means that the asker has gone. */
	(void)aif_hello_reply_send(
		y->sock, error < 0 ? AIF_HELLO_REPLY_FAILED : AIF_HELLO_REPLY_COMMITTED, -1);
	close(y->sock);
}

/* Takes a request as far as it gets now. True: it has its answer, *ret_error. */
static bool advance(struct aif_sync *y, bool is_joined, struct aif_store *store,
		    struct aif_drain_thread *drain, struct aif_writer_thread *writer,
		    int *ret_error)
{
	*ret_error = aif_writer_thread_error(writer, NULL);
	if (*ret_error < 0)
		return true;
	if (y->stage == AIF_SYNC_JOIN && is_joined) {
		y->ticket = aif_drain_thread_sync(drain);
		y->stage = AIF_SYNC_DRAIN;
	}
	if (y->stage == AIF_SYNC_DRAIN && aif_drain_thread_is_synced(drain, y->ticket)) {
		/* The drain thread has flushed before it said so. */
		y->flushes = aif_batches_flushes(&store->batches);
		y->stage = AIF_SYNC_COMMIT;
	}
	return y->stage == AIF_SYNC_COMMIT && aif_writer_thread_has(writer, y->flushes);
}

void aif_syncs_look(struct aif_syncs *s, bool is_joined, struct aif_store *store,
		    struct aif_drain_thread *drain, struct aif_writer_thread *writer)
{
	for (unsigned i = s->len; i-- > 0;) {
		int error;

		if (!advance(&s->at[i], is_joined, store, drain, writer, &error))
			continue;
		answer(&s->at[i], error);
		s->at[i] = s->at[--s->len];
	}
}

void aif_syncs_finish(struct aif_syncs *s, int error)
{
	while (s->len)
		answer(&s->at[--s->len], error);
}
