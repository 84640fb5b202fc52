# SPDX-License-Identifier: Apache-2.0
"""Checks JSON of `aiflame top --once --format json` on standard input: its members are those of the table in docs/top.md, and
its numbers add up."""
import json
import re
import sys

TYPES = {"number": (int, float), "string": str, "number or null": (int, float, type(None)), "string or null": (str, type(None))}
window = json.load(sys.stdin)
rows = re.findall(r"^\| `([a-z_.\[\]]+)` \| ([a-z ]+) \|", open(sys.argv[1]).read(), re.M)
assert len(rows) > 30, "docs/top.md has no table of members"


def members(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from members(inner, path + "." + key if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from members(inner, path + "[]")
    else:
        yield path, value


documented = dict(rows)
found = set()
for path, value in members(window):
    assert path in documented, "docs/top.md lacks " + path
    assert isinstance(value, TYPES[documented[path]]), "%s is no %s: %r" % (path, documented[path], value)
    found.add(path)
missing = {path for path in documented if path not in found and not path.startswith(("stalls[]", "abstained[]"))}
assert not missing, "never written: %s" % sorted(missing)

length = window["window"]["to_ns"] - window["window"]["from_ns"]
assert length > 0
for d in window["devices"]:
    assert d["busy_ns"] + d["idle_ns"] + d["not_collected_ns"] == length, d
for table in ("kernels", "stacks", "processes", "idle"):
    times = [row["time_ns"] for row in window[table]]
    assert times == sorted(times, reverse=True), table
busy = sum(d["busy_ns"] for d in window["devices"])
assert abs(sum(row["time_ns"] for row in window["processes"]) - busy) <= 1 + busy // 1000
assert 0.99 < sum(row["share"] for row in window["processes"]) <= 1.001
