# SPDX-License-Identifier: Apache-2.0
"""A program that asks for its own profile.  program.py PROFILE [OPTION]..."""
import os
import sys

import numpy
import pyopencl

import aiflame

context = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, "__kernel void add_one(__global int *x) { x[get_global_id(0)]++; }").build()
kernel = program.add_one
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4096)


def launch(n):
    for _ in range(n):
        kernel(queue, (1024,), None, buffer)
    queue.finish()


@aiflame.range("decorated")
def decorated():
    launch(2)


launch(5)
with aiflame.profile(sys.argv[1], *sys.argv[2:]) as p:
    for i in aiflame.steps(range(3)):
        with aiflame.range("forward %d" % i):
            launch(10)
    decorated()
    inside = p._repr_html_()
launch(7)
print("inside", inside)
if p.is_done:
    print("html", p._repr_html_()[:7], "svg" in p.flame(), os.path.getsize(p.flame("own.svg")) > 1000)
    print(p.report("--kernels"))
    print(p.query("SELECT count(*) AS launches FROM launches"))
    print([d["name"] for d in p.query("SELECT name FROM ops WHERE kind = 'range' ORDER BY start_ns")])
print(p, "recording", aiflame.recording(), aiflame.pause())
