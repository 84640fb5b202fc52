/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"

/*
 * The functions of MPI that the agent calls: those that it stands in front of, and PMPI's, by which it asks. A library may be closed
 * and opened again, and two plugins may each have one of their own: so what was found is used while no module has come or gone, which
 * the loader counts, and for callers of that module where several define the function. In a process that nobody records, too.
 */
/* clang-format off */
#define AIF_MPI_OTHERS                                                                           \
	AIF_MPI_OTHER(MPI_Bsend_init)                                                            \
	AIF_MPI_OTHER(MPI_Cancel)                                                                \
	AIF_MPI_OTHER(MPI_Comm_disconnect)                                                       \
	AIF_MPI_OTHER(MPI_Comm_free)                                                             \
	AIF_MPI_OTHER(MPI_Improbe)                                                               \
	AIF_MPI_OTHER(MPI_Recv_init)                                                             \
	AIF_MPI_OTHER(MPI_Rsend_init)                                                            \
	AIF_MPI_OTHER(MPI_Send_init)                                                             \
	AIF_MPI_OTHER(MPI_Ssend_init)                                                            \
	AIF_MPI_OTHER(MPI_Test)                                                                  \
	AIF_MPI_OTHER(MPI_Testall)                                                               \
	AIF_MPI_OTHER(MPI_Testany)                                                               \
	AIF_MPI_OTHER(MPI_Testsome)                                                              \
	AIF_MPI_OTHER(PMPI_Comm_f2c)                                                             \
	AIF_MPI_OTHER(PMPI_Comm_group)                                                           \
	AIF_MPI_OTHER(PMPI_Comm_rank)                                                            \
	AIF_MPI_OTHER(PMPI_Comm_test_inter)                                                      \
	AIF_MPI_OTHER(PMPI_Get_library_version)                                                  \
	AIF_MPI_OTHER(PMPI_Group_free)                                                           \
	AIF_MPI_OTHER(PMPI_Group_size)                                                           \
	AIF_MPI_OTHER(PMPI_Group_translate_ranks)                                                \
	AIF_MPI_OTHER(PMPI_Query_thread)
/* clang-format on */

enum aif_mpi_function {
#define AIF_MPI_CALL(name, arguments, communicator) AIF_MPI_##name,
#include "agent/mpi/calls.def"
#undef AIF_MPI_CALL
#define AIF_MPI_OTHER(name) AIF_MPI_##name,
	AIF_MPI_OTHERS
#undef AIF_MPI_OTHER
		AIF_MPI_FUNCTIONS
};

/* Returns the function for a caller; NULL: there is none, or, without a caller, several modules define one. ret, unless NULL: what to
 * say of it. Takes the loader's lock of its list, which nobody holds while code of the program runs but in callbacks of
 * dl_iterate_phdr(), where it can be taken again. */
void *aif_mpi_function(enum aif_mpi_function which, const void *caller,
		       const struct aif_emit_api **ret);
