#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""long.py [--aiflame FILE] [--ops] [--memory MB] [--only NAME,...] [LAUNCHES...]: what views of long recordings take, and
the import of what `export` wrote of them: CPU seconds of user and kernel, elapsed seconds and peak resident memory of
each, of profiles that long_profile wrote (0.05, 0.2, 0.8 and 3.2 million launches unless others are given).

With --memory each runs in a cgroup of so many MiB (version 1, which root may make), without swap, with none of its input
in the page cache: then the peak is the cgroup's, which counts pages of files, too, and beside it stand the peak of
anonymous memory (looked at 50 times a second), how often the limit was met (failcnt), and what was read from the disk."""
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build"))
CGROUPS = "/sys/fs/cgroup/memory"
COMMANDS = [("why", "p.data", ["why", "-i"]), ("report", "p.data", ["report", "-i"]),
            ("report --idle", "p.data", ["report", "--idle", "-i"]),
            ("flame", "p.data", ["flame", "-o", "f.svg", "-i"]), ("view", "p.data", ["view", "-o", "v.html", "-i"]),
            ("export", "p.data", ["export", "--format", "chrome", "-o", "e.json", "--max-size", "100G", "-i"]),
            ("import", "e.json", ["import", "-o", "i.data"])]


class Cgroup:
    """A memory cgroup of version 1 for one command."""

    def __init__(self, megabytes):
        self.path = os.path.join(CGROUPS, "aiflame-long-%d" % os.getpid())
        os.mkdir(self.path)
        self.write("memory.limit_in_bytes", megabytes << 20)
        self.write("memory.swappiness", 0)
        self.anonymous = 0

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as f:
            f.write("%d" % value)

    def read(self, name):
        with open(os.path.join(self.path, name)) as f:
            return f.read()

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def look(self):
        self.anonymous = max(self.anonymous, int(dict(line.split() for line in self.read("memory.stat").splitlines())["rss"]))

    def end(self):
        """Removes it; returns what it saw, as text."""
        text = "%.0f MB, %.0f MB anonymous, limit met %s times" % (
            int(self.read("memory.max_usage_in_bytes")) / 1e6, self.anonymous / 1e6, self.read("memory.failcnt").strip())
        self.write("memory.force_empty", 0)
        os.rmdir(self.path)
        return text


def uncache(path):
    """Takes a file's pages out of the page cache, so that the cgroup pays for those that the command reads."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def take(command, reads, megabytes):
    """Runs it; returns what it took, as text."""
    group = None
    if megabytes:
        uncache(reads)
        group = Cgroup(megabytes)
    begin = time.monotonic()
    child = subprocess.Popen(command + [reads], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             preexec_fn=group.enter if group else None)
    pid = 0
    while not pid:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG if group else 0)
        if not pid:
            group.look()
            time.sleep(0.02)
    child.returncode = status
    text = "%s%.2f + %.2f s in %.0f s, " % ("" if status == 0 else "failed (status %#x) after " % status, usage.ru_utime,
                                           usage.ru_stime, time.monotonic() - begin)
    if not group:
        return text + "%.0f MB" % (usage.ru_maxrss / 1024)
    return text + group.end() + ", read %.1f GB" % (usage.ru_inblock * 512 / 1e9)


def option(words, name, default):
    """Takes an option with a value out of the words; returns its value."""
    if name not in words:
        return default
    at = words.index(name)
    value = words[at + 1]
    del words[at:at + 2]
    return value


def main():
    words, kind = sys.argv[1:], []
    aiflame = os.path.abspath(option(words, "--aiflame", os.path.join(BUILD, "src", "aiflame")))
    megabytes, only = int(option(words, "--memory", 0)), option(words, "--only", None)
    if megabytes and not os.access(os.path.join(CGROUPS, "memory.limit_in_bytes"), os.W_OK):
        sys.exit("long.py: no memory cgroup of version 1 can be made in %s; run without --memory" % CGROUPS)
    commands = [c for c in COMMANDS if not only or c[0] in only.split(",")]
    if "--ops" in words:
        words.remove("--ops")
        kind = ["ops"]
    sizes = [int(float(w)) for w in words] or [50000, 200000, 800000, 3200000]
    subprocess.run(["ninja", "-C", BUILD, "bench/long_profile"], check=True, stdout=subprocess.DEVNULL)
    print("| launches | command | took |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        for n in sizes:
            subprocess.run([os.path.join(BUILD, "bench", "long_profile"), "p.data", str(n)] + kind, check=True)
            for name, reads, command in commands:
                print("| %g million | %s | %s |" % (n / 1e6, name, take([aiflame] + command, reads, megabytes)), flush=True)
            for name in ("p.data", "e.json"):
                if os.path.exists(name):
                    print("| %g million | %s | %.1f MB |" % (n / 1e6, name, os.path.getsize(name) / 1e6), flush=True)


main()
