# SPDX-License-Identifier: Apache-2.0
"""A target of cpu.sh: known Python functions, each for a known share of CPU time.

    cpu.py SECONDS
"""
import ctypes
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Model:
    def forward(self, n):
        return sum(self.layer(i) for i in range(n))

    def layer(self, i):
        return sorted(range(2000), key=lambda x: (x * 7919) % 1009)[i]


def main():
    try:
        ctypes.CDLL(None).aif_fake_run(b"# nothing")
    except AttributeError:
        pass  # without the agent
    time.sleep(0.2)
    model = Model()
    used = {"fib": 0.0, "forward": 0.0}
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        a = time.process_time()
        fib(17)
        b = time.process_time()
        model.forward(9)
        used["fib"] += b - a
        used["forward"] += time.process_time() - b
    whole = sum(used.values())
    for name, s in used.items():
        print(f"{name} {100 * s / whole:.2f}")
    print(f"sum {whole:.3f}")


main()
