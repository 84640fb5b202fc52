# SPDX-License-Identifier: Apache-2.0
"""Launches by a file as PyTorch's Inductor writes them, in its cache, and deletes it: compiled.py CACHE [huge|vast|link FILE|secret FILE|lines|late|odd]

huge: the file has 5 MiB; vast: it grows to 3 GiB, of holes, before the first launch; link: it is a symbolic link to FILE, a copy; secret: to FILE, which is none; lines: a module of torch's name has the lines of the
program for it, as torch does; late: only after the first launch; odd: it has others' files, too, none of them so."""
import hashlib
import importlib.util
import os
import shutil
import sys
import time
import types

import pyopencl

cache, how = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
WRAPPER = """# AOT ID: ['0_forward']
# kernel path: {kernel}
# Topologically Sorted Source Nodes: [definition], Original ATen: [aten.definition]
# Source node to ATen node mapping:
#   linear => mm


def call(launch):
    buf0 = empty_strided(launch)
    # Topologically Sorted Source Nodes: [linear, gelu], Original ATen: [aten.view, aten.gelu]
    # [Provenance debug handles] triton_poi_fused_gelu_view_0:1
    stream0 = 0
    launch()
    del buf0
    launch()
    # Topologically Sorted Source Nodes: [a, b, c, d, e, f, g, h], Original ATen: [aten.a, aten.b, aten.c, aten.d, aten.e, aten.f, aten.g, aten.h]
    launch(
        1,
    )
    return ()


def empty_strided(launch):
    return launch()
"""


def path_of(text):
    name = "c" + hashlib.sha256(text.encode()).hexdigest().translate(str.maketrans("0189", "wxyz"))[:51]
    return os.path.join(cache, name[1:3], name + ".py")


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


context = pyopencl.create_some_context(interactive=False)
kernel = pyopencl.Program(context, "kernel void f(global int *a) { a[get_global_id(0)] += 1; }").build().f
queue = pyopencl.CommandQueue(context)
buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4 * 64)
kernel.set_args(buffer)

inner = write(path_of("kernel"), "# a kernel's own file\n")
text = WRAPPER.format(kernel=inner) + ("#" * (5 << 20) if how == "huge" else "")
path = path_of(text)
if how == "link":
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(write(cache + ".text", text), sys.argv[3])
    os.symlink(sys.argv[3], path)
elif how == "secret":
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(sys.argv[3], path)
else:
    write(path, text)
spec = importlib.util.spec_from_file_location("compiled", path)


def lines_known():
    """As torch/_inductor/codecache.py has it: lists of lines and of stacks, by file."""
    stack = '  File "/home/me/model.py", line 12, in forward\n    y = self.fc(x)\n  File "/x/site-packages/torch/nn/linear.py", line 5, in forward\n    return f(x)\n'
    linemap = [(1, None), (8, stack), (15, stack.replace("12, in forward", "15, in Größe")), (21, None)]
    cache = type("PyCodeCache", (), {"linemaps": {}})
    if how == "odd":
        cycle = []
        cycle.append(cycle)
        cache.linemaps.update({5: 6, "a": cycle, "é": None, "b": {}, cache: cache, **{str(i): [(i,), (None,)] for i in range(3000)}})
        linemap[1] = (1 << 80, stack)
    cache.linemaps[path] = list(zip(*linemap))
    codecache = types.ModuleType("torch._inductor.codecache")
    codecache.PyCodeCache = cache
    sys.modules["torch._inductor.codecache"] = codecache


if how in ("lines", "odd"):
    lines_known()
module = importlib.util.module_from_spec(spec)
exec(compile(text, path, "exec"), module.__dict__)
if how == "vast":
    os.truncate(path, 3 << 30)
for _ in range(20):
    module.call(lambda *_: pyopencl.enqueue_nd_range_kernel(queue, kernel, (64,), None))
    queue.finish()
    if how in ("lines", "odd") and _ == 0:
        time.sleep(1)  # a recorder reads it while it runs
    if how == "late" and "torch._inductor.codecache" not in sys.modules:
        time.sleep(0.5)
        lines_known()
        time.sleep(2)
