#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_traces.py DIRECTORY: traces as torch.profiler writes them, of each dialect that `aiflame import` reads, whole and
damaged. Those of AIU follow its torch profiler guide: the names of runtime and hardware events; kernels and copies in lanes of
their own; calls with the thread that emptied their buffer; a device clock that is a little behind."""
import gzip, json, os, sys

BASE = 1_750_000_000_000_000_000


class Trace:
    def __init__(self, pid=100, **top):
        self.top = dict({"schemaVersion": 1, "baseTimeNanoseconds": BASE}, **top)
        self.events, self.pid, self.number = [], pid, 0
        self.meta("process_name", pid, name="python3")

    def add(self, **event):
        self.events.append(event)

    def x(self, cat, name, at, dur, pid, tid, **args):
        self.add(ph="X", cat=cat, name=name, pid=pid, tid=tid, ts=at / 1000, dur=dur / 1000, args=args)

    def meta(self, what, pid, tid=0, **args):
        self.add(name=what, ph="M", pid=pid, tid=tid, ts=0, args=args)

    def host(self, cat, name, at, dur, tid=None, **args):
        self.x(cat, name, at, dur, self.pid, tid or self.pid, **args)

    def launch(self, call, at, dur, cat, name, start, length, device=0, stream=7, runtime="cuda_runtime", tid=None, **args):
        self.number += 1
        self.host(runtime, call, at, dur, tid, correlation=self.number, cbid=211)
        self.x(cat, name, start, length, device, stream, device=device, stream=stream, correlation=self.number, **args)

    def text(self):
        return json.dumps(dict(self.top, traceEvents=self.events), indent=1)


def python(t, at, dur, names, tid=None):
    for i, name in enumerate(names):
        t.host("python_function", name, at + i, dur - 2 * i, tid, **{"Python id": i + 1, "Python parent id": i or None})


def cuda():
    t = Trace(deviceProperties=[{"id": 0, "name": "NVIDIA Test 80GB", "numSms": 132}],
              cuda_driver_version=12090, host_name="testhost")
    python(t, 1_000_003, 900_001, ["train.py(12): main", "torch/nn/modules/module.py(1773): _wrapped_call_impl",
                                   "nn.Module: Linear_3", "<built-in function mm at 0x7f0011>"])
    t.host("user_annotation", "ProfilerStep#5", 1_000_001, 900_009)
    t.host("cpu_op", "aten::mm", 1_000_100, 500_007, **{"External id": 11, "Input Dims": [[32, 64], [64, 8]], "Sequence number": 4})
    t.launch("cudaLaunchKernel", 1_000_200, 5_001, "kernel", "void gemm<float, 128>(float*)", 1_020_000, 123_457,
             grid=[32, 1, 1], block=[128, 1, 1], **{"registers per thread": 40, "shared memory": 1024, "External id": 11})
    t.launch("cudaMemcpyAsync", 1_300_000, 2_003, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1_310_001, 11_113, bytes=4096)
    t.launch("cudaMemsetAsync", 1_310_000, 1_001, "gpu_memset", "Memset (Device)", 1_330_001, 1_117, stream=8, bytes=64)
    t.host("cpu_op", "aten::odd", 1_350_000, 1_001, **{"External id": 77, "Input Dims": [['a"b'], {"x": [1]}, []]})
    # One graph launch has many kernels.
    t.launch("cudaGraphLaunch", 1_400_000, 9_001, "kernel", "node_a", 1_420_003, 1_009, **{"graph id": 3, "graph node id": 1})
    t.x("kernel", "node_b", 1_430_003, 2_003, 0, 7, device=0, stream=7, correlation=t.number, **{"graph id": 3, "graph node id": 2})
    # A copy that overlaps a kernel, and calls that launch nothing.
    t.launch("cudaMemcpyAsync", 1_405_000, 1_000, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 1_420_100, 5_003, stream=9, bytes=100)
    t.host("cuda_runtime", "cudaDeviceSynchronize", 1_500_000, 77_001, correlation=9001, cbid=165)
    # A kernel whose call is before the window, with its operator in it.
    t.host("cpu_op", "aten::orphan", 1_700_000, 50_001, **{"External id": 12})
    t.x("kernel", "orphan_kernel", 1_710_000, 3_001, 0, 7, device=0, stream=7, correlation=77777, **{"External id": 12})
    t.add(ph="s", id=1, pid=100, tid=100, ts=1000.2, cat="ac2g", name="ac2g")
    t.add(ph="f", id=1, pid=0, tid=7, ts=1020.0, cat="ac2g", name="ac2g", bp="e")
    t.add(ph="i", cat="cpu_instant_event", s="t", name="[memory]", pid=100, tid=100, ts=1001.0, args={"Bytes": 512})
    t.x("overhead", "Buffer Flush", 1_800_000, 100, -1, 0)
    t.add(ph="X", cat="Trace", ts=1000.0, dur=1000.0, pid="Spans", tid="PyTorch Profiler", name="PyTorch Profiler (0)")
    t.meta("process_labels", 0, labels="GPU 0")
    return t


def training(with_python=True, with_arrows=True, with_numbers=True, with_engine=True):
    """A step of two layers on one thread, its backward on autograd's; arrows join what has one sequence number, as older traces have it. Lengths of kernels
    are powers of two, so that each sum says what it is of."""
    t, length = Trace(), iter(1_000 << i for i in range(20))
    main, autograd, at, engine = 100, 777, 1_000_000, "autograd::engine::evaluate_function: "

    def op(name, at, dur, tid, kernel=None, **args):
        if name.startswith(engine) and not with_engine:
            return
        t.host("cpu_op", name, at, dur, tid, **args)
        if kernel:
            t.launch("cudaLaunchKernel", at + 100, 500, "kernel", kernel, 20_000_000 + t.number * 3_000_000, next(length), tid=tid)

    def arrow(ph, number, at, tid, **more):
        if with_arrows:
            t.add(ph=ph, id=number, pid=100, tid=tid, ts=at / 1000, cat="fwdbwd", name="fwdbwd", **more)

    def numbers(i, thread):
        return {"Sequence number": 5 + i, "Fwd thread id": thread} if with_numbers else {}

    if with_python:
        python(t, at, 900_000, ["train.py(7): step"], main)
    for i, layer in enumerate(["Encoder", "Decoder"]):
        begin = at + 10_000 + i * 100_000
        if with_python:
            python(t, begin, 90_000, ["nn.Module: " + layer], main)
        # Both begin in one moment, as traces in whole microseconds have it: the inner one makes the node.
        op("aten::linear", begin + (1_000 if with_arrows else 0), 80_000, main, **({} if with_arrows else numbers(i, 0)))
        op("aten::addmm", begin + 1_000, 70_000, main, "forward_%d" % i, **numbers(i, 0))
        arrow("s", 5 + i, begin + 1_000, main)
    for i in (1, 0):
        begin = at + 400_000 + (1 - i) * 200_000
        op(engine + "AddmmBackward0", begin, 90_000, autograd)
        op("AddmmBackward0", begin + 1_000, 50_000, autograd, **numbers(i, 1))
        arrow("f", 5 + i, begin + 1_000, autograd, bp="e")
        op("aten::mm", begin + 2_000, 10_000, autograd, "backward_%d" % i)
        op("aten::add_", begin + 60_000, 10_000, autograd, "added_%d" % i)
        op(engine + "torch::autograd::AccumulateGrad", begin + 100_000, 50_000, autograd)
        op("torch::autograd::AccumulateGrad", begin + 101_000, 40_000, autograd)
        op("aten::add_", begin + 102_000, 10_000, autograd, "accumulated_%d" % i)
    # What no arrow leads to, and arrows that lead to nothing, begin nowhere, or have one number.
    op(engine + "MulBackward0", at + 810_000, 9_000, autograd)
    op("MulBackward0", at + 811_000, 7_000, autograd, "alone")
    arrow("s", 90, at + 11_000, main)
    arrow("f", 91, at + 811_000, autograd)
    for _ in range(2):
        arrow("s", 92, at + 11_000, main)
        arrow("f", 92, at + 811_000, autograd)
    arrow("s", 93, at + 12_345, main)
    arrow("f", 93, at + 811_000, autograd)
    # It waits in a node: that is where the thread is.
    t.host("cuda_runtime", "cudaDeviceSynchronize", at + 415_000, 3_001, autograd, correlation=9001)
    return t


def old():
    """2021: other categories, steps among the operators, whole microseconds, names for numbers, `external id`."""
    t = Trace(deviceProperties=[{"id": 0, "name": "Tesla V100"}])
    del t.top["baseTimeNanoseconds"]
    at = 1_623_143_089_000_000
    t.add(ph="X", cat="Operator", name="ProfilerStep#5", pid=100, tid="100", ts=at - 10, dur=200, args={"external id": "4"})
    t.add(ph="X", cat="Operator", name="aten::conv2d", pid=100, tid="100", ts=at, dur=90, args={"external id": "5", "Input dims": [[1, 3]]})
    t.add(ph="X", cat="Runtime", name="cudaLaunchKernel", pid=100, tid="100", ts=at + 10, dur=6, args={"correlation": "18446744073709551615"})
    t.add(ph="X", cat="Kernel", name="conv", pid=0, tid="stream 7", ts=at + 30, dur=40, args={"device": 0, "stream": 7, "correlation": "18446744073709551615", "external id": 5})
    t.add(ph="X", cat="Memset", name="Memset (Device)", pid=0, tid="stream 7", ts=at + 75, dur=2, args={"correlation": 99, "device": 0, "stream": 7})
    return t


AIU_CALLS = """aiuInitGraph aiuMalloc aiuResizeTensorAllocation aiuLaunchSuperNode aiuSuperNodeExecution aiuGraphExecution
aiuNodeCompute aiuDataConvert aiuInitScheduler aiuCreateVirtualAddresses aiuLaunchScheduleCompute aiuScheduleWait aiuPrepareDMAs
aiuPrepareAndSyncRDMA aiuClearCache aiuPreloadCache aiuLaunchComputeStream aiuRDMABarrier1 aiuPostRDMAKeys aiuRDMABarrier2
aiuFetchRDMAKeys aiuUpdateRDMACBs aiuRDMABarrier3 aiuCheckRDMADeadlock aiuFileTransferDtoF aiuFileTransferMtoF
aiuFileTransferFtoD aiuFileTransferFtoM aiuDataTransferDtoH aiuDataTransferHtoD aiuClockCalibration aiuCompileGraph""".split()


def aiu(runtime="privateuse1_runtime", driver="privateuse1_driver", reader=None, spell=str, behind=1_500):
    """reader: the thread that empties buffers, which calls are said to be of. behind: the device's clock, ns."""
    t = Trace(pid=4242)
    tid, at = reader or 4242, 2_000_000
    python(t, at, 9_000_000, ["roberta.py(31): <module>", "torch/_dynamo/eval_frame.py(663): compile_wrapper", "nn.Module: RobertaModel_0"])
    t.host("cpu_op", "sendnn::run_graph", at + 1_000, 8_900_000, **{"External id": 1, "Input Dims": [[1, 384]]})
    for i, name in enumerate(AIU_CALLS):
        t.number += 1
        t.host(runtime, spell(name), at + 10_000 + i * 20_000, 15_001 + i, tid, correlation=t.number)
    at += 1_000_000
    for i, node in enumerate(["embedding", "add_1", "add_1_transfer", "bmm_2"]):
        start = at + i * 1_000_000
        t.launch("aiuLaunchDMIControlBlocks", start, 9_001, "gpu_memcpy", "Memcpy (HtoD)", start + 20_003, 100_003 + i,
                 stream=100 + i % 2, runtime=runtime, tid=tid, bytes=4096)
        # Of the clock that is behind: the device's work seems to begin before its launch.
        t.launch("aiuLaunchControlBlocks", start + 200_000, 8_001, "kernel", node, start + 200_000 - behind * (i == 1) + 700 * (i != 1),
                 400_007 + i, stream=1, runtime=runtime, tid=tid, num_cbs=3)
        t.launch("aiuLaunchDMOControlBlocks", start + 700_000, 7_001, "gpu_memcpy", "Memcpy (DtoH)", start + 710_001, 50_001,
                 stream=200, runtime=runtime, tid=tid, bytes=2048)
    t.launch("aiuMalloc", at + 5_000_000, 3_001, "gpu_memset", "Memset (Device)", at + 5_001_001, 71, stream=400, runtime=runtime, tid=tid)
    t.launch("aiuMalloc", at + 5_100_000, 3_001, "gpu_memset", "Memory (Allocation)", at + 5_101_001, 73, stream=400, runtime=runtime, tid=tid)
    t.number += 1
    t.x(driver, "Memory (Release)", at + 5_201_001, 31, 0, 400, device=0, correlation=t.number, bytes=4096)
    t.launch("aiuLaunchControlBlocks", at + 5_300_000, 3_001, "gpu_memcpy", "Memcpy (PtoP)", at + 5_310_001, 1_003, stream=300, runtime=runtime, tid=tid)
    t.meta("process_labels", 0, labels="AIU 0")
    t.meta("thread_name", 0, 1, name="Stream 1")
    return t


def flex():
    """The runtime's own: a bare array, "B" and "E", "attr", hexadecimal strings, 64-bit numbers of threads."""
    out, tid = [], 2009867741857745393
    for i, (name, dur) in enumerate([("convolution Cmpt Exec", 353.544), ("add Cmpt Exec", 281.04), ("x DmaI", 3.5), ("x DmaO", 2.5),
                                     ("add Cmpt Exec", 0.47)]):
        at = 1475000719617232 + i * 1000
        for ph, ts in (("B", at), ("E", at + dur)):
            out.append({"attr": {"TS1": "0xc06cc211", "Power": "0x438d671c", "Bytes": "0x100"}, "name": name, "ph": ph, "pid": 0,
                        "tid": tid, "ts": ts})
    return json.dumps(out, indent=0)


def rank(n, off, pid=None, base=BASE):
    """Ends of collectives are the same in truth; this host's clock is `off` ns ahead."""
    t = Trace(pid=pid or 500 + n, baseTimeNanoseconds=base, distributedInfo={"backend": "nccl", "rank": n, "world_size": 2, "pg_config": [{"pg_name": "0"}]})
    for i in range(4):
        at = 1_000_000 + i * 3_000_000 + off
        start = at + (30_000 if n else 90_000)
        t.launch("cudaLaunchKernel", at, 5_000, "kernel", "ncclDevKernel_AllReduce_Sum_f16_RING_LL", start, at + 1_000_000 + i * 7 - start, device=n)
        t.launch("cudaLaunchKernel", at + 9_000, 5_000, "kernel", "gemm", at + 1_200_000, 500_000 + n, device=n)
    if pid:
        t.x("kernel", "nobody's", 12_500_000 + off, 1_000 + n, n, 7, device=n, stream=7, correlation=9_000_000)
    if not base:
        del t.top["baseTimeNanoseconds"]
    return t


def host():
    """Without work of a device."""
    t = Trace()
    t.host("cpu_op", "aten::add", 1_000_000, 5_001, **{"External id": 1})
    return t


def left():
    """With events that are not kept."""
    t = cuda()
    t.x("gpu_user_annotation", "step", 1_000_000, 5, 0, 7)
    t.add(ph="i", name="Record Window End", pid="", tid="", s="g", ts=5000)
    return t


def main():
    os.chdir(sys.argv[1])
    texts = {"cuda": cuda().text(), "old": old().text(), "aiu": aiu().text(), "flex": flex(),
             "aiu_renamed": aiu("cuda_runtime", "cuda_driver", 4300, lambda s: s.replace("RDMA", "Rdma"), 0).text(),
             "host": host().text(), "left": left().text(), "rank0": rank(0, 0).text(), "rank1": rank(1, 5_000_000).text()}
    # In containers all are process 1. The clock of the third differs by no more than the ends of collectives do.
    for n, off in enumerate([0, 5_000_000, 100_000, -7_000_000]):
        texts["same%d" % n] = rank(n, off, pid=1).text()
    texts["unranked"] = texts["cuda"]
    texts["unranked_pid"] = texts["cuda"].replace('"pid": 100', '"pid": 200')
    ranked = cuda()
    ranked.top["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 2}
    texts["ranked"] = ranked.text()
    texts["same0_again"] = texts["same0"]
    texts["of_eight"] = texts["same1"].replace('"rank": 1', '"rank": 5').replace('"world_size": 2', '"world_size": 8')
    texts["window"] = rank(0, 0, pid=1, base=BASE + 10**9).text()
    texts["later"] = rank(1, 0, pid=1, base=BASE + 3 * 86400 * 10**9).text()
    texts["undated"] = rank(1, 0, pid=1, base=0).text()
    lonely = cuda()
    del lonely.top["baseTimeNanoseconds"]
    texts["lonely"] = lonely.text()
    texts["training"] = training().text()
    texts["training_ops"] = training(with_python=False).text()
    texts["training_bare"] = training(with_arrows=False, with_engine=False).text()  # of 2021
    texts["training_numbers"] = training(with_arrows=False).text()
    texts["training_apart"] = training(with_arrows=False, with_numbers=False).text()
    whole = cuda()
    texts["torn"] = texts["cuda"][:len(texts["cuda"]) * 2 // 3]
    texts["quote_without"] = whole.text()
    whole.events.insert(7, {"ph": "X", "cat": "python_function", "name": "HERE", "pid": 100, "tid": 100, "ts": 1000.5, "dur": 1,
                            "args": {"Python id": 99}})
    texts["quote"] = whole.text().replace("HERE", 'a "quoted name')
    deep = cuda()
    deep.events.insert(3, {"ph": "X", "cat": "cpu_op", "name": "deep", "pid": 1, "tid": 1, "ts": "DEEP"})
    texts["deep"] = deep.text().replace('"DEEP"', "[" * 1_000_000 + "]" * 1_000_000)
    for name, text in texts.items():
        with open(name + ".json", "w") as f:
            f.write(text)
    with gzip.open("bomb.json.gz", "wb", 6) as f:
        f.write(b'{"traceEvents": [{"ph": "X", "name": "')
        for _ in range(300):
            f.write(b" " * (1 << 20))


main()
