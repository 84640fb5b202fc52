/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/channels.h"

#include "base/hash.h"

#include <errno.h>

/* Places that a channel may have, from that of its key on. */
#define PLACES 16

/* Returns a channel's place, which it takes if it has none; NULL: all are taken. */
static struct aif_mpi_channel *place_of(struct aif_mpi *m, uint64_t key)
{
	for (uint64_t i = 0; i < PLACES; i++) {
		struct aif_mpi_channel *c = &m->channels[((key >> 1) + i) % AIF_MPI_CHANNELS];
		uint64_t is = atomic_load_explicit(&c->key, memory_order_relaxed);

		if (is == key || (!is && atomic_compare_exchange_strong(&c->key, &is, key)) ||
		    is == key)
			return c;
	}
	return NULL;
}

static bool number(struct aif_mpi *m, const struct aif_mpi_message *x, bool is_ahead,
		   struct aif_host_call_joint *ret)
{
	struct aif_mpi_channel *c;
	uint64_t communicator, key, n;
	int self;

	/* MPI_PROC_NULL is below 0. */
	if (x->peer < 0 || x->tag < 0)
		return true;
	self = aif_mpi_rank(m, x->communicator, &communicator);
	if (self < 0)
		return false;
	if (x->peer == self)
		return true;
	key = x->is_receive ? (uint64_t)(uint32_t)x->peer << 32 | (uint32_t)self
			    : (uint64_t)(uint32_t)self << 32 | (uint32_t)x->peer;
	key = aif_mix64(aif_mix64(communicator ^ aif_mix64(key)) + (uint32_t)x->tag);
	key &= ~AIF_MPI_RECEIVES;
	c = place_of(m, key ? key : 2);
	if (!c)
		return false;
	n = is_ahead ? atomic_load_explicit(&c->messages, memory_order_relaxed)
		     : atomic_fetch_add_explicit(&c->messages, 1, memory_order_relaxed);
	*ret = (struct aif_host_call_joint){key | (x->is_receive ? AIF_MPI_RECEIVES : 0), n + 1};
	return true;
}

bool aif_mpi_message_number(const struct aif_mpi_message *x, struct aif_host_call_joint *ret)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	*ret = (struct aif_host_call_joint){0};
	return m && number(m, x, false, ret);
}

void aif_mpi_message_next(const struct aif_mpi_message *x, struct aif_host_call_joint *ret)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	*ret = (struct aif_host_call_joint){0};
	if (m)
		(void)number(m, x, true, ret);
}

bool aif_mpi_message_is_any(const struct aif_mpi_message *x)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	return m && (x->peer < 0 || x->tag < 0) &&
	       aif_mpi_is_any(aif_mpi_abi_of(m), x->peer, x->tag);
}

long aif_mpi_message_status(const struct aif_mpi_message *x, long status, void *own)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	return m && aif_mpi_message_is_any(x) && aif_mpi_is_ignored(aif_mpi_abi_of(m), status)
		       ? (long)(uintptr_t)own
		       : status;
}

void aif_mpi_message_take(struct aif_mpi_message *x, const void *status)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	if (m && aif_mpi_message_is_any(x))
		(void)aif_mpi_status_read(aif_mpi_abi_of(m), status, &x->peer, &x->tag);
}
