#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""proto_lines.py: text of protobuf messages, as protoc writes it, on fewer lines: a message that fits into COLUMNS is on one."""
import sys

COLUMNS = 200


def main():
    # Blocks that are open, outermost first: each a list of lines, of which the first opens it.
    blocks = [[]]
    for line in sys.stdin.buffer.read().split(b"\n")[:-1]:
        if line.endswith(b" {"):
            blocks.append([line])
            continue
        blocks[-1].append(line)
        if line.strip() != b"}" or len(blocks) == 1:
            continue
        block = blocks.pop()
        one = b" ".join([block[0]] + [x.strip() for x in block[1:]])
        is_flat = all(x.count(b"\n") == 0 for x in block)
        blocks[-1].append(one if is_flat and len(one) <= COLUMNS else b"\n".join(block))
    for block in blocks:
        for line in block:
            sys.stdout.buffer.write(line + b"\n")


main()
