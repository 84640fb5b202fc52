# SPDX-License-Identifier: Apache-2.0
"""Starts programs and forks without a pause, in three threads."""
import os
import subprocess
import sys

from until_end import done, run

seen = set()


def work(i):
    while not done.is_set():
        if i % 2:
            seen.add(subprocess.run(["/bin/sh", "-c", "echo %d" % i], capture_output=True).stdout)
        else:
            pid = os.fork()
            if not pid:
                os._exit(9)
            seen.add(os.waitpid(pid, 0)[1])


run(work, 3)
print(sorted(map(str, seen)))
sys.exit(27)
