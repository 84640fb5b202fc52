/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>

/*
 * Messages by each call that sends, receives, or waits for one: ranks_messages, of two ranks. The first four bytes of each have its number among
 * those of one sender, receiver and tag, from 1: the program ends with 1 if MPI received them in another order. On MPI_COMM_WORLD, and on one
 * more whose messages are not all counted.
 */
#define ROUNDS 5
#define CHECK(is)                                               \
	do {                                                    \
		if (!(is)) {                                    \
			printf("line %d: " #is "\n", __LINE__); \
			MPI_Abort(MPI_COMM_WORLD, 1);           \
		}                                               \
	} while (0)

static int number[3]; /* by tag: of the last message that was sent or received */

static void send_all(MPI_Comm comm)
{
	MPI_Request r[4];
	int values[8];

	for (int k = 0; k < 8; k++) {
		values[k] = ++number[k % 2];
		if (k < 2)
			MPI_Send(&values[k], 1, MPI_INT, 1, k % 2, comm);
		else if (k < 4)
			MPI_Ssend(&values[k], 1, MPI_INT, 1, k % 2, comm);
		else if (k < 6)
			MPI_Isend(&values[k], 1, MPI_INT, 1, k % 2, comm, &r[k - 4]);
		else
			MPI_Issend(&values[k], 1, MPI_INT, 1, k % 2, comm, &r[k - 4]);
	}
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	values[0] = ++number[2];
	MPI_Send(values, 1, MPI_INT, 1, 2, comm);
}

static void receive_all(MPI_Comm comm)
{
	int values[9] = {0}, n = 0, done = 0, which[2];
	MPI_Request r[2];
	MPI_Message message;
	MPI_Status status;

	MPI_Irecv(&values[1], 1, MPI_INT, 0, 1, comm, &r[0]);
	MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	MPI_Probe(0, 0, comm, MPI_STATUS_IGNORE);
	MPI_Recv(&values[2], 1, MPI_INT, 0, MPI_ANY_TAG, comm, &status);
	CHECK(status.MPI_TAG == 0 && status.MPI_SOURCE == 0);
	MPI_Recv(&values[3], 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
	MPI_Irecv(&values[4], 1, MPI_INT, 0, 0, comm, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Mprobe(MPI_ANY_SOURCE, 1, comm, &message, MPI_STATUS_IGNORE);
	MPI_Mrecv(&values[5], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	MPI_Irecv(&values[6], 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &r[0]);
	MPI_Irecv(&values[7], 1, MPI_INT, 0, 1, comm, &r[1]);
	for (int left = 2; left; left -= n)
		MPI_Waitsome(2, r, &n, which, MPI_STATUSES_IGNORE);
	MPI_Irecv(&values[8], 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &r[0]);
	while (!done)
		MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
	for (int k = 0; k < 8; k++)
		CHECK(values[k] == ++number[k % 2]);
	CHECK(values[8] == ++number[2]);
}

int main(int argc, char **argv)
{
	MPI_Comm comm;
	MPI_Request r[3], again;
	int rank, mine = 1, other, kept;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = 0; i < ROUNDS; i++) {
		if (rank)
			receive_all(MPI_COMM_WORLD);
		else
			send_all(MPI_COMM_WORLD);
		MPI_Sendrecv(&mine, 1, MPI_INT, !rank, 3, &other, 1, MPI_INT, !rank, 3,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		/* Sends to nobody, and to itself. */
		MPI_Isend(&mine, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(&mine, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &r[1]);
		MPI_Irecv(&other, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &r[2]);
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	}
	/* Makes a request that is used again: from then on no message of this communicator is counted. */
	MPI_Sendrecv(&mine, 1, MPI_INT, !rank, 5, &other, 1, MPI_INT, !rank, 5, comm,
		     MPI_STATUS_IGNORE);
	if (rank)
		MPI_Recv_init(&kept, 1, MPI_INT, 0, 5, comm, &again);
	else
		MPI_Send_init(&mine, 1, MPI_INT, 1, 5, comm, &again);
	MPI_Start(&again);
	MPI_Wait(&again, MPI_STATUS_IGNORE);
	MPI_Request_free(&again);
	MPI_Sendrecv(&mine, 1, MPI_INT, !rank, 5, &other, 1, MPI_INT, !rank, 5, comm,
		     MPI_STATUS_IGNORE);
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return 0;
}
