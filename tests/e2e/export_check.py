# SPDX-License-Identifier: Apache-2.0
"""Reads back what `aiflame export` wrote and compares its totals with those of `aiflame query`:

    export_check.py AIFLAME PROFILE FORMAT FILE

Every number that points into a table must have its row there, what is on one track must not overlap."""
import csv
import glob
import gzip
import io
import json
import os
import struct
import subprocess
import sys

aiflame, profile, kind, path = sys.argv[1:5]


def query(sql):
    text = subprocess.run([aiflame, "query", "--format", "csv", profile, sql], check=True, capture_output=True).stdout
    return list(csv.reader(io.StringIO(text.decode("utf-8", "replace"))))[1:]


def number(sql):
    return int(query(sql)[0][0] or 0)


def must(good, *what):
    if not good:
        print("wrong:", *what)
        sys.exit(1)


def same(what, got, wanted):
    must(got == wanted, what, "is", got, "where query says", wanted)


def message(data):
    """Fields of a serialized message: number -> values in order; bytes for what has a length."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        elif tag & 7 == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            must(tag & 7 == 2, "wire type", tag & 7)
            n = varint()
            value, at = data[at:at + n], at + n
            must(len(value) == n, "a length beyond the end")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def packed(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def one(fields, n, default=0):
    return fields.get(n, [default])[-1]


def read():
    with open(path, "rb") as f:
        data = f.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def no_overlap(spans, what):
    """Of one track, (start, end): none begins before the last has ended."""
    end = None
    for span in sorted(spans):
        must(end is None or span[0] >= end, what, "overlaps at", span)
        end = span[1]


# Rows of threads that were seen from outside to sleep are no stacks: views leave them out.
SHOWN = """coalesce(stack, -1) NOT IN (SELECT s.id FROM stacks s JOIN frames f ON f.id = s.frame JOIN strings t ON t.id = f.address
    WHERE f.kind = 'mark' AND t.text LIKE '[off CPU, seen %')"""


# Totals by the values that pprof and OTLP have.
def totals():
    rows = [int(v or 0) for v in query("SELECT sum(weight_ns), sum(time_ns), sum(launches), sum(count) FROM attributed")[0]]
    cpu = [int(v or 0) for v in query("SELECT sum(CASE WHEN waiting_ns THEN 0 ELSE weight_ns END), sum(waiting_ns) FROM cpu_samples WHERE " + SHOWN)[0]]
    return {"device_time": rows[0], "device_duration": rows[1], "launches": rows[2], "device_samples": rows[3],
            "cpu": cpu[0], "device_wait": cpu[1]}


def executions():
    return number("SELECT (SELECT count(*) FROM executions) + (SELECT count(*) FROM copies)")


def durations():
    return number("SELECT (SELECT coalesce(sum(dur_ns), 0) FROM executions) + (SELECT coalesce(sum(dur_ns), 0) FROM copies)")


def gaps():
    """When nothing was captured, of each device and process that something ran on, by their numbers and pid."""
    of = {}
    for process, start, end in query("SELECT process, start_ns, end_ns FROM windows WHERE device IS NULL AND NOT held ORDER BY 1, 2"):
        spans = of.setdefault(process, [])
        if spans and int(start) <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], int(end))
        else:
            spans.append([int(start), int(end)])
    pairs = query("SELECT DISTINCT device, process FROM (SELECT device, process FROM executions UNION SELECT device, process FROM copies)")
    return sorted(tuple(span) for device, process in pairs for span in of.get(process, []))


def same_gaps(got):
    same("not collected", sorted(got), gaps())


def within_gaps(at):
    """Ends of gaps are outside of them."""
    return any(start <= at < end for start, end in gaps_now)


def united(spans):
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


gaps_now = gaps()


def pprof():
    p = message(read())
    strings = [s.decode() for s in p[6]]
    must(strings[0] == "", "the first string")
    types = [strings[one(message(t), 1)] for t in p[1]]
    functions = {one(message(f), 1): message(f) for f in p[5]}
    mappings = {one(message(m), 1) for m in p.get(3, [])}
    locations = {one(message(x), 1): message(x) for x in p[4]}
    must(0 not in functions and 0 not in locations and 0 not in mappings, "a number 0")
    must(len(functions) == len(p[5]) and len(locations) == len(p[4]), "a number twice")
    for x in locations.values():
        must(one(x, 2) in mappings or 2 not in x, "a mapping")
        must(4 in x or one(x, 3), "a location of nothing")
        for line in x.get(4, []):
            must(strings[one(functions[one(message(line), 1)], 2)], "a function without a name")
    sums, labels = [0] * len(types), set()
    for s in p[2]:
        s = message(s)
        must(all(x in locations for x in packed(s[1][0])) and s[1][0], "a sample's locations")
        values = packed(s[2][0])
        must(len(values) == len(types), "values")
        sums = [a + b for a, b in zip(sums, values)]
        labels |= {strings[one(message(x), 1)] for x in s.get(3, [])}
    got = dict(zip(types, sums))
    for what, wanted in totals().items():
        same(what, got[what], wanted)
    must({"process", "device", "stream", "kernel"} <= labels, "labels", labels)
    if totals()["device_samples"]:
        must("instruction" in labels, "no instructions")
    must(strings[one(p, 14)] in types, "the usual type")


def otlp():
    p = message(read())
    d = message(one(p, 2))
    strings = [s.decode() for s in d[5]]
    for table in (1, 2, 3, 4, 6, 7):
        must(d[table][0] == b"", "a table's first entry")
    must(strings[0] == "", "the first string")
    got, ids = {}, set()
    resource = message(one(message(one(p, 1)), 1))
    attributes = {one(message(kv), 1).decode(): one(message(one(message(kv), 2)), 1).decode() for kv in resource[1]}
    must(len(attributes) == len(resource[1]) and attributes.get("service.name"), "attributes of the resource", attributes)
    command = query("SELECT value FROM meta WHERE key = 'command' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'imported')")
    must(not command or attributes["service.name"] == os.path.basename(command[0][0].split(" ")[0]), "service.name", attributes)
    scope = message(one(message(one(p, 1)), 2))
    for profile_ in scope[2]:
        q = message(profile_)
        must(len(one(q, 7)) == 16 and one(q, 7) not in ids, "profile_id")
        ids.add(one(q, 7))
        name = strings[one(message(one(q, 1)), 1)]
        # What Parca (pkg/normalizer/otel.go) and Pyroscope (pkg/ingester/otlp/convert.go) ask for: they refuse others.
        must(5 in q and one(q, 6) != 0, "a profile without a period")
        period = [strings[one(message(one(q, 5)), i)] for i in (1, 2)]
        must(period == [{"cpu": "cpu", "device_wait": "cpu"}.get(name, "device"), "nanoseconds"], "a period's type", period)
        must(all(len(packed(one(message(s), 4))) == 1 for s in q[2]), "values of a sample")
        for s in q[2]:
            s = message(s)
            must(0 < one(s, 1) < len(d[7]), "a stack")
            must(all(0 < a < len(d[6]) for a in packed(one(s, 2, b""))), "an attribute")
            got[name] = got.get(name, 0) + packed(one(s, 4))[0]
    for stack in d[7][1:]:
        must(all(0 < x < len(d[2]) for x in packed(message(stack)[1][0])), "a location")
    for x in d[2][1:]:
        x = message(x)
        must(one(x, 1) < len(d[1]), "a mapping")
        must(all(one(message(line), 1) < len(d[3]) for line in x.get(3, [])), "a function")
    for what, wanted in totals().items():
        same(what, got.get(what, 0), wanted)


def speedscope():
    p = json.loads(read())
    frames = len(p["shared"]["frames"])
    sums = {"CPU": 0, "device": 0}
    for q in p["profiles"]:
        must(q["type"] == "sampled" and q["unit"] == "nanoseconds", "a profile's type")
        must(len(q["samples"]) == len(q["weights"]), "weights")
        must(all(0 <= f < frames for s in q["samples"] for f in s), "a frame")
        must(q["endValue"] == sum(q["weights"]), "endValue")
        sums["CPU" if q["name"].startswith("CPU: ") else "device"] += sum(q["weights"])
    same("device time", sums["device"], totals()["device_time"])
    same("CPU time", sums["CPU"], totals()["cpu"] + totals()["device_wait"])


def folded():
    same("device time", sum(int(line.rsplit(" ", 1)[1]) for line in read().decode().splitlines()), totals()["device_time"])


def counters():
    """Names and values, as text."""
    return query("SELECT name || coalesce(' of ' || (SELECT pid FROM processes WHERE id = process), ''), value FROM counters")


def same_counters(got):
    same("counters", sorted(got), sorted((name, float(v)) for name, v in counters()))


def iaprof():
    """By the format's rules: strings before they are used, samples of the kernel before them, ten counts."""
    strings, kernel, interval, samples, metrics = {}, None, False, 0, []
    for line in read().decode().splitlines():
        word, *rest = line.split("\t")
        if word == "string":
            must(len(rest) == 2 and rest[0] not in strings, "a string", line)
            strings[rest[0]] = rest[1]
        elif word == "interval":
            must(len(rest) == 2 and float(rest[1]) >= 0, line)
            interval, kernel = True, None
        elif word == "metric":
            must(interval and len(rest) == 2 and rest[0], line)
            metrics.append((rest[0], int(rest[1])))
        elif word == "kernel":
            must(interval and len(rest) == 6 and all(x in strings for x in [rest[1]] + rest[3:]), line)
            must(int(rest[0], 16) > 0 and int(rest[2]) > 0 and strings[rest[5]], "a kernel", line)
            kernel = rest
        else:
            must(word == "eustall" and kernel and len(rest) == 12 and rest[1] in strings, line)
            int(rest[0], 16)
            counts = [int(x) for x in rest[2:]]
            must(sum(counts) > 0, "nothing", line)
            samples += sum(counts)
    same("samples", samples, totals()["device_samples"])
    same("metrics", sorted(metrics), sorted((name, int(float(v) + 0.5)) for name, v in counters()))


def ns(v):
    """A decimal number of us, exactly."""
    whole, _, part = v.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def chrome():
    p = json.loads(read(), parse_float=str, parse_int=str)
    tracks, flows, launched = {}, {"out": set(), "in": set()}, 0
    named = {(e["pid"], e["tid"]) for e in p["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    got, ops, hosts, values, blank, curves = 0, {}, set(), [], [], {}
    zero = min(number("SELECT min(0, coalesce(min(start_ns), 0)) FROM executions"), number("SELECT min(0, coalesce(min(start_ns), 0)) FROM ops"))
    for e in p["traceEvents"]:
        if e["ph"] == "C":
            must(all(float(v) >= 0 for v in e["args"].values()), "a counter")
            if e["name"] not in ("running", "queued"):
                values += [(e["name"], float(v)) for v in e["args"].values()]
            else:
                must(within_gaps(ns(e["ts"]) + zero) == (not e["args"]), "a curve's value where nothing was collected", e)
                curves.setdefault(e["name"], []).append((ns(e["ts"]) + zero, e["args"]))
        if e.get("cat") == "not_collected":
            must(e["name"] == "not collected" and (e["pid"], e["tid"]) in named, "a gap", e)
            blank.append((ns(e["ts"]) + zero, ns(e["ts"]) + ns(e["dur"]) + zero))
            continue
        if e["ph"] != "X":
            continue
        key = (e["pid"], e["tid"])
        must(key in named or e["tid"] == "19999999", "a track without a name", key)
        start, dur = ns(e["ts"]), ns(e["dur"])
        must(start >= 0 and dur >= 0, "a time")
        tracks.setdefault(key, []).append((start, start + dur))
        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            got += dur
            launched += 1
            if "flow_in" in e:
                flows["in"].add(e["bind_id"])
        else:
            hosts.add(key)
            if "flow_out" in e:
                flows["out"].add(e["bind_id"])
            kind = {"cpu_op": "operator", "user_annotation": "range", "python_function": "python"}.get(e["cat"])
            if kind:
                ops[kind] = ops.get(kind, 0) + dur
        if "sf" in e:
            must(e["sf"] in p["stackFrames"], "a stack")
    # What a trace had of its threads may overlap in part.
    for key, spans in tracks.items():
        if key not in hosts or not ops:
            no_overlap(spans, key)
    same("operators and ranges", ops, {kind: int(ns) for kind, ns in query(
        "SELECT replace(kind, 'step', 'range') AS k, sum(dur_ns) FROM ops WHERE kind <> 'runtime' GROUP BY 1")})
    same("devices", [(d["name"], d["numSms"]) for d in p["deviceProperties"]],
         [tuple(row) for row in query("SELECT name, coalesce(units, 0) FROM devices ORDER BY id")])
    for frame in p["stackFrames"].values():
        must("parent" not in frame or frame["parent"] in p["stackFrames"], "a caller")
    same_gaps(blank)
    for name, points in curves.items(): # each gap interrupts it
        must([at for at, args in points if not args] == [start for start, _ in united(gaps_now)], name)
    must(flows["in"] == flows["out"], "arrows", flows["in"] ^ flows["out"])
    same("executions", launched, executions())
    same("their time", got, durations())
    same_counters(values)
    same("CPU samples", sum(int(s["weight"]) for s in p.get("samples", [])), totals()["cpu"] + totals()["device_wait"])
    last = {}
    for s in p.get("samples", []):
        must(ns(s["ts"]) >= last.get((s["pid"], s["tid"]), ns(s["ts"])), "samples out of order")
        last[s["pid"], s["tid"]] = ns(s["ts"])


def perfetto():
    ops = {}
    tracks, open_, spans, launches, seen, samples, of_threads = {}, {}, {}, 0, {}, 0, {}
    values, curves, clock = [], {}, None
    stages, texts = {"ids": set(), "at": [], "kernels": {}, "launches": {}, "queues": {}}, {}

    # A render stage: what it names is interned, a kernel has its launch.
    def stage_of(e, at):
        must(one(e, 1) not in stages["ids"], "two stages of one number")
        stages["ids"].add(one(e, 1))
        stages["at"].append((at, one(e, 2)))
        must(one(e, 5) in seen[23] and one(e, 13) in seen[24] and one(e, 14) in (1, 2, 3) and one(e, 20) in seen[2], "a stage's parts")
        must((one(e, 14) == 1) == (19 in e) == (21 in e), "a kernel's stage")
        if 19 in e:
            kernel, launch = texts[1000, one(e, 19)], message(one(e, 21))
            must(all(one(message(arg), 1) in seen[1001] for arg in launch.get(3, [])), "an argument's name")
            stages["kernels"][kernel] = stages["kernels"].get(kernel, 0) + one(e, 2)
            shape = tuple("x".join(str(one(message(one(launch, n)), k)) for k in (1, 2, 3)) for n in (1, 2) if n in launch)
            stages["launches"][shape] = stages["launches"].get(shape, 0) + 1
        queue = stages["queues"].setdefault((one(e, 11) if 11 in e else 0, one(e, 13)), [0, one(e, 5)])
        queue[0] += 1
        must(queue[1] == one(e, 5), "a queue of two processes")

    gpu_names, gpu_values, times_of = {}, {}, []

    # A GPU's counter: an event has the value of the time before it.
    def gpu_counter(e, at):
        for spec in message(e[1][0])[1] if 1 in e else []:
            must(one(message(spec), 1) not in gpu_names, "a counter described twice")
            gpu_names[one(message(spec), 1)] = one(message(spec), 2).decode()
        for counter in map(message, e[2]):
            of = gpu_values.setdefault(one(counter, 1), [])
            must(one(counter, 1) in gpu_names and (not of or at >= of[-1][0]), "a GPU's counter")
            of.append((at, struct.unpack("<d", struct.pack("<Q", one(counter, 3)))[0]))

    for packet in message(read())[1]:
        packet = message(packet)
        must(one(packet, 10) == 1, "the sequence")
        for interned in packet.get(12, []):
            rows = [(table, message(row)) for table, of in message(interned).items() for row in of]
            for table, row in rows:
                must(one(row, 1) > 0 and one(row, 1) not in seen.setdefault(table, set()), "an iid")
                seen[table].add(one(row, 1))
                if table == 1000:
                    texts[table, one(row, 1)] = one(row, 2).decode()
            for table, row in rows:
                if table == 7:
                    must(all(f in seen[6] for f in row[2]), "a frame")
                if table == 6:
                    must(one(row, 2) in seen[5] and (3 not in row or one(row, 3) in seen[19]), "a frame's parts")
                    must(5 not in row or one(row, 5) in seen[18], "a frame's file")
                if table == 19:
                    must(all(x in seen[17] for x in row[7]) and (2 not in row or one(row, 2) in seen[16]), "a mapping")
        for snapshot in packet.get(6, []):
            clock = one(message(message(snapshot)[1][0]), 2) # the recording's start
        for track in packet.get(60, []):
            track = message(track)
            tracks[one(track, 1)] = track
            must(5 not in track or one(track, 5) in tracks, "a parent")
        for sample in packet.get(66, []):
            must(one(message(sample), 4) in seen[7], "a sample's stack")
            samples += 1
        for counter in packet.get(52, []):
            gpu_counter(message(counter), one(packet, 8))
        for stage in packet.get(53, []):
            stage_of(message(stage), one(packet, 8))
        for event in packet.get(11, []):
            e, at = message(event), one(packet, 8)
            uuid = one(e, 11)
            must(uuid in tracks or uuid == 0, "a track")
            if one(e, 9) == 4 and 44 in e and uuid >> 32 == 7:
                name = one(tracks[uuid], 2).decode()
                times_of.append((name, at))
                values.append((name, struct.unpack("<d", struct.pack("<Q", one(e, 44)))[0]))
            if one(e, 9) == 4 and uuid >> 32 in (5, 6):
                value = struct.unpack("<d", struct.pack("<Q", one(e, 44)))[0]
                must(within_gaps(at - clock) == (value != value), "a curve's value where nothing was collected", value)
                curves.setdefault(uuid, []).append((at - clock, value))
            if one(e, 9) in (1, 3):
                must(one(e, 10) in seen[2], "a name")
            if uuid >> 32 == 2 and one(e, 9) in (1, 2):
                if one(e, 9) == 1:
                    must(one(e, 56) in seen[7], "an operator's stack")
                    launches += 1 in e[3]
                    of_threads.setdefault(uuid, []).append((at, e[3][-1]))
                else:
                    start, category = of_threads[uuid].pop()
                    must(start <= at and all(s <= start for s, _ in of_threads[uuid]), "an operator's times")
                    if category in (4, 5):
                        ops[category] = ops.get(category, 0) + at - start
            elif one(e, 9) == 1:
                must(uuid not in open_, "a slice in a slice")
                open_[uuid] = at
            elif one(e, 9) == 2:
                spans.setdefault(uuid, []).append((open_.pop(uuid), at))
            elif one(e, 9) == 3:
                must(one(e, 56) in seen[7], "a launch's stack")
                launches += 1
    must(not open_ and not any(of_threads.values()), "a slice that never ends")
    same("operators and ranges", ops, {int(k): int(ns) for k, ns in query(
        "SELECT CASE kind WHEN 'operator' THEN 4 ELSE 5 END, sum(dur_ns) FROM ops WHERE kind <> 'runtime' GROUP BY 1")})
    for uuid, of in spans.items():
        no_overlap(of, uuid)
    same_gaps((a - clock, b - clock) for uuid, of in spans.items() if uuid >> 32 == 8 for a, b in of)
    spans = {uuid: of for uuid, of in spans.items() if uuid >> 32 != 8}
    for uuid, points in curves.items():
        must([at for at, value in points if value != value] == [start for start, _ in united(gaps_now)], "a curve")
    same("executions", sum(map(len, spans.values())), executions())
    same("their time", sum(b - a for of in spans.values() for a, b in of), durations())
    same("render stages", sorted(stages["at"]), sorted((a, b - a) for of in spans.values() for a, b in of))
    same("kernels of render stages", stages["kernels"], {name: int(ns) for name, ns in query(
        "SELECT k.name, sum(e.dur_ns) FROM executions e JOIN kernels k ON k.id = e.kernel GROUP BY 1")})
    shapes = {}
    for grid, block, n in query("SELECT l.grid, l.block, count(*) FROM executions e LEFT JOIN launches l ON l.launch = e.launch AND e.graph IS NULL WHERE e.kernel IS NOT NULL GROUP BY 1, 2"):
        blocks = [max(int(v), 1) for v in block.split("x")] if block else []
        groups = [-(-max(int(v), 1) // b) for v, b in zip(grid.split("x"), blocks or [1, 1, 1])] if grid else []
        shape = tuple("x".join(map(str, of)) for of in (groups, blocks) if of)
        shapes[shape] = shapes.get(shape, 0) + int(n)
    same("launches of render stages", stages["launches"], shapes)
    same("queues of render stages", sorted(n for n, _ in stages["queues"].values()), sorted(int(n) for n, in query(
        "SELECT count(*) FROM (SELECT device, process, stream FROM executions UNION ALL SELECT device, process, stream FROM copies) GROUP BY device, process, stream")))
    must(sorted((gpu_names[k], at) for k, of in gpu_values.items() for at, _ in of[:-1]) == sorted(x for x in times_of if x[0] in gpu_names.values()), "times of a GPU's counters")
    must(sorted((gpu_names[k], v) for k, of in gpu_values.items() for _, v in of[1:]) == sorted(x for x in values if x[0] in gpu_names.values()), "values of a GPU's counters")
    same("launches", launches, number("SELECT count(*) FROM launches"))
    same_counters(values)
    same("CPU samples", samples, number("SELECT count(*) FROM cpu_samples WHERE waiting_ns = 0"))


def firefox():
    p = json.loads(read(), parse_float=str)
    same("version", p["meta"]["preprocessedProfileVersion"], 48)
    must(any(c["color"] == "grey" for c in p["meta"]["categories"]), "the usual category")
    categories, device, cpu, markers, ops, times_, blank = len(p["meta"]["categories"]), 0, 0, 0, {}, 0, []
    zero = min(number("SELECT min(0, coalesce(min(start_ns), 0)) FROM executions"), number("SELECT min(0, coalesce(min(start_ns), 0)) FROM ops"))
    columns = {
        "samples": "stack time weight", "stackTable": "frame prefix category subcategory",
        "frameTable": "address inlineDepth category subcategory func nativeSymbol innerWindowID implementation line column",
        "funcTable": "isJS relevantForJS name resource fileName lineNumber columnNumber",
        "resourceTable": "lib name host type", "markers": "data name startTime endTime phase category",
        "nativeSymbols": "libIndex address name functionSize",
    }

    def ms(v):
        whole, _, part = str(v).partition(".")
        return int(whole) * 1000000 + int((part + "000000")[:6])

    for t in p["threads"]:
        for table, names in columns.items():
            for c in names.split():
                must(len(t[table][c]) == t[table]["length"], table, c, "is not as long as the table")
        strings, stacks, funcs = len(t["stringArray"]), t["stackTable"], t["funcTable"]
        must(all(0 <= s < stacks["length"] for s in t["samples"]["stack"]), "a stack")
        must(all(q is None or q < i for i, q in enumerate(stacks["prefix"])), "a prefix")
        must(all(0 <= f < t["frameTable"]["length"] for f in stacks["frame"]), "a frame")
        must(all(0 <= c < categories for c in stacks["category"]), "a category")
        must(all(0 <= f < funcs["length"] for f in t["frameTable"]["func"]), "a function")
        must(all(0 <= n < strings for n in funcs["name"] + t["markers"]["name"] + t["resourceTable"]["name"]), "a string")
        must(all(-1 <= r < t["resourceTable"]["length"] for r in funcs["resource"]), "a resource")
        must(all(0 <= r < len(p["libs"]) for r in t["resourceTable"]["lib"]), "a library")
        times = [ms(x) for x in t["samples"]["time"]]
        must(times == sorted(times), "samples out of order")
        weight = sum(ms(w) for w in t["samples"]["weight"])
        took = [ms(b) - ms(a) for a, b in zip(t["markers"]["startTime"], t["markers"]["endTime"])]
        types = [d["type"] for d in t["markers"]["data"]]
        must(all(ns >= 0 for ns in took) and set(types) <= {s["name"] for s in p["meta"]["markerSchema"]}, "a marker")
        if {"kernel", "transfer"} & set(types):
            is_gap = [t == "not collected" for t in types]
            starts = [ms(a) + zero for a in t["markers"]["startTime"]]
            blank += [(at, at + ns) for at, ns, gap in zip(starts, took, is_gap) if gap]
            device += weight
            markers += is_gap.count(False)
            times_ += sum(ns for ns, gap in zip(took, is_gap) if not gap)
            continue
        cpu += weight
        for type_, name, ns in zip(types, t["markers"]["name"], took):
            of = ops.setdefault((type_, t["stringArray"][name]), [0, 0])
            of[0] += 1
            of[1] += ns
    same("operators, ranges and calls", ops, {(kind, name): [int(n), int(ns)] for kind, name, n, ns in query(
        "SELECT kind, name, count(*), sum(dur_ns) FROM ops GROUP BY 1, 2")})
    same("executions", markers, executions())
    same("their time", times_, durations())
    same_gaps(blank)
    whole = totals()["device_duration"]
    must(abs(device - whole) <= markers, "weights", device, whole)
    same("CPU time", cpu, totals()["cpu"] + totals()["device_wait"])


def tensorboard():
    files = glob.glob(os.path.join(path, "plugins", "profile", "*", "*.xplane.pb"))
    must(len(files) == 1, "files", files)
    with open(files[0], "rb") as f:
        space = message(f.read())
    device, count, launches, blank = 0, 0, 0, []
    start_ns = number("SELECT value FROM meta WHERE key = 'start_realtime_ns'")
    wanted = {name: [int(n), int(ns)] for name, n, ns in query(
        "SELECT name, count(*), sum(dur_ns) FROM ops WHERE kind <> 'runtime' GROUP BY 1")}
    ops = {}
    for plane in space[1]:
        plane = message(plane)
        is_device = one(plane, 2).startswith(b"/device:GPU:")
        names = {one(message(m), 1): one(message(one(message(m), 2)), 2).decode() for m in plane.get(4, [])}
        stats = {one(message(m), 1) for m in plane.get(5, [])}
        for line in plane.get(3, []):
            spans = []
            for event in message(line).get(4, []):
                e = message(event)
                must(one(e, 1) in names, "a name")
                must(all(one(message(s), 1) in stats for s in e.get(4, [])), "a stat")
                spans.append((one(e, 2), one(e, 2) + one(e, 3)))
                if is_device and names[one(e, 1)] == "not collected":
                    at = one(message(line), 3) - start_ns + one(e, 2) // 1000
                    blank.append((at, at + one(e, 3) // 1000))
                elif is_device:
                    device += one(e, 3) // 1000
                    count += 1
                else:
                    launches += 4 in e
                    if names[one(e, 1)] in wanted:
                        of = ops.setdefault(names[one(e, 1)], [0, 0])
                        of[0] += 1
                        of[1] += one(e, 3) // 1000
            if is_device or not wanted:
                no_overlap(spans, one(message(line), 2))
            open_ = []
            for start, end in spans: # as they stand there: the outer one first
                while open_ and open_[-1] <= start:
                    open_.pop()
                must(not open_ or end <= open_[-1], "an event that runs on", start)
                open_.append(end)
            must([s for s, _ in spans] == sorted(s for s, _ in spans), "order")
    same("operators and ranges", ops, wanted)
    same("executions", count, executions())
    same_gaps(blank)
    same("their time", device, durations())
    same("launches", launches, number("SELECT count(*) FROM launches"))


def tables():
    for table in ("launches", "executions", "copies", "attributed", "kernels", "stacks", "frames", "cpu_samples", "samples"):
        with open(os.path.join(path, table + ".csv"), newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        must(all(len(r) == len(rows[0]) for r in rows), table, "has a row of another width")
        must(rows[1:] == query(f"SELECT * FROM {table}"), table)
    for name in glob.glob(os.path.join(path, "*.csv")):
        text = open(name, "rb").read()
        must(b"\0" not in text, name, "has a NUL")
        text.decode("utf-8")
    with open(os.path.join(path, "codes.csv"), newline="", encoding="utf-8") as f:
        must([r["bytes"] for r in csv.DictReader(f)] == [r[0] for r in query("SELECT hex(bytes) FROM codes")], "codes are no hexadecimal digits")


{"pprof": pprof, "otlp": otlp, "speedscope": speedscope, "folded": folded, "iaprof": iaprof, "chrome": chrome, "perfetto": perfetto,
 "firefox": firefox, "tensorboard": tensorboard, "csv": tables}[kind]()
