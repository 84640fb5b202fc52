# SPDX-License-Identifier: Apache-2.0
"""aiflame.profile beside torch.profiler.profile: both call on_trace_ready at the same steps, whatever the schedule is.

  program_torch.py recorded PROFILE    schedules of a program that runs, each cycle a recording and a trace
  program_torch.py all                 many more, right ones and wrong ones; nothing is recorded
"""
import itertools
import os
import random
import sys
import warnings

import torch

import aiflame

STEPS = 14
# wait, warmup, active, repeat, skip_first
SOME = [(1, 1, 2, 2, 1), (0, 0, 3, 1, 0), (0, 1, 1, 3, 2), (2, 0, 4, 0, 0), (1, 2, 6, 0, 3)]


class Torch(torch.profiler.profile):
    def prepare_trace(self):
        pass

    start_trace = stop_trace = prepare_trace


class Ours(aiflame.profile):
    def _prepare(self):
        self._name()

    _begin = _prepare

    def _finish(self, is_saved):
        self.is_done = is_saved


def ready(profile, schedule, work=lambda: None, steps=STEPS, stops=True):
    """Numbers of the steps at which on_trace_ready is called."""
    seen = []
    p = profile(schedule=schedule, on_trace_ready=lambda p: seen.append(p.step_num))
    p.start()
    for _ in range(steps):
        work()
        p.step()
    if stops:
        p.stop()
    return seen


def of(module, numbers):
    return module.schedule(**dict(zip(("wait", "warmup", "active", "repeat", "skip_first"), numbers)))


def same(what, want, got):
    if want != got:
        print("%s: torch at steps %s, aiflame at %s" % (what, want, got))
    return want == got


def recorded(path):
    import pyopencl

    context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
    queue = pyopencl.CommandQueue(context)
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)
    files = []

    def work():
        pyopencl.enqueue_fill_buffer(queue, buffer, b"\0", 0, 4096)
        queue.finish()

    def ours(schedule, on_trace_ready):
        def both(p):
            files.append((p.path, p.query("SELECT count(*) AS n FROM launches")[0]["n"]))
            on_trace_ready(p)
        return aiflame.profile(path, "--all-launches", schedule=schedule, on_trace_ready=both)

    right = True
    for numbers in SOME:
        files.clear()
        want = ready(torch.profiler.profile, of(torch.profiler, numbers), lambda: torch.ones(4))
        got = ready(ours, of(aiflame, numbers), work)
        print(*numbers, "torch", want, "aiflame", got, [(os.path.basename(f), n) for f, n in files])
        # A cycle that stop() ends at its first step has no work.
        right &= same(numbers, want, got) and len(files) == len(want) and all(n for (_, n), at in zip(files, got) if at < STEPS)
    return right


def everything():
    aiflame._call = lambda *_: 0
    right, n = True, 0
    ours = lambda **o: Ours("x.data", synchronize=False, **o)
    for numbers in itertools.product(range(4), range(3), range(1, 4), range(4), range(3)):
        a, b = of(torch.profiler, numbers), of(aiflame, numbers)
        right &= same(numbers, [a(i).name for i in range(40)], [b(i).name for i in range(40)])
        for steps, stops in (STEPS, True), (STEPS, False), (3, True):
            right &= same(numbers, ready(Torch, a, steps=steps, stops=stops), ready(ours, b, steps=steps, stops=stops))
            n += 1
    r = random.Random(1)
    for _ in range(2000):  # those that torch warns of, too
        actions = [r.choice(list(torch.profiler.ProfilerAction)) for _ in range(STEPS + 1)]
        right &= same([a.name for a in actions], ready(Torch, actions.__getitem__), ready(ours, actions.__getitem__))
        n += 1
    print(n, "runs are the same" if right else "runs: WRONG")
    return right


warnings.simplefilter("ignore")
sys.exit(not (recorded(sys.argv[2]) if sys.argv[1] == "recorded" else everything()))
