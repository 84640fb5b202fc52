# SPDX-License-Identifier: Apache-2.0
import sys
import threading

done = threading.Event()
sums = [0] * 50


def work(i):
    while not done.is_set():
        sums[i] = sum(k * k for k in range(500))
        done.wait(0.002)


threads = [threading.Thread(target=work, args=(i,)) for i in range(50)]
for t in threads:
    t.start()
sys.stdin.read()
done.set()
for t in threads:
    t.join()
print(set(sums))
sys.exit(25)
