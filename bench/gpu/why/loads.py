# SPDX-License-Identifier: Apache-2.0
"""Training whose two DataLoader workers sleep as if they read from a remote disk: the loop waits in its `for`."""
import time

import torch

from truth import Loop

device = "cuda" if torch.cuda.is_available() else "cpu"


class Remote(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.full((256,), float(i % 17)), i % 10


def train_epoch():
    model = torch.nn.Sequential(torch.nn.Linear(256, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Remote(), batch_size=16, num_workers=2)
    loop = None
    waited = 0.0
    begin = time.perf_counter()
    for x, y in loader:
        now = time.perf_counter()
        if loop is None:
            loop = Loop(train_epoch, "for x, y")
        else:
            loop.of["train_epoch"] = loop.of.get("train_epoch", 0) + now - begin
        if not loop.goes_on():
            break
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        waited += loss.item()
        begin = time.perf_counter()
    loop.tell()


train_epoch()
