/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/mpi.h"

#include "agent/mpi/functions.h"
#include "agent/mpi/library.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

/* Least address, which handles of MPI's standard ABI are below. */
#define LEAST_ADDRESS 4096
/* Kind of a handle in MPICH, below the two bits that say where it is kept: a communicator. */
#define KIND_SHIFT     26
#define KIND_MASK      0xf
#define KIND_COMM      1
#define MPICH_WORLD    0x44000000
#define OPEN_MPI_WORLD 0 /* its number in Fortran */
#define RANKS_AT_ONCE  64
#define MULTIPLE       3 /* MPI_THREAD_MULTIPLE, in both */

/* Returns the key of a communicator in the table: its handle, without the bits that MPICH does not use. 0: the handle cannot be one of this
 * library's communicators. */
static uint64_t key_of(struct aif_mpi *m, uint64_t handle)
{
	switch (aif_mpi_abi_of(m)) {
	case AIF_MPI_OPEN_MPI:
		return handle >= LEAST_ADDRESS ? handle : 0;
	case AIF_MPI_MPICH:
		return ((uint32_t)handle >> KIND_SHIFT & KIND_MASK) == KIND_COMM ? (uint32_t)handle
										 : 0;
	default:
		return 0;
	}
}

/* Returns a handle's place, which it takes if it has none; NULL: all are taken. */
static struct aif_mpi_communicator *place_of(struct aif_mpi *m, uint64_t key, bool takes)
{
	for (uint64_t i = 0; key && i < AIF_MPI_COMMUNICATORS; i++) {
		struct aif_mpi_communicator *c =
			&m->communicators[(aif_mix64(key) + i) % AIF_MPI_COMMUNICATORS];
		uint64_t is = 0;

		if (atomic_load_explicit(&c->handle, memory_order_relaxed) == key)
			return c;
		if (takes && atomic_compare_exchange_strong(&c->handle, &is, key))
			return c;
		if (is == key)
			return c;
		if (!takes && !atomic_load_explicit(&c->handle, memory_order_relaxed))
			return NULL;
	}
	return NULL;
}

/* Returns how many communicators of that group the process has had, this one among them and MPI_COMM_WORLD not; 0: there are too many groups. */
static uint64_t nth_of_group(struct aif_mpi *m, uint64_t hash)
{
	for (size_t i = 0; i < AIF_MPI_COMMUNICATORS; i++) {
		struct aif_mpi_group *g = &m->groups[i];
		uint64_t is = 0;

		if (atomic_compare_exchange_strong(&g->hash, &is, hash) || is == hash)
			return atomic_fetch_add(&g->communicators, 1) + 1;
	}
	return 0;
}

/* Finds MPI_COMM_WORLD. False: it cannot be found. */
static bool world_of(struct aif_mpi *m, uint64_t *ret)
{
	uint64_t (*from_fortran)(long);

	*ret = MPICH_WORLD;
	if (aif_mpi_abi_of(m) == AIF_MPI_MPICH)
		return true;
	from_fortran = (uint64_t(*)(long))aif_mpi_function(AIF_MPI_PMPI_Comm_f2c, NULL, NULL);
	if (from_fortran)
		*ret = from_fortran(OPEN_MPI_WORLD);
	return from_fortran && *ret;
}

/* Hashes the places in the world of a group's ranks. 0: that failed, or the group has one rank. */
static uint64_t hash_ranks(uint64_t group, uint64_t world)
{
	int (*size)(uint64_t, int *) =
		(int (*)(uint64_t, int *))aif_mpi_function(AIF_MPI_PMPI_Group_size, NULL, NULL);
	int (*translate)(uint64_t, long, const int *, uint64_t, int *) =
		(int (*)(uint64_t, long, const int *, uint64_t, int *))aif_mpi_function(
			AIF_MPI_PMPI_Group_translate_ranks, NULL, NULL);
	int ranks[RANKS_AT_ONCE], of_world[RANKS_AT_ONCE], n = 0;
	uint64_t hash;

	if (!size || !translate || size(group, &n) || n < 2)
		return 0;
	hash = aif_mix64((uint64_t)n);
	for (int i = 0; i < n; i += RANKS_AT_ONCE) {
		int some = AIF_MIN(n - i, RANKS_AT_ONCE);

		for (int k = 0; k < some; k++)
			ranks[k] = i + k;
		if (translate(group, some, ranks, world, of_world))
			return 0;
		for (int k = 0; k < some; k++)
			hash = aif_mix64(hash ^ (uint32_t)of_world[k]);
	}
	return hash ? hash : 1;
}

/* True if communicators are first used in the same order on all of their ranks: threads that call at the same time have none, and a
 * process that had no place for one has not counted it. */
static bool is_order_known(struct aif_mpi *m)
{
	int (*ask)(int *) = (int (*)(int *))aif_mpi_function(AIF_MPI_PMPI_Query_thread, NULL, NULL);
	int threads = MULTIPLE;

	return !atomic_load_explicit(&m->is_full, memory_order_relaxed) && ask && !ask(&threads) &&
	       threads < MULTIPLE;
}

/* Asks MPI which ranks a communicator has. The functions called communicate with no other rank, and are PMPI's, so that a tool between
 * counts none as the program's.
 * A communicator between two groups has calls that wait for the other group's ranks, which are not here. MPI_COMM_WORLD is the 0th of
 * its group, whenever it is used first. */
static uint64_t identify(struct aif_mpi *m, uint64_t handle)
{
	int (*is_between)(uint64_t, int *) = (int (*)(uint64_t, int *))aif_mpi_function(
		AIF_MPI_PMPI_Comm_test_inter, NULL, NULL);
	int (*group_of)(uint64_t, uint64_t *) = (int (*)(uint64_t, uint64_t *))aif_mpi_function(
		AIF_MPI_PMPI_Comm_group, NULL, NULL);
	int (*release)(uint64_t *) =
		(int (*)(uint64_t *))aif_mpi_function(AIF_MPI_PMPI_Group_free, NULL, NULL);
	uint64_t group = 0, all = 0, world = 0, hash = 0, nth = 0, id;
	int between = 1;
	bool is_world;

	if (!is_between || !group_of || !release || !world_of(m, &world))
		return AIF_MPI_ID_NONE;
	is_world = key_of(m, handle) == key_of(m, world);
	if ((!is_world && !is_order_known(m)) || is_between(handle, &between) || between ||
	    group_of(handle, &group))
		return AIF_MPI_ID_NONE;
	if (!group_of(world, &all)) {
		hash = hash_ranks(group, all);
		(void)release(&all);
	}
	(void)release(&group);
	if (hash && !is_world)
		nth = nth_of_group(m, hash);
	id = hash && (nth || is_world) ? aif_mix64((hash + nth) ^ aif_agent.env.job)
				       : AIF_MPI_ID_NONE;
	return id ? id : AIF_MPI_ID_NONE;
}

/* Returns the place of a communicator whose calls are numbered, NULL: they are not. */
static struct aif_mpi_communicator *numbered(struct aif_mpi *m, uint64_t handle)
{
	int saved = errno;
	uint64_t key = key_of(m, handle), id;
	struct aif_mpi_communicator *c = place_of(m, key, true);

	errno = saved;
	if (!c) {
		if (key)
			atomic_store_explicit(&m->is_full, true, memory_order_relaxed);
		return NULL;
	}
	id = atomic_load_explicit(&c->id, memory_order_acquire);
	if (!id) {
		id = identify(m, handle);
		atomic_store_explicit(&c->id, id, memory_order_release);
		errno = saved;
	}
	return id == AIF_MPI_ID_NONE ? NULL : c;
}

uint64_t aif_mpi_count(struct aif_mpi *m, uint64_t handle, uint64_t *ret_communicator)
{
	struct aif_mpi_communicator *c = numbered(m, handle);

	*ret_communicator = 0;
	if (!c)
		return 0;
	*ret_communicator = atomic_load_explicit(&c->id, memory_order_relaxed);
	return atomic_fetch_add_explicit(&c->calls, 1, memory_order_relaxed) + 1;
}

/* Returns the process's rank in a communicator, below 0: it is not known. */
static int rank_in(struct aif_mpi_communicator *c, uint64_t handle)
{
	int saved = errno, rank = atomic_load_explicit(&c->rank, memory_order_relaxed) - 1;
	int (*ask)(uint64_t, int *);

	if (rank >= 0)
		return rank;
	ask = (int (*)(uint64_t, int *))aif_mpi_function(AIF_MPI_PMPI_Comm_rank, NULL, NULL);
	if (ask && !ask(handle, &rank) && rank >= 0)
		atomic_store_explicit(&c->rank, rank + 1, memory_order_relaxed);
	errno = saved;
	return rank;
}

int aif_mpi_rank(struct aif_mpi *m, uint64_t handle, uint64_t *ret_communicator)
{
	struct aif_mpi_communicator *c = numbered(m, handle);

	if (!c || atomic_load_explicit(&c->has_uncounted, memory_order_relaxed))
		return -1;
	*ret_communicator = atomic_load_explicit(&c->id, memory_order_relaxed);
	return rank_in(c, handle);
}

void aif_mpi_uncounted(struct aif_mpi *m, uint64_t handle)
{
	struct aif_mpi_communicator *c = numbered(m, handle);

	if (c)
		atomic_store_explicit(&c->has_uncounted, true, memory_order_relaxed);
}

void aif_mpi_forget(struct aif_mpi *m, const void *handle)
{
	struct aif_mpi_communicator *c;
	uint64_t key = 0;

	if (!handle)
		return;
	memcpy(&key, handle,
	       aif_mpi_abi_of(m) == AIF_MPI_OPEN_MPI ? sizeof(key) : sizeof(uint32_t));
	c = place_of(m, key_of(m, key), false);
	if (!c)
		return;
	atomic_store_explicit(&c->calls, 0, memory_order_relaxed);
	atomic_store_explicit(&c->rank, 0, memory_order_relaxed);
	atomic_store_explicit(&c->has_uncounted, false, memory_order_relaxed);
	atomic_store_explicit(&c->id, 0, memory_order_release);
}
