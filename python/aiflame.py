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

profile() loads aiflame's agent where the process does not carry it, and what was loaded late sees less of devices: start
programs that use some with the variables that `aiflame env` prints (`aiflame env --format jupyter` for a notebook's kernel).
Inside `aiflame record python3 ...` it switches that recording on and off instead: give `record --delay 1000000` for one that
begins switched off. All else may stay in the program: without the agent it does nothing, in 0.3 us.

The command is that of $AIFLAME, else the one beside this file, else of the environment that pip put it into, else of $PATH.
"""
import contextlib
import ctypes
import enum
import html
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

__all__ = ["profile", "schedule", "ProfilerAction", "range", "step", "steps", "start", "stop", "pause", "recording"]

_RANGE_BEGIN, _RANGE_END, _STEP, _STEPS_END, _START, _PAUSE, _RECORDING, _JOIN = 1, 2, 3, 4, 5, 6, 7, 8
_NO_RUNTIME = -11  # -EAGAIN: no accelerator runtime has started yet
_ANSWER_S, _WRITE_S, _LOOK_S = 10, 600, 1
_NO_AGENT = ('aiflame: this process does not carry the agent, which cannot be loaded into it now: %s; start it with the variables '
             'of `aiflame env`: eval "$(aiflame env)" (notebooks: aiflame env --format jupyter); nothing is recorded')
_AGENT = "libaiflame-agent.so"
_DRIVERS = ("/libcuda.so", "/libOpenCL", "/libze_loader.so")

_warned = set()


def _warn(text, stacklevel=3):
    """Says once what did not work. The program goes on: it is there to do something else than to be profiled."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text if text.startswith("aiflame: ") else "aiflame: " + text, RuntimeWarning, stacklevel=stacklevel + 1)


def _entry(library):
    """The agent's entry point in a library, or None."""
    call = getattr(library, "aiflame_call", None)
    if call is not None:
        call.argtypes, call.restype = [ctypes.c_uint32, ctypes.c_char_p], ctypes.c_int
    return call


_call = _entry(ctypes.CDLL(None))


# ---- an agent that comes later ----

_look_s, _seen = 0.0, None


def _standby_directories():
    """Where an agent that was put into this process leaves its page (docs/standby.md)."""
    named, runtime = os.environ.get("AIFLAME_STANDBY"), os.environ.get("XDG_RUNTIME_DIR")
    return [d for d in (named, runtime and os.path.join(runtime, "aiflame"), "/tmp/aiflame-%d" % os.geteuid()) if d]


def _changed(directory):
    try:
        return os.stat(directory).st_mtime_ns
    except OSError:
        return None


class _Library(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("at", ctypes.c_void_p)]


def _find_agent():
    """The entry point of an agent that this process has by now, in a library that no other may find by its symbols."""
    with open("/proc/self/maps", "rb") as maps:
        at = next((line for line in maps if _AGENT.encode() in line.rpartition(b"/")[2]), None)
    about = _Library()
    if at is None or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(int(at.split(b"-")[0], 16)), ctypes.byref(about)):
        return None
    return _entry(ctypes.CDLL(about.file.decode(), os.RTLD_NOW | os.RTLD_NOLOAD))


def _look():
    """Looks each second whether somebody has put the agent into this process: `aiflame record -p` has."""
    global _call, _look_s, _seen
    now = time.monotonic()
    if now < _look_s:
        return
    _look_s = now + _LOOK_S
    seen = [_changed(d) for d in _standby_directories()]
    if seen == _seen:
        return
    _seen = seen
    with contextlib.suppress(OSError, AttributeError, ValueError):
        _call = _find_agent()


def _refusal():
    """Why the agent is not to be loaded into this process, or None (src/inject/refusal.c)."""
    with open("/proc/self/status") as status:
        if "Seccomp:\t2" in status.read():
            return "it has a seccomp filter, which could end it"
    if not hasattr(ctypes.CDLL(None), "_dl_find_object"):
        return "its C library is not glibc 2.35 or newer"
    return None


def _load_agent():
    """Loads the agent, and puts this process on standby, as aiflame record -p does from outside."""
    import shlex

    why = _refusal()
    if why:
        raise OSError(why)
    words = (shlex.split(line) for line in _run("env").splitlines())
    variables = dict(w[1].partition("=")[::2] for w in words if len(w) == 2 and w[0] == "export")
    # Its symbols are its own: libraries that come later are to find those of the C library.
    call = _entry(ctypes.CDLL(variables["LD_PRELOAD"], os.RTLD_NOW | os.RTLD_LOCAL))
    r = call(_JOIN, os.fsencode(variables["AIFLAME_STANDBY"]))
    if r:
        raise OSError(-r, os.strerror(-r))
    return call


def _uses_device():
    with open("/proc/self/maps") as maps:
        return any(d in line for line in maps for d in _DRIVERS)


def _join():
    """Has this process carry an agent that answers recorders. True if it uses no device."""
    global _call
    if _call is None:
        _call = _find_agent()
    if _call is not None:
        was_without = _call(_RECORDING, None) == _NO_RUNTIME
        # Always: a forked child has its parent's agent, and has met no recorder.
        is_new = _call(_JOIN, None) == 0 and was_without and _call(_RECORDING, None) != _NO_RUNTIME
        return is_new or not _uses_device()
    _call = _load_agent()
    return not _uses_device()


class range(contextlib.ContextDecorator):  # noqa: A001: as in nvtx and torch
    """What the calling thread is in: `with aiflame.range("forward"):`, or as a decorator of a function."""

    def __init__(self, name):
        self._name = str(name).encode("utf-8", "replace").replace(b"\0", b" ")

    def __enter__(self):
        if _call is None:
            _look()
        if _call is not None:
            _call(_RANGE_BEGIN, self._name)
        return self

    def __exit__(self, *_):
        if _call is not None:
            _call(_RANGE_END, None)
        return False


def step():
    """A step begins, and the one before is over: once in each iteration of the program's main loop."""
    if _call is None:
        _look()
    if _call is not None:
        _call(_STEP, None)


def steps(iterable):
    """What `iterable` gives, each in a step of its own."""
    try:
        for item in iterable:
            step()
            yield item
    finally:
        if _call is not None:
            _call(_STEPS_END, None)


def start():
    """Whoever records this process collects from now on. False: nobody does."""
    return _call is not None and _call(_START, None) == 0


def pause():
    """Whoever records this process collects nothing until start(). False: nobody records."""
    return _call is not None and _call(_PAUSE, None) == 0


stop = pause  # start() and stop(), as torch.cuda.profiler and servers call them


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


def _await(collecting, has_ended=lambda: False):
    """Until collecting has begun (1) or ended (0)."""
    end = time.monotonic() + _ANSWER_S
    while _call(_RECORDING, None) == 1 - collecting and time.monotonic() < end and not has_ended():
        time.sleep(0.001)


def _is_recorded():
    """Somebody records this process: a pause of what is paused changes nothing."""
    return _call(_RECORDING, None) == 1 or pause()


def _failed(recorder):
    return RuntimeError(recorder.stderr.read().decode("utf-8", "replace").strip())


def _recorder_start(path, options):
    command = [_command(), "record", "-q", "-o", path, "-p", str(os.getpid()), *options]
    # Ctrl-C is for the program; it reaches us, too, and we end the recorder.
    return subprocess.Popen(command, env=_clean_environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            start_new_session=True)


def _record(path, options):
    """A recorder of this process, that collects already; or waits until a runtime starts."""
    recorder = _recorder_start(path, options)
    _await(1, lambda: recorder.poll() is not None)
    if recorder.poll() is not None:
        raise _failed(recorder)
    return recorder


def _switch_on(recorder):
    """Has a recorder collect that was started with --delay."""
    end = time.monotonic() + _ANSWER_S
    while not start() and recorder.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    _await(1, lambda: recorder.poll() is not None)
    if recorder.poll() is not None:
        raise _failed(recorder)


class ProfilerAction(enum.Enum):
    """What a schedule says of a step, as torch.profiler.ProfilerAction does."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    """For profile(schedule=...), as torch.profiler.schedule(): of the steps behind the first `skip_first`, in turns `wait` are
    not recorded, `warmup` are recorded for nothing, `active` are a cycle; `repeat` cycles, or 0: without an end."""
    if wait < 0 or warmup < 0 or active < 1 or repeat < 0 or skip_first < 0:
        raise ValueError("aiflame.schedule: active is 1 or more, all else 0 or more")

    def action(step):
        step -= skip_first
        turn, at = divmod(step, wait + warmup + active)
        if step < 0 or (repeat and turn >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == wait + warmup + active - 1 else ProfilerAction.RECORD

    return action


def _always(_step):
    return ProfilerAction.RECORD


def _action(a):
    """That of torch's own schedule(), too."""
    return ProfilerAction[a.name]


class profile(contextlib.ContextDecorator):  # noqa: N801: as in torch.profiler
    """Records what this process does between start() and stop(), or inside of a `with`. Options as of `aiflame record`:
    profile("x.data", "--all-launches"). With `synchronize`, PyTorch's devices are waited for at the end.

    With a schedule (that of aiflame or of torch.profiler; any function of a step's number) each step() ends a step, and
    each cycle is a profile of its own: x.1.data, x.2.data. The recorder is started in the warm-up, of which nothing is
    recorded. on_trace_ready(p) is called when a profile is there, its name in p.path; without a schedule, at the end.

    In a process that does not carry aiflame's agent it is loaded; where that cannot be done profiles do nothing but warn.
    In one that is recorded already they switch that recording on and off, and on_trace_ready is not called. Whatever does
    not work warns, once, and the program goes on: a cycle that could not be recorded has no on_trace_ready, and views of
    what is not there are empty."""

    def __init__(self, path="aiflame.data", *options, schedule=None, on_trace_ready=None, synchronize=True):  # noqa: A002
        self.path = os.path.abspath(path)
        self.step_num = 0
        self.cycle = 0
        self.is_done = False
        self._base, self._options, self._synchronize = self.path, options, synchronize
        self._schedule, self._on_trace_ready = schedule or _always, on_trace_ready
        self._has_schedule = schedule is not None
        self._recorder = None
        self._is_without_device = False
        self._is_guest = False  # of a recording that somebody else has started
        self._is_started = False
        self._is_given_up = False  # the cycle at hand, of which something failed
        self._action = ProfilerAction.NONE

    # ---- as torch.profiler.profile ----

    def start(self):
        """Begins with step 0."""
        try:
            # Without a device there is nothing but CPU samples.
            self._is_without_device = _join() and "--cpu" not in self._options
        except (OSError, AttributeError, KeyError, ValueError, RuntimeError, subprocess.SubprocessError) as e:
            _warn(_NO_AGENT % (str(e).replace("aiflame: ", "") or type(e).__name__))
        self._is_started = True
        self.step_num = 0
        self._go_to(_action(self._schedule(self.step_num)))
        self._mark()

    def step(self):
        """The step ends, and the next one begins."""
        if not self._is_started:
            _warn("step() needs start(), or `with`; nothing is recorded")
            return
        self.step_num += 1
        self._go_to(_action(self._schedule(self.step_num)))
        self._mark()

    def stop(self):
        """Ends with the step that goes on. What was recorded of a cycle is written."""
        if self._is_started:
            self._is_started = False
            self._go_to(None)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        return False

    # ---- from one step to the next ----

    def _mark(self):
        if _call is not None and self._has_schedule:
            _call(_STEP, None)

    def _go_to(self, action):
        """action None: nothing follows."""
        none, warmup, record, last = ProfilerAction
        was, self._action = self._action, action or none
        if _call is None:
            return
        if self._is_given_up:
            if action in (record, last) and was is not last:
                return  # the rest of that cycle
            self._is_given_up, was = False, none
        if was is last or (was is record and action is None):
            if self._try(self._end, True) and self._on_trace_ready is not None:
                self._on_trace_ready(self)
            was = none
        elif (was is record and action in (none, warmup)) or (was is warmup and action in (none, None)):
            # Such a schedule is wrong: torch warns, and throws away what it has.
            self._try(self._end, False)
            was = none
        self._is_given_up = False  # what follows is another cycle, or the one whose warm-up this was
        if action is warmup and was is none:
            self._try(self._prepare)
        elif action in (record, last) and was in (none, warmup):
            self._try(self._begin)

    def _try(self, do, *arguments):
        """What `do` returns; where it fails, the cycle is given up, with a warning, and no recorder is left behind."""
        try:
            return do(*arguments)
        except (OSError, RuntimeError, subprocess.SubprocessError) as e:
            recorder, self._recorder = self._recorder, None
            if recorder is not None:
                recorder.kill()
                recorder.communicate()
            self.is_done = False
            self._is_given_up = True
            _warn("a cycle is not recorded: %s" % e, stacklevel=5)
            return None

    def _prepare(self):
        self._name()
        self._is_guest = self._recorder is None and _is_recorded()
        if not self._is_guest:
            self._recorder = _recorder_start(self.path, ("--delay", "1000000", *self._all_options()))

    def _all_options(self):
        return (*self._options, *(("--cpu",) if self._is_without_device else ()))

    def _name(self):
        root, suffix = os.path.splitext(self._base)
        self.path = "%s.%d%s" % (root, self.cycle + 1, suffix) if self._has_schedule else self._base
        self.is_done = False

    def _begin(self):
        self._name()
        if self._recorder is not None and _call(_RECORDING, None) == _NO_RUNTIME:
            self._finish(is_saved=False)  # it cannot be switched on yet
        if self._recorder is not None:
            _switch_on(self._recorder)
            return
        self._is_guest = start()
        if self._is_guest:
            _await(1)
            self.path = "the recording that this program runs in"
        else:
            self._recorder = _record(self.path, self._all_options())

    def _end(self, is_saved):
        if self._has_schedule:
            _call(_STEPS_END, None)
        if self._synchronize:
            _synchronize()
        if self._is_guest:
            pause()
            _await(0)
        else:
            self._finish(is_saved)
        self.cycle += is_saved
        return is_saved and not self._is_guest

    def _finish(self, is_saved):
        recorder, self._recorder = self._recorder, None
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        try:
            text = recorder.communicate(timeout=_WRITE_S)[1]
        except subprocess.TimeoutExpired:
            recorder.kill()
            text = b"aiflame: the recorder did not end"
        if recorder.returncode and is_saved:  # one that is thrown away may have ended before it was ready for the signal
            raise RuntimeError(text.decode("utf-8", "replace").strip())
        self.is_done = is_saved
        if not is_saved:
            with contextlib.suppress(OSError):
                os.unlink(self.path)

    # ---- views ----

    def _view(self, none, *arguments):
        """What a command prints of the profile; `none` where that is not there, or cannot be shown."""
        if not self.is_done:
            _warn("the profile is written when the recording ends: there is nothing to show yet" if self._is_started
                  else "there is no profile to show", stacklevel=4)
            return none
        try:
            return _run(*arguments)
        except (OSError, RuntimeError) as e:
            _warn(str(e), stacklevel=4)
            return none

    def flame(self, path=None, *options):
        """The flame graph: written to `path`, or its SVG as text. Options as of `aiflame flame`."""
        text = self._view("", "flame", "-i", self.path, "-o", path or "-", *(() if path else ("--format", "svg")), *options)
        return path or text

    def report(self, *options):
        """Tables as text: report("--kernels"), report("--stalls") and so on, as `aiflame report`."""
        return self._view("", "report", "-i", self.path, *options)

    def query(self, sql):
        """Rows of `aiflame query`, as a list of dictionaries."""
        import json

        return json.loads(self._view("", "query", "-i", self.path, "--format", "json", sql) or "[]")

    def export_chrome_trace(self, path):
        """A trace for Perfetto and Chrome, as of torch.profiler's."""
        self._view("", "export", "-i", self.path, "--format", "chrome", "-o", path)

    def _repr_html_(self):
        if not self.is_done:
            return "<i>aiflame: recording %s</i>" % html.escape(self.path)
        # In a frame of its own: the picture's names and its script are not the notebook's.
        page = "<style>body{margin:0}</style>" + self.flame()
        return ('<iframe style="width:100%%;height:36em;border:0" srcdoc="%s"></iframe>' % html.escape(page, quote=True))

    def __repr__(self):
        return "<aiflame.profile %r%s>" % (self.path, "" if self.is_done else ", not yet written")
