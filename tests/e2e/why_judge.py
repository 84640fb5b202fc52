# SPDX-License-Identifier: Apache-2.0
"""Compares why.json with the truth that a program printed to out: why_judge.py loop|owner; exits with 1 where it is wrong."""
import json
import sys

truth = dict(part.split("=") for part in open("out").read().split())
why = json.load(open("why.json"))
loop, owner, steps = why["loop"], next(o["place"] for o in why["owners"] if not o["is_machine"]), int(truth["steps"])
print(truth, loop.get("place"), loop.get("steps"), why["owners"][:3])
function, at = loop.get("place", " ").split(" ")
is_loop = function.split(".")[-1] == truth["loop"] and at.endswith(":%s)" % truth["line"]) and steps - 1 <= loop["steps"] <= steps
is_owner = owner.split(" (")[0].split(".")[-1] in truth["owner"].split("|")
sys.exit(not {"loop": is_loop, "owner": is_owner}[sys.argv[1]])
