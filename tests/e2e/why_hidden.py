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
import ctypes
import gc
import inspect
import os
import subprocess
import sys
import threading
import time
import zlib

program, is_repaired = sys.argv[1], len(sys.argv) > 2
now = time.monotonic_ns
owner_ns, counted = 0, 0


class Mock:
    """A kernel of `ns` takes so long on the mock's device."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context, module = ctypes.c_void_p(), ctypes.c_void_p()
        cubin = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/cubin/kernels_sm90a.cubin")
        self.functions = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self.cuda.cuInit(0) and not self.cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
        assert not self.cuda.cuModuleLoad(ctypes.byref(module), cubin.encode())
        for function, name in zip(self.functions, (b"_Z5chainPfPKfi", b"_Z5callsPfPKfi")):
            assert not self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name)

    def kernel(self, ns, which=0):
        assert not self.cuda.cuLaunchKernel(self.functions[which], (ns - 5000) // 100, 1, 1, 1, 1, 1, 0, None, None, None)

    def wait(self):
        self.cuda.cuCtxSynchronize()


class OpenCl:
    source = "kernel void relax(global float *a, int n) { int i = get_global_id(0); float x = a[i]; while (n--) x = x * 1.0001f + 0.1f; a[i] = x; }"

    def __init__(self):
        import numpy
        import pyopencl as cl
        context = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(context)
        self.relax = cl.Program(context, self.source).build().relax
        self.buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 4096)
        self.number = numpy.int32

    def kernel(self, ns, which=0):
        self.relax(self.queue, (4096,), None, self.buffer, self.number(ns // 2400))

    def wait(self):
        self.queue.finish()


def compute(ns):
    begin, x = now(), 1
    while now() - begin < ns:
        for _ in range(50):
            x = x * 1664525 + 1013904223 & 0xffffffff
    return x


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
