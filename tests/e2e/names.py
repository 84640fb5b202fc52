# SPDX-License-Identifier: Apache-2.0
# Names that are orders to a terminal, in a profile and in arguments.
#   names.py poison FROM TO [HEAD]   FROM with a tail behind each of its names, or HEAD in front of it
#   names.py clean pty|pipe CMD...   runs it; fails if anything of the tail comes out that a terminal obeys
#   names.py quiet CMD...            runs it with a pipe; fails if a line is an order to a service that builds a project
#   names.py same FROM CMD...        runs it with a pipe; fails if a poisoned name is not among the output byte for byte
import os, pty, re, shutil, sqlite3, subprocess, sys

# A line of its own, a colour, C1's control sequence as a character and as a byte, text turned around, a bell.
TAIL = "\nFORGED \x1b[31m".encode() + "\u009b\u202e\u2066\u061c\u2028".encode() + b"\x9b\xff\x07\x7f\x08\r"
MISLEADS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# GitHub's runner, Azure's agent and TeamCity; the gate's own for GitHub are none of a name.
ORDERS = re.compile(r"^\s*::(?!\w+ title=aiflame gate::).*::|##[A-Za-z]*\[", re.M)


def poison(source, to, head=None):
    shutil.copy(source, to)
    db = sqlite3.connect(to)
    db.text_factory = bytes
    keys = {row[0] for row in db.execute("SELECT key FROM meta")}
    for number, value in db.execute("SELECT id, value FROM string").fetchall():
        if number not in keys:
            db.execute("UPDATE string SET value = CAST(? AS TEXT) WHERE id = ?", (head.encode() + value if head else value + TAIL, number))
    # A name may be the same string as a program's source, which has several lines.
    first = db.execute("SELECT count(*) FROM program").fetchone()[0]
    numbers = [row[0] for row in db.execute("SELECT id FROM string") if row[0] not in keys]
    db.executemany("INSERT INTO program (id, source) VALUES (?, ?)", enumerate(numbers, first))
    db.execute("DELETE FROM cache")
    db.commit()
    db.close()


def on_terminal(command):
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    child.wait()
    os.close(ours)
    return out.replace(b"\r\n", b"\n")  # the terminal's own


def clean(where, command):
    if where == "pty":
        out = on_terminal(command)
    else:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    assert out, "it says nothing"
    text = out.decode()  # which fails for what is no UTF-8
    found = MISLEADS.search(text)
    if found:
        at = found.start()
        sys.exit(f"{found.group()!r} in {text[max(0, at - 60):at + 20]!r}")
    forged = re.search("^.{0,2}FORGED.*", text, re.M)
    if forged:
        sys.exit(f"a line of its own: {text[max(0, forged.start() - 80):forged.end()]!r}")


def quiet(command):
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
    assert out, "it says nothing"
    found = ORDERS.search(out)
    if found:
        sys.exit(f"an order: {out[found.start():found.end() + 40]!r}")


def same(source, command):
    db = sqlite3.connect(source)
    db.text_factory = bytes
    # A byte that is no text is U+FFFD in all formats, whose readers refuse it.
    wanted = TAIL.decode(errors="replace").encode()
    out = subprocess.run(command, stdout=subprocess.PIPE).stdout
    assert wanted in out, out[:400]


if sys.argv[1] == "poison":
    poison(*sys.argv[2:])
elif sys.argv[1] == "clean":
    clean(sys.argv[2], sys.argv[3:])
elif sys.argv[1] == "quiet":
    quiet(sys.argv[2:])
else:
    same(sys.argv[2], sys.argv[3:])
