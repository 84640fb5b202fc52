#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A shell with job control on a terminal of its own: job_control.py HOW COMMAND... runs the command as its foreground job.
HOW is what it does when the job stops: `job` continues it as `fg` does, `leader` its first process alone; `none`: the job
must not stop. Prints "stopped" where it did, and ends with the job's exit status; 99 after two minutes."""
import os
import pty
import signal
import sys
import time

LONGEST = 120


def shell(how, command):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    terminal = os.open("/dev/tty", os.O_RDWR)
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        os.tcsetpgrp(terminal, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(command[0], command)
    try:
        os.setpgid(job, job)
    except OSError:
        pass  # it has become the command
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        pid, status = os.waitpid(job, os.WUNTRACED | os.WNOHANG)
        if not pid:
            time.sleep(0.02)
        elif not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        else:
            os.tcsetpgrp(terminal, os.getpgrp())
            print("stopped", flush=True)
            if how == "none":
                break
            os.tcsetpgrp(terminal, job)
            (os.killpg if how == "job" else os.kill)(job, signal.SIGCONT)
    os.killpg(job, signal.SIGKILL)
    return 99


pid, ours = pty.fork()
if not pid:
    os._exit(shell(sys.argv[1], sys.argv[2:]))
while True:
    try:
        part = os.read(ours, 65536)
    except OSError:
        break
    if not part:
        break
    sys.stdout.buffer.write(part)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
