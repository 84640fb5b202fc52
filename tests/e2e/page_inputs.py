#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What page_browser.sh makes its pages of.

page_inputs.py hostile FILE.data     makes each text of a profile, but keys, one that would run a script
page_inputs.py damaged FILE.data     spoils each chunk of rows but the first
page_inputs.py empty FILE.data       takes all rows out
page_inputs.py stacks FILE N         folded text of N stacks, each with a leaf and a value of its own
page_inputs.py trace FILE [US]       a trace of 8 s: kernel `early` in the first half, `late`, of US (10000), in the second
page_inputs.py sides FOLDER          runs of three traces each in a/ and b/: in b `late` takes longer, `gone_kernel` is gone
"""
import json
import sqlite3
import sys
import zlib

# What src/profile/schema.c calls STR, but keys.
TEXTS = [pair.split(".") for pair in """meta.value process.exe process.cmdline process.host thread.name device.name device.vendor device.driver device.runtime
    program.source program.options program.source_name kernel.name kernel.short_name module.path module.build_id frame_name.name frame_name.file
    code.name code.arch loss.detail""".split()]
# Numbers say which text ran, or is shown.
HOSTILE = '"\'></script><img src=x onerror="window.owned=%d"><script>window.owned=%d</script>${window.owned=%d}'
LAST = '"\'><img src=x onerror="window.owned=%d">' # of a path, which is often shown without its folders


def hostile(path):
    """Also writes FILE.data.json: by table and column, the numbers of its texts."""
    db = sqlite3.connect(path)
    keys = {row[0] for row in db.execute("SELECT key FROM meta")}
    number_of = {}
    for at, value in db.execute("SELECT id, value FROM string").fetchall():
        if at in keys:
            continue
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        number = zlib.crc32(text.encode())
        number_of[at] = number
        folder, slash, name = text.rpartition("/")
        new = HOSTILE % (number, number, number) + folder + slash + (LAST % number if slash else "") + name
        db.execute("UPDATE string SET value = ? WHERE id = ?", (new.encode() if isinstance(value, bytes) else new, at))
    db.execute("DELETE FROM cache")
    db.commit()
    fields = {}
    for table, column in TEXTS:
        used = {row[0] for row in db.execute(f'SELECT "{column}" FROM "{table}"')}
        fields[f"{table}.{column}"] = sorted(number_of[at] for at in used if at in number_of)
    with open(path + ".json", "w") as out:
        json.dump(fields, out)


def damaged(path):
    db = sqlite3.connect(path)
    for number, data in db.execute("SELECT id, data FROM chunk").fetchall()[1:]:
        db.execute("UPDATE chunk SET data = ? WHERE id = ?", (bytes(b ^ 0x5A for b in data), number))
    db.execute("DELETE FROM cache")
    db.commit()


def empty(path):
    db = sqlite3.connect(path)
    db.execute("DELETE FROM chunk")
    db.execute("DELETE FROM cache")
    db.commit()


def stacks(path, n):
    with open(path, "w") as out:
        for i in range(n):
            depth = 3 + i * 7 % 20
            frames = [f"f{(i >> k) % 40}_{k}" for k in range(depth)]
            out.write(";".join(["main", *frames, f"kernel{i % 50}_[g]", f"leaf_{i}_[g]"]) + f" {100 + i * 7919 % 1000}\n")


def trace(path, late=10000, others=()):
    events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}}]
    for i in range(400):
        at, name = i * 20000, "early" if i < 200 else "late"
        step = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i // 40}", "pid": 7, "tid": 7, "ts": at, "dur": 800000 - 10}
        if i % 40 == 0:
            events.append(step)
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": at + 10, "dur": 100, "args": {"External id": i + 1}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": at + 20, "dur": 50,
                       "args": {"correlation": i + 1, "External id": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": f"{name}_kernel", "pid": 0, "tid": 7, "ts": at + 200, "dur": 10000 if i < 200 else late,
                       "args": {"correlation": i + 1, "External id": i + 1, "device": 0, "stream": 7}})
        for k, (kernel, us) in enumerate(others):
            number = 1000 * (k + 1) + i
            events.append({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": at + 120, "dur": 80, "args": {"External id": number}})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": at + 130, "dur": 20,
                           "args": {"correlation": number, "External id": number}})
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": at + 16000, "dur": us,
                           "args": {"correlation": number, "External id": number, "device": 0, "stream": 7}})
    with open(path, "w") as out:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Test GPU"}], "traceEvents": events}, out)


def sides(folder):
    for i in range(3):
        trace(f"{folder}/a{i}.json", 10000 + i, [("gone_kernel", 700)])
        trace(f"{folder}/b{i}.json", 14000 + i)


if sys.argv[1] == "stacks":
    stacks(sys.argv[2], int(sys.argv[3]))
else:
    globals()[sys.argv[1]](sys.argv[2])
