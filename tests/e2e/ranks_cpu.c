/* SPDX-License-Identifier: Apache-2.0 */
#include "aiflame.h"
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A rank of a job without a device whose late rank is known: ranks_cpu KIND STEPS LATE_US LATE. Each step computes for 3 ms, and the
 * rank LATE for LATE_US more (-1: none):
 *
 *   allreduce  before the one all-reduce of a step
 *   sleep      there, but it sleeps
 *   stencil    between halos that neighbours exchange by MPI_Sendrecv; each step ends with the norm of all, an all-reduce
 *   phases     in the second of three phases, which end with a barrier, an all-gather and an all-reduce
 *   chain      between a message from the rank before and one to the rank behind; there is no operation of all, nor in the next ones but sweep
 *   rendezvous the same with messages that no rank takes before it receives them
 *   sweep      as chain, and all wait for the last rank in a barrier
 *   halo       before messages to both neighbours and from both, which are begun and waited for together
 *   shift      before MPI_Sendrecv() around a ring
 *   any        rank 0 takes results of any other rank, by requests, and then hands out tasks
 *   workers    rank 0 hands out a task to each of the others, by messages, and has their results; rounds end with a barrier
 *   since      as allreduce, from the 21st step on
 *   marked     as allreduce, and rank 0 marks each two steps as one
 *   ahead      before MPI_Iallreduce(), for which all wait behind other work
 *   ahead-all  the same with MPI_Waitall()
 *   ahead-any  the same with MPI_Waitany() for it and a barrier
 *   ahead-some the same with MPI_Waitsome()
 *   ahead-test as ahead, with MPI_Test() until it is done
 *   ahead-both as ahead, tested once before the wait, which is for a request that the library has used before
 */
#define CHECK(is)                                               \
	do {                                                    \
		if (!(is)) {                                    \
			printf("line %d: " #is "\n", __LINE__); \
			MPI_Abort(MPI_COMM_WORLD, 1);           \
		}                                               \
	} while (0)

static int rank, size, late;
static uint64_t late_ns;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Spins in the loop itself, not in what it calls. */
#define SPIN(ns)                                                    \
	do {                                                        \
		volatile unsigned x = 1;                            \
		for (uint64_t until = now() + (ns); now() < until;) \
			for (int i = 0; i < 2000; i++)              \
				x = x * 1664525 + 1013904223;       \
	} while (0)

static __attribute__((noinline)) void compute(void)
{
	SPIN(3000000);
}

static __attribute__((noinline)) void straggle(void)
{
	if (rank == late)
		SPIN(late_ns);
}

static __attribute__((noinline)) void read_input(void)
{
	struct timespec t = {.tv_sec = 0, .tv_nsec = (long)late_ns};

	if (rank == late)
		nanosleep(&t, NULL);
}

static void reduce(void)
{
	double in = 1, out = 0;

	MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	CHECK(out == size);
}

static void stencil(void)
{
	static double mine[1000], halo[1000];
	int left = (rank + size - 1) % size, right = (rank + 1) % size;

	MPI_Sendrecv(mine, 1000, MPI_DOUBLE, right, 1, halo, 1000, MPI_DOUBLE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	compute();
	straggle();
	MPI_Sendrecv(mine, 1000, MPI_DOUBLE, left, 2, halo, 1000, MPI_DOUBLE, right, 2,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	reduce();
}

static void chain(int n)
{
	static double data[200000];

	if (rank)
		MPI_Recv(data, n, MPI_DOUBLE, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	compute();
	straggle();
	if (rank + 1 < size)
		MPI_Send(data, n, MPI_DOUBLE, rank + 1, 5, MPI_COMM_WORLD);
}

static void halo(void)
{
	static double mine[100], halos[2][100];
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Request requests[4];

	compute();
	straggle();
	MPI_Irecv(halos[0], 100, MPI_DOUBLE, left, 6, MPI_COMM_WORLD, &requests[0]);
	MPI_Irecv(halos[1], 100, MPI_DOUBLE, right, 7, MPI_COMM_WORLD, &requests[1]);
	MPI_Isend(mine, 100, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, &requests[2]);
	MPI_Isend(mine, 100, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, &requests[3]);
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void shift(void)
{
	double mine = 1, other;

	compute();
	straggle();
	MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 8, &other, 1, MPI_DOUBLE,
		     (rank + size - 1) % size, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void any(void)
{
	static double results[64], task;
	MPI_Request requests[64];

	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Irecv(&results[i], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD,
			  &requests[i - 1]);
	if (rank == 0)
		MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Send(&task, 1, MPI_DOUBLE, i, 10, MPI_COMM_WORLD);
	if (!rank)
		return;
	compute();
	straggle();
	MPI_Send(&task, 1, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD);
	MPI_Recv(&task, 1, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void phases(void)
{
	int in = rank, out[64];

	compute();
	MPI_Barrier(MPI_COMM_WORLD);
	compute();
	straggle();
	MPI_Allgather(&in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD);
	compute();
	reduce();
}

static void workers(void)
{
	double task = 1, result;

	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Send(&task, 1, MPI_DOUBLE, i, 3, MPI_COMM_WORLD);
	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	if (rank) {
		MPI_Recv(&task, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compute();
		straggle();
		MPI_Send(&task, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void ahead(const char *kind)
{
	double in = 1, out = 0;
	MPI_Request request, both[2];
	int is_done = 0, n, at[2];

	compute();
	straggle();
	MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
	if (rank != late)
		compute();
	both[0] = request;
	if (!strcmp(kind, "ahead-any") || !strcmp(kind, "ahead-some"))
		MPI_Ibarrier(MPI_COMM_WORLD, &both[1]);
	if (!strcmp(kind, "ahead-both"))
		MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
	if (!strcmp(kind, "ahead-any"))
		for (int i = 0; i < 2; i++)
			MPI_Waitany(2, both, at, MPI_STATUS_IGNORE);
	else if (!strcmp(kind, "ahead-some"))
		for (int done = 0; done < 2; done += n)
			MPI_Waitsome(2, both, &n, at, MPI_STATUSES_IGNORE);
	else if (!strcmp(kind, "ahead-all"))
		MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
	else if (!strcmp(kind, "ahead-test"))
		while (!is_done)
			MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
	else
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(out == size);
}

int main(int argc, char **argv)
{
	int steps, is_since;

	MPI_Init(&argc, &argv);
	CHECK(argc == 5);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	steps = atoi(argv[2]);
	late_ns = (uint64_t)atoi(argv[3]) * 1000;
	late = atoi(argv[4]);
	is_since = !strcmp(argv[1], "since");
	for (int i = 0; i < steps; i++) {
		if (!strcmp(argv[1], "stencil")) {
			stencil();
		} else if (!strcmp(argv[1], "chain") || !strcmp(argv[1], "rendezvous")) {
			chain(argv[1][0] == 'r' ? 200000 : 100);
		} else if (!strcmp(argv[1], "sweep")) {
			chain(100);
			MPI_Barrier(MPI_COMM_WORLD);
		} else if (!strcmp(argv[1], "halo")) {
			halo();
		} else if (!strcmp(argv[1], "shift")) {
			shift();
		} else if (!strcmp(argv[1], "any")) {
			any();
		} else if (!strcmp(argv[1], "phases")) {
			phases();
		} else if (!strcmp(argv[1], "workers")) {
			workers();
		} else if (!strncmp(argv[1], "ahead", 5)) {
			ahead(argv[1]);
		} else {
			compute();
			if (!strcmp(argv[1], "sleep"))
				read_input();
			else if (!is_since || i >= 20)
				straggle();
			reduce();
			if (!strcmp(argv[1], "marked") && !rank && i % 2)
				aiflame_step();
		}
	}
	MPI_Finalize();
	return 0;
}
