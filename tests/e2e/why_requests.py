# SPDX-License-Identifier: Apache-2.0
"""A server with a thread for each request, on OpenCL: two clients ask in turns, one for price(), one for quote(), which computes in
Python while others want the interpreter. Prints the CPU time of quote(): "quote_ns=N"."""
import threading
import time

import numpy as np
import pyopencl as cl

context = cl.create_some_context(interactive=False)
commands = cl.CommandQueue(context)
kernel = cl.Program(context, "kernel void price(global float *a) { a[get_global_id(0)] += 1; }").build().price
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 4096)
one = threading.Lock()
until = time.monotonic() + 4
quote_ns = 0


def device():
    with one:
        kernel(commands, (4096,), None, buffer)
        commands.finish()


def quote():
    global quote_ns
    begin, x = time.thread_time_ns(), 1
    while time.thread_time_ns() - begin < 30_000_000:
        for _ in range(50):
            x = x * 1664525 + 1013904223 & 0xffffffff
    quote_ns += time.thread_time_ns() - begin


def handle_price():
    device()


def handle_quote():
    device()
    quote()


def client(handle):
    while time.monotonic() < until:
        request = threading.Thread(target=handle)
        request.start()
        request.join()


clients = [threading.Thread(target=client, args=(h,)) for h in (handle_price, handle_quote)]
for c in clients:
    c.start()
for c in clients:
    c.join()
print(f"quote_ns={quote_ns}")
