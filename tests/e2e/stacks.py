# SPDX-License-Identifier: Apache-2.0
"""Threads whose Python stacks are known: the outer function is called by C, which Python calls."""
import sys
import threading
import time

lock = threading.Lock()
spinning = threading.Event()


def innermost():
    time.sleep(10000)


def key(x):
    innermost()
    return x


class Caller:
    def call(self):
        return sorted([2, 1], key=key)


def wait_for_lock():
    with lock:
        pass


def spin():
    spinning.set()
    x = 0
    while True:
        x += 1


def main():
    lock.acquire()
    threading.Thread(target=wait_for_lock, daemon=True).start()
    threading.Thread(target=spin, daemon=True).start()
    spinning.wait()
    print("ready", flush=True)
    Caller().call()


main()
