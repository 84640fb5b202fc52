# SPDX-License-Identifier: Apache-2.0
"""What recording costs an eager decode, inside one process.

    aiflame record --name bench [OPTIONS] -o x.data python3 bench/gpu/decode.py AIFLAME [SECONDS]

Turns the recording off and on with `aiflame ctl`, in segments of two seconds in the order off, on, on, off; compares
the time of a token in the segments of each such four. Prints the median of the ratios with a bootstrap 95 %
interval, and the 99th percentiles of tokens."""
import os
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "gpu"))
import torch  # noqa: E402
from decode import make_model, step  # noqa: E402

SEGMENT, SETTLE = 2.0, 0.5


def control(aiflame, what):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
    subprocess.run([aiflame, "ctl", what, "bench"], env=env, check=True, stdout=subprocess.DEVNULL)


def segment(decode, seconds):
    """Times of tokens, after the switch has settled."""
    times, begin = [], time.perf_counter()
    while True:
        a = time.perf_counter()
        decode()
        b = time.perf_counter()
        if b - begin > seconds:
            return times
        if a - begin > SETTLE:
            times.append(b - a)


def bootstrap(values, rounds=2000):
    rng = random.Random(1)
    means = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975)]


def main():
    aiflame, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60
    torch.manual_seed(1)
    model = make_model()
    prompt = torch.randint(0, 32000, (1, 16), device="cuda")
    state = {"n": 0}

    def decode():
        if state["n"] % 100 == 0:
            state["past"], state["token"] = step(model, None, prompt)
        else:
            state["past"], state["token"] = step(model, state["past"], state["token"])
        state["n"] += 1
        torch.cuda.synchronize()

    for _ in range(200):
        decode()
    ratios, tokens = [], {"off": [], "on": []}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        mean = {"off": [], "on": []}
        for what in ("off", "on", "on", "off"):
            control(aiflame, "start" if what == "on" else "pause")
            times = segment(decode, SEGMENT)
            tokens[what] += times
            mean[what] += times
        ratios.append(statistics.fmean(mean["on"]) / statistics.fmean(mean["off"]) - 1)
    low, high = bootstrap(ratios)
    p99 = {k: sorted(v)[int(len(v) * 0.99)] * 1000 for k, v in tokens.items()}
    print("token %.3f ms off, %.3f ms on; recording costs %+.2f %% [%+.2f .. %+.2f] in %d fours; p99 %.2f ms off, %.2f ms on"
          % (statistics.median(tokens["off"]) * 1000, statistics.median(tokens["on"]) * 1000,
             statistics.median(ratios) * 100, low * 100, high * 100, len(ratios), p99["off"], p99["on"]))


if __name__ == "__main__":
    main()
