#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the functions' shares of a profile with those that perf report prints:  perf_shares.py AIFLAME PROFILE REPORT.csv"""
import collections
import csv
import re
import subprocess
import sys

aiflame, profile, report = sys.argv[1:]


def plain(name):
    """The kernel's clock_gettime() has two names, of which one is the C library's, too."""
    return name.removeprefix("__vdso_")


theirs = collections.Counter()
for line in open(report):
    found = re.match(r"\s*([\d.]+)%\s*,\[(.)\] (.*?)\s*$", line)
    if found:
        theirs[plain(found[3])] += float(found[1])
table = subprocess.run([aiflame, "report", "--cpu", "--format", "csv", profile], capture_output=True, text=True).stdout
ours = collections.Counter()
for row in csv.DictReader(table.splitlines()):
    ours[plain(row["function"])] += float(row["self"])
total = sum(ours.values())
bad = [n for n in ("leaf",) if n not in ours or n not in theirs]
for name in sorted(theirs, key=theirs.get, reverse=True)[:10]:
    share = 100 * ours.get(name, 0) / total
    print(f"{name:40} perf {theirs[name]:6.2f} %  aiflame {share:6.2f} %")
    # The same code has several names in a library; perf chooses another one then.
    if name in ours and abs(share - theirs[name]) > 0.5:
        bad.append(name)
print("differ:", bad, "not by this name:", [n for n in theirs if n not in ours])
sys.exit(bool(bad) or not theirs)
