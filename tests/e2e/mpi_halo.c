/* SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A grid whose rows are shared among ranks in a ring: mpi_halo SWEEPS SLOW. Each sweep relaxes the rows inside while those at the edges come from both
 * neighbours, and then the ones at the edges. The rank SLOW (-1: none) has a source term to compute in its rows, which takes several times
 * as long. No operation of all ranks but one at the end. Prints what it measured of itself: "truth: rank 2 computes for 8.1 ms of 9.0 ms a sweep,
 * waits for 0.9 ms".
 */
#define ROWS    64
#define COLUMNS 512

static double grid[2][ROWS + 2][COLUMNS];
static int rank, size, slow = -1;

static void relax(int of, int from, int to)
{
	for (int y = from; y < to; y++)
		for (int x = 1; x + 1 < COLUMNS; x++)
			grid[!of][y][x] = 0.25 * (grid[of][y - 1][x] + grid[of][y + 1][x] +
						  grid[of][y][x - 1] + grid[of][y][x + 1]);
}

static void add_source(int of)
{
	for (int times = 0; times < 120; times++)
		for (int y = 1; y <= ROWS; y++)
			for (int x = 1; x + 1 < COLUMNS; x++)
				grid[!of][y][x] += 1e-9 * (grid[of][y][x] - grid[!of][y][x] * 0.5);
}

int main(int argc, char **argv)
{
	MPI_Request r[4];
	MPI_Comm ring;
	int sweeps, up, down, which, periodic = 1;
	double computing = 0, from, begin, all, mine = 0, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
	MPI_Comm_rank(ring, &rank);
	MPI_Cart_shift(ring, 0, 1, &up, &down);
	sweeps = argc > 2 ? atoi(argv[1]) : 100;
	slow = argc > 2 ? atoi(argv[2]) : -1;
	grid[0][1][COLUMNS / 2] = grid[1][1][COLUMNS / 2] = 1000 * (rank + 1);
	begin = MPI_Wtime();
	for (int n = 0; n < sweeps; n++) {
		int of = n % 2;

		MPI_Irecv(grid[of][0], COLUMNS, MPI_DOUBLE, up, 1, ring, &r[0]);
		MPI_Irecv(grid[of][ROWS + 1], COLUMNS, MPI_DOUBLE, down, 2, ring, &r[1]);
		MPI_Isend(grid[of][ROWS], COLUMNS, MPI_DOUBLE, down, 1, ring, &r[2]);
		MPI_Isend(grid[of][1], COLUMNS, MPI_DOUBLE, up, 2, ring, &r[3]);
		from = MPI_Wtime();
		for (int times = 0; times < 20; times++)
			relax(of, 2, ROWS);
		if (rank == slow)
			add_source(of);
		computing += MPI_Wtime() - from;
		for (int i = 0; i < 2; i++) {
			MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE);
			from = MPI_Wtime();
			relax(of, which ? ROWS : 1, which ? ROWS + 1 : 2);
			computing += MPI_Wtime() - from;
		}
		MPI_Waitall(2, &r[2], MPI_STATUSES_IGNORE);
	}
	all = MPI_Wtime() - begin;
	for (int y = 1; y <= ROWS; y++)
		for (int x = 0; x < COLUMNS; x++)
			mine += grid[sweeps % 2][y][x];
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, ring);
	printf("truth: rank %d computes for %.2f ms of %.2f ms a sweep, waits for %.2f ms\n", rank,
	       1e3 * computing / sweeps, 1e3 * all / sweeps, 1e3 * (all - computing) / sweeps);
	MPI_Comm_free(&ring);
	MPI_Finalize();
	return 0;
}
