# SPDX-License-Identifier: Apache-2.0
"""SQLite files of GPU tools, made by their documented schemas (no GPU has written them): nsys.sqlite (nsys export, schema 3),
rocpd3.db and rocpd4.db (rocprofv3: times in rows, times in a table of their own), rpd.db (rocpd before ROCm 7)."""
import os
import sqlite3
import sys

T0 = 1_000_000


def fill(path, script, **tables):
    if os.path.exists(path):
        os.unlink(path)
    db = sqlite3.connect(path)
    db.executescript(script)
    for table, rows in tables.items():
        for row in rows:
            db.execute(f'INSERT INTO "{table}" VALUES ({",".join("?" * len(row))})', row)
    db.commit()
    db.close()


def nsys(path):
    strings = {1: "cudaLaunchKernel_v7000", 2: "cudaMemcpyAsync_v3020", 3: "cudaDeviceSynchronize_v3020", 4: "void gemm<float>(float*)",
               5: "gemm", 6: "registered range", 7: "main thread", 8: "main", 9: "/usr/bin/app", 10: "run(int)", 11: "cublasSgemm_v2",
               12: "cudaGraphLaunch_v10000", 13: "vfs_read", 14: "[kernel.kallsyms]", 15: "worker", 16: "cudaMemsetAsync_v3020"}
    vm = 1 << 56
    tid = lambda pid, t: vm | pid << 24 | t
    a, b = tid(4711, 4711), tid(4800, 4801)
    call = lambda start, end, thread, number, name, chain=None: (T0 + start, T0 + end, 0, thread, number, name, 0, chain)
    fill(path, """
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
        CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
        CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, smCount INTEGER);
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
            shortName INTEGER NOT NULL, registersPerThread INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
            blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
            copyKind INTEGER NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
            globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
        CREATE TABLE CUBLAS_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, nameId INTEGER);
        CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER,
            originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
            endGlobalTid INTEGER, textId INTEGER);
        CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER,
            globalTid INTEGER, cpuCycles INTEGER NOT NULL);
        CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER,
            unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth));
        CREATE VIEW evil AS SELECT * FROM StringIds;
        """,
         StringIds=strings.items(), ThreadNames=[(7, 20, a), (15, 20, b)],
         PROCESSES=[(tid(4711, 0), 4711, "app"), (tid(4800, 0), 4800, "helper")],
         TARGET_INFO_SESSION_START_TIME=[(1_700_000_000_000_000_000, "", "")],
         TARGET_INFO_GPU=[(0, 0, "NVIDIA Test 80GB", 132), (0, 1, "NVIDIA Other", 80)],
         # The second process sees the second GPU as its first.
         TARGET_INFO_CUDA_DEVICE=[(0, 0, 4711), (1, 0, 4800)],
         CUPTI_ACTIVITY_KIND_RUNTIME=[
             call(1000, 2000, a, 1, 1, 1), call(3000, 4000, a, 2, 2), call(5000, 90000, a, 3, 3), call(100000, 101000, a, 4, 12),
             call(102000, 103000, a, 5, 16),
             # The same correlation id of another process.
             call(1500, 2500, b, 1, 1)],
         CUBLAS_EVENTS=[(T0 + 900, T0 + 2100, 0, a, 11)],
         CUPTI_ACTIVITY_KIND_KERNEL=[
             (T0 + 10000, T0 + 40000, 0, 1, 7, 1, tid(4711, 0), 4, 5, 32, 8, 4, 1, 64, 2, 1, 1024, 512, None),
             (T0 + 11000, T0 + 16000, 0, 1, 7, 1, tid(4800, 0), 4, 5, 32, 1, 1, 1, 64, 1, 1, 0, 0, None)],
         CUPTI_ACTIVITY_KIND_MEMCPY=[(T0 + 50000, T0 + 57000, 0, 1, 8, 2, tid(4711, 0), 4096, 2)],
         CUPTI_ACTIVITY_KIND_MEMSET=[(T0 + 104000, T0 + 105000, 0, 1, 8, 5, tid(4711, 0), 0, 64)],
         CUPTI_ACTIVITY_KIND_GRAPH_TRACE=[(T0 + 110000, T0 + 111000, 0, 1, 7, 4, tid(4711, 0), 9)],
         CUDA_CALLCHAINS=[(1, 10, 9, 0, 4096, 0), (1, 8, 9, 0, 8192, 1)],
         NVTX_EVENTS=[(T0, T0 + 99000, 59, "step", a, a, None), (T0 + 2500, T0 + 4500, 59, None, a, a, 6),
                      (T0 + 10, None, 34, "a mark", a, a, None)],
         COMPOSITE_EVENTS=[(i, T0 + i * 1000, 0, 1, a, 1) for i in range(1, 5)],
         SAMPLING_CALLCHAINS=[row for i in range(1, 5) for row in
                              ((i, 8, 9, 0, 0, 1, 1), (i, 13 if i == 4 else 10, 14 if i == 4 else 9, i == 4, 0, 1, 0))])


def rocpd(path, version):
    u = "_00abcd"
    where = "track_id INTEGER" if version > 3 else "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER"
    when = "start_id INTEGER, end_id INTEGER" if version > 3 else "start BIGINT, end BIGINT"
    times, tracks = [], []

    def at(tid, agent, queue, start, end):
        if version == 3:
            return (1, 1, tid, agent, queue, 0), (T0 + start, T0 + end)
        key = (1, 1, tid, agent, queue, 0)
        if key not in tracks:
            tracks.append(key)
        times.extend((T0 + start, T0 + end))
        return (tracks.index(key) + 1,), (len(times) - 1, len(times))

    def row(i, place, *more):
        w, t = place
        return (i, *w, *t, *more)

    region = [row(1, at(1, None, None, 0, 9000), 1, 1, '{"message": "forward"}'), row(2, at(1, None, None, 1000, 2000), 2, 2, "{}"),
              row(3, at(1, None, None, 3000, 4000), 3, 3, "{}"), row(4, at(1, None, None, 5000, 8000), 4, 6, "{}")]
    kernel = [row(1, at(1, 2, 1, 6000, 7500), 1, 256, 2, 1, 64, 1, 1, 4)]
    copy = [row(1, at(1, None, None, 7500, 7600), 5, 2048, 2, 1, 5)]
    script = f"""
        CREATE TABLE "rocpd_string{u}" (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
        CREATE TABLE "rocpd_info_process{u}" (id INTEGER PRIMARY KEY, pid INTEGER, command TEXT);
        CREATE TABLE "rocpd_info_thread{u}" (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);
        CREATE TABLE "rocpd_info_agent{u}" (id INTEGER PRIMARY KEY, type TEXT, name TEXT, product_name TEXT, model_name TEXT);
        CREATE TABLE "rocpd_info_kernel_symbol{u}" (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER,
            group_segment_size INTEGER);
        CREATE TABLE "rocpd_event{u}" (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER);
        CREATE TABLE "rocpd_region{u}" (id INTEGER PRIMARY KEY, {where}, {when}, name_id INTEGER, event_id INTEGER, extdata JSONB);
        CREATE TABLE "rocpd_kernel_dispatch{u}" (id INTEGER PRIMARY KEY, {where}, {when}, kernel_id INTEGER, grid_size_x INTEGER,
            grid_size_y INTEGER, grid_size_z INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,
            event_id INTEGER);
        CREATE TABLE "rocpd_memory_copy{u}" (id INTEGER PRIMARY KEY, {where}, {when}, name_id INTEGER, size INTEGER, dst_agent_id INTEGER,
            src_agent_id INTEGER, event_id INTEGER);
        CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM "rocpd_kernel_dispatch{u}";
        """
    more = {}
    if version > 3:
        script += f"""
        CREATE TABLE "rocpd_track{u}" (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER,
            stream_id INTEGER);
        CREATE TABLE "rocpd_timestamp{u}" (id INTEGER PRIMARY KEY, value BIGINT);
        """
        more = {f"rocpd_track{u}": [(i + 1, *t) for i, t in enumerate(tracks)],
                f"rocpd_timestamp{u}": [(i + 1, t) for i, t in enumerate(times)]}
    strings = ["roctxThreadRangeA", "hipLaunchKernel", "hipMemcpyAsync", "hipDeviceSynchronize", "MEMORY_COPY_DEVICE_TO_HOST",
               "MARKER_CORE_RANGE_API", "HIP_RUNTIME_API_EXT"]
    fill(path, script, **{
        f"rocpd_string{u}": [(i + 1, "g", s) for i, s in enumerate(strings)],
        f"rocpd_info_process{u}": [(1, 4711, "./app --fast")],
        f"rocpd_info_thread{u}": [(1, 1, 4712, "worker")],
        f"rocpd_info_agent{u}": [(1, "CPU", "cpu", "EPYC", ""), (2, "GPU", "gfx942", "AMD Instinct Test", "")],
        f"rocpd_info_kernel_symbol{u}": [(1, "_Z4gemmPf.kd", "gemm(float*)", 64, 1024)],
        # A call and what it launched have one stack_id.
        f"rocpd_event{u}": [(1, 6, 10, 0), (2, 7, 11, 10), (3, 7, 12, 10), (4, None, 11, 11), (5, None, 12, 12), (6, 7, 13, 10)],
        f"rocpd_region{u}": region, f"rocpd_kernel_dispatch{u}": kernel, f"rocpd_memory_copy{u}": copy, **more})


def rpd(path):
    strings = ["", "hipLaunchKernel", "KernelExecution", "gemm", "UserMarker", "forward", "CopyDeviceToHost", "hipMemcpy"]
    fill(path, """
        CREATE TABLE "rocpd_string" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "string" varchar(4096) NOT NULL);
        CREATE TABLE "rocpd_api" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "pid" integer NOT NULL, "tid" integer NOT NULL,
            "start" integer NOT NULL, "end" integer NOT NULL, "apiName_id" bigint NOT NULL, "args_id" bigint NOT NULL);
        CREATE TABLE "rocpd_op" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "gpuId" integer NOT NULL, "queueId" integer NOT NULL,
            "sequenceId" integer NOT NULL, "start" integer NOT NULL, "end" integer NOT NULL, "description_id" bigint NOT NULL,
            "opType_id" bigint NOT NULL);
        CREATE TABLE "rocpd_api_ops" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "api_id" bigint NOT NULL, "op_id" bigint NOT NULL);
        """,
         rocpd_string=[(i + 1, s) for i, s in enumerate(strings)],
         rocpd_api=[(1, 7, 8, T0, T0 + 9000, 5, 6), (2, 7, 8, T0 + 1000, T0 + 2000, 2, 1), (3, 7, 8, T0 + 3000, T0 + 4000, 8, 1)],
         rocpd_op=[(1, 0, 1, 0, T0 + 2500, T0 + 5000, 4, 3), (2, 0, 1, 1, T0 + 5000, T0 + 5100, 1, 7)],
         rocpd_api_ops=[(1, 2, 1), (2, 3, 2)])


if __name__ == "__main__":
    nsys(os.path.join(sys.argv[1], "nsys.sqlite"))
    rocpd(os.path.join(sys.argv[1], "rocpd3.db"), 3)
    rocpd(os.path.join(sys.argv[1], "rocpd4.db"), 4)
    rpd(os.path.join(sys.argv[1], "rpd.db"))
