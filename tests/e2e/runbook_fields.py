# SPDX-License-Identifier: Apache-2.0
"""runbook_fields.py DIR: each file of a run directory has the fields of its definition, with their types, and no others."""
import json
import re
import sys

time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$")
num, text, flag, anything = (int, float), str, bool, object


def when(v): return isinstance(v, str) and bool(time.match(v))
def digits(v): return isinstance(v, str) and re.fullmatch(r"-?\d*(\.\d+)?", v) is not None
def ratio(v): return isinstance(v, num) and 0 <= v <= 1
def hexes(v): return isinstance(v, str) and re.fullmatch(r"[0-9a-f]+", v) is not None
def nullable(kind): return lambda v: v is None or not wrong(v, kind, "")
def each(of): return ("each", of)    # an object with any keys
def some(of): return ("some", of)    # a list
def one_of(*values): return lambda v: v in values


hotspot = some({"symbol": text, "value": num, "percent": num})
flame = {"generated_at": when, "mode": text, "svg_path": text, "perf_data_path": text, "folded_path": text,
         "top_symbols": some({"symbol": text, "samples": int}), "aiflame": {"of": one_of("cpu", "device")}}
artifacts = some({"label": text, "path": text})
check = {"metric": text, "value": nullable(num), "comparison": one_of(">=", "<="), "threshold": num, "passed": flag,
         "reason": one_of("ok", "missing", "below_threshold", "above_threshold"),
         "aiflame": {"verdict": one_of("pass", "fail", "cannot tell")}}
entry = {"mode": text, "kernel": text, "op": text, "layer": digits, "time_us": digits, "token_id": digits}
device = {"busy": ratio, "busy_seconds": num, "kernel_seconds": num, "copy_seconds": num, "?stalls": each(ratio),
          "?joules": num, "?joules_per_token": each(num)}
spread = {"n": int, "median": num, "min": num, "max": num}
percent = lambda v: isinstance(v, num) and 0 <= v <= 100
usage = {"elapsed_seconds": spread, "user_seconds": spread, "sys_seconds": spread, "max_rss_bytes": spread, "?read_bytes": spread,
         "?written_bytes": spread, "voluntary_switches": spread, "involuntary_switches": spread}
cache = {"size_bytes": int, "size_human": text}
topology = {"source": text, "?model_name": text, "?num_sockets": int, "?physical_cores": int, "logical_cpus": int, "?has_avx": flag,
            "?has_avx2": flag, "?has_avx512f": flag, "?has_fma": flag, "?has_avx512vnni": flag, "?has_amx_bf16": flag,
            "?current_mhz_avg": num, "?max_freq_mhz": num, "caches": each(cache), "hybrid_cpu": flag, "?thp_status": text,
            "?hugepage_size_kb": int}
roof_keys = ("fma_sp", "fma_dp", "l1_read", "l2_read", "l3_read", "dram_read", "dram_triad")
roof = {"?" + k: {"best": num, "median": num, "min": num, "n": int} for k in roof_keys}
mix = {"samples": int, "packed_fp": ratio, "scalar_fp": ratio, "load": ratio, "store": ratio, "branch": ratio}
roof_item = {"name": text, "bandwidth_gops": num, "kind": one_of("compute", "memory"), "threading": one_of("single", "multi")}
point = {"routine": text, "self_time_s": num, "?gflop": num, "?memory_gb": num, "?access_gb": num, "?intensity": nullable(num),
         "?access_intensity": nullable(num), "?gflops": num, "?memory_gb_s": num, "?bound": nullable(one_of("memory", "compute")),
         "?of_roof": nullable(num)}
roofline = {"model": text, "last_cache": text, "processes": int, "memory_gb": num, "memory_bound_percent": nullable(percent),
            "roof_of_one_cpu": {"of": text, "gflops": nullable(num), "memory_gb_s": nullable(num)}, "points": some(point)}
vectorized = {"routine": text, "is_vectorized": flag, "self_time_s": num, "total_time_s": num}
advisor = {"elapsed_time_s": num, "total_cpu_time_s": num, "cpu_threads": int, "?sp_fma_peak_gflops": num, "?dp_fma_peak_gflops": num,
           "?l1_bw_gb_s": num, "?l2_bw_gb_s": num, "?l3_bw_gb_s": num, "?dram_bw_gb_s": num, "?isa_used": text}
signal = {"signal": text, "value": num, "threshold": num, "means": text, "action": text, "evidence": text}
derived = {"?ipc": num, "?cache_miss_rate": ratio, "?branch_miss_rate": ratio, "?dtlb_load_miss_rate": ratio,
           "?dtlb_store_miss_rate": ratio, "?dtlb_miss_rate": ratio, "?itlb_misses_per_kinst": num,
           "?page_walks": num, "?page_walks_per_kinst": num, "?stlb_hits": num, "?stlb_hits_per_kinst": num,
           "?retiring": ratio, "?bad_speculation": ratio, "?frontend_bound": ratio, "?backend_bound": ratio,
           "?heavy_operations": ratio, "?light_operations": ratio, "?branch_mispredicts": ratio, "?machine_clears": ratio,
           "?fetch_latency": ratio, "?fetch_bandwidth": ratio, "?memory_bound": ratio, "?core_bound": ratio,
           "?minor_faults_per_kinst": num, "?major_faults_per_kinst": num}

# A key with ? may be missing.
files = {
    "profile_summary.json": {
        "total_us": num, "total_ms": num, "by_op": each(num), "by_layer": each(each(num)),
        "by_mode": each({"total_us": num, "by_op": each(num)}), "entries": some(entry),
        "aiflame": {"tokens": each(nullable(int)),
                    "first_token": {"total_us": num, "total_ms": num, "by_op": each(num), "by_layer": each(each(num))},
                    "paths": each(some({"kernel": text, "op": text, "within": some(text), "time_us": num}))}},
    "profile_decode.json": {
        "entries": some(dict(entry, layer=int, time_us=num, token_id=nullable(int))), "total_entries": int, "token_id": int},
    "perf_stat_summary.json": {
        "generated_at": when, "source": text, "counters": each(num), "derived": derived, "elapsed_seconds": nullable(num),
        "notes": each(text), "rows": some({"metric": text, "value": num, "note": text}), "cpu_topology": topology,
        "aiflame": {"command": some(text), "runs": each(spread), "derived_runs": each(spread), "percent_running": each(percent),
                    "cpus_utilized": spread, "?frontend_stall_share": ratio, "?backend_stall_share": ratio,
                    "?dram_gb_s": num, "?dram_share_of_roof": num, "usage": usage, "unavailable": some(
                        {"event": text, "errno": int, "reason": text, "fix": text}), "?roofs": {"isa": text, "threads": int, "one": roof, "all": roof}, "?device": device}},
    "flamegraph_manifest.json": dict(flame, available_modes=some(text), by_mode=each(flame)),
    "vtune_summary.json": {
        "generated_at": when, "analysis": one_of("hotspots"), "result_dir": text, "report_path": nullable(text),
        "csv_path": nullable(text), "hotspots": hotspot, "top_hotspots": hotspot, "raw_text": text,
        "analyses": some({"name": text, "result_dir": text, "report_text": nullable(text), "report_csv": nullable(text),
                          "hotspots": hotspot, "top_hotspots": hotspot, "raw_text": text, "summary_metrics": each(num)}),
        "analysis_metrics": each(each(num)), "artifacts": artifacts, "aiflame": {"tool": one_of("aiflame record", "vtune"), "?skipped": {"vtune": text}, "?instruction_mix": mix}},
    "advisor_summary.json": {
        "generated_at": when, "analysis": one_of("roofline"), "project_dir": text, "project_path": text,
        "report_path": nullable(text), "csv_path": nullable(text), "html_path": nullable(text), "summary_metrics": advisor,
        "?advisum_metrics": {"roof_items": some(roof_item), "global_metrics": {"ISAUsed": text, "CPUThreads": int},
                             "memory_traffic_gb": each(num)},
        "vectorization_hotspots": some(vectorized),
        "preview_rows": some(each(text)), "raw_text": text, "artifacts": artifacts,
        "aiflame": {"tool": one_of("aiflame record", "advisor"), "unavailable": some(one_of("roofs", "operations", "bytes")),
                    "?skipped": {"?advisor": text, "?callgrind": text}, "?roofline": roofline}},
    "perf_gate_report.json": {
        "generated_at": when, "model_dir": text, "family": one_of("default", "qwen2", "qwen3", "gemma"),
        "budgets": {"min_decode_tok_s": num, "min_ipc": num, "max_cache_miss_rate": num, "max_branch_miss_rate": num},
        "sources": {"profile_summary": text, "perf_stat_summary": text},
        "metrics": {"decode_tok_s": nullable(num), "ipc": nullable(num), "cache_miss_rate": nullable(num),
                    "branch_miss_rate": nullable(num),
                    "decode_diagnostics": {"?decode_total_us": num, "?decode_tokens": num, "?decode_tok_s_source": num,
                                           "?legacy_total_ms": num}},
        "checks": some(check), "passed": flag,
        "aiflame": {"verdict": one_of("pass", "fail", "cannot tell"), "signals": some(signal)}},
    "run_index.json": {
        "schema": one_of("ck.run.index.v1"), "generated_by": text, "generated_at_epoch": int, "run_dir": text,
        "files": each({"path": text, "exists": flag, "size_bytes": int})},
    "config.json": {
        "schema": one_of("aiflame.config.v1"), "hash": hexes, "command": text, "threads": digits, "env": text, "cpus": text, "cpu": text,
        "devices": text},
    "ledger.jsonl": {
        "schema": one_of("aiflame.ledger.v1"), "id": hexes, "at": when, "git": nullable({"commit": hexes, "dirty": flag}), "note": text,
        "baseline": nullable(text),
        "grown": nullable(some({"stack": text, "before": ratio, "after": ratio})),
        "config_hash": hexes, "metrics": each(num), "verdict": one_of("pass", "fail", "cannot tell"),
        "artifacts": each({"path": text, "sha256": hexes})},
}


def wrong(value, want, where):
    if isinstance(want, dict):
        if not isinstance(value, dict):
            return ["%s is no object" % where]
        names = {k.lstrip("?") for k in want}
        bad = ["%s.%s is defined nowhere" % (where, k) for k in value if k not in names]
        for k, of in want.items():
            if k.lstrip("?") in value:
                bad += wrong(value[k.lstrip("?")], of, where + "." + k.lstrip("?"))
            elif k[0] != "?":
                bad.append("%s.%s is missing" % (where, k))
        return bad
    if isinstance(want, tuple) and want[0] in ("each", "some"):
        kind = dict if want[0] == "each" else list
        if not isinstance(value, kind):
            return ["%s is no %s" % (where, kind.__name__)]
        rows = value.items() if kind is dict else enumerate(value)
        return [w for k, v in rows for w in wrong(v, want[1], "%s[%r]" % (where, k))]
    if isinstance(value, bool) and want not in (flag, anything):
        return ["%s is %r" % (where, value)]
    fits = want(value) if callable(want) and not isinstance(want, type) else isinstance(value, want)
    return [] if fits else ["%s is %r" % (where, value)]


def main():
    bad = []
    for name, want in files.items():
        for line in [open(sys.argv[1] + "/" + name).read()] if name[-1] != "l" else open(sys.argv[1] + "/" + name):
            bad += wrong(json.loads(line), want, name)
            # The table itself must be able to fail: a key that is taken away is missed.
            cut = json.loads(line)
            gone = next(k for k in want if k[0] != "?")
            del cut[gone]
            assert wrong(cut, want, name), name
    print("\n".join(bad[:20]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
