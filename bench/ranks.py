#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranks.py [--aiflame FILE] [--every N] [RANKSxSTEPSxKERNELS...]: what a job of many ranks takes: CPU seconds and peak resident memory of
merging the profiles of its ranks (rank_profiles) and of views of the merged one, and whether the waits are those that were written. --every
reduces each rank's profile before."""
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build"))
VIEWS = [("report --ranks", ["report", "--ranks", "--limit", "0", "--format", "json"]), ("why", ["why"]), ("view", ["view", "-o", "v.html"])]
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


def main():
    words, aiflame = sys.argv[1:], os.path.join(BUILD, "src", "aiflame")
    if "--aiflame" in words:
        at = words.index("--aiflame")
        aiflame = os.path.abspath(words[at + 1])
        del words[at:at + 2]
    every = None
    if "--every" in words:
        at = words.index("--every")
        every = words[at + 1]
        del words[at:at + 2]
    sizes = [tuple(int(n) for n in w.split("x")) for w in words] or [(64, 100, 36), (256, 100, 36), (1024, 100, 36)]
    subprocess.run(["ninja", "-C", BUILD, "bench/rank_profiles"], check=True, stdout=subprocess.DEVNULL)
    print("| ranks | steps | executions | files | a rank's step | merge | merged | waits | " + " | ".join(name for name, _ in VIEWS) + " |")
    print("|---|---|---|---|---|---|---|---|" + "---|" * len(VIEWS))
    for ranks, steps, kernels in sizes:
        with tempfile.TemporaryDirectory() as room:
            os.chdir(room)
            written = subprocess.run([os.path.join(BUILD, "bench", "rank_profiles"), ".", str(ranks), str(steps), str(kernels)], check=True,
                                     capture_output=True, text=True).stdout.split()
            files = sorted(glob.glob("r*.data"))
            for f in files if every else []:
                subprocess.run([aiflame, "reduce", "-q", "--every", every, "-o", "s" + f, f], check=True)
                os.remove(f)
            files = sorted(glob.glob("*r*.data"))
            size = sum(map(os.path.getsize, files))
            merged = take([aiflame, "merge", "-q", "-o", "job.data"] + files)
            cells = [cell(merged), "%.1f MB" % (os.path.getsize("job.data") / 1e6)]
            views = []
            for name, view in VIEWS:
                views.append(cell(take([aiflame] + view + ["-i", "job.data"], "out")))
                if name == "report --ranks":
                    rows = json.load(open("out"))["rows"] if os.path.getsize("out") else []
                    waited = sum(r["wait_suffered"] or 0 for r in rows)
                    cells.append("%.2f %% off" % (100 * (waited / int(written[0]) - 1)))
            print("| %d | %d | %.1f million | %.1f MB | %.0f bytes | %s |" % (ranks, steps, int(written[1]) / 1e6, size / 1e6,
                                                                     size / ranks / steps, " | ".join(cells + views)), flush=True)
            os.chdir("/")


main()
