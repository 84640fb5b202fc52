# SPDX-License-Identifier: Apache-2.0
"""A cubin with many kernels, as libraries have them, and what an export of it must have.

make GOLDEN OUT KERNELS: each kernel begins with the code of GOLDEN's chain, goes on with bytes that do not compress, and
  has a sequence of its own in the line table; k5 is symbol 6.
compare CUT WHOLE NAME...: the code and lines of these kernels are in CUT as in WHOLE, those of all others are not.
"""
import random
import struct
import sys

CHAIN = "_Z5chainPfPKfi"
TAIL = 1536
PROGBITS, SYMTAB, STRTAB, RELA, NOBITS = 1, 2, 3, 4, 8


def sections(elf):
    offset, = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + 64 * i) for i in range(count)]
    text = elf[heads[names][4]:][:heads[names][5]]
    return {text[h[0]:text.index(b"\0", h[0])].decode(): (h[1], h[4], h[5]) for h in heads}


def contents(elf, name):
    kind, offset, size = sections(elf)[name]
    return None if kind == NOBITS else elf[offset:offset + size]


def line_table(kernels):
    """DWARF 2 with a sequence for each kernel, and where the operand of each DW_LNE_set_address is."""
    files = b"\0" + b"many.cu\0\0\0\0" + b"\0"
    standard = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    rest = struct.pack("<BBbBB", 16, 1, -5, 14, 10) + standard + files
    head = struct.pack("<HI", 2, len(rest)) + rest
    program, addresses = b"", []
    for i in range(kernels):
        addresses.append(4 + len(head) + len(program) + 3)
        program += b"\0\x09\x02" + bytes(8)
        for line in range(1, 40):
            program += b"\x03" + bytes([1 + (i + line) % 60]) + b"\x01\x02\x01"
        program += b"\0\x01\x01"
    return struct.pack("<I", len(head) + len(program)) + head + program, addresses


def make(golden, out, kernels):
    source = open(golden, "rb").read()
    code = contents(source, ".text." + CHAIN)
    draw = random.Random(42)
    lines, addresses = line_table(kernels)
    strings = b"\0" + b"".join(b"k%d\0" % i for i in range(kernels))
    symbols, at = bytes(24), 1
    parts = [("", 0, b"", 0, 0)]
    first_text = 6
    for i in range(kernels):
        size = len(code) + TAIL
        symbols += struct.pack("<IBBHQQ", at, 0x12, 0x10, first_text + i, 0, size)
        at += len(b"k%d\0" % i)
    relocations = b"".join(struct.pack("<QQq", a, (i + 1) << 32 | 2, 0) for i, a in enumerate(addresses))
    parts += [(".shstrtab", STRTAB, None, 0, 0), (".strtab", STRTAB, strings, 0, 0), (".symtab", SYMTAB, symbols, 2, 24),
              (".debug_line", PROGBITS, lines, 0, 0), (".rela.debug_line", RELA, relocations, 3, 24)]
    parts += [(".text.k%d" % i, PROGBITS, code + draw.randbytes(TAIL), 3, 0) for i in range(kernels)]
    names, name_at = b"", []
    for part in parts:
        name_at.append(len(names))
        names += part[0].encode() + b"\0"
    body, heads = b"", b""
    for (name, kind, data, link, entry), at in zip(parts, name_at):
        data = names if data is None else data
        body += bytes(-len(body) % 16)
        heads += struct.pack("<IIQQQQIIQQ", at, kind, 0, 0, 64 + len(body), len(data), link, 0, 16, entry)
        body += data
    body += bytes(-len(body) % 16)
    head = source[:16] + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(body), struct.unpack_from("<I", source, 48)[0],
                                     64, 0, 0, 64, len(parts), 1)
    open(out, "wb").write(head + body + heads)


def compare(cut, whole, names):
    cut, whole = open(cut, "rb").read(), open(whole, "rb").read()
    assert len(cut) == len(whole)
    for name, (kind, offset, size) in sections(whole).items():
        if name.startswith(".text."):
            want = whole[offset:offset + size] if name[6:] in names else None
            assert contents(cut, name) == want, name
    was, now = contents(whole, ".debug_line"), contents(cut, ".debug_line")
    kept = [i for i in range(len(was)) if was[i] != now[i]]
    length = len(b"\x03\x01\x01\x02\x01") * 39
    sequences = sum(1 for name in sections(whole) if name.startswith(".text."))
    changed = {i // (length + 14) for i in (k - (len(was) - sequences * (length + 14)) for k in kept)}
    assert changed == set(range(sequences)) - {int(n[1:]) for n in names}, sorted(set(range(sequences)) - changed)


if sys.argv[1] == "make":
    make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    compare(sys.argv[2], sys.argv[3], sys.argv[4:])
