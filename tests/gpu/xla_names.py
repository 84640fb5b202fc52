# SPDX-License-Identifier: Apache-2.0
"""Compares the instructions that kernels of a JAX step stand under with XLA's own dump of the compiled program:
xla_names.py AIFLAME [SECONDS]

tests/gpu/scenes/jax_train.py is recorded twice: with command buffers (CUDA graphs), where the instruction of a node is inferred
from names and order, and without, where each kernel is launched in the range of its instruction. Of XLA's dump
(--xla_dump_to) the instructions of the entry computation and what they call are known, and the name that a kernel which XLA
compiled has. A kernel is right where its instruction is in the dump, and

    XLA compiled it:       its name is the instruction's, or that of a fusion of the same computation, for which XLA compiles one
                           kernel
    a library's:           the instruction is none that XLA compiled
    in a command buffer:   without command buffers the same kernel ran for the same instruction

Prints the share of the device time of the step's kernels that is right, and what is not."""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

aiflame = sys.argv[1]
seconds = sys.argv[2] if len(sys.argv) > 2 else "2"
scene = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scenes", "jax_train.py")
MODULE = "jit(update)"
FLAGS = "--xla_gpu_autotune_level=0"  # else the two processes may choose different kernels of cuBLAS for one product


def plain(name):
    return re.sub(r"[.\-]", "_", name)


def computation(lines):
    """The text of a computation, without what its parts are called, where they come from, and which is which."""
    names = {}
    text = " ".join(re.sub(r", metadata=\{.*?\}|, backend_config=\{.*\}", "", line) for line in lines)
    return re.sub(r"%[\w.\-]+", lambda m: names.setdefault(m[0], f"%{len(names)}"), text)


def dump_of(directory):
    """Instruction -> what XLA compiles for it, of the last form of the module."""
    files = sorted(glob.glob(os.path.join(directory, "*jit_update*after_optimizations.txt")))
    if not files:
        sys.exit(f"no dump of jit_update in {sorted(os.listdir(directory))[:20]}")
    found, called, computations, body = {}, {}, {}, None
    with open(files[-1], encoding="utf-8") as f:
        for line in f:
            m = re.match(r"(?:ENTRY )?%?([\w.\-]+) .*\{$", line)
            if m and not line.startswith("HloModule"):
                body = computations.setdefault(m[1], [])
                continue
            m = re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = (?:\(.*?\)|\S+) ([\w\-]+)\(", line)
            if m and body is not None:
                body.append(re.sub(r"^\s+", "", line.rstrip()))
                found[m[1]] = m[2]
                m2 = re.search(r"kind=(\w+).*calls=%?([\w.\-]+)", line)
                if m2:
                    called[m[1]] = m2.groups()
    return {i: (called[i][0], computation(computations.get(called[i][1], []))) if i in called else (opcode, i) for i, opcode in found.items()}


def record(work, name, flags):
    dump, data, folded = (os.path.join(work, name + s) for s in (".dump", ".data", ".folded"))
    env = dict(os.environ, XLA_FLAGS=f"--xla_dump_to={dump} --xla_dump_hlo_as_text {FLAGS} {flags}", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    subprocess.run([aiflame, "record", "-q", "--nvtx", "--all-launches", "--device-rate", "0", "-o", data, "python3", scene, seconds],
                   check=True, env=env, stdout=subprocess.DEVNULL)
    flame = [aiflame, "flame", "-i", data, "--leaf", "kernel", "--by", "time", "--detail", "full", "-o", folded]
    if subprocess.run([*flame, "--time", "loop"]).returncode:
        subprocess.run(flame, check=True)
    if os.environ.get("OUT"):
        subprocess.run(["cp", data, os.path.join(os.environ["OUT"], f"xla-{name}.data")], check=True)
    pairs = collections.Counter()
    with open(folded, encoding="utf-8") as f:
        for line in f:
            stack, _, n = line.rstrip("\n").rpartition(" ")
            frames = stack.split(";")
            if MODULE in frames and frames[-1].endswith("_[g]"):
                pairs[frames[-1][:-4], frames[-2]] += int(n)
    return dump_of(dump), pairs


def judge(name, instructions, pairs, direct):
    own = {plain(i): i for i in instructions}
    right = total = 0
    for (kernel, instruction), n in pairs.most_common():
        short = re.sub(r"\(.*", "", kernel)
        why = None
        if instruction not in instructions:
            why = "is not in the dump"
        elif short in own and short != plain(instruction) and instructions[own[short]] != instructions[instruction]:
            why = f"is another's\n    {instructions[own[short]]}\n    {instructions[instruction]}"
        elif short not in own and plain(instruction) in {re.sub(r"\(.*", "", k) for k, _ in pairs}:
            why = "is of one that XLA compiled"
        elif direct is not None and (kernel, instruction) not in direct:
            why = "did not run for it without command buffers"
        total += n
        right += 0 if why else n
        if why:
            print(f"  {n / 1e6:.3f} ms of {kernel[:80]} under {instruction}: {why}")
    kinds = {i for _, i in pairs}
    print(f"{name}: {100 * right / max(total, 1):.3f} % of {total / 1e6:.1f} ms right; {len(pairs)} kernels of {len(kinds)} instructions, "
          f"{len(instructions)} in the dump")
    return total > 0 and right >= 0.999 * total


with tempfile.TemporaryDirectory() as directory:
    at_once, without = record(directory, "direct", "--xla_gpu_enable_command_buffer=")
    buffered, within = record(directory, "buffered", "")
    fine = judge("each instruction launched", at_once, without, None)
    # Instructions have the same names where both were compiled alike.
    same = at_once.keys() == buffered.keys()
    print("both were compiled alike" if same else "the two were compiled differently: not compared with each other")
    fine = judge("replayed command buffers", buffered, within, without if same else None) and fine
sys.exit(not fine)
