#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`aiflame diff` of two profiles of 200,000 stacks: bench/diff.py [ROUNDS [STACKS]], with BUILD_DIR; WORK_DIR keeps the traces.

Two traces of PyTorch's kind are made and imported: 2,000 call paths of 30 operators, below each of them operators that launch a
kernel, each once, so that each launch has a stack of its own; in B one kernel takes 10 % longer. Printed are medians of
ROUNDS (9): of profiles that no view has opened yet (first), and of those that have their attribution cached.
Bar: 1 s."""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
aiflame = os.path.join(os.environ.get("BUILD_DIR", os.path.join(root, "build")), "src/aiflame")
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
stacks = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
PATHS, DEPTH, NAMES = 2000, 30, 400
KERNELS = [f"void at::native::kernel_{i}<float, {i % 7}>(float*)" for i in range(200)]


def events(longer):
    """Events of a trace: paths share their outer operators, as calls do."""
    rng = random.Random(1)
    at, number = 0.0, 0
    each = stacks // PATHS
    path = [rng.randrange(NAMES) for _ in range(DEPTH)]

    def event(cat, name, ts, dur, tid, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 0 if cat in ("kernel",) else 7, "tid": tid, "ts": round(ts, 3), "dur": round(dur, 3),
                "args": args}

    for _ in range(PATHS):
        shared = rng.randrange(4, DEPTH)
        path = path[:shared] + [rng.randrange(NAMES) for _ in range(DEPTH - shared)]
        begin = at
        for i in range(each):
            number += 1
            kernel = rng.randrange(len(KERNELS))
            op = begin + 1 + i * 5.0
            dur = 3.0 * (1 + rng.random()) * (longer if kernel == 17 else 1)
            yield event("cpu_op", f"aten::op_{i}_{rng.randrange(50)}", op, 4.5, 7, **{"External id": number})
            yield event("cuda_runtime", "cudaLaunchKernel", op + 1, 2, 7, correlation=number, **{"External id": number})
            yield event("kernel", KERNELS[kernel], op + 10, dur, 1, device=0, stream=1, correlation=number, **{"External id": number})
        at = begin + each * 5.0 + 10
        for d, name in enumerate(path):
            yield event("cpu_op", f"aten::outer_{name}", begin + d * 0.02, at - begin - 5 - d * 0.04, 7)


def make(work, name, longer):
    data, trace = f"{work}/{name}.data", f"{work}/{name}.json"
    if not os.path.exists(data):
        with open(trace, "w", encoding="utf-8") as f:
            f.write('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],"traceEvents":[\n')
            f.write(",\n".join(json.dumps(e, separators=(",", ":")) for e in events(longer)))
            f.write("\n]}\n")
        subprocess.run([aiflame, "import", "-q", "-o", data, trace], check=True)
        os.remove(trace)
    return data


def measure(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def main(work):
    sides = [make(work, "a", 1), make(work, "b", 1.1)]
    count = subprocess.run([aiflame, "query", "--format", "csv", sides[0], "SELECT count(*), (SELECT count(DISTINCT stack) FROM launches) FROM stacks"],
                           check=True, stdout=subprocess.PIPE).stdout.decode().split("\n")[1]
    print(f"stacks, and those of launches: {count}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    copies = [f"{work}/copy{i}.data" for i in range(2)]
    first, again = [], []
    for _ in range(rounds):
        for side, copy in zip(sides, copies):
            shutil.copy(side, copy)
        first.append(measure([aiflame, "diff", *copies]))
        again.append(measure([aiflame, "diff", *copies]))
    for name, times in (("first", first), ("again", again)):
        print(f"diff, {name}: median {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f} s, n={rounds})")


if __name__ == "__main__":
    if "WORK_DIR" in os.environ:
        main(os.environ["WORK_DIR"])
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(directory)
