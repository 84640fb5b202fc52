#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What zebin_see reads against IGA and readelf: zebin_compare.py names|boards|lines SEEN TEXT [ARCH]."""
import re
import sys


def seen(path):
    rows = []
    for line in open(path):
        f = line.split()
        if f[0] != "kernel":
            rows.append((int(f[0], 16), f[1], int(f[2]), int(f[3]), int(f[4], 16), int(f[5])))
    return rows


def iga(path):
    """offset -> (mnemonic, the scoreboard it marks, the set it waits for, is it a short one)"""
    rows = {}
    for line in open(path):
        m = re.match(r"/\* \[([0-9A-F]+)\]\s*\*/\s*(?:\([^)]*\)\s*)?([a-z0-9_.]+)", line)
        if not m:
            continue
        braces = re.search(r"\{([^}]*)\}", line)
        marks, waits = -1, 0
        info = braces.group(1).split(",") if braces else []
        for token in info:
            b = re.fullmatch(r"\$(\d+)(\.dst|\.src)?", token.strip())
            if b and b.group(2):
                waits |= 1 << int(b.group(1))
            elif b:
                marks = int(b.group(1))
        every = re.search(r"sync\.all(?:rd|wr)\s+(null|\([^)]*\))", line)
        if every and every.group(1) == "null":
            waits = 0xFFFFFFFF
        elif every:
            for s in re.findall(r"\$(\d+)", every.group(1)):
                waits |= 1 << int(s)
        rows[int(m.group(1), 16)] = (m.group(2), marks, waits, "Compacted" in info)
    return rows


def same_name(ours, theirs, short):
    # Of bfn's value and goto's branch control nothing is told, of short ones' sorts little.
    head, _, tail = theirs.partition(".")
    return ours == theirs or ours == head and (short or head == "bfn" or tail == "b")


def compare_iga(rows, other, what):
    bad = []
    for at, name, size, marks, waits, _ in rows:
        if at not in other:
            bad.append(f"+{at:#x} {name}: no instruction begins there")
            continue
        theirs = other[at]
        if what == "names" and not (same_name(name, theirs[0], theirs[3]) and (size == 8) == theirs[3]):
            bad.append(f"+{at:#x} {name} of {size} bytes: {theirs}")
        if what == "boards" and (marks, waits) != theirs[1:3]:
            bad.append(f"+{at:#x} {name} marks {marks}, waits for {waits:x}: {theirs}")
    end = max(at + size for at, _, size, _, _, _ in rows)
    missed = [at for at in other if at < end] if what == "names" else []
    bad += [f"+{at:#x} was left out" for at in missed if at not in {r[0] for r in rows}]
    return bad


def compare_lines(rows, path):
    table = []
    for line in open(path):
        f = re.match(r"\S+\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b", line)
        if f:
            table.append((int(f.group(2), 16), 0 if f.group(1) == "-" else int(f.group(1))))
    if not table:
        return ["no table"]
    bad = []
    for at, name, *_, line in rows:
        want = [ln for a, ln in table if a <= at]
        if want and at < table[-1][0] and want[-1] != line:
            bad.append(f"+{at:#x} {name}: line {line}, not {want[-1]}")
    return bad


def main():
    what, rows = sys.argv[1], seen(sys.argv[2])
    bad = compare_lines(rows, sys.argv[3]) if what == "lines" else compare_iga(rows, iga(sys.argv[3]), what)
    for line in bad[:10]:
        print(line)
    print(f"{len(rows)} instructions, {len(bad)} different")
    return 1 if bad or not rows else 0


sys.exit(main())
