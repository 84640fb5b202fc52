#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verdicts of diff and gate where the truth is known: bench/verdicts.py [SETS [SECONDS]], with BUILD_DIR.

Records sets of 5 runs a side of tests/e2e/diff_app on PoCL with `aiflame bench`: equal sides, a kernel made 5 % longer, and
equal sides beside a program that keeps a CPU busy for half of the time. Prints for the kernel how many sets got which answer, and the
noise between runs that was measured, with what the simulation of tests/unit/test_stats.c would give at that noise. Ends
after SECONDS, with the sets that are there."""
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.environ.get("BUILD_DIR", os.path.join(root, "build"))
aiflame = os.path.join(build, "src/aiflame")
app = os.path.join(build, "tests/e2e/diff_app")
sets = int(sys.argv[1]) if len(sys.argv) > 1 else 20
end = time.monotonic() + (float(sys.argv[2]) if len(sys.argv) > 2 else 3600)
RUNS, STEPS, ROUNDS = 5, 20, 20000
BUSY = "import time\nwhile True:\n t = time.monotonic() + random.random() / 5\n while time.monotonic() < t: pass\n time.sleep(random.random() / 5)\n"
pocl = "/etc/OpenCL/vendors/pocl.icd"
env = dict(os.environ, **({"OCL_ICD_VENDORS": pocl} if os.path.exists(pocl) else {}))


def answer(change, low, high, p):
    margin = math.log(1.03)
    if p < 0.05 and abs(change) >= margin:
        return "slower" if change > 0 else "faster"
    return "same" if low > -margin and high < margin else "cannot tell"


def one_set(variant):
    with tempfile.TemporaryDirectory() as work:
        command = [app, "base", str(STEPS), str(ROUNDS)]
        subprocess.run([aiflame, "bench", "-n", str(RUNS), "-o", work + "/sets", "--against",
                        f"{app} {variant} {STEPS} {ROUNDS}", "--", *command],
                       check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = subprocess.run([aiflame, "gate", "--format", "json", "--budget", "kernel:/^attention$/ +3%", work + "/sets/a",
                              work + "/sets/b"], env=env, stdout=subprocess.PIPE).stdout
        row = json.loads(out)["budgets"][0]
        half = (math.log1p(row["high"]) - math.log1p(row["low"])) / 2
        # Welch's half width at about 8 degrees of freedom is 2.306 * sd * sqrt(2 / runs).
        sd = half / 2.306 / math.sqrt(2 / RUNS)
        return {"up": "slower", "down": "faster"}.get(row["answer"], row["answer"]), row["change"], sd


def simulate(truth, sd, n=4000):
    """The share of sets that get an answer, at the noise that was measured."""
    rng = random.Random(1)
    decided = 0
    for _ in range(n):
        a = [rng.gauss(0, sd) for _ in range(RUNS)]
        b = [rng.gauss(truth, sd) for _ in range(RUNS)]
        va, vb = statistics.variance(a), statistics.variance(b)
        se = math.sqrt((va + vb) / RUNS)
        df = (va + vb) ** 2 / ((va ** 2 + vb ** 2) / (RUNS - 1))
        t = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}[min(8, max(4, int(df)))]
        d = statistics.mean(b) - statistics.mean(a)
        p = 0 if abs(d) > t * se else 1
        decided += answer(d, d - t * se, d + t * se, p) != "cannot tell"
    return decided / n


print(f"{sets} sets of {RUNS} runs a side; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
print(f"{'':14}{'sets':>5}{'same':>6}{'slower':>8}{'faster':>8}{'cannot tell':>13}{'noise (median)':>16}{'decided':>9}{'simulated':>11}")
kinds = [("equal", "base", 0.0, False), ("5 % longer", "slower5", math.log(1.05), False), ("equal, noisy", "base", 0.0, True)]
results = {k[0]: [] for k in kinds}
for i in range(sets):
    for name, variant, truth, noisy in kinds:
        if time.monotonic() > end:
            break
        other = subprocess.Popen([sys.executable, "-c", "import random\n" + BUSY]) if noisy else None
        try:
            results[name].append(one_set(variant))
        finally:
            if other:
                other.kill()
                other.wait()
for name, variant, truth, noisy in kinds:
    rows = results[name]
    if not rows:
        continue
    count = {a: sum(r[0] == a for r in rows) for a in ("same", "slower", "faster", "cannot tell")}
    expected = statistics.mean(simulate(truth, r[2], 500) for r in rows)
    decided = 1 - count["cannot tell"] / len(rows)
    print(f"{name:14}{len(rows):5}{count['same']:6}{count['slower']:8}{count['faster']:8}{count['cannot tell']:13}"
          f"{100 * statistics.median(r[2] for r in rows):14.1f} %{100 * decided:7.0f} %{100 * expected:9.0f} %")
