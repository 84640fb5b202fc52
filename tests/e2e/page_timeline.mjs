// SPDX-License-Identifier: Apache-2.0
// Cases of page_browser.mjs: the time line.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";

const query = (name, sql) => JSON.parse(execFileSync(process.env.AIFLAME, ["query", "-i", join(process.env.WORK, name + ".data"), "--format", "json", sql], { encoding: "utf8" }));
const ready = (page) => page.waitForFunction(() => window.aiflame.more.lanes && window.aiflame.T.lanes > 0);
const view_of = (page) => page.evaluate(() => [...window.aiflame.more.L.view]);
// The bars of a kind of lane: names and places in the window.
const bars = (page, kind) => page.evaluate((k) => {
	const { L, lanes } = window.aiflame.more, r = document.getElementById("lanes-canvas").getBoundingClientRect(), top = document.getElementById("lanes").scrollTop;
	const x = (t) => r.x + L.gutter + (t - L.view[0]) / (L.view[1] - L.view[0]) * (L.width - L.gutter);
	return L.rows.filter((row) => row.kind === k).flatMap((row) => Array.from({ length: row.hi - row.lo }, (_, n) => row.lo + n).map((i) => ({
		name: row.bars.what ? lanes.names[lanes.what.name[row.bars.what[i]]] : "", start: row.bars.start[i], end: row.bars.end[i], x0: x(row.bars.start[i]), x1: x(row.bars.end[i]), y: r.y + row.y - top + row.height / 2,
	})));
}, kind);
const middle = (b) => [(b.x0 + b.x1) / 2, b.y];
const widest = async (page, kind) => (await bars(page, kind)).sort((a, b) => b.x1 - b.x0 - a.x1 + a.x0)[0];

export function timeline_cases({ test, state, text, pixel, settled }) {
	const at = "#v1&view=timeline";
	for (const name of ["full", "sampled", "trace", "ranks", "phases"])
		test(`the time line of ${name} has each execution, as long as it took`, name, at, async (page) => {
			await ready(page);
			const drawn = await page.evaluate(() => {
				const { x } = window.aiflame.more.lanes;
				return [x.n, x.sum[x.n], window.aiflame.more.lanes.joins.x.events];
			});
			const [{ n, longest }] = query(name, "SELECT count(*) n, max(dur_ns) longest FROM (SELECT dur_ns FROM executions UNION ALL SELECT dur_ns FROM copies) WHERE dur_ns IS NOT NULL"), found = await bars(page, "work");
			assert.equal(drawn[2], n);
			if (drawn[0] === n) // none was joined
				assert.deepEqual(found.map((b) => b.end - b.start).sort((a, b) => a - b), query(name, "SELECT dur_ns d FROM (SELECT dur_ns FROM executions UNION ALL SELECT dur_ns FROM copies) WHERE dur_ns IS NOT NULL ORDER BY d").map((r) => r.d));
			else
				assert.ok(Math.max(...found.map((b) => b.end - b.start)) >= longest);
		});
	test("time line: a lane has the colours of its bars, and of nothing where there is none", "phases", at + "&time=0-0.2", async (page) => {
		await ready(page);
		const box = await page.locator("#lanes-canvas").boundingBox(), found = (await bars(page, "work")).filter((b) => b.x0 > box.x + 200 && b.x1 < box.x + box.width - 20 && b.x1 - b.x0 > 4);
		assert.ok(found.length > 3, "bars are in sight");
		const b = found[1], next = found[2], colour = async (x) => (await pixel(page, "lanes-canvas", x - box.x, b.y - box.y + 7)).slice(0, 3);
		const inside = await colour(b.x0 + 2), beside = await colour((b.x1 + next.x0) / 2);
		assert.ok(inside[2] > inside[0] + 20, inside.join()); // computing: blue or green
		assert.notDeepEqual(inside, beside);
	});
	test("time line: a click on a kernel says its shape, its queue time, its stack and why the device was idle before", "full", at + "&time=0.4-0.75", async (page) => {
		await ready(page);
		const [x, y] = middle((await bars(page, "work")).find((b) => /shared_sum/.test(b.name) && b.start > 4e8));
		await page.mouse.click(x, y);
		const said = await text(page, "lanes-panel");
		assert.match(said, /^shared_sum/);
		assert.match(said, /for32\.0 ms/);
		assert.match(said, /queued for60\.0 us/);
		assert.match(said, /launched bythread 4711 python3/);
		assert.match(said, /grid65536block128/);
		assert.match(said, /idle before1\.1 ms, most of it on CPU: cudaLaunchKernel/);
		assert.match(said, /Stackshared_sumcudaLaunchKernel.*aten::addmm.*train_step \(train\.py\)/i);
		// From there to the flame graph, at the same frame and time.
		await page.locator("#lanes-panel button", { hasText: "Flame graph" }).click();
		const now = await state(page);
		assert.equal(now.view, "flame");
		assert.equal(now.time, "0.4-0.75");
		assert.match(now.zoom, /train_step.*shared_sum/);
		await page.goBack();
		assert.equal((await state(page)).view, "timeline");
	});
	test("time line: a gap says its owner, and leads to what ended it", "full", at, async (page) => {
		await ready(page);
		const b = await widest(page, "idle");
		await page.mouse.click(...middle(b));
		assert.match(await text(page, "lanes-panel"), /^off CPU: clEnqueueNDRangeKernel.*causeA launching thread that does not runownerclEnqueueNDRangeKernel/);
		await page.locator("#lanes-panel button", { hasText: "What ended it" }).click();
		const here = await page.evaluate(() => { const { row, i } = window.aiflame.more.L.here; return [row.kind, row.bars.start[i]]; });
		assert.equal(here[0], "work");
		// A launch that took a while is a gap of its own.
		assert.ok(here[1] >= b.end && here[1] < b.end + 1e6, JSON.stringify([here, b]));
	});
	test("time line: the wheel zooms at the pointer, dragging moves, and all views follow", "phases", at, async (page) => {
		await ready(page);
		const box = await page.locator("#lanes-canvas").boundingBox(), x = box.x + 500, t_at = (px) => page.evaluate((p) => { const { L } = window.aiflame.more; return L.view[0] + (p - L.gutter) / (L.width - L.gutter) * (L.view[1] - L.view[0]); }, px - box.x);
		const before = await t_at(x), whole = await view_of(page);
		await page.mouse.move(x, box.y + 200);
		for (let k = 0; k < 4; k++)
			await page.mouse.wheel(0, -300);
		await settled(page, "it is zoomed", async () => { const v = await view_of(page); return v[1] - v[0] < (whole[1] - whole[0]) / 3; });
		assert.ok(Math.abs(await t_at(x) - before) < 1e6, "the time below the pointer stays");
		await settled(page, "the time is that of all views", async () => (await state(page)).time !== "");
		const zoomed = await view_of(page), length = zoomed[1] - zoomed[0], sum = (await page.evaluate(() => document.getElementById("range").textContent));
		assert.doesNotMatch(sum, /^All/);
		await page.mouse.down();
		await page.mouse.move(x - 100, box.y + 200, { steps: 4 });
		await page.mouse.up();
		const moved = await view_of(page);
		assert.ok(moved[0] > zoomed[0] && Math.abs(moved[1] - moved[0] - length) < 10, JSON.stringify([zoomed, moved]));
		await settled(page, "the time follows", async () => Math.abs(parseFloat((await state(page)).time) * 1e9 - moved[0]) < 10);
		await page.click("#view-flame");
		const drawn = await page.evaluate(() => window.aiflame.F.g.sum);
		assert.ok(drawn > 0 && drawn < length, "the flame graph has that time alone");
		// And the other way.
		await page.evaluate(() => window.aiflame.go({ view: "timeline", time: "1-2" }));
		assert.deepEqual(await view_of(page), [1e9, 2e9]);
	});
	test("time line: two fingers zoom between them, one moves", "phases", at, async (page) => {
		await ready(page);
		const box = await page.locator("#lanes-canvas").boundingBox(), cdp = await page.context().newCDPSession(page), whole = await view_of(page);
		const touch = (type, ...xs) => cdp.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x: box.x + x, y: box.y + 150, id })) });
		await touch("touchStart", 400, 500);
		await touch("touchMove", 380, 520);
		await touch("touchMove", 300, 600);
		await touch("touchEnd");
		await settled(page, "it is zoomed", async () => { const v = await view_of(page); return v[1] - v[0] < (whole[1] - whole[0]) / 2.5; });
		const before = await view_of(page);
		await touch("touchStart", 400);
		await touch("touchMove", 380);
		await touch("touchMove", 340);
		await touch("touchEnd");
		await settled(page, "it is moved", async () => (await view_of(page))[0] > before[0]);
	}, { hasTouch: true });
	test("time line: a double click goes to a step, a gap or a bar; F fits", "full", at, async (page) => {
		await ready(page);
		const step = (await bars(page, "steps"))[2];
		await page.mouse.dblclick(...middle(step));
		const near = async (b) => { const [from, to] = await view_of(page); return from <= b.start && to >= b.end && to - from < 1.3 * (b.end - b.start); };
		assert.ok(await near(step));
		await page.keyboard.press("Escape");
		await page.keyboard.press("f");
		assert.equal((await state(page)).time, "");
		const gap = await widest(page, "idle");
		await page.mouse.dblclick(...middle(gap));
		assert.ok(await near(gap));
		await page.goBack(); // it was a step for the back button
		assert.equal((await state(page)).time, "");
	});
	test("time line: keys: lanes, bars, zoom, and what is said of them", "full", at, async (page) => {
		await ready(page);
		await page.locator("#lanes").focus();
		await page.keyboard.press("ArrowDown");
		assert.match(await text(page, "live"), /step 0/);
		await page.keyboard.press("ArrowDown");
		assert.match(await text(page, "live"), /cause .*, owner /);
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("ArrowRight");
		assert.match(await text(page, "live"), /queued for/);
		const [from, to] = await view_of(page);
		await page.keyboard.press("w");
		await page.keyboard.press("w");
		const near = await view_of(page);
		assert.ok(near[1] - near[0] < 0.6 * (to - from));
		await page.keyboard.press("d");
		assert.ok((await view_of(page))[0] > near[0]);
		await page.keyboard.press("a");
		await page.keyboard.press("s");
		await page.keyboard.press("Enter");
		const exact = await view_of(page), here = await page.evaluate(() => { const { row, i } = window.aiflame.more.L.here; return [row.bars.start[i], row.bars.end[i]]; });
		assert.ok(exact[0] <= here[0] && exact[1] >= here[1] && exact[1] - exact[0] < 1.3 * (here[1] - here[0]) + 100);
		assert.equal(await page.evaluate(() => document.activeElement.id), "lanes");
	});
	test("time line: the accessibility tree has lanes, and idle time with causes and owners", "full", at, async (page) => {
		await ready(page);
		await page.locator("#lanes-panel [role=treeitem]", { hasText: /^idle$/ }).first().click();
		const said = await page.locator("#lanes-panel [role=tree]").ariaSnapshot();
		assert.match(said, /treeitem "idle" \[expanded\].*/);
		assert.match(said, /treeitem "1\d\d ms on CPU: cudaMemcpyAsync/);
		assert.match(said, /treeitem "stream 7"/);
	});
	test("time line: a search marks bars, counts them in this time and goes from one to the next", "full", at, async (page) => {
		await ready(page);
		await page.keyboard.press("/");
		await page.keyboard.type("nccl");
		await settled(page, "they are counted", async () => /^4 executions, \d+ ms, in this time$/.test(await text(page, "lanes-found")));
		await page.keyboard.press("Enter");
		assert.match(await text(page, "lanes-panel"), /^nccl/);
		await page.locator("#lanes-find").fill("no such thing");
		await settled(page, "it says that there is none", async () => await text(page, "lanes-found") === "nothing matches");
	});
	for (const name of ["hostile", "hostile_ranks", "damaged", "empty", "stacks", "cpu", "host", "energy"])
		test(`the time line of ${name} shows what there is, or says that there is nothing`, name, at, async (page) => {
			await page.waitForFunction(() => window.aiflame.more.lanes);
			const has = await page.evaluate(() => window.aiflame.more.L.rows.length > 0 && !document.getElementById("lanes-columns").hidden);
			assert.equal(await page.locator("#lanes-none").isVisible(), !has);
			assert.equal(await page.evaluate(() => window.owned), undefined);
			if (has)
				for (const b of [...await bars(page, "work"), ...await bars(page, "idle")].slice(0, 20)) {
					await page.mouse.move(...middle(b));
					await page.mouse.click(...middle(b));
				}
		});
	for (const [width, height, scheme] of [[420, 800, "light"], [1000, 600, "light"], [1366, 768, "dark"], [1920, 1080, "light"]])
		test(`the time line at ${width} x ${height}, ${scheme}: nothing is out of reach`, "full", at, async (page) => {
			await ready(page);
			assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1));
			const box = await page.locator("#lanes-canvas").boundingBox();
			assert.ok(box.width > 0.6 * Math.min(width, 1000) && box.height > 200, JSON.stringify(box));
			const b = await widest(page, "steps");
			await page.mouse.click(...middle(b));
			assert.match(await text(page, "lanes-panel"), /^step \d/);
		}, { viewport: { width, height }, colorScheme: scheme });
}
