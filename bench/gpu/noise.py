#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much runs of one program differ from one another, by class of kernel: noise.py AIFLAME OUT [SECONDS [PROGRAM...]]

Records 5 sets of 5 runs of each program with default options, as many as SECONDS (320) have room for. PROGRAM is one of
those below (all three), or NAME=COMMAND. Writes OUT/noise.json and OUT/noise.md: of each value the standard deviation of its
logarithm between the runs of a set, between the means of sets, and what that makes of a comparison of five runs a side;
then what `aiflame gate` says of each pair of sets, both ways, where the truth is "the same", of kernels also by launch.
OUT/NAME.tar.gz has the reduced runs.

Programs take the GPU in turns, one run at a time. What needs no GPU, the start of Python and the end of a recording, goes
on beside the run before and the one after where there are 12 CPUs, so that the host's noise is rather more than that of runs
alone. Where there is a GPU for each program, each has its own."""
import collections
import concurrent.futures
import fcntl
import itertools
import json
import math
import os
import re
import runpy
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
gpu_tests = os.path.join(root, "tests/gpu")
SETS, RUNS, MARGIN = 5, 5, 0.03
PROGRAMS = {
    "train": ["train.py", "60"],
    "generate": ["scenes/hf_generate.py", "0.5"],
    "graphs": ["scenes/graph_decode.py", "capture", "1"],
}
# The first that matches a kernel's name, for Python and for aiflame.
CLASSES = [("attention", "flash|fmha|attention|attn"), ("matrix product", "gemm|gemv|Gemm|nvjet|cutlass|xmma|cublas|matmul"),
           ("optimizer", "multi_tensor|[aA]dam"), ("norm, softmax", "[nN]orm|[sS]oft[mM]ax"),
           ("reduction", "[rR]educe|[sS]can|[sS]ort|arg[mM]ax"), ("copy", r"^\[(copy|fill)\]|^copy|memcpy|memset|^fill|CatArray"),
           ("elementwise", "elementwise|vectorized|gelu|unrolled|Functor|roll_")]
# Welch's half width for five runs a side of equal noise, in standard deviations: t(8) * sqrt(2 / 5).
HALF_WIDTH = 2.306 * math.sqrt(2 / RUNS)


def take_turn(lock, program, arguments):
    """Runs a program of the tests when nobody else has the GPU: what it imports is there by then."""
    import torch  # noqa: F401

    if "hf_" in program:
        from transformers import LlamaConfig, LlamaForCausalLM  # noqa: F401
    turn = open(lock, "a")
    fcntl.flock(turn, fcntl.LOCK_EX)  # to the end of the process
    globals()["turn"] = turn
    sys.argv = [program, *arguments]
    runpy.run_path(program, run_name="__main__")


def class_of(name, is_copy):
    if is_copy:
        return "copy"
    return next((c for c, expression in CLASSES if re.search(expression, name)), "other")


def read_run(path):
    """A reduced run (src/compare/run_file.h): amounts, steps, and by class ns and launches."""
    run = {"amount": {}, "steps": 0, "class": collections.Counter(), "launches": collections.Counter(), "machine": ""}
    for line in open(path, encoding="utf-8", errors="replace"):
        word = line.rstrip("\n").split(" ")
        if word[0] == "amount":
            run["amount"][word[1]] = int(word[2])
        elif word[0] == "steps":
            run["steps"] = int(word[1])
        elif word[0] in ("machine", "driver"):
            run[word[0]] = " ".join(word[1:])
        elif word[0] == "kernel":
            name = " ".join(word[4:]).split("\t")[-1]
            of = class_of(name, word[1] == "1")
            run["class"][of] += int(word[2])
            run["launches"][of] += int(word[3])
    return run


def values_of(run):
    """What is compared: by name, a number that is about the same in each run."""
    units, unit = run["steps"] or 1, "step" if run["steps"] else "run"
    ret = {f"{of}, a launch": ns / run["launches"][of] for of, ns in run["class"].items() if run["launches"][of] and ns}
    for key in ("elapsed", "busy", "idle"):
        if run["amount"].get(key):
            ret[f"{key}, a {unit}"] = run["amount"][key] / units
    if run["amount"].get("clock"):
        ret["SM clock"] = run["amount"]["clock"] / 1000
    return ret


def deviations(values):
    """values: by set, those of its runs."""
    logs = [[math.log(v) for v in s] for s in values]
    within = math.sqrt(statistics.mean(statistics.variance(x) for x in logs))
    means = [statistics.mean(x) for x in logs]
    return {"mean": math.exp(statistics.mean(means)), "within": within, "half_width": HALF_WIDTH * within,
            "between": statistics.stdev(means) if len(means) > 1 else None, "values": values}


class Recorder:
    def __init__(self, aiflame, work, end):
        self.aiflame, self.work, self.end = aiflame, work, end
        self.longest = collections.Counter()  # seconds of a run, by program
        self.failed = collections.Counter()

    def record(self, program, s, r, gpu, lock):
        if self.failed[program] > 2 or time.monotonic() + self.longest[program] > self.end:
            return False
        began = time.monotonic()
        command = program.command or [sys.executable, os.path.abspath(__file__), "--turn", lock, *program.turn]
        env = dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu)) if gpu is not None else os.environ
        done = subprocess.run([self.aiflame, "record", "-o", f"{self.work}/{program.name}/{s}/{r}.data", "--", *command],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240, env=env)
        if done.returncode:
            print(f"{program.name}: a run ended with {done.returncode}: {done.stdout.decode(errors='replace')[-2000:]}", file=sys.stderr)
            self.failed[program] += 1
        self.longest[program] = max(self.longest[program], time.monotonic() - began)
        return not done.returncode

    def all(self, programs, gpus):
        """Returns, by program, how many whole sets there are."""
        jobs = [(p, "warm-up", 0) for p in programs] + [(p, s, r) for s in range(SETS) for r in range(RUNS) for p in programs]
        done, counting = collections.Counter(), threading.Lock()
        lock = [os.path.join(self.work, f"turn{i}") for i in range(len(programs))]
        own = gpus >= len(programs) > 1
        at_once = 1 if (os.cpu_count() or 1) < 12 * (len(programs) if own else 1) else 3

        def one(job):
            p, s, r = job
            i = programs.index(p) if own else 0
            is_done = any(self.record(p, s, r, i if own else None, lock[i]) for _ in range(2))
            with counting:
                done[p, s] += is_done

        pools = [concurrent.futures.ThreadPoolExecutor(at_once) for _ in (programs if own else [0])]
        for p, s, r in jobs:
            pools[programs.index(p) if own else 0].submit(one, (p, s, r))
        for pool in pools:
            pool.shutdown()
        return {p: [s for s in range(SETS) if done[p, s] == RUNS] for p in programs}, own, at_once


class Program:
    def __init__(self, word):
        self.name, _, command = word.partition("=")
        self.command = shlex.split(command)
        if not self.command and self.name not in PROGRAMS:
            sys.exit(f"no program is called {self.name}; give {', '.join(PROGRAMS)}, or NAME=COMMAND")
        self.turn = [] if command else [os.path.join(gpu_tests, PROGRAMS[self.name][0]), *PROGRAMS[self.name][1:]]
        self.shown = command or " ".join(PROGRAMS[self.name])


def judge(aiflame, reduced, sets, classes):
    """What the gate says of pairs of sets, by budget: a Counter of kept, exceeded, cannot tell."""
    metrics = {"time": "time", "device": "device", **{f"kernel:/{expression}/": c for c, expression in CLASSES if c in classes}}
    budgets = [f"{metric} +{100 * MARGIN:.0f}%" for metric in metrics]
    answers = collections.defaultdict(collections.Counter)

    def one(pair, *options):
        return subprocess.run([aiflame, "gate", "--format", "json", *options, "--baselines", reduced, *[w for x in budgets for w in ("--budget", x)],
                               *[f"baseline:set{s}" for s in pair]], stdout=subprocess.PIPE).stdout

    def by_launch(pair):
        return one(pair, "--unit", "launch")

    pairs = list(itertools.permutations(sets, 2))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        gates = [json.loads(out) for out in pool.map(one, pairs)]
        launches = [json.loads(out) for out in pool.map(by_launch, pairs)]
    for gate, unit in [(g, "") for g in gates] + [(g, ", a launch") for g in launches]:
        for row in gate.get("budgets", []):
            if not unit or row["metric"].startswith("kernel:"):
                answers[metrics[row["metric"]] + unit][row["result"]] += 1
        for line in (gate.get("no_verdict", []) + gate.get("not_compared", [])) if not unit else []:
            answers["no verdict"][line] += 1
    return answers


def measure(aiflame, work, out, program, sets):
    """Reduces a program's sets and compares them."""
    reduced = f"{work}/{program.name}/reduced"
    runs = []

    def reduce(s):
        subprocess.run([aiflame, "baseline", "--baselines", reduced, "set", f"set{s}", f"{work}/{program.name}/{s}"], check=True,
                       stdout=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(len(sets)) as pool:
        list(pool.map(reduce, sets))
    for s in sets:
        where = f"{reduced}/set{s}"
        runs.append([read_run(f"{where}/{f}") for f in sorted(os.listdir(where)) if f.endswith(".run")])
    values = [[values_of(r) for r in one] for one in runs]
    names = sorted(set.intersection(*(set(v) for one in values for v in one)))
    first = runs[0][0]
    classes = set.intersection(*(set(r["class"]) for one in runs for r in one))
    ret = {"command": program.shown, "machine": first["machine"], "driver": first.get("driver", ""), "sets": len(sets), "runs": RUNS,
           "steps": first["steps"], "values": {n: deviations([[v[n] for v in one] for one in values]) for n in names},
           "gate": judge(aiflame, reduced, sets, classes)}
    shutil.make_archive(f"{out}/{program.name}", "gztar", reduced)
    return ret


def percent(x):
    return "-" if x is None else f"{100 * x:.2f} %"


def text_of(result):
    lines = ["# Noise between runs\n", f"{result['machine']}, driver {result['driver']}, {result['date']}; {result['how']}. Standard deviations of "
             "logarithms; the last column is the 95 % interval of a comparison of five runs a side, which decides that two sets "
             f"are the same where it is below the margin of {100 * MARGIN:.0f} %.\n"]
    for name, p in result["programs"].items():
        lines += [f"## {name}: `{p['command']}`\n", f"{p['sets']} sets of {p['runs']} runs, {p['steps']} steps each.\n",
                  "| value | mean | between the runs of a set | between the means of sets | five a side |", "|---|---|---|---|---|"]
        for value, d in p["values"].items():
            mean = f"{d['mean']:.0f} MHz" if value == "SM clock" else f"{d['mean'] / 1000:.2f} us"
            lines.append(f"| {value} | {mean} | {percent(d['within'])} | {percent(d['between'])} | +-{percent(d['half_width'])} |")
        lines += ["", "`aiflame gate` of pairs of sets, both ways, where nothing has changed:\n", "| budget of 3 % | kept | exceeded | cannot tell |",
                  "|---|---|---|---|"]
        lines += [f"| {metric} | {c['kept']} | {c['exceeded']} | {c['cannot tell']} |" for metric, c in p["gate"].items() if metric != "no verdict"]
        lines += [f"\nNo verdict, {n} times: {line}" for line, n in p["gate"].get("no verdict", {}).items()] + [""]
    return "\n".join(lines)


def main():
    aiflame, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    began = time.monotonic()
    end = began + float(sys.argv[3] if len(sys.argv) > 3 else 320)
    programs = [Program(w) for w in sys.argv[4:] or PROGRAMS]
    listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout if shutil.which("nvidia-smi") else b""
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for p, s in itertools.product(programs, [*range(SETS), "warm-up"]):
            os.makedirs(f"{work}/{p.name}/{s}")
        sets, own, at_once = Recorder(aiflame, work, end).all(programs, listed.count(b"\n"))
        took = time.monotonic() - began
        programs = [p for p in programs if sets[p]]
        if not programs:
            sys.exit(f"no whole set of runs of a program in {took:.0f} s: give more time, or fewer programs")
        how = ("a GPU for each program" if own else "one GPU" + (", beside the start and the end of other runs" if at_once > 1 else "")) + f", {took:.0f} s"
        result = {"version": 1, "date": time.strftime("%F"), "how": how, "cpus": os.cpu_count(),
                  "programs": {p.name: measure(aiflame, work, out, p, sets[p]) for p in programs}}
        result.update({k: next(iter(result["programs"].values()))[k] for k in ("machine", "driver")})
    with open(f"{out}/noise.json", "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
    with open(f"{out}/noise.md", "w", encoding="utf-8") as f:
        f.write(text_of(result))
    print(text_of(result))


if __name__ == "__main__":
    if sys.argv[1] == "--turn":
        take_turn(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
