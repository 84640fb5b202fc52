// SPDX-License-Identifier: Apache-2.0
// The page of `aiflame view` as a browser shows it. Prints TAP. WORK has the pages that page_browser.sh made, CHROMIUM
// names the browser; with SHOTS=DIR it keeps pictures to look at, with TIMES=1 it says how long cases take, and ONLY=TEXT runs
// those whose names have the text.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { timeline_cases } from "./page_timeline.mjs";

const work = process.env.WORK;
const url = (name, hash = "") => "file://" + join(work, name + ".html") + hash;

function within(seconds, what, promise) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${what}: no end after ${seconds} s`)), seconds * 1000);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const cases = [];
const test = (name, page, hash, body, options = {}) => cases.push({ name, page, hash, body, options });

// ---- what a page shows ------------------------------------------------------------------------------------
const state = (page) => page.evaluate(() => ({ ...window.aiflame.state }));
const boxes = (page) => page.evaluate(() => {
	const { F, data } = window.aiflame, r = document.getElementById("flame").getBoundingClientRect();
	return F.boxes.map((b) => ({ name: data.names[b.g.name[b.i]], n: b.n, x: r.x + b.x, y: r.y + b.y, w: b.w, total: b.g.total[b.i] }));
});
const box = async (page, name) => {
	const all = (await boxes(page)).filter((b) => b.n === 1 && b.name === name).sort((a, b) => b.w - a.w);
	assert.ok(all.length, `there is a frame ${name}`);
	return all[0];
};
const click = async (page, name) => {
	const b = await box(page, name);
	await page.mouse.click(b.x + b.w / 2, b.y + 8);
};
const sum = (page) => page.evaluate(() => window.aiflame.F.g.sum);
const text = (page, id) => page.evaluate((i) => document.getElementById(i).textContent, id);
// The colour of a point of a canvas, in CSS pixels.
const pixel = (page, id, x, y) => page.evaluate(([i, px, py]) => {
	const c = document.getElementById(i), by = c.width / c.getBoundingClientRect().width;
	return [...c.getContext("2d").getImageData(Math.floor(px * by), Math.floor(py * by), 1, 1).data];
}, [id, x, y]);
// Until it is so; a busy machine takes seconds for a frame.
async function settled(page, what, condition) {
	for (const until = Date.now() + 60000; Date.now() < until; await page.waitForTimeout(25))
		if (await condition())
			return;
	assert.fail(what);
}

// ---- cases ------------------------------------------------------------------------------------------------
test("the overview says what bounds the program, and leads on", "full", "", async (page) => {
	assert.match(await text(page, "overview"), /51\.0 % of the loop's time/);
	assert.match(await text(page, "overview"), /python3 train\.py --name "größe <1>"/);
	await page.locator(".groups tr").filter({ hasText: "Communication" }).click();
	assert.equal((await state(page)).view, "flame");
	assert.match(await text(page, "flame-none"), /^Communication: 220 ms of devices, in which nothing computes\. Drawn: 2\d\d ms/);
	await page.goBack();
	assert.equal((await state(page)).view, "overview");
});

test("the overview of a Python program without a device has its lines, which lead to their functions", "python", "", async (page) => {
	const said = await text(page, "overview");
	assert.match(said, /Bound by .*: \d\.\d+ of \d+ CPUs used in/);
	assert.match(said, /Lines of the programgemm \(cpu_program\.py:\d+\)\d/);
	assert.doesNotMatch(said, /no launches known/);
	await page.locator(".bars tr").filter({ hasText: "gemm (cpu_program.py:" }).first().click();
	assert.equal((await state(page)).view, "flame");
	assert.ok(await page.evaluate(() => window.aiflame.F.found.frames.length) > 0);
});

test("a strip has the colours of what a device did", "phases", "", async (page) => {
	const width = await page.evaluate(() => document.getElementById("strip").clientWidth);
	const seen = new Set();
	for (let x = 2; x < width; x += 7)
		for (const y of [3, 11, 19])
			seen.add((await pixel(page, "strip-canvas", x, y)).slice(0, 3).join());
	assert.ok(seen.has("47,158,166"), [...seen].join(" ")); // computing
	assert.match(await text(page, "range"), /All 8\.00 s/);
	assert.match(await text(page, "range"), /Computing 50\.\d %/);
});

for (const name of ["full", "phases", "energy"])
	test(`strips of ${name} have the shares that the overview says`, name, "", async (page) => {
		await page.getByText("Select this time").click();
		const shares = async (rows) => Object.fromEntries((await rows.allTextContents()).map((t) => /^(.*?) ?([\d.]+) %/.exec(t)).filter((m) => m && +m[2] >= 0.5).map((m) => [m[1], +m[2]]));
		const said = await shares(page.locator(".groups tr")), drawn = await shares(page.locator("#range .key")), names = [...new Set([...Object.keys(said), ...Object.keys(drawn)])];
		assert.ok(names.length > 1, JSON.stringify(said));
		for (const n of names)
			assert.ok(Math.abs((said[n] || 0) - (drawn[n] || 0)) < 0.6, `${n}: ${JSON.stringify([said, drawn])}`);
	});

test("each group of why has a colour of strips, by which its time is not left out", "phases", "", async () => {
	const read = (file) => readFileSync(new URL("../../" + file, import.meta.url), "utf8");
	const groups = [...read("src/report/why/groups.def").matchAll(/^AIF_WHY_GROUP\(\w+, "(\w+)"/gm)].map((m) => m[1]);
	const drawn = [.../const GROUPS = [^]*?\n\t};/.exec(read("viewer/page/strip.js"))[0].matchAll(/(\w+): \["/g)].map((m) => m[1]);
	assert.deepEqual(drawn, [...groups, "off"]); // idle time is that from `host` on
});

test("each cause of idle time has the colour of its group in strips", "full", "#v1&view=flame&of=idle&colour=idle", async (page) => {
	const causes = await page.evaluate(() => window.aiflame.data.causes), def = readFileSync(new URL("../../src/analysis/idle/causes.def", import.meta.url), "utf8");
	assert.deepEqual(Object.keys(causes), [...def.matchAll(/^AIF_IDLE_CAUSE\(\w+, "([^"]+)"/gm)].map((m) => m[1]));
	const of = (id) => page.evaluate((i) => Object.fromEntries([...document.querySelectorAll(`#${i} .key`)].map((e) => [/^[^\d<]*[^\d< ]/.exec(e.textContent)[0], e.firstChild.style.background])), id);
	const strips = await of("range"), legend = await of("legend");
	assert.ok(Object.keys(legend).length > 2, JSON.stringify(legend));
	for (const [name, colour] of Object.entries(legend).filter(([n]) => n !== "none of it"))
		assert.equal(colour, strips[name], name);
});
test("counters are strips on request", "full", "", async (page) => {
	const height = async () => (await page.locator("#strip-canvas").boundingBox()).height, before = await height();
	await page.click("#more");
	const idle = (await page.locator("#strip-names div").allTextContents()).filter((n) => n.startsWith("idle: "));
	assert.deepEqual(idle.map((t) => /^(.*), to [\d.]+ %$/.exec(t)[1]).sort(), ["A launching thread that does not run", "Late starts", "Synchronisation", "The host", "What is not known"].map((c) => "idle: " + c));
	assert.match(await text(page, "strip-names"), /frequency, to 1980 MHz/);
	const names = await page.locator("#strip-names div").allTextContents(), at = names.findIndex((n) => n.startsWith("frequency")) * 27;
	assert.equal(await height(), before + 27 * (6 + idle.length));
	assert.equal((await pixel(page, "strip-canvas", 300, at + 20)).slice(0, 3).join(), "47,158,166"); // it has a value
	assert.equal((await pixel(page, "strip-canvas", (await page.locator("#strip").boundingBox()).width - 9, at + 20)).slice(0, 3).join(), "238,240,244"); // and none at the end
	await page.goBack();
	assert.equal(await height(), before);
});

// What people see who lack a kind of cones (Machado, Oliveira, Fernandes 2009, severity 1; of linear RGB), as CIELAB.
const SIGHTS = {
	all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
	protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
	deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
	tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
const mul = (m, v) => m.map((r) => r.reduce((s, x, k) => s + x * v[k], 0));
function lab(rgb, sight) {
	const linear = mul(SIGHTS[sight], rgb.map((v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)).map((v) => Math.max(0, Math.min(1, v)));
	const f = mul([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], linear)
		.map((v, k) => v / [0.9505, 1, 1.089][k]).map((t) => t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
	return [116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])];
}
const nearest = (colours, sight) => {
	let ret = Infinity;
	colours.forEach((a, i) => colours.slice(0, i).forEach((b) => { ret = Math.min(ret, Math.hypot(...lab(a, sight).map((v, k) => v - lab(b, sight)[k]))); }));
	return ret;
};
const numbers = (source, name) => {
	const found = new RegExp(`const ${name} = ([\\[{][^;]*)`).exec(source)[1];
	return [...new Map([...found.matchAll(/\[(\d+), (\d+), (\d+)\]/g)].map((m) => [m[0], m.slice(1).map(Number)])).values()];
};
test("palettes are told apart by all, whatever cones they have", "sides", "", async (page) => {
	const source = readFileSync(new URL("../../viewer/page/draw.js", import.meta.url), "utf8");
	const looks = await page.evaluate(() => window.aiflame.data.looks.slice(0, 4).map((l) => /\d+,\d+,\d+/.exec(l[2])[0].split(",").map(Number)));
	const groups = [...readFileSync(new URL("../../viewer/page/strip.js", import.meta.url), "utf8").matchAll(/"#(..)(..)(..)"/g)].map((m) => m.slice(1).map((v) => parseInt(v, 16)));
	assert.equal(groups.length, 14);
	const busy = [[47, 158, 166], [90, 158, 120], [138, 99, 196]]; // of the style
	for (const sight in SIGHTS)
		assert.ok(nearest([...groups, ...busy], sight) >= 8, `groups of why, ${sight}`);
	for (const [what, colours] of [["groups of idle time", groups], ["SAFE", numbers(source, "SAFE")], ["SPREAD", numbers(source, "SPREAD")], ["two sides", looks]]) {
		assert.ok(colours.length >= 4, what);
		for (const sight in SIGHTS)
			assert.ok(nearest(colours, sight) >= 8, `${what}, ${sight}: ${nearest(colours, sight).toFixed(1)}`);
		for (const c of colours) { // black text on it, WCAG's contrast
			const y = mul([[0.2126, 0.7152, 0.0722]], c.map((v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))[0];
			assert.ok((y + 0.05) / (0.0072 + 0.05) >= 4.5, `${what}: ${c}`);
		}
	}
});

for (const scheme of ["light", "dark"])
	test(`labels that a search dims are readable, ${scheme}`, "full", "#v1&view=flame&find=mm", async (page) => {
		const b = await box(page, "train_step (train.py)");
		const lights = await page.evaluate(({ x, y, w }) => {
			const c = document.getElementById("flame"), r = c.getBoundingClientRect(), by = c.width / r.width;
			const { data } = c.getContext("2d").getImageData((x - r.x + 4) * by, (y - r.y + 3) * by, Math.min(w - 8, 120) * by, 13 * by);
			const linear = (v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
			const back = getComputedStyle(document.getElementById("chart")).backgroundColor.match(/\d+/g).map(Number);
			return Array.from({ length: data.length / 4 }, (_, k) => [0.2126, 0.7152, 0.0722].reduce((sum, part, n) =>
				sum + part * linear(data[4 * k + n] * data[4 * k + 3] / 255 + back[n] * (1 - data[4 * k + 3] / 255)), 0));
		}, b);
		const ratio = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
		assert.ok(ratio >= 4.5, ratio.toFixed(2));
	}, { colorScheme: scheme });

test("what is 0 in all rows takes no room in a table, and an import is known by its file", "phases", "#v1&view=tables&table=steps", async (page) => {
	const names = await page.locator("#table-body th").allTextContents();
	assert.ok(names.includes("idle") && !names.includes("not collected") && !names.includes("communication alone"), names.join());
	assert.ok(await page.evaluate(() => "not_collected" in window.aiflame.data.tables.steps.rows[0]));
	assert.equal(await text(page, "title"), "imported from phases.json");
});

test("strips of one name say whose they are", "full", "#v1&more=1", async (page) => {
	const names = (await page.locator("#strip-names div").allTextContents()).filter((n) => /^memory allocated/.test(n));
	assert.ok(names.length > 1 && names.every((n) => /^memory allocated \(.*\), to/.test(n)), names.join());
});

test("all files of an import are named", "ranks", "", async (page) => {
	assert.equal(await text(page, "title"), "imported from trace.json, trace_rank1.json");
});

test("the page of a job with a late rank begins with that rank, as why does", "late", "", async (page) => {
	const why = JSON.parse(readFileSync(join(work, "late.why"))), lead = await page.locator(".card .lead").first().textContent();
	assert.equal(why.verdict, lead);
	assert.match(lead, /^rank 2, which is late, /);
	assert.match(await text(page, "range"), /Communication, with waiting for other ranks 3\d\.\d %/);
	const waits = page.locator(".groups tr").filter({ hasText: "Waiting for other ranks" });
	assert.match(await waits.textContent(), /3\d\.\d %/);
	await waits.click();
	assert.match(await text(page, "flame-none"), /^Waiting for other ranks: 3\d\d ms of devices, in which nothing computes\. Drawn: 3\d\d ms, all of the operations between ranks/);
	assert.deepEqual([...new Set((await boxes(page)).filter((b) => /nccl|gemm/.test(b.name)).map((b) => b.name))], ["ncclDevKernel_AllReduce_Sum_f32_RING_LL"]);
	// Of another time it is not known.
	await page.evaluate(() => window.aiflame.go({ time: "0-0.05" }));
	assert.match(await text(page, "flame-none"), /^Waiting for other ranks: not known of this time\. Drawn: /);
});

test("names that begin alike are told apart where room is short", "ranks", "", async (page) => {
	const shown = await page.evaluate(() => [...document.querySelectorAll(".cut")].map((e) => {
		const place = e.parentElement.getBoundingClientRect(), end = e.lastChild.getBoundingClientRect();
		return [e.textContent, e.firstChild.scrollWidth > e.firstChild.clientWidth, end.width > 0 && end.right <= place.right + 1];
	}));
	assert.ok(shown.some(([, is_cut]) => is_cut) && shown.every(([, , has_end]) => has_end), JSON.stringify(shown));
	const ends = await page.locator("#strip-names .cut :last-child").allTextContents();
	assert.deepEqual(ends.map((t) => / \(rank (\d)\)$/.exec(t)[1]), ["0", "1"]);
	const idle = page.locator(".card", { hasText: "Idle time, by its owner" }).locator(".name");
	assert.equal((await idle.allTextContents())[0], "before main (train.py:12)The host"); // words beside the colour
	assert.match(await idle.first().getAttribute("title"), /^before main \(train\.py:12\): The host [\d.]+ us/);
	await page.setViewportSize({ width: 1100, height: 860 });
	assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll(".bars .name")].filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight).map((e) => e.textContent)), []);
});

test("a step's number and name stand first", "full", "#v1&view=tables&table=steps", async (page) => {
	assert.deepEqual((await page.locator("#table-body th").allTextContents()).slice(0, 3), ["number", "step", "start"]);
});

for (const width of [420, 1300])
	test(`buttons that belong together share a line, ${width} wide`, "full", "#v1&view=flame&find=mm", async (page) => {
		const at = async (id) => page.locator(id).boundingBox(), [svg, png, find, next] = [await at("#svg"), await at("#png"), await at("#find"), await at("#find-next")];
		assert.ok(width < 1000 || svg.y < find.y + 80, "no line of its own");
		assert.ok(Math.abs(svg.y - png.y) < 1 && Math.abs(find.y - next.y) < 9, JSON.stringify([svg, png, find, next]));
	}, { viewport: { width, height: 900 } });

test("a brush over the strip selects a time of all views", "phases", "#v1&view=flame", async (page) => {
	const all = await sum(page), r = await page.locator("#strip").boundingBox();
	const names = async () => (await boxes(page)).map((b) => b.name);
	assert.ok((await names()).includes("late_kernel"));
	await page.mouse.move(r.x + 2, r.y + 8);
	await page.mouse.down();
	await page.mouse.move(r.x + r.width / 4, r.y + 8);
	await page.mouse.move(r.x + r.width / 2 - 4, r.y + 8);
	await page.mouse.up();
	const now = await sum(page), [from, to] = (await state(page)).time.split("-").map(Number);
	assert.ok(from < 0.1 && to > 3.8 && to < 4, `${from} ${to}`);
	assert.ok(Math.abs(now / all - (to - from) / 8) < 0.005, `${now} of ${all}`);
	assert.ok((await names()).includes("early_kernel"));
	assert.ok(!(await names()).includes("late_kernel"));
	assert.match(await text(page, "range"), /to 3\.\d+ s/);
	await page.click("#view-overview");
	assert.match(await text(page, "selected"), /^The selected time: .*Computing 50\.\d %/);
	assert.match(await text(page, "overview"), /Kernels, in the selected timeearly_kernel50\.\d %/);
	await page.click("#view-tables");
	assert.match(await text(page, "table-said"), /^1 row of the selected time/);
	assert.match(await text(page, "table-body"), /early_kernel100\.0 %1\.9\d s19\d/);
	await page.evaluate(() => window.aiflame.go({ table: "steps" }));
	assert.match(await text(page, "table-said"), /^5 rows of the selected time/);
	await page.click("#view-scope");
	assert.equal((await state(page)).time, `${from}-${to}`);
	await page.click("#range-clear");
	assert.equal((await state(page)).time, "");
	await page.goBack();
	assert.notEqual((await state(page)).time, "");
});

test("parts of the time sum to the whole", "full", "#v1&view=flame", async (page) => {
	const all = await sum(page);
	let parts = 0;
	for (let i = 0; i < 7; i++) {
		await page.evaluate((k) => {
			const { data, go } = window.aiflame, at = (n) => (data.end_ns * n / 7e9).toFixed(9);
			go({ time: `${at(k)}-${at(k + 1)}` }, true);
		}, i);
		parts += await sum(page);
	}
	assert.ok(all > 0 && Math.abs(parts - all) < 10 * 7, `${parts} of ${all}`);
});

test("idle time has a course in time: parts sum to it, and are what the command line says of them", "full", "#v1&view=flame&of=idle", async (page) => {
	const all = await sum(page), part = async (a, b) => {
		await page.evaluate((t) => window.aiflame.go({ time: t }, true), `${a}-${b}`);
		return sum(page);
	};
	let parts = 0;
	for (let i = 0; i < 6; i++)
		parts += await part(i * 0.4, (i + 1) * 0.4);
	assert.ok(all > 3e9 && Math.abs(parts - all) < 1, `${parts} of ${all}`);
	const said = execFileSync(process.env.AIFLAME, ["report", "--idle", "--format", "csv", "--time", "0.5,1.2", join(work, "full.data")], { encoding: "utf8" }).trim().split("\n").slice(1)
		.reduce((n, line) => n + +line.split(",")[1], 0);
	assert.ok(said > 1e9 && Math.abs(await part(0.5, 1.2) / said - 1) < 0.001, String(said));
	assert.ok((await boxes(page)).every((b) => !b.name.includes("unknown"))); // that was later
});

// Folded text of the command line: values by stack.
const folded = (args) => new Map(execFileSync(process.env.AIFLAME, ["flame", "--format", "folded", "-o", "-", ...args], { encoding: "utf8" }).trim().split("\n")
	.map((line) => [line.slice(0, line.lastIndexOf(" ")), +line.slice(line.lastIndexOf(" ") + 1)]));
const selves = (page) => page.evaluate(() => {
	const { F, data } = window.aiflame, ret = {};
	for (let i = 1; i < F.g.n; i++) {
		const path = [];
		for (let k = i; k > 0; k = F.g.parent[k])
			path.unshift(data.names[F.g.name[k]]);
		if (F.g.self[i] > 0)
			ret[path.join(";")] = (ret[path.join(";")] || 0) + F.g.self[i];
	}
	return ret;
});
test("stacks end where they are asked to, as those of the command line do", "full", "#v1&view=flame", async (page) => {
	const lasts = async () => Object.values(await selves(page)).sort((a, b) => a - b);
	let before = Infinity;
	for (const leaf of ["stall", "instruction", "line", "kernel"]) {
		await page.selectOption("#leaf", { label: `to ${leaf}s` });
		const ours = await lasts(), theirs = [...folded(["--leaf", leaf, join(work, "full.data")]).values()].sort((a, b) => a - b);
		assert.deepEqual(ours, theirs, leaf);
		assert.ok(ours.length < before, leaf);
		before = ours.length;
	}
});
const total = (map) => [...map.values()].reduce((a, b) => a + b);
test("widths by energy are those of the command line", "energy", "#v1&view=flame&by=energy", async (page) => {
	const joules = total(folded(["--by", "energy", join(work, "energy.data")])) / 1e6;
	assert.ok(joules > 1 && Math.abs(await sum(page) / 1e9 / joules - 1) < 1e-3, `${await sum(page)} ${joules}`);
	assert.match(await text(page, "panel"), /^all[\d.]+ J/);
});
test("memory at its peak is that of the command line, as a tree and as a strip", "full", "#v1&view=flame&of=memory&more=1", async (page) => {
	const bytes = total(folded(["--of", "memory", join(work, "full.data")]));
	assert.equal(await sum(page), bytes);
	assert.match(await text(page, "panel"), /^all4\.9 MiB · 100\.0 % of all/);
	assert.match(await text(page, "strip-names"), /memory allocated \(.*\), to /);
	const most = await page.evaluate(() => window.aiflame.data.counters.filter((c) => c.name === "memory allocated" && c.device !== "host").map((c) => c.most));
	assert.equal(most.reduce((a, b) => a + b), bytes);
	await page.evaluate(() => window.aiflame.go({ time: "0.5-1" }));
	assert.match(await text(page, "flame-none"), /no known times: show the whole run/);
});
test("processes stand apart when asked for, each with the time that the command line has for it alone", "full", "#v1&view=flame", async (page) => {
	const names = (d) => page.evaluate((depth) => { const { F, data } = window.aiflame; return [...F.g.rows[depth]].map((i) => [data.names[F.g.name[i]], F.g.total[i]]); }, d);
	const whole = await sum(page);
	await page.selectOption("#roots", "1");
	assert.equal((await state(page)).roots, "1");
	assert.deepEqual((await names(1)).map(([name]) => name), ["process 4711: python3.11", "process 4712: python3.11"]);
	for (const [name, ns] of await names(1)) {
		const theirs = [...folded(["--process", /\d+/.exec(name)[0], join(work, "full.data")]).values()].reduce((a, b) => a + b);
		assert.ok(Math.abs(ns - theirs) <= 2, `${name}: ${ns} ${theirs}`);
	}
	assert.ok(Math.abs(await sum(page) - whole) < 1);
	const b = await box(page, "process 4712: python3.11"), at = await page.locator("#flame").boundingBox();
	const [red, green, blue] = await pixel(page, "flame", b.x - at.x + b.w - 6, b.y - at.y + 3);
	assert.ok(red === green && green === blue, "a note's colour is grey");
	await page.evaluate(() => window.aiflame.go({ time: "0-0.5" }));
	assert.ok((await names(1)).reduce((n, [, ns]) => n + ns, 0) < whole);
	await page.selectOption("#roots", "");
	assert.ok(!(await names(1)).some(([name]) => name.startsWith("process")));
});
test("threads stand apart when asked for, each with the launches that the command line has for it alone", "full", "#v1&view=flame&roots=2&by=launches", async (page) => {
	const { processes, threads, whole } = await page.evaluate(() => {
		const { F: { g }, data } = window.aiflame, list = (d) => [...g.rows[d]].map((i) => [data.names[g.name[i]], g.total[i], data.names[g.name[g.parent[i]]]]);
		return { processes: list(1), threads: list(2), whole: g.sum };
	});
	assert.deepEqual(processes.map(([name]) => name), ["process 4711: python3.11", "process 4712: python3.11"]);
	assert.ok(threads.length > processes.length && threads.every(([name]) => /^\[(main )?thread/.test(name)), JSON.stringify(threads));
	assert.ok(Math.abs(threads.reduce((a, [, n]) => a + n, 0) - whole) < 1);
	for (const [name, n, process] of threads.filter(([t]) => / \d+\]$/.test(t))) {
		const theirs = [...folded(["--process", /\d+/.exec(process)[0], "--tid", / (\d+)\]$/.exec(name)[1], "--by", "launches", join(work, "full.data")]).values()].reduce((a, b) => a + b);
		assert.equal(n, theirs, name);
	}
});
test("a picture that has no threads of its own is whole where threads are asked for", "full", "#v1&view=flame&of=cpu", async (page) => {
	const whole = await sum(page);
	await page.evaluate(() => window.aiflame.go({ of: "" }));
	await page.selectOption("#roots", "2");
	await page.selectOption("#of", "cpu");
	assert.equal(await sum(page), whole);
});
test("a link to threads opens a page that has one", "phases", "#v1&view=flame&roots=2", async (page) => {
	assert.equal(await page.locator("[role=alert]:visible").count(), 0);
	assert.ok(await sum(page) > 0);
});
test("communication of each rank is a row, and its process has a name", "ranks", "#v1&view=tables&table=comm", async (page) => {
	assert.match(await text(page, "table-body"), /\(rank 0\)[^]*\(rank 1\)/);
	assert.equal(await page.locator("#table-body tbody tr").count(), 2);
	await page.evaluate(() => window.aiflame.go({ view: "flame", roots: "1" }));
	const names = await page.evaluate(() => { const { F, data } = window.aiflame; return [...F.g.rows[1]].map((i) => data.names[F.g.name[i]]); });
	assert.deepEqual(names, ["process 100: python3 (rank 0)", "process 200: python3 (rank 1)"]);
});
test("each control's picture is painted where its boxes are, and nowhere else", "full", "#v1&view=flame", async (page) => {
	const seen = new Set();
	for (const change of [{}, { of: "loop" }, { of: "loop", roots: "1" }, { of: "loop", roots: "2" }, { of: "cpu" }, { leaf: "9" }, { leaf: "8" }, { leaf: "7" }, { by: "samples" }, { by: "launches" }, { mine: "1" },
		{ dir: "icicle" }, { colour: "safe" }, { colour: "self" }, { colour: "module" }, { colour: "stall" }, { of: "idle", colour: "idle" }, { colour: "grade" }, { time: "0.1-0.5" },
		{ ops: '[["sandwich","train_step (train.py)"]]' }]) {
		const found = await page.evaluate(async (now) => {
			const { F, go } = window.aiflame, none = { of: "", by: "", leaf: "", mine: "", dir: "", colour: "", roots: "", time: "", ops: "", zoom: "" };
			go({ ...none, ...now }, true);
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
			const c = document.getElementById("flame"), by = c.width / c.clientWidth, { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height), boxes = F.boxes;
			const ret = { wrong: [], inside: 0, outside: 0, hash: 0 };
			for (const y of new Set(boxes.map((b) => b.y)))
				for (let x = 2.5; x < c.clientWidth && y > 0 && y + 18 < c.clientHeight; x += 5) {
					const near = boxes.filter((b) => b.y === y && x > b.x - 2 && x < b.x + b.w + 2), covered = near.some((b) => x > b.x + 1 && x < b.x + b.w - 2);
					if (near.length && !covered)
						continue; // an edge
					const at = (Math.floor((y + 2) * by) * c.width + Math.floor(x * by)) * 4;
					ret[covered ? "inside" : "outside"]++;
					ret.hash = (Math.imul(ret.hash, 31) + Math.round(y) + data[at] * 65536 + data[at + 1] * 256 + data[at + 2]) | 0;
					if ((data[at + 3] > 0) !== covered)
						ret.wrong.push([x, y, data[at + 3]]);
				}
			return ret;
		}, change);
		assert.ok(found.inside > 100 && found.outside > 10, JSON.stringify([change, found]));
		assert.deepEqual(found.wrong, [], JSON.stringify(change));
		assert.ok(!seen.has(found.hash), `another picture: ${JSON.stringify(change)}`);
		seen.add(found.hash);
	}
});
test("one process does not stand apart", "phases", "#v1&view=flame&roots=1", async (page) => {
	assert.ok(!await page.isVisible("#roots"));
	assert.ok(await sum(page) > 0);
});
test("numbers of one step are those of the command line", "phases", "#v1&view=flame", async (page) => {
	await page.check("#per");
	assert.match((await state(page)).time, /^0-7\.99/);
	const one = await page.evaluate(() => window.aiflame.F.g.sum / window.aiflame.F.per);
	const theirs = [...folded(["--time", "steps:1-10", join(work, "phases.data")]).values()].reduce((a, b) => a + b) / 10;
	assert.ok(Math.abs(one / theirs - 1) < 0.002, `${one} ${theirs}`);
	assert.match(await text(page, "panel"), /400 ms a step/);
	await page.evaluate(() => window.aiflame.go({ time: "0-1.6" }));
	assert.equal(await page.evaluate(() => Math.round(window.aiflame.F.per * 1000)), 2000);
	await page.uncheck("#per");
	assert.equal(await page.evaluate(() => window.aiflame.F.per), 1);
});
test("idle time and functions on CPUs are tables of the selected time", "full", "#v1&view=tables&table=idle&time=0.5-1.2", async (page) => {
	const rows = await page.evaluate(() => [...document.querySelectorAll("#table-body tbody tr")].map((r) => r.textContent));
	assert.match(await text(page, "table-said"), /of the selected time/);
	const theirs = execFileSync(process.env.AIFLAME, ["report", "--idle", "--format", "json", "--time", "0.5,1.2", join(work, "full.data")], { encoding: "utf8" });
	const list = JSON.parse(theirs).rows, most = list.reduce((a, b) => a.idle > b.idle ? a : b), share = /(\d+\.\d) %/.exec(rows[0])[1] / 100;
	// What samples explain has the course of its gaps (docs/view.md): rows are near, their sum is the same.
	assert.ok(rows[0].startsWith(most.cause) && Math.abs(share - most.idle_share) < 0.02, `${rows[0]}: ${JSON.stringify(most)}`);
	const all = (rows) => rows.reduce((n, r) => n + r.idle, 0);
	const ours = await page.evaluate(() => [...document.querySelectorAll("#table-body tbody tr")].map((r) => /%([\d.]+) (ns|us|ms|s)/.exec(r.textContent).slice(1)));
	assert.ok(Math.abs(ours.reduce((n, [v, u]) => n + v * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[u], 0) / all(list) - 1) < 0.01);
	await page.locator("#table-body tbody tr").first().click();
	assert.match(await text(page, "found"), /% of all/);
	await page.evaluate(() => window.aiflame.go({ view: "tables", table: "cpu", time: "" }));
	const whole = await page.locator("#table-body tbody tr").first().textContent();
	await page.evaluate(() => window.aiflame.go({ time: "0-100" }));
	const cells = (r) => /(\d+\.\d) %([\d.]+ .s)/.exec(r).slice(1);
	assert.deepEqual(cells(await page.locator("#table-body tbody tr").first().textContent()), cells(whole));
});

test("a click on the strip selects the step there", "phases", "#v1&view=flame", async (page) => {
	const r = await page.locator("#strip").boundingBox();
	await page.mouse.click(r.x + r.width * 0.15, r.y + 8);
	const [from, to] = (await state(page)).time.split("-").map(Number);
	assert.ok(Math.abs(from - 0.8) < 0.001 && Math.abs(to - 1.6) < 0.001, `${from} ${to}`);
});

test("a click zooms, the back button undoes, a link holds it by names", "full", "#v1&view=flame", async (page, open) => {
	const before = await box(page, "aten::addmm"), chart = await page.locator("#flame").boundingBox();
	await click(page, "aten::addmm");
	const after = await box(page, "aten::addmm");
	assert.ok(after.w > chart.width - 3 && before.w < chart.width / 2);
	assert.deepEqual(JSON.parse((await state(page)).zoom).at(-1), "aten::addmm");
	// The frame's own colour at both ends of its row, inside the ring.
	const [left, right] = [await pixel(page, "flame", 3, after.y - chart.y + 4), await pixel(page, "flame", chart.width - 8, after.y - chart.y + 14)];
	assert.deepEqual(left.slice(0, 3).map((v) => v > 60), right.slice(0, 3).map((v) => v > 60));
	assert.match(await text(page, "crumbs"), /zoomed: aten::addmm/);
	const again = await open("full", new URL(page.url()).hash);
	assert.ok((await box(again, "aten::addmm")).w > chart.width - 3);
	await page.goBack();
	assert.ok(Math.abs((await box(page, "aten::addmm")).w - before.w) < 1);
	await page.goForward();
	await page.keyboard.press("Escape");
	assert.ok(Math.abs((await box(page, "aten::addmm")).w - before.w) < 1);
});

test("a link fits the page of a profile made anew, whose frames have other numbers", "stacks", "#v1&view=flame", async (page, open) => {
	const seen = (p) => p.evaluate(() => {
		const { F, data } = window.aiflame;
		return { name: data.names[F.g.name[F.zoomed]], id: F.zoomed, total: F.g.total[F.zoomed], x: F.x1 - F.x0, found: F.found.sum, frames: F.found.frames.length, crumbs: document.getElementById("crumbs").textContent };
	});
	const wide = (await boxes(page)).filter((b) => b.n === 1 && b.w < 300).sort((a, b) => b.w - a.w);
	await page.mouse.click(wide[0].x + wide[0].w / 2, wide[0].y + 8);
	const inside = await page.evaluate(() => { const { F, data } = window.aiflame; return data.names[F.g.name[F.zoomed + 1]]; });
	await page.evaluate((n) => window.aiflame.go({ ops: JSON.stringify([["hide", n]]), find: "leaf_7", dir: "icicle" }), wide[1].name === inside ? wide[2].name : wide[1].name);
	const before = await seen(page), after = await seen(await open("again", new URL(page.url()).hash));
	assert.notEqual(after.id, before.id);
	assert.deepEqual({ ...after, id: 0 }, { ...before, id: 0 });
	assert.ok(before.total > 0 && before.frames > 0, JSON.stringify(before));
});

test("a search counts what matches once, of everything, and goes from match to match", "full", "#v1&view=flame", async (page) => {
	await page.keyboard.press("/");
	await page.keyboard.type("train_step");
	await settled(page, "the share is said", async () => (await state(page)).find === "train_step" && /%/.test(await text(page, "found")));
	const found = await page.evaluate(() => window.aiflame.F.found), all = await sum(page);
	let expected = 0;
	expected = await page.evaluate(() => {
		const { F, data } = window.aiflame, g = F.g;
		let ret = 0;
		for (let i = 1; i < g.n; i++) {
			let above = false;
			for (let k = g.parent[i]; k > 0; k = g.parent[k])
				above = above || data.names[g.name[k]].includes("train_step");
			if (!above && data.names[g.name[i]].includes("train_step"))
				ret += g.total[i];
		}
		return ret;
	});
	assert.ok(expected > 0 && Math.abs(found.sum - expected) < 1e-6 * all);
	assert.ok((await text(page, "found")).startsWith((100 * expected / all).toFixed(1)));
	const hit = await box(page, "train_step (train.py)"), at = await page.locator("#flame").boundingBox();
	assert.deepEqual((await pixel(page, "flame", hit.x - at.x + hit.w - 8, hit.y - at.y + 3)).slice(0, 3), [236, 63, 208]);
	await page.keyboard.press("Enter");
	assert.match(await text(page, "found"), /1 of \d+ frames/);
	assert.match(await page.evaluate(() => document.querySelector("#panel h2").textContent), /train_step/);
	await page.keyboard.press("Enter");
	assert.match(await text(page, "found"), /2 of \d+ frames/);
	await page.fill("#find", "^(aten::)?addmm$");
	await page.click("#re");
	await settled(page, "an expression is one", async () => (await state(page)).re === "1" && (await page.evaluate(() => window.aiflame.F.found && window.aiflame.F.found.frames.length)) === 1);
	await page.fill("#find", "(");
	await settled(page, "what is no expression is marked", async () => page.evaluate(() => document.getElementById("find").classList.contains("bad")));
});

test("1,000 stacks of 20,000 are found by search, each with its value and share", "stacks", "#v1&view=flame", async (page) => {
	const values = new Map(readFileSync(join(work, "stacks.folded"), "utf8").trim().split("\n").map((line) => {
		const [, leaf, value] = /;(leaf_\d+)_\[g\] (\d+)$/.exec(line);
		return [leaf, +value];
	}));
	let all = 0;
	for (const v of values.values())
		all += v;
	let seed = 20261123;
	const names = [...values.keys()], wanted = [];
	while (wanted.length < 1000) {
		seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
		wanted.push(names[seed % names.length]);
	}
	const found = await page.evaluate((list) => list.map((name) => window.aiflame.find(`^${name}$`, "1")), wanted);
	const unit = (found[0].sum / values.get(wanted[0]));
	found.forEach((f, i) => {
		assert.equal(f.frames, 1, wanted[i]);
		assert.ok(Math.abs(f.sum - values.get(wanted[i]) * unit) < 1e-6, wanted[i]);
		assert.ok(Math.abs(f.sum / f.all - values.get(wanted[i]) / all) < 1e-9, wanted[i]);
	});
});

test("a whole name finds itself, whatever its characters mean", "names", "#v1&view=flame", async (page) => {
	const names = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "names.txt"), "utf8").trim().split("\n");
	const found = await page.evaluate((list) => list.map((name) => window.aiflame.find(name)), names);
	found.forEach((f, i) => assert.ok(f && Math.abs(f.sum / f.all - 1 / names.length) < 1e-9, `${names[i]}: ${JSON.stringify(f)}`));
});

test("frames below a pixel are one box, which says how many and opens", "stacks", "#v1&view=flame", async (page) => {
	const merged = (await boxes(page)).filter((b) => b.n > 1).sort((a, b) => b.n - a.n)[0];
	assert.ok(merged.n > 3);
	await page.mouse.move(merged.x + 0.5, merged.y + 8);
	assert.match(await text(page, "tip"), new RegExp(`${merged.n.toLocaleString("en-US")} frames below a pixel`));
	await page.mouse.click(merged.x + 0.5, merged.y + 8);
	const after = (await boxes(page)).filter((b) => Math.abs(b.y - merged.y) < 40 && b.n === 1 && b.w > 10);
	assert.ok(after.length >= 1);
	assert.ok((await state(page)).zoom.includes("\"x\""));
});

test("boxes of each row have all of its frames, and all of their width", "stacks", "#v1&view=flame", async (page) => {
	for (const go of [{}, { dir: "icicle" }, { ops: '[["sandwich","f1_0"]]' }])
		assert.deepEqual(await page.evaluate((change) => {
			window.aiflame.go({ dir: "", ops: "", ...change }, true);
			const { F } = window.aiflame, place = document.getElementById("chart"), top = place.scrollTop, ret = [], width = place.clientWidth, row_of = new Map();
			for (let y = 0; y < place.scrollHeight; y += place.clientHeight / 2) {
				place.scrollTop = y;
				for (const b of F.boxes)
					row_of.set([b.g === F.g, b.g.depth[b.i], b.i].join(), b);
			}
			place.scrollTop = top;
			for (const g of [F.g, F.up].filter(Boolean))
				for (let d = g === F.up ? 2 : F.up ? 1 : 0; d < g.rows.length; d++) {
					const all = [...row_of.values()].filter((b) => b.g === g && b.g.depth[b.i] === d), frames = all.reduce((n, b) => n + b.n, 0);
					const covered = all.reduce((w, b) => w + b.w, 0), wanted = g.rows[d].reduce((w, i) => w + g.total[i], 0) / F.g.sum * width;
					if (frames !== g.rows[d].length || covered < wanted - 1.5)
						ret.push([d, frames, g.rows[d].length, covered, wanted]);
				}
			return ret;
		}, go), [], JSON.stringify(go));
});

test("boxes of a pixel, of which neighbours are drawn at once, have their own colours", "stacks", "#v1&view=flame", async (page) => {
	const at = await page.locator("#flame").boundingBox(), all = (await boxes(page)).filter((b) => b.y - at.y > 1 && b.y - at.y < at.height - 20);
	// Nothing else of the row is on that pixel.
	const merged = all.filter((b) => b.n > 1 && !all.some((o) => o !== b && o.y === b.y && o.x < b.x + 1 && o.x + o.w > b.x));
	const colour = async (b) => (await pixel(page, "flame", Math.round(b.x - at.x), b.y - at.y + 9)).slice(0, 3).join();
	assert.ok(merged.length > 20, String(merged.length));
	for (const b of merged.filter((_, i) => i % Math.ceil(merged.length / 60) === 0))
		assert.equal(await colour(b), "185,188,198", JSON.stringify(b));
});

test("a narrow box with any frame that matches has the search's colour, which nothing is mixed into", "stacks", "#v1&view=flame", async (page) => {
	const found = await page.evaluate(() => {
		const { F, data, go } = window.aiflame, wanted = new Set(), c = document.getElementById("flame"), ctx = c.getContext("2d"), by = c.width / c.clientWidth;
		// The last frame of each of some boxes that many frames share.
		for (const b of F.boxes.filter((o) => o.n > 3).slice(0, 60))
			wanted.add(data.names[b.g.name[b.last]]);
		go({ find: "^(" + [...wanted].map((t) => t.replace(/[^\w ]/g, "\\$&")).join("|") + ")$", re: "1" }, true);
		const ret = { hits: 0, wrong: [] };
		for (const b of F.boxes.filter((o) => o.w < 3 && o.y > 1 && o.y < c.clientHeight - 20)) {
			const row = b.g.rows[b.g.depth[b.i]], first = row.indexOf(b.i);
			const matches = [...row.slice(first, first + b.n)].some((i) => wanted.has(data.names[b.g.name[i]]));
			const drawn = [...ctx.getImageData(Math.floor(b.x) * by, (b.y + 9) * by, 1, 1).data].join();
			ret.hits += matches;
			if (matches && drawn !== "236,63,208,255")
				ret.wrong.push([b.x, b.w, b.n, drawn]);
		}
		return ret;
	});
	assert.ok(found.hits > 20, String(found.hits));
	assert.deepEqual(found.wrong, []);
});

test("rows that were painted before are painted alike when they are scrolled back to", "stacks", "#v1&view=flame", async (page) => {
	// A picture is read once it stays: on a busy machine a new size is drawn some frames later.
	const shown = () => page.evaluate(async () => {
		const c = document.getElementById("flame");
		let last, now;
		do {
			last = now;
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
			now = [...new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)].reduce((h, v) => (Math.imul(h, 31) + v) | 0, 7);
		} while (now !== last);
		return now;
	});
	const scroll = (to) => page.evaluate((y) => { document.getElementById("chart").scrollTop = y; }, to);
	await page.setViewportSize({ width: 1200, height: 520 });
	await settled(page, "the new size is drawn", () => page.evaluate(() => {
		const c = document.getElementById("flame"), chart = document.getElementById("chart");
		return innerWidth === 1200 && innerHeight === 520 && c.clientWidth === chart.clientWidth && c.clientHeight === chart.clientHeight;
	}));
	await scroll(0);
	const one = await shown();
	await scroll(70);
	assert.notEqual(await shown(), one);
	await scroll(0);
	assert.equal(await shown(), one);
});

test("in each row the boxes cover what its frames are wide", "stacks", "#v1&view=flame", async (page) => {
	const rows = await page.evaluate(() => {
		const { F } = window.aiflame, by = new Map(), width = document.getElementById("chart").clientWidth;
		for (const b of F.boxes)
			by.set(b.g.depth[b.i], [...(by.get(b.g.depth[b.i]) || []), b]);
		return [...by].map(([d, list]) => ({
			frames: list.reduce((n, b) => n + b.n, 0), expected: F.g.rows[d].length,
			overlap: list.slice(1).some((b, k) => b.x < list[k].x),
			drawn: list.reduce((w, b) => w + b.w, 0), all: F.g.rows[d].reduce((w, i) => w + F.g.total[i], 0) / F.g.sum * width, boxes: list.length,
		}));
	});
	assert.ok(rows.length > 10);
	for (const r of rows) {
		assert.equal(r.frames, r.expected);
		assert.ok(!r.overlap && Math.abs(r.drawn - r.all) <= r.boxes + 2, JSON.stringify(r));
	}
});

test("keys walk the tree, which the tree of the panel and the live region say", "full", "#v1&view=flame", async (page) => {
	await page.focus("#chart");
	await page.keyboard.press("ArrowUp");
	assert.match(await text(page, "live"), /^<module> \(train\.py\), .* of all/);
	await page.keyboard.press("ArrowUp");
	assert.match(await text(page, "live"), /^train_step/);
	const item = page.locator("[role=treeitem][aria-selected=true]");
	assert.match(await item.textContent(), /train_step/);
	assert.equal(await page.locator("[role=tree]").getAttribute("aria-activedescendant"), await item.getAttribute("id"));
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowRight");
	assert.match(await text(page, "live"), /^\[/);
	await page.keyboard.press("Enter");
	assert.equal(JSON.parse((await state(page)).zoom).length, 1);
	await page.keyboard.press("Escape");
	assert.equal((await state(page)).zoom, "");
	await page.focus("[role=tree]");
	await page.keyboard.press("Home");
	assert.match(await text(page, "live"), /^all/);
});

test("hide, from here, around and leave out change the tree, and are undone one by one", "full", "#v1&view=flame", async (page) => {
	const all = await sum(page);
	const act = async (frame, label) => {
		await click(page, frame);
		await page.locator("#panel button", { hasText: new RegExp(`^${label}$`) }).click();
	};
	await act("train_step (train.py)", "Hide");
	assert.ok(!(await boxes(page)).some((b) => b.name === "train_step (train.py)"));
	assert.ok(Math.abs(await sum(page) - all) < 1);
	await act("Block.forward (mödel.py)", "From here");
	const focused = await sum(page);
	assert.ok(focused > 0 && focused < all);
	assert.equal(await page.locator("#crumbs .crumb").count(), 2);
	await page.goBack();
	await page.goBack();
	assert.equal(await page.locator("#crumbs .crumb", { hasText: "from" }).count(), 0);
	await page.evaluate(() => window.aiflame.go({ ops: JSON.stringify([["sandwich", "cudaLaunchKernel"]]), zoom: "" }));
	const around = await boxes(page), frame = around.filter((b) => b.name === "cudaLaunchKernel"), above = around.filter((b) => b.name === "aten::mm");
	assert.ok(above.length && frame.length && above[0].y < frame[0].y, "callers stand above");
	assert.ok(around.some((b) => b.name === "calls" && b.y > frame[0].y), "callees stand below");
	await page.evaluate(() => window.aiflame.go({ ops: JSON.stringify([["without", "cudaLaunchKernel"]]), zoom: "" }));
	assert.ok(Math.abs(await sum(page) + frame[0].total - all) < 1);
	await page.check("#mine");
	assert.ok(!(await boxes(page)).some((b) => b.name === "zeCommandListAppendLaunchKernel"));
});

test("flames, icicles, widths and colours", "full", "#v1&view=flame", async (page) => {
	const root = await box(page, "all"), kernel = await box(page, "größe_gemm");
	assert.ok(root.y > kernel.y);
	await page.selectOption("#dir", "icicle");
	assert.ok((await box(page, "all")).y < (await box(page, "größe_gemm")).y);
	await page.selectOption("#by", "launches");
	assert.match(await page.evaluate(() => document.getElementById("panel").textContent), /launches/);
	const at = await page.locator("#flame").boundingBox(), k = await box(page, "all"), one = await pixel(page, "flame", k.x - at.x + k.w - 4, k.y - at.y + 3);
	await page.selectOption("#colour", "self");
	assert.notDeepEqual(await pixel(page, "flame", k.x - at.x + k.w - 4, k.y - at.y + 3), one);
	const fill = async (colour, name) => {
		await page.selectOption("#colour", colour);
		const b = await box(page, name), place = await page.locator("#flame").boundingBox();
		return (await pixel(page, "flame", b.x - place.x + b.w - 3, b.y - place.y + 3)).slice(0, 3).join();
	};
	const legend = () => text(page, "legend");
	await page.evaluate(() => window.aiflame.go({ of: "loop", by: "", dir: "" }));
	assert.equal(await fill("module", "<module> (train.py)"), await fill("module", "train_step (train.py)"));
	assert.notEqual(await fill("module", "train_step (train.py)"), await fill("module", "Block.forward (mödel.py)"));
	assert.match(await legend(), /train\.py.*libtorch_cuda\.so/);
	assert.equal(await fill("idle", "clEnqueueNDRangeKernel"), await fill("idle", "[idle before it: off CPU]")); // most of it
	assert.match(await legend(), /Late starts.*A launching thread that does not run.*none of it/);
	assert.equal(await fill("stall", "größe_gemm"), await fill("stall", "sbid"));
	assert.match(await legend(), /memory stall.*none of it/);
	assert.notEqual(await fill("grade", "größe_gemm"), await fill("grade", "cudaLaunchKernel"));
	assert.match(await legend(), /exact.*mixed/);
	await page.evaluate(() => window.aiflame.go({ ops: JSON.stringify([["callers", "cudaLaunchKernel"]]) }));
	assert.equal(await legend(), "no grade"); // joined frames have none of their own
	await page.evaluate(() => window.aiflame.go({ ops: JSON.stringify([["hide", "train_step (train.py)"]]) }));
	assert.match(await legend(), /exact.*mixed/); // the others keep theirs
	await page.evaluate(() => window.aiflame.go({ ops: "" }));
	await page.selectOption("#colour", "safe");
	for (const of of await page.evaluate(() => [...document.getElementById("of").options].map((o) => o.value))) {
		await page.evaluate((v) => window.aiflame.go({ of: v, by: "", zoom: "" }), of);
		assert.ok(await sum(page) > 0, of);
	}
});

test("two clicks in a flame scope select a time", "phases", "#v1&view=scope", async (page) => {
	const r = await page.locator(".heat").first().boundingBox();
	await page.mouse.click(r.x + 4, r.y + r.height - 4);
	assert.equal((await state(page)).time, "");
	await page.mouse.move(r.x + r.width / 2, r.y + r.height / 2);
	assert.match(await text(page, "scope-info"), /click the end/);
	await page.mouse.click(r.x + r.width / 2 - 20, r.y + 4);
	const [from, to] = (await state(page)).time.split("-").map(Number);
	assert.ok(from < 0.01 && Math.abs(to - 4) < 0.25, `${from} ${to}`);
	assert.match(await text(page, "range"), /0 to (3\.|4\.)/);
	await page.selectOption("#rows", "steps");
	assert.match(await text(page, "scope-said"), /A column is a step/);
	const shot = await page.evaluate(() => document.querySelectorAll(".heat")[0].toDataURL().length);
	assert.ok(shot > 300);
});

test("tables sort, filter and lead to the flame graph", "full", "#v1&view=tables", async (page) => {
	const first = () => page.locator("#table-body tbody tr").first().textContent();
	assert.match(await first(), /größe_gemm/);
	await page.locator("th button", { hasText: "launches" }).click();
	assert.equal(await page.locator("th[aria-sort=descending]").count(), 1);
	await page.fill("#filter", "saxpy");
	await settled(page, "one row is left", async () => await page.locator("#table-body tbody tr").count() === 1);
	const csv = await page.evaluate(() => document.getElementById("table-said").textContent);
	assert.match(csv, /^1 of \d+ rows/);
	await page.locator("#table-body tbody tr").first().click();
	assert.equal((await state(page)).view, "flame");
	assert.match(await text(page, "crumbs"), /only saxpy/);
	await page.evaluate(() => window.aiflame.go({ view: "tables", table: "kernels", filter: "", sort: "", ops: "", roots: "", zoom: "" }));
	const long = page.locator("#table-body tbody tr", { hasText: "vectorized_elementwise_kernel" }).locator("td").first();
	assert.match(await long.textContent(), /^vectorized_elementwise_kernel<4, CUDAFunctor_add<float>/); // as pictures call it
	assert.match(await long.getAttribute("title"), /^void at::native::vectorized/);
	const row = page.locator("#table-body tbody tr", { hasText: "shared_sum" });
	assert.match(await row.textContent(), /820\.6 ms7\.5 ms9\.0 ms36\.0 ms36\.0 ms1,986/); // launches, average, min, p50, p99, max, samples
	assert.match(await row.locator(".stack").getAttribute("aria-label"), /memory stall \d+\.\d %, sync stall \d+\.\d %/);
	assert.equal(await page.locator("#table-body tbody tr", { hasText: "saxpy" }).locator(".stack").count(), 0);
	for (const name of ["idle", "steps", "copies", "counters", "stalls", "streams", "ops", "comm", "breakdown", "ranges", "stacks"]) {
		await page.evaluate((t) => window.aiflame.go({ view: "tables", table: t, filter: "", sort: "" }), name);
		assert.ok(await page.locator("#table-body tbody tr").count() > 0, name);
	}
});

test("memory, and functions on CPUs, are tables", "trace", "#v1&view=tables&table=memory", async (page, open) => {
	assert.match(await text(page, "table-body"), /at peak.*512 B/);
	const host = await open("host", "#v1&view=tables&table=cpu");
	assert.match(await host.locator("#table-body tbody tr").first().textContent(), /^gemm.*cpu_program\.c:\d+/);
	const self = await host.evaluate(() => window.aiflame.data.tables.cpu.rows[0].self);
	await host.locator("#table-body tbody tr").first().click();
	assert.match(await text(host, "crumbs"), /own time of gemm/);
	assert.ok(Math.abs(await sum(host) - self) <= 1, `${await sum(host)} ${self}`);
});

test("a listing is warm where the samples are", "full", "#v1&view=code&kernel=shared_sum", async (page) => {
	const panes = await page.locator("#code-body pre").allTextContents();
	assert.match(panes[0], /87\.8 %  kernels\.cu:13 \(inner\)/);
	assert.match(panes[1], /57\.6 %  \+0x0140  FMUL .*long_scoreboard 94 % waits for \+0x00f0 LDG/);
	assert.match(await text(page, "code-body"), /^shared_sum.*stalls: long_scoreboard 54 %/);
	const hot = await page.evaluate(() => [...document.querySelectorAll(".line")].filter((l) => l.style.background).length);
	assert.ok(hot > 4);
});
const lit = async (page) => (await page.locator(".lit").allTextContents()).map((t) => t.trim().replace(/\s+/g, " "));
test("a line leads to its instructions, an instruction to its line and to what it waits for", "full", "#v1&view=code&kernel=shared_sum", async (page) => {
	await page.locator("#code-body pre").first().locator(".line", { hasText: "kernels.cu:13" }).click();
	const of_line = await lit(page);
	assert.match(of_line[0], /kernels\.cu:13/);
	assert.ok(of_line.some((t) => /\+0x0140 FMUL/.test(t)) && !of_line.some((t) => /\+0x0010 S2R/.test(t)), of_line.join("\n"));
	await page.locator(".line", { hasText: "+0x0140" }).click();
	assert.deepEqual((await lit(page)).map((t) => /kernels\.cu:\d+|\+0x\w+ \w+/.exec(t)[0]), ["kernels.cu:13", "+0x00f0 LDG", "+0x0140 FMUL"]);
	await page.click("#hottest");
	assert.match((await lit(page)).join(), /57\.6 % \+0x0140/);
	await page.click("#hottest");
	assert.match((await lit(page)).join(), /30\.2 % \+0x00f0 .*barrier/);
	await page.selectOption("#kernel", "saxpy"); // its text is in the profile, with the lines around
	assert.match(await page.locator("#code-body pre").first().textContent(), /saxpy.*get_global_id\(0\);.*tempfile-1\.cl:5 +y\[i\] = a \* x\[i\]/);
	assert.doesNotMatch(await text(page, "code-body"), /not recorded/);
});
test("each device frame leads to its code: an instruction to itself", "full", "#v1&view=flame", async (page) => {
	const frames = await page.evaluate(() => {
		const { F, data } = window.aiflame, inside = (i) => { for (let k = i; k > 0; k = F.g.parent[k]) if (data.names[F.g.name[k]] === "shared_sum") return true; return false; };
		const find = (re) => data.names[F.g.name[[...F.g.name].findIndex((n, i) => F.g.total[i] > 0 && inside(i) && re.test(data.names[n]))]];
		return [find(/\+0x140$/), find(/long_scoreboard/), find(/kernels\.cu:13/), find(/^inner$/), "shared_sum"];
	});
	for (const [k, marked] of [[0, /\+0x0140 FMUL/], [1, /\+0x0140 FMUL/], [2, /kernels\.cu:13/], [3, /\+0x0140 FMUL/], [4, /\+0x0140 FMUL/]]) {
		await page.evaluate((name) => {
			const { F, data, go } = window.aiflame, g = F.g, i = [...g.name].findIndex((n, at) => data.names[n] === name && g.total[at] > 0), path = [];
			for (let p = i; p > 0; p = g.parent[p])
				path.unshift(data.names[g.name[p]]);
			go({ view: "flame", zoom: JSON.stringify(path) });
		}, frames[k]);
		await page.locator("#panel button", { hasText: /^Code$/ }).click();
		assert.equal(await page.locator("#kernel").inputValue(), "shared_sum");
		assert.match((await lit(page)).join(" "), marked);
	}
	await page.goBack();
	assert.equal((await state(page)).view, "flame");
});
test("functions on CPUs have listings, too", "host", "#v1&view=code&kernel=gemm", async (page) => {
	const panes = await page.locator("#code-body pre").allTextContents();
	assert.match(panes[0], /%  cpu_program\.c:\d+ +\S.*;/);
	assert.match(panes[1], /%  \+0x\w{4}  \w+/);
	assert.match(await text(page, "code-body"), /^gemm.*of CPU time/);
});
test("functions of the program have the device time that their lines launched", "full", "#v1&view=flame", async (page, open) => {
	await page.evaluate(() => {
		const { F, data, go } = window.aiflame, g = F.g, i = [...g.name].findIndex((n, at) => data.names[n] === "train_step (train.py)" && g.total[at] > 0), path = [];
		for (let p = i; p > 0; p = g.parent[p])
			path.unshift(data.names[g.name[p]]);
		go({ view: "flame", zoom: JSON.stringify(path) });
	});
	await page.locator("#panel button", { hasText: /^Code$/ }).click();
	assert.equal(await page.locator("#kernel").inputValue(), "train_step (train.py)");
	assert.match(await text(page, "code-body"), /93\.5 % of device time: 1\.47 s launched by it and by what it calls.*source not recorded.*100\.0 % +train\.py:42/s);
	const own = await open("energy", "#v1&view=code&kernel=main"); // its file is there
	assert.match(await own.locator("#code-body pre").first().textContent(), /%  app\.c:\d+ +\S.*;/);
	const code_of = await own.evaluate(() => window.aiflame.data.code_of); // main has CPU time, too
	assert.equal(new Set(code_of).size, code_of.length, code_of.join("\n"));
});

// Visits views and returns the numbers of the hostile texts (page_inputs.py) that stand in the page, or in its canvas.
async function hostile_seen(page, hashes) {
	const seen = new Set();
	for (const hash of hashes) {
		await page.evaluate((h) => { location.hash = "#v1&" + h; }, hash);
		await settled(page, hash, async () => (await state(page)).view === /view=(\w+)/.exec(hash)[1]);
		for (const n of await page.evaluate(() => {
			const { F, data } = window.aiflame, drawn = window.aiflame.state.view === "flame" && F.g ? F.boxes.map((b) => data.names[b.g.name[b.i]]) : [];
			return [document.title, document.body.textContent, ...[...document.querySelectorAll("[title]")].map((e) => e.title), ...drawn].join().match(/owned=\d+/g) || [];
		}))
			seen.add(+n.slice(6));
	}
	const drawn = (await state(page)).view === "flame" ? await boxes(page) : [];
	for (const b of drawn.slice(0, 12))
		await page.mouse.move(b.x + Math.min(3, b.w / 2), b.y + 5);
	assert.equal(await page.evaluate(() => window.owned), undefined);
	assert.equal(await page.evaluate(() => document.images.length + document.scripts.length), 0); // the page has taken its own out
	return seen;
}
const FIELDS = { // of src/profile/schema.c: those with texts that the page shows, and those that it has not
	shown: ["meta.value", "process.exe", "thread.name", "device.name", "device.runtime", "kernel.name", "module.path", "frame_name.name", "frame_name.file", "program.source", "code.arch", "loss.detail"],
	of_ranks: ["process.cmdline"],
	hidden: ["meta.key", "process.host", "device.vendor", "device.driver", "program.options", "program.source_name", "kernel.short_name", "module.build_id",
		"code.name", "collective.communicator", "collective.operation"],
};
test("texts of every field of a profile run no script", "hostile", "", async (page) => {
	const { code, tables } = await page.evaluate(() => ({ code: window.aiflame.data.code_of, tables: Object.keys(window.aiflame.data.tables) }));
	const seen = await hostile_seen(page, ["view=overview", "view=flame&of=cpu", "view=flame&of=idle&dir=icicle", "view=flame&of=memory", "view=flame&of=off-cpu", "view=flame&by=energy&leaf=8", "view=flame&colour=module",
		"view=flame&time=0.2-1.5&per=1", "view=flame&of=loop&roots=1", "view=flame&roots=2", "view=flame&colour=stall", "view=flame&of=loop&colour=idle", "view=flame&colour=grade&leaf=7", "view=overview&more=1", "view=overview&time=0.5-1", "view=timeline",
		"view=scope&rows=steps", "view=scope", ...code.map((k) => "view=code&kernel=" + encodeURIComponent(k)), ...tables.flatMap((t) => ["view=tables&table=" + t, "view=tables&time=0.5-1&table=" + t]), "view=flame"]);
	const fields = JSON.parse(readFileSync(join(work, "hostile.data.json"))), only = (list, others) => list.filter((n) => !others.some((o) => fields[o].includes(n)));
	const schema = [...readFileSync(new URL("../../src/profile/schema.c", import.meta.url), "utf8").matchAll(/\bSTR\(aif_(\w+), (\w+)\)/g)].map((m) => `${m[1]}.${m[2]}`);
	assert.deepEqual(schema.sort(), Object.values(FIELDS).flat().sort(), "each field that the format has is of one kind");
	for (const f of FIELDS.shown)
		assert.ok(fields[f].some((n) => seen.has(n)), `${f} is shown`);
	assert.deepEqual(FIELDS.hidden.filter((f) => fields[f] && only(fields[f], Object.keys(fields).filter((o) => o !== f)).some((n) => seen.has(n))), [], "others are not shown");
	// Each table whose rows have texts has them as text.
	const shown = await page.evaluate(() => Object.entries(window.aiflame.data.tables).filter(([key, t]) => {
		window.aiflame.go({ view: "tables", table: key, time: "", filter: "", sort: "" }, true);
		return t.rows && t.rows.length && document.getElementById("table-body").textContent.includes("<img src=x onerror=");
	}).map(([key]) => key));
	for (const key of ["kernels", "cpu", "stacks", "idle", "breakdown", "steps", "ranges", "ops", "copies", "memory", "comm", "streams", "threads", "processes", "counters", "stalls"])
		assert.ok(shown.includes(key), `${key} of ${shown}`);
	assert.match(await page.title(), /<img src=x/);
});
test("texts of ranks run no script", "hostile_ranks", "", async (page) => {
	const tables = await page.evaluate(() => Object.keys(window.aiflame.data.tables));
	const seen = await hostile_seen(page, ["view=overview", "view=scope", ...tables.map((t) => "view=tables&table=" + t), "view=flame&of=loop&roots=1", "view=flame&roots=2"]);
	const fields = JSON.parse(readFileSync(join(work, "hostile_ranks.data.json")));
	for (const f of [...FIELDS.of_ranks, "device.name", "kernel.name", "frame_name.name"])
		assert.ok(fields[f].some((n) => seen.has(n)), `${f} is shown`);
});
test("texts of two sides run no script", "hostile_sides", "", async (page) => {
	const tables = await page.evaluate(() => Object.keys(window.aiflame.data.tables));
	const seen = await hostile_seen(page, ["view=overview", "view=flame", "view=flame&by=a", "view=flame&by=b", "view=flame&dir=icicle", "view=flame&colour=module", ...tables.map((t) => "view=tables&table=" + t), "view=flame"]);
	assert.ok(seen.has(1) && seen.has(2), "the names of the sides are shown");
	const fields = JSON.parse(readFileSync(join(work, "</script><img src=x onerror=window.owned=1>", "0.data.json")));
	for (const f of ["kernel.name", "frame_name.name"])
		assert.ok(fields[f].some((n) => seen.has(n)), `${f} is shown`);
});

test("two sides: what changed, in words, in a table and in a picture with what is gone", "sides", "", async (page) => {
	assert.match(await text(page, "sides"), /A a \(3 runs\)B b \(3 runs\)/);
	assert.match(await text(page, "overview"), /device time428 ms480 ms\+12\.1 %/);
	assert.match(await text(page, "overview"), /takes longer: 10\.0 ms -> 14\.0 ms each/);
	await page.locator(".found tr").first().click();
	assert.equal((await state(page)).view, "flame");
	assert.match(await text(page, "panel"), /late_kernelA 200 ms, B 280 ms a step\+80\.0 ms \(\+40\.0 %\)more time/);
	await page.focus("#chart");
	await page.keyboard.press("Escape");
	const at = await page.locator("#flame").boundingBox();
	const colour = async (name) => {
		const b = await box(page, name);
		return (await pixel(page, "flame", b.x - at.x + b.w - 4, b.y - at.y + 3)).slice(0, 3).join();
	};
	await settled(page, "all is shown", async () => (await boxes(page)).some((b) => b.name === "gone_kernel"));
	assert.equal(await colour("late_kernel"), "240,124,104");
	assert.equal(await colour("gone_kernel"), "98,146,230");
	assert.equal(await colour("early_kernel"), "238,234,222");
	assert.match(await text(page, "legend"), /the samecannot tellmore time.*only in A/);
	const both = await sum(page), gone = (await box(page, "gone_kernel")).total;
	assert.ok(Math.abs(gone - 28e6) < 2e4, String(gone));
	await page.selectOption("#by", "b");
	assert.ok(!(await boxes(page)).some((b) => b.name === "gone_kernel"));
	assert.ok(await sum(page) < both - gone);
	await page.selectOption("#by", "a");
	assert.ok(Math.abs((await box(page, "late_kernel")).total - 200e6) < 1e5);
	// What was joined has the sum of both sides, and a colour of what was not tested.
	await page.evaluate(() => window.aiflame.go({ by: "", ops: JSON.stringify([["callers", "cudaLaunchKernel"]]), zoom: "" }));
	const joined = await page.evaluate(() => { const { F, data } = window.aiflame, i = [...F.g.name].findIndex((n) => data.names[n] === "cudaLaunchKernel"); return F.g.sums.map((s) => s[i]); });
	await page.evaluate(() => window.aiflame.go({ ops: "" }));
	const all = await page.evaluate(() => { const { F, data } = window.aiflame; let ret = [0, 0]; for (let i = 0; i < F.g.n; i++) if (data.names[F.g.name[i]] === "cudaLaunchKernel") ret = ret.map((v, k) => v + F.g.sums[k][i]); return ret; });
	joined.forEach((v, k) => assert.ok(v > 0 && Math.abs(v - all[k]) < 1, `${joined} ${all}`));
	const svg = await Promise.all([page.waitForEvent("download"), page.click("#svg")]).then(([d]) => d.path());
	assert.match(readFileSync(svg, "utf8"), /A: a \(3 runs\), B: b \(3 runs\) .*frames are as wide as where they take more/);
	await page.click("#view-tables");
	assert.match(await text(page, "table-body"), /gone_kernel < cudaLaunchKernel.*only in A/);
	await page.evaluate(() => window.aiflame.go({ table: "kernels" }));
	assert.match(await text(page, "table-body"), /late_kernel\+80\.0 ms200 ms280 ms\+40\.0 %/);
});
test("two sides of counts", "counts", "#v1&view=flame", async (page) => {
	assert.match(await text(page, "panel"), /A [\d,]+ counts, B [\d,]+ counts/);
	assert.ok(await page.evaluate(() => window.aiflame.F.g.n) > 20000);
});

test("what a profile lacks is said: an empty one", "empty", "", async (page) => {
	assert.match(await text(page, "overview"), /nothing says what bounds it|no device/);
	assert.match(await text(page, "overview"), /What this page lacks/);
	for (const [view, id, said] of [["flame", "flame-none", /nothing to draw/], ["scope", "scope-body", /nothing to show/], ["tables", "table-body", /There are no|no /], ["code", "code-body", /no listing/]]) {
		await page.click("#view-" + view);
		assert.match(await text(page, id), said);
	}
});
test("what was lost is said: in the overview, below the flame graph", "trace", "", async (page) => {
	assert.match(await text(page, "overview"), /What was lost, or could not be had.*events? left out: without a name, or with impossible times.*incomplete: .*events of the file/);
	await page.click("#view-flame");
	assert.match(await text(page, "flame-none"), /incomplete: .*events of the file/);
});
test("a damaged one", "damaged", "", async (page) => {
	assert.match(await text(page, "overview"), /damaged|not add up/);
});
test("one of CPU samples only", "cpu", "#v1&view=flame", async (page) => {
	assert.ok(await sum(page) > 0);
	assert.equal(await page.evaluate(() => document.getElementById("of").value), "cpu");
	await page.click("#view-overview");
	assert.match(await text(page, "overview"), /no device|No work of a device/i);
	const first = page.locator(".card", { hasText: "Functions on CPUs" }).locator(".bars tr").first();
	assert.match(await first.textContent(), /^gemm<float.*65\.4 %/);
	await first.click();
	assert.equal((await state(page)).view, "flame");
	assert.match(await text(page, "crumbs"), /own time of gemm<float/);
});
test("one whose narrow frames were joined", "joined", "", async (page) => {
	assert.match(await text(page, "overview"), /frames narrower than .* are joined/);
	await page.click("#view-flame");
	assert.ok(await page.evaluate(() => window.aiflame.F.g.n) <= 500);
	const values = readFileSync(join(work, "stacks.folded"), "utf8").trim().split("\n").map((line) => +line.split(" ").at(-1));
	assert.equal(await sum(page), values.reduce((a, b) => a + b)); // a count is 1 ns
	// What a name may have in joined frames is said: the truth is within.
	const lines = readFileSync(join(work, "stacks.folded"), "utf8").trim().split("\n"), name = lines[0].split(";")[1].replace(/ \d+$/, "");
	const all = values.reduce((a, b) => a + b), truth = lines.filter((line) => line.toLowerCase().includes(name.toLowerCase())).reduce((a, line) => a + +line.split(" ").at(-1), 0);
	const found = await page.evaluate((t) => { window.aiflame.find(t); const f = window.aiflame.F.found; return [f.sum, f.maybe]; }, name);
	assert.ok(found[0] <= truth && truth <= found[0] + found[1] && found[1] > 0, `${found} ${truth} of ${all}`);
});

test("the page of the flame scope alone shows it", "scope", "", async (page) => {
	assert.equal((await state(page)).view, "scope");
	assert.equal(await page.locator("nav button").count(), 2);
	await page.click("#view-flame");
	assert.ok(await sum(page) > 0);
});

test("dark, and small, nothing lies beside the page", "full", "#v1&view=flame", async (page) => {
	const background = await page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor);
	assert.equal(background, "rgb(18, 19, 23)");
	for (const view of ["overview", "flame", "scope", "tables", "code"]) {
		await page.click("#view-" + view);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), view);
	}
}, { colorScheme: "dark", viewport: { width: 420, height: 800 } });
test("a picture by --headless has the page, which needs no worker where it is small", "sides", "", async () => {
	const dom = execFileSync(process.env.CHROMIUM, ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom", url("sides")], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
	assert.match(dom, /What changed from A to B/);
	assert.doesNotMatch(dom, /Unpacking/);
});
for (const name of ["sides", "counts"])
	for (const width of [420, 900])
		test(`${name}, ${width} wide: tables scroll in themselves, and not the page`, name, "", async (page) => {
			for (const view of ["overview", "flame", "tables"]) {
				await page.click("#view-" + view);
				assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), view);
			}
		}, { viewport: { width, height: 800 } });
test("at 200 % zoom nothing is cut or out of reach", "full", "#v1&view=flame", async (page) => {
	for (const view of ["overview", "flame", "scope", "tables", "code"]) {
		await page.click("#view-" + view);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), view);
	}
	await page.click("#view-flame");
	await page.locator("#flame").scrollIntoViewIfNeeded();
	await page.evaluate(() => window.scrollTo(0, document.getElementById("chart").getBoundingClientRect().bottom + scrollY - innerHeight));
	await click(page, "train_step (train.py)");
	assert.match(await text(page, "panel"), /^train_step/);
	await page.locator("#panel button", { hasText: "Around" }).click();
	assert.match(await text(page, "crumbs"), /around train_step/);
}, { viewport: { width: 650, height: 430 }, deviceScaleFactor: 2 });
test("the page has the colours of its user", "full", "#v1&view=flame", async (page) => {
	assert.ok((await boxes(page)).length > 10);
	const at = await page.locator("#flame").boundingBox(), b = await box(page, "all");
	const inside = await pixel(page, "flame", b.x - at.x + b.w - 6, b.y - at.y + 4);
	assert.ok(new Set(inside.slice(0, 3)).size === 1, inside.join());
	const strip = await page.locator("#strip").boundingBox(), seen = new Set();
	for (let x = 2; x < strip.width; x += 7)
		seen.add((await pixel(page, "strip-canvas", x, 19)).slice(0, 3).join());
	assert.ok(seen.has("47,158,166") && seen.size > 2, [...seen].join(" "));
}, { forcedColors: "active" });
test("names longer than their card or listing is wide are broken there", "full", "", async (page) => {
	for (const [view, place, text_of] of [["overview", "#overview .card:has(li)", "li"], ["code", "#code-body", "p div"]]) {
		await page.evaluate((v) => window.aiflame.go({ view: v }), view);
		const [inside, wide] = await page.evaluate(([p, t]) => {
			const card = document.querySelector(p), line = card.querySelector(t), range = document.createRange();
			line.textContent = `name_${"of_a_kernel".repeat(40)}`;
			range.selectNodeContents(line);
			return [range.getBoundingClientRect().right, card.getBoundingClientRect().right];
		}, [place, text_of]);
		assert.ok(inside <= wide, `${view}: ${inside} beyond ${wide}`);
	}
}, { viewport: { width: 420, height: 800 } });
test("printed: bright, with its bars, nothing cut", "full", "#v1&view=overview", async (page) => {
	await page.evaluate(() => document.documentElement.dataset.theme = "dark");
	await page.evaluate(() => window.aiflame.go({ theme: "dark" }));
	const ground = async () => (await pixel(page, "strip-canvas", await page.evaluate(() => document.getElementById("strip-canvas").clientWidth - 2), 11)).slice(0, 3).join();
	assert.equal(await ground(), "35,38,45", "the strip is dark on a screen");
	await page.emulateMedia({ media: "print" });
	await settled(page, "the strip is bright on paper", async () => await ground() === "238,240,244");
	const style = (css, key) => page.evaluate(([c, k]) => getComputedStyle(document.querySelector(c))[k], [css, key]);
	assert.equal(await style("html", "backgroundColor"), "rgb(255, 255, 255)");
	assert.equal(await style(".part", "printColorAdjust"), "exact");
	assert.equal(await style("nav", "display"), "none");
	assert.equal(await style("#band", "maxHeight"), "none");
	await page.evaluate(() => document.getElementById("view-tables").click());
	assert.equal(await style("#table-body", "overflowY"), "visible");
	assert.ok(await page.evaluate(() => {
		const body = document.getElementById("table-body");
		return body.querySelector("table").offsetWidth <= body.offsetWidth && body.offsetHeight >= body.scrollHeight;
	}), "the table is whole");
	assert.deepEqual(await page.evaluate(() => {
		const cells = [...document.querySelectorAll("#table-body tbody td:is(.ns, .count, .share)")];
		return cells.filter((c) => c.textContent && (() => { const r = document.createRange(); r.selectNodeContents(c); return r.getClientRects().length !== 1; })()).map((c) => c.textContent);
	}), [], "each number is on one line");
	assert.ok(await page.evaluate(() => document.querySelector("#table-body td.lead").clientWidth) >= 90, "there is room for names");
	await page.evaluate(() => window.aiflame.go({ view: "flame" }));
	assert.match(await page.evaluate(() => [...document.querySelectorAll(".bar-line select")].filter((s) => s.offsetWidth).map((s) => s.selectedOptions[0].text).join(", ")), /^Device time, by time/, "what is drawn is said");
}, { viewport: { width: 700, height: 400 } });
test("a low window has each view whole, below the strips", "full", "#v1&view=flame", async (page) => {
	for (const [view, place, least] of [["flame", "chart", 120], ["timeline", "lanes", 120], ["tables", "table-body", 120], ["code", "code-body", 120]]) {
		await page.evaluate((v) => window.aiflame.go({ view: v }), view);
		const [top, bottom, band, all] = await page.evaluate((p) => {
			const r = document.getElementById(p).getBoundingClientRect();
			return [r.top, r.bottom, document.getElementById("band").getBoundingClientRect().bottom, document.documentElement.scrollHeight];
		}, place);
		assert.ok(top >= band && bottom - top >= least && bottom <= 600 && all <= 600, `${view}: ${[top, bottom, band, all].join(", ")}`);
	}
}, { viewport: { width: 1000, height: 600 } });

// Each row of the overview: what it says, and what the picture has that it opens, in the same time.
for (const name of ["full", "sampled", "trace", "ranks", "late", "phases", "energy", "cpu", "host"])
	test(`each row of the overview of ${name} opens what it names: the same time, the same number`, name, "", async (page) => {
		const window_of = await page.evaluate(() => { const w = window.aiflame.data.why; return w ? [w.window.from_ns, w.window.to_ns] : null; });
		const cards = { groups: page.locator(".groups tbody tr") }, opened = {};
		for (const [key, title] of [["kernels", /^Kernels/], ["owners", /^Idle time, by/], ["functions", /^Functions on CPUs/]])
			cards[key] = page.locator(".card", { has: page.locator("h2", { hasText: title }) }).locator(".bars tr");
		for (const [key, rows] of Object.entries(cards)) {
			const texts = await rows.allTextContents();
			for (let k = 0; k < texts.length; k++) {
				const said = await rows.nth(k).locator(".num").allTextContents(), number = key === "groups" ? said[1] : said.at(-1);
				await rows.nth(k).click();
				await settled(page, texts[k], async () => (await state(page)).view !== "overview");
				const now = await state(page);
				if (key !== "functions")
					assert.deepEqual(now.time.split("-").map((t) => Math.round(t * 1e9)), window_of, texts[k]);
				if (now.view === "timeline") { // a cause of gaps that the window's ends cut, which no frame has
					assert.match(said[0], /^(< )?0\.0/, texts[k]);
					await page.evaluate(() => window.aiflame.go({ view: "overview", time: "", of: "" }));
					continue;
				}
				assert.equal(now.view, "flame", texts[k]);
				const shown = await page.evaluate(() => [document.querySelector("#panel p:nth-of-type(2) div").textContent.split(" \u00b7")[0], document.getElementById("flame-none").textContent, document.getElementById("crumbs").textContent]);
				const is_of_work = /^\[\["group","(compute|copies|communication|waiting)"/.test(now.ops);
				const has = is_of_work ? /: (.*?) of devices/.exec(shown[1])[1] : shown[0];
				assert.equal(has, number, `${texts[k]}: ${JSON.stringify(shown)}`);
				opened[key] = (opened[key] || 0) + 1;
				await page.evaluate(() => window.aiflame.go({ view: "overview", time: "", ops: "", of: "", find: "" }));
			}
		}
		assert.ok(opened.groups ? opened.groups > 1 && opened.kernels >= 1 && opened.owners >= 1 : opened.functions > 1, JSON.stringify(opened));
	});
// Of `sampled` launches were left out, so that its whole run and its loop are estimated apart.
for (const name of ["full", "sampled", "trace", "late", "phases", "energy"])
	test(`shares of what bounds ${name} are those of why, and sum to the whole`, name, "", async (page) => {
		const [rows, groups] = await page.evaluate(() => {
			const { why } = window.aiflame.data;
			return [[...document.querySelectorAll(".groups tbody tr")].map((tr) => parseFloat(tr.children[1].textContent.replace("< ", ""))), why.groups.filter((g) => g.share_ppm > 0).map((g) => g.share_ppm / 1e4)];
		});
		assert.equal(rows.length, groups.length);
		rows.forEach((v, k) => assert.ok(Math.abs(v - groups[k]) < 0.1, `${rows} ${groups}`));
		assert.ok(Math.abs(rows.reduce((a, b) => a + b, 0) - 100) < 0.5, rows.join());
		// Halves of the loop sum to it.
		const idle = async (from, to) => {
			await page.evaluate((time) => window.aiflame.go({ view: "flame", of: "idle", time }), `${from / 1e9}-${to / 1e9}`);
			return await sum(page);
		};
		const { from_ns, to_ns } = await page.evaluate(() => window.aiflame.data.why.window), half = Math.round((from_ns + to_ns) / 2);
		const all = await idle(from_ns, to_ns), halves = await idle(from_ns, half) + await idle(half, to_ns);
		assert.ok(all > 0 && Math.abs(halves / all - 1) < 1e-6, `${halves} ${all}`);
	});
// Of kernels those of all processes, each in its own.
for (const name of ["full", "sampled", "trace", "ranks", "late", "phases", "energy"])
	test(`each row of the table of kernels of ${name} opens its kernel, with its number`, name, "#v1&view=tables&table=kernels", async (page) => {
		const rows = page.locator("#table-body tbody tr"), columns = (await page.locator("#table-body thead th").allTextContents()).map((t) => t.replace(/ [\u25b4\u25be]$/, ""));
		const n = await rows.count(), wall = columns.indexOf("wall");
		assert.ok(n > 0 && wall > 0, columns.join());
		for (let k = 0; k < n; k++) {
			const cells = await rows.nth(k).locator("td").allTextContents();
			if (!cells[wall])
				continue; // without a time
			await rows.nth(k).click();
			await settled(page, cells.join(), async () => (await state(page)).view === "flame");
			const shown = await page.evaluate(() => [document.querySelector("#panel p:nth-of-type(2) div").textContent.split(" \u00b7")[0], document.getElementById("crumbs").textContent]);
			assert.equal(shown[0], cells[wall], `${cells.join()}: ${shown[1]}`);
			await page.evaluate(() => window.aiflame.go({ view: "tables", table: "kernels", ops: "", of: "", roots: "", zoom: "" }));
			await settled(page, "the table is back", async () => await rows.count() === n);
		}
	});
// Owners of the page are those of `why`, which has them by the window's own gaps.
for (const name of ["full", "phases", "energy"])
	test(`owners of idle time of ${name} are those of why`, name, "", async (page) => {
		const owners = await page.evaluate(() => window.aiflame.data.why.owners.map((o) => [(o.is_before ? "before " : "") + o.place.replace(/:\d+\)/g, ")"), o.ns]));
		const seen = Object.fromEntries(await page.evaluate(() => window.aiflame.more.owners().map((o) => [o.name, o.ns])));
		const idle = owners.reduce((sum, [, v]) => sum + v, 0);
		for (const [owner, v] of owners.filter(([, n]) => n > idle / 50))
			assert.ok(Math.abs((seen[owner.replace(/:\d+\)/g, ")")] || 0) - v) <= idle / 100, `${owner}: ${v}, ${JSON.stringify(seen)}`);
	});
test("a link that names what is not there says so, and shows the rest", "full", "#v1&view=flame&zoom=" + encodeURIComponent('["gone_function"]') + "&time=x&kernel=none", async (page) => {
	const said = await text(page, "trouble");
	for (const part of ['the frame "gone_function"', 'the time "x"', 'the listing "none"'])
		assert.ok(said.includes(part), said);
	assert.equal(await page.getAttribute("#trouble", "role"), "alert");
	assert.ok(await sum(page) > 0);
	await page.locator("#trouble button").click();
	assert.ok(await page.evaluate(() => document.getElementById("trouble").hidden));
});
test("a link that names what is there says nothing", "full", "#v1&view=flame&of=idle&ops=" + encodeURIComponent('[["group","host"]]'), async (page) => {
	assert.ok(await page.evaluate(() => document.getElementById("trouble").hidden));
});
test("a search that is no regular expression says why", "full", "#v1&view=flame&re=1", async (page) => {
	await page.fill("#find", "a(");
	await settled(page, "it is said", async () => /no regular expression: .*nterminated/.test(await text(page, "found")));
});
test("the focus stays on what is made anew, and goes to the view that a row opens", "full", "#v1&view=tables&table=kernels", async (page) => {
	const focused = () => page.evaluate(() => [document.activeElement.tagName, document.activeElement.textContent.slice(0, 40), document.activeElement.id]);
	await page.locator("#table-body th button", { hasText: "launches" }).focus();
	await page.keyboard.press("Enter");
	assert.match((await focused())[1], /^launches/);
	await page.keyboard.press("Enter");
	assert.match((await focused())[1], /^launches .*\u25b4/);
	await page.click("#view-overview");
	await page.locator(".groups tbody tr").first().focus();
	await page.keyboard.press("Enter");
	assert.equal((await focused())[2], "chart");
});
test("code opens at its hottest line", "sampled", "#v1&view=code", async (page) => {
	const lit = await page.evaluate(() => [...document.querySelectorAll(".panes pre:last-child .lit")].map((e) => e.textContent));
	const most = await page.evaluate(() => Math.max(...[...document.querySelectorAll(".panes pre:last-child .line")].map((e) => parseFloat(e.textContent) || 0)));
	assert.ok(lit.some((line) => parseFloat(line) === most), JSON.stringify([lit, most]));
});
test("phases are shown, and selected by a click", "full", "", async (page) => {
	assert.match(await text(page, "overview"), /Start-up 1\.0 ms.*Loop 1\.88 s devices busy 27\.8 %.*Tail 520 ms/);
	await page.locator(".phases button").first().click();
	assert.equal((await state(page)).time, "0-0.001");
});
test("what devices did is in the accessibility tree, idle causes too", "full", "", async (page) => {
	assert.match(await page.getAttribute("#strip", "aria-valuetext"), /all 2\.40 s, Computing 28\.\d %.*A launching thread that does not run 49\.\d %/);
});
for (const table of ["streams", "threads", "processes", "breakdown", "sync", "counters"])
	test(`a click on a row of the table ${table} leads to what it is of`, "full", "#v1&view=tables&table=" + table, async (page) => {
		await page.locator("#table-body tbody tr").first().click();
		if (table === "counters") {
			assert.equal((await state(page)).more, "1");
			return;
		}
		assert.equal((await state(page)).view, "timeline");
		if (table === "sync")
			await settled(page, "the calls are found", async () => /in this time/.test(await text(page, "lanes-found")));
		else
			await settled(page, "a bar of the lane is chosen", async () => page.evaluate(() => !!document.querySelector("#lanes-panel .lanes-tree .sub")));
	});
timeline_cases({ test, state, text, pixel, settled });

// ---- running ----------------------------------------------------------------------------------------------
const browser = await within(60, "Chromium starts", chromium.launch({
	executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
}));
let n = 0, failed = 0;
for (const { name, page: file, hash, body, options } of cases.filter((c) => c.name.includes(process.env.ONLY || ""))) {
	n++;
	const began = Date.now();
	const trouble = [], context = await browser.newContext({ viewport: { width: 1300, height: 860 }, acceptDownloads: true, ...options });
	const open = async (what, h) => {
		const page = await context.newPage();
		page.on("console", (m) => { if ((m.type() === "error" || m.type() === "warning") && !/willReadFrequently/.test(m.text())) trouble.push("console: " + m.text()); });
		page.on("pageerror", (e) => trouble.push("error: " + e.message));
		page.on("request", (r) => { if (!/^(file:\/\/\/.*\.html|blob:|data:)/.test(r.url().split("#")[0])) trouble.push("request: " + r.url()); });
		page.on("dialog", (d) => { trouble.push("dialog"); d.dismiss(); });
		await page.goto(url(what, h));
		await page.waitForSelector("html[data-ready=yes]", { state: "attached", timeout: 60000 });
		return page;
	};
	try {
		const page = await within(90, name, open(file, hash));
		assert.match(await page.evaluate(() => document.querySelector("meta[http-equiv]").content), /^default-src 'none'; script-src 'sha256-[^']*'; style-src 'sha256-/);
		await within(90, name, body(page, open));
		assert.deepEqual(trouble, []);
		if (process.env.SHOTS)
			await page.screenshot({ path: join(process.env.SHOTS, `${n}.png`) });
		console.log(`ok ${n} - ${name}${process.env.TIMES ? ` # ${Date.now() - began} ms` : ""}`);
	} catch (e) {
		failed++;
		console.log(`not ok ${n} - ${name}\n${String(e.stack).split("\n").slice(0, 12).concat(trouble).map((l) => "#   " + l).join("\n")}`);
	}
	await context.close();
}
await browser.close();
console.log(`1..${n}`);
process.exit(failed ? 1 : 0);
