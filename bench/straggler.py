#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""straggler.py CLONE [TRACE...]: what `why` says of the public traces of slow jobs in a clone of ByteDance-Seed/StragglerAnalysis (AR, SE
and ST; all steps), beside what their authors found: by replaying all dependences, the factor by which a job is longer than with every
operation as long as its kind is on average, the data parallel rank and the stage that cost most, and how much of the slowdown single
workers (M_W) and the last stage (M_S) explain. Needs node and npm, for a Parquet reader."""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
AIFLAME = os.path.join(os.environ.get("BUILD_DIR", os.path.join(HERE, "..", "build")), "src", "aiflame")
CAUSES = {"AR": "one slow worker", "SE": "lengths of sequences", "ST": "a long last stage"}


def read(clone, kind, trace):
    with open(os.path.join(clone, "data", "%s-%s.json" % (kind, trace))) as f:
        return json.load(f)


def theirs(clone, trace):
    r = read(clone, "result", trace)
    worst = [max(r["blocking_decompose_by_" + part].items(), key=lambda x: x[1]) for part in ("dp_rank", "stage")]
    return "%.2f s, %.2f | %s; data parallel rank %s %.2f, stage %s %.2f; M_W %.2f, M_S %.2f" % (
        statistics.mean(r["step_t_base"].values()), r["blocking_slowdown"], CAUSES.get(trace, ""), *worst[0], *worst[1],
        read(clone, "mw", trace)["Mw"], read(clone, "ms", trace)["Ms"])


def ours(clone, trace, room):
    made = os.path.join(room, trace)
    subprocess.run(["node", os.path.join(room, "straggler.mjs"), os.path.join(clone, "data", "trace-%s.parquet" % trace), made, "1000000"],
                   check=True, cwd=room)
    files, profile = sorted(glob.glob(made + "/rank*.json")), made + ".data"
    subprocess.run([AIFLAME, "import", "-q", "-o", profile] + files, check=True)
    v = json.loads(subprocess.run([AIFLAME, "why", "--format", "json", profile], check=True, capture_output=True, text=True).stdout)["ranks"]
    who = "" if "longest" not in v else "rank %d computes longest in %d steps: %.2f s, the mean is %.2f s" % (
        v["longest"], v["longest_steps"], v["longest_compute_ns"] / 1e9, v["mean_compute_ns"] / 1e9)
    return "%d | %d" % (len(files), v["steps"]), "%.2f s, %.2f | %s; %s" % (
        v["step_ns"] / 1e9, v["step_ns"] / v.get("step_without_ns", v["step_ns"]), v["verdict"], who)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    clone, traces = os.path.abspath(sys.argv[1]), sys.argv[2:] or sorted(CAUSES)
    with tempfile.TemporaryDirectory() as room:
        shutil.copy(os.path.join(HERE, "straggler.mjs"), room)
        subprocess.run(["npm", "install", "--silent", "--prefix", room, "hyparquet", "hyparquet-compressors"], check=True, stdout=sys.stderr)
        print("| trace | ranks | steps | theirs: step, slowdown | causes | `why`: step, slowdown | verdict |\n|---|---|---|---|---|---|---|")
        for trace in traces:
            size, verdict = ours(clone, trace, room)
            print("| %s | %s | %s | %s |" % (trace, size, theirs(clone, trace), verdict), flush=True)


main()
