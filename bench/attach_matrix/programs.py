# SPDX-License-Identifier: Apache-2.0
"""The programs of the attach matrix, and how each is built, started, found and ended."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

CC = os.environ.get("CC", "cc")


class Skip(Exception):
    """A program that cannot be tried here, and why."""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip("%s is not installed" % tool)


def compile_once(output, *command):
    if not os.path.exists(output):
        r = subprocess.run([*command, "-o", output], capture_output=True, text=True)
        if r.returncode:
            raise Skip("is not compiled here: %s" % (r.stderr.strip().split("\n") or [""])[-1][:100])
    return output


def comm(pid):
    try:
        return open("/proc/%d/comm" % pid).read().strip()
    except OSError:
        return ""


def below(pid):
    """The process and all that descend from it."""
    found = [pid]
    for p in found:
        try:
            for task in os.listdir("/proc/%d/task" % p):
                found += map(int, open("/proc/%d/task/%s/children" % (p, task)).read().split())
        except OSError:
            pass
    return found


def status(pid):
    try:
        return open("/proc/%d/status" % pid).read()
    except OSError:
        return ""


class Program:
    """name; words: its command, where {work} is a folder and {here} that of the sources; build: a function that makes what
    it needs; comm: of the process to attach to, else the one that is started; has: a line of its /proc/PID/status by which it is
    ready; refusal, may_refuse: patterns of sentences
    that every attach, or some attaches, may end with; beside: what goes on during an attach."""

    starts_s = 0.3

    def __init__(self, name, *words, make=None, comm=None, refusal=None, may_refuse=None, starts_s=0.3, beside=None,
                 ends_by_file=False, has=None):
        self.name, self.words, self.make, self.comm = name, words, make, comm
        self.refusal, self.may_refuse, self.starts_s = refusal, may_refuse, starts_s
        self.beside = beside or (lambda targets: contextlib.nullcontext())
        self.ends_by_file, self.has = ends_by_file, has

    def prepare(self, work, here, build):
        self.places = {"work": work, "here": here, "build": build, "python": os.path.realpath(sys.executable)}
        if self.make:
            self.make(work, here)

    def command(self, folder):
        return [w.format(folder=folder, **self.places) for w in self.words]

    def targets(self, pid):
        if self.has:
            return [pid] if self.has in status(pid) else []
        if not self.comm:
            # Not a fork of ours that becomes it later.
            return [pid] if os.path.exists("/proc/%d" % pid) and os.readlink("/proc/%d/exe" % pid) else []
        return [p for p in below(pid) if comm(p) == self.comm]

    def end(self, folder):
        if self.ends_by_file:
            open(os.path.join(folder, "end"), "w").close()


def sources(here):
    return [os.path.join(here, f) for f in ("main.c", "memory.c", "control.c", "system.c")]


def own(work, here):
    compile_once(work + "/program", CC, "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", *sources(here), "-ldl", "-lrt", "-pthread")


def cpp(work, here):
    compile_once(work + "/throws", os.environ.get("CXX", "c++"), "-O2", here + "/throws.cpp", "-pthread")


def opencl(work, here):
    compile_once(work + "/opencl", CC, "-O2", here + "/opencl.c", "-lOpenCL")


def mpi(work, here):
    need("mpicc", "mpirun")
    compile_once(work + "/ranks", "mpicc", "-O2", here + "/ranks.c")


def go(work, here):
    need("go")
    if not os.path.exists(work + "/rings"):
        env = dict(os.environ, HOME=work, GOFLAGS="-mod=mod", GO111MODULE="off")
        if subprocess.run(["go", "build", "-o", work + "/rings", here + "/rings.go"], env=env, capture_output=True).returncode:
            raise Skip("Go does not build it")


def bare_go(work, here):
    need("go")
    with open(work + "/bare.go", "w") as f:
        f.write("package main\nimport \"os\"\nfunc main() { os.Stdin.Read(make([]byte, 1)); os.Exit(31) }\n")
    env = dict(os.environ, HOME=work, GO111MODULE="off", CGO_ENABLED="0")
    if subprocess.run(["go", "build", "-buildmode=pie", "-o", work + "/bare", work + "/bare.go"], env=env, capture_output=True).returncode:
        raise Skip("Go does not build it")


def waiting(name, compiler, *options):
    def make(work, here):
        need(compiler)
        with open(work + "/waits.c", "w") as f:
            f.write("#include <unistd.h>\nint main(void) { char c; return (int)read(0, &c, 1) + 31; }\n")
        compile_once(work + "/" + name, compiler, *options, work + "/waits.c")
    return make


def set_user_id(work, here):
    if os.getuid():
        raise Skip("only root can make one of another user's")
    need("setpriv")
    waiting("setuid", CC)(work, here)
    os.chown(work + "/setuid", 65534, 65534)
    os.chmod(work + "/setuid", 0o4755)


def namespaces(work, here):
    own(work, here)
    need("unshare")
    if subprocess.run(["unshare", "-Urpfm", "--mount-proc", "true"], capture_output=True).returncode:
        raise Skip("namespaces of users are forbidden here")


def java(work, here):
    need("javac", "java")
    if not os.path.exists(work + "/Work.class"):
        subprocess.run(["javac", "-d", work, here + "/Work.java"], check=True, capture_output=True)


def torch(work, here):
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode:
        raise Skip("python3-torch is not installed")


@contextlib.contextmanager
def stop_and_go(targets):
    """Stops and continues it all the while."""
    over = threading.Event()

    def run():
        while not over.is_set():
            for sig, s in ((signal.SIGSTOP, 0.01), (signal.SIGCONT, 0.05)):
                os.kill(targets[0], sig)
                time.sleep(s)
    t = threading.Thread(target=run)
    t.start()
    try:
        yield
    finally:
        over.set()
        t.join()


def inject_app(mode):
    return Program(mode, "{build}/tests/e2e/inject_app", mode)


def own_mode(mode, **options):
    return Program(mode, "{work}/program", mode, make=own, **options)


FILTER = """
import ctypes, struct, sys
libc = ctypes.CDLL(None)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
prog = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.c_char_p(prog)) == 0
sys.stdin.read()
sys.exit(32)"""

PROGRAMS = [inject_app(m) for m in ("malloc", "forks", "fork-threads", "spawns", "handlers", "sleeps", "epoll", "blocked",
                                    "busy", "vectors", "threads")]
PROGRAMS += [own_mode(m) for m in ("dlopens", "thread-locals", "limited-memory", "locked-memory",
                                   "barriers", "shared-locks", "forks-that-look", "jumps", "fibers", "locks", "cancels",
                                   "timers", "raw-threads", "vforks", "long-calls", "sendfiles", "descriptors", "rings")]
PROGRAMS += [
    # There is no descriptor left for the agent's library.
    own_mode("limited-files", refusal=r"no free descriptor"),
    # Between two images it has neither threads nor libraries.
    own_mode("execs", may_refuse=r"statically linked|shares its memory|none of its threads|has ended|another program|exec"),
    # Stops end epoll_wait() and the like with EINTR, with us or without.
    Program("stopped and continued", "{work}/program", "locks", make=own, beside=stop_and_go,
            may_refuse=r"is stopped|none of its threads"),
    Program("exceptions of C++", "{work}/throws", make=cpp),
    Program("OpenCL on PoCL", "{work}/opencl", make=opencl, starts_s=2),
    Program("MPI of two ranks", "mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "{work}/ranks", "{folder}/end",
            make=mpi, comm="ranks", ends_by_file=True, starts_s=1.5),
    Program("namespaces of users, processes, mounts", "unshare", "-Urpfm", "--mount-proc", "{work}/program", "locks",
            make=namespaces, comm="program"),
    # Its threads may all run goroutines for a while, whose stacks say nothing of their thread's.
    Program("Go with C", "{work}/rings", make=go, may_refuse=r"stacks cannot be told to the end"),
    Program("Go without C", "{work}/bare", make=bare_go, refusal=r"has no C library"),
    Program("Java", "java", "-cp", "{work}", "Work", make=java, starts_s=1.5),
    Program("node", "node", "{here}/work.js", make=lambda work, here: need("node"), starts_s=0.5),
    Program("a shell's loop", "bash", "-c", "while :; do n=$(expr 3 + 4); read -t 0.01 x; [ $? -gt 128 ] || break; done; echo $n; exit 24"),
    Program("Python of 50 threads", "{python}", "{here}/threads.py"),
    Program("Python in C extensions", "{python}", "{here}/extensions.py"),
    Program("Python that starts processes", "{python}", "{here}/workers.py"),
    Program("PyTorch on the CPU", "/usr/bin/python3", "{here}/tensors.py", make=torch, starts_s=5),
    # What is left alone.
    Program("static", "{work}/static", make=waiting("static", CC, "-static"), refusal="statically linked"),
    Program("musl", "{work}/musl", make=waiting("musl", "musl-gcc"), refusal="is musl"),
    Program("32 bits", "{work}/bits32", make=waiting("bits32", CC, "-m32"), refusal="32-bit"),
    Program("a seccomp filter", "{python}", "-c", FILTER.replace("{", "{{").replace("}", "}}"), refusal="seccomp filter", has="\nSeccomp:\t2\n"),
    Program("set-user-id", "setpriv", "--reuid=65533", "--clear-groups", "{work}/setuid", make=set_user_id,
            comm="setuid", refusal="set-user-id"),
    Program("under strace", "strace", "-f", "-o", "/dev/null", "{work}/program", "locks",
            make=lambda work, here: (need("strace"), own(work, here)), comm="program", refusal="is traced by"),
]
