// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";

// Returns the resident memory, MB, of the largest renderer below this process: others may run browsers, too.
export function renderers() {
	const rows = execFileSync("ps", ["-eo", "pid=,ppid=,rss=,args="], { encoding: "utf8", maxBuffer: 1 << 26 }).trim().split("\n")
		.map((l) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(l)).map((m) => ({ pid: +m[1], parent: +m[2], rss: +m[3], args: m[4] }));
	const ours = new Set([process.pid]);
	for (let before = 0; before !== ours.size;) {
		before = ours.size;
		rows.filter((r) => ours.has(r.parent)).forEach((r) => ours.add(r.pid));
	}
	return rows.filter((r) => ours.has(r.pid) && r.args.includes("--type=renderer")).reduce((n, r) => Math.max(n, r.rss / 1024), 0);
}
