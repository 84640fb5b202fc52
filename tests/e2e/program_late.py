# SPDX-License-Identifier: Apache-2.0
"""A program without a device, and without the variables of `aiflame env`, that imports aiflame: program_late.py WHAT [PROFILE].

    own       its own profile, twice; then a child of fork() and one of exec(), and what it prints is what it is without
    sandbox   the same in a process with a seccomp filter
    goes-on   ranges and steps until its standard input ends, for a recorder that comes from outside
"""
import ctypes
import os
import struct
import subprocess
import sys
import threading
import time
import warnings

import aiflame

warnings.showwarning = lambda message, *_: print("warned", str(message).split(";")[0])


def work(seconds):
    end, n = time.process_time() + seconds, 0
    while time.process_time() < end:
        n += sum(k * k for k in range(2000)) % 7
    return n


@aiflame.range("decorated")
def decorated():
    work(0.1)


def put_filter():
    """One that allows everything."""
    libc = ctypes.CDLL(None)
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(program)) == 0


def own(path):
    before = len(os.listdir("/proc/self/fd"))
    with aiflame.profile(path) as p:
        with aiflame.range("forward"):
            work(0.4)
        other = threading.Thread(target=decorated)
        other.start()
        other.join()
        for _ in aiflame.steps(range(3)):
            work(0.05)
    if p.is_done:
        print([d["name"] for d in p.query("SELECT name FROM ops ORDER BY start_ns")])
        used = p.query("SELECT sum(weight_ns) / 1e9 AS s FROM cpu_samples")[0]["s"]
        print("most is sampled" if used > 0.4 else "of 0.65 s are sampled: %s" % used)
        print("its functions" if "work (program_late.py)" in p.report("--cpu") else p.report("--cpu"))
        with aiflame.profile(path) as p:
            work(0.1)
        print("again" if p.query("SELECT count(*) AS n FROM cpu_samples")[0]["n"] else "nothing the second time")
    print("no symbol", not hasattr(ctypes.CDLL(None), "aiflame_call"))
    print("descriptors", len(os.listdir("/proc/self/fd")) - before)
    child = os.fork()
    if not child:
        with aiflame.profile(path + ".child") as p:
            work(0.2)
        if p.is_done:
            print("a child's own", p.query("SELECT count(*) > 0 AS n FROM cpu_samples")[0]["n"], flush=True)
        os._exit(3)
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), subprocess.run([sys.executable, "-c", "print(2)"], capture_output=True).stdout)


if sys.argv[1] == "goes-on":
    threading.Thread(target=sys.stdin.read, daemon=True).start()
    print("ready", flush=True)
    while True:
        with aiflame.range("outer"):
            with aiflame.range("inner"):
                work(0.01)
        aiflame.step()
        if not any(t.daemon for t in threading.enumerate()):
            break
    sys.exit(7)
if sys.argv[1] == "sandbox":
    put_filter()
own(sys.argv[2])
