# SPDX-License-Identifier: Apache-2.0
"""Writes the torch.profiler traces of a job of several ranks whose truth is known.

Each step: a host function that launches nothing, a forward and a backward of kernels, an all-reduce for each bucket. An
operation ends on all ranks when the last one has come and the transfer is done. What is written to standard output is the
truth that the traces have: waits by rank, and for whom.

    ranks_traces.py DIR [--ranks N] [--steps N] [--late RANK] [--late-us US] [--from-step S] [--to-step S] [--also-steps S,S...] [--in host|kernel|all]
                    [--wander] [--then RANK] [--skew-s S] [--ppm P] [--cut] [--no-args] [--seq] [--jitter-us US] [--buckets N]
"""
import argparse
import json
import os
import random

HOST_US, KERNEL_US, KERNELS, TRANSFER_US = 900.0, 400.0, 12, 660.0


def parse():
    a = argparse.ArgumentParser()
    a.add_argument("dir")
    a.add_argument("--ranks", type=int, default=4)
    a.add_argument("--steps", type=int, default=24)
    a.add_argument("--late", type=int, default=-1)
    a.add_argument("--late-us", type=float, default=4500)
    a.add_argument("--from-step", type=int, default=0)
    a.add_argument("--to-step", type=int, default=1 << 30)
    a.add_argument("--also-steps", default="", help="further steps in which it is late: 1,4")
    a.add_argument("--in", dest="where", default="host", choices=["host", "kernel", "all"])
    a.add_argument("--wander", action="store_true")
    a.add_argument("--then", type=int, default=-1, help="the rank that is late from the middle of the run on")
    a.add_argument("--skew-s", type=float, default=0)
    a.add_argument("--ppm", type=float, default=0)
    a.add_argument("--cut", action="store_true", help="the first rank lacks its first operation")
    a.add_argument("--no-args", action="store_true", help="kernels without their communicator")
    a.add_argument("--seq", action="store_true")
    a.add_argument("--jitter-us", type=float, default=20)
    a.add_argument("--buckets", type=int, default=2)
    a.add_argument("--hosts", action="store_true", help="each rank names a host of its own")
    return a.parse_args()


class Rank:
    def __init__(self, number, o):
        self.number, self.events, self.now, self.id = number, [], 1000.0, 10 * (number + 1) * 100000
        self.pid = 4000 + number
        sign = -1 if number % 2 else 1
        self.offset_us = sign * number * o.skew_s * 1e6
        self.rate = 1 + sign * number * o.ppm * 1e-6

    def clock(self, at):
        return self.offset_us + at * self.rate

    def span(self, cat, name, start, end, tid, **args):
        pid = 0 if cat in ("kernel", "gpu_memcpy") else self.pid
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                            "ts": round(self.clock(start), 3),
                            "dur": round(self.clock(end) - self.clock(start), 3), "args": args})

    def call(self, at, name="cudaLaunchKernel"):
        self.id += 1
        self.span("cuda_runtime", name, at, at + 5, self.pid, correlation=self.id, **{"External id": self.id})
        return self.id


def python(r, name, start, end):
    r.id += 1
    r.span("python_function", name, start, end, r.pid, **{"Python id": r.id, "Python parent id": None})


def main():
    o = parse()
    random.seed(5)
    ranks = [Rank(i, o) for i in range(o.ranks)]
    waits = [0.0] * o.ranks
    given = [0.0] * o.ranks
    communicator = "[" + ", ".join(str(i) for i in range(o.ranks)) + "]"
    seq = 0
    for step in range(o.steps):
        late = o.then if o.then >= 0 and step >= o.steps // 2 else o.late
        if o.wander:
            late = random.randrange(o.ranks)
        begins, extra = [], []
        for r in ranks:
            begins.append(r.now)
            is_late = o.from_step <= step < o.to_step or str(step) in o.also_steps.split(",")
            extra.append(o.late_us if r.number == late and is_late else 0)
        ready = []
        for r in ranks:
            scale = 1 + extra[r.number] / (KERNELS * KERNEL_US) if o.where == "all" else 1
            host = HOST_US + (extra[r.number] if o.where == "host" else 0)
            t = r.now
            python(r, "train.py(8): prepare", t, t + host)
            t += host
            device = t + 10
            start = t
            for k in range(KERNELS):
                name = "gemm" if k % 3 else "softmax"
                length = KERNEL_US * scale + random.uniform(-1, 1) * o.jitter_us
                if o.where == "kernel" and k == 4:
                    length += extra[r.number]
                c = r.call(t)
                device = max(device, t + 8)
                r.span("kernel", name, device, device + length, 7, device=0, stream=7, correlation=c)
                device += length
                t += 9
            python(r, "train.py(20): forward_backward", start, t)
            ready.append((t, device))
        for bucket in range(o.buckets):
            starts = []
            for r in ranks:
                host, device = ready[r.number]
                starts.append(max(host + 8, device + 4 + random.uniform(0, 1)))
            last = max(starts)
            who = starts.index(last)
            end = last + TRANSFER_US / o.buckets
            seq += 1
            for r in ranks:
                host, device = ready[r.number]
                python(r, "train.py(30): reduce", host - 1, host + 8)
                args = {} if o.no_args else {
                    "Collective name": "allreduce", "In msg nelems": 1000000, "Out msg nelems": 1000000,
                    "Group size": o.ranks, "dtype": "Float", "Process Group Name": "0",
                    "Process Group Description": "default_pg", "Process Group Ranks": communicator}
                if o.seq:
                    args["Seq"] = seq
                c = r.call(host)
                own_end = end + random.uniform(0, 3)
                if not (o.cut and r.number == 0 and seq == 1):
                    waits[r.number] += last - starts[r.number]
                    given[who] += last - starts[r.number]
                    r.span("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           starts[r.number], own_end, 20, device=0, stream=20, correlation=c, **args)
                ready[r.number] = (host + 9, own_end)
        for r in ranks:
            host, device = ready[r.number]
            end = max(host, device) + 30
            r.span("user_annotation", f"ProfilerStep#{step}", begins[r.number], end, r.pid)
            r.now = end + 5
    os.makedirs(o.dir, exist_ok=True)
    for r in ranks:
        trace = {"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000,
                 "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132}],
                 "distributedInfo": {"backend": "nccl", "rank": r.number, "world_size": o.ranks},
                 "traceEvents": [{"ph": "M", "name": "process_name", "pid": r.pid, "tid": 0,
                                  "args": {"name": "python3"}}] + r.events}
        if o.hosts:
            trace["host_name"] = f"node{r.number}"
        with open(os.path.join(o.dir, f"rank{r.number}.json"), "w") as f:
            json.dump(trace, f)
    print(json.dumps({"waits_us": waits, "given_us": given}))


main()
