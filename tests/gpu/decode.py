# SPDX-License-Identifier: Apache-2.0
"""Eager decoding with a small Llama of random weights: many short launches.  decode.py [TOKENS]
Or its reading of prompts of 2,048 tokens: fewer and longer ones.          decode.py PROMPTS prefill"""
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def make_model():
    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=16,
                         num_attention_heads=16, num_key_value_heads=16, vocab_size=32000)
    return LlamaForCausalLM(config).half().cuda().eval()


def step(model, past, token):
    with torch.no_grad():
        out = model(input_ids=token, past_key_values=past, use_cache=True)
    return out.past_key_values, out.logits[:, -1:].argmax(-1)


def decode(model, prompt, tokens):
    past, token = step(model, None, prompt)
    for _ in range(tokens):
        past, token = step(model, past, token)
    torch.cuda.synchronize()


def main():
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    torch.manual_seed(1)
    model = make_model()
    if sys.argv[2:] == ["prefill"]:
        prompt = torch.randint(0, 32000, (1, 2048), device="cuda")
        for _ in range(tokens):
            step(model, None, prompt)
        torch.cuda.synchronize()
        return
    prompt = torch.randint(0, 32000, (1, 16), device="cuda")
    decode(model, prompt, 20)
    print("ready", file=sys.stderr, flush=True)
    begin = time.perf_counter()
    for _ in range(0, tokens, 100):
        decode(model, prompt, min(tokens, 100))
    print("%.3f ms a token" % ((time.perf_counter() - begin) / tokens * 1000))


if __name__ == "__main__":
    main()
