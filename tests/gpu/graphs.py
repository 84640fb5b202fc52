# SPDX-License-Identifier: Apache-2.0
"""Compares the stacks of graphs' nodes with the program that knows them: graphs.py AIFLAME GRAPHS [NODES [REPLAYS]]

GRAPHS is graphs.cu, compiled. Each case is recorded; of each fill that was executed the number of its node follows from its
bytes, and the functions under which that node was made from the number. CUPTI tells nothing of fills that are updated, nor the
launch of those in a conditional's body: these cases have kernels, whose numbers follow from their order in the graph."""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

aiflame, graphs = sys.argv[1:3]
nodes, replays = (sys.argv[3:] + ["1000", "5"][len(sys.argv) - 3:])[:2]
CASES = ["plain", "api", "twice", "cloned", "updated", "child", "conditional", "several", "forked", "nested"]
FACTOR = {"twice": 2, "child": 2}


def place_in_nested(place):
    """The graph's own nodes and three placeholders; then those of its child, with one, of the child's child, of the other child,
    and of the if."""
    n = int(nodes) // 8
    first = 0
    for part, length in ((0, n), (None, 1), (4, n), (None, 2), (7, n), (1, n), (None, 1), (3, n), (2, n), (5, n), (6, n)):
        if place < first + length:
            return part * n + place - first
        first += length
    return -1


KERNELS = {  # number of a node from its place in the graph and the replay
    "updated": lambda place, replay: place + (replay + 1) % 2 * int(nodes),
    "conditional": lambda place, replay: place - 1,
    "nested": lambda place, replay: place_in_nested(place),
}


def digits_of(db):
    """The digits in the names of a stack's functions, outermost first, by stack."""
    names = {i: function or "" for i, function in db.execute("SELECT id, function FROM frames")}
    known = {}
    for i, parent, frame in db.execute("SELECT id, parent, frame FROM stacks ORDER BY id"):
        found = re.search(r"digit<(\d)>", names.get(frame, ""))
        known[i] = known.get(parent, "") + (found.group(1) if found else "")
    return known


def check(case, work):
    data, exported = os.path.join(work, case + ".data"), os.path.join(work, case + ".sqlite")
    subprocess.run([aiflame, "record", "-q", "--all-launches", "-o", data, graphs, case, nodes, replays] + ["fills"] * (case not in KERNELS), check=True, stdout=subprocess.DEVNULL)
    subprocess.run([aiflame, "export", "-i", data, "-o", exported], check=True)
    db = sqlite3.connect(exported)
    digits = digits_of(db)
    made, right, wrong, unknown = {}, 0, 0, 0
    for process, graph, node, since, stack in db.execute("SELECT process, graph, node, since_ns, stack FROM graph_nodes ORDER BY since_ns"):
        made.setdefault((process, graph, node), []).append((since, stack))
    rows = db.execute("SELECT process, graph, node, bytes, time_ns FROM copies JOIN (SELECT launch AS l, time_ns FROM launches) ON l = launch"
                      " WHERE graph AND copies.kind = 'fill'").fetchall()
    if case in KERNELS:
        rows = db.execute("SELECT process, graph, node, launch, time_ns FROM executions JOIN (SELECT launch AS l, time_ns FROM launches) ON l = launch"
                          " WHERE graph").fetchall()
        replay = {launch: i for i, launch in enumerate(sorted({r[3] for r in rows}))}
        rows = [(p, g, n, 4 * (KERNELS[case](n, replay[launch]) + 1), time) for p, g, n, launch, time in rows]
    for process, graph, node, size, time in rows:
        stack = None
        for since, s in made.get((process, graph, node), []):
            stack = s if since <= time else stack
        if stack is None:
            unknown += 1
        elif digits.get(stack) == f"{size // 4 - 1:04d}":
            right += 1
        else:
            wrong += 1
    expected = int(nodes) * int(replays) * FACTOR.get(case, 1)
    losses = db.execute("SELECT name, count FROM losses").fetchall()
    fine = right >= 0.999 * expected and len(rows) == expected and not wrong
    print(f"{'ok' if fine else 'not ok'} {case}: {expected} executed, {len(rows)} recorded: {right} right, {wrong} wrong, {unknown} unknown; losses {losses}")
    return fine


with tempfile.TemporaryDirectory() as work:
    results = [check(case, work) for case in CASES]
sys.exit(not all(results))
