# SPDX-License-Identifier: Apache-2.0
"""A server of the kind of sglang's: clients put requests into a queue, an engine thread takes them into a running batch, matches their
prefixes in a tree in pure Python, decodes one token for all, and a second thread makes texts of the tokens."""
import queue
import random
import threading

import torch

from truth import Loop

device = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, LAYERS, BATCH = 1024, 12, 16
random.seed(0)
weights = [torch.randn(WIDTH, WIDTH, device=device) / WIDTH ** 0.5 for _ in range(LAYERS)]
head = torch.randn(WIDTH, 4096, device=device) / WIDTH ** 0.5
table = torch.randn(4096, WIDTH, device=device)
requests, tokens = queue.Queue(), queue.Queue()


class PrefixTree:
    def __init__(self):
        self.root = {}

    def match(self, words):
        """Returns how much of a prompt is known, and keeps it."""
        node, known = self.root, 0
        for word in words:
            known += word in node
            node = node.setdefault(word, {})
        return known


class Engine:
    def __init__(self):
        self.running, self.tree = [], PrefixTree()

    def schedule(self):
        """Takes requests while there is room, and scores each that runs by its prompt: about 5 ms of Python."""
        while len(self.running) < BATCH:
            self.running.append(requests.get())
        for request in self.running:
            with self.loop.in_function("match"):
                request["known"] = self.tree.match(request["prompt"])
        self.running.sort(key=lambda request: -request["known"])

    @torch.no_grad()
    def forward(self, last):
        x = table[last]
        for w in weights:
            x = torch.nn.functional.silu(x @ w) + x
            x = x / x.norm(dim=-1, keepdim=True) * WIDTH ** 0.5
        return (x @ head).argmax(-1)

    def event_loop(self):
        self.forward(torch.zeros(BATCH, dtype=torch.long, device=device)).tolist()
        self.loop = loop = Loop(Engine.event_loop, "while")
        while loop.goes_on():
            self.schedule()
            last = torch.tensor([request["last"] for request in self.running], device=device)
            new = self.forward(last).tolist()
            for request, token in zip(list(self.running), new):
                request["last"], request["left"] = token, request["left"] - 1
                if not request["left"]:
                    self.running.remove(request)
                    tokens.put(request)
        tokens.put(None)


def detokenize():
    """Makes texts, and asks for more as a client does that has its answer."""
    while True:
        request = tokens.get()
        if request is None:
            return
        "".join(chr(97 + request["last"] * i % 26) for i in range(200))
        ask()


def ask():
    requests.put({"prompt": [random.randrange(50) for _ in range(4000)], "last": 1, "left": random.randint(20, 60), "known": 0})


for _ in range(2 * BATCH):
    ask()
engine = Engine()
threads = [threading.Thread(target=engine.event_loop, name="engine"), threading.Thread(target=detokenize, name="detokenizer")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
engine.loop.tell()
