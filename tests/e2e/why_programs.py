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
  rounds    two loops in turns, in rounds that launch nothing themselves
  download  each batch is asked for over a connection
  pool      a thread of a pool compresses, and the launching one waits for its result
  save      every 16 steps a checkpoint is written
  files     each batch is written to a disk
"""
import inspect
import os
import queue
import socket
import sys
import tempfile
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

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


class Rounds:
    owner = "decode"

    def loop(self):
        global counted
        for r in range(5):
            for critic in range(20):
                decode(3000000)
                relax(commands, (4096,), None, buffer, np.int32(1500))
                commands.finish()
                counted += 1
            for actor in range(8):
                gather(commands, (4096,), None, buffer, np.int32(1))
                commands.finish()


class Download:
    owner = "fetch"

    def answer(self):
        while self.server.recv(1):
            time.sleep(0 if is_repaired else 0.006)
            self.server.sendall(b"x")

    def fetch(self):
        global owner_ns
        begin = now()
        self.client.sendall(b"x")
        self.client.recv(1)
        owner_ns += now() - begin

    def loop(self):
        global counted
        self.client, self.server = socket.socketpair()
        threading.Thread(target=self.answer, daemon=True).start()
        while counted < 120:
            self.fetch()
            step()
            counted += 1


class Pool:
    owner = "compress"
    text = bytes(range(256)) * 1200

    def compress(self):
        for _ in range(0 if is_repaired else 10):
            zlib.compress(self.text, 6)

    def loop(self):
        global counted
        with ThreadPoolExecutor(1) as pool:
            results = [pool.submit(self.compress) for _ in range(100)]
            for result in results:
                result.result()
                step()
                counted += 1


class Save:
    owner = "decode"

    def checkpoint(self):
        cl.enqueue_copy(commands, np.empty(4096, np.float32), buffer)
        decode(50000000)

    def loop(self):
        global counted
        for i in range(130):
            step()
            if i % 16 == 15:
                self.checkpoint()
            counted += 1


class Files:
    owner = "write"

    def write(self, file, i):
        global owner_ns
        begin = now()
        if not is_repaired:
            os.pwrite(file, b"%d" % i, 8192 * (i % 64))
            os.fsync(file)
            time.sleep(0.005)  # a disk in memory has no wait of its own
        owner_ns += now() - begin

    def loop(self):
        global counted
        with tempfile.TemporaryFile() as file:
            while counted < 110:
                self.write(file.fileno(), counted)
                step()
                counted += 1


cases = (Feeder, Gil, Loader, Trainer, Epochs, Sleeps, Logged, Rounds, Download, Pool, Save, Files)
case = {c.__name__.lower(): c for c in cases}[program]()
step()
begin = now()
case.loop()
ns = now() - begin
text = {"epochs": "for batch in range", "rounds": "for critic in", "pool": "for result in"}.get(program, "")
line = line_of(type(case).loop, text)
if program in ("feeder", "gil", "pool"):
    owner_ns = 0
print("loop=loop line=%d steps=%d owner=%s owner_ns=%d ns=%d" % (line, counted, case.owner, owner_ns, ns))
