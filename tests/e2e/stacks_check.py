# SPDX-License-Identifier: Apache-2.0
"""stacks_check.py CASE < JSON of aiflame stacks: says what is wrong, or nothing."""
import json
import sys

process, = json.load(sys.stdin)["processes"]
threads = process["threads"]


def functions(thread, kinds=("native", "inlined", "python")):
    return [f["function"] for f in thread["stack"] if f["kind"] in kinds]


def named(name):
    found, = [t for t in threads if t["name"] == name]
    return found


def calls(thread, *names):
    """The functions stand in the stack in this order, innermost first."""
    left = iter(functions(thread))
    return all(any(f == n for f in left) for n in names)


def having(function):
    found, = [t for t in threads if function in functions(t)]
    return found


def threads_case():
    main = named("stacks_app")
    reader, waiter, computer, writer = map(named, ("reader", "waiter", "computer", "writer"))
    assert all(t["complete"] for t in threads), [t for t in threads if not t["complete"]]
    assert calls(main, "main"), main
    assert main["activity"] == "waits" and main["waits"].startswith("read of 0 (/"), main
    assert calls(reader, "read_a_pipe", "reader"), reader
    assert reader["waits"].startswith("read of 3 (pipe "), reader
    assert calls(waiter, "wait_for_condition", "waiter") and waiter["lock"] == "condition", waiter
    assert calls(computer, "add_up", "computer") and computer["activity"] == "runs", computer
    assert "stopped_ns" in computer, computer
    assert calls(writer, "wait_to_write", "writer") and writer["lock"] == "rwlock", writer
    assert writer["holder"] == main["tid"], writer
    assert not any("stopped_ns" in t for t in (main, reader, waiter, writer)), threads
    assert process["deadlocks"] == [], process["deadlocks"]
    # lines: of functions of this program
    line = [f for f in reader["stack"] if f["function"] == "read_a_pipe"][0]
    assert line["file"].endswith("stacks_app.c") and line["line"] > 0, line


def deadlock():
    left, right = named("left"), named("right")
    assert left["lock"] == right["lock"] == "mutex" and left["lock_address"] != right["lock_address"], (left, right)
    assert left["holder"] == right["tid"] and right["holder"] == left["tid"], (left, right)
    assert [sorted(d) for d in process["deadlocks"]] == [sorted((left["tid"], right["tid"]))], process["deadlocks"]
    assert calls(left, "take_both", "left") and calls(right, "take_both", "right"), (left, right)


def python():
    main, waits, spins = having("innermost"), having("wait_for_lock"), having("spin")
    assert process["python"] == sys.argv[2], process["python"]
    assert all(t["complete"] for t in threads), [t for t in threads if not t["complete"]]
    last = lambda t: [f.rsplit(".", 1)[-1] for f in functions(t, ("python",))]
    assert last(main) == ["innermost", "key", "call", "main", "<module>"], last(main)
    assert last(waits)[0] == "wait_for_lock" and last(spins)[0] == "spin", (waits, spins)
    assert last(waits)[-1] == last(spins)[-1] == "_bootstrap", (waits, spins)
    # C that Python calls, and that calls Python, stands between them.
    short = [f.rsplit(".", 1)[-1] for f in functions(main)]
    assert short.index("key") < short.index("list_sort") < short.index("call"), short
    lines = [f["line"] for f in main["stack"] if f["kind"] == "python"]
    source = open(main["stack"][[f["kind"] for f in main["stack"]].index("python")]["file"]).read().split("\n")
    for line, text in zip(lines, ("time.sleep", "innermost()", "sorted(", "Caller().call()", "main()")):
        assert text in source[line - 1], (line, text)
    assert spins["holds_gil"] or waits["holds_gil"] or not any(t["holds_gil"] for t in threads), threads


def many():
    n = int(sys.argv[2])
    assert len(threads) == n + 1, len(threads)
    assert sum("sleeper" in functions(t) and t["complete"] for t in threads) == n, threads[:3]


{"threads": threads_case, "deadlock": deadlock, "python": python, "many": many}[sys.argv[1]]()
