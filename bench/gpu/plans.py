# SPDX-License-Identifier: Apache-2.0
"""Attention over another length in each step: cuDNN compiles a plan for each, and the driver loads its code late.  plans.py [SECONDS]"""
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 10)
q = torch.randn(1, 16, 1, 64, device="cuda", dtype=torch.half)
n = 0
with torch.no_grad(), sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
    while time.monotonic() < end:
        n += 1
        k = torch.randn(1, 16, 16 + n, 64, device="cuda", dtype=torch.half)
        for _ in range(200):
            out = attention(q, k, k)
        float(out.sum())
print("lengths %d" % n)
