// SPDX-License-Identifier: Apache-2.0
// Makes traces of torch.profiler's, a file a rank, of a public trace of ByteDance-Seed/StragglerAnalysis (data/trace-*.parquet):
//
//     npm install hyparquet hyparquet-compressors     (straggler.py does all of this)
//     node straggler.mjs trace-AR.parquet DIR STEPS && aiflame import DIR/rank*.json -o ar.data && aiflame why ar.data
//
// Computing is a kernel of its operation's name; what communicates is one of NCCL's, with its communicator: the data-parallel group, first
// and last stage (embedding), all ranks (clipping), two stages (sends and receives, whose peer the trace has). Slowdowns that the
// authors compute: AR 1.97 (one slow worker), SE 1.54 (lengths of sequences), ST 1.18 (stages).
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import fs from 'fs'

const [, , input, out, most] = process.argv
const b = fs.readFileSync(input)
const rows = await parquetReadObjects({ file: b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength), compressors })
const steps = [...new Set(rows.map(r => Number(r.step)))].sort((a, b) => a - b).slice(0, Number(most))
const stages = 1 + Math.max(...rows.map(r => r.stage)), dps = 1 + Math.max(...rows.map(r => r.dp_rank))
const number = (stage, dp) => stage * dps + dp
const groups = r => {
  const all = (n, f) => Array.from({ length: n }, (_, i) => f(i))
  const s = r.stage, d = r.dp_rank, to = { 'forward-send': s + 1, 'backward-recv': s + 1, 'forward-recv': s - 1, 'backward-send': s - 1 }[r.optype]
  if (to !== undefined) return { name: `pp ${d} ${Math.min(s, to)} ${r.optype.split('-')[0]}`, ranks: [s, to].sort((a, b) => a - b).map(x => number(x, d)), op: 'broadcast' }
  if (/reduce-scatter|params-all-gather/.test(r.optype)) return { name: `dp ${s} ${r.optype}`, ranks: all(dps, i => number(s, i)), op: 'allreduce' }
  if (r.optype == 'embedding-grads-all-reduce') return { name: `embedding ${d}`, ranks: [number(0, d), number(stages - 1, d)], op: 'allreduce' }
  if (r.optype == 'optimizer-clip-main-grad') return { name: `clip`, ranks: all(stages * dps, i => i), op: 'allreduce' }
  return null
}
fs.mkdirSync(out, { recursive: true })
const events = Array.from({ length: stages * dps }, () => [])
let base = 1000, seq = {}
for (const step of steps) {
  const of = rows.filter(r => Number(r.step) == step)
  const first = Math.min(...of.map(r => r.start_ts)), last = Math.max(...of.map(r => r.start_ts + r.duration))
  for (const r of of.sort((a, b) => a.start_ts - b.start_ts)) {
    const n = number(r.stage, r.dp_rank), g = groups(r), ev = events[n], id = ev.length * 10 + 1
    const ts = base + (r.start_ts - first) * 1e6, dur = r.duration * 1e6
    const tid = g ? (g.name.startsWith('pp') ? 30 : 20) : 7, args = { correlation: id, stream: tid, device: 0 }
    let name = r.optype
    if (g) {
      const key = `${g.name} ${n}`
      seq[key] = (seq[key] ?? -1) + 1
      name = `ncclDevKernel_${r.optype.replaceAll('-', '_')}`
      Object.assign(args, { 'Collective name': g.op, 'Process Group Name': g.name, 'Process Group Ranks': JSON.stringify(g.ranks), 'Group size': g.ranks.length, Seq: seq[key] })
    }
    ev.push({ ph: 'X', cat: 'cuda_runtime', name: 'cudaLaunchKernel', pid: 4000 + n, tid: 4000 + n, ts: ts - 5, dur: 2, args: { correlation: id } })
    ev.push({ ph: 'X', cat: 'kernel', name, pid: 0, tid, ts, dur, args })
  }
  for (let n = 0; n < events.length; n++)
    events[n].push({ ph: 'X', cat: 'user_annotation', name: `ProfilerStep#${step}`, pid: 4000 + n, tid: 4000 + n, ts: base - 6, dur: (last - first) * 1e6 + 6, args: {} })
  base += (last - first) * 1e6 + 10
}
for (let n = 0; n < events.length; n++)
  fs.writeFileSync(`${out}/rank${String(n).padStart(3, '0')}.json`, JSON.stringify({ schemaVersion: 1, host_name: 'job', baseTimeNanoseconds: 1700000000000000000, deviceProperties: [{ id: 0, name: 'GPU' }],
    distributedInfo: { backend: 'nccl', rank: n, world_size: events.length }, traceEvents: events[n] }))
