# SPDX-License-Identifier: Apache-2.0
"""A training whose profiler cannot do what it is asked for: program_warns.py no-agent|early|idle|missing PROFILE. Prints how
often each warning came, and that the training ended."""
import collections
import os
import sys
import warnings

import aiflame

warned = collections.Counter()
warnings.simplefilter("always")
warnings.showwarning = lambda message, *_: warned.update([str(message)])
what, path = sys.argv[1:]
ready = []


def show(p):
    """All that a handler of cycles may ask for."""
    return (p.report("--kernels"), p.flame(), p.query("SELECT * FROM launches"), p.export_chrome_trace(path + ".json"), repr(p), p._repr_html_() if not p.is_done else "")


def train(p):
    for _ in range(12):
        sum(i * i for i in range(20000))
        p.step()


if what == "no-agent":
    for _ in range(3):
        with aiflame.profile(path) as p:
            show(p)
    train(p)
elif what == "early":  # while the recording that the program runs in goes on
    with aiflame.profile(path) as p:
        for _ in range(3):
            assert show(p)[:3] == ("", "", []), show(p)
elif what == "idle":  # cycles without any work of a device
    p = aiflame.profile(path, schedule=aiflame.schedule(wait=1, warmup=1, active=2), on_trace_ready=lambda p: ready.append(show(p)))
    with p:
        train(p)
elif what == "missing":  # no command to record with
    os.environ["AIFLAME"] = "/nonexistent/aiflame"
    with aiflame.profile(path, schedule=aiflame.schedule(wait=1, warmup=1, active=2)) as p:
        train(p)
for text, n in warned.items():
    print("warned", n, text.splitlines()[0])
print("trained", len(ready))
