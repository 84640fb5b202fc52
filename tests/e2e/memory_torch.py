# SPDX-License-Identifier: Apache-2.0
"""Trains a little on the CPU while torch.profiler records memory, with a device that does next to nothing.
memory_torch.py TRUTH: what the profiler has seen, as lines "bytes ptr allocated" in the order of time."""
import ctypes
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def open_device():
    """OpenCL, by which a recorder hears of the process."""
    cl, pointer = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_void_p
    platform, device = pointer(), pointer()
    cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
    cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None)
    cl.clCreateContext.restype = cl.clCreateBuffer.restype = cl.clCreateCommandQueue.restype = pointer
    context = pointer(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
    queue = pointer(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), None))
    buffer = pointer(cl.clCreateBuffer(context, ctypes.c_uint64(1), ctypes.c_size_t(4096), None, None))
    value = ctypes.c_int(5)
    if cl.clEnqueueWriteBuffer(queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(4), ctypes.byref(value), 0, None, None):
        raise SystemExit("clEnqueueWriteBuffer")


def hold_activations():
    return [torch.empty(1 << 18) for _ in range(3)]


def step(model, x):
    model(x).relu().sum().backward()


open_device()
torch.manual_seed(1)
model = torch.nn.Linear(256, 256)
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
    kept = hold_activations()
    for _ in range(20):
        step(model, torch.randn(128, 256))
with open(sys.argv[1], "w") as f:
    for e in p.profiler.kineto_results.events():
        if e.name() == "[memory]":
            f.write("%d\n" % e.nbytes())
del kept
