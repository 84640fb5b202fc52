# SPDX-License-Identifier: Apache-2.0
"""btree_bomb.py FILE [without]: an SQLite file as nsys writes them, whose table's root page leads to one page of 100 rows
501 times, so that 16 KiB have 50,100 rows. `without`: a sound table WITHOUT ROWID of 100 rows."""
import sqlite3
import struct
import sys

PAGE, LINKS, ROWS = 4096, 500, 100
path, sound = sys.argv[1], sys.argv[2:] == ["without"]
db = sqlite3.connect(path)
db.execute("PRAGMA page_size=%d" % PAGE)
key = ", PRIMARY KEY (start)) WITHOUT ROWID" if sound else ")"
db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, text TEXT" + key)
db.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 1, 'r')", [(i * 10, i * 10 + 5) for i in range(ROWS)])
db.commit()
root, = db.execute("SELECT rootpage FROM sqlite_schema").fetchone()
db.close()
if sound:
    sys.exit()
with open(path, "rb") as f:
    pages = bytearray(f.read())
leaf = pages[(root - 1) * PAGE:root * PAGE]
child = len(pages) // PAGE + 1
page, at, cells = bytearray(PAGE), PAGE, []
for i in range(LINKS):
    cell = struct.pack(">IB", child, min(i + 1, 127))
    at -= len(cell)
    page[at:at + len(cell)] = cell
    cells.append(at)
page[:12] = struct.pack(">BHHHBI", 5, 0, LINKS, at, 0, child)
page[12:12 + 2 * LINKS] = struct.pack(">%dH" % LINKS, *cells)
pages[(root - 1) * PAGE:root * PAGE] = page
pages += leaf
pages[28:32] = struct.pack(">I", len(pages) // PAGE)
with open(path, "wb") as f:
    f.write(pages)
