# SPDX-License-Identifier: Apache-2.0
"""What each part of CUPTI costs an eager decode, inside one process (see lab.c). lab.py [SECONDS for each comparison]"""
import ctypes
import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "gpu"))
import torch  # noqa: E402
from decode import make_model, step  # noqa: E402

lab = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
lab.lab_get.restype = ctypes.c_uint64
LAUNCHES, RECORDS, LAST, SAMPLES, DROPPED, PCS, KERNEL_NS, FIRST = range(8)
KERNEL, MEMCPY, MEMSET = 10, 1, 2
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30


def timed(fn, *args):
    begin = time.perf_counter()
    result = fn(*args)
    return (time.perf_counter() - begin) * 1e6, result


def bootstrap(values, rounds=1000):
    rng = random.Random(1)
    means = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975)]


class Decoder:
    def __init__(self):
        torch.manual_seed(1)
        self.model = make_model()
        self.prompt = torch.randint(0, 32000, (1, 16), device="cuda")
        self.n = 0

    def token(self):
        if self.n % 100 == 0:
            self.past, self.t = step(self.model, None, self.prompt)
        else:
            self.past, self.t = step(self.model, self.past, self.t)
        self.n += 1
        torch.cuda.synchronize()

    def seconds_of(self, tokens):
        begin = time.perf_counter()
        for _ in range(tokens):
            self.token()
        return (time.perf_counter() - begin) / tokens


def compare(d, modes, switch, tokens, settle, duration):
    """Every mode in each round, in random order; the ratio to the first mode of the same round."""
    ratios = {m: [] for m in modes[1:]}
    rng = random.Random(2)
    end = time.perf_counter() + duration
    while time.perf_counter() < end:
        order, cost = list(modes), {}
        rng.shuffle(order)
        for mode in order:
            switch(mode)
            if settle:
                d.seconds_of(settle)
            cost[mode] = d.seconds_of(tokens)
        for m in ratios:
            ratios[m].append(cost[m] / cost[modes[0]])
    for m, r in ratios.items():
        low, high = bootstrap(r)
        print("  %-28s %+.2f %% [%+.2f .. %+.2f], %d rounds" % (m, (statistics.median(r) - 1) * 100, (low - 1) * 100,
                                                            (high - 1) * 100, len(r)), flush=True)
    switch(modes[0])


def toggles(what, fn):
    on, off = [], []
    for _ in range(50):
        on.append(timed(fn, 1)[0])
        off.append(timed(fn, 0)[0])
    print("  %-28s on %.1f us (most %.1f), off %.1f us (most %.1f)" % (what, statistics.median(on), max(on),
                                                                 statistics.median(off), max(off)), flush=True)


def main():
    d = Decoder()
    d.seconds_of(150)
    state = {"callbacks": 0, "records": 0}

    def switch(mode):
        for part in state:
            want = int(part in mode.split("+"))
            if state[part] != want:
                state[part] = want
                if part == "callbacks":
                    lab.lab_callbacks(want)
                else:
                    for kind in (KERNEL, MEMCPY, MEMSET):
                        lab.lab_activity(kind, want)

    print("token %.3f ms" % (d.seconds_of(100) * 1000))
    print("switching:")
    toggles("6 launch callbacks", lab.lab_callbacks)
    toggles("37 copy and fill callbacks", lab.lab_other_callbacks)
    toggles("kernel records", lambda on: lab.lab_activity(KERNEL, on))
    toggles("copy records", lambda on: lab.lab_activity(MEMCPY, on))
    print("correlation ids:")
    for what, tokens in (("callbacks on throughout", 20), ("callbacks off for 20 tokens between", 20)):
        lab.lab_forget()
        lab.lab_callbacks(1)
        d.seconds_of(20)
        n, first, last = (lab.lab_get(i) for i in (LAUNCHES, FIRST, LAST))
        if "off" in what:
            lab.lab_callbacks(0)
        d.seconds_of(tokens)
        if "off" in what:
            lab.lab_callbacks(1)
        lab.lab_forget()
        d.seconds_of(1)
        print("  %s: %d launches with %d ids; over the next %d tokens ids went on by %d" %
              (what, n, last - first, tokens, lab.lab_get(FIRST) - last), flush=True)
        lab.lab_callbacks(0)
    print("records of what is under way when they are switched off:")
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    torch.cuda.synchronize()
    for forced in (0, 1):
        lab.lab_flush(1)
        lab.lab_forget()
        lab.lab_activity(KERNEL, 1)
        for _ in range(500):
            torch.mm(a, a)
        off_us, _ = timed(lab.lab_activity, KERNEL, 0)
        at_once = lab.lab_get(RECORDS)
        torch.cuda.synchronize()
        lab.lab_flush(forced)
        time.sleep(0.3)
        lab.lab_flush(1)
        print("  500 launched, %d records at once, %d in the end, %.3f ms of kernels; switching off took %.0f us" %
              (at_once, lab.lab_get(RECORDS), lab.lab_get(KERNEL_NS) / 1e6, off_us), flush=True)
    print("cost, without sampling:")
    compare(d, ["nothing", "nothing again", "callbacks", "records", "callbacks+records"], lambda m: switch(m), 6, 1, seconds * 2)
    print("sampling:")
    for period, buffer, span in ((18, 64, 20), (18, 64, 100), (20, 32, 100)):
        us, _ = timed(lab.lab_sampling, 1, period, buffer, span)
        first = [d.seconds_of(1) * 1000 for _ in range(60)]
        free, _ = torch.cuda.mem_get_info()
        off, _ = timed(lab.lab_sampling, 0, 0, 0, 0)
        after = [d.seconds_of(1) * 1000 for _ in range(60)]
        free2, _ = torch.cuda.mem_get_info()
        print("  2^%d, %d MiB, %d ms: on %.0f ms, then tokens of %s ms; off %.0f ms, then %s ms; device memory %.0f MiB" %
              (period, buffer, span, us / 1e3, " ".join("%.1f" % x for x in first[:8] + [statistics.median(first)]), off / 1e3,
               " ".join("%.1f" % x for x in after[:4] + [statistics.median(after)]), (free2 - free) / 2**20), flush=True)
    print("cost of sampling, switched each 2 s (2^18, 64 MiB):")
    now = {"on": 0}

    def sample(mode):
        want = int(mode == "sampling")
        if want != now["on"]:
            now["on"] = want
            lab.lab_sampling(want, 18, 64, 100)
            d.seconds_of(40)

    before = lab.lab_get(SAMPLES)
    compare(d, ["nothing", "sampling"], sample, 150, 0, seconds * 2)
    print("  samples %d, dropped %d, pcs %d" % (lab.lab_get(SAMPLES) - before, lab.lab_get(DROPPED), lab.lab_get(PCS)))
    print("cost, while sampling:")
    sample("sampling")
    for kind, name in ((KERNEL, "kernel"), (MEMCPY, "copy"), (MEMSET, "fill")):
        print("  %s records: %d" % (name, lab.lab_activity(kind, 1)))
        lab.lab_activity(kind, 0)
    compare(d, ["nothing", "callbacks"], switch, 6, 1, seconds)
    sample("nothing")
    print("records first, then sampling:")
    switch("records")
    sample("sampling")
    lab.lab_flush(1)
    lab.lab_forget()
    n = d.n
    d.seconds_of(50)
    lab.lab_flush(1)
    print("  %d records in %d tokens" % (lab.lab_get(RECORDS), d.n - n))
    sample("nothing")
    switch("nothing")


main()
