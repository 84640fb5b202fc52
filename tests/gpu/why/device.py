# SPDX-License-Identifier: Apache-2.0
"""A device for causes.py: CUDA by PyTorch, else OpenCL by pyopencl, so that the same programs run without a GPU."""
import ctypes
import functools

try:
    import torch
except ImportError:
    torch = None
SIZE = 1 << 20


class Cuda:
    name = "cuda"

    def __init__(self):
        self.x = torch.zeros(SIZE, device="cuda")
        self.add_one()
        self.x[0].item()
        self.wait()

    @functools.cached_property
    def big(self):
        return torch.zeros(4096, 4096, device="cuda", dtype=torch.float16)

    @functools.cached_property
    def host(self):
        return torch.zeros(16 << 20)

    @functools.cached_property
    def to(self):
        return torch.zeros(16 << 20, device="cuda")

    def add_one(self):
        self.x.add_(1)

    def work(self):
        """About 100 us of the device."""
        torch.cuda._sleep(160000)

    def product(self):
        torch.mm(self.big, self.big)

    def wait(self):
        torch.cuda.synchronize()

    def read_one(self):
        return self.x[0].item()

    def allocate(self):
        buffer = torch.empty(96 << 20, dtype=torch.uint8, device="cuda")
        del buffer
        torch.cuda.empty_cache()

    def compile(self, number):
        """By NVRTC: a kernel that no cache has."""
        code = "template <typename T> T k%d(T x) { return x + T(%d); }" % (number, number)
        return torch.cuda.jiterator._create_jit_fn(code)(self.x[:256])

    def copy_pageable(self):
        self.to.copy_(self.host)

    def late(self, sleep_us):
        """Work in one stream that waits for an event behind a function of the host in another."""
        runtime = cudart()
        sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
        first, second, event = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Event()
        error = runtime.cudaLaunchHostFunc(ctypes.c_void_p(first.cuda_stream), sleep, ctypes.c_void_p(sleep_us))
        assert error == 0, error
        event.record(first)
        second.wait_event(event)
        return second

    def own_stream(self):
        return torch.cuda.stream(torch.cuda.Stream())


def cudart():
    """The runtime that PyTorch has loaded."""
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libcudart" in line))


class OpenCl:
    name = "opencl"
    SOURCE = """kernel void spin(global int *a) { int x = a[0]; for (int i = 0; i < 100000; i++) x = x * 3 + i; a[0] = x; }
        kernel void product(global int *a) { int x = a[0]; for (int i = 0; i < 400000; i++) x = x * 3 + i; a[get_global_id(0) % 64] = x; }"""

    def __init__(self):
        import numpy
        import pyopencl
        self.cl = pyopencl
        self.context = pyopencl.create_some_context(interactive=False)
        self.queue = pyopencl.CommandQueue(self.context)
        program = pyopencl.Program(self.context, self.SOURCE).build()
        self.spin, self.long = program.spin, program.product
        self.one = numpy.zeros(1, dtype=numpy.int32)
        self.host = numpy.zeros(4 << 20, dtype=numpy.float32)
        self.x = pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_WRITE, 4096)
        self.to = pyopencl.Buffer(self.context, pyopencl.mem_flags.READ_WRITE, self.host.nbytes)
        for kernel in (self.spin, self.long):
            kernel.set_args(self.x)
        self.work()
        self.wait()

    def work(self):
        self.cl.enqueue_nd_range_kernel(self.queue, self.spin, (1,), (1,))

    add_one = work

    def product(self):
        self.cl.enqueue_nd_range_kernel(self.queue, self.long, (64,), (1,))

    def wait(self):
        self.queue.finish()

    def read_one(self):
        self.cl.enqueue_copy(self.queue, self.one, self.x)
        return int(self.one[0])

    def allocate(self):
        self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR, hostbuf=self.host).release()

    def compile(self, number):
        self.cl.Program(self.context, "kernel void k%d(global int *a) { a[0] += %d; }" % (number, number)).build()

    def copy_pageable(self):
        self.cl.enqueue_copy(self.queue, self.to, self.host)


def open_device():
    return Cuda() if torch and torch.cuda.is_available() else OpenCl()
