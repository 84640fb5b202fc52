# SPDX-License-Identifier: Apache-2.0
"""A program's device times as Kineto records them: own_times.py FILE SCRIPT [ARGUMENT...]

Runs SCRIPT with torch.profiler's device activities on (of all kernels of the process, JAX's and CuPy's, too) and writes to
FILE: busy_ns (the time in which something ran), span_ns (from the first to the last), copies_ns, and kernels, ns by name.
"""
import json
import runpy
import sys

import torch

out, script = sys.argv[1:3]
sys.argv = sys.argv[2:]
torch.cuda.init()
profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
profiler.start()
try:
    runpy.run_path(script, run_name="__main__")
finally:
    torch.cuda.synchronize()
    profiler.stop()
    kernels, spans, copies = {}, [], 0
    for e in profiler.profiler.kineto_results.events():
        if e.device_type() != torch.autograd.DeviceType.CUDA or e.is_user_annotation():
            continue
        start, length, name = e.start_ns(), e.duration_ns(), e.name()
        if name.startswith(("Memcpy", "Memset")):
            copies += length
        elif name.startswith(("Context Sync", "Stream Sync", "Event Sync", "Stream Wait")):
            continue
        else:
            kernels[name] = kernels.get(name, 0) + length
        spans.append((start, start + length))
    busy, reached = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"busy_ns": busy, "span_ns": reached - min(s for s, _ in spans) if spans else 0, "copies_ns": copies, "kernels": kernels}, f)
