/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/library.h"

#include "agent/mpi/functions.h"

#include <string.h>

#define ANY_TAG             (-1) /* in both */
#define OPEN_MPI_ANY_SOURCE (-1)
#define MPICH_ANY_SOURCE    (-2)
#define MPICH_IGNORE        1 /* Open MPI's is NULL */

typedef int version_of(char *, int *);

static enum aif_mpi_abi abi_by_version(struct aif_mpi *m, version_of *ask)
{
	static const struct {
		const char *word;
		enum aif_mpi_abi abi;
	} words[] = {
		{"Open MPI", AIF_MPI_OPEN_MPI},  {"Spectrum MPI", AIF_MPI_OPEN_MPI},
		{"MPICH", AIF_MPI_MPICH},        {"MVAPICH", AIF_MPI_MPICH},
		{"Intel(R) MPI", AIF_MPI_MPICH}, {"ParaStation", AIF_MPI_MPICH},
	};
	int len = 0;

	if (ask(m->version, &len))
		return AIF_MPI_OTHER_ABI;
	m->version[sizeof(m->version) - 1] = '\0';
	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if (strstr(m->version, words[i].word))
			return words[i].abi;
	return AIF_MPI_OTHER_ABI;
}

/* Another library than the one that was asked first, or one of several, is asked nothing: handles may be of either. */
enum aif_mpi_abi aif_mpi_abi_of(struct aif_mpi *m)
{
	version_of *ask =
		(version_of *)aif_mpi_function(AIF_MPI_PMPI_Get_library_version, NULL, NULL);
	unsigned abi = atomic_load_explicit(&m->abi, memory_order_acquire);
	uintptr_t asked = atomic_load_explicit(&m->asked, memory_order_relaxed);

	if (!ask || (abi && asked != (uintptr_t)ask))
		return AIF_MPI_OTHER_ABI;
	if (abi)
		return (enum aif_mpi_abi)abi;
	abi = abi_by_version(m, ask);
	atomic_store_explicit(&m->asked, (uintptr_t)ask, memory_order_relaxed);
	atomic_store_explicit(&m->abi, abi, memory_order_release);
	return (enum aif_mpi_abi)abi;
}

size_t aif_mpi_request_size(struct aif_mpi *m)
{
	switch (aif_mpi_abi_of(m)) {
	case AIF_MPI_OPEN_MPI:
		return sizeof(void *);
	case AIF_MPI_MPICH:
		return sizeof(uint32_t);
	default:
		return 0;
	}
}

size_t aif_mpi_status_step(enum aif_mpi_abi abi)
{
	return abi == AIF_MPI_OPEN_MPI ? 24 : 20;
}

bool aif_mpi_is_any(enum aif_mpi_abi abi, int source, int tag)
{
	return tag == ANY_TAG ||
	       source == (abi == AIF_MPI_OPEN_MPI ? OPEN_MPI_ANY_SOURCE : MPICH_ANY_SOURCE);
}

bool aif_mpi_is_ignored(enum aif_mpi_abi abi, long status)
{
	return !status || (abi == AIF_MPI_MPICH && status == MPICH_IGNORE);
}

bool aif_mpi_status_read(enum aif_mpi_abi abi, const void *status, int *ret_source, int *ret_tag)
{
	int words[4];

	if (aif_mpi_is_ignored(abi, (long)(uintptr_t)status) ||
	    (abi != AIF_MPI_OPEN_MPI && abi != AIF_MPI_MPICH))
		return false;
	memcpy(words, status, sizeof(words));
	/* MPICH has two words of the count before. */
	*ret_source = words[abi == AIF_MPI_OPEN_MPI ? 0 : 2];
	*ret_tag = words[abi == AIF_MPI_OPEN_MPI ? 1 : 3];
	return true;
}
