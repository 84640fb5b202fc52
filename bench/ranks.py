#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranks.py [--aiflame FILE] [--every N] [--room DIR] [RANKSxSTEPSxKERNELS[xRANKxFROMxTO]...]: what a job of many ranks takes: CPU seconds and
peak resident memory of merging the profiles of its ranks (rank_profiles) and of views of the merged one, and whether the waits are those that
were written. --every reduces each rank's profile before; its numbers are then those of all ranks together, and the peak of one. --room DIR:
works there, and leaves the merged profile and its page."""
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build"))
VIEWS = [("report --ranks", ["report", "--ranks", "--limit", "0", "--format", "json"]), ("report --changes", ["report", "--changes"]), ("why", ["why"]),
         ("view", ["view", "-o", "v.html"])]
LIMIT_S = 600


def take(command, out=os.devnull):
    """Runs it; returns (seconds, CPU seconds, peak MB, whether it succeeded)."""
    began = os.times().elapsed
    with open(out, "w") as to:
        child = subprocess.Popen(["timeout", str(LIMIT_S)] + command, stdout=to, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    return os.times().elapsed - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, status == 0


def cell(taken):
    return "%s%.1f s (%.1f s of CPU), %.0f MB" % ("" if taken[3] else "failed after ", *taken[:3])


def option(words, name):
    if name not in words:
        return None
    at = words.index(name)
    value = words[at + 1]
    del words[at:at + 2]
    return value


def measure(aiflame, numbers, every):
    """Measures a job in the current folder; returns the cells of its row behind the first two."""
    ranks, steps = numbers[:2]
    written = subprocess.run([os.path.join(BUILD, "bench", "rank_profiles"), "."] + [str(n) for n in numbers], check=True, capture_output=True,
                             text=True).stdout.split()
    reducing = (0, 0, 0, True)
    for f in sorted(glob.glob("r*.data")) if every else []:
        taken = take([aiflame, "reduce", "-q", "--every", every, "-o", "s" + f, f])
        reducing = (reducing[0] + taken[0], reducing[1] + taken[1], max(reducing[2], taken[2]), reducing[3] and taken[3])
        os.remove(f)
    files = sorted(glob.glob("*r*.data"))
    size = sum(map(os.path.getsize, files))
    cells = ["%.1f million" % (int(written[1]) / 1e6), "%.1f MB" % (size / 1e6), "%.0f bytes" % (size / ranks / steps),
             cell(reducing) if every else "", cell(take([aiflame, "merge", "-q", "-o", "job.data"] + files)),
             "%.1f MB" % (os.path.getsize("job.data") / 1e6)]
    for f in files:
        os.remove(f)
    views = []
    for name, view in VIEWS:
        views.append(cell(take([aiflame] + view + ["-i", "job.data"], name.replace(" ", "") + ".out")))
    rows = json.load(open("report--ranks.out"))["rows"] if os.path.getsize("report--ranks.out") else []
    return cells + ["%.2f %% off" % (100 * (sum(r["wait_suffered"] or 0 for r in rows) / int(written[0]) - 1))] + views


def main():
    words = sys.argv[1:]
    aiflame = os.path.abspath(option(words, "--aiflame") or os.path.join(BUILD, "src", "aiflame"))
    every, room = option(words, "--every"), option(words, "--room")
    sizes = [[int(n) for n in w.split("x")] for w in words] or [[64, 100, 36], [256, 100, 36], [1024, 100, 36]]
    subprocess.run(["ninja", "-C", BUILD, "bench/rank_profiles"], check=True, stdout=subprocess.DEVNULL)
    print("| ranks | steps | executions | files | a rank's step | reduce | merge | merged | waits | " + " | ".join(name for name, _ in VIEWS) + " |")
    print("|---|---|---|---|---|---|---|---|---|" + "---|" * len(VIEWS), flush=True)
    for numbers in sizes:
        with tempfile.TemporaryDirectory() as made:
            os.chdir(room or made)
            print("| %d | %d | %s |" % (numbers[0], numbers[1], " | ".join(measure(aiflame, numbers, every))), flush=True)
            os.chdir("/")


main()
