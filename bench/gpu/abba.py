# SPDX-License-Identifier: Apache-2.0
"""What recording costs, inside one process: PyTorch work in segments with the recording off, on, on, off.

    aiflame record --name x --delay 1000000 [OPTIONS] -o x.data python3 bench/gpu/abba.py decode|compute [SECONDS [SEGMENT [SETTLE]]]

Each four of segments gives a ratio of the mean step on to the mean step off; printed are their median with a bootstrap 95 % interval,
and the 99th percentiles of steps. What comes on late counts only in segments that are longer than that: sampling is
first switched 3 s after callbacks. SETTLE seconds of each segment are left out.

    decode   a token of a small Llama, eager, launch-bound; a step is a token
    compute  three products of matrices of 4096, bound by the GPU; a step is ten of each"""
import os
import random
import statistics
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "..", "tests", "gpu"), os.path.join(here, "..", "..", "python")]
import torch  # noqa: E402

import aiflame  # noqa: E402


def decoding():
    from decode import make_model, step

    torch.manual_seed(1)
    model = make_model()
    prompt = torch.randint(0, 32000, (1, 16), device="cuda")
    state = {"n": 0}

    def token():
        past, last = (None, prompt) if state["n"] % 100 == 0 else (state["past"], state["token"])
        state["past"], state["token"] = step(model, past, last)
        state["n"] += 1
        torch.cuda.synchronize()

    return token


def computing():
    a = torch.randn(4096, 4096, device="cuda")
    b, c = a.half(), a.bfloat16()

    def products():
        for _ in range(10):
            for x in (a, b, c):
                torch.mm(x, x)
        torch.cuda.synchronize()

    return products


def switch(on):
    """Waits until it is so: callbacks and records take some milliseconds."""
    if not (aiflame.start() if on else aiflame.pause()):
        sys.exit("abba.py: nobody records this process; see its first lines")
    end = time.perf_counter() + 5
    while aiflame.recording() != on and time.perf_counter() < end:
        time.sleep(0.001)


def segment(work, seconds, settle):
    times, begin = [], time.perf_counter()
    while True:
        a = time.perf_counter()
        work()
        b = time.perf_counter()
        if b - begin > seconds:
            return times
        if a - begin > settle:
            times.append(b - a)


def bootstrap(values, rounds=2000):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    seconds, length, settle = (float(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((2, 60), (3, 1.0), (4, 0.2)))
    work = {"decode": decoding, "compute": computing}[what]()
    for _ in range(50):
        work()
    ratios, steps = [], {False: [], True: []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not ratios:
        mean = {False: [], True: []}
        for on in (False, True, True, False):
            switch(on)
            mean[on] += segment(work, length, settle)
        for on, times in mean.items():
            steps[on] += times
        ratios.append(statistics.fmean(mean[True]) / statistics.fmean(mean[False]) - 1)
    low, high = bootstrap(ratios)
    p99 = {on: sorted(v)[int(len(v) * 0.99)] * 1000 for on, v in steps.items()}
    print("%s: step %.3f ms off, %.3f ms on; recording costs %+.2f %% [%+.2f .. %+.2f] in %d fours, %d and %d steps; p99 %.2f ms off, "
          "%.2f ms on (%+.1f %%)" % (what, statistics.median(steps[False]) * 1000, statistics.median(steps[True]) * 1000,
                                     statistics.median(ratios) * 100, low * 100, high * 100, len(ratios), len(steps[False]),
                                     len(steps[True]), p99[False], p99[True], (p99[True] / p99[False] - 1) * 100), flush=True)


if __name__ == "__main__":
    main()
