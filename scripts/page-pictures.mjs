#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// page-pictures.mjs TRACES RECORDED [NAME...]: draws docs/images/view-NAME.png and view-NAME-dark.png, the pictures of the page in docs.
// TRACES has public traces: tracelens/ (AMD-AGI/TraceLens, tests/traces), '/' in names of files replaced by '__'. RECORDED has
// train.data, decode.data and graph-decode.data: `aiflame record` of train.py 10, decode.py 400 and scenes/graph_decode.py
// capture 4 of tests/gpu, on a GPU. It needs a build with tests and examples (BUILD_DIR), Chromium (CHROMIUM), what npm
// brings for tests/e2e, PoCL for the demo, and makes a million frames of text. Profiles are kept in WORK_DIR, if that is given.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const root = join(dirname(fileURLToPath(import.meta.url)), ".."), build = process.env.BUILD_DIR || join(root, "build");
const { chromium } = createRequire(join(root, "tests/e2e/"))("playwright-core");
const [traces, recorded, ...only] = process.argv.slice(2);
if (!recorded || traces.startsWith("-")) {
	console.error("usage: page-pictures.mjs TRACES RECORDED [NAME...]");
	process.exit(2);
}
const work = process.env.WORK_DIR || mkdtempSync(join(tmpdir(), "page-pictures-"));
const run = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "ignore", "inherit"], cwd: work });
const aiflame = (...args) => run(join(build, "src/aiflame"), ...args);
const trace = (file) => (data) => aiflame("import", "-q", "-o", data, join(traces, file));

// ---- profiles, and the views of their pages
const PROFILES = {
	train: [(data) => copyFileSync(join(recorded, "train.data"), join(work, data)), "Ten training steps of a small transformer"],
	decode: [(data) => copyFileSync(join(recorded, "decode.data"), join(work, data)), "Decoding with a small Llama"],
	h100: [trace("tracelens/h100__gaunernst_bert-small-uncased__1016001.json.gz")],
	mi300: [trace("tracelens/mi300__gaunernst_bert-small-uncased__1016001.json.gz")],
	graph: [(data) => copyFileSync(join(recorded, "graph-decode.data"), join(work, data)), "Decoding by CUDA graphs"],
	simulated: [(data) => run(join(build, "tests/e2e/golden_profiles"), "full", data, join(root, "tests/golden/cubin")), "Training steps on simulated devices"],
	demo: [(data) => aiflame("record", "-q", "-o", data, join(build, "examples/matmul"), "512", "12"), "Three matrix products on PoCL"],
	// Copied, since the page shows where it is.
	program: [(data) => {
		const folder = mkdtempSync(join(tmpdir(), "program-"));
		copyFileSync(join(build, "tests/e2e/cpu_program"), join(folder, "program"));
		aiflame("record", "-q", "--cpu", "-F", "999", "-o", data, join(folder, "program"), "2");
		rmSync(folder, { recursive: true });
	}, "A C program"],
	million: [(data) => {
		run("python3", join(root, "bench/gen_folded.py"), "33000", "million.folded", "diverging");
		aiflame("import", "-q", "--as", "device", "--count", "300us", "-o", data, "million.folded");
	}, "A million frames"],
};
const VIEWS = { // profile, state, size; time=loop: the time that `why` is of
	overview: ["train", "view=overview", 1200, 860],
	flame: ["train", "view=flame&of=loop&time=loop", 1200, 860],
	idle: ["decode", "view=flame&of=idle&more=1&colour=idle&time=loop", 1200, 900],
	scope: ["graph", "view=scope", 1200, 640],
	timeline: ["simulated", "view=timeline&time=0.42-1.1", 1200, 760],
	tables: ["train", "view=tables&table=kernels", 1200, 700],
	lines: ["train", "view=code&kernel=" + encodeURIComponent("train_step (train.py)"), 1200, 640],
	decode: ["decode", "view=flame&time=loop", 1200, 860],
	code: ["program", "view=code", 1200, 640],
	demo: ["demo", "view=flame", 1200, 720],
	million: ["million", "view=flame", 1200, 760],
	sides: ["h100", "view=flame", 1200, 820, "mi300"],
};

// ---- PNG: with a palette of 256 colours, as a page has few: those that are frequent, and those that are like no other
function png_read(file) {
	const parts = [];
	for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at))
		if (file.toString("latin1", at + 4, at + 8) === "IDAT")
			parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
	const width = file.readUInt32BE(16), height = file.readUInt32BE(20), by = file[25] === 6 ? 4 : 3, line = width * by;
	const packed = inflateSync(Buffer.concat(parts)), ret = Buffer.alloc(line * height);
	for (let y = 0; y < height; y++) {
		const filter = packed[y * (line + 1)];
		for (let x = 0; x < line; x++) {
			const at = y * line + x, left = x >= by ? ret[at - by] : 0, up = y ? ret[at - line] : 0, corner = x >= by && y ? ret[at - line - by] : 0;
			const p = left + up - corner, [a, b, c] = [left, up, corner].map((v) => Math.abs(p - v));
			const guess = [0, left, up, (left + up) >> 1, a <= b && a <= c ? left : b <= c ? up : corner][filter];
			ret[at] = packed[y * (line + 1) + 1 + x] + guess;
		}
	}
	return { width, height, colours: Uint32Array.from({ length: width * height }, (_, i) => ret[i * by] << 16 | ret[i * by + 1] << 8 | ret[i * by + 2]) };
}
function png_write({ width, height, colours }) {
	const often = new Map();
	for (const c of colours)
		often.set(c, (often.get(c) || 0) + 1);
	const far = (a, b) => [16, 8, 0].reduce((sum, s) => sum + ((a >> s & 255) - (b >> s & 255)) ** 2, 0);
	const sorted = [...often].sort((a, b) => b[1] - a[1]), palette = sorted.slice(0, 128).map(([c]) => c);
	const rest = sorted.slice(128).map(([c, n]) => ({ c, n, far: Math.min(...palette.map((p) => far(p, c))) }));
	while (palette.length < Math.min(256, sorted.length)) {
		const next = rest.reduce((best, r) => r.n * r.far > best.n * best.far ? r : best);
		palette.push(next.c);
		rest.forEach((r) => { r.far = Math.min(r.far, far(r.c, next.c)); });
	}
	const index = new Map(palette.map((c, k) => [c, k]));
	const nearest = (c) => palette.reduce((best, p, k) => far(p, c) < far(palette[best], c) ? k : best, 0);
	const rows = Buffer.alloc((width + 1) * height);
	colours.forEach((c, i) => {
		if (!index.has(c))
			index.set(c, nearest(c));
		rows[i + Math.floor(i / width) + 1] = index.get(c);
	});
	const chunk = (type, data) => {
		const ret = Buffer.concat([Buffer.alloc(4), Buffer.from(type, "latin1"), data, Buffer.alloc(4)]);
		ret.writeUInt32BE(data.length);
		ret.writeUInt32BE(crc32(ret.subarray(4, -4)), ret.length - 4);
		return ret;
	};
	const head = Buffer.alloc(13);
	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	head.set([8, 3, 0, 0, 0], 8);
	return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", head), chunk("PLTE", Buffer.from(palette.flatMap((c) => [c >> 16, c >> 8 & 255, c & 255]))),
		chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

// ---- pictures
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"] });
for (const [name, [profile, state, width, height, other]] of Object.entries(VIEWS).filter(([n]) => !only.length || only.includes(n))) {
	for (const p of [profile, other])
		if (p && !existsSync(join(work, p + ".data")))
			PROFILES[p][0](p + ".data");
	if (other)
		aiflame("diff", profile + ".data", other + ".data", "-o", name + ".html");
	else
		aiflame("view", profile + ".data", "-o", name + ".html", "--title", PROFILES[profile][1]);
	for (const scheme of ["light", "dark"]) {
		const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
		await page.goto("file://" + join(work, name + ".html") + "#v1&" + state);
		await page.waitForSelector("html[data-ready=yes]", { state: "attached", timeout: 60000 });
		if (/time=loop/.test(state))
			await page.evaluate(() => { const { data, go } = window.aiflame, { from_ns, to_ns } = data.why.window; go({ time: `${from_ns / 1e9}-${to_ns / 1e9}` }); });
		await page.waitForTimeout(300);
		if (name === "timeline") { // a kernel is chosen
			await page.locator("#lanes").focus();
			for (let k = 0; k < 3; k++)
				await page.keyboard.press("ArrowDown");
			await page.waitForTimeout(300);
		}
		const file = join(root, "docs/images", `view-${name}${scheme === "dark" ? "-dark" : ""}.png`), png = png_write(png_read(await page.screenshot()));
		writeFileSync(file, png);
		console.log(file, png.length);
		await page.close();
	}
}
await browser.close();
if (!process.env.WORK_DIR)
	rmSync(work, { recursive: true });
