/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A pipeline of ranks: mpi_pipeline BATCHES SLOW. Each rank takes batches of 32 KiB from the rank before, filters them, and hands them on, two at
 * a time; the last one sums them up. The stage SLOW filters twelve times as often (-1: none). Prints what it measured of itself:
 * "truth: stage 1 filters for 12.1 ms of 14.0 ms a batch, waits for 1.9 ms".
 */
#define LENGTH 4096

static int rank, size;

static double slowly(double *batch, int rounds)
{
	double sum = 0;

	for (int r = 0; r < rounds; r++)
		for (int i = 1; i + 1 < LENGTH; i++)
			batch[i] = 0.25 * batch[i - 1] + 0.5 * batch[i] + 0.25 * batch[i + 1];
	for (int i = 0; i < LENGTH; i++)
		sum += batch[i];
	return sum;
}

static void take(double *batch, int n)
{
	MPI_Status status;

	if (!rank) {
		for (int i = 0; i < LENGTH; i++)
			batch[i] = (n + i) % 17;
		return;
	}
	MPI_Recv(batch, LENGTH, MPI_DOUBLE, rank - 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	if (status.MPI_TAG != n)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	static double batches[2][LENGTH];
	MPI_Request sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	double filtering = 0, from, begin, all, sum = 0;
	int count, rounds;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	count = argc > 2 ? atoi(argv[1]) : 100;
	rounds = argc > 2 && rank == atoi(argv[2]) ? 1200 : 100;
	begin = MPI_Wtime();
	for (int n = 0; n < count; n++) {
		double *batch = batches[n % 2];

		MPI_Wait(&sent[n % 2], MPI_STATUS_IGNORE);
		take(batch, n);
		from = MPI_Wtime();
		sum += slowly(batch, rounds);
		filtering += MPI_Wtime() - from;
		if (rank + 1 < size)
			MPI_Isend(batch, LENGTH, MPI_DOUBLE, rank + 1, n, MPI_COMM_WORLD,
				  &sent[n % 2]);
	}
	MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
	all = MPI_Wtime() - begin;
	printf("truth: stage %d filters for %.2f ms of %.2f ms a batch, waits for %.2f ms (%g)\n",
	       rank, 1e3 * filtering / count, 1e3 * all / count, 1e3 * (all - filtering) / count,
	       sum);
	MPI_Finalize();
	return 0;
}
