/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/mpi/channels.h"
#include "agent/mpi/entry.h"

/*
 * Messages between two ranks: each call has the number of its message in its channel (channels.h), on both sides. A send is recorded however
 * short it is: its beginning is what a receiver may have waited for.
 */

/* Leaves a call that has sent, or received, a message. */
static AIF_NOINLINE void leave(struct aif_mpi_entry *e, struct aif_mpi_message *x,
			       const void *status, bool has_failed)
{
	struct aif_host_call_joint joint = {0};

	if (!has_failed && x->is_receive)
		aif_mpi_message_take(x, status);
	if (!has_failed)
		(void)aif_mpi_message_number(x, &joint);
	aif_mpi_leave(e, &joint, joint.number != 0);
}

static AIF_NOINLINE void leave_probe(struct aif_mpi_entry *e, struct aif_mpi_message *x,
				     const void *status, bool has_failed)
{
	struct aif_host_call_joint joint = {0};

	if (!has_failed) {
		aif_mpi_message_take(x, status);
		aif_mpi_message_next(x, &joint);
	}
	aif_mpi_leave(e, &joint, joint.number != 0);
}

/* Leaves a call that has begun a message, whose request is followed. */
static AIF_NOINLINE void leave_start(struct aif_mpi_entry *e, struct aif_mpi_message *x,
				     const void *request, bool has_failed)
{
	struct aif_host_call_joint joint = {0};

	if (!has_failed && aif_mpi_message_is_any(x))
		aif_mpi_request_begin_any(request, x);
	else if (!has_failed && aif_mpi_message_number(x, &joint) && joint.number)
		aif_mpi_request_begin_message(request, x, &joint);
	aif_mpi_leave(e, &joint, joint.number != 0);
}

/* Leaves a call that has sent one message and received another. */
static AIF_NOINLINE void leave_both(struct aif_mpi_entry *e, const struct aif_mpi_message *sent,
				    struct aif_mpi_message *received, const void *status,
				    bool has_failed)
{
	struct aif_host_call_joint joints[2] = {{0}};
	size_t n = 0;

	if (!has_failed) {
		aif_mpi_message_take(received, status);
		(void)aif_mpi_message_number(received, &joints[0]);
		n += joints[0].number != 0;
		(void)aif_mpi_message_number(sent, &joints[n]);
		n += joints[n].number != 0;
	}
	aif_mpi_leave(e, joints, n);
}

/* Ends with no tail call: its frame is the first. */
#define ENTER(name, arguments)                                         \
	int (*real)(AIF_MPI_PARAMETERS_##arguments), r;                \
	struct aif_mpi_entry e = {0};                                  \
                                                                       \
	AIF_REGS_HERE(&e.regs);                                        \
	real = (int (*)(AIF_MPI_PARAMETERS_##arguments))aif_mpi_enter( \
		&e, AIF_MPI_##name, __builtin_return_address(0), true)

/* MPI_Send(buffer, count, type, to, tag, communicator) */
#define SEND(name)                                                                  \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_6);                                  \
	int name(AIF_MPI_PARAMETERS_6)                                              \
	{                                                                           \
		struct aif_mpi_message x = {(uint64_t)a6, (int)a4, (int)a5, false}; \
		ENTER(name, 6);                                                     \
                                                                                    \
		if (!real)                                                          \
			return 0;                                                   \
		r = real(AIF_MPI_ARGUMENTS_6);                                      \
		leave(&e, &x, NULL, r);                                             \
		return r;                                                           \
	}
SEND(MPI_Bsend)
SEND(MPI_Rsend)
SEND(MPI_Send)
SEND(MPI_Ssend)

/* MPI_Isend(buffer, count, type, to, tag, communicator, request) */
#define START(name, is_receive)                                                          \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_7);                                       \
	int name(AIF_MPI_PARAMETERS_7)                                                   \
	{                                                                                \
		struct aif_mpi_message x = {(uint64_t)a6, (int)a4, (int)a5, is_receive}; \
		ENTER(name, 7);                                                          \
                                                                                         \
		if (!real)                                                               \
			return 0;                                                        \
		r = real(AIF_MPI_ARGUMENTS_7);                                           \
		leave_start(&e, &x, (const void *)a7, r);                                \
		return r;                                                                \
	}
START(MPI_Ibsend, false)
START(MPI_Irecv, true)
START(MPI_Irsend, false)
START(MPI_Isend, false)
START(MPI_Issend, false)

AIF_PUBLIC int MPI_Recv(AIF_MPI_PARAMETERS_7);
int MPI_Recv(AIF_MPI_PARAMETERS_7)
{
	struct aif_mpi_message x = {(uint64_t)a6, (int)a4, (int)a5, true};
	AIF_MPI_STATUSES(own, 1);
	ENTER(MPI_Recv, 7);

	if (!real)
		return 0;
	a7 = aif_mpi_message_status(&x, a7, own);
	r = real(AIF_MPI_ARGUMENTS_7);
	leave(&e, &x, (const void *)a7, r);
	return r;
}

/* MPI_Sendrecv(buffer, count, type, to, tag, buffer, count, type, from, tag, communicator, status) */
AIF_PUBLIC int MPI_Sendrecv(AIF_MPI_PARAMETERS_12);
int MPI_Sendrecv(AIF_MPI_PARAMETERS_12)
{
	struct aif_mpi_message sent = {(uint64_t)a11, (int)a4, (int)a5, false},
			       received = {(uint64_t)a11, (int)a9, (int)a10, true};
	AIF_MPI_STATUSES(own, 1);
	ENTER(MPI_Sendrecv, 12);

	if (!real)
		return 0;
	a12 = aif_mpi_message_status(&received, a12, own);
	r = real(AIF_MPI_ARGUMENTS_12);
	leave_both(&e, &sent, &received, (const void *)a12, r);
	return r;
}

/* MPI_Sendrecv_replace(buffer, count, type, to, tag, from, tag, communicator, status) */
AIF_PUBLIC int MPI_Sendrecv_replace(AIF_MPI_PARAMETERS_9);
int MPI_Sendrecv_replace(AIF_MPI_PARAMETERS_9)
{
	struct aif_mpi_message sent = {(uint64_t)a8, (int)a4, (int)a5, false},
			       received = {(uint64_t)a8, (int)a6, (int)a7, true};
	AIF_MPI_STATUSES(own, 1);
	ENTER(MPI_Sendrecv_replace, 9);

	if (!real)
		return 0;
	a9 = aif_mpi_message_status(&received, a9, own);
	r = real(AIF_MPI_ARGUMENTS_9);
	leave_both(&e, &sent, &received, (const void *)a9, r);
	return r;
}

/* ---- probes -------------------------------------------------------------------------------------- */

/* MPI_Probe(from, tag, communicator, status): the message is counted when it is received. */
AIF_PUBLIC int MPI_Probe(AIF_MPI_PARAMETERS_4);
int MPI_Probe(AIF_MPI_PARAMETERS_4)
{
	struct aif_mpi_message x = {(uint64_t)a3, (int)a1, (int)a2, true};
	AIF_MPI_STATUSES(own, 1);
	ENTER(MPI_Probe, 4);

	if (!real)
		return 0;
	a4 = aif_mpi_message_status(&x, a4, own);
	r = real(AIF_MPI_ARGUMENTS_4);
	leave_probe(&e, &x, (const void *)a4, r);
	return r;
}

/* MPI_Mprobe(from, tag, communicator, message, status): what it finds no other call receives. */
AIF_PUBLIC int MPI_Mprobe(AIF_MPI_PARAMETERS_5);
int MPI_Mprobe(AIF_MPI_PARAMETERS_5)
{
	struct aif_mpi_message x = {(uint64_t)a3, (int)a1, (int)a2, true};
	AIF_MPI_STATUSES(own, 1);
	ENTER(MPI_Mprobe, 5);

	if (!real)
		return 0;
	a5 = aif_mpi_message_status(&x, a5, own);
	r = real(AIF_MPI_ARGUMENTS_5);
	leave(&e, &x, (const void *)a5, r);
	return r;
}

static void *function_of(enum aif_mpi_function which, const void *caller)
{
	return aif_mpi_function(which, caller, NULL);
}

/* MPI_Improbe(from, tag, communicator, flag, message, status) */
AIF_PUBLIC int MPI_Improbe(AIF_MPI_PARAMETERS_6);
int MPI_Improbe(AIF_MPI_PARAMETERS_6)
{
	int (*real)(AIF_MPI_PARAMETERS_6) = (int (*)(AIF_MPI_PARAMETERS_6))function_of(
		AIF_MPI_MPI_Improbe, __builtin_return_address(0));
	struct aif_mpi_message x = {(uint64_t)a3, (int)a1, (int)a2, true};
	struct aif_host_call_joint joint;
	AIF_MPI_STATUSES(own, 1);
	int r;

	if (!real)
		return 0;
	a6 = aif_mpi_message_status(&x, a6, own);
	r = real(AIF_MPI_ARGUMENTS_6);
	if (!r && *(const int *)a4) {
		aif_mpi_message_take(&x, (const void *)a6);
		(void)aif_mpi_message_number(&x, &joint);
	}
	return r;
}

/* ---- messages that are not followed ------------------------------------------------------------- */

static void forget_numbers(uint64_t communicator)
{
	struct aif_mpi *m = aif_agent.env.carrier ? aif_mpi_get() : NULL;

	if (m)
		aif_mpi_uncounted(m, communicator);
}

/* MPI_Send_init(buffer, count, type, peer, tag, communicator, request) */
#define PERSISTENT(name)                                                                        \
	AIF_PUBLIC int name(AIF_MPI_PARAMETERS_7);                                              \
	int name(AIF_MPI_PARAMETERS_7)                                                          \
	{                                                                                       \
		int (*real)(AIF_MPI_PARAMETERS_7) = (int (*)(AIF_MPI_PARAMETERS_7))function_of( \
			AIF_MPI_##name, __builtin_return_address(0));                           \
                                                                                                \
		forget_numbers((uint64_t)a6);                                                   \
		return real ? real(AIF_MPI_ARGUMENTS_7) : 0;                                    \
	}
PERSISTENT(MPI_Bsend_init)
PERSISTENT(MPI_Recv_init)
PERSISTENT(MPI_Rsend_init)
PERSISTENT(MPI_Send_init)
PERSISTENT(MPI_Ssend_init)

AIF_PUBLIC int MPI_Cancel(AIF_MPI_PARAMETERS_1);
int MPI_Cancel(AIF_MPI_PARAMETERS_1)
{
	int (*real)(AIF_MPI_PARAMETERS_1) = (int (*)(AIF_MPI_PARAMETERS_1))function_of(
		AIF_MPI_MPI_Cancel, __builtin_return_address(0));
	uint64_t communicator = aif_mpi_request_communicator((const void *)a1);

	if (communicator)
		forget_numbers(communicator);
	return real ? real(a1) : 0;
}
