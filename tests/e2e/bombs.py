# SPDX-License-Identifier: Apache-2.0
# bombs.py AIFLAME PROFILE OUT COMMAND...: a view of a small profile takes memory and room in proportion to it, and where
# that is not enough it says which bound it met and leaves nothing behind. OUT: what it writes, or -.
import os, resource, subprocess, sys

GIB = 1 << 30
MEMORY, MEMORY_PER_BYTE, OUTPUT = GIB, 256, GIB  # src/cmd/profile_arg.h
BESIDES = 64 << 20  # the program's own code and libraries


def size_of(path):
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)
    return os.path.getsize(path) if os.path.exists(path) else 0


def stop_early():  # so that a view that is not bounded fails this test, not the machine
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * GIB, 3 * GIB))
    resource.setrlimit(resource.RLIMIT_AS, (6 * GIB, 6 * GIB))


aiflame, profile, out = sys.argv[1:4]
command = [aiflame] + sys.argv[4:] + ["-i", profile] + ([] if out == "-" else ["-o", out])
with open("stdout.txt", "wb") as shown:
    child = subprocess.run(command, stdout=shown, stderr=subprocess.PIPE, preexec_fn=stop_early)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
written = size_of("stdout.txt") + (0 if out == "-" else size_of(out))
said = child.stderr.decode()
open("stderr.txt", "w").write(said)
bound = MEMORY + MEMORY_PER_BYTE * size_of(profile) + BESIDES
print(f"{' '.join(command[1:])}: status {child.returncode}, {peak >> 20} MiB of {bound >> 20}, wrote {written}; {said}")
assert peak <= bound, "memory"
assert written <= OUTPUT, "output"
assert child.returncode in (0, 1), "status"
if child.returncode:
    assert "--max-size" in said or "memory is bounded at" in said, "the reason"
    assert written == 0, "something is left behind"
