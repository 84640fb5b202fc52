# SPDX-License-Identifier: Apache-2.0
"""A program that profiles itself.  program_schedule.py schedule|torch|server|late PROFILE: its loop by a schedule of aiflame's
or of torch's making; by HTTP; by a schedule that begins before the device is opened."""
import enum
import os
import sys
import urllib.error
import urllib.request

import pyopencl

import aiflame


class TorchAction(enum.Enum):  # as torch.profiler.ProfilerAction
    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def open_device():
    context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
    queue = pyopencl.CommandQueue(context)
    program = pyopencl.Program(context, "__kernel void add_one(__global int *x) { x[get_global_id(0)]++; }").build()
    kernel, buffer = program.add_one, pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)

    def launch(n):
        for _ in range(n):
            kernel(queue, (1024,), None, buffer)
        queue.finish()

    return launch


def ready(p):
    steps = [row["name"] for row in p.query("SELECT name FROM ops WHERE kind = 'step' ORDER BY start_ns")]
    print("cycle", p.cycle, "at step", p.step_num, os.path.basename(p.path), *steps, p.query("SELECT count(*) AS n FROM launches")[0]["n"])


def loop(p, launch):
    p.start()
    for i in range(12):
        launch = launch or open_device()
        launch(i + 1)
        p.step()
    p.stop()


def post(port, path):
    try:
        return urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), method="POST")).status
    except urllib.error.HTTPError as e:
        return e.code


what, path = sys.argv[1:]
ours = aiflame.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
if what == "schedule":
    loop(aiflame.profile(path, "--all-launches", schedule=ours, on_trace_ready=ready), open_device())
elif what == "torch":
    loop(aiflame.profile(path, "--all-launches", schedule=lambda n: TorchAction[ours(n).name], on_trace_ready=ready), open_device())
elif what == "late":
    loop(aiflame.profile(path, "--all-launches", schedule=aiflame.schedule(wait=0, warmup=1, active=3, repeat=1), on_trace_ready=ready), None)
else:
    import profile_server

    launch, server = open_device(), profile_server.serve(0)
    launch(3)
    answers = [post(server.server_port, "/start_profile")]
    launch(5)
    answers += [post(server.server_port, "/stop_profile"), post(server.server_port, "/else")]
    launch(7)
    print(*answers, os.path.getsize("server.svg") > 1000)
