# SPDX-License-Identifier: Apache-2.0
"""The Python walker against sys._getframe(), in this interpreter: python_walk.py LIBRARY [CAPTURES].

Prints one line per group of checks, "ok WHAT" or "not ok WHAT: why", and exits 1 after a failure."""
import ctypes
import functools
import gc
import os
import random
import sys
import threading
import time

RELEASED = ctypes.CDLL(sys.argv[1])  # calls release the GIL
HELD = ctypes.PyDLL(sys.argv[1])  # calls keep it
CAPTURES = int(sys.argv[2]) if len(sys.argv) > 2 else 100000
for lib in RELEASED, HELD:
    lib.pw_reason.restype = ctypes.c_char_p
    lib.pw_hash.restype = ctypes.c_uint64
    lib.pw_walk.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
    lib.pw_walk_cut.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.pw_sample.argtypes = [ctypes.c_long]
    lib.pw_samples.argtypes = [ctypes.c_void_p]
CALLBACK = ctypes.CFUNCTYPE(None)
PLACED = sys.version_info >= (3, 10)  # segments have addresses
# one function; from 3.14 on it may be one per opcode, that jump to each other
ONE_LOOP = sys.version_info < (3, 14)
MAX = 2000

failures = []
seen = {"captures": 0, "frames": 0, "wrong": 0}
by_hash = {}
loops_by_symbol = [True]  # each loop's return address lies in the evaluation function, and each is Python's
local = threading.local()


def fail(what):
    seen["wrong"] += 1
    if len(failures) < 10:
        failures.append(what)


def expected(frame):
    """What sys._getframe says: one tuple per frame, innermost first."""
    out = []
    while frame:
        code = frame.f_code
        line = frame.f_lineno
        out.append((getattr(code, "co_qualname", code.co_name), code.co_filename,
                    code.co_firstlineno, frame.f_lasti, -1 if line is None else line))
        frame = frame.f_back
    return out


def buffer():
    if not hasattr(local, "buffer"):
        local.buffer = ctypes.create_string_buffer(1 << 19)
    return local.buffer


def compare(text, frames, lib_name):
    lines = text.decode("utf-8").split("\n")
    head = lines[0].split(" ")
    got = lines[1:-1]
    seen["captures"] += 1
    seen["frames"] += len(got)
    if len(got) != len(frames):
        return fail("%s: %d frames, not %d: %r / %r" % (lib_name, len(got), len(frames), got[:6], frames[:6]))
    for i, (g, w) in enumerate(zip(got, frames)):
        part = g.rsplit("|", 5)
        name, file, first, lasti, line = part[0], part[1], int(part[2]), int(part[3]), int(part[4])
        # the innermost one has gone on to another instruction of the same line
        if i == 0:
            lasti = w[3]
        if (name, file, first, lasti, line) != w:
            return fail("%s: frame %d is %r, not %r" % (lib_name, i, part, w))
    if head[3] != "0":
        return fail("stop " + head[3])
    if PLACED and head[4] != "address":
        return fail("order by " + head[4])
    if loops_by_symbol[0] and (head[4] == "block" or head[6] != "1" and (ONE_LOOP or head[5] != "block")):
        return fail("order by %s, by symbol %s, same %s" % (head[4], head[5], head[6]))
    key = tuple(got)
    if by_hash.setdefault(head[2], key) != key:
        fail("two stacks with hash " + head[2])
    return head


def check():
    """One capture with the GIL released or held, chosen by lot."""
    b = buffer()
    lib = RELEASED if random.random() < 0.5 else HELD
    n, frames = lib.pw_walk(b, len(b), MAX), expected(sys._getframe())
    if n < 0:
        return fail("walk: %d" % n)
    head = compare(b.raw[:n], frames, "released" if lib is RELEASED else "held")
    if len(by_hash) > 20000:
        by_hash.clear()
    return head


# ---- situations ----

def recurse(k, f):
    return recurse(k - 1, f) if k else f()


class Thing:
    def __init__(self, f=None):
        if f:
            f()

    def method(self, f):
        return [f() for _ in range(1)]

    def __call__(self, f):
        return self.method(f)

    def __getattr__(self, name):
        if name.startswith("zz"):
            self.__dict__["f"]()
            return 1
        raise AttributeError(name)

    @property
    def prop(self):
        return self.f()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.f()

    def __lt__(self, other):
        self.f()
        return False

    def __del__(self):
        f = self.__dict__.get("last")
        if f:
            f()


def made(f):
    t = Thing()
    t.f = f
    return t


def generator(f):
    yield f()


def outer_generator(f):
    yield from generator(f)


async def coroutine(f):
    return f()


async def outer_coroutine(f):
    return await coroutine(f)


def drive(co):
    try:
        co.send(None)
    except StopIteration:
        pass


def churn(f):
    """A code object that nobody has seen before and nobody will see again."""
    churn.n += 1
    name = "fresh_%d_%s" % (churn.n, random.choice(["", "\xe9", "\u4e2d\u6587", "\U00020000"]))
    source = "\n" * random.randrange(1, 40) + "def %s(f):\n%s    return f()\n" % (name, "    pass\n" * random.randrange(600))
    space = {}
    exec(compile(source, "<churn %d>" % churn.n, "exec"), space)
    return space[name](f)


churn.n = 0


def in_thread(f):
    t = threading.Thread(target=recurse, args=(random.randrange(4), f))
    t.start()
    t.join()


def last_words(f):
    t = Thing()
    t.last = f
    del t


def from_c(f):
    HELD.pw_call(CALLBACK(f))


def from_c_released(f):
    RELEASED.pw_call(CALLBACK(f))


def raising(f):
    try:
        raise KeyError
    except KeyError:
        f()
    finally:
        pass


def with_cell(f):
    x = 1

    def inner():
        nonlocal x
        x += 1
        return f()

    return inner()


def with_statement(f):
    with made(f):
        pass


SITUATIONS = {
    "function": lambda f: f(),
    "recursion": lambda f: recurse(random.randrange(20), f),
    "method and comprehension": lambda f: Thing().method(f),
    "__call__": lambda f: Thing()(f),
    "__init__": lambda f: Thing(f),
    "__getattr__": lambda f: made(f).zz,
    "property": lambda f: made(f).prop,
    "generator": lambda f: list(generator(f)),
    "generator, for": lambda f: [None for _ in generator(f)],
    "yield from": lambda f: list(outer_generator(f)),
    "coroutine": lambda f: drive(outer_coroutine(f)),
    "sort key": lambda f: sorted([1], key=lambda x: f() and x),
    "comparison": lambda f: sorted([made(f), made(f)]),
    "map": lambda f: list(map(lambda x: f(), [1])),
    "partial": lambda f: functools.partial(recurse, 2)(f),
    "exec": lambda f: exec("recurse(1, f)", {"recurse": recurse, "f": f}),
    "eval": lambda f: eval("(lambda: f())()", {"f": f}),
    "fresh code": churn,
    "thread": in_thread,
    "destructor": last_words,
    "C callback": from_c,
    "C callback, GIL released": from_c_released,
    "except": raising,
    "with": with_statement,
    "closure": with_cell,
    "dict comprehension": lambda f: {k: f() for k in [1]},
    "generator expression": lambda f: any(f() for _ in [1]),
    "class body": lambda f: type("C", (), {"x": f()}),
    "class statement": lambda f: exec("class C:\n    x = f()\n", {"f": f}),
    "decorator": lambda f: functools.lru_cache(None)(lambda: f())(),
}


def report(what):
    global failures
    if failures:
        print("not ok %s: %d wrong: %s" % (what, seen["wrong"], "; ".join(failures)))
        report.failed = True
    else:
        print("ok %s" % what)
    sys.stdout.flush()
    failures = []


report.failed = False


def each_situation():
    for name, situation in SITUATIONS.items():
        before = seen["captures"]
        for _ in range(30):  # also after the interpreter has specialised the call
            situation(check)
        if seen["captures"] < before + 30:
            fail("%s: not captured" % name)


def order_around_c():
    """pw_call stands between the Python frames that it joins."""
    heads = []

    def inner():
        heads.append(check())

    for lib in RELEASED, HELD:
        lib.pw_call(CALLBACK(inner))
        if not heads[-1] or "call@2" not in heads[-1]:  # check, inner, pw_call, ...
            fail("pw_call is not after 2 frames: %r" % heads[-1])

    def twice():
        HELD.pw_call(CALLBACK(inner))

    HELD.pw_call(CALLBACK(lambda: recurse(3, twice)))
    if not heads[-1] or heads[-1][-2:] != ["call@2", "call@8"]:  # check, inner | twice, 4 recurse, lambda |
        fail("nested pw_call: %r" % heads[-1])


def depths():
    """Cut stacks are marked, what is there is right."""
    b = buffer()

    def f():
        n = HELD.pw_walk(b, len(b), MAX)
        whole = b.raw[:n].decode().split("\n")
        for k in (1, 2, 5, 17, 30):
            n = HELD.pw_walk(b, len(b), k)
            part = b.raw[:n].decode().split("\n")
            head = part[0].split(" ")
            # lines of the innermost frame differ
            same = [x.rsplit("|", 1)[0] for x in part[2:-1]] == [x.rsplit("|", 1)[0] for x in whole[2:k + 1]]
            if int(head[0]) != k or head[3] != "1" or not same or head[4] == "block":
                fail("cut at %d: %r" % (k, part[:4]))
        n = HELD.pw_walk_cut(b, len(b))
        part = b.raw[:n].decode().split("\n")
        if part[2:-1] != whole[2:-1] or part[0].split(" ")[4] == "block":
            fail("native stack cut: %r" % part[0])

    recurse(20, lambda: sorted([1], key=lambda x: recurse(20, f) or x))


def threads_that_spin():
    """Others hold the GIL and run while this thread's stack is taken without it."""
    stop = []

    def spin():
        while not stop:
            recurse(5, lambda: 1)

    others = [threading.Thread(target=spin) for _ in range(3)]
    for t in others:
        t.start()
    b = buffer()
    for _ in range(300):
        def here():
            n, frames = RELEASED.pw_walk(b, len(b), MAX), expected(sys._getframe())
            compare(b.raw[:n], frames, "spinning") if n > 0 else fail("walk: %d" % n)
        recurse(3, here)
    stop.append(1)
    for t in others:
        t.join()


def threads_at_once():
    """Eight threads learn and walk at the same time."""
    def work(seed):
        lot = random.Random(seed)
        names = sorted(SITUATIONS)
        for _ in range(150):
            SITUATIONS[lot.choice(names)](check)

    others = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in others:
        t.start()
    for t in others:
        t.join()


def no_python():
    """A thread that Python does not know has no frames, and nothing happens."""
    lib = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    result = ctypes.c_void_p()
    start = ctypes.cast(RELEASED.pw_hash, ctypes.c_void_p)
    if lib.pthread_create(ctypes.byref(thread), None, start, None) == 0:
        lib.pthread_join(thread, ctypes.byref(result))
        if result.value:
            fail("a stack: %r" % result.value)


def at_random():
    """Random nests of all situations."""
    names = [n for n in SITUATIONS if n != "thread"]
    started = seen["captures"]

    def nest(depth):
        if depth == 0:
            for _ in range(4):
                check()
            return 1
        SITUATIONS[random.choice(names)](lambda: nest(depth - 1))
        return 1

    while seen["captures"] - started < CAPTURES:
        nest(random.randrange(1, 7))
        if random.random() < 0.002:
            SITUATIONS["thread"](check)
            gc.collect()


def signals():
    """At any instruction: nothing faults, nothing is broken for good."""
    counts = (ctypes.c_long * 4)()
    HELD.pw_sample(150)
    end = time.time() + 3
    k = 0
    while time.time() < end:
        k += 1
        churn(lambda: 1)
        recurse(300 if k % 2 else 5, lambda: [x for x in range(20)])
        list(outer_generator(lambda: 1))
        for _ in range(20):
            Thing(lambda: 1)
    HELD.pw_sample(0)
    HELD.pw_samples(counts)
    print("# signals: %d samples, %d with frames, %d broken, %d with an unreadable frame" % tuple(counts))
    # Whoever is between two frames may see neither; it must stay rare.
    if counts[0] == 0 or counts[1] < counts[0] * 0.9 or counts[2] > counts[0] * 0.02 or counts[3] > counts[0] * 0.02:
        fail("samples %r" % list(counts))


def traced():
    """Under a trace function and a profile function."""
    def trace(frame, event, arg):
        return trace

    loops_by_symbol[0] = False  # the code for tracing may lie elsewhere, in the function's cold part
    for function in sys.settrace, sys.setprofile:
        function(trace)
        try:
            each_situation()
        finally:
            function(None)
    loops_by_symbol[0] = True


def forked():
    """A forked child, whose only thread was another one's copy."""
    before = seen["wrong"]

    def fork():
        child = os.fork()
        if child == 0:
            recurse(3, each_situation)
            os._exit(seen["wrong"] != before)
        if os.waitpid(child, 0)[1]:
            fail("child")

    fork()
    t = threading.Thread(target=fork)
    t.start()
    t.join()


def switched():
    """Greenlets, which copy parts of the C stack away and back."""
    def first():
        while True:
            recurse(3, check)
            recurse(2, b.switch)
            from_c(check)
            sorted([1, 2], key=lambda x: recurse(1, b.switch) or x)

    def second():
        while True:
            recurse(5, check)
            list(generator(a.switch))
            Thing().method(check)
            main.switch()

    main, a, b = greenlet.getcurrent(), greenlet.greenlet(first), greenlet.greenlet(second)
    loops_by_symbol[0] = False  # below a greenlet lie C frames of the one that began it
    for _ in range(200):
        a.switch()
        check()
    loops_by_symbol[0] = True


def stop_and_start():
    """The destructor of code objects is what it was; a new start forgets the old numbers."""
    def dealloc():
        return ctypes.c_void_p.from_address(id(type(check.__code__)) + 48).value

    wrapped = dealloc()
    HELD.pw_stop()
    plain = dealloc()
    if plain == wrapped or HELD.pw_hash() != 0 or HELD.pw_state() != 3:
        fail("stop: state %d" % HELD.pw_state())
    for _ in range(50):
        churn(lambda: 1)
    HELD.pw_start()
    if dealloc() != wrapped:
        fail("start again")
    each_situation()
    # somebody else wraps after us, and we stop and start again
    t = type(check.__code__)
    place = ctypes.c_void_p.from_address(id(t) + 48)
    proto = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    inner = proto(wrapped)
    died = []

    @proto
    def theirs(code):
        died.append(code)
        inner(code)

    place.value = ctypes.cast(theirs, ctypes.c_void_p).value
    HELD.pw_stop()
    if place.value != ctypes.cast(theirs, ctypes.c_void_p).value:
        fail("stop took away another's wrapper")
    if HELD.pw_start() != 1:
        fail("start with another's wrapper: state %d" % HELD.pw_state())
    for _ in range(50):
        churn(check)
    if len(died) < 50:
        fail("their wrapper was not called")
    place.value = wrapped
    for _ in range(50):
        churn(check)
    HELD.pw_stop()
    if dealloc() != plain:
        fail("not restored at the end")


state = HELD.pw_start()
if state not in (1, 2):
    print("not ok start: state %d, %s" % (state, HELD.pw_reason()))
    sys.exit(1)
print("# CPython " + " ".join(sys.version.split()))
groups = [each_situation, order_around_c, depths, threads_that_spin, threads_at_once, no_python, traced, forked,
          at_random, signals, stop_and_start]
try:
    import greenlet
    groups.insert(-1, switched)
except ImportError:
    print("# no greenlet")
for group in groups:
    before = dict(seen)
    group()
    report("%s (%d captures)" % (group.__doc__ or group.__name__, seen["captures"] - before["captures"]))
print("# %d captures, %d frames, %d wrong" % (seen["captures"], seen["frames"], seen["wrong"]))
sys.exit(report.failed)
