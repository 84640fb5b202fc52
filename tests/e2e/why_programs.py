# SPDX-License-Identifier: Apache-2.0
"""Python programs on OpenCL that know their loop and who keeps their device waiting: why_programs.py PROGRAM [repaired]

Each prints the line of tests/e2e/shapes_app.c: "loop=FUNCTION line=N steps=N owner=FUNCTION owner_ns=N ns=N"; owner_ns 0: not known.

  feeder    a thread decodes in Python, and hands batches over by a queue
  gil       a thread computes in Python beside the launching one
  loader    a generator decodes each batch
  trainer   a framework's loop, whose callback logs every ten steps
  epochs    epochs around batches, in one function
  sleeps    a rate limit sleeps before each step
  logged    a value is read back every fifth step
"""
import inspect
import queue
import sys
import threading
import time

import numpy as np
import pyopencl as cl

program, is_repaired = sys.argv[1], len(sys.argv) > 2
context = cl.create_some_context(interactive=False)
commands = cl.CommandQueue(context)
source = """
kernel void relax(global float *a, int n) { int i = get_global_id(0); float x = a[i]; while (n--) x = x * 1.0001f + 0.1f; a[i] = x; }
kernel void gather(global float *a, int n) { a[get_global_id(0)] += n; }
"""
built = cl.Program(context, source).build()
relax, gather = built.relax, built.gather
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 4096)
now = time.monotonic_ns
owner_ns, counted = 0, 0


def decode(ns):
    global owner_ns
    begin, x = now(), 1
    while not is_repaired and now() - begin < ns:
        for _ in range(50):
            x = x * 1664525 + 1013904223 & 0xffffffff
    owner_ns += now() - begin
    return np.full(4096, x & 7, np.float32)


def step():
    relax(commands, (4096,), None, buffer, np.int32(1500))
    gather(commands, (4096,), None, buffer, np.int32(1))
    commands.finish()


def line_of(function, text):
    """The line of `function` on which the loop with `text` begins."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line and line.strip().startswith(("for ", "while ")))


class Feeder:
    owner = "decode"

    def produce(self):
        for _ in range(120):
            self.batches.put(decode(8000000))

    def loop(self):
        global counted
        self.batches = queue.Queue(2)
        threading.Thread(target=self.produce, daemon=True).start()
        while counted < 120:
            cl.enqueue_copy(commands, buffer, self.batches.get())
            step()
            counted += 1


class Gil:
    owner = "hog"

    def hog(self):
        x = 1
        while not self.is_done:
            x = x * 3 & 0xffff

    def loop(self):
        global counted
        self.is_done = is_repaired
        other = threading.Thread(target=self.hog)
        other.start()
        for _ in range(150):
            step()
            counted += 1
        self.is_done = True
        other.join()


class Loader:
    owner = "decode"

    def batches(self):
        while True:
            yield decode(5000000)

    def loop(self):
        global counted
        for batch in self.batches():
            cl.enqueue_copy(commands, buffer, batch)
            step()
            counted += 1
            if counted == 150:
                break


class Trainer:
    owner = "decode"

    def on_step(self, n):
        if n % 10 == 9:
            cl.enqueue_copy(commands, np.empty(4096, np.float32), buffer)

    def training_step(self):
        cl.enqueue_copy(commands, buffer, decode(3000000))
        step()

    def loop(self):
        global counted
        while counted < 130:
            self.training_step()
            self.on_step(counted)
            counted += 1


class Epochs:
    owner = "decode"

    def loop(self):
        global counted
        for epoch in range(4):
            for batch in range(40):
                cl.enqueue_copy(commands, buffer, decode(3000000))
                step()
                counted += 1
            for _ in range(10):
                gather(commands, (4096,), None, buffer, np.int32(1))
                commands.finish()


class Sleeps:
    owner = "loop"

    def loop(self):
        global counted, owner_ns
        for _ in range(120):
            begin = now()
            time.sleep(0 if is_repaired else 0.006)
            owner_ns += now() - begin
            step()
            counted += 1


class Logged:
    owner = "decode"

    def loop(self):
        global counted
        for i in range(140):
            decode(3000000)
            if i % 5 == 0:
                cl.enqueue_copy(commands, np.empty(4096, np.float32), buffer)
            step()
            counted += 1


case = {c.__name__.lower(): c for c in (Feeder, Gil, Loader, Trainer, Epochs, Sleeps, Logged)}[program]()
step()
begin = now()
case.loop()
ns = now() - begin
text = "for batch in range" if program == "epochs" else ""
line = line_of(type(case).loop, text)
if program in ("feeder", "gil"):
    owner_ns = 0
print("loop=loop line=%d steps=%d owner=%s owner_ns=%d ns=%d" % (line, counted, case.owner, owner_ns, ns))
