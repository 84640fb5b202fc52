#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads pages of `aiflame view`: page_losses.py PAGE prints what one says was lost, a line each, and what that leaves incomplete."""
import base64
import gzip
import json
import re
import sys


def head(html):
    """The object that a page begins with."""
    packed = re.search(r'<script type="application/octet-stream" id="data">(.*?)</script>', html, re.S).group(1)
    data = gzip.decompress(base64.b64decode(packed))
    return json.JSONDecoder().raw_decode(data[4:4 + int.from_bytes(data[:4], "little")].decode())[0]


def said(html):
    page = head(html)
    return [*page["losses"], *([page["incomplete"]] if page["incomplete"] else [])]


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        print("\n".join(said(f.read())))
