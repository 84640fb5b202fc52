#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_trace.py EVENTS > trace.json: a trace as Kineto writes it (one event a line or more, three decimals), with the mix of
a real one: 84 % Python functions 30 deep, 10 % operators with shapes, the rest launches and kernels; about 280 bytes an event."""
import sys

MODULES = [f"/usr/lib/python3/dist-packages/vendor/models/part_{i % 40}/layer_{i}.py({i * 7 + 3}): forward_{i % 900}" for i in range(2700)]
KERNELS = [f"void at::native::vectorized_elementwise_kernel<4, at::native::functor_{i}<float>, std::array<char*, 2ul> >(int, at::native::functor_{i}<float>, std::array<char*, 2ul>)" for i in range(60)]


def main():
    want, out, n, t, number, pyid = int(sys.argv[1]), [], 0, 4458676522690655, 0, 0
    write = sys.stdout.write
    write('{\n  "schemaVersion": 1,\n  "deviceProperties": [{"id": 0, "name": "NVIDIA Bench", "numSms": 132}],\n'
          '  "baseTimeNanoseconds": 1711964646000000000,\n  "traceEvents": [')

    def event(cat, name, pid, tid, at, dur, args):
        nonlocal n
        out.append('%s\n  {\n    "ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d,\n    "ts": %d.%03d, "dur": %d.%03d,\n    "args": {\n      %s\n    }\n  }'
                   % ("," if n else "", cat, name, pid, tid, at // 1000, at % 1000, dur // 1000, dur % 1000, args))
        n += 1

    while n < want:
        # One step: a stack of 27 functions, in which three operators launch a kernel.
        parent = "null"
        for d in range(27):
            pyid += 1
            event("python_function", MODULES[(pyid * 31 + d) % 2700], 6583, 6583, t + d * 40, 60000 - d * 80,
                  '"Python parent id": %s, "Python id": %d, "Ev Idx": %d' % (parent, pyid, n))
            parent = pyid
        for i in range(3):
            at = t + 2000 + i * 15000
            event("cpu_op", ("aten::mm", "aten::add", "aten::copy_")[i], 6583, 6583, at, 12000,
                  '"External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", ""], "Input type": ["float", "float", "Scalar"], '
                  '"Input Strides": [[4096, 1], [1, 4096], []], "Input Dims": [[%d, 4096], [4096, 4096], []], "Ev Idx": %d' % (n + 1, 1 << (n % 9), n))
            number += 1
            if i < 2:
                event("cuda_runtime", "cudaLaunchKernel", 6583, 6583, at + 3000, 5000,
                      '"External id": %d, "cbid": 211, "correlation": %d' % (n, number))
                event("kernel", KERNELS[number % 60], 0, 7, at + 9000, 8123 + number % 77,
                      '"External id": %d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %d, "registers per thread": 40, '
                      '"shared memory": 0, "blocks per SM": 1.333333, "warps per SM": 5.333333, "grid": [176, 1, 1], "block": [128, 1, 1], '
                      '"est. achieved occupancy %%": 8' % (n, number))
        t += 70000
        if len(out) > 5000:
            write("".join(out))
            out.clear()
    write("".join(out) + '\n  ],\n  "traceName": "bench"\n}\n')


main()
