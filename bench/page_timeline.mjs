// SPDX-License-Identifier: Apache-2.0
// Frames a second of the time line of `aiflame view` while the wheel zooms and pans, and while lanes scroll: page_timeline.mjs
// PAGE ROUNDS. Each animation frame gets a wheel event, for SECONDS (3) each; what counts are the times between the browser's
// frames, and how long the painting of each took.
import { createRequire } from "node:module";
import { statSync } from "node:fs";
import { join } from "node:path";

const { chromium } = createRequire(join(new URL(".", import.meta.url).pathname, "../tests/e2e/"))("playwright-core");
const [, , file, rounds] = process.argv, seconds = +(process.env.SECONDS || 3);
const frames = {}, paints = {}, first = [], shown = [], memory = [];
let said = "", views = 0;
for (let round = 0; round < +rounds; round++) {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
	});
	const page = await browser.newPage({ viewport: { width: 1400, height: 600 } });
	page.on("pageerror", (e) => { throw e; });
	await page.goto("file://" + file);
	await page.waitForSelector("html[data-ready=yes]", { state: "attached", timeout: 120000 });
	first.push(await page.evaluate(() => performance.now()));
	const found = await page.evaluate(async (length) => {
		const { go, more: { L } } = window.aiflame, ret = {}, began = performance.now(), seen = new Set();
		const wait = () => new Promise(requestAnimationFrame);
		go({ view: "timeline" }, true);
		while (!L.rows.length || !L.ms)
			await wait();
		const shown_ms = performance.now() - began, place = document.getElementById("lanes"), r = place.getBoundingClientRect();
		const wheel = (deltaX, deltaY) => document.getElementById("lanes-canvas").dispatchEvent(new WheelEvent("wheel", { deltaX, deltaY, clientX: r.x + r.width * 0.6, clientY: r.y + 60, bubbles: true, cancelable: true }));
		const run = async (name, step) => {
			await wait();
			const times = [], paint = [], end = performance.now() + length;
			for (let before = await wait(), k = 0; before < end; k++) {
				L.ms = 0;
				step(k);
				const now = await wait();
				times.push(now - before);
				if (L.ms)
					paint.push(L.ms);
				seen.add(L.view.join());
				before = now;
			}
			ret[name] = [times, paint];
		};
		await run("nothing", () => {});
		await run("zoom", (k) => wheel(0, k % 160 < 80 ? -90 : 90));
		for (let k = 0; k < 12; k++)
			wheel(0, -300);
		await run("pan", (k) => wheel(k % 240 < 120 ? 40 : -40, 0));
		document.getElementById("lanes-fit").click();
		await wait();
		await run("scroll", (k) => { place.scrollTop = (place.scrollHeight - place.clientHeight) * Math.abs(k % 120 - 60) / 60; });
		return { ret, shown_ms, views: seen.size, said: document.getElementById("lanes-said").textContent };
	}, seconds * 1000);
	for (const [name, [times, paint]] of Object.entries(found.ret)) {
		(frames[name] ||= []).push(...times);
		(paints[name] ||= []).push(...paint);
	}
	shown.push(found.shown_ms);
	memory.push(await page.evaluate(() => performance.memory ? performance.memory.usedJSHeapSize : 0));
	said = found.said;
	views += found.views;
	await browser.close();
}
const middle = (v) => v.slice().sort((a, b) => a - b)[v.length >> 1];
console.log(`${(statSync(file).size / 1e6).toFixed(2)} MB; ${said} ${views} times shown; overview after ${middle(first).toFixed(0)} ms, time line ${middle(shown).toFixed(0)} ms later; heap ${(middle(memory) / 1e6).toFixed(0)} MB`);
console.log("| while | frames a second | between two, ms: median | 95 % | longest | of more than 25 ms | painting, ms: median | 95 % |\n|---|---|---|---|---|---|---|---|");
for (const [name, times] of Object.entries(frames)) {
	const sorted = (list) => list.slice().sort((a, b) => a - b), v = sorted(times), p = sorted(paints[name]), all = v.reduce((a, b) => a + b, 0);
	const at = (list, q) => list.length ? list[Math.min(list.length - 1, Math.floor(q * list.length))].toFixed(1) : "";
	console.log(`| ${name} | ${(1000 * v.length / all).toFixed(1)} | ${at(v, 0.5)} | ${at(v, 0.95)} | ${at(v, 1)} | ${v.filter((t) => t > 25).length} of ${v.length} | ${at(p, 0.5)} | ${at(p, 0.95)} |`);
}
