#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names as aiflame prints them are filters:  filter_names.py AIFLAME PROFILE kernels|cpu

Takes every name that report prints in a table of kernels or of CPU functions, cut for a terminal and in full, and gives it to
--kernel, --focus, --ignore and annotate. Each has to find at least what it names. Prints what does not."""
import csv
import io
import re
import subprocess
import sys

aiflame, profile, of = sys.argv[1:4]
failed = 0


def run(*args):
    return subprocess.run([aiflame, *args], capture_output=True, text=True)


def fail(what, args, r):
    global failed
    failed += 1
    print(f"{what}: {' '.join(args)}: status {r.returncode}: {(r.stdout + r.stderr).strip()[:300]}")


def rows(*args):
    r = run("report", "--limit", "0", "--format", "csv", *args, profile)
    return list(csv.DictReader(io.StringIO(r.stdout)))


table = "--kernels" if of == "kernels" else "--cpu"
key = "kernel" if of == "kernels" else "function"
all_rows = rows(table)
full = [r[key] for r in all_rows]
# annotate is for what ran by itself.
own = {r[key] for r in all_rows if of == "kernels" or float(r["self_samples"] or 0) > 0} if all_rows else set()
copies = {r["kernel"] for r in all_rows if of == "kernels" and r["kernel"].startswith(("Memcpy", "Memset"))}
names = {n: n for n in full}
plain = run("report", table, "--limit", "0", profile).stdout.splitlines()
# The last column is the name, at the same place in all lines.
head = next((i for i, line in enumerate(plain) if re.search(r"\b%s\b" % key, line)), None)
cut = []
if head is not None:
    at = plain[head].index(key)
    cut = [line[at:].split("  ")[0].rstrip() for line in plain[head + 1:] if len(line) > at and not line.startswith("…") and "aiflame info" not in line]
for name in dict.fromkeys([*full, *cut]):
    if not name:
        continue
    flame = ["flame", "--format", "folded", "-o", "-", *(["--of", "cpu"] if of == "cpu" else []), "--detail", "full"]
    r = run(*flame, "--focus", name, profile)
    if r.returncode or not r.stdout.strip():
        fail("--focus", [name], r)
    if of == "kernels":
        r = run("report", "--kernels", "--limit", "0", "--format", "csv", "--kernel", name, profile)
        found = [row[key] for row in csv.DictReader(io.StringIO(r.stdout))]
        if r.returncode or not found or (name in full and name not in found):
            fail("--kernel", [name], r)
    if (name in own or name in cut and of == "kernels") and name not in copies and not name.startswith("["):
        r = run("annotate", name, profile)
        if r.returncode:
            fail("annotate", [name], r)
if not full:
    print("no names in", profile)
    failed += 1
print(len(full), "names,", len(cut), "as a terminal has them")
sys.exit(failed > 0)
