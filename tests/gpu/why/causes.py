# SPDX-License-Identifier: Apache-2.0
"""Programs that know why their device is idle: causes.py CASE SECONDS TRUTH.json

TRUTH.json has, by CLOCK_MONOTONIC, `from` and `to` of the part that counts, and `intervals`: in which the device was idle, of what
class, and which function's lines are to blame (`lines`: those of the function that did it; `step`: those of its caller between two
launches, which is what is known where nothing was sampled). `steps` has the begin of each turn of the program's loop; `waited` is for how long, ns, the
thread could have run and had no CPU.
"""
import contextlib
import gc
import inspect
import json
import math
import os
import random
import socket
import sys
import threading
import time

from device import open_device, torch

SPINS = 20000
intervals, steps = [], []
truth = {"intervals": intervals, "steps": steps, "expect": {}}
now = time.monotonic_ns


def lines_of(function):
    """Its name, first line and last line."""
    code = inspect.unwrap(function).__code__
    return [function.__qualname__, code.co_firstlineno, max(line for _, _, line in code.co_lines() if line)]


def add(kind, begin, end, did, step, ns=None):
    """An interval of class `kind`: `did` and `step` are functions; ns: how much of it, if not all. The interpreter lock's is that of the
    thread that has it."""
    if kind == "GIL":
        did = step = hog
    intervals.append((kind, begin, end, end - begin if ns is None else ns, did if isinstance(did, tuple) else (did,), step))


schedstat = threading.local()


def waited_for_cpu():
    """For how long this thread could have run and had no CPU, ns, by the scheduler. Time of a CPU that a hypervisor gave
    to another machine is none of it: nothing in this one can tell it from time on the CPU (time.thread_time() may)."""
    if not hasattr(schedstat, "fd"):
        schedstat.fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    return int(os.pread(schedstat.fd, 100, 0).split()[1])


# ---- what a host does between two launches ----
def compute(ns):
    end = now() + ns
    x = 1
    while now() < end:
        for _ in range(50):
            x = x * 1664525 + 1013904223 & 0xffffffff
    return x


def sleep(ns):
    time.sleep(ns / 1e9)


def release_gil():
    time.sleep(0)


def collect():
    gc.collect()


class Steps:
    """Each method lets the device wait for one cause, then work."""

    def __init__(self, device):
        self.device = device
        self.garbage = None
        self.without_cpu = "off CPU" # what a thread does that could run and does not

    def run(self):
        self.device.work()
        self.device.wait()

    def computing(self, ns):
        waited, begin = waited_for_cpu(), now()
        compute(ns)
        end, waited = now(), waited_for_cpu() - waited
        self.run()
        waited = min(waited, end - begin)
        add("on CPU", begin, end, compute, Steps.computing, end - begin - waited)
        if waited:
            add(self.without_cpu, begin, end, compute, Steps.computing, waited)

    def sleeping(self, ns):
        begin = now()
        sleep(ns)
        end = now()
        self.run()
        # Of a thread that has slept, the lock is another's first.
        slept = min(ns + 60000, end - begin)
        add("off CPU", begin, end, sleep, Steps.sleeping, slept)
        if end - begin > slept:
            add(self.without_cpu, begin, end, sleep, Steps.sleeping, end - begin - slept)

    def allocating(self, _):
        begin = now()
        self.device.allocate()
        end = now()
        self.run()
        add("allocate", begin, end, self.device.allocate, Steps.allocating)

    def compiling(self, _):
        begin = now()
        self.device.compile(random.getrandbits(40))
        end = now()
        self.run()
        add("compile", begin, end, self.device.compile, Steps.compiling)

    def collecting(self, _):
        if self.garbage is None:
            self.garbage = [[i] for i in range(100000)]
        begin = now()
        collect()
        end = now()
        self.run()
        add("garbage collection", begin, end, collect, Steps.collecting)

    def reading(self, _):
        self.device.add_one()
        self.device.product()
        self.device.read_one()
        begin = now()
        compute(300000)
        end = now()
        self.run()
        add("on CPU", begin, end, compute, Steps.reading)

    def waiting_for_gil(self, _):
        begin = now()
        release_gil()
        end = now()
        self.run()
        add("GIL", begin, end, release_gil, Steps.waiting_for_gil)

    def copying(self, _):
        begin = now()
        self.device.copy_pageable()
        self.device.wait()
        end = now()
        self.run()
        add("copy", begin, end, self.device.copy_pageable, Steps.copying, 0)

    def late(self, _):
        begin = now()
        stream = self.device.late(2000)
        with torch.cuda.stream(stream):
            self.device.work()
        self.device.wait()
        end = now()
        # The function of the host sleeps 2 ms; all behind the launch call is the device's.
        add("late start", begin, end, Steps.late, Steps.late, min(2000000, end - begin))


def log_uniform(low, high):
    return int(math.exp(random.uniform(math.log(low), math.log(high))))


def repeat(seconds, step):
    """Turns of a loop."""
    end = now() + int(seconds * 1e9)
    while now() < end:
        steps.append(now())
        step(3000000)


def mixed(s, seconds, names):
    """Causes at random, until they have nearly equal times; gaps of log-uniform lengths."""
    spent = dict.fromkeys(names, 0)
    end = now() + int(seconds * 1e9)
    while now() < end:
        name = min(names, key=lambda n: spent[n] * random.uniform(0.5, 1.5))
        begin = now()
        getattr(s, name)(log_uniform(5000, 50000000))
        spent[name] += now() - begin


# ---- cases ----
def hog(stop):
    x = 1
    while not stop.is_set():
        for _ in range(SPINS):
            x = x * 3 & 0xffff


@contextlib.contextmanager
def hogging():
    stop = threading.Event()
    thread = threading.Thread(target=hog, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def case_loader(s, seconds):
    class Slow(torch.utils.data.IterableDataset):
        def __iter__(self):
            while True:
                compute(8000000)
                yield torch.zeros(16)

    batches = iter(torch.utils.data.DataLoader(Slow(), num_workers=1, prefetch_factor=2))
    next(batches)

    def loading(_):
        begin = now()
        next(batches)
        end = now()
        s.run()
        add("data loader", begin, end, loading, loading)

    time.sleep(0.1)
    repeat(seconds, loading)


def limited(share):
    """Puts this process into a cgroup with that share of a CPU. Returns how to leave it, or None if it may not."""
    period, root = 100000, "/sys/fs/cgroup"
    unified = os.path.exists(root + "/cgroup.controllers")
    group = "%s%s/aiflame-why-%d" % (root, "" if unified else "/cpu", os.getpid())
    with open("/proc/self/cgroup") as f:
        rows = [line.strip().split(":", 2) for line in f]
    was = root + ("" if unified else "/cpu") + next((r[2] for r in rows if r[1] == ("" if unified else "cpu")), "/")
    try:
        os.mkdir(group)
        if unified:
            write(group + "/cpu.max", "%d %d" % (share * period, period))
        else:
            write(group + "/cpu.cfs_period_us", period)
            write(group + "/cpu.cfs_quota_us", int(share * period))
        write(group + "/cgroup.procs", os.getpid())
    except OSError as e:
        print("no cgroup: %s" % e, file=sys.stderr)
        return None

    def leave():
        try:
            write((was if os.path.exists(was + "/cgroup.procs") else root) + "/cgroup.procs", os.getpid())
            time.sleep(0.05)
            os.rmdir(group)
        except OSError as e:
            print("cgroup %s stays: %s" % (group, e), file=sys.stderr)

    return leave


def write(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def case_quota(s, seconds):
    leave = limited(0.4)
    if not leave:
        truth["skip"] = "no cgroup may be made"
        return
    try:
        repeat(seconds, s.computing)
    finally:
        leave()


def wait_for_request(listening):
    return listening.accept()[0]


def case_server(s, seconds):
    """Asked by another process after pauses of 1 to 32 ms."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(8)
    client = os.fork()
    if not client:
        random.seed(2)
        end = now() + int(seconds * 1e9)
        while now() < end:
            time.sleep(0.001 * 2 ** random.randrange(6))
            with socket.create_connection(listening.getsockname()) as c:
                c.send(b"r")
                c.recv(1)
        with socket.create_connection(listening.getsockname()) as c:
            c.send(b"q")
        os._exit(0)

    def serving():
        begin = now()
        c = wait_for_request(listening)
        end = now()
        for _ in range(random.randrange(1, 4)):
            s.run()
        add("no demand", begin, end, wait_for_request, serving)
        c.send(b"k")
        with c:
            return c.recv(1) != b"q"

    truth["expect"]["no_loop"] = True
    while serving():
        pass
    os.waitpid(client, 0)


def compute_first(ns):
    return compute_one(ns)


def compute_second(ns):
    return compute_one(ns)


def compute_one(ns):
    end = now() + ns
    while now() < end:
        pass


def case_threads(s, seconds):
    """Two threads that launch in turn."""
    end = now() + int(seconds * 1e9)
    turn = [threading.Semaphore(1), threading.Semaphore(0)]

    def first():
        begin = now()
        compute_first(2000000)
        stop = now()
        s.run()
        add("on CPU", begin, stop, compute_first, first)

    def second():
        begin = now()
        compute_second(4000000)
        stop = now()
        s.run()
        add("on CPU", begin, stop, compute_second, second)

    def loop(step, mine, other):
        while now() < end:
            mine.acquire()
            step()
            other.release()

    other = threading.Thread(target=loop, args=(second, turn[1], turn[0]))
    other.start()
    loop(first, turn[0], turn[1])
    turn[1].release()
    other.join()


def produce(ns):
    return compute(ns)


def case_fed(s, seconds):
    """A thread that computes what the launching thread waits for."""
    asked, made = threading.Semaphore(0), threading.Semaphore(0)
    stop = threading.Event()

    def producer():
        while asked.acquire() and not stop.is_set():
            produce(3000000)
            made.release()

    def taking(_):
        begin = now()
        asked.release()
        made.acquire()
        end = now()
        s.run()
        add("off CPU", begin, end, taking, taking)

    thread = threading.Thread(target=producer)
    thread.start()
    repeat(seconds, taking)
    stop.set()
    asked.release()
    thread.join()
    truth["expect"]["waits_for"] = lines_of(produce)


def case_decode(s, seconds):
    """Bound by launching: short work, nothing waited for but at the end of a token."""
    if torch and s.device.name == "cuda":
        layers = [torch.nn.Linear(256, 256).half().cuda() for _ in range(64)]
        x = torch.randn(1, 256, device="cuda", dtype=torch.float16)

        def forward():
            y = x + 1
            for layer in layers:
                y = torch.nn.functional.gelu(layer(y))
            return y.softmax(-1)
    else:
        def forward():
            s.device.work()
            for _ in range(16):
                compute(2000000)
                s.device.work()
            compute(2000000)
            s.device.add_one()

    def token(_):
        begin = now()
        with torch.no_grad() if torch else contextlib.nullcontext():
            forward()
        end = now()
        add("on CPU", begin, end, (token, forward, compute), token, 0)

    truth["expect"].update(bound="host", within=[lines_of(token)])
    repeat(seconds, token)
    s.device.wait()


def case_matmul(s, seconds):
    """Bound by the device."""
    def product(_):
        s.device.product()
        if len(steps) % 16 == 0:
            s.device.wait()

    truth["expect"].update(bound="compute", idle_at_most=0.05)
    repeat(seconds, product)
    s.device.wait()


def case_random(s, seconds):
    """Launches in no order: no loop."""
    kinds = [s.computing, s.sleeping, s.device.work, s.device.product, s.run]
    end = now() + int(seconds * 1e9)
    truth["expect"]["no_loop"] = True
    while now() < end:
        kind = random.choice(kinds)
        kind(log_uniform(5000, 5000000)) if kind in kinds[:2] else kind()
    intervals.clear() # the device may have worked meanwhile


def case_nested(s, seconds):
    """Periods in periods: epochs of requests of tokens, whose numbers differ. Each is begun and ended by other work."""
    turns = {"epochs": 0, "requests": 0, "tokens": 0}

    def tokens(n):
        for _ in range(n):
            turns["tokens"] += 1
            s.device.work()
            compute(300000)
            s.device.add_one()
            s.device.wait()

    def requests(n):
        for _ in range(n):
            turns["requests"] += 1
            s.device.product()
            tokens(random.randrange(8, 12))
            s.device.work()
            s.device.wait()

    def epochs():
        end = now() + int(seconds * 1e9)
        while now() < end or turns["epochs"] < 4: # however busy the machine is
            turns["epochs"] += 1
            s.device.add_one()
            requests(12)
            s.device.product()
            s.device.wait()

    epochs()
    intervals.clear()
    truth["expect"]["periods"] = turns


def case_gil(s, seconds):
    s.without_cpu = "GIL"
    with hogging():
        repeat(seconds, s.waiting_for_gil)


def case_copies(s, seconds):
    truth["expect"]["copies"] = "pageable"
    repeat(seconds, s.copying)


def case_mix_host(s, seconds):
    mixed(s, seconds, ["computing", "sleeping", "allocating", "reading"])


def case_mix_python(s, seconds):
    mixed(s, seconds, ["computing", "collecting", "compiling", "sleeping"])


def case_mix_locks(s, seconds):
    s.without_cpu = "GIL"
    with hogging():
        mixed(s, seconds, ["computing", "collecting", "waiting_for_gil", "reading"])


SIMPLE = {"compute": "computing", "sleep": "sleeping", "item": "reading", "allocate": "allocating", "compile": "compiling",
          "collect": "collecting", "late": "late"}


def main():
    name, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    random.seed(1)
    s = Steps(open_device())
    with open(path, "w") as f: # nothing is imported or opened for the first time later
        json.dump({}, f)
    for _ in range(20):
        s.run()
    intervals.clear()
    truth["realtime"], truth["monotonic"] = time.time_ns(), now()
    waited = waited_for_cpu()
    truth["device"], truth["case"], truth["from"] = s.device.name, name, now()
    if name in SIMPLE:
        repeat(seconds, getattr(s, SIMPLE[name]))
    else:
        globals()["case_" + name](s, seconds)
    truth["to"] = now()
    truth["waited"] = waited_for_cpu() - waited
    truth["intervals"] = [{"class": kind, "from": begin, "to": end, "ns": ns, "lines": [lines_of(f) for f in did], "step": lines_of(step)}
                          for kind, begin, end, ns, did, step in intervals]
    with open(path, "w") as f:
        json.dump(truth, f)


if __name__ == "__main__":
    main()
