# SPDX-License-Identifier: Apache-2.0
"""ranks_mpi4py.py KIND STEPS SLOW: a rank of a job of mpi4py whose rank SLOW takes 40 ms longer in each step.

objects: a pipeline that hands Python objects on, as comm.send() does
arrays: halos of arrays that neighbours exchange by requests, one of any source"""
import array
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
kind, steps, slow = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def work(ms):
    until = time.perf_counter() + ms / 1e3
    while time.perf_counter() < until:
        sum(range(200))


def hand_on(n):
    x = comm.recv(source=rank - 1, tag=1) if rank else {"number": n}
    assert x["number"] == n
    work(43 if rank == slow else 3)
    if rank + 1 < size:
        comm.send(x, dest=rank + 1, tag=1)


def exchange(n):
    left, right = (rank - 1) % size, (rank + 1) % size
    mine, halos = array.array("d", [n] * 100), [array.array("d", [0] * 100) for _ in range(2)]
    work(43 if rank == slow else 3)
    MPI.Request.Waitall(
        [
            comm.Irecv(halos[0], source=left, tag=1),
            comm.Irecv(halos[1], source=MPI.ANY_SOURCE, tag=2),
            comm.Isend(mine, dest=right, tag=1),
            comm.Isend(mine, dest=left, tag=2),
        ]
    )
    assert halos[0][0] == n and halos[1][0] == n


for i in range(steps):
    (hand_on if kind == "objects" else exchange)(i)
