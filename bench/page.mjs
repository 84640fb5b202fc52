// SPDX-License-Identifier: Apache-2.0
// What a page of `aiflame view` takes in headless Chromium: called by page.sh. page.mjs PAGE ROUNDS
import { createRequire } from "node:module";
import { statSync } from "node:fs";
import { join } from "node:path";
import { renderers } from "./renderers.mjs";

const { chromium } = createRequire(join(import.meta.dirname || new URL(".", import.meta.url).pathname, "../tests/e2e/"))("playwright-core");
const [, , file, rounds] = process.argv;
const median = (v) => v.slice().sort((a, b) => a - b)[v.length >> 1];
const said = (v, digits = 1) => `${median(v).toFixed(digits)} (${Math.min(...v).toFixed(digits)} to ${Math.max(...v).toFixed(digits)})`;

const first = [], ready = [], draw = [], search = [], select = [], memory = [];
let frames = 0;
for (let round = 0; round < +rounds; round++) {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
	});
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	await page.goto("file://" + file + "#v1&view=flame");
	await page.waitForSelector("html[data-ready=yes]", { state: "attached", timeout: 120000 });
	ready.push(await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.aiflame.T.ready))))));
	first.push(renderers());
	const times = await page.evaluate(async () => {
		const { F, T, go, data } = window.aiflame, ret = { draw: [], search: [], select: [] };
		let seed = 1;
		const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
		for (let i = 0; i < 60; i++) { // zoom to a frame, by its names
			let k = random(F.g.n - 1) + 1;
			while (F.g.total[k] * 1400 < F.g.sum && F.g.parent[k] > 0)
				k = F.g.parent[k];
			const path = [];
			for (let p = k; p > 0; p = F.g.parent[p])
				path.unshift(data.names[F.g.name[p]]);
			go({ zoom: i % 3 ? JSON.stringify(path) : "" }, true);
			ret.draw.push(T.draw);
			await new Promise(requestAnimationFrame);
		}
		go({ zoom: "" }, true);
		for (const [text, re] of [["addmm", ""], ["LDG", ""], ["^at::.*call$", "1"], ["forward", ""], ["kernel<", ""], ["[0-9]{3}$", "1"]]) {
			go({ find: text, re }, true);
			ret.search.push(T.search);
		}
		go({ find: "", re: "" }, true);
		for (const [a, b] of [[0, 0.1], [0.3, 0.6], [0.9, 1]]) {
			const began = performance.now();
			go({ time: `${a * data.end_ns / 1e9}-${b * data.end_ns / 1e9}` }, true);
			ret.select.push(performance.now() - began);
		}
		ret.frames = F.g.n;
		return ret;
	});
	draw.push(...times.draw);
	search.push(...times.search);
	select.push(...times.select);
	frames = times.frames;
	memory.push(renderers());
	await browser.close();
}
console.log(`| page | ${(statSync(file).size / 1e6).toFixed(2)} MB, ${frames.toLocaleString("en-US")} frames |`);
console.log(`| first picture of the flame graph | ${said(ready, 0)} ms |`);
console.log(`| redraw | ${said(draw)} ms |`);
console.log(`| search | ${said(search)} ms |`);
console.log(`| another time selected | ${said(select, 0)} ms |`);
console.log(`| memory of the renderer, after the first picture | ${said(first, 0)} MB |`);
console.log(`| memory of the renderer, after all of this | ${said(memory, 0)} MB |`);
