/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/*
 * A rank of a job whose late rank is known: ranks_mpi STEPS LATE_US LATE [halves|burst]. In each step the device works, the rank LATE
 * computes for LATE_US more, and all average what they have, by turns with each of MPI's calls that end for all at once; with `halves`
 * on two communicators, of the even and of the odd ranks, made anew for each tenth step; with `burst` each device has 500 launches of
 * next to nothing more. LATE -1: another one each time. Prints how long each rank straggled: "rank 1 straggled_ns=...".
 */
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t straggle(uint64_t ns)
{
	volatile unsigned x = 1;
	uint64_t from = now();

	while (now() < from + ns)
		for (int i = 0; i < 200; i++)
			x = x * 1664525 + 1013904223;
	return now() - from;
}

static void average(MPI_Comm comm, int step)
{
	double in[8] = {1, 1, 1, 1, 1, 1, 1, 1}, out[8] = {1};
	int size, counts[8], zero[8] = {0, 1, 2, 3, 4, 5, 6, 7};

	MPI_Comm_size(comm, &size);
	for (int i = 0; i < 8; i++)
		counts[i] = 1;
	switch (step % 4) {
	case 0:
		MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, comm);
		break;
	case 1:
		MPI_Barrier(comm);
		break;
	case 2:
		MPI_Alltoallv(in, counts, zero, MPI_DOUBLE, out, counts, zero, MPI_DOUBLE, comm);
		break;
	default:
		MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm);
	}
	CHECK(out[0] == (step % 4 ? 1 : size));
}

int main(int argc, char **argv)
{
	struct target t = {0};
	uint64_t straggled = 0;
	int rank, size, steps, late;
	cl_kernel kernel, short_kernel;
	MPI_Comm comm = MPI_COMM_WORLD;

	MPI_Init(&argc, &argv);
	CHECK(argc >= 4);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	steps = atoi(argv[1]);
	late = atoi(argv[3]);
	target_open(&t);
	kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 20000);
	short_kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 1);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < steps; i++) {
		for (int k = 0; argc > 4 && !strcmp(argv[4], "burst") && k < 500; k++)
			target_launch(t.queue, short_kernel, 1);
		if (argc > 4 && !strcmp(argv[4], "halves") && i % 10 == 0) {
			if (comm != MPI_COMM_WORLD)
				MPI_Comm_free(&comm);
			MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
		}
		target_launch(t.queue, kernel, 64);
		CHECK(clFinish(t.queue) == CL_SUCCESS);
		if (rank == (late < 0 ? i * 7 % 11 % size : late))
			straggled += straggle((uint64_t)atoi(argv[2]) * 1000);
		average(comm, i);
	}
	printf("rank %d straggled_ns=%llu\n", rank, (unsigned long long)straggled);
	MPI_Finalize();
	return 0;
}
