# SPDX-License-Identifier: Apache-2.0
"""Launches a kernel three times through ctypes: level_zero.py MODULE KERNEL"""
import ctypes
import sys

POINTER = ctypes.c_void_p
ze = ctypes.CDLL("libze_loader.so.1")


class ModuleDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", POINTER), ("format", ctypes.c_uint32),
                ("size", ctypes.c_size_t), ("input", POINTER), ("flags", ctypes.c_char_p),
                ("constants", POINTER)]


class KernelDesc(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_uint32), ("next", POINTER), ("flags", ctypes.c_uint32),
                ("name", ctypes.c_char_p)]


def call(name, *arguments):
    result = getattr(ze, name)(*arguments)
    if result:
        sys.exit(f"{name}: {result:#x}")


def made(name, *arguments):
    """The object that a create function gives."""
    handle = POINTER()
    call(name, *arguments, ctypes.byref(handle))
    return handle


def desc(stype):
    return (ctypes.c_uint64 * 8)(stype)


def inner(commands, kernel):
    for _ in range(3):
        call("zeCommandListAppendLaunchKernel", commands, kernel, (ctypes.c_uint32 * 3)(4, 64, 1),
             None, 0, None)


def outer(commands, kernel):
    inner(commands, kernel)


call("zeInit", 0)
driver = made("zeDriverGet", ctypes.byref(ctypes.c_uint32(1)))
device = made("zeDeviceGet", driver, ctypes.byref(ctypes.c_uint32(1)))
context = made("zeContextCreate", driver, desc(0xD))
queue = made("zeCommandQueueCreate", context, device, desc(0xE))
commands = made("zeCommandListCreate", context, device, desc(0xF))
data = open(sys.argv[1], "rb").read()
text = ctypes.create_string_buffer(data, len(data))
module = POINTER()
call("zeModuleCreate", context, device,
     ctypes.byref(ModuleDesc(0x1B, None, int(data[:4] == b"\x7fELF"), len(data), ctypes.addressof(text), b"")),
     ctypes.byref(module), None)
kernel = made("zeKernelCreate", module, ctypes.byref(KernelDesc(0x1D, None, 0, sys.argv[2].encode())))
call("zeKernelSetGroupSize", kernel, 16, 1, 1)
outer(commands, kernel)
call("zeCommandListClose", commands)
call("zeCommandQueueExecuteCommandLists", queue, 1, ctypes.byref(commands), None)
call("zeCommandQueueSynchronize", queue, ctypes.c_uint64(2**64 - 1))
