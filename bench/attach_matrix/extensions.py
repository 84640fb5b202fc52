# SPDX-License-Identifier: Apache-2.0
"""Threads that compute in C extensions, most of the time without the interpreter's lock."""
import hashlib
import sqlite3
import sys
import zlib

from until_end import done, run

found = [set() for _ in range(6)]
data = bytes(range(256)) * 4000


def work(i):
    while not done.is_set():
        if i % 3 == 0:
            found[i].add(hashlib.sha256(data).hexdigest())
        elif i % 3 == 1:
            found[i].add(zlib.crc32(zlib.decompress(zlib.compress(data, 6))))
        else:
            db = sqlite3.connect(":memory:")
            db.execute("CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i FROM n")
            found[i].add(db.execute("SELECT sum(i * i) FROM t").fetchone()[0])
            db.close()


run(work, 6)
print(found)
sys.exit(26)
