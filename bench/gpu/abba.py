# SPDX-License-Identifier: Apache-2.0
"""What recording costs, inside one process: PyTorch work in segments with the recording off, on, on, off.

    aiflame record --name x --delay 1000000 [OPTIONS] -o x.data python3 bench/gpu/abba.py decode|slow|compute|power [SECONDS [SEGMENT [SETTLE [null]]]]

Each four of segments gives three ratios of on to off: of the mean step, of the median step, which a host that is shared disturbs
less, and of the launching thread's CPU time, which knows nothing of other programs, nor of what the device loses. Printed are the
medians of these over all fours with a bootstrap 95 % interval, the mean of all steps, and the 99th percentiles. What
comes on late counts only in segments that are longer than that: sampling is first switched 3 s after
callbacks. SETTLE seconds of each segment are left out. With `null` nothing is ever switched on: what is printed then is what the
host alone does to these numbers.

    decode   a token of a small Llama, eager, launch-bound; a step is a token
    slow     the same with 90 us of Python before each of its modules: some 40 us a launch in place of 13
    compute  the three products of examples/cuda/matmul.cu (THREE=three.so, see three.cu), bound by the GPU
    power    PyTorch's products of matrices of 4096 in three types, which take all the power that the board may take

Clock and power of the GPU are those that its driver gives in the segments."""
import ctypes
import os
import random
import statistics
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "tests", "gpu"), os.path.join(here, "..", "..", "python")]
import torch  # noqa: E402

import aiflame  # noqa: E402


def spend(us):
    until = time.perf_counter() + us / 1e6
    while time.perf_counter() < until:
        pass


def decoding(us=0):
    from decode import make_model, step

    torch.manual_seed(1)
    model = make_model()
    for m in model.modules() if us else ():
        if not list(m.children()):
            m.register_forward_pre_hook(lambda *_: spend(us))
    prompt = torch.randint(0, 32000, (1, 16), device="cuda")
    state = {"n": 0}

    def token():
        past, last = (None, prompt) if state["n"] % 100 == 0 else (state["past"], state["token"])
        state["past"], state["token"] = step(model, past, last)
        state["n"] += 1
        torch.cuda.synchronize()

    return token


def computing():
    three = ctypes.CDLL(os.environ["THREE"])
    three.three_begin(1024)
    return three.three_step


def products_of_all_types():
    a = torch.randn(4096, 4096, device="cuda")
    b, c = a.half(), a.bfloat16()

    def products():
        for _ in range(10):
            for x in (a, b, c):
                torch.mm(x, x)
        torch.cuda.synchronize()

    return products


class Meter:
    """Clock of the SMs in MHz and power in W, now."""

    def __init__(self):
        self.device = ctypes.c_void_p()
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
            if self.lib.nvmlInit_v2() or self.lib.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)):
                self.lib = None
        except OSError:
            self.lib = None

    def read(self):
        mhz, milliwatts = ctypes.c_uint(), ctypes.c_uint()
        if not self.lib or self.lib.nvmlDeviceGetClockInfo(self.device, 1, ctypes.byref(mhz)) or \
                self.lib.nvmlDeviceGetPowerUsage(self.device, ctypes.byref(milliwatts)):
            return None
        return mhz.value, milliwatts.value / 1000


def switch(on):
    """Waits until it is so: callbacks and records take some milliseconds."""
    if not (aiflame.start() if on else aiflame.pause()):
        sys.exit("abba.py: nobody records this process; see its first lines")
    end = time.perf_counter() + 5
    while aiflame.recording() != on and time.perf_counter() < end:
        time.sleep(0.001)


def segment(work, seconds, settle, meter, reads):
    """Wall and CPU seconds of each step. The meter is read once a segment, between two steps, and in none."""
    steps, begin, middle = [], time.perf_counter(), (seconds + settle) / 2
    while True:
        a, cpu = time.perf_counter(), time.thread_time()
        work()
        b = time.perf_counter()
        if b - begin > seconds:
            return steps
        if middle and a - begin > middle:
            middle = 0
            reads.append(meter.read())
            continue
        if a - begin > settle:
            steps.append((b - a, time.thread_time() - cpu))


def bootstrap(values, rounds=2000):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    seconds, length, settle = (float(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((2, 60), (3, 1.0), (4, 0.2)))
    null = sys.argv[5:] == ["null"]
    kinds = {"decode": decoding, "slow": lambda: decoding(90), "compute": computing, "power": products_of_all_types}
    work = kinds[what]()
    for _ in range(50):
        work()
    of = {"by the mean step": lambda v: statistics.fmean(w for w, _ in v), "by the median step": lambda v: statistics.median(w for w, _ in v),
          "by the thread's CPU time": lambda v: statistics.fmean(c for _, c in v)}
    ratios, steps, meter, reads = {name: [] for name in of}, {False: [], True: []}, Meter(), {False: [], True: []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not steps[True]:
        four = {False: [], True: []}
        for on in (False, True, True, False):
            switch(on and not null)
            four[on] += segment(work, length, settle, meter, reads[on])
        if not four[True] or not four[False]:
            continue
        for on, times in four.items():
            steps[on] += times
        for name, measure in of.items():
            ratios[name].append(measure(four[True]) / measure(four[False]) - 1)
    for name, values in ratios.items():
        low, high = bootstrap(values)
        print("%s: recording costs %+.2f %% [%+.2f .. %+.2f] %s, %d fours" %
              (what, statistics.median(values) * 100, low * 100, high * 100, name, len(values)))
    walls = {on: sorted(w * 1000 for w, _ in v) for on, v in steps.items()}
    for name, measure in (("mean", statistics.fmean), ("median", statistics.median), ("p99", lambda v: v[int(len(v) * 0.99)])):
        off, on = measure(walls[False]), measure(walls[True])
        print("%s: %s of %d and %d steps %.3f ms off, %.3f ms on (%+.2f %%)" %
              (what, name, len(walls[False]), len(walls[True]), off, on, (on / off - 1) * 100), flush=True)
    for i, unit in enumerate(("MHz", "W")):
        off, on = ([r[i] for r in reads[o] if r] for o in (False, True))
        if off and on:
            print("%s: mean %.0f %s off, %.0f %s on" % (what, statistics.fmean(off), unit, statistics.fmean(on), unit), flush=True)


if __name__ == "__main__":
    main()
