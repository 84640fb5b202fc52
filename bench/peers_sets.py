#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports the files of other tools' test sets and compares what came out with the result that stands beside each.

    bench/peers_sets.py AIFLAME [--flamegraph DIR] [--inferno DIR] [--speedscope DIR]

DIR is a checkout of brendangregg/FlameGraph, jonhoo/inferno or jlfwong/speedscope. For each file there is a row with the
sum of its weights, the largest difference of a function's own share and the number of stacks, of aiflame and of the
reference. A difference that WHY does not explain ends the program with status 1.
"""
import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

LAST = "equal but for the file's last sample (no empty line follows it), which the reference leaves out"
NOT_READ = "not read: "
# What differs on purpose or by an error of the reference, by a part of the file's name.
WHY = [
    (r"^perf-(dd|iperf|java-stacks-01|vertx)", LAST),
    (r"^`stackcollapse-perf.pl` (one-sample|simple\.)", LAST),
    (r"^perf-vertx", "`[libc-2.15.so]` is an empty name there"),
    (r"^perf-mirageos", "samples of idle CPUs are left out, and counted (`IMPORT_IDLE`): 39 of 52"),
    (r"^perf-numa", "samples of idle CPUs are left out, and counted (`IMPORT_IDLE`): 74 of 199"),
    (r"^Chrome/(116|6|70).*\.json$", "the spans are drawn; the reference draws the samples beside them alone"),
    (r"^Chrome/141|^trace-event/.*with-samples", NOT_READ + "samples of a trace without spans"),
    (r"^perf/no-events|empty-file", "refused: is empty"),
    (r"unknown-format|before-header", "refused: its format is not known"),
    (r"^perf/single-line", "code of the OS kernel without a name is `[kernel]`, not `[unknown]`"),
    (r"^perf/(empty-line|weird)|^guess/invalid", "imported; what is no frame is counted (`IMPORT_LINE`)"),
    (r"^vtune/vtune", "times are in milliseconds in the file, whole ones in the reference: 168.572 and 168"),
    (r"^vtune/(bad|invalid|skipped)", "refused by inferno; imported here, and the line counted (`IMPORT_LINE`)"),
    (r"^recursive/", "the reference joins recursive frames; they stay here"),
    (r"^dtrace/", NOT_READ + "text of DTrace"),
    (r"^ghcprof/|^haskell/", NOT_READ + "profiles of GHC"),
    (r"^sample/", NOT_READ + "text of macOS' sample"),
    (r"^vsprof/", NOT_READ + "CSV of Visual Studio"),
    (r"^xctrace/|^Instruments/", NOT_READ + "files of Instruments"),
    (r"^callgrind/", NOT_READ + "callgrind's files"),
    (r"\.cpuprofile$", NOT_READ + "V8's .cpuprofile"),
    (r"\.heapprofile$", NOT_READ + "V8's .heapprofile"),
    (r"^node/.*v8", NOT_READ + "V8's log"),
    (r"^Firefox/|firefox", NOT_READ + "Firefox's profiles"),
    (r"^Safari/|safari", NOT_READ + "Safari's recordings"),
    (r"^java-flight", NOT_READ + "JFR"),
    (r"^papyrus/", NOT_READ + "logs of Papyrus"),
    (r"^pmcstat/", NOT_READ + "text of pmcstat"),
    (r"^stackprof/", NOT_READ + "stackprof's JSON"),
    (r"^linux-perf/(fork|simple-with|system)", "the reference weighs a sample by the time since the one before, of any thread; here it is the event's period"),
    (r"^trace-event/bex", "of spans with the same times the first in the file is the caller here (`C`), the one with `B` there"),
    (r"^trace-event/invalid-x", "`beta` ends behind `alpha`, in which it began: kept whole, and counted; the reference cuts it"),
    (r"^trace-event/unbalanced-name", "`E` of `alpha` ends `alpha`; `beta`, which ends later, has that time by itself"),
    (r"^trace-event/zero-dur", "an `E` before its `B` in the file is counted (`IMPORT_EVENT`), the reference sorts"),
    (r"^trace-event/out-of-order-unbal", "an `E` before its `B` in the file is counted (`IMPORT_EVENT`), the reference sorts"),
    (r"^trace-event/mismatched-name", "`alpha` lasts to the end of the trace, as in Chrome; the reference ends it at once"),
    (r"^trace-event/end-non-top", "`E` of `A` ends `A` and what is in it, as in Perfetto; the reference ignores it"),
    (r"^trace-event/simple-object", "an event without a name is left out, and counted (`IMPORT_EVENT`)"),
]


def why(name):
    return "; ".join(text for part, text in WHY if re.search(part, name) and text)


class Stacks:
    def __init__(self):
        self.weights = collections.Counter()

    def add(self, frames, weight):
        self.weights[tuple(frames)] += weight

    def total(self):
        return sum(self.weights.values())

    def own(self):
        own = collections.Counter()
        for frames, weight in self.weights.items():
            own[frames[-1] if frames else ""] += weight
        return own


def split_folded(text):
    for line in text.splitlines():
        match = re.match(r"(.*) ([0-9.]+)$", line)
        if match:
            yield match.group(1).split(";"), float(match.group(2))


def unmarked(name):
    """The name without the marks of a frame's kind, which both write in their own manner."""
    return re.sub(r"(_\[[a-zA-Z0-9]\])+$", "", name)


def plain(name):
    """What else both write in their own manner: L of Java's classes, parameters, code of the OS kernel
    without a name, closures of Rust, and what a span's arguments are."""
    name = re.sub(r' \{".*\}$| \(foobar\)$', "", name)
    if re.match(r"\[\[kernel|\[vmlinux|\?\?\? \(\[kernel", name):
        return "[kernel]"
    if name.startswith("??? ("):
        return "[unknown]"
    if re.match(r"L[a-zA-Z0-9_$]+/", name):
        name = name[1:]
    if not re.search(r"\.\(.*\)\.", name):
        name = re.sub(r"\((?!anonymous namespace\)).*", "", name) or name
    return name.replace("_{{closure}}", "{{closure}}").replace('"', "").replace("'", "")


def rust(name):
    """A name of Rust that a demangler of C++ has printed."""
    if not re.search(r"::h[0-9a-f]{16}$", name):
        return name
    name = re.sub(r"(^|::)_\$", r"\1$", name[:-19])
    for escape, text in ("LT", "<"), ("GT", ">"), ("RF", "&"), ("BP", "*"), ("SP", "@"), ("LP", "("), ("RP", ")"), ("C", ","):
        name = name.replace(f"${escape}$", text)
    name = re.sub(r"\$u([0-9a-f]{2,6})\$", lambda match: chr(int(match.group(1), 16)), name)
    return name.replace("..", "::")


def demangled(stacks):
    """The reference with names as c++filt writes them, where it is there."""
    names = sorted({frame for frames in stacks.weights for frame in frames} | set(getattr(stacks, "exact", ())))
    plain_names = names
    if shutil.which("c++filt"):
        done = subprocess.run(["c++filt"], input="\n".join(names) + "\n", capture_output=True, text=True)
        plain_names = done.stdout.splitlines()
    by_name = {name: plain(rust(new)) for name, new in zip(names, plain_names)}
    result = type(stacks)()
    for frames, weight in stacks.weights.items():
        result.add([by_name[frame] for frame in frames], weight)
    for name, weight in getattr(stacks, "exact", {}).items():
        result.exact[by_name[name]] += weight
    return result


def ours(aiflame, path, options=()):
    """Imports a file: its folded stacks, or the message with which it was refused."""
    if os.path.basename(path).startswith("perf-cycles-instructions"):
        options = ["--event", "instructions"]  # the one that the reference has
    with tempfile.TemporaryDirectory() as work:
        data, folded = work + "/x.data", work + "/x.folded"
        done = subprocess.run([aiflame, "import", "-q", *options, path, "-o", data], capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr.strip().splitlines()[-1].replace(path, os.path.basename(path))
        done = subprocess.run([aiflame, "flame", "--of", "cpu", "--detail", "full", "-o", folded, data],
                              capture_output=True, text=True)
        if done.returncode:
            return None, "imported; flame: " + done.stderr.strip().splitlines()[-1].replace(data, "x.data")
        stacks = Stacks()
        done = subprocess.run([aiflame, "query", "--format", "csv", data, "SELECT count(*) FROM cpu_samples"], capture_output=True, text=True)
        stacks.samples = int((done.stdout.split() or ["0", "0"])[-1])
        for frames, weight in split_folded(open(folded, encoding="utf-8", errors="replace").read()):
            stacks.add([plain(unmarked(frame)) for frame in frames], weight)
        return stacks, ""


def without_roots(mine, roots):
    """Takes the process away with which stacks begin where there are several."""
    if all(frames and frames[0] in roots for frames in mine.weights):
        cut = Stacks()
        cut.samples = mine.samples
        for frames, weight in mine.weights.items():
            cut.add(frames[1:], weight)
        return cut
    return mine


def number(value):
    return f"{value:,.3f}".rstrip("0").rstrip(".")


class Table:
    def __init__(self, title):
        self.title, self.rows, self.unexplained = title, [], 0

    def add(self, name, mine, message, reference, scale=1.0, note="", verbose=False):
        """A row: one file, what aiflame has of it and what the reference has."""
        reason = why(name)
        if mine is None:
            refused = "refused: " + message.split(": ", 2)[-1] if "refused" not in reason else reason
            if not reason:
                self.unexplained += 1
            self.rows.append((name, "", number(reference.total()) if reference else "", "", "", reason or "**" + refused + "**"))
            return
        mine_sum, their_sum = mine.total(), reference.total() * scale
        own, their_own = mine.own(), reference.own()
        worst, worst_name = 0.0, ""
        for key in sorted(set(own) | set(their_own)):
            points = 100 * abs(own[key] / max(mine_sum, 1e-9) - their_own[key] * scale / max(their_sum, 1e-9))
            if points > worst:
                worst, worst_name = points, key
        common = len(set(mine.weights) & set(reference.weights))
        stacks = f"{len(mine.weights)} / {len(reference.weights)}"
        same = len(mine.weights) == len(reference.weights) == common
        if not same:
            stacks += f" ({common} the same)"
        # Without periods FlameGraph and inferno count samples.
        if re.match("perf|linux-perf|`stack", name) and abs(mine_sum - their_sum) > 1 and their_sum < 1000 * mine.samples:
            mine_sum = mine.samples
        equal = same and abs(mine_sum - their_sum) <= max(1, 1e-6 * their_sum) and worst < 0.01
        outcome = "equal" if equal else reason or "**not explained**"
        if not equal and not reason:
            self.unexplained += 1
        if verbose and not equal:
            for frames in sorted(set(mine.weights) - set(reference.weights))[:12]:
                print("  ours  ", ";".join(frames)[-220:], mine.weights[frames], file=sys.stderr)
            for frames in sorted(set(reference.weights) - set(mine.weights))[:12]:
                print("  theirs", ";".join(frames)[-220:], reference.weights[frames], file=sys.stderr)
        shown = f"{worst:.2f}" + (f" `{worst_name[:40]}`" if worst >= 0.01 else "")
        self.rows.append((name, number(mine_sum), number(their_sum), shown, stacks, outcome + note))

    def print(self):
        print(f"\n## {self.title}\n")
        print("| file | sum | reference | largest difference of an own share, points | stacks | outcome |")
        print("|---|---|---|---|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


def read_collapsed(path, roots):
    reference = Stacks()
    for frames, weight in split_folded(open(path, encoding="utf-8", errors="replace").read()):
        roots.add(plain(unmarked(frames[0])))
        reference.add([unmarked(frame) for frame in frames[1:]], weight)
    return demangled(reference)


def compare_collapsed(table, aiflame, files, verbose):
    for name, path, result, comm in files:
        roots = set()
        if comm:
            reference = read_collapsed(result, roots)
        else:
            reference = Stacks()
            for frames, weight in split_folded(open(result, encoding="utf-8", errors="replace").read()):
                frames = [plain(unmarked(frame)) for frame in frames]
                reference.add(frames[1:] if name.startswith("vtune") else frames, weight)
        mine, message = ours(aiflame, path)
        if mine:
            mine = without_roots(mine, roots)
        if verbose:
            print(name, message, file=sys.stderr)
        table.add(name, mine, message, reference, scale=1e6 if name.startswith("vtune") else 1.0, verbose=verbose)


def flamegraph(aiflame, directory, verbose):
    table = Table("FlameGraph: test/*.txt against test/results/*-collapsed-all.txt")
    files = []
    for path in sorted(glob.glob(directory + "/test/*.txt")):
        name = os.path.basename(path)
        files.append((name, path, directory + "/test/results/" + name[:-4] + "-collapsed-all.txt", True))
    compare_collapsed(table, aiflame, files, verbose)
    return table


def inferno(aiflame, directory, verbose):
    table = Table("inferno: tests/data/collapse-*/ against their results/")
    data = directory + "/tests/data/"
    files = []
    for path in sorted(glob.glob(data + "collapse-*/*")):
        if not os.path.isfile(path):
            continue
        folder, name = path[len(data):].split("/")
        base = name.split(".")[0]
        results = sorted(glob.glob(f"{data}{folder}/results/{base}*"))
        results = [r for r in results if not r.endswith(".orig")]
        if folder == "collapse-vtune" and base == "vtune":
            results = [data + folder + "/results/vtune-no-modules.txt"]
        elif folder == "collapse-sample" and base == "sample":
            results = [data + folder + "/results/sample-no-modules.txt"]
        elif folder == "collapse-vsprof" and base == "CallTreeSummary":
            results = [data + folder + "/results/vsprof-default.txt"]
        if results:
            files.append((folder[9:] + "/" + name, path, results[0], folder == "collapse-perf"))
        else:
            mine, message = ours(aiflame, path)
            text = f"{number(mine.total())} in {len(mine.weights)} stacks" if mine else "refused"
            table.rows.append((folder[9:] + "/" + name, number(mine.total()) if mine else "", "no result beside it", "",
                               str(len(mine.weights)) if mine else "", why(folder[9:] + "/" + name) or message or text))
    compare_collapsed(table, aiflame, files, verbose)
    table.rows.sort()
    return table


UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, " B": 1.0, " KB": 1024.0, " MB": 1024.0**2, " GB": 1024.0**3}


def read_snapshot(text):
    """Reads a profile of a snapshot: exact own weights of its functions, and its stacks with rounded values."""
    own = collections.Counter()
    for block in re.findall(r"Frame \{(.*?)\n    \}", text, re.S):
        name = re.search(r'"name": "(.*)",\n\s+"selfWeight"', block, re.S)
        weight = re.search(r'"selfWeight": (-?[0-9.e+-]+)', block)
        if name and weight:
            own[unescape(name.group(1))] += float(weight.group(1))
    stacks, formatted, is_time, is_bytes = Stacks(), 0.0, False, False
    part = re.search(r'"stacks": \[(.*?)\n  \],', text, re.S)
    for line in re.findall(r'^    "(.*)",$', part.group(1), re.M) if part else []:
        line = unescape(line)
        match = re.match(r"(.*) (-?[0-9.,:]+)(ns|µs|ms|s| B| KB| MB| GB|)$", line, re.S)
        if not match or not match.group(1):
            continue
        value = match.group(2)
        if ":" in value:
            minutes, seconds = value.split(":")
            weight, is_time = (60 * int(minutes) + int(seconds)) * 1e9, True
        else:
            weight = float(value.replace(",", "")) * UNITS.get(match.group(3), 1.0)
            is_time |= match.group(3) in ("ns", "µs", "ms", "s")
            is_bytes |= match.group(3).startswith(" ")
        formatted += weight
        stacks.add(match.group(1).split(";"), weight)
    scale = 1.0
    total = sum(own.values())
    if is_time and total:
        scale = min((1.0, 1e3, 1e6, 1e9), key=lambda unit: abs(formatted / total / unit - 1))
    return own, stacks, scale


def unescape(text):
    # A template literal of JavaScript, in it a string as Jest prints it.
    return text.replace("\\\\", "\\").replace("\\`", "`").replace("\\${", "${").replace('\\"', '"').replace("\\\\", "\\")


class Snapshot(Stacks):
    """Stacks of a snapshot, whose own weights are known more exactly than the stacks' values."""

    def __init__(self):
        super().__init__()
        self.exact = collections.Counter()

    def total(self):
        return sum(self.exact.values())

    def own(self):
        return self.exact


def add_collapsed(table, aiflame, script, name, path, verbose):
    """A row with what FlameGraph's own program makes of a file of perf script."""
    done = subprocess.run(["perl", script, "--all", path], capture_output=True, text=True, errors="replace")
    reference, roots = Stacks(), set()
    for frames, weight in split_folded(done.stdout):
        roots.add(plain(unmarked(frames[0])))
        reference.add([unmarked(frame) for frame in frames[1:]], weight)
    mine, message = ours(aiflame, path)
    table.add("`stackcollapse-perf.pl` " + name, without_roots(mine, roots) if mine else mine, message, demangled(reference), verbose=verbose)


def speedscope(aiflame, directory, verbose, flamegraph_directory):
    table = Table("speedscope: sample/profiles against src/import/__snapshots__")
    tests = {}
    for path in sorted(glob.glob(directory + "/src/import/*.test.ts")):
        snapshot = directory + "/src/import/__snapshots__/" + os.path.basename(path) + ".snap"
        if not os.path.exists(snapshot):
            continue
        text, snap = open(path, encoding="utf-8").read(), open(snapshot, encoding="utf-8").read()
        entries = re.findall(r"^exports\[`(.*?)`\] = `\n?(.*?)\n?`;$", snap, re.M | re.S)
        for name, file in re.findall(r"test\('([^\n]*)',(?:(?!test\().)*?checkProfileSnapshot\(\s*'\./sample/profiles/(.*?)'", text, re.S):
            if file in tests or "chunked" in name:
                continue
            reference = Snapshot()
            for key, body in entries:
                if not re.search(r"(^|.* )" + re.escape(name) + r" \d+$", key) or '"stacks"' not in body:
                    continue
                own, stacks, scale = read_snapshot(body)
                for frame, weight in own.items():
                    reference.exact[frame.replace(";", ":")] += weight * scale
                for frames, weight in stacks.weights.items():
                    reference.add(frames, weight)
            tests[file] = demangled(reference)
    for file, reference in sorted(tests.items()):
        path = directory + "/sample/profiles/" + file
        if not os.path.exists(path) or not os.path.getsize(path):
            table.rows.append((file, "", "", "", "", "not in the checkout"))
            continue
        mine, message = ours(aiflame, path)
        if verbose:
            print(file, message, file=sys.stderr)
        if mine and file.startswith("linux-perf"):
            mine = without_roots(mine, {"forks", "swapper", "simple-terminat"})
        table.add(file, mine, message, reference, verbose=verbose)
        if file.startswith("linux-perf") and flamegraph_directory and shutil.which("perl"):
            add_collapsed(table, aiflame, flamegraph_directory + "/stackcollapse-perf.pl", os.path.basename(file), path, verbose)
    others = sorted(f for f in glob.glob(directory + "/sample/profiles/**/*", recursive=True)
                    if os.path.isfile(f) and f[len(directory) + len("/sample/profiles/"):] not in tests)
    for path in others:
        name = path[len(directory) + len("/sample/profiles/"):]
        if re.search(r"\.(grammar|map|md|zip)$|\.gitignore|DS_Store", name):
            continue
        mine, message = ours(aiflame, path)
        table.rows.append((name, number(mine.total()) if mine else "", "no snapshot", "", str(len(mine.weights)) if mine else "",
                           why(name) or message.split(": ", 2)[-1] or "imported"))
    return table


def main():
    parser = argparse.ArgumentParser(description="Compares imports of other tools' test sets with their reference results.")
    parser.add_argument("aiflame")
    parser.add_argument("--flamegraph")
    parser.add_argument("--inferno")
    parser.add_argument("--speedscope")
    parser.add_argument("--verbose", action="store_true", help="print stacks that only one side has")
    args = parser.parse_args()
    unexplained = 0
    for name, compare in ("flamegraph", flamegraph), ("inferno", inferno), ("speedscope", speedscope):
        if getattr(args, name):
            more = [args.flamegraph] if name == "speedscope" else []
            table = compare(args.aiflame, getattr(args, name).rstrip("/"), args.verbose, *more)
            table.print()
            unexplained += table.unexplained
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
