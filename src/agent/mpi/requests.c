/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/entry.h"

#include "base/hash.h"

#include <string.h>

/*
 * Requests of operations that are begun and waited for later. A request is known by its handle from the call that begins it to the one
 * that finds it done: then the library gives the handle to another one, so also tests of requests are seen here, which are not recorded.
 */

/* Places that a request may have, from that of its handle on. */
#define PLACES 8

/* Requests of one call of which the agent knows. */
struct found {
	struct {
		int index; /* in the call's requests */
		struct aif_mpi_request *request;
		uint64_t handle;
	} at[AIF_MPI_WAITED];
	int len;
	bool any_joint, any_of_any; /* some are operations of all ranks; some are receives of any */
};

/* Operations and messages that a call has found done: the operation first, of several the one that was begun last. */
struct done {
	struct aif_host_call_joint at[1 + AIF_MPI_WAITED];
	size_t len;
};

static uint64_t handle_at(const void *requests, size_t size, int i)
{
	uint64_t handle = 0;

	memcpy(&handle, (const char *)requests + (size_t)i * size, size);
	return handle;
}

static struct aif_mpi_request *place(struct aif_mpi *m, uint64_t handle, size_t i)
{
	return &m->requests[(aif_mix64(handle) + i) % AIF_MPI_REQUESTS];
}

/* Returns the request with a handle, NULL: none has it. */
static struct aif_mpi_request *request_of(struct aif_mpi *m, uint64_t handle)
{
	for (size_t i = 0; handle > AIF_MPI_REQUEST_TAKEN && i < PLACES; i++)
		if (atomic_load_explicit(&place(m, handle, i)->handle, memory_order_acquire) ==
		    handle)
			return place(m, handle, i);
	return NULL;
}

static void set(struct aif_mpi *m, struct aif_mpi_request *r, const struct aif_host_call_joint *j,
		const struct aif_mpi_message *x)
{
	atomic_store_explicit(&r->communicator, j->communicator, memory_order_relaxed);
	atomic_store_explicit(&r->number, j->number, memory_order_relaxed);
	atomic_store_explicit(&r->message_of, x ? x->communicator : 0, memory_order_relaxed);
	atomic_store_explicit(&r->peer, x ? x->peer : 0, memory_order_relaxed);
	atomic_store_explicit(&r->tag, x ? x->tag : 0, memory_order_relaxed);
	atomic_store_explicit(&r->turn, atomic_fetch_add(&m->requests_turn, 1),
			      memory_order_relaxed);
}

/* Follows a request; x: its message, NULL: it is an operation. False: there is no place for it. */
static bool begin(const void *request, const struct aif_mpi_message *x,
		  const struct aif_host_call_joint *joint)
{
	struct aif_mpi *m = aif_mpi_get();
	size_t size = m && request ? aif_mpi_request_size(m) : 0;
	uint64_t handle = size ? handle_at(request, size, 0) : 0;
	struct aif_mpi_request *known = handle ? request_of(m, handle) : NULL;

	/* The end of the one that had the handle was not seen. */
	if (known) {
		set(m, known, joint, x);
		return true;
	}
	for (size_t i = 0; handle > AIF_MPI_REQUEST_TAKEN && i < PLACES; i++) {
		struct aif_mpi_request *r = place(m, handle, i);
		uint64_t is = 0;

		if (!atomic_compare_exchange_strong(&r->handle, &is, AIF_MPI_REQUEST_TAKEN))
			continue;
		set(m, r, joint, x);
		atomic_fetch_add(&m->requests_live, 1);
		atomic_store_explicit(&r->handle, handle, memory_order_release);
		return true;
	}
	return false;
}

void aif_mpi_request_begin(const void *request, const struct aif_host_call_joint *joint)
{
	(void)begin(request, NULL, joint);
}

void aif_mpi_request_begin_message(const void *request, const struct aif_mpi_message *x,
				   const struct aif_host_call_joint *joint)
{
	(void)begin(request, x, joint);
}

void aif_mpi_request_begin_any(const void *request, const struct aif_mpi_message *x)
{
	struct aif_mpi *m = aif_mpi_get();

	if (m && !begin(request, x, &(struct aif_host_call_joint){0}))
		aif_mpi_uncounted(m, x->communicator);
}

uint64_t aif_mpi_request_communicator(const void *request)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire);
	size_t size = m && request ? aif_mpi_request_size(m) : 0;
	struct aif_mpi_request *r = size ? request_of(m, handle_at(request, size, 0)) : NULL;

	return r ? atomic_load_explicit(&r->message_of, memory_order_relaxed) : 0;
}

static bool is_message(const struct aif_mpi_request *r)
{
	return atomic_load_explicit(&r->message_of, memory_order_relaxed) != 0;
}

/* True for a receive of any, which has no number yet. */
static bool is_of_any(const struct aif_mpi_request *r)
{
	return !atomic_load_explicit(&r->number, memory_order_relaxed);
}

/* Finds which of a call's requests are known. False: none is. */
static bool find(const void *requests, long count, struct found *ret)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire);
	size_t size;

	ret->len = 0;
	ret->any_joint = ret->any_of_any = false;
	if (!m || !requests || !atomic_load_explicit(&m->requests_live, memory_order_relaxed))
		return false;
	size = aif_mpi_request_size(m);
	for (int i = 0; size && i < (int)count; i++) {
		uint64_t handle = handle_at(requests, size, i);
		struct aif_mpi_request *r = request_of(m, handle);

		if (!r)
			continue;
		if (ret->len == AIF_MPI_WAITED) {
			if (is_of_any(r))
				aif_mpi_uncounted(m, atomic_load(&r->message_of));
			continue;
		}
		ret->any_joint |= !is_message(r);
		ret->any_of_any |= is_of_any(r);
		ret->at[ret->len].index = i;
		ret->at[ret->len].request = r;
		ret->at[ret->len++].handle = handle;
	}
	return ret->len > 0;
}

/* Returns the statuses to call with: `own`, of AIF_MPI_WAITED of them, where the program wants none and a receive of any is waited for. */
static long statuses_of(const struct found *f, long count, long statuses, void *own)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire);

	return f->any_of_any && (int)count <= AIF_MPI_WAITED &&
			       aif_mpi_is_ignored(aif_mpi_abi_of(m), statuses)
		       ? (long)(uintptr_t)own
		       : statuses;
}

/* Counts a message of which its status says whose it is. */
static void number_any(struct aif_mpi *m, const struct aif_mpi_request *r, const char *statuses,
		       int i, struct aif_host_call_joint *ret)
{
	enum aif_mpi_abi abi = aif_mpi_abi_of(m);
	struct aif_mpi_message x = {.communicator = atomic_load(&r->message_of),
				    .peer = atomic_load(&r->peer),
				    .tag = atomic_load(&r->tag),
				    .is_receive = true};

	if (aif_mpi_is_ignored(abi, (long)(uintptr_t)statuses)) {
		aif_mpi_uncounted(m, x.communicator);
		return;
	}
	aif_mpi_message_take(&x, statuses + (size_t)i * aif_mpi_status_step(abi));
	(void)aif_mpi_message_number(&x, ret);
}

/* Forgets those of the found requests whose index is among `n` of `indices` (NULL: all), which are done, and sets *ret to what they are.
 * statuses: of all requests, or of those done. */
static void end(const struct found *f, const int *indices, int n, const void *statuses,
		struct done *ret)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire);
	uint64_t last = 0;

	ret->at[0] = (struct aif_host_call_joint){0};
	ret->len = 1;
	for (int i = 0; i < f->len; i++) {
		struct aif_mpi_request *r = f->at[i].request;
		uint64_t turn = atomic_load_explicit(&r->turn, memory_order_relaxed),
			 handle = f->at[i].handle;
		struct aif_host_call_joint is = {
			atomic_load_explicit(&r->communicator, memory_order_relaxed),
			atomic_load_explicit(&r->number, memory_order_relaxed)};
		int status = f->at[i].index;
		bool is_done = !indices;

		for (int k = 0; k < n && !is_done; k++) {
			is_done = indices[k] == f->at[i].index;
			status = k;
		}
		if (!is_done)
			continue;
		if (is_of_any(r))
			number_any(m, r, statuses, status, &is);
		if (is_message(r)) {
			ret->at[ret->len++] = is;
		} else if (!ret->at[0].number || turn > last) {
			last = turn;
			ret->at[0] = is;
		}
		if (atomic_compare_exchange_strong(&r->handle, &handle, 0))
			atomic_fetch_sub(&m->requests_live, 1);
	}
}

/* ---- waits -------------------------------------------------------------------------------------- */

/* Leaves a call. has_ended: it found those done that end() names. Those of a wait that was short nobody waited for. */
static AIF_NOINLINE void leave(struct aif_mpi_entry *e, const struct found *f, bool has_ended,
			       const int *indices, int n, const void *statuses)
{
	struct done done;

	done.len = 0;
	if (has_ended && f->len)
		end(f, indices, n, statuses, &done);
	aif_mpi_leave(e, done.at, done.len);
}

/* `done` and `n`: which are done, once the call has returned. */
#define WAIT(name, arguments, requests, count, done, n, statuses)                          \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_##arguments);                               \
	int name(AIF_MPI_PARAMETERS_##arguments)                                           \
	{                                                                                  \
		int (*real)(AIF_MPI_PARAMETERS_##arguments), r;                            \
		struct aif_mpi_entry e = {0};                                              \
		struct found f;                                                            \
		bool is_any = find((const void *)(requests), count, &f);                   \
		AIF_MPI_STATUSES(own, AIF_MPI_WAITED);                                     \
                                                                                           \
		AIF_REGS_HERE(&e.regs);                                                    \
		real = (int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_enter(             \
			&e, AIF_MPI_##name, __builtin_return_address(0),                   \
			f.any_joint || f.any_of_any);                                      \
		if (!real)                                                                 \
			return 0;                                                          \
		if (f.any_of_any)                                                          \
			statuses = statuses_of(&f, count, statuses, own);                  \
		r = real(AIF_MPI_ARGUMENTS_##arguments);                                   \
		if (e.token || is_any)                                                     \
			leave(&e, &f, !r, (const int *)(done), n, (const void *)statuses); \
		return r;                                                                  \
	}
/* MPI_Wait(request, status), MPI_Waitall(count, requests, statuses), MPI_Waitany(count, requests, index, status),
 * MPI_Waitsome(count, requests, out_count, indices, statuses) */
WAIT(MPI_Wait, 2, a1, 1, NULL, 0, a2)
WAIT(MPI_Waitall, 3, a2, a1, NULL, 0, a3)
WAIT(MPI_Waitany, 4, a2, a1, a3, 1, a4)
WAIT(MPI_Waitsome, 5, a2, a1, a4, r ? 0 : *(const int *)a3, a5)

/* ---- tests -------------------------------------------------------------------------------------- */

static AIF_NOINLINE void end_tested(const struct found *f, const int *indices, int n,
				    const void *statuses)
{
	struct done done;

	end(f, indices, n, statuses, &done);
}

/* `flag`: where the call says whether any is done. */
#define TEST(name, arguments, requests, count, flag, done, n, statuses)                 \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_##arguments);                            \
	int name(AIF_MPI_PARAMETERS_##arguments)                                        \
	{                                                                               \
		int (*real)(AIF_MPI_PARAMETERS_##arguments) =                           \
			(int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_function(      \
				AIF_MPI_##name, __builtin_return_address(0), NULL);     \
		struct found f;                                                         \
		bool is_any = find((const void *)(requests), count, &f);                \
		AIF_MPI_STATUSES(own, AIF_MPI_WAITED);                                  \
		int r;                                                                  \
                                                                                        \
		if (!real)                                                              \
			return 0;                                                       \
		if (f.any_of_any)                                                       \
			statuses = statuses_of(&f, count, statuses, own);               \
		r = real(AIF_MPI_ARGUMENTS_##arguments);                                \
		if (is_any && !r && *(const int *)(flag))                               \
			end_tested(&f, (const int *)(done), n, (const void *)statuses); \
		return r;                                                               \
	}
/* MPI_Test(request, flag, status), MPI_Testall(count, requests, flag, statuses), MPI_Testany(count, requests, index, flag, status),
 * MPI_Testsome(count, requests, out_count, indices, statuses) */
TEST(MPI_Test, 3, a1, 1, a2, NULL, 0, a3)
TEST(MPI_Testall, 4, a2, a1, a3, NULL, 0, a4)
TEST(MPI_Testany, 5, a2, a1, a4, a3, 1, a5)
TEST(MPI_Testsome, 5, a2, a1, a3, a4, *(const int *)a3, a5)
