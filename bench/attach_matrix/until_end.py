# SPDX-License-Identifier: Apache-2.0
"""Threads that work until standard input ends."""
import sys
import threading

done = threading.Event()


def run(work, n):
    """Calls work(0) to work(n - 1), each in a thread of its own, which is to return once `done` is set."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    sys.stdin.read()
    done.set()
    for t in threads:
        t.join()
