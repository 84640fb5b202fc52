// SPDX-License-Identifier: Apache-2.0
// Called by page_stacks.sh: page_stacks.mjs PAGE WANTED NAMED THEIRS ALL. Each stack of NAMED is found in the page, by a search for
// the name of its last frame and by its path among what that finds. WANTED: the same stacks as the text has them.
// THEIRS: all stacks of the page's profile by aiflame flame.
import { createRequire } from "node:module";
import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { chromium } = createRequire(join(new URL(".", import.meta.url).pathname, "../tests/e2e/"))("playwright-core");
const [, , file, wanted_file, named_file, theirs_file, all] = process.argv;
const COUNT_NS = 300000; // as page_stacks.sh imports
const read = (name) => readFileSync(name, "utf8").trim().split("\n").map((line) => {
	const at = line.lastIndexOf(" ");
	return [line.slice(0, at), +line.slice(at + 1)];
});
const wanted = read(wanted_file), named = read(named_file), numbers = (list, by) => list.map(([, v]) => v * by).sort((a, b) => a - b).join();
// The names are aiflame's, the values must be the text's.
if (wanted.length !== named.length || numbers(wanted, COUNT_NS) !== numbers(named, 1)) {
	console.log(`the ${wanted.length} stacks of the text are ${named.length} with other values when they are imported alone`);
	process.exit(1);
}
const theirs = new Map(named.map(([path]) => [path, 0]));
let sum = 0;
for await (const line of createInterface({ input: createReadStream(theirs_file) })) {
	const at = line.lastIndexOf(" "), path = line.slice(0, at), value = +line.slice(at + 1);
	sum += value;
	if (theirs.has(path))
		theirs.set(path, theirs.get(path) + value);
}
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
});
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
await page.goto("file://" + file + "#v1&view=flame");
await page.waitForSelector("html[data-ready=yes]", { state: "attached", timeout: 120000 });
const found = await page.evaluate((list) => {
	const { F, data, find } = window.aiflame, ret = [];
	for (const path of list) { // folded text says with _[g] what is of a device
		const names = path.split(";").map((name) => name.replace(/_\[[a-z]\]$/, "")), leaf = names.at(-1).replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), began = performance.now();
		const { all } = find(`^${leaf}$`, "1"), ms = performance.now() - began, hits = [];
		for (const i of F.found.frames) {
			let k = i, d = names.length - 1;
			for (; k > 0 && d >= 0 && data.names[F.g.name[k]] === names[d]; d--)
				k = F.g.parent[k];
			if (k === 0 && d < 0)
				hits.push(F.g.total[i]);
		}
		ret.push({ hits, ms, all, frames: F.g.n, among: F.found.frames.length });
	}
	return ret;
}, named.map(([path]) => path));
await browser.close();
const wrong = [];
let far = Math.abs(sum / (COUNT_NS * all) - 1); // from the text
found.forEach(({ hits, all: page_sum }, i) => {
	const [path, of_text] = named[i], value = theirs.get(path);
	if (hits.length !== 1 || Math.abs(hits[0] - value) >= 0.5 || Math.abs(hits[0] / page_sum - value / sum) > 1e-12)
		wrong.push(`${hits.length} frames, ${hits} of ${page_sum} for ${value} of ${sum}: ...${path.slice(-90)}`);
	far = Math.max(far, Math.abs(value / of_text - 1));
});
if (far > 1e-3)
	wrong.push(`a value is ${far} from the text's`);
const ms = found.map((f) => f.ms).sort((a, b) => a - b), among = found.map((f) => f.among).sort((a, b) => a - b);
console.log(`${(found.length - wrong.length).toLocaleString("en-US")} of ${found.length.toLocaleString("en-US")} stacks have their exact value and share, in a page of ` +
	`${found[0].frames.toLocaleString("en-US")} frames; ${far.toExponential(0)} from the text at most; ` +
	`each search ${ms[ms.length >> 1].toFixed(1)} (to ${ms.at(-1).toFixed(1)}) ms, among ${among[0]} to ${among.at(-1)} frames`);
wrong.slice(0, 5).forEach((w) => console.log("  " + w));
process.exit(wrong.length ? 1 : 0);
