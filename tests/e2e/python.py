# SPDX-License-Identifier: Apache-2.0
"""A Python program that launches from everywhere, and says from where: python.py cl|fake LOG PART [N]

Each launch appends a line to LOG: process, thread, how, and its own stack by sys._getframe(), innermost
first: name, file and current line of each frame. `cl` launches by pyopencl, `fake` by the agent's own
runtime, called with the GIL released (ctypes.CDLL) or held (ctypes.PyDLL). PART is a function below.
"""

import asyncio
import contextlib
import ctypes
import functools
import multiprocessing
import os
import re
import sys
import threading

try:
    import greenlet
except ImportError:
    greenlet = None

kind, log_path, part = sys.argv[1:4]
times = int(sys.argv[4]) if len(sys.argv) > 4 else 1
log = os.open(log_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def describe(code, line):
    """As aiflame names it: <lambda> and the like with the line that they begin on."""
    name = getattr(code, "co_qualname", code.co_name)
    if name.endswith(">") and name != "<module>":
        name += ":%d" % code.co_firstlineno
    return "%s\t%s\t%d" % (name, code.co_filename, line or code.co_firstlineno)


def note(frame, how="exact"):
    lines = []
    while frame:
        lines.append(describe(frame.f_code, frame.f_lineno))
        frame = frame.f_back
    head = "%d\t%d\t%s" % (os.getpid(), threading.get_native_id(), how)
    os.write(log, ("\n".join([head] + lines) + "\n\n").encode())


here = sys._getframe
if kind == "fake":
    free, held = ctypes.CDLL(None), ctypes.PyDLL(None)
    run = free.aif_fake_run(b"generate kernels=20 streams=3")
    assert run == 0, run
    call, call_held = free.aif_fake_launch, held.aif_fake_launch
    one, two = (0, 1), (1, 2)
else:

    def opened():
        import pyopencl

        context = pyopencl.create_some_context(interactive=False)
        source = "kernel void f(global int *a) { a[get_global_id(0)] += 1; }"
        kernel = pyopencl.Program(context, source).build().f
        buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)
        kernel.set_args(buffer)
        return pyopencl, pyopencl.CommandQueue(context), kernel, buffer

    if part != "forks":  # whose children open the device themselves
        cl, queue, kernel, buffer = opened()
        call = call_held = cl.enqueue_nd_range_kernel
        one = two = (queue, kernel, (64,), None)


# ---- each of these launches at least once, with the note of it on the same line -------------------


def plain():
    note(here()); call(*one)


def nested(n):
    def inner(k):
        if k:
            inner(k - 1)
        else:
            note(here()); call(*two)

    inner(n)


def recursive(n):
    if n == 0:
        note(here()); call(*one)
        return
    if n % 7 == 0:
        note(here()); call_held(*two)
    recursive(n - 1)


class Thing:
    made = 0

    def __init__(self):
        Thing.made += 1
        self.number = Thing.made

    def method(self):
        note(here()); call(*one)

    @classmethod
    def of_class(cls):
        note(here()); call(*two)

    @staticmethod
    def static():
        note(here()); call_held(*one)

    @property
    def attribute(self):
        note(here()); call(*one)
        return 1

    def __call__(self):
        note(here()); call(*two)

    def __getattr__(self, name):
        note(here()); call(*one)
        return name

    def __lt__(self, other):
        note(here()); call(*one)
        return self.number < other.number

    def __len__(self):
        note(here()); call(*one)
        return 3

    def __iter__(self):
        note(here()); call(*one)
        yield 1
        note(here()); call(*two)
        yield 2

    def __enter__(self):
        note(here()); call(*one)

    def __exit__(self, *error):
        note(here()); call(*one)
        return True

    def __del__(self):
        note(here()); call(*one)


class Derived(Thing):
    def method(self):
        super().method()
        note(here()); call(*two)


def methods():
    t = Derived()
    t.method()
    t.of_class()
    t.static()
    t()
    assert t.attribute == 1 and t.other == "other" and len(t) == 3
    list(t)
    with t:
        raise ValueError
    t < Thing()
    del t


def lambdas():
    f = lambda: (note(here()), call(*one)); g = lambda x: (note(here()), call(*two), x())
    f()
    g(f)
    g(
        lambda: (
            note(here()), call(*one)))


def comprehensions():
    [(note(here()), call(*one)) for _ in range(2)]
    {(note(here()), call(*one))[0] for _ in range(2)}
    {i: (note(here()), call(*one)) for i in range(2)}
    list((note(here()), call(*one)) for _ in range(2))
    [[(note(here()), call(*two)) for _ in range(2)] for _ in range(2)]


def generator(n):
    for i in range(n):
        note(here()); call(*one)
        try:
            yield i
        finally:
            note(here()); call(*two)


def delegating(n):
    yield from generator(n)
    return (yield from generator(1))


def generators():
    list(generator(3))
    for i in delegating(2):
        plain()
    g = delegating(5)
    next(g)
    g.close()
    sum(x for x in generator(2))
    pipeline = map(lambda x: (note(here()), call(*one)), filter(None, delegating(4)))
    list(pipeline)


def key(x):
    note(here()); call(*one)
    return -x


def callbacks():
    sorted([3, 1, 2], key=key)
    max([1, 2], key=key)
    list(map(key, [1, 2]))
    functools.reduce(lambda a, b: (note(here()), call(*one), a + b)[2], [1, 2, 3])
    re.sub("a", lambda m: (note(here()), call_held(*two)) and "b", "aXa")
    sorted([Thing(), Thing(), Thing()])


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        note(here()); call(*one)
        return f(*args, **kwargs)

    return wrapper


@decorated
@decorated
def twice_wrapped(x):
    note(here()); call(*two)
    return x


@functools.lru_cache(maxsize=None)
def cached(x):
    note(here()); call(*one)
    return x


@contextlib.contextmanager
def managed():
    note(here()); call(*one)
    yield
    note(here()); call(*two)


def decorators():
    twice_wrapped(1)
    cached(times)
    functools.partial(twice_wrapped, 3)()
    cached.cache_clear()
    with managed():
        plain()


code = """
def made(n):
    if n:
        made(n - 1)

    note(here()); call(*one)
class Made:
    note(here()); call(*one)
    def method(self): note(here()); call(*two)
made(2)
Made().method()
"""


def executed():
    exec(compile(code, "<made>", "exec"), dict(globals()))
    eval("plain() or key(1)")
    exec("note(here()); call(*one)")


def failing(n):
    try:
        if n == 0:
            raise KeyError(n)
        failing(n - 1)
    except KeyError:
        note(here()); call(*one)
        if n < 3:
            raise
    finally:
        note(here()); call(*two)


def exceptions():
    failing(5)
    try:
        sorted([1, 2], key=lambda x: (note(here()), call(*one), 1 // 0))
    except ZeroDivisionError:
        plain()


class Awaitable:
    def __await__(self):
        note(here()); call(*one)
        yield from asyncio.sleep(0).__await__()
        note(here()); call(*two)


async def numbers(n):
    for i in range(n):
        note(here()); call(*one)
        await asyncio.sleep(0)
        yield i


async def coroutine(n):
    note(here()); call(*one)
    if n:
        await coroutine(n - 1)
    await asyncio.sleep(0)
    note(here()); call(*two)
    await Awaitable()
    async for i in numbers(2):
        note(here()); call_held(*one)
    return [i async for i in numbers(2)]


async def tasks():
    await asyncio.gather(*(coroutine(i) for i in range(4)))
    await asyncio.get_running_loop().run_in_executor(None, plain)


def coroutines():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(tasks())
    loop.run_until_complete(loop.shutdown_default_executor() if hasattr(loop, "shutdown_default_executor") else asyncio.sleep(0))
    loop.close()


def greenlets():
    if not greenlet:
        return
    def back(n):
        plain()
        other.switch() if n else None
        recursive(3)
    first = greenlet.greenlet(lambda: (back(1), note(here()), call(*one)))
    other = greenlet.greenlet(lambda: (recursive(2), first.switch(), plain()))
    first.switch()
    other.switch()


def every():
    plain()
    nested(3)
    recursive(20)
    methods()
    lambdas()
    comprehensions()
    generators()
    callbacks()
    decorators()
    executed()
    exceptions()
    greenlets()


# ---- the parts ------------------------------------------------------------------------------------


def main():
    for _ in range(times):
        every()
        coroutines()


def deep():
    sys.setrecursionlimit(990)
    recursive(900)


def threads():
    def work(n):
        for _ in range(times):
            every()

    all = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in all:
        t.start()
    every()
    for t in all:
        t.join()
    for i in range(50 * times):  # one after another, whose memory and numbers are used again
        t = threading.Thread(target=nested, args=(i % 3,))
        t.start()
        t.join()


def renamed():
    note(here()); call(*one)


def churn():
    """Functions that live for one launch, at the same few addresses, of the same size and place."""
    places = set()
    for i in range(400):  # the one before dies when the next is there: two addresses in turn
        name = "g%06d" % i
        code = renamed.__code__
        renamed.__code__ = code.replace(
            co_name=name, **({"co_qualname": name} if hasattr(code, "co_qualname") else {})
        )
        del code
        places.add(id(renamed.__code__))
        renamed()
    assert len(places) < 40, len(places)
    for i in range(2000):
        names = {"note": note, "here": here, "call": call, "one": one}
        text = "def f%06d(): note(here()); call(*one)\nf%06d()\n" % (i, i)
        exec(compile(text, "churn.py", "exec"), names)
        del names
        if i % 500 == 0:
            every()


def sudden():
    """Functions that are new, and stand in a stack many times, or beside many others that are new."""
    for depth in (1, 30, 31, 32, 33, 40, 100, 300):
        names = {"note": note, "here": here, "call": call, "one": one}
        exec(compile("def f(n):\n    if n:\n        return f(n - 1)\n    note(here()); call(*one)\n", "sudden.py", "exec"), names)
        names["f"](depth)
        names["f"](depth)
    names = {"note": note, "here": here, "call": call, "one": one}
    text = "".join("def g%d(): g%d()\n" % (i, i + 1) for i in range(400))
    exec(compile(text + "def g400(): note(here()); call(*one)\n", "sudden.py", "exec"), names)
    names["g0"]()
    names["g0"]()


def child(n):
    global cl, queue, kernel, buffer, call, call_held, one, two
    if kind == "cl" and "queue" not in globals():
        cl, queue, kernel, buffer = opened()
        call = call_held = cl.enqueue_nd_range_kernel
        one = two = (queue, kernel, (64,), None)
    for _ in range(n):
        every()
    return n


def forks():
    if kind == "fake":
        every()
    for i in range(4):
        pid = os.fork()
        if pid == 0:
            child(1 + i % 2)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        if kind == "fake":
            every()
    for method in "fork", "spawn":
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(child, [1, 1, 2, 1]) == [1, 1, 2, 1]
            pool.close()
            pool.join()
    child(1)


def launcher():
    """pyopencl's own way: kernel(queue, ...), through Python code that it generates."""
    for i in range(100):
        note(here(), "outer"); kernel(queue, (64,), None, buffer)


if __name__ == "__main__":
    globals()[part]()
    if kind == "cl" and "queue" in globals():
        queue.finish()
    # Else destructors at the end launch when the interpreter has gone.
    Thing.__del__ = None
    del Thing.__del__
