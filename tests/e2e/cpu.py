# SPDX-License-Identifier: Apache-2.0
"""A target of cpu.sh: known Python functions, each for a known share of CPU time.

    cpu.py SECONDS [deep]

With `deep` 40 towers of 120 functions each, all different: their copies and stacks fill a thread's queue.
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


def tower(depth):
    """A function that calls another, and so on."""
    source = [f"def f{i}(n):\n    return f{i + 1}(n) + 1\n" for i in range(depth)]
    source.append(f"def f{depth}(n):\n    for i in range(n):\n        pass\n    return 0\n")
    names = {}
    exec("".join(source), names)
    return names["f0"]


def deep(seconds):
    towers = [tower(120) for _ in range(40)]
    end = time.process_time() + seconds
    while time.process_time() < end:
        for f in towers:
            f(10000)


def main():
    try:
        ctypes.CDLL(None).aif_fake_run(b"# nothing")
    except AttributeError:
        pass  # without the agent
    time.sleep(0.2)
    if "deep" in sys.argv:
        return deep(float(sys.argv[1]))
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
    whole = time.process_time() # with the start of the interpreter
    for name, s in used.items():
        print(f"{name} {100 * s / whole:.2f}")
    print(f"sum {whole:.3f}")


main()
