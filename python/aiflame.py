# SPDX-License-Identifier: Apache-2.0
"""Flame graphs of accelerator work, asked for by the program itself.

    import aiflame

    with aiflame.profile("run.data") as p:      # records what is done inside
        train(model)
    p.flame("run.svg")                          # in a notebook, `p` alone shows it
    print(p.report("--kernels"))

    for batch in aiflame.steps(loader):         # the loop's steps, and what is in them
        with aiflame.range("forward"):
            ...

profile() needs a process that carries aiflame's agent: start it with the variables that `aiflame env` prints
(`aiflame env --format jupyter` for a notebook's kernel). Inside `aiflame record python3 ...` it switches that recording
on and off instead: give `record --delay 1000000` for one that begins switched off. All else may stay in the
program: without the agent it does nothing, in 0.1 us.

The command is that of $AIFLAME, else the one beside this file, else of the environment that pip put it into, else of $PATH.
"""
import contextlib
import ctypes
import html
import os
import shutil
import signal
import subprocess
import sys
import time

__all__ = ["profile", "range", "step", "steps", "start", "pause", "recording", "Profile"]

_RANGE_BEGIN, _RANGE_END, _STEP, _STEPS_END, _START, _PAUSE, _RECORDING = 1, 2, 3, 4, 5, 6, 7
_NO_RUNTIME = -11  # -EAGAIN: no accelerator runtime has started yet
_ANSWER_S, _WRITE_S = 10, 600

_call = getattr(ctypes.CDLL(None), "aiflame_call", None)
if _call is not None:
    _call.argtypes, _call.restype = [ctypes.c_uint32, ctypes.c_char_p], ctypes.c_int


class range(contextlib.ContextDecorator):  # noqa: A001: as in nvtx and torch
    """What the calling thread is in: `with aiflame.range("forward"):`, or as a decorator of a function."""

    def __init__(self, name):
        self._name = str(name).encode("utf-8", "replace").replace(b"\0", b" ")

    def __enter__(self):
        if _call is not None:
            _call(_RANGE_BEGIN, self._name)
        return self

    def __exit__(self, *_):
        if _call is not None:
            _call(_RANGE_END, None)
        return False


def step():
    """A step begins, and the one before is over: once in each iteration of the program's main loop."""
    if _call is not None:
        _call(_STEP, None)


def steps(iterable):
    """What `iterable` gives, each in a step of its own."""
    if _call is None:
        yield from iterable
        return
    try:
        for item in iterable:
            _call(_STEP, None)
            yield item
    finally:
        _call(_STEPS_END, None)


def start():
    """Whoever records this process collects from now on. False: nobody does."""
    return _call is not None and _call(_START, None) == 0


def pause():
    """Whoever records this process collects nothing until start(). False: nobody records."""
    return _call is not None and _call(_PAUSE, None) == 0


def recording():
    """Is what this process does collected now?"""
    return _call is not None and _call(_RECORDING, None) == 1


def _command():
    places = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "aiflame"), os.path.join(sys.prefix, "bin", "aiflame")]
    found = [os.environ.get("AIFLAME")] + [p for p in places if os.path.isfile(p) and os.access(p, os.X_OK)] + [shutil.which("aiflame")]
    for path in found:
        if path:
            return path
    raise RuntimeError("aiflame: the command was not found; put it into $PATH, or its path into $AIFLAME")


def _clean_environment():
    """The commands that we run are not to be recorded."""
    ours = ("LD_PRELOAD", "OPENCL_LAYERS", "CUDA_INJECTION64_PATH")
    return {k: v for k, v in os.environ.items() if k not in ours}


def _run(*arguments):
    done = subprocess.run([_command(), *arguments], env=_clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "replace")


def _synchronize():
    """What was launched is to be in the profile with its end."""
    torch = sys.modules.get("torch")
    for name in ("cuda", "xpu"):
        device = getattr(torch, name, None)
        if device is not None and getattr(device, "is_initialized", bool)():
            device.synchronize()


class Profile:
    """A recording of this process, and its views once it has ended."""

    def __init__(self, path):
        self.path = path
        self.is_done = False

    def _ready(self):
        if not self.is_done:
            raise RuntimeError("aiflame: the profile is written when the recording ends")

    def flame(self, path=None, *options):
        """The flame graph: written to `path`, or its SVG as text. Options as of `aiflame flame`."""
        self._ready()
        text = _run("flame", "-i", self.path, "-o", path or "-", *(() if path else ("--format", "svg")), *options)
        return path or text

    def report(self, *options):
        """Tables as text: report("--kernels"), report("--stalls") and so on, as `aiflame report`."""
        self._ready()
        return _run("report", "-i", self.path, *options)

    def query(self, sql):
        """Rows of `aiflame query`, as a list of dictionaries."""
        import json

        self._ready()
        return json.loads(_run("query", "-i", self.path, "--format", "json", sql))

    def _repr_html_(self):
        if not self.is_done:
            return "<i>aiflame: recording %s</i>" % html.escape(self.path)
        # In a frame of its own: the picture's names and its script are not the notebook's.
        page = "<style>body{margin:0}</style>" + self.flame()
        return ('<iframe style="width:100%%;height:36em;border:0" srcdoc="%s"></iframe>' % html.escape(page, quote=True))

    def __repr__(self):
        return "<aiflame.Profile %r%s>" % (self.path, "" if self.is_done else ", not yet written")


def _await(collecting, has_ended=lambda: False):
    """Until collecting has begun (1) or ended (0)."""
    end = time.monotonic() + _ANSWER_S
    while _call(_RECORDING, None) == 1 - collecting and time.monotonic() < end and not has_ended():
        time.sleep(0.001)


def _record(path, options):
    """A recorder of this process, that collects already; or waits until a runtime starts."""
    command = [_command(), "record", "-q", "-o", path, "-p", str(os.getpid()), *options]
    # Ctrl-C is for the program; it reaches us, too, and we end the recorder.
    recorder = subprocess.Popen(command, env=_clean_environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                start_new_session=True)
    _await(1, lambda: recorder.poll() is not None)
    if recorder.poll() is not None:
        raise RuntimeError(recorder.stderr.read().decode("utf-8", "replace").strip())
    return recorder


@contextlib.contextmanager
def profile(path="aiflame.data", *options, synchronize=True):
    """Records what this process does inside of the `with`. Options as of `aiflame record`: profile("x.data",
    "--all-launches"). With `synchronize`, PyTorch's devices are waited for at the end."""
    if _call is None:
        raise RuntimeError('aiflame: this process does not carry the agent; start it with the variables of `aiflame env`: '
                           'eval "$(aiflame env)" (notebooks: aiflame env --format jupyter)')
    result = Profile(os.path.abspath(path))
    if start():  # somebody records it already
        _await(1)
        result.path = "the recording that this program runs in"
        try:
            yield result
        finally:
            if synchronize:
                _synchronize()
            pause()
            _await(0)
        return
    recorder = _record(result.path, options)
    try:
        yield result
    finally:
        if synchronize:
            _synchronize()
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        try:
            text = recorder.communicate(timeout=_WRITE_S)[1]
        except subprocess.TimeoutExpired:
            recorder.kill()
            text = b"aiflame: the recorder did not end"
        if recorder.returncode:
            raise RuntimeError(text.decode("utf-8", "replace").strip())
        result.is_done = True
