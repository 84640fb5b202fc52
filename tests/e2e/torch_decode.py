# SPDX-License-Identifier: Apache-2.0
"""A transformer that decodes token after token on the CPU, and trains: torch_decode.py HOOK check LOG COUNT
or torch_decode.py HOOK bench ROUNDS. HOOK is torch_hook.c, preloaded too."""

import ctypes
import math
import os
import re
import sys
import threading

import torch
from torch import nn

hook_path, what = sys.argv[1:3]
hook = ctypes.PyDLL(hook_path)
assert ctypes.CDLL(None).aif_fake_run(b"generate kernels=20 streams=3") == 0
OFF, EMPTY, LAUNCH, CAPTURE, MEMO, PLAIN, LIBUNWIND, GLIBC = range(8)
CHECK = 9
torch.set_num_threads(1)
torch.manual_seed(1)
WIDTH, HEADS, LAYERS, WORDS = 64, 4, 8, 500


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.layer = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.layer(x) * self.scale


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.keys, self.values, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], -1, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x, past):
        q, k, v = self.split(self.query(x)), self.split(self.keys(x)), self.split(self.values(x))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        weights = torch.softmax(q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS), -1)
        mixed = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.out(mixed), (k, v)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.before, self.between = Attention(), Norm(), Norm()
        self.forth = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, past):
        mixed, past = self.attention(self.before(x), past)
        x = x + mixed
        return x + self.forth(self.between(x)), past


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), Norm()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words, past):
        x, kept = self.words(words), []
        for i, layer in enumerate(self.layers):
            x, k = layer(x, past[i] if past else None)
            kept.append(k)
        return self.head(self.norm(x)), kept


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = Decoder()

    def forward(self, words, past):
        return self.decoder(words, past)


model = Generator().eval()
LENGTH = 32


class Text:
    """Grows by a token at a time, and begins anew when it is full."""

    def __init__(self):
        self.past = self.word = None

    @torch.no_grad()
    def tokens(self, n):
        for _ in range(n):
            if self.past is None or self.past[0][0].shape[2] >= LENGTH:
                self.past, self.word = None, torch.zeros((1, 1), dtype=torch.long)
            out, self.past = model(self.word, self.past)
            self.word = out[:, -1:].argmax(-1)


tokens = Text().tokens


def train(n):
    model.train()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(n):
        out, _ = model(torch.randint(0, WORDS, (2, 8)), None)
        out.pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()


def check(log, count):
    hook.hook_mode(CHECK)
    while True:
        other = threading.Thread(target=Text().tokens, args=(32,))
        other.start()
        tokens(64)
        other.join()
        train(4)
        hook.hook_mode(OFF)
        done = hook.hook_write(log.encode())
        if done < 0 or done >= count:
            break
        hook.hook_mode(CHECK)
    print(done, "launches")
    return 0 if done >= count else 1


# ---- bench ---------------------------------------------------------------------------------------


def mapped():
    """Private memory without a file, as ranges. In small steps, which map nothing themselves."""
    maps = os.open("/proc/self/maps", os.O_RDONLY)
    ranges, text = [], b""
    while True:
        piece = os.read(maps, 4096)
        if not piece:
            break
        lines = (text + piece).split(b"\n")
        text = lines.pop()
        for line in lines:
            m = re.match(rb"([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0 *$", line)
            if m:
                ranges.append((int(m[1], 16), int(m[2], 16)))
    os.close(maps)
    return ranges


def added(before, after):
    """What of `after` was not in `before`."""
    pages = []
    for lo, hi in after:
        at = lo
        for a, b in before:
            if b > at and a < hi:
                pages += range(at, max(a, at), 4096)
                at = b
        pages += range(at, hi, 4096)
    return pages


def resident(pages):
    n = 0
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for page in pages:
            pagemap.seek(page // 4096 * 8)
            n += pagemap.read(8)[7] >> 7
    return n * 4096


def times(mode):
    ns = (ctypes.c_double * 4)()
    return hook.hook_times(mode, ns), list(ns)


def bench(rounds):
    names = {EMPTY: "nothing", LAUNCH: "the agent's launch", CAPTURE: "its capture alone", MEMO: "native: memo", PLAIN: "native: unwound",
             LIBUNWIND: "native: libunwind's cache", GLIBC: "native: glibc"}
    tokens(4)
    hook.hook_mode(OFF)
    mapped()  # the memory that this needs itself
    before = mapped()
    hook.hook_mode(LAUNCH)
    torch.zeros(100)
    hook.hook_mode(OFF)
    after = mapped()
    agents = added(before, after)
    order = list(names)
    medians = {mode: [] for mode in order}
    tails = {mode: [] for mode in order}
    for mode in order:  # once, to know the stacks
        hook.hook_mode(mode)
        tokens(2 * LENGTH)
        hook.hook_mode(OFF)
        times(mode)
    launches = 0
    for i in range(rounds):
        for mode in order if i % 2 == 0 else order[::-1]:
            hook.hook_mode(mode)
            tokens(LENGTH)
            hook.hook_mode(OFF)
            n, ns = times(mode)
            launches += n if mode == LAUNCH else 0
            if n:
                medians[mode].append(ns[1])
                tails[mode].append(ns[3])
    middle = lambda list: sorted(list)[len(list) // 2]
    for mode in order:
        if medians[mode]:
            print("%-28s median %6.0f ns [%.0f .. %.0f], p99 %6.0f ns [%.0f .. %.0f]" % (
                names[mode], middle(medians[mode]), min(medians[mode]), max(medians[mode]),
                middle(tails[mode]), min(tails[mode]), max(tails[mode])))
        else:
            print("%-28s not here" % names[mode])

    def ratio(what, a, b, bar):
        if medians[a] and medians[b]:
            each = sorted(x / y for x, y in zip(medians[a], medians[b]))
            print("%-28s %.1f times [%.1f .. %.1f] (bar %s)" % (what, middle(each), each[0], each[-1], bar))

    print("bars: capture median 350 ns, p99 3000 ns; of %d launches, all of the agent's work in them" % launches)
    ratio("glibc / capture", GLIBC, CAPTURE, "60")
    ratio("glibc / launch", GLIBC, LAUNCH, "none: two records and clocks too")
    ratio("libunwind / native memo", LIBUNWIND, MEMO, "3")
    memo = (ctypes.c_double * 2)()
    hook.hook_memo(memo)
    print("memo hits %.2f %% (bar 99), memo resident %.0f KB" % (memo[0] * 100, memo[1] / 1024))
    print("agent, this thread: %.0f KB resident of %d (bar 1536)" % (resident(agents) / 1024, len(agents) * 4))


if what == "check":
    # Compiled and cached before: the import of what training needs, with its own launches.
    train(1)
    sys.exit(check(sys.argv[3], int(sys.argv[4])))
bench(int(sys.argv[3]))
