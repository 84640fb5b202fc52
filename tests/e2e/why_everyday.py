# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them, each with one function that the device waits for: why_everyday.py PROGRAM [repaired]

Each prints the line of tests/e2e/shapes_app.c: "loop=FUNCTION line=N steps=N owner=FUNCTION owner_ns=N ns=N"; owner_ns 0: not known.

On the mock of CUDA (tests/mock/cuda), whose device takes no CPU:

  process    each step runs a program, and reads what it printed
  client     each step asks a server of its own over a socket, which computes for some ms
  condition  a thread compresses, without Python's lock, what the loop waits for by a condition
  callbacks  a trainer calls its callbacks, one of which writes a report of all metrics
  pool       processes of a pool prepare what each step takes
  retry      decorators around a function that fails at first, and checks again
  frames     a camera is polled, with short sleeps, until it has the next frame

On OpenCL:

  queues     two queues work in turns; every third step the host renders
  records    generators within generators, of which the innermost decodes
"""
import collections
import concurrent.futures
import functools
import inspect
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
import zlib

from why_devices import Mock, OpenCl

program, is_repaired = sys.argv[1], len(sys.argv) > 2
now = time.monotonic_ns
owner_ns, counted = 0, 0


def compute(ns):
    until, x = now() + ns, 1
    while now() < until:
        for _ in range(50):
            x = x * 1664525 + 1013904223 & 0xffffffff
    return x


class timed:
    """Adds what passes within to owner_ns."""

    def __enter__(self):
        self.begin = now()

    def __exit__(self, *_):
        global owner_ns
        owner_ns += now() - self.begin


class Process:
    owner = "convert"

    def convert(self, page):
        with timed():
            if not is_repaired:
                subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 4000 ]; do i=$((i + 1)); done; echo %d" % page], capture_output=True, check=True)

    def loop(self):
        global counted
        for page in range(250):
            self.convert(page)
            device.kernel(900000)
            device.kernel(400000, 1)
            device.wait()
            counted += 1


class Client:
    owner = "fetch"

    def serve(self, connection):
        while connection.recv(64):
            compute(0 if is_repaired else 4000000)
            connection.sendall(b"x" * 4096)
        os._exit(0)

    def fetch(self, key):
        with timed():
            self.connection.sendall(b"%d" % key)
            return self.connection.recv(8192)

    def loop(self):
        global counted
        self.connection, other = socket.socketpair()
        child = os.fork()
        if not child:
            self.connection.close()
            self.serve(other)
        other.close()
        key = 0
        while key < 360:
            values = self.fetch(key)
            key += len(values) // 4096
            device.kernel(800000)
            device.wait()
            counted += 1
        self.connection.close()
        os.waitpid(child, 0)


class Condition:
    owner = "squeeze"

    def squeeze(self, raw):
        return zlib.compress(raw, 0 if is_repaired else 6)

    def produce(self):
        raw = os.urandom(100000) + bytes(100000)
        for _ in range(330):
            block = self.squeeze(raw)
            with self.condition:
                while len(self.blocks) > 1:
                    self.condition.wait()
                self.blocks.append(block)
                self.condition.notify_all()

    def take(self):
        with timed(), self.condition:
            while not self.blocks:
                self.condition.wait()
            block = self.blocks.popleft()
            self.condition.notify_all()
            return block

    def loop(self):
        global counted
        self.condition, self.blocks = threading.Condition(), collections.deque()
        producer = threading.Thread(target=self.produce)
        producer.start()
        while counted < 330:
            block = self.take()
            device.kernel(600000 + len(block) % 2)
            device.wait()
            counted += 1
        producer.join()


class Report:
    def __init__(self):
        self.metrics = [{"step": i, "loss": 1 / (i + 1), "names": ["a", "b", "c"] * 4} for i in range(350)]

    def on_step_begin(self, step):
        self.metrics[step % len(self.metrics)]["loss"] = step

    def on_step_end(self, step):
        self.flush_metrics()

    def flush_metrics(self):
        with timed():
            if not is_repaired:
                text = json.dumps(self.metrics, indent=1, sort_keys=True)
                json.loads(text)


class Quiet:
    def on_step_begin(self, step):
        pass

    def on_step_end(self, step):
        pass


class Callbacks:
    owner = "flush_metrics"

    def call(self, event, *args):
        for callback in self.callbacks:
            getattr(callback, event)(*args)

    def training_step(self, step):
        device.kernel(500000)
        device.kernel(500000, 1)
        device.wait()

    def loop(self):
        global counted
        self.callbacks = [Quiet(), Report(), Quiet()]
        for epoch in range(6):
            for step in range(60):
                self.call("on_step_begin", step)
                self.training_step(step)
                self.call("on_step_end", step)
                counted += 1


def prepare(i):
    compute(0 if is_repaired else 9000000)
    return i


class Pool:
    owner = "next_batch"

    def next_batch(self):
        with timed():
            future = self.pending.popleft()
            self.pending.append(self.pool.submit(prepare, counted))
            return future.result()

    def loop(self):
        global counted
        self.pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
        self.pending = collections.deque(self.pool.submit(prepare, i) for i in range(2))
        self.pending[0].result()
        warm_up = threading.Thread(target=compute, args=(20000000,))
        warm_up.start()
        warm_up.join()
        while counted < 300:
            batch = self.next_batch()
            device.kernel(700000 + batch % 2)
            device.wait()
            counted += 1
        self.pool.shutdown()


def retrying(times):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **keywords):
            for attempt in range(times):
                try:
                    return function(*args, attempt=attempt, **keywords)
                except ValueError:
                    continue
        return wrapper
    return decorate


class Retry:
    owner = "validate"

    @retrying(3)
    def validate(self, row, attempt):
        with timed():
            if not is_repaired:
                total = sum(sum(divmod(x, 7)) for x in row)
                if attempt < 2:
                    raise ValueError(total)
        return row

    def loop(self):
        global counted
        rows = [list(range(i, i + 6000)) for i in range(10)]
        step = 0
        while True:
            row = self.validate(rows[step % 10])
            if step == 280:
                break
            device.kernel(600000 + row[0])
            device.wait()
            step += 1
            counted += 1


class Camera:
    def __init__(self):
        self.next = now()

    def has_frame(self):
        return is_repaired or now() >= self.next

    def read(self):
        self.next = now() + 5500000


class Frames:
    owner = "wait_for_frame"

    def wait_for_frame(self, camera):
        with timed():
            while not camera.has_frame():
                time.sleep(0.0004)
        camera.read()

    def loop(self):
        global counted
        camera = Camera()
        while counted < 320:
            self.wait_for_frame(camera)
            device.kernel(700000)
            device.kernel(200000, 1)
            device.wait()
            counted += 1


class Queues:
    owner = "render"

    def render(self, step):
        with timed():
            if not is_repaired:
                ["%08x" % (x * step & 0xffffffff) for x in range(60000)]

    def loop(self):
        global counted
        import pyopencl
        other = pyopencl.CommandQueue(device.queue.context)
        queues = device.queue, other
        for step in range(330):
            device.queue = queues[step & 1]
            device.kernel(500000)
            device.queue = queues[1 - (step & 1)]
            device.kernel(400000)
            for queue in queues:
                queue.finish()
            if step % 3 == 2:
                self.render(step)
            counted += 1


class Records:
    owner = "decode"

    def decode(self, chunk):
        with timed():
            if is_repaired:
                return chunk
            text = zlib.decompress(chunk).decode("latin-1")
            return [int(word) for word in text.split(",")]

    def shards(self):
        chunk = zlib.compress(",".join(str(i * 31 % 1009) for i in range(45000)).encode())
        for _ in range(12):
            yield [chunk] * 26

    def records(self):
        for shard in self.shards():
            yield from (self.decode(chunk) for chunk in shard)

    def batches(self):
        for record in self.records():
            yield record

    def loop(self):
        global counted
        for batch in self.batches():
            device.kernel(800000)
            device.wait()
            counted += 1


cases = (Process, Client, Condition, Callbacks, Pool, Retry, Frames, Queues, Records)
case = {c.__name__.lower(): c for c in cases}[program]()
device = (OpenCl if program in ("queues", "records") else Mock)()
device.kernel(100000)
device.wait()
begin = now()
case.loop()
ns = now() - begin
lines, first = inspect.getsourcelines(case.loop)
heads = [i for i, text in enumerate(lines) if text.strip().startswith(("for ", "while "))]
line = first + heads[1 if program == "callbacks" else 0]
print("loop=loop line=%d steps=%d owner=%s owner_ns=%d ns=%d" % (line, counted, case.owner, owner_ns, ns))
