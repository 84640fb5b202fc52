/* SPDX-License-Identifier: Apache-2.0 */
/* A rank of an MPI job of which rank 2 leaves the third all-reduce out: compiled by stacks_ranks.sh, where there is an mpicc. */
#include <mpi.h>

static void __attribute__((noinline)) train(int rank, int turns)
{
	double in = 1, out;

	for (int i = 0; i < turns; i++)
		if (rank != 2 || i != 2)
			MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	__asm__ volatile("");
}

static void __attribute__((noinline)) finish(void)
{
	double value = 1;

	MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	train(rank, 6);
	finish();
	MPI_Finalize();
	return 0;
}
