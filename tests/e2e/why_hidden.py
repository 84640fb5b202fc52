# SPDX-License-Identifier: Apache-2.0
"""Programs whose owner of idle time is not where they launch: why_hidden.py PROGRAM [repaired]

Each prints the line of tests/e2e/shapes_app.c: "loop=FUNCTION line=N steps=N owner=FUNCTION owner_ns=N ns=N"; owner_ns 0: not known.

On the mock of CUDA (tests/mock/cuda), whose device takes no CPU:

  stages    each text is tokenized, and goes through stages, which alone launch
  locked    another thread computes while it holds the lock that each step takes
  async     coroutines parse what each step takes
  child     a program answers over a pipe, when it has computed
  pause     the program sleeps for longer than the device works, instead of waiting for it

On OpenCL:

  tree      a recursive search precedes each launch
  unpack    map() decompresses each batch, in a library of C
  tidy      every fourth step the garbage of Python is collected
"""
import asyncio
import gc
import inspect
import os
import subprocess
import sys
import threading
import time
import zlib

from why_devices import Mock, OpenCl

program, is_repaired = sys.argv[1], len(sys.argv) > 2
now = time.monotonic_ns
owner_ns, counted = 0, 0


def owns(function):
    """Adds the time of the outermost calls of `function` to owner_ns."""
    depth = 0

    def timed(*args):
        nonlocal depth
        global owner_ns
        begin = now()
        depth += 1
        try:
            return function(*args)
        finally:
            depth -= 1
            owner_ns += 0 if depth else now() - begin
    return timed


class Stages:
    owner = "tokenize"

    def tokenize(self):
        global owner_ns
        begin = now()
        while not is_repaired and now() - begin < 4000000:
            sum(ord(c) for c in "what a device waits for")
        owner_ns += now() - begin

    def loop(self):
        global counted
        for text in range(270):
            self.tokenize()
            for stage in range(6):
                device.kernel(250000, stage & 1)
                device.wait()
            counted += 1


class Locked:
    owner = "summarise"

    def summarise(self):
        while not self.is_done:
            with self.lock:
                x, until = 1, now() + 4000000
                while now() < until:
                    x = x * 3 & 0xffff
            time.sleep(0.001)

    def loop(self):
        global counted
        self.lock, self.is_done = threading.Lock(), is_repaired
        other = threading.Thread(target=self.summarise)
        other.start()
        for _ in range(450):
            device.kernel(800000)
            device.wait()
            with self.lock:
                counted += 1
        self.is_done = True
        other.join()


class Async:
    owner = "parse"

    async def parse(self, request):
        global owner_ns
        begin = now()
        await asyncio.sleep(0)
        while not is_repaired and now() - begin < 3000000:
            request = request.title().swapcase()
        owner_ns += now() - begin
        return len(request)

    async def serve(self, n):
        device.kernel(500000 + n)
        device.wait()

    async def run(self):
        global counted
        for request in ["a request %d" % i for i in range(480)]:
            n = await self.parse(request)
            await self.serve(n)
            counted += 1

    def loop(self):
        asyncio.run(self.run())


class Child:
    owner = "ask"
    text = "import sys,time\nfor l in sys.stdin:\n u=time.monotonic_ns()+int(l)\n while time.monotonic_ns()<u: pass\n print(flush=True)\n"

    def ask(self):
        global owner_ns
        begin = now()
        self.child.stdin.write("%d\n" % (0 if is_repaired else 5000000))
        self.child.stdin.flush()
        self.child.stdout.readline()
        owner_ns += now() - begin

    def loop(self):
        global counted
        self.child = subprocess.Popen([sys.executable, "-c", self.text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while counted < 360:
            self.ask()
            device.kernel(700000)
            device.kernel(300000, 1)
            device.wait()
            counted += 1
        self.child.stdin.close()
        self.child.wait()


class Pause:
    owner = "pause"

    def pause(self):
        global owner_ns
        begin = now()
        if is_repaired:
            device.wait()
        else:
            time.sleep(0.005)
        owner_ns += now() - begin - 1000000

    def loop(self):
        global counted
        for _ in range(420):
            device.kernel(1000000)
            self.pause()
            counted += 1


class Tree:
    owner = "descend"

    @owns
    def descend(self, depth):
        x, begin = depth, now()
        while not is_repaired and now() - begin < 400000:
            x = max(range(40), key=lambda n: (n * 7919 + x) % 41)
        return x if depth == 9 else Tree.descend(self, depth + 1)

    def loop(self):
        global counted
        for simulation in range(360):
            self.descend(0)
            device.kernel(800000)
            device.wait()
            counted += 1


class Unpack:
    owner = "unpack"

    def unpack(self, data):
        global owner_ns
        begin = now()
        for _ in range(0 if is_repaired else 24):
            zlib.decompress(data)
        owner_ns += now() - begin
        return data

    def loop(self):
        global counted
        chunk = zlib.compress(os.urandom(1000) * 300)
        for batch in map(self.unpack, [chunk] * 390):
            device.kernel(800000)
            device.wait()
            counted += 1


class Tidy:
    owner = "tidy"

    def tidy(self):
        global owner_ns
        begin = now()
        if not is_repaired:
            gc.collect()
        owner_ns += now() - begin

    def loop(self):
        global counted
        garbage = [[i] for i in range(300000)]
        gc.disable()
        for step in range(300):
            if step % 4 == 0:
                self.tidy()
            device.kernel(900000)
            device.wait()
            counted += 1
        return garbage


cases = (Stages, Locked, Async, Child, Pause, Tree, Unpack, Tidy)
case = {c.__name__.lower(): c for c in cases}[program]()
device = (OpenCl if program in ("tree", "unpack", "tidy") else Mock)()
device.kernel(100000)
device.wait()
begin = now()
case.loop()
ns = now() - begin
if program == "locked":
    owner_ns = 0
looping = case.run if program == "async" else case.loop
lines, first = inspect.getsourcelines(looping)
line = first + next(i for i, text in enumerate(lines) if text.strip().startswith(("for ", "while ")))
print("loop=%s line=%d steps=%d owner=%s owner_ns=%d ns=%d" % (looping.__name__, line, counted, case.owner, owner_ns, ns))
