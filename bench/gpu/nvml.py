# SPDX-License-Identifier: Apache-2.0
"""What NVML says of a GPU, and what asking costs: nvml.py [USER]. With USER's name as that user."""
import ctypes
import os
import pwd
import statistics
import sys
import time

if len(sys.argv) > 1:
    os.setuid(pwd.getpwnam(sys.argv[1]).pw_uid)
print("as uid", os.getuid())
ml = ctypes.CDLL("libnvidia-ml.so.1")
print("init", ml.nvmlInit_v2())
version = ctypes.create_string_buffer(80)
ml.nvmlSystemGetDriverVersion(version, 80)
device = ctypes.c_void_p()
print("driver", version.value.decode(), "handle", ml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)))


def ask(name, kind, *before):
    fn = getattr(ml, name, None)
    if not fn:
        print(name, "is not there")
        return
    value = kind()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        r = fn(device, *before, ctypes.byref(value))
        times.append((time.perf_counter() - begin) * 1e6)
    shown = value.value if hasattr(value, "value") else [getattr(value, f) for f, _ in value._fields_]
    print(f"{name} {before}: result {r}, {shown}, {statistics.median(times):.1f} us, at most {max(times):.1f}")


class Memory(ctypes.Structure):
    _fields_ = [(f, ctypes.c_ulonglong) for f in ("total", "free", "used")]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


for clock in (0, 1, 2):
    ask("nvmlDeviceGetClockInfo", ctypes.c_uint, clock)
ask("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, 1)
ask("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
ask("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong)
ask("nvmlDeviceGetPowerUsage", ctypes.c_uint)
ask("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint)
ask("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong)
ask("nvmlDeviceGetTemperature", ctypes.c_uint, 0)
ask("nvmlDeviceGetMemoryInfo", Memory)
ask("nvmlDeviceGetUtilizationRates", Utilization)
ask("nvmlDeviceGetMigMode", ctypes.c_uint, ctypes.byref(ctypes.c_uint()))


class Support(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("supported", ctypes.c_uint)]


support = Support(1)
if hasattr(ml, "nvmlGpmQueryDeviceSupport"):
    print("GPM support", ml.nvmlGpmQueryDeviceSupport(device, ctypes.byref(support)), support.supported)
    state = ctypes.c_uint()
    if hasattr(ml, "nvmlGpmQueryIfStreamingEnabled"):
        print("GPM streaming", ml.nvmlGpmQueryIfStreamingEnabled(device, ctypes.byref(state)), state.value)


class Metric(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("r", ctypes.c_int), ("value", ctypes.c_double), ("short", ctypes.c_char_p), ("long", ctypes.c_char_p),
                ("unit", ctypes.c_char_p)]


class Get(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("n", ctypes.c_uint), ("a", ctypes.c_void_p), ("b", ctypes.c_void_p), ("metrics", Metric * 400)]


if support.supported:
    a, b = ctypes.c_void_p(), ctypes.c_void_p()
    print("alloc", ml.nvmlGpmSampleAlloc(ctypes.byref(a)), ml.nvmlGpmSampleAlloc(ctypes.byref(b)))
    times = []
    for period in (0.02, 0.1, 0.25, 0.25, 0.25):
        begin = time.perf_counter()
        r1 = ml.nvmlGpmSampleGet(device, a)
        times.append((time.perf_counter() - begin) * 1e6)
        time.sleep(period)
        r2 = ml.nvmlGpmSampleGet(device, b)
        get = Get(1, 0, a, b)
        wanted = list(range(1, 15)) + [20, 21, 60, 61]
        for i, m in enumerate(wanted):
            get.metrics[i].id = m
        get.n = len(wanted)
        begin = time.perf_counter()
        r3 = ml.nvmlGpmMetricsGet(ctypes.byref(get))
        took = (time.perf_counter() - begin) * 1e6
        print("GPM", period, "s:", r1, r2, r3, f"metrics {took:.0f} us", [(get.metrics[i].short, get.metrics[i].r, round(get.metrics[i].value, 2))
                                                                     for i in range(len(wanted))])
    print("SampleGet us", [round(t) for t in times])
