# SPDX-License-Identifier: Apache-2.0
"""Allocates memory of a GPU, and writes down what it did, as JSON to TRUTH.

    memory.py train TRUTH [STEPS]    PyTorch: training steps, and blocks of known lines
    memory.py raw TRUTH              CUDA's runtime and driver, by ctypes
    memory.py many TRUTH N           N small blocks of PyTorch's, one after another: ns each
"""
import ctypes
import json
import sys
import time

import torch

MIB = 1 << 20


def hold_weights():
    return torch.empty(96 * MIB, dtype=torch.uint8, device="cuda")


def hold_cache():
    return [torch.empty(8 * MIB, dtype=torch.uint8, device="cuda") for _ in range(5)]


def train(steps):
    from train import Model, train_step

    torch.manual_seed(1)
    weights, cache = hold_weights(), hold_cache()
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(0, 8192, (16, 257), device="cuda")
    for _ in range(3):
        train_step(model, optimizer, tokens)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        train_step(model, optimizer, tokens)
    torch.cuda.synchronize()
    ms = (time.perf_counter() - begin) / max(steps, 1) * 1000
    del model, optimizer
    stats = torch.cuda.memory_stats()
    truth = {"peak": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(),
             "allocations": stats["allocation.all.allocated"], "bytes": stats["allocated_bytes.all.allocated"],
             "releases": stats["allocation.all.freed"], "now": torch.cuda.memory_allocated(), "ms": ms,
             "lines": {"hold_weights": weights.numel(), "hold_cache": sum(b.numel() for b in cache)}}
    return truth


def loaded(name):
    """The library that PyTorch has loaded."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split()[-1]
            if name in path.rsplit("/", 1)[-1]:
                return ctypes.CDLL(path)
    return ctypes.CDLL(name)


def ok(result):
    if result:
        raise SystemExit("CUDA: error %d" % result)


class Raw:
    """Each method is a function whose frame holds what it allocates."""

    def __init__(self):
        torch.zeros(1, device="cuda")
        self.rt, self.cu = loaded("libcudart.so"), loaded("libcuda.so")

    def rt_malloc(self):
        p = ctypes.c_void_p()
        ok(self.rt.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(64 * MIB)))
        return p

    def rt_malloc_async(self):
        p = ctypes.c_void_p()
        ok(self.rt.cudaMallocAsync(ctypes.byref(p), ctypes.c_size_t(32 * MIB), None))
        return p

    def rt_managed(self):
        p = ctypes.c_void_p()
        ok(self.rt.cudaMallocManaged(ctypes.byref(p), ctypes.c_size_t(16 * MIB), 1))
        return p

    def rt_host(self):
        p = ctypes.c_void_p()
        ok(self.rt.cudaHostAlloc(ctypes.byref(p), ctypes.c_size_t(24 * MIB), 0))
        return p

    def driver_alloc(self):
        p = ctypes.c_uint64()
        ok(self.cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(128 * MIB)))
        return p

    def driver_async(self):
        p = ctypes.c_uint64()
        ok(self.cu.cuMemAllocAsync(ctypes.byref(p), ctypes.c_size_t(48 * MIB), None))
        return p

    def driver_pool(self):
        pool, device, p = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64()
        ok(self.cu.cuDeviceGet(ctypes.byref(device), 0))
        ok(self.cu.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device))
        ok(self.cu.cuMemAllocFromPoolAsync(ctypes.byref(p), ctypes.c_size_t(40 * MIB), pool, None))
        return p

    def pitch(self):
        p, row = ctypes.c_void_p(), ctypes.c_size_t()
        ok(self.rt.cudaMallocPitch(ctypes.byref(p), ctypes.byref(row), ctypes.c_size_t(1000), ctypes.c_size_t(4096)))
        self.pitch_bytes = row.value * 4096
        return p


def raw():
    r = Raw()
    blocks = {name: getattr(r, name)() for name in
              ("rt_malloc", "rt_malloc_async", "rt_managed", "rt_host", "driver_alloc", "driver_async", "driver_pool", "pitch")}
    lines = {"rt_malloc": 64 * MIB, "rt_malloc_async": 32 * MIB, "rt_managed": 16 * MIB, "driver_alloc": 128 * MIB,
             "driver_async": 48 * MIB, "driver_pool": 40 * MIB, "pitch": r.pitch_bytes}
    time.sleep(0.1)
    ok(r.cu.cuMemFreeAsync(blocks["driver_async"], None))
    ok(r.cu.cuMemFreeAsync(blocks["driver_pool"], None))
    ok(r.rt.cudaFreeAsync(blocks["rt_malloc_async"], None))
    for name in ("rt_malloc", "rt_managed", "pitch"):
        ok(r.rt.cudaFree(blocks[name]))
    ok(r.cu.cuMemFree_v2(blocks["driver_alloc"]))
    ok(r.rt.cudaFreeHost(blocks["rt_host"]))
    torch.cuda.synchronize()
    return {"lines": lines, "host": {"rt_host": 24 * MIB}, "peak": sum(lines.values()) + torch.cuda.max_memory_allocated()}


def many(n):
    torch.empty(512, device="cuda")
    best = 1e9
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(n):
            torch.empty(512, device="cuda")
        best = min(best, (time.perf_counter() - begin) / n)
    torch.cuda.synchronize()
    return {"ns": best * 1e9, "n": 5 * n}


def main():
    mode, path = sys.argv[1:3]
    if mode == "train":
        truth = train(int(sys.argv[3]) if len(sys.argv) > 3 else 30)
    elif mode == "raw":
        truth = raw()
    else:
        truth = many(int(sys.argv[3]))
    with open(path, "w") as f:
        json.dump(truth, f)


if __name__ == "__main__":
    main()
