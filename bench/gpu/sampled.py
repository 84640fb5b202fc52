# SPDX-License-Identifier: Apache-2.0
"""What being sampled costs a kernel, and with what it goes: products of matrices back to back, inside one process (see lab.c).

    CUDA_INJECTION64_PATH=$PWD/lab.so python3 bench/gpu/sampled.py [ROUNDS]"""
import ctypes
import os
import statistics
import sys
import time

import torch

lab = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
lab.lab_get.restype = ctypes.c_uint64
RECORDS, SAMPLES, KERNEL = 1, 3, 10
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5


class Products:
    def __init__(self, size):
        self.a = torch.randn(size, size, device="cuda", dtype=torch.float16)
        self.n = 1
        self.run(0.5)
        self.n = max(1, int(0.05 / self.each()))

    def each(self):
        """Seconds a product, of some that are launched together."""
        begin = time.perf_counter()
        for _ in range(self.n):
            torch.mm(self.a, self.a)
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / self.n

    def run(self, seconds):
        end, all = time.perf_counter() + seconds, []
        while time.perf_counter() < end or not all:
            all.append(self.each())
        return statistics.median(all)


def compare(what, products, switch, settle, seconds=0.8):
    """off, on, on, off: microseconds more a product."""
    more, base, took = [], [], {True: [], False: []}
    for _ in range(rounds):
        four = {True: [], False: []}
        for on in (False, True, True, False):
            begin = time.perf_counter()
            switch(on)
            took[on].append((time.perf_counter() - begin) * 1e3)
            products.run(settle)
            four[on].append(products.run(seconds))
        base.append(statistics.fmean(four[False]))
        more.append(statistics.fmean(four[True]) - base[-1])
    off = statistics.median(base)
    print("  %-42s %8.1f us, on: %+6.2f us (%+.2f %%) [%+.2f .. %+.2f]; switching on %.2f ms, off %.2f ms" %
          (what, off * 1e6, statistics.median(more) * 1e6, statistics.median(more) / off * 100, min(more) / off * 100,
           max(more) / off * 100, statistics.median(took[True]), statistics.median(took[False])), flush=True)


class Switch:
    """Switches only what is not so yet."""

    def __init__(self, fn):
        self.fn, self.now = fn, False

    def __call__(self, on):
        if on != self.now:
            self.fn(on)
            self.now = on


def sampling(period=18, buffer=64, span=10):
    return Switch(lambda on: lab.lab_sampling(int(on), period, buffer, span))


def counted(what, products):
    lab.lab_flush(1)
    before = lab.lab_get(RECORDS), lab.lab_get(SAMPLES)
    products.run(1)
    lab.lab_flush(1)
    time.sleep(0.3)
    print("  in a second of %s: %d records, %d samples" % (what, lab.lab_get(RECORDS) - before[0], lab.lab_get(SAMPLES) - before[1]), flush=True)


def start_and_stop(products):
    """Of what is enabled."""
    started = Switch(lambda on: lab.lab_start(int(on)))
    compare("started, against enabled", products, started, 0.2)
    started(True)
    counted("started", products)
    started(False)
    counted("stopped", products)


def main():
    sizes = {n: Products(n) for n in (1024, 4096, 8192)}
    p = sizes[4096]
    print("one after the other:")
    compare("nothing", p, lambda on: None, 0.1)
    compare("records", p, Switch(lambda on: lab.lab_activity(KERNEL, int(on))), 0.2)
    for size, products in sizes.items():
        compare("sampling, products of %d" % size, products, sampling(), 0.8)
    compare("sampling, 2^24 cycles", p, sampling(period=24), 0.8)
    compare("sampling, 2^14 cycles", p, sampling(period=14), 0.8)
    compare("sampling, 512 MiB", p, sampling(buffer=512), 0.8)
    lab.lab_way(0, 1)
    compare("sampling, nothing taken", p, sampling(), 0.8)
    print("start and stop:")
    lab.lab_way(1, 0)
    enabled = sampling()
    compare("enabled, not started", p, enabled, 0.8)
    enabled(True)
    start_and_stop(p)
    enabled(False)
    print("records first:")
    lab.lab_activity(KERNEL, 1)
    lab.lab_way(0, 0)
    for size, products in sizes.items():
        compare("sampling besides, products of %d" % size, products, sampling(), 0.8)
    lab.lab_way(1, 0)
    enabled(True)
    start_and_stop(p)
    enabled(False)
    counted("records alone", p)


main()
