# SPDX-License-Identifier: Apache-2.0
"""Training of a small convolutional network with Lightning: python3 lightning.py [SECONDS]."""
import logging
import sys
import time
import warnings

import pytorch_lightning as pl
import torch

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8


class Network(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(64, 128, 3, stride=2), torch.nn.ReLU(),
                                          torch.nn.Conv2d(128, 256, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                                          torch.nn.Linear(256, 10))

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.layers(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


class Clock(pl.Callback):
    begin = steps = 0

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        if index == 5:
            torch.cuda.synchronize()
            print("ready", file=sys.stderr, flush=True)
            self.begin = time.time()
        self.steps = index - 5
        trainer.should_stop = bool(self.begin) and time.time() > self.begin + seconds


class Images(torch.utils.data.Dataset):
    images = torch.randn(2048, 3, 64, 64)

    def __len__(self):
        return 10000000

    def __getitem__(self, i):
        return self.images[i % 2048], i % 10


clock = Clock()
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                     enable_model_summary=False, callbacks=[clock])
trainer.fit(Network(), torch.utils.data.DataLoader(Images(), batch_size=256))
torch.cuda.synchronize()
print(f"steps {clock.steps} in {time.time() - clock.begin:.2f} s")
