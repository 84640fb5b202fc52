#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a perf.data file by the format's rules:  perf_data.py FILE PROGRAM ADDRESS:OFFSET [big|pipe|torn|lost|throttled|killed|other|epochs|threads|deep|jit|kernel|stacks|cycles]...

One process maps PROGRAM at 0x400000 and forks; the child maps another file over it, later. Samples of cpu-clock are at
the address, whose offset in the file is OFFSET, with a caller that perf cannot place and one in memory of a JIT compiler;
page-faults have one. The records of two CPUs are not in the order of time.

  epochs    40 places of PROGRAM, after another mapping the first 9 of them again
  threads   a named thread starts another one
  deep      a stack deeper than importers keep
  kernel    a function of the OS kernel
  stacks    samples have copies of stacks, which only perf reads
  cycles    its first event counts cycles
  jit       two children of one process have different code at one address
"""
import struct
import sys

path, program, options = sys.argv[1], sys.argv[2].encode(), set(sys.argv[4:])
address, offset = (int(v, 0) for v in sys.argv[3].split(":"))
E = ">" if "big" in options else "<"
IP, TID, TIME, CALLCHAIN, ID, PERIOD, IDENTIFIER = 1, 2, 4, 32, 64, 256, 1 << 16
STACK = 1 << 13
TYPE = IP | TID | TIME | CALLCHAIN | PERIOD | IDENTIFIER | (STACK if "stacks" in options else 0)
EVENTS = {1: (0, 0, b"cycles:u") if "cycles" in options else (1, 0, b"cpu-clock:u"), 2: (1, 2, b"page-faults")}  # type, number, name
USER, KERNEL = 2**64 - 512, 2**64 - 128


def attr(kind, config):
    flags = 1 << 18 | 1 << 10
    if E == ">":
        flags = int(f"{flags:064b}"[::-1], 2)
    return struct.pack(E + "IIQQQQQ", kind, 112, config, 4000, TYPE, 0, flags).ljust(112, b"\0")


def record(kind, misc, body):
    return struct.pack(E + "IHH", kind, misc, 8 + len(body)) + body


def text(s):
    return (s + b"\0").ljust((len(s) + 8) // 8 * 8, b"\0")


def tail(pid, tid, time):  # of what is no sample
    return struct.pack(E + "IIQQ", pid, tid, time, 1)


def mmap(pid, start, size, at, name, time):
    return record(1, 2, struct.pack(E + "IIQQQ", pid, pid, start, size, at) + text(name) + tail(pid, pid, time))


def mmap2(pid, start, size, at, name, time, build_id):
    head = struct.pack(E + "IIQQQ", pid, pid, start, size, at)
    return record(10, 2 | 1 << 14, head + bytes([20, 0, 0, 0]) + build_id + struct.pack(E + "II", 5, 2) + text(name) + tail(pid, pid, time))


def comm(pid, tid, name, time, is_exec=False):
    return record(3, 1 << 13 if is_exec else 0, struct.pack(E + "II", pid, tid) + text(name) + tail(pid, tid, time))


def fork(pid, parent, tid, time, parent_tid=None):
    return record(7, 0, struct.pack(E + "IIIIQ", pid, parent, tid, parent_tid or parent, time) + tail(pid, tid, time))


def sample(event, pid, tid, time, period, chain):
    head = struct.pack(E + "QQIIQQQ", event, chain[1], pid, tid, time, period, len(chain))
    return record(9, 2, head + struct.pack(E + "%dQ" % len(chain), *chain) + (struct.pack(E + "Q", 0) if TYPE & STACK else b""))


at = 0x400000 + address
chain = [USER, at, 0x700001, 0x900001]
data = b"".join([
    comm(7, 7, b"sh", 0),
    comm(7, 7, b"app", 10, True),
    mmap(7, 0x400000, 0x100000, offset - address, program, 20),
    mmap(7, 0x900000, 0x1000, 0, b"//anon", 21),
    sample(1, 7, 7, 100, 1000000, chain),
    # What the second CPU has is earlier than what the first one has.
    sample(1, 8, 8, 500, 2000000, chain),
    sample(1, 8, 9, 900, 4000000, chain),  # behind a mapping over it
    sample(2, 8, 8, 910, 1, [USER, at]),
    record(68, 0, b""),
    fork(8, 7, 8, 200),
    mmap2(8, 0x400000, 0x100000, 0, b"/nowhere/else.so", 800, b"\xab" * 20),
    comm(8, 9, b"worker", 850),
    record(68, 0, b""),
])
start = [comm(7, 7, b"app", 10, True), mmap(7, 0x400000, 0x100000, offset - address, program, 20)]
if "epochs" in options:
    data = b"".join(start + [sample(1, 7, 7, 100 + i, 1000, [USER, at + 16 * i]) for i in range(40)] +
                    [mmap(7, 0x900000, 0x1000, 0, b"//anon", 200)] +
                    [sample(1, 7, 7, 300 + i, 1000, [USER, at + 16 * i]) for i in range(9)])
if "threads" in options:
    data = b"".join(start + [comm(7, 8, b"worker", 30), fork(7, 7, 9, 40, 8), sample(1, 7, 9, 100, 1000, [USER, at])])
if "deep" in options:
    data = b"".join(start + [sample(1, 7, 7, 100, 1000, [USER] + [at] * 5000)])
if "jit" in options:
    pids = (4194401, 4194402)  # that no process has
    data = b"".join(start + [mmap(7, 0x900000, 0x1000, 0, b"//anon", 21)] + [fork(i, 7, i, 30) for i in pids] +
                    [sample(1, i, i, 100, 1000, [USER, 0x900010]) for i in pids])
if "kernel" in options:
    data = b"".join(start + [sample(1, 7, 7, 100, 1000, [KERNEL, 0xffffffff81000010, USER, at])])
if "lost" in options:
    data += record(2, 0, struct.pack(E + "QQ", 1, 5) + tail(7, 7, 950))
    data += record(13, 0, struct.pack(E + "Q", 5) + tail(0, 0, 0))  # perf's own count of the same
if "throttled" in options:
    data += (record(5, 0, struct.pack(E + "QQQ", 950, 1, 1) + tail(7, 7, 950)) + record(6, 0, struct.pack(E + "QQQ", 960, 1, 1) + tail(7, 7, 960))) * 2
if "other" in options:
    data += record(9, 2, b"\0" * 8)  # too short for a sample
names = struct.pack(E + "II", 2, 112)
for i, (_, _, name) in EVENTS.items():
    names += attr(*EVENTS[i][:2]) + struct.pack(E + "II", 1, len(text(name))) + text(name) + struct.pack(E + "Q", i)
magic = b"2ELIFREP" if E == ">" else b"PERFILE2"
if "pipe" in options:
    out = magic + struct.pack(E + "Q", 16)
    for i in (1, 2):
        out += record(64, 0, attr(*EVENTS[i][:2]) + struct.pack(E + "Q", i))
    out += record(80, 0, struct.pack(E + "Q", 12) + names) + data
else:
    ids = struct.pack(E + "QQ", 1, 2)
    attrs = b"".join(attr(*EVENTS[i][:2]) + struct.pack(E + "QQ", 104 + 8 * (i - 1), 8) for i in (1, 2))
    begin = 104 + len(ids) + len(attrs)
    end = begin + len(data)
    sizes = (begin, 0 if "killed" in options else len(data))
    out = magic + struct.pack(E + "QQQQQQQQQQQQ", 104, 128, 104 + len(ids), len(attrs), *sizes, 0, 0, 1 << 12, 0, 0, 0)
    out = out[:104].ljust(104, b"\0") + ids + attrs + data
    out += struct.pack(E + "QQ", end + 16, len(names)) + names
if "torn" in options:
    out = out[: len(out) - len(names) - 16 - 40]
with open(path, "wb") as f:
    f.write(out)
