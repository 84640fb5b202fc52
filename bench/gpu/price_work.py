# SPDX-License-Identifier: Apache-2.0
"""Programs for bench/gpu/price, launch-bound most of them, which work when they are told to.

    price_work.py NAME IN OUT [tp-cuda|tp-all|tp-stack]

A line of IN, a FIFO, has the seconds of a turn; a line of OUT answers with the steps made in it, and the wall, process CPU and
thread CPU seconds that they took. 0 seconds end the program. tp-*: it profiles itself with torch.profiler."""
import os
import sys
import time


def torch_steps(make):
    """A step of a program of PyTorch, which waits for its device at its end."""
    import torch

    torch.manual_seed(1)
    run = make(torch)

    def step():
        run()
        torch.cuda.synchronize()

    return step


def gp(torch):
    import gpytorch as g

    x = torch.linspace(0, 1, 2000, device="cuda")
    y = torch.sin(12 * x) + 0.1 * torch.randn_like(x)

    class Model(g.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean, self.kernel = g.means.ConstantMean(), g.kernels.ScaleKernel(g.kernels.RBFKernel())

        def forward(self, at):
            return g.distributions.MultivariateNormal(self.mean(at), self.kernel(at))

    likelihood = g.likelihoods.GaussianLikelihood().cuda()
    model = Model(likelihood).cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    loss = g.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def run():
        optimizer.zero_grad()
        (-loss(model(x), y)).backward()
        optimizer.step()

    return run


def resnet(torch):
    import torchvision

    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    x = torch.randn(16, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    y = torch.zeros(16, dtype=torch.long, device="cuda")

    def run():
        with torch.autocast("cuda"):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return run


def llama(torch):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16, num_key_value_heads=4, vocab_size=8000)
    return LlamaForCausalLM(config).half().cuda().eval()


def decode(torch):
    model, state = llama(torch), {"n": 0, "past": None}
    token = torch.ones(1, 1, dtype=torch.long, device="cuda")

    def run():
        with torch.inference_mode():
            r = model(token, past_key_values=state["past"] if state["n"] % 64 else None, use_cache=True)
        state["past"], state["n"] = r.past_key_values, state["n"] + 1
        int(r.logits[0, -1].argmax())

    return run


def prefill(torch):
    model = llama(torch)
    prompt = torch.ones(1, 200, dtype=torch.long, device="cuda")

    def run():
        with torch.inference_mode():
            model(prompt, use_cache=False)

    return run


def gnn(torch):
    from torch_geometric.nn import GCNConv

    n = 4000
    x, edges = torch.randn(n, 64, device="cuda"), torch.randint(0, n, (2, 20000), device="cuda")
    y = torch.zeros(n, dtype=torch.long, device="cuda")
    a, b = GCNConv(64, 64).cuda(), GCNConv(64, 10).cuda()
    optimizer = torch.optim.Adam([*a.parameters(), *b.parameters()])

    def run():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(b(a(x, edges).relu(), edges), y).backward()
        optimizer.step()

    return run


def item(torch):
    """Looks at its loss after each small layer."""
    layers = [torch.nn.Linear(256, 256).cuda() for _ in range(20)]
    x = torch.randn(64, 256, device="cuda")

    def run():
        with torch.no_grad():
            h = x
            for layer in layers:
                h = torch.nn.functional.layer_norm(layer(h).relu() + h, (256,))
                h.abs().max().item()

    return run


def lora(torch):
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(llama(torch).float(), LoraConfig(target_modules=["q_proj", "v_proj"])).train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    ids = torch.ones(2, 64, dtype=torch.long, device="cuda")

    def run():
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()

    return run


def diffusion(torch):
    """Steps of a denoiser of convolutions and attention over 32 x 32, double precision apart from the step's weights."""
    n = torch.nn
    blocks = n.ModuleList(n.ModuleDict({"norm": n.GroupNorm(8, 64), "conv": n.Conv2d(64, 64, 3, padding=1), "mix": n.MultiheadAttention(64, 4, batch_first=True)})
                          for _ in range(8)).cuda().half()
    x = torch.randn(1, 64, 32, 32, device="cuda").half()

    def run():
        with torch.no_grad():
            h = x
            for b in blocks:
                h = h + b["conv"](n.functional.silu(b["norm"](h)))
                t = h.flatten(2).transpose(1, 2)
                h = h + b["mix"](t, t, t, need_weights=False)[0].transpose(1, 2).reshape(h.shape)

    return run


def graphs(torch):
    """Replays of a graph of 240 small kernels."""
    x = torch.randn(64, 256, device="cuda")
    layers = [torch.nn.Linear(256, 256).cuda() for _ in range(60)]
    graph = torch.cuda.CUDAGraph()

    def forward():
        with torch.no_grad():
            h = x
            for layer in layers:
                h = torch.nn.functional.layer_norm(layer(h).relu() + h, (256,))
        return h

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        forward()
    side.synchronize()
    with torch.cuda.graph(graph):
        forward()
    return graph.replay


def compiled(torch):
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.LayerNorm(256)) for _ in range(20))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    fast = torch.compile(model)
    x = torch.randn(64, 256, device="cuda")

    def run():
        optimizer.zero_grad()
        fast(x).square().mean().backward()
        optimizer.step()

    return run


def cupy_step():
    import cupy

    x = cupy.random.random((256, 256), dtype=cupy.float32)

    def step():
        h = x
        for _ in range(100):
            h = cupy.tanh(h * 0.5 + x) - h.mean()
        float(h.sum())

    return step


def jax_step():
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", ".05")
    import jax
    import jax.numpy as jnp

    x = jnp.ones((256, 256))

    def step():
        h = x
        for _ in range(100):
            h = jnp.tanh(h @ x * 1e-3) + x
        jax.block_until_ready(h)

    return step


TORCH = {f.__name__: f for f in (gp, resnet, decode, prefill, gnn, item, lora, diffusion, graphs, compiled)}
OTHERS = {"cupy": cupy_step, "jax": jax_step}


def main():
    name, requests, answers = sys.argv[1:4]
    way = sys.argv[4] if len(sys.argv) > 4 else ""
    step = torch_steps(TORCH[name]) if name in TORCH else OTHERS[name]()
    for _ in range(8):
        step()
    profiler = None
    if way:
        from torch.profiler import ProfilerActivity as A, profile

        profiler = profile(activities=[A.CUDA] if way == "tp-cuda" else [A.CPU, A.CUDA], with_stack=way == "tp-stack")
        profiler.start()
    with open(requests) as turns, open(answers, "w") as out:
        for line in turns:
            if float(line) <= 0:
                break
            step()
            n, begin = 0, (time.monotonic(), time.process_time(), time.thread_time())
            while time.monotonic() < begin[0] + float(line):
                step()
                n += 1
            end = (time.monotonic(), time.process_time(), time.thread_time())
            print(n, *(b - a for a, b in zip(begin, end)), file=out, flush=True)
    if profiler:
        profiler.stop()


main()
