# SPDX-License-Identifier: Apache-2.0
"""The operators' table of a recording of PyTorch on the CPU beside what the program itself measures.

  ops_recorded.py run HOOK FILE [SECONDS]    works, with torch_hook.c preloaded; writes counts and CPU times
  ops_recorded.py compare AIFLAME PROFILE FILE

Counts of calls are torch's own, of operators that allocate, where torch_hook.c launches. Times are of the thread's CPU
clock around each call, Python's part of it included, which is some 10 us.
"""
import ctypes
import json
import subprocess
import sys
import time

LAUNCH, OFF = 2, 0


def run(hook, path, seconds=3.0):
    import torch

    hook = ctypes.PyDLL(hook)
    assert ctypes.CDLL(None).aif_fake_run(b"generate kernels=20 streams=3") == 0
    torch.set_num_threads(1)
    a, b, x = torch.randn(256, 256), torch.randn(256, 256), torch.randn(1 << 21)
    layer = torch.nn.Linear(256, 256)
    work = {"aten::mm": lambda: torch.mm(a, b), "aten::exp": lambda: torch.exp(x), "aten::sin": lambda: torch.sin(x),
            "aten::linear": lambda: layer(a)}
    cpu = dict.fromkeys(work, 0)

    def turn():
        for name, call in work.items():
            begin = time.thread_time_ns()
            call()
            cpu[name] += time.thread_time_ns() - begin

    turn()
    hook.hook_mode(OFF)
    with torch.no_grad(), torch.autograd.profiler.profile() as p:
        hook.hook_mode(LAUNCH)
        for _ in range(7):
            turn()
            turn()
            torch.cat((torch.softmax(a, 1), b))
        torch.nn.functional.layer_norm(torch.nn.functional.layer_norm(a, (256,)), (256,))
        hook.hook_mode(OFF)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        turn()
    calls = {row.key: row.count for row in p.key_averages()}
    with open(path, "w") as f:
        json.dump({"calls": calls, "cpu": cpu}, f)


def compare(aiflame, profile, path):
    want = json.load(open(path))
    text = subprocess.check_output([aiflame, "report", "--ops", "--limit", "0", "--format", "json", profile])
    rows = {r["name"]: r for r in json.loads(text)["rows"] if r["type"] == "operator"}
    bad = 0
    for name in ("aten::mm", "aten::exp", "aten::sin", "aten::linear", "aten::addmm", "aten::softmax", "aten::_softmax",
                 "aten::cat", "aten::layer_norm", "aten::native_layer_norm"):
        ok = rows.get(name, {}).get("calls") == want["calls"][name]
        bad += not ok
        print(name, "calls:", want["calls"][name], "by torch,", rows.get(name, {}).get("calls"), "here", "" if ok else "WRONG")
    for name, ns in want["cpu"].items():
        row = rows[name]
        errors = (row["cpu_total"] - ns) / row["cpu_error"]
        ok = abs(row["cpu_total"] - ns) <= 4 * row["cpu_error"] + 0.02 * ns
        bad += not ok
        print(name, "CPU: %.1f ms by the program, %.1f ms +- %.1f here: %.2f errors" % (
            ns / 1e6, row["cpu_total"] / 1e6, row["cpu_error"] / 1e6, errors), "" if ok else "WRONG")
    return bad


sys.exit({"run": run, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
