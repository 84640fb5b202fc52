# SPDX-License-Identifier: Apache-2.0
"""Does aiflame agree with others, and with the truth?  agree.py AIFLAME sites|torch|ncu DIRECTORY

    sites   one kernel from two call sites (sites.cu, built as DIRECTORY/sites): totals against CUDA's events, insides
            against whose loop each instruction is of
    torch   the ten kernels with most time of a decode, against torch.profiler's of another run
    ncu     what a steady kernel waits for (examples/cuda/matmul.cu, built as DIRECTORY/matmul), against Nsight Compute's samples"""
import collections
import csv
import io
import json
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..")
aiflame, what, work = sys.argv[1:4]
SITES = """WITH RECURSIVE up(stack, frame, parent, top) AS (
    SELECT id, frame, parent, id FROM stacks UNION ALL
    SELECT s.id, s.frame, s.parent, up.top FROM stacks s JOIN up ON s.id = up.parent)
SELECT CASE WHEN n.name LIKE 'major_site%' THEN 'major' ELSE 'minor' END AS site, coalesce(a.pc, -1) AS pc, coalesce(a.reason, '') AS reason,
    sum(a.count) AS samples, sum(a.time_ns) AS ns, min(a.grade) AS grade
FROM attributed a JOIN up ON up.top = a.stack JOIN frame_names n ON n.frame = up.frame
WHERE n.name LIKE '%_site%' GROUP BY 1, 2, 3"""


def run(*command, **kwargs):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **kwargs).stdout.decode()


def query(data, sql):
    return json.loads(run(aiflame, "query", "-i", data, "--format", "json", sql))


def samples(rows, site, only=None):
    """Samples of a site by instruction and reason; of the instructions in `only`."""
    counts = collections.Counter()
    for r in rows:
        if r["pc"] >= 0 and r["site"] == site and (only is None or r["pc"] in only):
            counts[r["pc"], r["reason"]] += r["samples"] or 0
    return counts


def distance(a, b):
    """Half of the sum of what shares differ by."""
    a_all, b_all = max(sum(a.values()), 1), max(sum(b.values()), 1)
    return sum(abs(a[k] / a_all - b[k] / b_all) for k in set(a) | set(b)) / 2


def own_instructions(alone):
    """The kernel has a loop for each site: instructions that the other never, or hardly ever, comes to."""
    of = {}
    for site, counts in alone.items():
        of[site] = collections.Counter()
        for (pc, _), n in counts.items():
            of[site][pc] += n / sum(counts.values())
    major, minor = of["major"], of["minor"]
    return {"major": {pc for pc in major if minor[pc] < major[pc] / 50}, "minor": {pc for pc in minor if major[pc] < minor[pc] / 50}}


def sites():
    """What a site waits for hangs on what ran before, so its samples alone are not the truth; but whose a sample is its
    instruction tells."""
    alone = {}
    for site in ("major", "minor"):
        data = os.path.join(work, site + ".data")
        run(aiflame, "record", "-q", "--all-launches", "-o", data, os.path.join(work, "sites"), site, "8")
        alone[site] = samples(query(data, SITES), site)
    own = own_instructions(alone)
    both = own["major"] | own["minor"]
    for mode, options in (("mixed", ["--all-launches"]), ("mixed", []), ("steady", ["--all-launches"])):
        data = os.path.join(work, "%s%d.data" % (mode, len(options)))
        truth = [float(v) for v in run(aiflame, "record", "-q", *options, "-o", data, os.path.join(work, "sites"), mode, "24").split()]
        rows = query(data, SITES)
        ns, off = collections.Counter(), {}
        for r in rows:
            ns[r["site"]] += r["ns"]
        for site, pcs in own.items():
            off[site] = distance(samples(rows, site, both), samples(rows, "major", pcs) + samples(rows, "minor", pcs))
        print("sites %s %s: major %.2f %% of the time, by events %.2f %%; insides are off by %.4f (major), %.4f (minor); grades %s" %
              (mode, " ".join(options), 100 * ns["major"] / max(sum(ns.values()), 1), 100 * truth[0] / sum(truth), off["major"],
               off["minor"], ", ".join(sorted({r["grade"] for r in rows if r["pc"] >= 0}))), flush=True)


TORCH = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
from decode import make_model, step
torch.manual_seed(1)
model = make_model()
prompt = torch.randint(0, 32000, (1, 16), device="cuda")
def tokens(n):
    past, token = step(model, None, prompt)
    for _ in range(n):
        past, token = step(model, past, token)
    torch.cuda.synchronize()
tokens(20)
if len(sys.argv) > 2:
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        tokens(200)
    of = {}
    for e in p.events():
        if e.device_type == torch.autograd.DeviceType.CUDA:
            of[e.name] = of.get(e.name, 0) + e.time_range.elapsed_us()
    json.dump(of, open(sys.argv[2], "w"))
else:
    tokens(200)
"""


def squeezed(name):
    return name.replace(" ", "").replace("(anonymousnamespace)", "")


def torch_profiler():
    data, theirs_at = os.path.join(work, "torch.data"), os.path.join(work, "torch.json")
    run(sys.executable, "-c", TORCH, os.path.join(root, "tests", "gpu"), theirs_at, stderr=subprocess.DEVNULL)
    run(aiflame, "record", "-q", "--all-launches", "-o", data, sys.executable, "-c", TORCH, os.path.join(root, "tests", "gpu"),
        stderr=subprocess.DEVNULL)
    theirs, ours = collections.Counter(), collections.Counter()
    with open(theirs_at) as f:
        for name, us in json.load(f).items():
            if not name.startswith(("Memcpy", "Memset")):
                theirs[squeezed(name)] += us
    # The first 20 tokens are in ours only, and are the same.
    for r in query(data, "SELECT k.name AS name, sum(e.dur_ns) AS ns FROM executions e JOIN kernels k ON k.id = e.kernel GROUP BY 1"):
        ours[squeezed(r["name"])] += r["ns"]
    worst = 0
    for name, us in theirs.most_common(10):
        a, b = 100 * us / sum(theirs.values()), 100 * ours[name] / sum(ours.values())
        worst = max(worst, abs(a - b))
        print("  torch.profiler %.2f %%, aiflame %.2f %%  %.60s" % (a, b, name))
    print("torch.profiler: shares of its ten greatest kernels differ by %.2f points at most" % worst, flush=True)


def ncu():
    prefix = "smsp__pcsamp_warps_issue_stalled_"
    data = os.path.join(work, "ncu.data")
    text = run("ncu", "--csv", "--clock-control", "none", "--cache-control", "none", "-k", "regex:multiply_local_access$", "-s", "1", "-c", "1",
               "--metrics", "group:smsp__pcsamp_warp_stall_reasons", os.path.join(work, "matmul"), "4096", "3", stderr=subprocess.STDOUT)
    theirs = collections.Counter()
    for row in csv.DictReader(io.StringIO(text[text.index('"ID"'):])):
        name, value = row.get("Metric Name", ""), (row.get("Metric Value") or "0").replace(",", "")
        if name.startswith(prefix) and not name.endswith("_not_issued"):
            theirs[name[len(prefix):]] += float(value)
    run(aiflame, "record", "-q", "--all-launches", "-o", data, os.path.join(work, "matmul"), "4096", "6")
    ours = collections.Counter()
    for r in query(data, "SELECT reason, sum(count) AS n FROM attributed a JOIN kernels k ON k.id = a.kernel WHERE k.name LIKE 'multiply_local_access(%' "
                         "AND reason IS NOT NULL GROUP BY 1"):
        ours[r["reason"].removesuffix("_not_issued")] += r["n"]
    worst = 0
    for name in sorted(set(ours) | set(theirs), key=lambda n: -theirs[n]):
        a, b = (100 * c[name] / max(sum(c.values()), 1) for c in (theirs, ours))
        if max(a, b) > 5:
            worst = max(worst, abs(a - b))
            print("  %s: ncu %.1f %%, aiflame %.1f %%" % (name, a, b))
    print("ncu: shares of reasons above 5 %% differ by %.1f points at most (%d and %d samples)" %
          (worst, sum(theirs.values()), sum(ours.values())), flush=True)


{"sites": sites, "torch": torch_profiler, "ncu": ncu}[what]()
