/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/entry.h"

#include "agent/memory/pages.h"
#include "agent/sandbox.h"

#include <errno.h>
#include <sys/mman.h>

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
 * is asked for. Not in MPI_Init(): a program that has MPI where it is there would look for that, and find the agent's. */
static void meet_recorder(void)
{
	int saved = errno;

	if (aif_agent.env.carrier && !*aif_agent.env.runtime &&
	    !atomic_load_explicit(&aif_agent.session.started, memory_order_acquire) &&
	    !aif_sandbox_may_be_on())
		(void)aif_agent_start_without_device();
	errno = saved;
}

AIF_NOINLINE void *aif_mpi_enter(struct aif_mpi_entry *e, enum aif_mpi_function which,
				 const void *caller, bool is_numbered)
{
	void *real = aif_mpi_function(which, caller, &e->api);

	if (!real || !aif_agent.env.carrier)
		return real;
	meet_recorder();
	e->token = aif_host_call_begin(id_of(which), AIF_OPTION_CALLS,
				       is_numbered ? 0 : AIF_HOST_CALL_SHORT_NS, &e->regs, e->api);
	return real;
}

AIF_NOINLINE void aif_mpi_leave(struct aif_mpi_entry *e, const struct aif_host_call_joint *joints,
				size_t n)
{
	aif_host_call_end_joint(e->token, joints, n, &e->regs, e->api);
}

void aif_mpi_number(uint64_t handle, bool has_failed, struct aif_host_call_joint *ret)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	*ret = (struct aif_host_call_joint){0};
	if (m && handle && !has_failed)
		ret->number = aif_mpi_count(m, handle, &ret->communicator);
}

/* handle: of the communicator whose calls are numbered; 0: they are not. */
static AIF_NOINLINE void leave(struct aif_mpi_entry *e, uint64_t handle, bool has_failed)
{
	struct aif_host_call_joint joint;

	aif_mpi_number(handle, has_failed, &joint);
	aif_mpi_leave(e, &joint, 1);
}

static AIF_NOINLINE void leave_start(struct aif_mpi_entry *e, uint64_t handle, const void *request,
				     bool has_failed)
{
	struct aif_host_call_joint joint;

	aif_mpi_number(handle, has_failed, &joint);
	if (joint.number)
		aif_mpi_request_begin(request, &joint);
	aif_mpi_leave(e, &joint, 1);
}

#define COMMUNICATOR_0 0
#define COMMUNICATOR_1 a1
#define COMMUNICATOR_6 a6
#define COMMUNICATOR_7 a7
#define COMMUNICATOR_8 a8
#define COMMUNICATOR_9 a9

/* Without a function to call it returns MPI_SUCCESS. Ends with no tail call: its frame is the first. */
#define AIF_MPI_CALL(name, arguments, communicator)                                     \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_##arguments);                            \
	int name(AIF_MPI_PARAMETERS_##arguments)                                        \
	{                                                                               \
		int (*real)(AIF_MPI_PARAMETERS_##arguments), r;                         \
		struct aif_mpi_entry e = {0};                                           \
                                                                                        \
		AIF_REGS_HERE(&e.regs);                                                 \
		real = (int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_enter(          \
			&e, AIF_MPI_##name, __builtin_return_address(0), communicator); \
		if (!real)                                                              \
			return 0;                                                       \
		r = real(AIF_MPI_ARGUMENTS_##arguments);                                \
		if (e.token || communicator)                                            \
			leave(&e, (uint64_t)COMMUNICATOR_##communicator, r);            \
		return r;                                                               \
	}
#define CALL_START(name, arguments, handle, request)                             \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_##arguments);                     \
	int name(AIF_MPI_PARAMETERS_##arguments)                                 \
	{                                                                        \
		int (*real)(AIF_MPI_PARAMETERS_##arguments), r;                  \
		struct aif_mpi_entry e = {0};                                    \
                                                                                 \
		AIF_REGS_HERE(&e.regs);                                          \
		real = (int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_enter(   \
			&e, AIF_MPI_##name, __builtin_return_address(0), true);  \
		if (!real)                                                       \
			return 0;                                                \
		r = real(AIF_MPI_ARGUMENTS_##arguments);                         \
		leave_start(&e, (uint64_t)(handle), (const void *)(request), r); \
		return r;                                                        \
	}
#define AIF_MPI_START(name, arguments) START_##arguments(name)
#define START_2(name)                  CALL_START(name, 2, a1, a2)
#define START_7(name)                  CALL_START(name, 7, a6, a7)
#define START_8(name)                  CALL_START(name, 8, a7, a8)
#define START_9(name)                  CALL_START(name, 9, a8, a9)
#define START_10(name)                 CALL_START(name, 10, a9, a10)
#define AIF_MPI_MESSAGE(name, arguments)
#define AIF_MPI_WAIT(name, arguments)
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
