#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU shares of programs with system calls, by `aiflame record --cpu` and by `perf record`: bench/cpu_perf.py [PROGRAM...], with
BUILD_DIR, ROUNDS (6), BUDGET_S (540), CLOCK (auto) and UPDATE=1, which writes the tables into bench/results/cpu-perf.md.

Without arguments the programs are those of EIGHT. A round runs each of them unrecorded, recorded by perf at 999 Hz of CPU time (`-e
cpu-clock --call-graph dwarf`) and by aiflame with `--cpu-clock CLOCK`, at 999 Hz or, with CLOCK=auto, the rate that `record`
chooses; who is first changes from round to round. There are ROUNDS of them, fewer where the next one would not end within BUDGET_S,
at least two. A row is a function that has 5 % or more in perf's or aiflame's mean: its share by itself, and with what it calls. Code
that was inlined counts for the function that it is in. Functions of the OS kernel are one, `[kernel]`, in both: that is what a
recording without privileges can have. Functions without a name are one for each file, and interrupts count for the function that
they came upon.

What is right is perf's mean or, for functions of the server and of threads-*, which measure around each call by their threads' own
clocks, the mean of those: perf's timer begins anew with each thread, and so meets the end of those that live 1 ms. A row is right
where aiflame's mean is within 3 points of it, or between the least and the most of its rounds. perf has two answers about the
server, as it samples one program, whose timer begins anew with each switch of threads, or the whole machine (`perf record -a`): what
lies between its threads' clocks and the latter, or within 3 points of one of them, is right. Exit status 1: a row that is not, or a
recording's total of more than 1 % from what getrusage() says of the recorded command."""
import collections
import datetime
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.environ.get("BUILD_DIR", os.path.join(root, "build"))
aiflame = os.path.join(build, "src/aiflame")
rounds = int(os.environ.get("ROUNDS", "6"))
budget_s = float(os.environ.get("BUDGET_S", "540"))
clock = os.environ.get("CLOCK", "auto")
BAR, LEAST, TOTAL_BAR = 3.0, 5.0, 1.0
EIGHT = ["dd-null", "sort", "gzip", "python-files", "server", "sqlite", "tar-xz", "threads"]
USER = "parse", "answer", "hash", "divide"  # functions that are timed and make no system calls, or few
LEAVES = "parse", "hash", "divide"  # ... and call nothing
results = os.path.join(root, "bench/results/cpu-perf.md")
MARKS = "<!-- begin: bench/cpu_perf.py -->", "<!-- end: bench/cpu_perf.py -->"

THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;
__attribute__((noinline)) static uint64_t hash(const unsigned char *p, size_t n)
{
	uint64_t h = 1469598103934665603u;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}
__attribute__((noinline)) static void load(int fd, unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i += 4096)
		if (pread(fd, p + i, 4096, (off_t)i) != 4096)
			abort();
}
__attribute__((noinline)) static void add(uint64_t h)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&lock);
		sum += h;
		pthread_mutex_unlock(&lock);
	}
}
static void *work(void *arg)
{
	unsigned char *p = malloc(1 << 20);
	int fd = open(arg, O_RDONLY);
	for (int i = 0; i < 1500; i++) {
		load(fd, p, 1 << 20);
		add(hash(p, 1 << 19));
	}
	free(p);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[4];
	(void)argc;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, argv[1]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return sum == 42;
}
"""
SERVER = r"""
#include <poll.h>
#include <time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef CLOCKS /* each call of the OS kernel, and parse(), by the thread's own clock, less what that takes */
static double base, spent[7];
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
#define CALL(i, x) ({ double from = now(); __typeof__(x) r = (x); spent[i] += now() - from - base; calls++; r; })
static long calls;
static void say(const char *who, const char *const *names)
{
	double all = now() - 2 * base * (double)calls;
	for (int i = 0; i < 7; i++)
		if (names[i])
			fprintf(stderr, "%s %s %.6f %.6f\n", who, names[i], spent[i], all);
}
/* A function that makes a call of the above: less what measures that, too. */
#define AROUND(i, x) do { double from = now(); x; spent[i] += now() - from - 3 * base; calls++; } while (0)
#else
#define CALL(i, x) (x)
#define AROUND(i, x) x
#endif
__attribute__((noinline)) static int parse(const char *p, int n)
{
	int words = 0;
	for (int round = 0; round < 6; round++)
		for (int i = 1; i < n; i++)
			words += p[i - 1] == ' ' && p[i] != ' ';
	return words;
}
__attribute__((noinline)) static void answer(int fd, int words)
{
	char text[2048];
	int n = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", words);
	memset(text + n, 'x', sizeof(text) - (size_t)n);
	if (CALL(0, write(fd, text, sizeof(text))) < 0)
		exit(1);
}
__attribute__((noinline)) static void serve(int fd)
{
	char request[1024];
	struct pollfd p = {fd, POLLIN, 0};
	while (CALL(1, poll(&p, 1, -1)) == 1) {
		ssize_t n = CALL(2, read(fd, request, sizeof(request)));
		if (n <= 0)
			return;
		int words = CALL(3, parse(request, (int)n));
		AROUND(6, answer(fd, words));
	}
}
__attribute__((noinline)) static void ask(int fd)
{
	char request[1024], reply[2048];
	memset(request, 'a', sizeof(request));
	for (int i = 0; i < (int)sizeof(request); i += 7)
		request[i] = ' ';
	for (int i = 0; i < 150000; i++) {
		size_t got = 0;
		if (CALL(4, write(fd, request, sizeof(request))) < 0)
			return;
		while (got < sizeof(reply)) {
			ssize_t n = CALL(5, read(fd, reply, sizeof(reply) - got));
			if (n <= 0)
				return;
			got += (size_t)n;
		}
	}
}
int main(void)
{
	int pair[2];
#ifdef CLOCKS
	base = now();
	for (int i = 0; i < 10000; i++)
		now();
	base = (now() - base) / 10000;
#endif
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	if (!fork()) {
		close(pair[0]);
		ask(pair[1]);
#ifdef CLOCKS
		say("ask", (const char *const[]){0, 0, 0, 0, "write", "read", 0});
#endif
		_exit(0);
	}
	close(pair[1]);
	serve(pair[0]);
	wait(NULL);
#ifdef CLOCKS
	say("serve", (const char *const[]){"write", "poll", "read", "parse", 0, 0, "answer"});
#endif
	return 0;
}
"""
# Threads that live for `ms` of CPU time, `at_once` of them beside each other; as async() of C++ has them, each made anew.
BRIEF = r"""
#include <future>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double ms;
static volatile uint64_t sink;
static double used(clockid_t clock = CLOCK_THREAD_CPUTIME_ID)
{
	timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
#ifdef CLOCKS
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double in_hash, in_divide;
#endif
extern "C" __attribute__((noinline)) uint64_t hash(uint64_t h)
{
	for (int i = 0; i < 30000; i++)
		h = (h ^ h >> 13) * 1099511628211u;
	return h;
}
extern "C" __attribute__((noinline)) uint64_t divide(uint64_t h)
{
	for (int i = 0; i < 3000; i++)
		h = 0xffffffffffffu / ((h & 0xffff) | 1) + i;
	return h;
}
extern "C" __attribute__((noinline)) void *work(void *)
{
	uint64_t s = 1;
#ifdef CLOCKS
	double hashed = 0, divided = 0, then, now;
	do {
		then = used();
		s += hash(s);
		hashed += (now = used()) - then;
		s += divide(s);
		divided += used() - now;
	} while (used() < ms);
	pthread_mutex_lock(&lock);
	in_hash += hashed;
	in_divide += divided;
	pthread_mutex_unlock(&lock);
#else
	do {
		s += hash(s);
		s += divide(s);
	} while (used() < ms);
#endif
	sink += s;
	return NULL;
}
int main(int argc, char **argv)
{
	int at_once = argc > 2 ? atoi(argv[2]) : 1;
	ms = atof(argv[1]);
	for (double done = 0; done < 2000; done += ms * at_once) {
		if (argc > 3) {
			std::async(std::launch::async, work, nullptr).get();
			continue;
		}
		pthread_t t[8];
		for (int i = 0; i < at_once; i++)
			pthread_create(&t[i], NULL, work, NULL);
		for (int i = 0; i < at_once; i++)
			pthread_join(t[i], NULL);
	}
#ifdef CLOCKS
	fprintf(stderr, "all hash %f %f\nall divide %f %f\n", in_hash, used(CLOCK_PROCESS_CPUTIME_ID), in_divide, used(CLOCK_PROCESS_CPUTIME_ID));
#endif
	return 0;
}
"""
PYTHON = r"""
import hashlib, json, os, sys
def write_files(d):
    for i in range(1500):
        with open(os.path.join(d, str(i)), "w") as f:
            json.dump({"n": i, "list": list(range(100))}, f)
def read_files(d):
    h = hashlib.sha256()
    for i in range(1500):
        with open(os.path.join(d, str(i)), "rb") as f:
            h.update(f.read())
    return h
def count():
    words = {}
    for i in range(1200000):
        words[i % 1000] = words.get(i % 1000, 0) + 1
    return words
d = sys.argv[1]
os.makedirs(d, exist_ok=True)
for _ in range(4):
    write_files(d)
    for _ in range(4):
        read_files(d)
    count()
    for name in os.listdir(d):
        os.unlink(os.path.join(d, name))
"""
SQL = """
PRAGMA journal_mode=DELETE;
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INTEGER);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500000) INSERT INTO t SELECT i, 'name ' || i, i * 7919 % 100003 FROM n;
COMMIT;
CREATE INDEX c ON t(c);
SELECT count(*), sum(a) FROM t WHERE c > 50000;
SELECT c % 10, count(*) FROM t GROUP BY 1 ORDER BY 2;
"""


def build_program(work, name, text, suffix="c"):
    with open(f"{work}/{name}.{suffix}", "w") as f:
        f.write(text)
    compiler = "g++" if suffix == "cc" else "gcc"
    subprocess.run([compiler, "-O2", "-g", "-fno-inline-small-functions", "-pthread", "-o", f"{work}/{name}", f"{work}/{name}.{suffix}"], check=True)


def own_clocks(command):
    """Shares of a program's functions by its threads' own clocks, in percent, of one run."""
    rows = [line.split() for line in subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr.splitlines()]
    part = {row[0]: float(row[3]) for row in rows}
    shares_of = collections.Counter({who: 100 * seconds / sum(part.values()) for who, seconds in part.items()})
    for _, what, seconds, _ in rows:
        share = 100 * float(seconds) / sum(part.values())
        shares_of[what] += share
        if what not in USER:
            shares_of["[kernel]"] += share
    return shares_of


def programs(work):
    with open(f"{work}/words", "w") as f:
        n = 1
        for i in range(2700000):
            n = (n * 1103515245 + 12345) % 2**31
            f.write(f"line {n} of {i % 97} words\n")
    with open(f"{work}/files.py", "w") as f:
        f.write(PYTHON)
    with open(f"{work}/sql", "w") as f:
        f.write(SQL)
    build_program(work, "threads", THREADS)
    build_program(work, "server", SERVER)
    subprocess.run(["gcc", "-O2", "-g", "-w", "-DCLOCKS", "-fno-inline-small-functions", "-o", f"{work}/clocks", f"{work}/server.c"], check=True)
    build_program(work, "brief", BRIEF, "cc")
    subprocess.run(["g++", "-O2", "-g", "-DCLOCKS", "-pthread", "-o", f"{work}/brief-clocks", f"{work}/brief.cc"], check=True)
    return {
        "dd": ["dd", "if=/dev/zero", f"of={work}/zero", "bs=16k", "count=100000", "conv=notrunc,nocreat"],
        "dd-null": ["dd", "if=/dev/zero", "of=/dev/null", "bs=4k", "count=6000k"],
        "sort": ["sort", "--parallel=1", "-S", "50M", "-T", work, "-o", f"{work}/sorted", f"{work}/words"],
        "gzip": ["gzip", "-kf", f"{work}/words"],
        "python-files": [sys.executable, f"{work}/files.py", f"{work}/d"],
        "server": [f"{work}/server"],
        "sqlite": ["sh", "-c", f"rm -f {work}/db; exec sqlite3 {work}/db <{work}/sql"],
        "tar-xz": ["sh", "-c", f"cd {root} && tar c src docs tests | xz -1 >{work}/tar.xz"],
        "threads": [f"{work}/threads", f"{work}/words"],
        "threads-1ms": [f"{work}/brief", "1"],
        "threads-2ms": [f"{work}/brief", "2", "2"],
        "threads-5ms": [f"{work}/brief", "5"],
        "async-10ms": [f"{work}/brief", "10", "1", "async"],
        "threads-20ms": [f"{work}/brief", "20", "2"],
        "short": ["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do head -c 6M {work}/words | cksum; done"],
    }


def plain(name, module):
    """One name for all names of a function: of a file without symbols there is the file alone."""
    name = re.sub(r"@@?[A-Z].*$", "", name)
    name = re.sub(r"(\.part|\.isra|\.constprop|\.cold|\.llvm)(\.\d+)*", "", name)
    if not name or name == "[unknown]" or re.match(r"\[[^\]]*\+0x[0-9a-f]+\]$", name):
        inner = re.match(r"\[(.*)\+0x", name)
        return "[" + re.sub(r"\.so[.0-9]*$", ".so", os.path.basename(inner.group(1) if inner else module)) + "]"
    name = re.sub(r"\(.*", "", re.sub(r"^void (?=\S)", "", name))  # perf has no return types of templates
    name = re.sub(r"^_*(GI_+)?(libc_)?", "", name) or name
    return name


def perf_stacks(path, comm=""):
    text = subprocess.run(["perf", "script", "--no-inline", "-F", "comm,tid,period,event,ip,sym,dso", "-i", path],
                          capture_output=True, text=True, errors="replace").stdout
    stacks = collections.Counter()
    for sample in text.split("\n\n"):
        lines = [line for line in sample.splitlines() if line]
        if not lines or "cpu-clock" not in lines[0] or not lines[0].lstrip().startswith(comm):
            continue
        period = int(re.search(r"(\d+) cpu-clock", lines[0]).group(1))
        frames = []
        # An interrupt, or another thread that takes the CPU, is no work of the function that it comes upon.
        entries = [line for line in lines[1:] if re.match(r"\s*f{4}[0-9a-f]{12} ", line)]
        if entries and re.search(r"asm_(sysvec|common_interrupt)", entries[-1]):
            lines = lines[:1] + lines[1 + len(entries):]
        for line in lines[1:]:
            match = re.match(r"\s*([0-9a-f]+) (.*) \((.*)\)$", line)
            if not match:
                continue
            if match.group(3).startswith("[kernel") or int(match.group(1), 16) >> 63 or match.group(3).startswith("[bpf"):
                frame = "[kernel]"
            else:
                frame = plain(match.group(2), match.group(3))
            frames.append(frame)
        stacks[tuple(reversed(frames))] += period
    return stacks


def aiflame_stacks(path):
    text = subprocess.run([aiflame, "flame", "--of", "cpu", "--by-thread", "no", "--detail", "full", "--format", "folded", "-o", "-", path],
                          capture_output=True, text=True, errors="replace").stdout
    stacks = collections.Counter()
    for line in text.splitlines():
        frames = []
        stack, weight = line.rsplit(" ", 1)
        for frame in stack.split(";"):
            kind = re.search(r"_\[([a-z])\]$", frame)
            if kind and kind.group(1) in "ip":
                continue  # inlined, Python
            frames.append("[kernel]" if kind and kind.group(1) == "k" else plain(frame, frame))
        stacks[tuple(frames)] += int(weight)
    return stacks


def shares(stacks):
    total = sum(stacks.values()) or 1
    own, with_callees = collections.Counter(), collections.Counter()
    for frames, weight in stacks.items():
        own[frames[-1] if frames else "[no stack]"] += 100 * weight / total
        for frame in set(frames):
            with_callees[frame] += 100 * weight / total
    return own, with_callees, total / 1e9


def total_of(path):
    """CPU time that a recording has, of what the operating system counted of the command, in percent."""
    rows = subprocess.run([aiflame, "query", "--format", "csv", "-i", path, "SELECT 100.0 * (SELECT sum(weight_ns) FROM cpu_samples) / "
                           "(SELECT value FROM meta WHERE key = 'cost.target_cpu_ns')"], capture_output=True, text=True).stdout.splitlines()
    return float(rows[1]) if len(rows) > 1 else float("nan")


def run_plain(command):
    """CPU time of an unrecorded run, in the OS kernel and in all, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    system = after.ru_stime - before.ru_stime
    return system, system + after.ru_utime - before.ru_utime


def mean(rows, key):
    return sum(row[key] for row in rows) / len(rows)


class Runs:
    """What all rounds of a program gave, one entry a round."""

    def __init__(self):
        self.plain, self.totals, self.clocks = [], [], []
        self.by = {"perf": [], "aiflame": [], "perf -a": []}


def record(work, name, command, who, runs):
    # A file that is recorded runs as it would; what it prints is of no interest.
    if who == "perf":
        subprocess.run(["perf", "record", "-q", "-F", "999", "-e", "cpu-clock", "--call-graph", "dwarf,16384", "-o", f"{work}/p", *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs.by[who].append(shares(perf_stacks(f"{work}/p")))
    elif who == "perf -a":
        subprocess.run(["perf", "record", "-q", "-a", "-F", "999", "-e", "cpu-clock", "--call-graph", "dwarf,16384", "-o", f"{work}/p", *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs.by[who].append(shares(perf_stacks(f"{work}/p", name)))
    else:
        subprocess.run([aiflame, "record", "-q", "--cpu", "--cpu-clock", clock, "-o", f"{work}/a", *command],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs.by[who].append(shares(aiflame_stacks(f"{work}/a")))
        runs.totals.append(total_of(f"{work}/a"))
    if os.environ.get("KEEP"):
        shutil.copy(f"{work}/{who[0]}", f"{os.environ['KEEP']}/{name}.{who[0]}")


def run_rounds(work, chosen):
    """Runs all programs in turns until there are enough rounds, or no time for another."""
    commands, runs = programs(work), {name: Runs() for name in chosen}
    with open(f"{work}/zero", "wb") as f:  # so that each run writes to pages that are there
        for _ in range(1000):
            f.write(bytes(16384 * 100))
    begin, longest = time.monotonic(), 0.0
    for i in range(rounds):
        now = time.monotonic()
        if i >= 2 and now - begin + longest > budget_s:
            break
        for name in chosen:
            runs[name].plain.append(run_plain(commands[name]))
            for who in ("perf", "aiflame") if i % 2 == 0 else ("aiflame", "perf"):
                record(work, name, commands[name], who, runs[name])
            if name == "server":
                record(work, name, commands[name], "perf -a", runs[name])
                runs[name].clocks.append(own_clocks([f"{work}/clocks"]))
            elif commands[name][0] == f"{work}/brief":
                runs[name].clocks.append(own_clocks([f"{work}/brief-clocks", *commands[name][1:]]))
        longest = max(longest, time.monotonic() - now)
    return runs


def is_right(mine, right, whole):
    """Is our mean near the mean of the other's rounds, or between them, or between it and what perf says of the whole machine?"""
    means = [sum(rows) / len(rows) for rows in (right, whole) if rows]
    return min(means) - BAR <= mine <= max(means) + BAR or min(right) <= mine <= max(right)


def rows_of(name, runs):
    """The program's rows, as texts, and for each whether it is right."""
    perf, ours = runs.by["perf"], runs.by["aiflame"]
    used, system = mean(runs.plain, 1), mean(runs.plain, 0)
    total = sum(runs.totals) / len(runs.totals)
    is_whole = abs(total - 100) <= TOTAL_BAR
    yield f"| {name} | the OS kernel, by the accounts | unrecorded | {100 * system / used:.1f} % | | | | | |", True
    yield f"| {name} | all | of getrusage | | | | {total:.1f} % | {total - 100:+.1f}{'' if is_whole else ' **'} | |", is_whole
    for index, what in (0, "own"), (1, "with callees"):
        perf_rows, our_rows = [s[index] for s in perf], [s[index] for s in ours]
        keys = {key for row in perf_rows + our_rows for key in row}
        for key in sorted(keys, key=lambda key: -mean(perf_rows, key)):
            theirs, mine = [row[key] for row in perf_rows], mean(our_rows, key)
            if max(sum(theirs) / len(theirs), mine) < LEAST:
                continue
            # What a function has by itself its own clocks tell where it calls nothing.
            truth = [row[key] for row in runs.clocks if key in row] if index == 1 or key in ("[kernel]", *LEAVES) else []
            right = truth or theirs
            machine = [row[key] for row in (s[index] for s in runs.by["perf -a"])]
            yes = is_right(mine, right, machine)
            whole = f"{sum(machine) / len(machine):.1f} %" if machine else ""
            clocks = f"{sum(truth) / len(truth):.1f} % ({min(truth):.1f} to {max(truth):.1f})" if truth else ""
            yield (f"| {name} | `{key}` | {what} | {clocks} | {sum(theirs) / len(theirs):.1f} % ({min(theirs):.1f} to {max(theirs):.1f}) | {whole} | {mine:.1f} % | "
                   f"{mine - sum(right) / len(right):+.1f}{'' if yes else ' **'} | {min(row[key] for row in our_rows):.1f} to {max(row[key] for row in our_rows):.1f} |"), yes


def tables(runs, load):
    """Both tables as text, and how many rows are wrong."""
    all_rows = {name: list(rows_of(name, r)) for name, r in runs.items()}
    count = len(next(iter(runs.values())).totals)
    lines = [f"Measured on {datetime.date.today()}: {count} rounds, CLOCK={clock}, {os.cpu_count()} CPUs, load {load[0]:.0f} at the beginning and "
             f"{load[1]:.0f} at the end.", "", "| program | CPU time, unrecorded / perf / aiflame | rows | right | wrong |", "|---|---|---|---|---|"]
    for name, rows in all_rows.items():
        r = runs[name]
        times = " / ".join(f"{value:.2f} s" for value in (mean(r.plain, 1), *(mean(r.by[who], 2) for who in ("perf", "aiflame"))))
        wrong = "; ".join(f"{row.split(' | ')[1]} {row.split(' | ')[2]}" for row, yes in rows if not yes)
        lines.append(f"| {name} | {times} | {len(rows)} | {sum(yes for _, yes in rows)} | {wrong} |")
    lines += ["", "| program | function | | its own clocks | perf | perf -a | aiflame | difference | aiflame's rounds |", "|---|---|---|---|---|---|---|---|---|"]
    lines += [row for rows in all_rows.values() for row, _ in rows]
    return "\n".join(lines) + "\n", sum(not yes for rows in all_rows.values() for _, yes in rows)


def main():
    work = tempfile.mkdtemp(prefix="cpu_perf.")
    load = os.getloadavg()[0]
    try:
        runs = run_rounds(work, sys.argv[1:] or EIGHT)
    finally:
        shutil.rmtree(work)
    text, wrong = tables(runs, (load, os.getloadavg()[0]))
    print(text)
    if os.environ.get("UPDATE"):
        with open(results) as f:
            old = f.read()
        before, after = old.split(MARKS[0])[0], old.split(MARKS[1])[1]
        with open(results, "w") as f:
            f.write(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{after}")
    print(f"{wrong} rows are wrong", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
