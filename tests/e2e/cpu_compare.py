# SPDX-License-Identifier: Apache-2.0
"""Do two profiles of one program agree?

    cpu_compare.py POINTS FOLDED SHARES leaf|any

FOLDED is a flame graph's text with full detail, SHARES has lines "name percent". The ten greatest of SHARES are
looked for in the stacks: as the innermost native function (leaf), or anywhere (any).
"""
import re
import sys


def frames(stack):
    """Names without the suffix of their kind; inlined ones are no functions of their own."""
    for f in stack.split(";"):
        kind = re.search(r"_\[(.)\]$", f)
        name = re.sub(r"_\[.\]$", "", f)
        yield kind.group(1) if kind else "n", plain(re.sub(r"(:\d+)? \([^)]*\)$", "", name))


def plain(name):
    """Of the names of one and the same code, one: of glibc's for copying, and as perf has them of what LTO made local."""
    return re.sub(r"\.lto_priv\.\d+$", "", name).replace("memcpy", "memmove")


def main():
    points, folded, shares, where = float(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    found, whole = {}, 0
    for line in open(folded, encoding="utf-8"):
        stack, count = line.rsplit(" ", 1)
        whole += int(count)
        names = list(frames(stack))
        if where == "leaf":
            native = [n for k, n in names if k == "n"]
            hits = set(native[-1:])
        else:
            hits = {n.split(".")[-1] for k, n in names}
        for n in hits:
            found[n] = found.get(n, 0) + int(count)
    wanted = []
    for line in open(shares, encoding="utf-8"):
        name, share = line.rsplit(" ", 1)
        if name != "sum":
            wanted.append((float(share), plain(name.strip())))
    wanted = sorted(wanted, reverse=True)[:10]
    worst = 0.0
    for share, name in wanted:
        ours = 100 * found.get(name, 0) / whole
        worst = max(worst, abs(ours - share))
        print(f"{name:40} {share:6.2f} {ours:6.2f} {ours - share:+6.2f}")
    print(f"worst difference {worst:.2f} points of {points:g} allowed, {len(wanted)} functions")
    return worst > points or not wanted


sys.exit(main())
