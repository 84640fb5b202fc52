# SPDX-License-Identifier: Apache-2.0
"""Eager decoding with transformers' Llama: python3 hf_generate.py [SECONDS]. Prints milliseconds per token."""
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

TOKENS = 128
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 12

config = LlamaConfig(hidden_size=2048, intermediate_size=5504, num_hidden_layers=16, num_attention_heads=16,
                     num_key_value_heads=16, vocab_size=32000)
torch.manual_seed(0)
model = LlamaForCausalLM(config).half().cuda().eval()
prompt = torch.randint(0, 32000, (1, 64), device="cuda")
times = []
with torch.inference_mode():
    for warm_up in range(2):
        model.generate(prompt, max_new_tokens=TOKENS, do_sample=False, pad_token_id=0)
    torch.cuda.synchronize()
    print("ready", file=sys.stderr, flush=True)
    end = time.time() + seconds
    while time.time() < end:
        start = time.time()
        model.generate(prompt, max_new_tokens=TOKENS, do_sample=False, pad_token_id=0)
        torch.cuda.synchronize()
        times.append((time.time() - start) / TOKENS * 1e3)
times.sort()
print(f"ms/token: least {times[0]:.3f}, median {times[len(times) // 2]:.3f}, {len(times)} rounds")
