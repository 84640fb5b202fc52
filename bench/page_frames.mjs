// SPDX-License-Identifier: Apache-2.0
// Frames a second of the page of `aiflame view` while its flame graph zooms, pans and scrolls: page_frames.mjs PAGE ROUNDS
// Each animation frame draws another picture, for SECONDS (3) each; what counts are the times between the browser's frames.
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(new URL(".", import.meta.url).pathname, "../tests/e2e/"))("playwright-core");
const [, , file, rounds] = process.argv, seconds = +(process.env.SECONDS || 3);
const frames = {};
let nodes = 0, drawn = 0;
for (let round = 0; round < +rounds; round++) {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
	});
	const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
	await page.goto("file://" + file + "#v1&view=flame");
	await page.waitForSelector("html[data-ready=yes]", { state: "attached", timeout: 120000 });
	const found = await page.evaluate(async (length) => {
		const { F, data, go } = window.aiflame, chart = document.getElementById("chart"), ret = {};
		const wait = () => new Promise(requestAnimationFrame);
		const run = async (name, step) => {
			await wait();
			const times = [], end = performance.now() + length;
			for (let before = await wait(), k = 0; before < end; k++) {
				step((k % 120) / 120); // two seconds there at 60 frames
				const now = await wait();
				times.push(now - before);
				before = now;
			}
			ret[name] = times;
		};
		const top_frame = F.g.rows[1].reduce((a, b) => F.g.total[a] >= F.g.total[b] ? a : b), path = [data.names[F.g.name[top_frame]]];
		const range = (a, b) => go({ zoom: JSON.stringify({ path, x: [a, b] }) }, true);
		const boxes = new Set();
		await run("nothing", () => {});
		await run("zoom", (t) => { range(0.5 - 0.5 * 0.05 ** t, 0.5 + 0.5 * 0.05 ** t); boxes.add(F.x0 + " " + F.x1); });
		await run("pan", (t) => { range(t * 0.9, t * 0.9 + 0.1); boxes.add(F.x0 + " " + F.x1); });
		go({ zoom: "" }, true);
		const top = chart.scrollHeight - chart.clientHeight;
		await run("scroll", (t) => { chart.scrollTop = top * t; });
		return { ret, pictures: boxes.size, nodes: F.g.n };
	}, seconds * 1000);
	for (const [name, times] of Object.entries(found.ret))
		(frames[name] ||= []).push(...times);
	nodes = found.nodes;
	drawn += found.pictures;
	await browser.close();
}
console.log(`${nodes.toLocaleString("en-US")} frames in the tree; ${drawn} ranges drawn`);
console.log("| while | frames a second | between two, ms: median | 95 % | longest | of more than 25 ms |\n|---|---|---|---|---|---|");
for (const [name, times] of Object.entries(frames)) {
	const v = times.slice().sort((a, b) => a - b), all = v.reduce((a, b) => a + b, 0), at = (q) => v[Math.min(v.length - 1, Math.floor(q * v.length))].toFixed(1);
	console.log(`| ${name} | ${(1000 * v.length / all).toFixed(1)} | ${at(0.5)} | ${at(0.95)} | ${at(1)} | ${v.filter((t) => t > 25).length} of ${v.length} |`);
}
