#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much runs of one program differ from one another, by class of kernel: noise.py AIFLAME OUT [SECONDS [CMD...]]

Records up to 5 sets of 5 runs of a training in PyTorch (tests/gpu/train.py), or of CMD, until SECONDS (220) are over. Writes
OUT/noise.md: by class the standard deviation of the logarithm of the time of a launch between the runs of a set, and between
the means of sets; the same of time a step, of clocks, and what `aiflame gate` says of each pair of sets, where the truth is
"the same". OUT/sets.tar.gz has the reduced runs and the verdicts."""
import collections
import itertools
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
aiflame, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
end = time.monotonic() + float(sys.argv[3] if len(sys.argv) > 3 else 220)
command = sys.argv[4:] or [sys.executable, os.path.join(root, "tests/gpu/train.py"), "60"]
SETS, RUNS = 5, 5
CLASSES = [("attention", "flash|fmha|attention|attn"), ("matrix product", "gemm|nvjet|cutlass|xmma|cublas|matmul"),
           ("optimizer", "multi_tensor|adam"), ("norm, softmax", "norm|softmax"), ("reduction", "reduce|scan|sort"),
           ("copy", "^copy|memcpy|memset|^fill"), ("elementwise", "elementwise|vectorized|gelu|unrolled|Functor")]


def class_of(name, is_copy):
    if is_copy:
        return "copy"
    return next((c for c, expression in CLASSES if re.search(expression, name, re.I)), "other")


def read_run(path):
    """A reduced run (src/compare/run_file.h): amounts, steps, and by class ns and launches."""
    run = {"amount": {}, "steps": 0, "class": collections.Counter(), "launches": collections.Counter()}
    for line in open(path, encoding="utf-8", errors="replace"):
        word = line.rstrip("\n").split(" ")
        if word[0] == "amount":
            run["amount"][word[1]] = int(word[2])
        elif word[0] == "steps":
            run["steps"] = int(word[1])
        elif word[0] == "kernel":
            name = " ".join(word[4:]).split("\t")[-1]
            of = class_of(name, word[1] == "1")
            run["class"][of] += int(word[2])
            run["launches"][of] += int(word[3])
    return run


def values_of(run):
    """What is compared: by name, a number that is about the same in each run."""
    units = run["steps"] or 1
    ret = {f"{of}, a launch": ns / run["launches"][of] for of, ns in run["class"].items() if run["launches"][of] and ns}
    for key in ("elapsed", "busy", "idle"):
        if run["amount"].get(key):
            ret[f"{key}, a {'step' if run['steps'] else 'run'}"] = run["amount"][key] / units
    if run["amount"].get("clock"):
        ret["SM clock"] = run["amount"]["clock"] / 1000
    return ret


def percent(logs):
    return "%.2f %%" % (100 * statistics.stdev(logs)) if len(logs) > 1 else "-"


def record(work):
    took, last = 0, time.monotonic()
    sets = []
    for s in range(SETS):
        os.mkdir(f"{work}/{s}")
        for r in range(RUNS):
            if time.monotonic() + 1.2 * took > end:
                return sets
            done = subprocess.run([aiflame, "record", "-o", f"{work}/{s}/{r}.data", "--", *command], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=120)
            if done.returncode:
                sys.exit(done.stdout.decode(errors="replace")[-2000:])
            took, last = max(took, time.monotonic() - last), time.monotonic()
        sets.append(s)
    return sets


def main():
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        begin = time.monotonic()
        sets = record(work)
        if not sets:
            sys.exit("no whole set of runs: more time is needed")
        runs = {}
        for s in sets:
            subprocess.run([aiflame, "baseline", "--baselines", f"{work}/reduced", "set", f"set{s}", f"{work}/{s}"], check=True,
                           stdout=subprocess.DEVNULL)
            where = f"{work}/reduced/set{s}"
            runs[s] = [values_of(read_run(f"{where}/{f}")) for f in sorted(os.listdir(where)) if f.endswith(".run")]
        names = sorted(set.intersection(*(set(r) for s in sets for r in runs[s])))
        lines = [f"# Noise between runs\n\n`{' '.join(os.path.basename(c) for c in command)}`, {len(sets)} sets of {RUNS} runs, "
                 f"{time.monotonic() - begin:.0f} s in all. Standard deviations of logarithms.\n",
                 "| value | mean | between the runs of a set | between the means of sets |", "|---|---|---|---|"]
        for name in names:
            logs = [[math.log(r[name]) for r in runs[s]] for s in sets]
            within = math.sqrt(statistics.mean(statistics.variance(x) for x in logs)) if len(logs[0]) > 1 else 0
            mean = math.exp(statistics.mean(statistics.mean(x) for x in logs))
            shown = f"{mean:.0f} MHz" if name == "SM clock" else f"{mean / 1000:.2f} us"
            lines.append(f"| {name} | {shown} | {100 * within:.2f} % | {percent([statistics.mean(x) for x in logs])} |")
        answers = collections.Counter()
        for a, b in itertools.combinations(sets, 2):
            done = subprocess.run([aiflame, "gate", "--format", "json", "--baselines", f"{work}/reduced", f"baseline:set{a}",
                                   f"baseline:set{b}"], stdout=subprocess.PIPE)
            answers[{0: "kept", 3: "exceeded", 4: "cannot tell"}.get(done.returncode, "failed")] += 1
            with open(f"{work}/reduced/gate-{a}-{b}.json", "wb") as f:
                f.write(done.stdout)
        lines += ["", "`aiflame gate` of pairs of sets, by its default budgets, where nothing has changed: " +
                  (", ".join(f"{n} {answer}" for answer, n in sorted(answers.items())) or "one set alone")]
        with open(f"{out}/noise.md", "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        print("\n".join(lines))
        shutil.make_archive(f"{out}/sets", "gztar", f"{work}/reduced")


if __name__ == "__main__":
    main()
