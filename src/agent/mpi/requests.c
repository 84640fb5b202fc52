/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/entry.h"

#include <string.h>

/*
 * Requests of operations that are begun and waited for later. A request is known by its handle from the call that begins it to the one
 * that finds it done: then the library gives the handle to another one, so also tests of requests are seen here, which are not recorded.
 */

/* Requests of one call of which the agent knows. */
struct found {
	struct {
		int index; /* in the call's requests */
		struct aif_mpi_request *request;
		uint64_t handle;
	} at[AIF_MPI_REQUESTS];
	int len;
};

static uint64_t handle_at(const void *requests, size_t size, int i)
{
	uint64_t handle = 0;

	memcpy(&handle, (const char *)requests + (size_t)i * size, size);
	return handle;
}

/* Returns the request with a handle, NULL: none has it. */
static struct aif_mpi_request *request_of(struct aif_mpi *m, uint64_t handle)
{
	for (size_t i = 0; handle > AIF_MPI_REQUEST_TAKEN && i < AIF_MPI_REQUESTS; i++)
		if (atomic_load_explicit(&m->requests[i].handle, memory_order_acquire) == handle)
			return &m->requests[i];
	return NULL;
}

static void set(struct aif_mpi *m, struct aif_mpi_request *r, const struct aif_host_call_joint *j)
{
	atomic_store_explicit(&r->communicator, j->communicator, memory_order_relaxed);
	atomic_store_explicit(&r->number, j->number, memory_order_relaxed);
	atomic_store_explicit(&r->turn, atomic_fetch_add(&m->requests_turn, 1),
			      memory_order_relaxed);
}

void aif_mpi_request_begin(const void *request, const struct aif_host_call_joint *joint)
{
	struct aif_mpi *m = aif_mpi_get();
	size_t size = m && request ? aif_mpi_request_size(m) : 0;
	uint64_t handle = size ? handle_at(request, size, 0) : 0;
	struct aif_mpi_request *known = handle ? request_of(m, handle) : NULL;

	/* The end of the one that had the handle was not seen. */
	if (known)
		set(m, known, joint);
	for (size_t i = 0; !known && handle > AIF_MPI_REQUEST_TAKEN && i < AIF_MPI_REQUESTS; i++) {
		struct aif_mpi_request *r = &m->requests[i];
		uint64_t is = 0;

		if (!atomic_compare_exchange_strong(&r->handle, &is, AIF_MPI_REQUEST_TAKEN))
			continue;
		set(m, r, joint);
		atomic_fetch_add(&m->requests_live, 1);
		atomic_store_explicit(&r->handle, handle, memory_order_release);
		return;
	}
}

/* Finds which of a call's requests are known. False: none is. */
static bool find(const void *requests, long count, struct found *ret)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire);
	size_t size;

	ret->len = 0;
	if (!m || !requests || !atomic_load_explicit(&m->requests_live, memory_order_relaxed))
		return false;
	size = aif_mpi_request_size(m);
	for (int i = 0; size && i < (int)count && ret->len < AIF_MPI_REQUESTS; i++) {
		uint64_t handle = handle_at(requests, size, i);
		struct aif_mpi_request *r = request_of(m, handle);

		if (!r)
			continue;
		ret->at[ret->len].index = i;
		ret->at[ret->len].request = r;
		ret->at[ret->len++].handle = handle;
	}
	return ret->len > 0;
}

/* Forgets those of the found requests whose index is among `n` of `indices` (NULL: all), which are done, and sets *ret to the operation
 * of them that was begun last. */
static void end(const struct found *f, const int *indices, int n, struct aif_host_call_joint *ret)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire);
	uint64_t last = 0;

	*ret = (struct aif_host_call_joint){0};
	for (int i = 0; i < f->len; i++) {
		struct aif_mpi_request *r = f->at[i].request;
		uint64_t turn = atomic_load_explicit(&r->turn, memory_order_relaxed),
			 handle = f->at[i].handle;
		bool is_done = !indices;

		for (int k = 0; k < n && !is_done; k++)
			is_done = indices[k] == f->at[i].index;
		if (!is_done)
			continue;
		if (!ret->number || turn > last) {
			last = turn;
			ret->communicator =
				atomic_load_explicit(&r->communicator, memory_order_relaxed);
			ret->number = atomic_load_explicit(&r->number, memory_order_relaxed);
		}
		if (atomic_compare_exchange_strong(&r->handle, &handle, 0))
			atomic_fetch_sub(&m->requests_live, 1);
	}
}

/* ---- waits -------------------------------------------------------------------------------------- */

/* Leaves a call. has_ended: it found those done that end() names. */
static AIF_NOINLINE void leave(struct aif_mpi_entry *e, const struct found *f, bool has_ended,
			       const int *indices, int n)
{
	struct aif_host_call_joint joint = {0};

	if (has_ended && f->len)
		end(f, indices, n, &joint);
	aif_mpi_leave(e, &joint);
}

/* `done` and `n`: which are done, once the call has returned. */
#define WAIT(name, arguments, requests, count, done, n)                                \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_##arguments);                           \
	int name(AIF_MPI_PARAMETERS_##arguments)                                       \
	{                                                                              \
		int (*real)(AIF_MPI_PARAMETERS_##arguments), r;                        \
		struct aif_mpi_entry e = {0};                                          \
		struct found f;                                                        \
		bool is_numbered = find((const void *)(requests), count, &f);          \
                                                                                       \
		AIF_REGS_HERE(&e.regs);                                                \
		real = (int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_enter(         \
			&e, AIF_MPI_##name, __builtin_return_address(0), is_numbered); \
		if (!real)                                                             \
			return 0;                                                      \
		r = real(AIF_MPI_ARGUMENTS_##arguments);                               \
		if (e.token || is_numbered)                                            \
			leave(&e, &f, !r, (const int *)(done), (n));                   \
		return r;                                                              \
	}
/* MPI_Wait(request, status), MPI_Waitall(count, requests, statuses), MPI_Waitany(count, requests, index, status),
 * MPI_Waitsome(count, requests, out_count, indices, statuses) */
WAIT(MPI_Wait, 2, a1, 1, NULL, 0)
WAIT(MPI_Waitall, 3, a2, a1, NULL, 0)
WAIT(MPI_Waitany, 4, a2, a1, a3, 1)
WAIT(MPI_Waitsome, 5, a2, a1, a4, r ? 0 : *(const int *)a3)

/* ---- tests -------------------------------------------------------------------------------------- */

/* `flag`: where the call says whether any is done. */
#define TEST(name, arguments, requests, count, flag, done, n)                       \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_##arguments);                        \
	int name(AIF_MPI_PARAMETERS_##arguments)                                    \
	{                                                                           \
		int (*real)(AIF_MPI_PARAMETERS_##arguments) =                       \
			(int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_function(  \
				AIF_MPI_##name, __builtin_return_address(0), NULL); \
		struct aif_host_call_joint joint;                                   \
		struct found f;                                                     \
		bool any = find((const void *)(requests), count, &f);               \
		int r = real ? real(AIF_MPI_ARGUMENTS_##arguments) : 0;             \
                                                                                    \
		if (any && real && !r && *(const int *)(flag))                      \
			end(&f, (const int *)(done), (n), &joint);                  \
		return r;                                                           \
	}
/* MPI_Test(request, flag, status), MPI_Testall(count, requests, flag, statuses), MPI_Testany(count, requests, index, flag, status),
 * MPI_Testsome(count, requests, out_count, indices, statuses) */
TEST(MPI_Test, 3, a1, 1, a2, NULL, 0)
TEST(MPI_Testall, 4, a2, a1, a3, NULL, 0)
TEST(MPI_Testany, 5, a2, a1, a4, a3, 1)
TEST(MPI_Testsome, 5, a2, a1, a3, a4, *(const int *)a3)
