# SPDX-License-Identifier: Apache-2.0
"""Devices of programs that know what a device waits for: CUDA by its mock (tests/mock/cuda), which takes no CPU; OpenCL by pyopencl."""
import ctypes
import os
import time

now = time.monotonic_ns


class Mock:
    """A kernel of `ns` takes so long on the mock's device."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context, module = ctypes.c_void_p(), ctypes.c_void_p()
        cubin = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/cubin/kernels_sm90a.cubin")
        self.functions = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self.cuda.cuInit(0) and not self.cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
        assert not self.cuda.cuModuleLoad(ctypes.byref(module), cubin.encode())
        for function, name in zip(self.functions, (b"_Z5chainPfPKfi", b"_Z5callsPfPKfi")):
            assert not self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name)

    def kernel(self, ns, which=0):
        assert not self.cuda.cuLaunchKernel(self.functions[which], (ns - 5000) // 100, 1, 1, 1, 1, 1, 0, None, None, None)

    def wait(self):
        self.cuda.cuCtxSynchronize()


class OpenCl:
    source = "kernel void relax(global float *a, int n) { int i = get_global_id(0); float x = a[i]; while (n--) x = x * 1.0001f + 0.1f; a[i] = x; }"

    def __init__(self):
        import numpy
        import pyopencl as cl
        context = cl.create_some_context(interactive=False)
        self.queue = cl.CommandQueue(context)
        self.relax = cl.Program(context, self.source).build().relax
        self.buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * 4096)
        self.number = numpy.int32

    def kernel(self, ns, which=0):
        self.relax(self.queue, (4096,), None, self.buffer, self.number(ns // 2400))

    def wait(self):
        self.queue.finish()


def compute(ns):
    begin, x = now(), 1
    while now() - begin < ns:
        for _ in range(50):
            x = x * 1664525 + 1013904223 & 0xffffffff
    return x
