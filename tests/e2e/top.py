# SPDX-License-Identifier: Apache-2.0
"""A terminal for `aiflame top`, and what a user does at it.

    top.py SCENARIO COMMAND...     runs COMMAND in the terminal; prints what went wrong, and ends with 1
    top.py --svg FILE KEYS COMMAND...   draws the screen that COMMAND shows after these keys
"""
import fcntl
import html
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

PATIENCE = 120  # seconds for what takes one


class Terminal:
    """As much of a terminal as top uses: positions, attributes, the alternate screen. All else is an error."""

    SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")

    def __init__(self, columns, rows, command, env=None):
        self.columns, self.rows = columns, rows
        self.raw = b""
        self.rest = b""
        self.odd = []
        self.alternate = False
        self.is_settled = True
        self.cursor = True
        self.attributes = ""
        self.clear()
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        whole = dict(os.environ, TERM="xterm", LC_ALL="C.UTF-8")
        whole.pop("NO_COLOR", None)
        whole.update(env or {})
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(theirs, fd)
            os.execvpe(command[0], command, whole)
        self.status = None

    def clear(self):
        self.cells = [[(" ", "")] * self.columns for _ in range(self.rows)]
        self.x = self.y = 0

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.clear()
        self.is_settled = False  # until it is drawn anew: output of the size before may be on its way
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def sequence(self, parameters, letter):
        if letter == "H":
            y, x = ([int(v or 1) for v in parameters.split(";")] + [1, 1])[:2] if parameters else (1, 1)
            self.y, self.x = y - 1, x - 1
        elif letter == "J":
            self.clear()
            self.is_settled = True
        elif letter == "m":
            self.attributes = parameters
        elif letter in "hl" and parameters in ("?1049", "?25", "?7", "?2026"):
            if parameters == "?1049":
                self.alternate = letter == "h"
            if parameters == "?25":
                self.cursor = letter == "h"
        else:
            self.odd.append("ESC [ %s %s" % (parameters, letter))

    def put(self, c):
        wide = 2 if unicodedata.east_asian_width(c) in "WF" else 1
        if self.y < self.rows and self.x + wide <= self.columns:
            self.cells[self.y][self.x] = (c, self.attributes)
        elif self.alternate and self.is_settled:
            self.odd.append("a character at column %d of %d" % (self.x, self.columns))
        self.x += wide

    def feed(self, data):
        self.raw += data
        self.rest += data
        try:
            text = self.rest.decode()
            self.rest = b""
        except UnicodeDecodeError as e:
            text = self.rest[: e.start].decode()
            self.rest = self.rest[e.start:]
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                m = self.SEQUENCE.match(text, at)
                if not m and not re.match(r"\x1b(\[[?0-9;]*)?$", text[at:]):
                    self.odd.append(repr(text[at : at + 8]))
                    at += 1
                    continue
                if not m:
                    self.rest = text[at:].encode() + self.rest
                    return
                self.sequence(*m.groups())
                at = m.end()
                continue
            if c == "\r":
                self.x = 0
            elif c == "\n":
                self.y = min(self.y + 1, self.rows - 1)
            elif ord(c) < 32 or ord(c) == 127:
                self.odd.append(repr(c))
            else:
                self.put(c)
            at += 1

    def read(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]:
            try:
                self.feed(os.read(self.ours, 65536))
            except OSError:
                return False
        return True

    def lines(self):
        return ["".join(c for c, _ in row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def wait(self, what, condition=None):
        """Reads until the screen has a text, or a condition holds."""
        end = time.monotonic() + PATIENCE
        test = condition or (lambda: what in self.text())
        while not test():
            if time.monotonic() > end:
                raise AssertionError("never came: %s\n%s" % (what, self.text()))
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                raise AssertionError("it has ended with %d, waited for: %s\n%s" % (self.status, what, self.text()))
            self.read(0.1)

    def key(self, keys):
        os.write(self.ours, keys.encode())

    def end(self):
        """Waits for the end, and returns the status as shells have it."""
        end = time.monotonic() + PATIENCE
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError("it does not end")
            self.read(0.05)
        while select.select([self.ours], [], [], 0)[0]:
            self.read(0)
        return self.status

    def check_restored(self):
        assert not self.alternate, "the alternate screen was left on"
        assert self.cursor, "the cursor is hidden"
        assert termios.tcgetattr(self.theirs) == self.before, "the terminal's modes are others than before"
        assert not self.odd, "odd output: %s" % self.odd[:5]


def children(pid):
    out = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in out.splitlines()]


def quit_and_check(t, status=0):
    t.key("q")
    got = t.end()
    assert got == status, "status %d instead of %d" % (got, status)
    t.check_restored()


def keys(command):
    """Each key, and what comes of it."""
    t = Terminal(100, 24, command)
    t.wait("launched by")
    t.wait("spin")
    t.wait("joined 100.0 %")
    t.key("5")
    t.wait("who held it up")
    t.wait("off CPU")
    t.key("\t")
    t.wait("launched by")
    t.key("\x1b[D")
    t.wait("who held it up")
    t.key("2")
    t.wait("target_launch < ")
    t.key("3")
    t.wait("idle_app")
    t.key("1")
    t.wait("launched by")
    t.key("s")
    t.wait("by launches")
    t.key("/")
    t.wait("show rows that contain")
    t.key("no such kernel\r")
    t.wait("no row contains")
    t.key("\x1b")
    t.wait("spin")
    t.key("\r")
    t.wait("Who launched spin")
    t.wait("    target_launch")
    t.key("q")
    t.wait("launched by")
    t.key("a")
    t.wait("Instructions and lines")
    t.wait("samples")
    t.key("\x1b")
    t.wait("launched by")
    t.key("i")
    t.wait("What did not work")
    t.key("q")
    t.key("?")
    t.wait("aiflame top: keys")
    t.key("q")
    t.wait("launched by")
    t.key("f")
    t.wait("FROZEN")
    t.key("w")
    t.wait("wrote aiflame-top-1.data")
    t.key("f")
    t.wait("it goes on", lambda: "FROZEN" not in t.text())
    t.wait("spin")
    quit_and_check(t)


def sizes(command):
    """No line is wider than the terminal, at any size; a change is followed at once."""
    t = Terminal(80, 24, command)
    t.wait("spin")
    for columns, rows in ((40, 10), (200, 60), (20, 5), (1, 1), (120, 30), (40, 10)):
        t.resize(columns, rows)
        if columns >= 40:
            t.wait("aiflame top at the new size", lambda: t.is_settled and "aiflame top" in t.text())
            t.wait("spin")
            t.wait("%")
        else:
            t.wait("a drawing", lambda: t.is_settled and any(t.lines()))
    assert not t.odd, t.odd[:5]
    quit_and_check(t)


def signals(command):
    """Signals end it with the terminal as it was."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        t = Terminal(80, 24, command)
        t.wait("aiflame top")
        os.kill(t.pid, number)
        got = t.end()
        assert got == 128 + number, "status %d after signal %d" % (got, number)
        t.check_restored()


def faults(command):
    """What ends it without its doing leaves the terminal as it was, too."""
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS):
        t = Terminal(80, 24, command)
        t.wait("spin")
        os.kill(t.pid, number)
        got = t.end()
        assert got == -number, "status %d after signal %d" % (got, number)
        t.check_restored()


def closed(command):
    """The terminal's window is closed: it ends, with what it has started."""
    t = Terminal(80, 24, command)
    t.wait("spin")
    started = children(t.pid)
    assert started, "no recorder"
    os.close(t.ours)
    end = time.monotonic() + PATIENCE
    while not os.waitpid(t.pid, os.WNOHANG)[0]:
        assert time.monotonic() < end, "it does not end"
        time.sleep(0.05)
    while any(os.path.exists("/proc/%d" % pid) for pid in started):
        assert time.monotonic() < end, "its recorder does not end"
        time.sleep(0.05)


def suspended(command):
    """Ctrl-Z gives the terminal back, fg takes it again."""
    t = Terminal(80, 24, command)
    t.wait("spin")
    for stop in (lambda: t.key("\x1a"), lambda: os.kill(t.pid, signal.SIGTSTP)):
        stop()
        pid, status = os.waitpid(t.pid, os.WUNTRACED)
        assert pid and os.WIFSTOPPED(status), "it was not stopped"
        while select.select([t.ours], [], [], 0.2)[0]:
            t.read(0)
        t.check_restored()
        os.kill(t.pid, signal.SIGCONT)
        t.wait("the screen again", lambda: t.alternate)
        t.wait("spin")
    # A stop that it cannot see: the shell has set the terminal as it likes it meanwhile.
    os.kill(t.pid, signal.SIGSTOP)
    os.waitpid(t.pid, os.WUNTRACED)
    termios.tcsetattr(t.theirs, termios.TCSANOW, t.before)
    drawn = t.raw.count(b"\x1b[2J")
    os.kill(t.pid, signal.SIGCONT)
    t.wait("a new drawing", lambda: t.raw.count(b"\x1b[2J") > drawn)
    t.key("5")
    t.wait("who held it up")
    quit_and_check(t)


def target_ends(command):
    """What was recorded ends: the last window stays, and can be looked at."""
    t = Terminal(80, 24, command)
    t.wait("ENDED")
    t.wait("has ended; q quits")
    t.key("2")
    t.wait("main")
    t.key("\r")
    t.wait("Who launched")
    t.key("q")
    quit_and_check(t)


def no_command(command):
    t = Terminal(80, 24, command)
    got = t.end()
    assert got == 127, "status %d" % got
    assert b"command not found" in t.raw, "no message"
    t.check_restored()


def output(command):
    t = Terminal(80, 24, command)
    t.wait("ENDED")
    assert b"alpha" not in t.raw, "it is on the screen"
    t.key("q")
    assert t.end() == 0
    after = t.raw[t.raw.rindex(b"?1049l"):]
    assert b"alpha" in after and b"omega" in after, after
    t.check_restored()


def recorder_dies(command):
    t = Terminal(80, 24, command)
    t.wait("spin")
    for pid in children(t.pid):
        os.kill(pid, signal.SIGKILL)
    t.wait("ENDED")
    quit_and_check(t)


def plain(command):
    """NO_COLOR: no colour; without UTF-8: ASCII only."""
    t = Terminal(80, 24, command, {"NO_COLOR": "1", "LC_ALL": "C"})
    t.wait("spin")
    assert not re.search(rb"\x1b\[[0-9;]*;3[0-9][0-9;]*m", t.raw), "a colour"
    assert max(t.raw) < 128, "not ASCII"
    quit_and_check(t)
    t = Terminal(80, 24, command)
    t.wait("spin")
    assert re.search(rb"\x1b\[[0-9;]*;3[0-9][0-9;]*m", t.raw), "no colour"
    quit_and_check(t)


def hostile(command):
    """Escape sequences in what programs say never reach the terminal."""
    t = Terminal(120, 24, command)
    t.wait("aiflame top")
    t.wait("spin")
    t.key("3")
    t.wait("evil")
    assert b"\x1b]" not in t.raw and b"\x07" not in t.raw, "a sequence of the program's"
    quit_and_check(t)


def draw_svg(path, steps, command):
    t = Terminal(100, 22, command)
    t.wait("joined")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        t.read(0.2)
    for step in steps:
        t.key(step)
        for _ in range(20):
            t.read(0.1)
    colours = {"32": "#3fb950", "33": "#d29922", "31": "#f85149", "36": "#39c5cf"}
    width, height = t.columns * 8.4 + 24, t.rows * 18 + 20
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="monospace" font-size="14">' % (width, height),
           '<rect width="100%" height="100%" rx="6" fill="#0d1117"/>']
    for y, row in enumerate(t.cells):
        x = 0
        while x < len(row):
            end_x = x
            while end_x < len(row) and row[end_x][1] == row[x][1]:
                end_x += 1
            text, attributes = "".join(c for c, _ in row[x:end_x]), row[x][1].split(";")
            colour = next((colours[a] for a in attributes if a in colours), "#8b949e" if "2" in attributes else "#c9d1d9")
            if "7" in attributes:
                out.append('<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"/>' % (12 + x * 8.4, 10 + y * 18, (end_x - x) * 8.4, colour))
                colour = "#0d1117"
            if text.strip():
                out.append('<text x="%.1f" y="%d" fill="%s"%s xml:space="preserve" textLength="%.1f">%s</text>' % (
                    12 + x * 8.4, 24 + y * 18, colour, ' font-weight="bold"' if "1" in attributes else "",
                    (end_x - x) * 8.4, html.escape(text)))
            x = end_x
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out + ["</svg>", ""]))
    quit_and_check(t)


if __name__ == "__main__":
    if sys.argv[1] == "--svg":
        draw_svg(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        try:
            globals()[sys.argv[1]](sys.argv[2:])
        except AssertionError as e:
            print(e)
            sys.exit(1)
