#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two signals for a command that makes a file: stop_twice.py PATTERN NAME COMMAND... waits until something with a name of
PATTERN is there, sends two signals while the command stands still, and lets it go on. It has to die by one, and neither
PATTERN nor NAME may be there afterwards. A command that was quicker is tried again: no time decides. 77: it always was."""
import glob
import os
import signal
import subprocess
import sys


def as_on_a_terminal():
    """What runs in the background of a script ignores SIGINT, and so would the command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


pattern, name, command = sys.argv[1], sys.argv[2], sys.argv[3:]
for _ in range(100):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=as_on_a_terminal)
    while process.poll() is None and not glob.glob(pattern):
        pass
    if process.poll() is None:
        os.kill(process.pid, signal.SIGSTOP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status) and glob.glob(pattern):
            os.kill(process.pid, signal.SIGINT)
            os.kill(process.pid, signal.SIGTERM)
            os.kill(process.pid, signal.SIGCONT)
            _, status = os.waitpid(process.pid, 0)
            if not os.WIFSIGNALED(status):
                sys.exit(f"it was not ended by a signal: {status}")
            left = glob.glob(pattern) + glob.glob(name)
            if left:
                sys.exit(f"left behind: {left}")
            sys.exit(0)
        if os.WIFSTOPPED(status):
            os.kill(process.pid, signal.SIGCONT)
            os.waitpid(process.pid, 0)
    for old in glob.glob(name):
        if os.path.isdir(old):
            for f in os.listdir(old):
                os.unlink(os.path.join(old, f))
            os.rmdir(old)
        else:
            os.unlink(old)
sys.exit(77)
