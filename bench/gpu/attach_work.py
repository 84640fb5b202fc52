# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody prepared, for bench/gpu/attach, beside those of tests/gpu/inject_work.py.

    attach_work.py ddp FILE RANK PORT   one of two ranks on one GPU, until FILE is there
    attach_work.py serve FILE PORT      a server of a language model, until FILE is there

Both print "NAME: ready" on stderr. ddp compares each round's weights with the first round's, and prints at the end how many rounds
differed, and a number that depends on the weights. serve answers GET / with the tokens of a fixed prompt."""
import hashlib
import http.server
import os
import sys
import threading
import time

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def say_ready(name):
    print(name + ": ready", file=sys.stderr, flush=True)


def ddp(until, rank, port):
    """gloo: NCCL refuses two ranks on one GPU."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:" + port, rank=int(rank), world_size=2)
    torch.use_deterministic_algorithms(True)
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(int(rank))).to(device)

    def ddp_round():
        torch.manual_seed(1)
        layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).to(device)
        model = torch.nn.parallel.DistributedDataParallel(layers)
        optimizer = torch.optim.SGD(model.parameters(), 1e-2)
        for _ in range(10):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        return torch.cat([p.detach().flatten() for p in model.parameters()]).cpu().numpy().tobytes()

    first, n, differ, over = ddp_round(), 0, 0, torch.zeros(1)
    say_ready("ddp")
    # Both ranks end after the same round.
    while not over.item():
        differ += ddp_round() != first
        n += 1
        over.fill_(os.path.exists(until))
        dist.all_reduce(over)
    dist.destroy_process_group()
    print("ddp: %s, result %s" % ("all equal" if n and not differ else "%d of %d differ" % (differ, n),
                                  hashlib.sha256(first).hexdigest()[:12]), flush=True)


TOKENS, VOCABULARY = 16, 2000


def rescore(words):
    """The server's own fault: some ms of Python for each token, in which the device waits."""
    score = 0.0
    for word in words:
        for k in range(1500):
            score += (word * k) % 7
    return score


class Penalty:
    """Depends on the prompt only."""

    def __init__(self, words):
        self.words = words

    def __call__(self, ids, scores):
        return scores + rescore(self.words) % 3


def serve(until, port):
    from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessorList

    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8,
                                         num_key_value_heads=8, vocab_size=VOCABULARY)).to(device).eval()
    words = list(range(1, 17))
    prompt, one_at_a_time = torch.tensor([words], device=device), threading.Lock()

    @torch.inference_mode()
    def answer():
        with one_at_a_time:
            ids = model.generate(prompt, max_new_tokens=TOKENS, do_sample=False, pad_token_id=0, eos_token_id=None,
                                 logits_processor=LogitsProcessorList([Penalty(words)]))
        return " ".join(map(str, ids[0].tolist()))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = answer().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    answer()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    say_ready("serve")
    while not os.path.exists(until):
        time.sleep(0.1)
    server.shutdown()
    print("serve: all equal", flush=True)


if __name__ == "__main__":
    {"ddp": ddp, "serve": serve}[sys.argv[1]](*sys.argv[2:])
