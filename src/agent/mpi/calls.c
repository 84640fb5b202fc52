/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/mpi.h"

#include "agent/memory/pages.h"
#include "agent/mpi/functions.h"
#include "agent/sandbox.h"

#include <errno.h>
#include <sys/mman.h>

struct entry {
	struct aif_regs regs;
	const struct aif_emit_api *api;
	uint32_t token;
};

struct aif_mpi *aif_mpi_get(void)
{
	struct aif_mpi *m = atomic_load_explicit(&aif_agent.mpi, memory_order_acquire),
		       *first = NULL;

	if (m)
		return m;
	m = aif_pages(sizeof(*m));
	if (m && !atomic_compare_exchange_strong(&aif_agent.mpi, &first, m)) {
		int saved = errno;

		munmap(m, sizeof(*m));
		errno = saved;
		return first;
	}
	return m;
}

static enum aif_host_call_id id_of(enum aif_mpi_function which)
{
	static const uint16_t ids[] = {
#define AIF_MPI_CALL(name, arguments, communicator) AIF_CALL_##name,
#include "agent/mpi/calls.def"
#undef AIF_MPI_CALL
	};

	return (enum aif_host_call_id)ids[which];
}

/* Meets the recorder, as the start of a runtime does: a rank that uses no device has none that would. Once; not where one runtime alone
 * is asked for. */
static void meet_recorder(void)
{
	int saved = errno;

	if (aif_agent.env.carrier && !*aif_agent.env.runtime &&
	    !atomic_load_explicit(&aif_agent.session.started, memory_order_acquire) &&
	    !aif_sandbox_may_be_on())
		(void)aif_agent_start_without_device();
	errno = saved;
}

/* Returns the function to call; NULL: there is none, as in a program that has MPI where it is there and does without it here. */
static AIF_NOINLINE void *enter(struct entry *e, enum aif_mpi_function which, const void *caller,
				bool is_numbered)
{
	void *real = aif_mpi_function(which, caller, &e->api);

	if (!real || !aif_agent.env.carrier)
		return real;
	meet_recorder();
	e->token = aif_host_call_begin(id_of(which), AIF_OPTION_CALLS,
				       is_numbered ? 0 : AIF_HOST_CALL_SHORT_NS, &e->regs, e->api);
	return real;
}

/* handle: of the communicator whose calls are numbered; 0: they are not. */
static AIF_NOINLINE void leave(struct entry *e, uint64_t handle, bool has_failed)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;
	struct aif_host_call_joint joint = {0};

	if (m && handle && !has_failed)
		joint.number = aif_mpi_count(m, handle, &joint.communicator);
	aif_host_call_end_joint(e->token, &joint, &e->regs, e->api);
}

/* Arguments that are on the stack have 8 bytes each, whatever their type. */
#define PARAMETERS_1   long a1
#define PARAMETERS_2   PARAMETERS_1, long a2
#define PARAMETERS_3   PARAMETERS_2, long a3
#define PARAMETERS_4   PARAMETERS_3, long a4
#define PARAMETERS_5   PARAMETERS_4, long a5
#define PARAMETERS_6   PARAMETERS_5, long a6
#define PARAMETERS_7   PARAMETERS_6, long a7
#define PARAMETERS_8   PARAMETERS_7, long a8
#define PARAMETERS_9   PARAMETERS_8, long a9
#define PARAMETERS_12  PARAMETERS_9, long a10, long a11, long a12
#define ARGUMENTS_1    a1
#define ARGUMENTS_2    ARGUMENTS_1, a2
#define ARGUMENTS_3    ARGUMENTS_2, a3
#define ARGUMENTS_4    ARGUMENTS_3, a4
#define ARGUMENTS_5    ARGUMENTS_4, a5
#define ARGUMENTS_6    ARGUMENTS_5, a6
#define ARGUMENTS_7    ARGUMENTS_6, a7
#define ARGUMENTS_8    ARGUMENTS_7, a8
#define ARGUMENTS_9    ARGUMENTS_8, a9
#define ARGUMENTS_12   ARGUMENTS_9, a10, a11, a12
#define COMMUNICATOR_0 0
#define COMMUNICATOR_1 a1
#define COMMUNICATOR_6 a6
#define COMMUNICATOR_7 a7
#define COMMUNICATOR_8 a8
#define COMMUNICATOR_9 a9

/* Without a function to call it returns MPI_SUCCESS. Ends with no tail call: its frame is the first. */
#define AIF_MPI_CALL(name, arguments, communicator)                                     \
	AIF_PUBLIC int name(PARAMETERS_##arguments);                                    \
	int name(PARAMETERS_##arguments)                                                \
	{                                                                               \
		int (*real)(PARAMETERS_##arguments), r;                                 \
		struct entry e = {0};                                                   \
                                                                                        \
		AIF_REGS_HERE(&e.regs);                                                 \
		real = (int (*)(PARAMETERS_##arguments))enter(                          \
			&e, AIF_MPI_##name, __builtin_return_address(0), communicator); \
		if (!real)                                                              \
			return 0;                                                       \
		r = real(ARGUMENTS_##arguments);                                        \
		if (e.token || communicator)                                            \
			leave(&e, (uint64_t)COMMUNICATOR_##communicator, r);            \
		return r;                                                               \
	}
#include "agent/mpi/calls.def"
#undef AIF_MPI_CALL

/* ---- communicators that go ---- */

#define FREE(name)                                                                \
	AIF_PUBLIC int name(void *handle);                                        \
	int name(void *handle)                                                    \
	{                                                                         \
		int (*real)(void *) = (int (*)(void *))aif_mpi_function(          \
			AIF_MPI_##name, __builtin_return_address(0), NULL);       \
		struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL; \
                                                                                  \
		if (m)                                                            \
			aif_mpi_forget(m, handle);                                \
		return real ? real(handle) : 0;                                   \
	}
FREE(MPI_Comm_free)
FREE(MPI_Comm_disconnect)

/* ---- ranks that begin ---- */

AIF_PUBLIC int MPI_Init(void *argc, void *argv);
int MPI_Init(void *argc, void *argv)
{
	int (*real)(void *, void *) = (int (*)(void *, void *))aif_mpi_function(
		AIF_MPI_MPI_Init, __builtin_return_address(0), NULL);
	int r = real ? real(argc, argv) : 0;

	meet_recorder();
	return r;
}

AIF_PUBLIC int MPI_Init_thread(void *argc, void *argv, long required, void *provided);
int MPI_Init_thread(void *argc, void *argv, long required, void *provided)
{
	int (*real)(void *, void *, long, void *) =
		(int (*)(void *, void *, long, void *))aif_mpi_function(
			AIF_MPI_MPI_Init_thread, __builtin_return_address(0), NULL);
	int r = real ? real(argc, argv, required, provided) : 0;

	meet_recorder();
	return r;
}
