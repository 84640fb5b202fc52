/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_cl.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/*
 * A rank of a job whose late rank is known: ranks_mpi STEPS LATE_US LATE [halves|burst|master]. In each step the device works, the rank LATE
 * computes for LATE_US more, and all average what they have, by turns with each of MPI's calls that end for all at once; with `halves`
 * on two communicators, of the even and of the odd ranks, made anew for each tenth step; with `burst` each device has 500 launches of
 * next to nothing more; with `master` rank 0 uses no device: it takes the results of the others, who then wait for what it sends. LATE -1: another one each time. Prints how long each rank straggled: "rank 1 straggled_ns=...".
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

/* Takes a result of each other rank and hands out what comes of them; or is one of these. */
static uint64_t exchange(int rank, int size, uint64_t ns)
{
	double value = 1;
	uint64_t straggled = 0;

	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Recv(&value, 1, MPI_DOUBLE, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 0)
		straggled = straggle(ns);
	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Send(&value, 1, MPI_DOUBLE, i, 2, MPI_COMM_WORLD);
	if (rank) {
		MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
		MPI_Recv(&value, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return straggled;
}

int main(int argc, char **argv)
{
	struct target t = {0};
	uint64_t straggled = 0;
	int rank, size, steps, late;
	cl_kernel kernel = NULL, short_kernel = NULL;
	MPI_Comm comm = MPI_COMM_WORLD;
	bool has_master, has_device;

	MPI_Init(&argc, &argv);
	CHECK(argc >= 4);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	steps = atoi(argv[1]);
	late = atoi(argv[3]);
	has_master = argc > 4 && !strcmp(argv[4], "master");
	has_device = rank || !has_master;
	if (has_device) {
		target_open(&t);
		kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 20000);
		short_kernel = target_kernel(&t, "spin", target_buffer(&t, 64), 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < steps; i++) {
		for (int k = 0; argc > 4 && !strcmp(argv[4], "burst") && k < 500; k++)
			target_launch(t.queue, short_kernel, 1);
		if (argc > 4 && !strcmp(argv[4], "halves") && i % 10 == 0) {
			if (comm != MPI_COMM_WORLD)
				MPI_Comm_free(&comm);
			MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
		}
		if (has_device) {
			target_launch(t.queue, kernel, 64);
			CHECK(clFinish(t.queue) == CL_SUCCESS);
		}
		if (has_master)
			straggled += exchange(rank, size, (uint64_t)atoi(argv[2]) * 1000);
		else if (rank == (late < 0 ? i * 7 % 11 % size : late))
			straggled += straggle((uint64_t)atoi(argv[2]) * 1000);
		average(comm, i);
	}
	printf("rank %d straggled_ns=%llu\n", rank, (unsigned long long)straggled);
	MPI_Finalize();
	return 0;
}
