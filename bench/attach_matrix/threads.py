# SPDX-License-Identifier: Apache-2.0
"""Fifty threads that compute and wait in turn."""
import sys

from until_end import done, run

sums = [0] * 50


def work(i):
    while not done.is_set():
        sums[i] = sum(k * k for k in range(500))
        done.wait(0.002)


run(work, 50)
print(set(sums))
sys.exit(25)
