#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives a profile each reason of reasons.def, one at a time, and prints where a view does not say so:

    losses.py SRC AIFLAME info|summary|page|scope PROFILE [BUT...]  each reason but these
    losses.py SRC AIFLAME picture PROFILE LACK... -- OPTION...    of each reason that leaves one of the LACKs, that flame says it
    losses.py SRC AIFLAME table PROFILE LACK... -- OPTION...      that report says it
    losses.py SRC AIFLAME why PROFILE LACK... --                  that why says it, in text and in JSON
    losses.py SRC AIFLAME diff|gate|export PROFILE                of one reason for each kind of loss, that this view says it"""
import json
import re
import shutil
import sqlite3
import subprocess
import sys

import page_losses

src, aiflame, view, profile, *rest = sys.argv[1:]


def read(name):
    with open(f"{src}/{name}") as f:
        return f.read()


reasons = [(int(n), name, kind, text) for n, name, kind, text in re.findall(r'AIF_REASON\((\d+), (\w+), (\w+), "(.*?)", "', read("base/reasons.def"))]
words = dict(re.findall(r'AIF_LACK\((\w+), "(.*?)"\)', read("profile/lacks.def")))
lacks = dict(re.findall(r"AIF_LACK_AFTER\((\w+), (\w+)\)", read("profile/lacks.def")))
assert len(reasons) > 150 and len(words) > 10 and len(lacks) > 100


def with_reason(number):
    shutil.copy(profile, "lossy.data")
    db = sqlite3.connect("lossy.data")
    db.execute("DELETE FROM loss")
    db.execute("INSERT INTO loss (id, reason, process, thread, detail, count) VALUES (0, ?, 0, NULL, NULL, 7)", (number, ))
    db.commit()
    db.close()


def said(*args):
    return subprocess.run([aiflame, *args, "lossy.data"], capture_output=True, text=True, check=True).stdout


at = rest.index("--") if "--" in rest else 0
wanted, options = rest[:at], rest[at + 1:]
but = [] if wanted else rest
failed = tried = 0
tried_lacks = set()
for number, name, kind, text in reasons:
    sentence = re.sub(r"\{[^|}]*\|([^}]*)\}", r"\1", text)[:40]
    lack = "incomplete: " + words[lacks[name]] if name in lacks else ""
    if view in ("diff", "gate", "export") and (not lack or lack in tried_lacks):
        continue
    tried_lacks.add(lack)
    if name in but or (wanted and lacks.get(name) not in wanted):
        continue
    tried += 1
    with_reason(number)
    if view == "info":
        out = said("info")
        is_said = re.search(rf"^  {number} {name} +7 ", out, re.M) and sentence in out and lack in out and (lack or kind == "DEGRADED")
    elif view == "summary":
        is_said = sentence in said("report")
    elif view in ("page", "scope"):
        out = page_losses.said(said("view" if view == "page" else "scope", "-o", "-"))
        is_said = any(sentence in line for line in out) and (not lack or lack in out)
    elif view in ("diff", "gate"):
        out = subprocess.run([aiflame, view, profile, "lossy.data"], capture_output=True, text=True, check=False).stdout
        is_said = lack in " ".join(out.split())
    elif view == "export":
        is_said = lack in subprocess.run([aiflame, "export", "-o", "lossy.folded", "lossy.data"], capture_output=True, text=True, check=True).stderr
    elif view == "why":
        text = {"WORK": "work of it is missing", "CLOCKS": "clocks disagreed"}.get(lacks[name], lack)
        head = json.loads(said("why", "--format", "json"))
        is_said = text in said("why") and any(text in a["why"] for a in head["abstained"])
    elif view == "picture":
        is_said = lack in said("flame", "-o", "-", *options)
    else:
        is_said = lack in said("report", *options)
    if not is_said:
        failed += 1
        print(f"{view} does not say: {number} {name}")
print(f"{tried} reasons tried")
sys.exit(failed > 0 or not tried)
