// SPDX-License-Identifier: Apache-2.0
// The SVG flame graph as a browser shows it: zoom, search, reset, keyboard, details. Prints TAP.
// AIFLAME names the program, CHROMIUM the browser; with SHOTS=DIR it keeps pictures to look at.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const AIFLAME = process.env.AIFLAME || "aiflame";
const work = mkdtempSync(join(tmpdir(), "svg_browser."));
// However it ends: Playwright ends the browser when this process exits.
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
for (const [name, number] of [["SIGHUP", 1], ["SIGINT", 2], ["SIGTERM", 15]])
	process.on(name, () => process.exit(128 + number));

// A page that hangs does not take the others' time: the whole ends, and says where.
function within(seconds, what, promise) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`${what}: no end after ${seconds} s`)), seconds * 1000);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function flame(name, folded, ...options) {
	writeFileSync(join(work, name + ".folded"), folded);
	const svg = join(work, name + ".svg");
	execFileSync(AIFLAME, ["flame", join(work, name + ".folded"), "-o", svg, ...options], { timeout: 60000 });
	return "file://" + svg;
}

// ---- pictures ---------------------------------------------------------------------------------------
const SMALL = [
	"main;run;multiply_basic_[g];k.cl:3_[g];ld +0x10_[g] 300",
	"main;run;multiply_basic_[g];k.cl:3_[g];fma +0x18_[g] 200",
	"main;run;multiply_tiled_[g];k.cl:9_[g];fma +0x20_[g] 250",
	"main;run;[read]_[g] 50",
	"main;check;multiply_basic_[g] 100",
	"main;a_function_with_quite_a_long_name(int, char const*) 60",
	"main;fma_on_the_host 40",
].join("\n") + "\n"; // 1,000 in all

const HOSTILE = ["<script>alert(1)</script>", "]]>", "--><b>", "\"'&amp;", "a".repeat(20000), "\u202eevil", "日本語の名前"];

function large(frames) {
	const lines = [];
	for (let i = 0; lines.length < frames; i++)
		lines.push(`main;m${i % 40};f${i % 400};g${i};leaf_${i}_[g] ${100 + (i * 7919) % 50}`);
	return lines.join("\n") + "\n";
}

// 30 frames of 4 px, each with 100 callees that are too narrow to draw, half of them with callees of their own; widths
// are millionths.
function narrow() {
	const lines = ["main;wide 887500"];
	for (let i = 0; i < 3000; i++)
		lines.push(`main;m${i % 30};FFMA_${i}${i % 60 < 30 ? ";deep;deeper;<&>" : ""} ${i % 4 === 1 ? 30 : 40}`);
	return lines.join("\n") + "\n";
}

// ---- what a page shows ------------------------------------------------------------------------------
const state = (page) => page.evaluate(() => [...document.querySelectorAll("#frames > g")].map((g) => {
	const rect = g.querySelector("rect"), text = g.querySelector("text");
	return {
		name: g.querySelector("title").textContent.split("\n")[0],
		shown: g.style.display !== "none",
		x: +rect.getAttribute("x"), w: +rect.getAttribute("width"), y: +rect.getAttribute("y"),
		label: text ? text.textContent : "",
		up: g.classList.contains("up"), hit: g.classList.contains("hit"), here: g.classList.contains("here"),
	};
}));
const named = (frames, name) => frames.filter((f) => f.name === name);
const content = (page, id) => page.evaluate((i) => document.getElementById(i).textContent, id);
const frame = (page, name, nth = 0) =>
	page.locator("#frames > g").filter({ has: page.locator(`title:text("${name}")`) }).nth(nth);
const searched = (page) => page.evaluate(() => document.getElementById("search").value);
const hidden = (page) => page.evaluate(() => document.getElementById("reset").hidden);

async function click(page, name, nth = 0) {
	const box = await page.evaluate(([want, k]) => {
		const g = [...document.querySelectorAll("#frames > g")].filter((e) =>
			e.querySelector("title").textContent.split("\n")[0] === want)[k];
		const r = g.querySelector("rect").getBoundingClientRect();
		return { x: r.x + r.width / 2, y: r.y + r.height / 2 };
	}, [name, nth]);
	await page.mouse.click(box.x, box.y);
}

// ---- cases ------------------------------------------------------------------------------------------
const cases = [];
const test = (name, url, options, body) => cases.push({ name, url, options, body });
const small = flame("small", SMALL, "--title", "Small");
const inverted = flame("inverted", SMALL, "--inverted");
const hostile = flame("hostile", HOSTILE.map((n) => `main;${n} 10`).join("\n") + "\n", "--title", "<&>]]>");
const many = flame("many", large(12000));
const told = flame("told", SMALL); // a subtitle is a profile's: folded text has none
writeFileSync(join(work, "told.svg"), readFileSync(join(work, "told.svg"), "utf8")
	.replace('<title id="told"></title>', `<title id="told">${"/opt/app/train on host7, 64 of 64 attributed; ".repeat(12)}</title>`));
const twice = flame("twice", SMALL); // a second line below it
writeFileSync(join(work, "twice.svg"), readFileSync(join(work, "told.svg"), "utf8")
	.replace("</title><text id=\"subtitle\"", "\n64 of 64 attributed</title><text id=\"quality\" class=\"subtitle\" x=\"12\" y=\"69\"/><text id=\"subtitle\""));
const fixed = flame("fixed", SMALL, "--width", "800");
const thin = flame("thin", narrow());
const crowd = flame("crowd", Array.from({ length: 250000 }, (_, i) => `main;a${i % 50};leaf_${i} 10\n`).join(""));
const tower = "main;" + Array.from({ length: 100 }, (_, i) => "f" + i).join(";");
const tall = flame("tall", `main;other 990\n${tower} 10\n`);
const tall_inverted = flame("tall_inverted", `main;other 990\n${tower} 10\n`, "--inverted");
const sprout = flame("sprout", `main;wide 1000000\nmain;narrow;${tower} 50\nmain;other 100000\n`);

test("it is complete without scripts", small, { javaScriptEnabled: false }, async (page) => {
	const rects = await page.locator("#frames > g > rect").count();
	assert.equal(rects, 15);
	assert.equal(await page.locator("#title").textContent(), "Small");
	assert.match(await page.locator("#frames > g > text").nth(1).textContent(), /^main$/);
	assert.equal(await page.locator(".legend text").count(), 6);
});

test("a click on a frame zooms into it", small, {}, async (page) => {
	const before = await state(page);
	await click(page, "run");
	const after = await state(page), all = named(before, "all")[0];
	assert.equal(named(after, "run")[0].w, all.w);
	assert.equal(named(after, "run")[0].x, all.x);
	assert.ok(named(after, "main")[0].up && named(after, "all")[0].up);
	assert.equal(named(after, "main")[0].w, all.w);
	assert.ok(!named(after, "check")[0].shown && !named(after, "fma_on_the_host")[0].shown);
	// what is inside keeps its proportions, and its place
	const wide = named(after, "multiply_basic").find((f) => f.shown);
	assert.ok(Math.abs(wide.w / all.w - 500 / 800) < 0.001);
	assert.equal(wide.y, named(before, "multiply_basic")[0].y);
	assert.equal(await hidden(page), false);
	await click(page, "main"); // a caller, further out
	assert.ok(named(await state(page), "check")[0].shown);
});

test("labels follow the width", small, {}, async (page) => {
	const name = "a_function_with_quite_a_long_name(int, char const*)";
	const cut = named(await state(page), name)[0].label;
	assert.match(cut, /^a_fun.*…$/);
	await click(page, name);
	assert.equal(named(await state(page), name)[0].label, name);
	const overflow = await page.evaluate(() => [...document.querySelectorAll("#frames > g")].filter((g) => {
		const t = g.querySelector("text"), r = g.querySelector("rect");
		return g.style.display !== "none" && t && t.textContent &&
			t.getComputedTextLength() > +r.getAttribute("width");
	}).length);
	assert.equal(overflow, 0);
});

test("reset restores everything", small, {}, async (page) => {
	const before = await state(page);
	await click(page, "multiply_tiled");
	await page.click("#reset");
	assert.deepEqual(await state(page), before);
	assert.equal(await hidden(page), true);
	await click(page, "check");
	await click(page, "all");
	assert.deepEqual(await state(page), before);
});

test("search highlights and counts the union", small, {}, async (page) => {
	await page.fill("#search", "^fma");
	let s = await state(page);
	assert.deepEqual(s.filter((f) => f.hit).map((f) => f.name), ["fma_on_the_host", "fma +0x18", "fma +0x20"]);
	assert.match(await content(page, "matched"), /^matched 49\.00 % of all$/);
	await page.fill("#search", "multiply_basic|ld|k\\.cl:3"); // frames inside frames count once
	assert.match(await content(page, "matched"), /^matched 60\.00 % of all$/);
	await page.fill("#search", "RUN"); // a capital: as it is written
	assert.match(await content(page, "matched"), /^matched 0\.00 %/);
	await page.fill("#search", "run");
	await click(page, "multiply_tiled");
	assert.match(await content(page, "matched"), /^matched 80\.00 % of all, 100\.00 % of this frame$/);
	await page.fill("#search", "");
	s = await state(page);
	assert.equal(s.filter((f) => f.hit).length, 0);
	assert.equal(await content(page, "matched"), "");
});

const CXX = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "names.txt"), "utf8").trim().split("\n");
const cxx = flame("cxx", CXX.map((name) => `main;${name} 10\n`).join(""));
test("a whole name finds itself, whatever its characters mean", cxx, {}, async (page) => {
	for (const name of CXX) {
		await page.fill("#search", name);
		assert.match(await content(page, "matched"), /^matched 8\.33 %/, name);
		assert.equal(await page.getAttribute("#search", "aria-invalid"), null, name);
	}
});

test("a broken expression is said, not thrown", small, {}, async (page) => {
	await page.fill("#search", "fma");
	const before = await state(page);
	await page.fill("#search", "fma(");
	assert.equal(await page.getAttribute("#search", "aria-invalid"), "true");
	assert.deepEqual(await state(page), before);
	await page.fill("#search", "fma()");
	assert.equal(await page.getAttribute("#search", "aria-invalid"), null);
});

test("the keyboard alone searches", small, {}, async (page) => {
	await page.keyboard.press("/");
	await page.keyboard.type("tiled");
	assert.match(await content(page, "matched"), /25\.00 %/);
	await page.keyboard.press("Enter");
	await page.keyboard.press("n");
	assert.equal((await state(page)).find((f) => f.here).name, "multiply_tiled");
	await page.keyboard.press("Control+f");
	assert.equal(await page.evaluate(() => document.activeElement.id), "search");
	await page.keyboard.press("Escape");
	assert.equal(await content(page, "matched"), "");
	assert.equal(await searched(page), "");
});

for (const [name, url, out, back] of [["", small, "ArrowUp", "ArrowDown"], [", inverted", inverted, "ArrowDown", "ArrowUp"]])
	test("the keyboard alone walks through the tree" + name, url, {}, async (page) => {
		const here = async () => (await state(page)).find((f) => f.here)?.name;
		const before = await state(page);
		await page.keyboard.press(out);
		assert.equal(await here(), "all");
		await page.keyboard.press(out);
		assert.equal(await here(), "main");
		await page.keyboard.press(out);
		assert.equal(await here(), "run"); // the widest
		await page.keyboard.press("ArrowLeft");
		assert.equal(await here(), "fma_on_the_host");
		await page.keyboard.press("ArrowRight");
		assert.match(await content(page, "details"), /^run · 800 samples · 80\.00 % of all/);
		assert.equal(await page.evaluate(() =>
			document.getElementById(document.getElementById("frames").getAttribute("aria-activedescendant"))
				.getAttribute("aria-level")), "3");
		await page.keyboard.press("Enter");
		assert.ok(!named(await state(page), "check")[0].shown);
		await page.keyboard.press(back);
		assert.equal(await here(), "main");
		await page.keyboard.press("Escape");
		assert.deepEqual((await state(page)).map((f) => ({ ...f, here: false })), before);
	});

test("the view is in the address", small, {}, async (page) => {
	await click(page, "run");
	await page.fill("#search", "fma|é");
	const zoomed = await state(page), address = page.url();
	assert.match(address, /#z=\d+&s=/);
	await page.goto("about:blank");
	await page.goto(address);
	assert.deepEqual(await state(page), zoomed);
	assert.equal(await searched(page), "fma|é");
	await page.goto("about:blank");
	await page.goto(small + "#z=999999&s=%E0%A4%A&x"); // nonsense does no harm
	assert.ok((await state(page)).every((f) => f.shown));
});

test("the frame under the pointer shows its details", small, {}, async (page) => {
	await frame(page, "multiply_tiled").hover();
	assert.match(await content(page, "details"), /^multiply_tiled · 250 samples · 25\.00 % of all · 31\.25 % of its caller · device kernel$/);
	assert.equal(await frame(page, "multiply_tiled").locator("title").textContent(),
		"multiply_tiled\n250 samples · 25.00 % of all · 31.25 % of its caller\ndevice kernel");
});

test("the picture is as wide as the window", small, { viewport: { width: 1700, height: 700 } }, async (page) => {
	const width = () => page.evaluate(() => +document.documentElement.getAttribute("width"));
	assert.equal(await width(), 1700);
	assert.ok(Math.abs(named(await state(page), "all")[0].w - (1700 - 24.5)) < 1);
	await page.setViewportSize({ width: 900, height: 700 });
	await page.waitForFunction(() => +document.documentElement.getAttribute("width") === 900);
	assert.ok(Math.abs(named(await state(page), "all")[0].w - (900 - 24.5)) < 1);
});

for (const width of [800, 1200, 1920])
	test(`the subtitle has its room at ${width} px`, told, { viewport: { width, height: 700 } }, async (page) => {
		const [text, search] = await page.evaluate(() => ["subtitle", "search"].map((id) =>
			document.getElementById(id).getBoundingClientRect().toJSON()));
		assert.ok(text.top >= search.bottom, `below the search box: ${text.top}, ${search.bottom}`);
		assert.ok(text.right <= width, `inside of the window: ${text.right}`);
		assert.ok(text.width > 0.8 * (width - 24), `as much of it as there is room for: ${text.width}`);
	});
test("what stands behind it is not cut for its sake", twice, { viewport: { width: 1400, height: 700 } }, async (page) => {
	assert.equal(await content(page, "quality"), "64 of 64 attributed");
	assert.match(await content(page, "subtitle"), /^\/opt\/app\/train.*\u2026$/);
});
test("a dark browser has no white below it", small, { colorScheme: "dark" }, async (page) => {
	assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(22, 23, 27)");
});

test("--width is kept", fixed, { viewport: { width: 1700, height: 700 } }, async (page) => {
	assert.equal(await page.evaluate(() => +document.documentElement.getAttribute("width")), 800);
});

test("names cannot break it", hostile, {}, async (page) => {
	const names = (await state(page)).map((f) => f.name);
	assert.ok(names.includes("<script>alert(1)</script>") && names.includes("]]>") && names.includes("日本語の名前"));
	assert.ok(names.includes("\ufffdevil"));
	assert.equal(await content(page, "title"), "<&>]]>");
	await click(page, "]]>");
	await page.fill("#search", "alert\\(1\\)");
	assert.match(await content(page, "matched"), /^matched 14\.29 % of all, 0\.00 % of this frame$/);
});

const holes = (page) => page.evaluate(() => [...document.querySelectorAll("#holes > g")].map((g) => ({
	title: g.querySelector("title").textContent, label: (g.querySelector("text") || { textContent: "" }).textContent,
	x: +g.querySelector("rect").getAttribute("x"), w: +g.querySelector("rect").getAttribute("width"),
})));

test("a search counts what is too narrow to draw", thin, {}, async (page) => {
	assert.equal((await state(page)).filter((f) => /^FFMA/.test(f.name)).length, 0);
	await page.fill("#search", "^FFMA_");
	assert.match(await content(page, "matched"), /^matched 11\.25 % of all$/);
	assert.equal(await page.locator("#holes > .hit").count(), 30);
	await page.fill("#search", "^FFMA_(7|8)$");
	assert.equal(await page.locator("#holes > .hit").count(), 2);
	await page.fill("#search", "deep|^<&>$"); // one half; frames inside frames count once
	assert.match(await content(page, "matched"), /^matched 5\.60 % of all$/);
	await page.fill("#search", "^FFMA_7$");
	await click(page, "m7"); // 100 frames, of 30 and 40: each 7, 37, 67...
	assert.match(await content(page, "matched"), /^matched 0\.00 % of all, 1\.14 % of this frame$/);
});

test("what is too narrow to draw is drawn where one zooms in", thin, {}, async (page) => {
	const before = await state(page), there = await holes(page);
	assert.equal(there.length, 30); // in place of the callees of each
	assert.match(there[7].title, /^250 frames too narrow to draw\n/);
	await click(page, "m7");
	let s = await state(page), inside = s.filter((f) => /^FFMA/.test(f.name));
	assert.equal(inside.length, 100);
	assert.equal(named(s, "<&>").length, 50);
	assert.ok(inside.every((f, i) => i === 0 || f.x > inside[i - 1].x));
	assert.ok(Math.abs(inside.reduce((w, f) => w + f.w + 0.5, 0) - 1176) < 1);
	assert.deepEqual(await holes(page), []);
	await click(page, "FFMA_37");
	s = await state(page);
	assert.equal(named(s, "FFMA_37")[0].w, 1175.5);
	assert.equal(named(s, "FFMA_37")[0].label, "FFMA_37");
	assert.ok(named(s, "m7")[0].up);
	await frame(page, "FFMA_37").hover();
	assert.match(await content(page, "details"), /^FFMA_37 · 30 samples · < 0\.01 % of all · 0\.\d\d % of its caller · C$/);
	await page.keyboard.press("ArrowUp");
	assert.equal((await state(page)).find((f) => f.here).name, "FFMA_37");
	const address = page.url();
	await page.keyboard.press("Escape");
	assert.deepEqual(await state(page), before);
	assert.deepEqual(await holes(page), there);
	await page.goto("about:blank");
	await page.goto(address);
	assert.equal(named(await state(page), "FFMA_37")[0].w, 1175.5);
});

test("what has no room even then is said to be there", crowd, {}, async (page) => {
	await click(page, "main");
	const there = await holes(page);
	assert.equal(there.length, 50);
	assert.equal(await page.locator("#frames > g").count(), 52);
	assert.match(there[3].title, /^5,000 frames (too narrow to draw|that this file does not have)\n50,000 samples · 2\.00 % of all$/);
	await page.fill("#search", "^leaf_"); // 200,000 of 250,000 have names
	assert.match(await content(page, "matched"), /^matched 80\.00 to 100\.00 % of all/);
	await page.fill("#search", "main"); // nothing is open there
	assert.match(await content(page, "matched"), /^matched 100\.00 % of all/);
	assert.match(await content(page, "note"), /250,000 frames too narrow to draw, of which this file has 200,000$/);
});

test("holes are there without scripts", thin, { javaScriptEnabled: false }, async (page) => {
	assert.equal(await page.locator("#holes > g > rect").count(), 30);
	assert.match(await page.locator("#holes > g > title").nth(7).textContent(), /^250 frames too narrow to draw\n3,500 samples · 0\.35 % of all$/);
});

test("a picture that is taller than the window opens at its root", tall, { viewport: { width: 1000, height: 600 } }, async (page) => {
	const box = (css) => page.evaluate((c) => document.querySelector(c).getBoundingClientRect().toJSON(), css);
	let root = await box("#frames > g > rect"), search = await box("#search");
	assert.ok(root.top > 0 && root.bottom < 600, `the root is seen: ${root.top}`);
	assert.ok(search.top >= 0 && search.bottom < 100, `and the search box: ${search.top}`);
	await page.evaluate(() => window.scrollTo(0, 0));
	await page.waitForFunction(() => document.getElementById("search").getBoundingClientRect().top >= 0 &&
		document.querySelector("#frames > g > rect").getBoundingClientRect().top > 1000);
	search = await box("#search");
	assert.ok(search.top >= 0 && search.bottom < 100);
	await page.goto(tall_inverted);
	root = await box("#frames > g > rect");
	assert.ok(root.top > 0 && root.bottom < 600 && await page.evaluate(() => window.scrollY) === 0);
});

test("a narrow tower has its rows where one zooms in", sprout, { viewport: { width: 1000, height: 600 } }, async (page) => {
	const height = () => page.evaluate(() => +document.documentElement.getAttribute("height"));
	const before = await state(page), low = await height();
	assert.equal(named(before, "f0").length, 0);
	await page.fill("#search", "narrow");
	await page.waitForFunction(() => location.hash === "#s=narrow"); // a search that is behind would take the next address back
	await page.goto(page.url().replace(/#.*/, "") + "#z=2"); // main's first callee
	await page.reload();
	const s = await state(page);
	assert.equal(named(s, "narrow")[0].w, named(s, "all")[0].w);
	assert.equal(named(s, "f99").length, 1);
	assert.ok(await height() > low + 99 * 18);
	const [top, root] = await page.evaluate(() => [[...document.querySelectorAll("#frames > g")].find((g) =>
		g.textContent.startsWith("f99\n")), document.querySelector("#frames > g")].map((g) => g.getBoundingClientRect().top + window.scrollY));
	assert.ok(top > 60 && root > top && root < await height());
	await page.click("#reset");
	assert.equal(await height(), low);
	assert.deepEqual(await state(page), before);
});

test("ten thousand frames, without measuring text", many, {}, async (page) => {
	const before = await state(page);
	assert.equal(before.length, 10000);
	await page.evaluate(() => {
		for (const [type, names] of [[SVGTextContentElement, ["getComputedTextLength", "getSubStringLength", "getExtentOfChar"]], [SVGGraphicsElement, ["getBBox"]], [Element, ["getBoundingClientRect"]]])
			for (const name of names)
				type.prototype[name] = () => { throw new Error(name + " was called"); };
	});
	const ms = await page.evaluate(() => {
		const g = [...document.querySelectorAll("#frames > g")].find((e) => e.textContent.startsWith("m7\n"));
		const t = performance.now();
		g.dispatchEvent(new MouseEvent("click", { bubbles: true }));
		const zoom = performance.now() - t;
		document.getElementById("reset").click();
		return [zoom, performance.now() - t - zoom];
	});
	console.log(`# zoom ${ms[0].toFixed(0)} ms, reset ${ms[1].toFixed(0)} ms`);
	assert.deepEqual(await state(page), before);
});

// ---- run --------------------------------------------------------------------------------------------
let failed = 0, count = 0, browser;
function report(name, e) {
	if (!e)
		return console.log(`ok ${count} - ${name}`);
	failed++;
	console.log(`not ok ${count} - ${name}`);
	console.log(String(e.stack || e).replace(/^/gm, "#   "));
}
function end() {
	console.log(`1..${cases.length}`);
	process.exit(failed ? 1 : 0);
}
try {
	// Playwright says --no-sandbox, which root needs, and does without a large /dev/shm.
	browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--disable-gpu"],
		env: { ...process.env, HOME: work, XDG_CONFIG_HOME: work, XDG_CACHE_HOME: work },
		timeout: 60000,
		handleSIGHUP: false, handleSIGINT: false, handleSIGTERM: false,
	});
} catch (e) {
	count++;
	report("Chromium starts", e);
	end();
}
console.log(`# Chromium ${browser.version()}`);
async function run({ url, options, body }) {
	const context = await browser.newContext({ viewport: { width: 1200, height: 700 }, ...options });
	const page = await context.newPage(), trouble = [];
	page.setDefaultTimeout(20000);
	page.on("pageerror", (e) => trouble.push("error: " + e.message));
	page.on("dialog", (d) => {
		trouble.push("dialog: " + d.message());
		d.dismiss();
	});
	page.on("request", (r) => {
		if (!r.url().startsWith("file:") && r.url() !== "about:blank")
			trouble.push("request: " + r.url());
	});
	try {
		await page.goto(url);
		await body(page);
		assert.deepEqual(trouble, []);
	} finally {
		if (process.env.SHOTS)
			await page.screenshot({ path: join(process.env.SHOTS, count + ".png") });
		await context.close();
	}
}
for (const c of cases) {
	count++;
	try {
		await within(60, c.name, run(c));
		report(c.name);
	} catch (e) {
		report(c.name, e);
		if (/: no end after|browser has been closed|Target crashed/.test(e.message))
			break;
	}
}
await within(10, "closing", browser.close()).catch((e) => console.log("# " + e.message));
end();
