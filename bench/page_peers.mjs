// SPDX-License-Identifier: Apache-2.0
// Called by page_peers.sh: page_peers.mjs WORK FOLDED ROUNDS. Each of four viewers opens the same stacks, zooms, and searches.
import { createRequire } from "node:module";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderers } from "./renderers.mjs";

const here = new URL(".", import.meta.url).pathname, { chromium } = createRequire(join(here, "../tests/e2e/"))("playwright-core");
const [, , work, folded, rounds] = process.argv, text = readFileSync(folded, "utf8");
const median = (v) => v.slice().sort((a, b) => a - b)[v.length >> 1];
const said = (v, unit) => v.length ? `${median(v).toFixed(median(v) < 10 ? 1 : 0)} (${Math.min(...v).toFixed(0)} to ${Math.max(...v).toFixed(0)}) ${unit}` : "";
const WORD = "addmm"; // what is searched for

// ---- what the others read
function tree() {
	const root = { name: "all", value: 0, children: new Map() };
	for (const line of text.trim().split("\n")) {
		const at = line.lastIndexOf(" "), value = +line.slice(at + 1);
		let node = root;
		root.value += value;
		for (const name of line.slice(0, at).split(";")) {
			if (!node.children.has(name))
				node.children.set(name, { name, value: 0, children: new Map() });
			node = node.children.get(name);
			node.value += value;
		}
	}
	return JSON.stringify(root, (key, v) => v instanceof Map ? [...v.values()] : v);
}
const d3 = join(work, "node_modules"), data = tree();
writeFileSync(join(work, "d3.html"), `<!doctype html><meta charset=utf-8><link rel=stylesheet href="file://${d3}/d3-flame-graph/dist/d3-flamegraph.css"><div id=c></div>
<script src="file://${d3}/d3/dist/d3.min.js"></script><script src="file://${d3}/d3-flame-graph/dist/d3-flamegraph.umd.min.js"></script>
<script>window.data=${data.replaceAll("<", "\\u003c")};window.chart=(flamegraph.flamegraph||flamegraph.default||flamegraph)().width(1380).minFrameSize(1).transitionDuration(0);d3.select("#c").datum(window.data).call(window.chart);</script>`);
const scope = join(here, "../tests/e2e/node_modules/speedscope/dist/release/index.html");
writeFileSync(join(work, "speedscope.js"), `speedscope.loadFileFromBase64("r.folded", ${JSON.stringify(Buffer.from(text).toString("base64"))})`);

// Names in the order of the tables' columns. `ready`: resolves when all is drawn; `zoom`, `find`: what takes the time, in the page.
const frame = "new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(d)))";
const VIEWERS = {
	"aiflame view": { url: join(work, "r.html") + "#v1&view=flame", size: [join(work, "r.html")], ready: "document.documentElement.dataset.ready === 'yes'",
		zoom: `{ const { F, data, go } = aiflame, path = []; for (let p = F.g.rows[20][0]; p > 0; p = F.g.parent[p]) path.unshift(data.names[F.g.name[p]]); go({ zoom: JSON.stringify(path) }); }`,
		find: `aiflame.go({ zoom: "", find: "${WORD}" })` },
	"d3-flame-graph": { url: join(work, "d3.html"), size: [join(work, "d3.html"), join(d3, "d3/dist/d3.min.js"), join(d3, "d3-flame-graph/dist/d3-flamegraph.umd.min.js")],
		ready: "document.querySelectorAll('#c g').length > 10",
		zoom: `{ let n = d3.select("#c g").datum(); while (n.parent) n = n.parent; for (let k = 0; k < 20 && n.children && n.children.length; k++) n = n.children[0]; chart.zoomTo(n); }`, find: `chart.search("${WORD}")` },
	"flamegraph.pl": { url: join(work, "r.svg"), size: [join(work, "r.svg")], ready: "typeof zoom === 'function' && !!document.getElementById('frames')",
		zoom: `zoom([...document.getElementById("frames").children].filter((g) => g.querySelector("rect")).sort((a, b) => b.querySelector("rect").getAttribute("width") - a.querySelector("rect").getAttribute("width"))[20])`,
		find: `search("${WORD}")` },
	// Loads the text itself; it has no search that a script can call.
	"speedscope": { gl: true, url: scope + "#localProfilePath=" + join(work, "speedscope.js"), size: [join(work, "speedscope.js")], ready: "!!document.querySelector('canvas') && /Left Heavy/.test(document.body.innerText)" },
};
const found = Object.fromEntries(Object.keys(VIEWERS).map((k) => [k, { ready: [], zoom: [], find: [], memory: [] }]));
for (let round = 0; round < +rounds; round++) {
	const names = Object.keys(VIEWERS);
	for (const name of round % 2 ? names.reverse() : names) {
		const v = VIEWERS[name], to = found[name];
		// speedscope needs WebGL. For the others GL in software is slower than none: the first zoom waits until it has drawn the first picture.
		const gl = v.gl || process.env.GL ? ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"] : ["--disable-gpu"];
		const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
			args: ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--allow-file-access-from-files", ...gl] });
		try {
			const page = await browser.newPage({ viewport: { width: 1400, height: 900 } }), began = performance.now();
			await page.goto("file://" + v.url, { timeout: 120000 });
			for (const end = performance.now() + 120000; !await page.evaluate(v.ready);) { // waitForFunction would eval in the page
				if (performance.now() > end)
					throw new Error("not ready within 120 s");
				await page.waitForTimeout(20);
			}
			await page.evaluate(frame);
			to.ready.push(performance.now() - began);
			for (const what of ["zoom", "find"])
				if (v[what])
					to[what].push(await page.evaluate(`(async () => { const t = performance.now(); ${v[what]}; await ${frame}; return performance.now() - t; })()`));
			to.memory.push(renderers());
		} catch (e) {
			console.log(`| ${name}: ${String(e).split("\n")[0]} |`);
		}
		await browser.close();
	}
}
const row = (what, cell) => console.log(`| ${what} | ${Object.entries(VIEWERS).map(([k, v]) => cell(found[k], v)).join(" | ")} |`);
row("", (_, v) => Object.keys(VIEWERS).find((k) => VIEWERS[k] === v));
row("opened file", (_, v) => `${(v.size.reduce((n, f) => n + statSync(f).size, 0) / 1e6).toFixed(1)} MB`);
row("first picture", (f) => said(f.ready, "ms"));
row("a zoom, drawn", (f) => said(f.zoom, "ms"));
row(`search for ${WORD}, drawn`, (f) => said(f.find, "ms"));
row("memory of the renderer", (f) => said(f.memory, "MB"));
