# SPDX-License-Identifier: Apache-2.0
"""Training of torchvision's ResNet-50 on made-up images that six worker processes load: python3 resnet_workers.py [SECONDS]."""
import sys
import time

import torch
import torchvision
from torchvision import transforms


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
    torch.manual_seed(0)
    change = transforms.Compose([transforms.RandomResizedCrop(160), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
    data = torchvision.datasets.FakeData(1000000, (3, 224, 224), 1000, change)
    loader = torch.utils.data.DataLoader(data, batch_size=48, num_workers=6, pin_memory=True)
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    steps, begin = 0, 0
    for images, labels in loader:
        if steps == 5:
            torch.cuda.synchronize()
            print("ready", file=sys.stderr, flush=True)
            begin = time.time()
        images = images.cuda(non_blocking=True).to(memory_format=torch.channels_last)
        labels = labels.cuda(non_blocking=True)
        with torch.autocast("cuda", torch.float16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if begin and time.time() > begin + seconds:
            break
    torch.cuda.synchronize()
    print(f"steps {steps - 5} in {time.time() - begin:.2f} s, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
