# SPDX-License-Identifier: Apache-2.0
"""Reads the fields of a message of Protocol Buffers: pairs of number and value, bytes where it has a length."""


def varint(b, i):
    v = shift = 0
    while True:
        c = b[i]; i += 1; v |= (c & 127) << shift; shift += 7
        if c < 128: return v, i


def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 2:
            n, i = varint(b, i); yield key >> 3, b[i:i + n]; i += n
        else:
            v, i = varint(b, i); yield key >> 3, v
