# SPDX-License-Identifier: Apache-2.0
"""Stalls one process or thread after the other for 50 to 250 ms, as a hypervisor does that gives its processor to others. Needs cgroups of
version 1 that may be written. A process of ours is frozen. A program that must not notice gets next to no time on a processor instead:
the freezer ends some waits with EINTR."""
import os
import random
import threading
import time

CGROUPS = "/sys/fs/cgroup"
PERIOD_US, QUOTA_US = 250000, 1000


def write(path, text):
    try:
        with open(path, "w") as f:
            f.write(str(text))
        return True
    except OSError:
        return False


def is_possible():
    return all(os.access("%s/%s/cgroup.procs" % (CGROUPS, kind), os.W_OK) for kind in ("freezer", "cpu"))


class Group:
    """A cgroup in which nothing runs, or next to nothing."""

    def __init__(self, kind, **values):
        self.parent = "%s/%s" % (CGROUPS, kind)
        self.folder = "%s/aiflame-matrix-%d" % (self.parent, os.getpid())
        os.makedirs(self.folder, exist_ok=True)
        for name, value in values.items():
            write("%s/%s.%s" % (self.folder, kind, name), value)

    def stall(self, file, number, seconds):
        if not write("%s/%s" % (self.folder, file), number):
            return False
        time.sleep(seconds)
        write("%s/%s" % (self.parent, file), number)
        return True

    def remove(self):
        """What was forked meanwhile is in it, too."""
        for _ in range(100):
            try:
                with open(self.folder + "/cgroup.procs") as f:
                    for pid in f.read().split():
                        write(self.parent + "/cgroup.procs", pid)
                os.rmdir(self.folder)
                return
            except OSError:
                time.sleep(0.05)


class Stalls:
    """program, ours: functions that list the processes to choose from, called before each stall. Counts stalls in .n."""

    def __init__(self, program, ours):
        self.choices = ((program, "cpu"), (ours, "freezer"))
        self.random, self.n, self.over = random.Random(), 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.groups = {"cpu": Group("cpu", cfs_period_us=PERIOD_US, cfs_quota_us=QUOTA_US),
                       "freezer": Group("freezer", state="FROZEN")}
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        write(self.groups["freezer"].folder + "/freezer.state", "THAWED")
        for group in self.groups.values():
            group.remove()

    def stall(self, find, kind):
        file, number = "cgroup.procs", self.random.choice(find() or [0])
        if not number:
            return
        if self.random.random() < 0.5:
            try:
                file, number = "tasks", self.random.choice(os.listdir("/proc/%d/task" % number))
            except OSError:
                return
        self.n += self.groups[kind].stall(file, number, self.random.uniform(0.05, 0.25))

    def run(self):
        while not self.over.is_set():
            self.stall(*self.random.choice(self.choices))
            self.over.wait(self.random.uniform(0, 0.05))
