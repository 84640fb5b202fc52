#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts of diff and gate where the truth is known, on PoCL: bench/verdicts.py [campaign|seeded] [SETS [SECONDS]], with BUILD_DIR.

Sets are 5 runs a side of tests/e2e/diff_app, recorded in turns by `aiflame bench`. The machine must have nothing else to do.

campaign   SETS (20) of each of three: equal sides, a kernel made 5 % longer, and equal sides beside a program that keeps a CPU
           busy for half of the time. Prints what was answered, by a budget for that kernel, the noise between runs, and
           what share of sets a simulation of the same test decides at that noise. Wrong is "slower" or "faster" of equal sides,
           "same" or "faster" of longer ones. Some 6 minutes.
seeded     ten seeded regressions and two moves between callees: prints the stack that is named first, and whether it is
           the one that was changed. SETS (1) of each. A minute.

Ends after SECONDS (3600) with the sets that are there. Exit status 1: a wrong verdict, a share more than 10 points off, or a
stack that is not first."""
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.environ.get("BUILD_DIR", os.path.join(root, "build"))
aiflame = os.path.join(build, "src/aiflame")
app = os.path.join(build, "tests/e2e/diff_app")
mode = sys.argv[1] if len(sys.argv) > 1 else "campaign"
sets = int(sys.argv[2]) if len(sys.argv) > 2 else 20 if mode == "campaign" else 1
end = time.monotonic() + (float(sys.argv[3]) if len(sys.argv) > 3 else 3600)
RUNS, STEPS, ROUNDS = 5, 20, 20000
MARGIN, LEVEL = math.log(1.03), 0.02
BUSY = ("import random, time\nwhile True:\n t = time.monotonic() + random.random() / 5\n while time.monotonic() < t: pass\n"
        " time.sleep(random.random() / 5)\n")
pocl = "/etc/OpenCL/vendors/pocl.icd"
env = dict(os.environ, **({"OCL_ICD_VENDORS": pocl} if os.path.exists(pocl) else {}))
CALL = "(clEnqueueNDRangeKernel < )?"
# By variant of diff_app: the kind of the first finding, and the beginning of its stack.
SEEDED = {
    "longer": ("a longer kernel", "changed", "attention < " + CALL + "run < attention < model"),
    "launch": ("an extra launch", "new", "penalty < " + CALL + "run < attention < model"),
    "fusion": ("a lost fusion", "moved", CALL + "(run < )?block < model"),
    "sync": ("a sync added", "new|changed", r"\[idle.*tokenize < model|\[idle.*clFinish < model|tokenize < model"),
    "copies": ("a copy made pageable", "changed", r".*load < step"),
    "batch": ("a smaller batch", "steps", r"(step < )?train < main"),
    "host": ("a host function made slower", "changed", r"(\[idle.*)?tokenize < step"),
    # Without stacks of times off CPU (--off-cpu, root), a sleep is time before the next launch, in load.
    "idle": ("more idle", "new", r"(\[idle.*)?(log_progress|load) < step"),
    "tile": ("another tile size", "changed", "gemm_tile_16 < " + CALL + "run < block < model"),
    "split": ("a kernel split in two", "moved", CALL + "(run < )?head < model"),
    "moved": ("a move between callees", None, r"model < step"),
    "caller": ("a move to another caller", None, CALL + "(run < )?head < model"),
}


def bench(work, variant, steps=STEPS, rounds=ROUNDS):
    subprocess.run([aiflame, "bench", "-n", str(RUNS), "-o", work + "/sets", "--against", f"{app} {variant} {steps} {rounds}", "--",
                    app, "base", str(steps), str(rounds)], check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [work + "/sets/a", work + "/sets/b"]


def ask(*command):
    return json.loads(subprocess.run([aiflame, *command], env=env, stdout=subprocess.PIPE).stdout)


# ---- the simulation ----

def p_of(t, df):
    """Two-sided, of Student's t: the regularised incomplete beta function of df / (df + t^2), by its continued fraction."""
    x, a, b = df / (df + t * t), df / 2, 0.5
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta(1 - x, b, a)
    return beta(x, a, b)


def beta(x, a, b):
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    f = d
    for m in range(1, 200):
        for n in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + n * d)
            c = 1 + n / c
            f *= c * d
        if abs(c * d - 1) < 1e-9:
            break
    return front * f


def quantile(df, level=0.05, known={}):
    """t with that two-sided p."""
    key = round(df, 1)
    if key not in known:
        low, high = 0.0, 100.0
        while high - low > 1e-4:
            mid = (low + high) / 2
            low, high = (mid, high) if p_of(mid, key) > level else (low, mid)
        known[key] = low
    return known[key]


def simulate(truth, sd, n=2000):
    """The share of sets that get an answer at that noise, by the test of src/stats/change.h."""
    rng = random.Random(1)
    decided = 0
    for _ in range(n):
        a = [rng.gauss(0, sd) for _ in range(RUNS)]
        b = [rng.gauss(truth, sd) for _ in range(RUNS)]
        va, vb = statistics.variance(a) / RUNS, statistics.variance(b) / RUNS
        se, d = math.sqrt(va + vb), statistics.mean(b) - statistics.mean(a)
        df = (va + vb) ** 2 / ((va ** 2 + vb ** 2) / (RUNS - 1))
        half = quantile(df) * se
        decided += (abs(d) >= MARGIN and p_of(d / se, df) < LEVEL) or (d - half > -MARGIN and d + half < MARGIN)
    return decided / n


# ---- the campaign ----

def one_set(variant):
    with tempfile.TemporaryDirectory() as work:
        sides = bench(work, variant)
        row = ask("gate", "--format", "json", "--budget", "kernel:/^attention$/ +3%", *sides)["budgets"][0]
        half = (math.log1p(row["high"]) - math.log1p(row["low"])) / 2
        # Welch's half width at about 8 degrees of freedom is 2.306 * sd * sqrt(2 / runs).
        return {"up": "slower", "down": "faster"}.get(row["answer"], row["answer"]), half / 2.306 / math.sqrt(2 / RUNS)


def campaign():
    kinds = [("equal", "base", 0.0, False, ("slower", "faster")), ("5 % longer", "slower5", math.log(1.05), False, ("same", "faster")),
             ("equal, noisy", "base", 0.0, True, ("slower", "faster"))]
    results = {k[0]: [] for k in kinds}
    for _ in range(sets):
        for name, variant, _, noisy, _ in kinds:
            if time.monotonic() > end:
                break
            other = subprocess.Popen([sys.executable, "-c", BUSY]) if noisy else None
            try:
                results[name].append(one_set(variant))
            finally:
                if other:
                    other.kill()
                    other.wait()
    print("| truth | sets | same | slower | faster | cannot tell | wrong | noise (median) | decided | simulated at that noise |\n" + "|---" * 10 + "|")
    bad = False
    for name, _, truth, _, wrong in kinds:
        rows = results[name]
        if not rows:
            continue
        count = {a: sum(r[0] == a for r in rows) for a in ("same", "slower", "faster", "cannot tell")}
        expected = statistics.mean(simulate(truth, r[1], 500) for r in rows)
        decided, errors = 1 - count["cannot tell"] / len(rows), sum(count[w] for w in wrong)
        bad |= errors > 0 or abs(decided - expected) > 0.10
        print(f"| {name} | {len(rows)} | {count['same']} | {count['slower']} | {count['faster']} | {count['cannot tell']} | {errors} |"
              f" {100 * statistics.median(r[1] for r in rows):.1f} % | {100 * decided:.0f} % | {100 * expected:.0f} % |", flush=True)
    return bad


# ---- seeded regressions ----

def seeded():
    bad = False
    print("| what was changed | named first | kind | answer | time | |\n" + "|---" * 6 + "|")
    for variant, (what, kind, stack) in SEEDED.items():
        for _ in range(sets):
            if time.monotonic() > end:
                break
            with tempfile.TemporaryDirectory() as work:
                sides = bench(work, variant, rounds=4 * ROUNDS)
                d = ask("diff", "--format", "json", *([] if kind != "steps" else ["--unit", "run"]), *sides)
            first = d["stacks"][0] if d["stacks"] else {"stack": "-", "kind": "none", "answer": "-", "changed": False}
            took = next(m["answer"] for m in d["metrics"] if m["metric"] == "time")
            if kind:
                fine = bool(re.match(stack, first["stack"]) and re.fullmatch(kind, first["kind"]) and first["answer"] == "up")
            else:  # a move: nothing is called slower, and the move is named
                fine = took != "up" and not any(s["changed"] and s["answer"] == "up" for s in d["stacks"]) and any(
                    s["kind"] == "moved" and re.match(stack, s["stack"]) for s in d["stacks"])
            bad |= not fine
            shown = " < ".join(first["stack"].split(" < ")[:4])
            print(f"| {what} | {shown} | {first['kind']} | {first['answer']} | {took} | {'' if fine else 'NOT AS SEEDED'} |", flush=True)
    return bad


print(f"{mode}: {sets} sets of {RUNS} runs a side; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs at the start", flush=True)
sys.exit(campaign() if mode == "campaign" else seeded())
