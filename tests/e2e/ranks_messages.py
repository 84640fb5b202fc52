# SPDX-License-Identifier: Apache-2.0
"""ranks_messages.py FILE: rows of `ops` of ranks_messages.c (query --format json): has each message its number on both sides?"""
import json
import sys

sides = {}
for row in json.load(open(sys.argv[1])):
    sides.setdefault((row["id"] & ~1, row["sequence"]), set()).add((row["id"] & 1, row["process"]))
channels = {}
for (channel, number), of in sides.items():
    channels.setdefault(channel, {})[number] = of
# Two tags with 20 messages, four channels of MPI_Sendrecv (a communicator each, both ways), and the one that is tested until it is done.
both = [c for c in channels.values() if any(side == 1 for of in c.values() for side, _ in of)]
print(sorted((len(c), len(both)) for c in channels.values()))
assert sorted(len(c) for c in channels.values()) == [1, 1, 5, 5, 5, 20, 20], "wrong numbers of messages"
assert len(both) == 6, "a channel has no receives"
for c in channels.values():
    assert sorted(c) == list(range(1, len(c) + 1)), "numbers are not one after the other"
    for number, of in c.items():
        assert {side for side, _ in of} >= {0}, "a message without a send"
        assert len({p for side, p in of if side == 0}) == 1, "two ranks sent it"
        assert not {p for side, p in of if side == 0} & {p for side, p in of if side}, "sent and received by one rank"
