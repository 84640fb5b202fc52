#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""long.py [--aiflame FILE] [--ops] [LAUNCHES...]: what views of long recordings take: CPU seconds and peak resident memory of
each, of profiles that long_profile wrote (0.05, 0.2, 0.8 and 3.2 million launches unless others are given)."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build"))
VIEWS = [("why", ["why", "-i"]), ("report", ["report", "-i"]), ("report --idle", ["report", "--idle", "-i"]),
         ("flame", ["flame", "-o", "f.svg", "-i"]), ("view", ["view", "-o", "v.html", "-i"]),
         ("export", ["export", "--format", "chrome", "-o", "e.json", "--max-size", "100G", "-i"])]


def take(command):
    """Runs it; returns (CPU seconds, peak MB, whether it succeeded)."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, status == 0


def main():
    words, aiflame, kind = sys.argv[1:], os.path.join(BUILD, "src", "aiflame"), []
    if "--aiflame" in words:
        at = words.index("--aiflame")
        aiflame = os.path.abspath(words[at + 1])
        del words[at:at + 2]
    if "--ops" in words:
        words.remove("--ops")
        kind = ["ops"]
    sizes = [int(float(w)) for w in words] or [50000, 200000, 800000, 3200000]
    subprocess.run(["ninja", "-C", BUILD, "bench/long_profile"], check=True, stdout=subprocess.DEVNULL)
    print("| launches | file | " + " | ".join(name for name, _ in VIEWS) + " |")
    print("|---|---|" + "---|" * len(VIEWS))
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        for n in sizes:
            subprocess.run([os.path.join(BUILD, "bench", "long_profile"), "p.data", str(n)] + kind, check=True)
            cells = []
            for _, words in VIEWS:
                seconds, peak, fine = take([aiflame] + words + ["p.data"])
                cells.append("%.2f s, %.0f MB" % (seconds, peak) if fine else "failed after %.2f s, %.0f MB" % (seconds, peak))
            print("| %g million | %.1f MB | %s |" % (n / 1e6, os.path.getsize("p.data") / 1e6, " | ".join(cells)), flush=True)


main()
