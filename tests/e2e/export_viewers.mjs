// SPDX-License-Identifier: Apache-2.0
// What `aiflame export` wrote, opened by programs that own or read the formats: speedscope in a browser, a parser of pprof's
// format. Prints TAP. CHROMIUM names the browser, or is empty:  export_viewers.mjs DEVICE_NS FOLDER
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { Profile } from "pprof-format";

const deviceNs = process.argv[2], folder = resolve(process.argv[3]);
let n = 0, failed = 0;
async function check(what, run) {
	try {
		await run();
		console.log(`ok ${++n} - ${what}`);
	} catch (e) {
		failed++;
		console.log(`not ok ${++n} - ${what}\n# ${String(e && e.stack).split("\n").slice(0, 12).join("\n# ")}`);
	}
}

await check("pprof-format's parser has the same device time", () => {
	const p = Profile.decode(gunzipSync(readFileSync(join(folder, "x.pb.gz"))));
	const type = p.sampleType.map((t) => p.stringTable.strings[Number(t.type)]).indexOf("device_time");
	assert.equal(p.sample.reduce((sum, s) => sum + BigInt(s.value[type]), 0n), BigInt(deviceNs));
	assert.ok(p.location.every((l) => Number(l.mappingId) || l.line.length));
});

// speedscope as its own command line opens a file: a script that hands it over.
const speedscope = join(dirname(createRequire(import.meta.url).resolve("speedscope/package.json")), "dist/release/index.html");
async function opened(browser, file) {
	const path = join(folder, file), script = join(folder, basename(file) + ".js");
	writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(file)}, "${readFileSync(path).toString("base64")}")`);
	const page = await browser.newPage();
	try {
		await page.goto(`file://${speedscope}#localProfilePath=${script}`);
		await page.waitForFunction(() => /Something went wrong|Left Heavy/.test(document.body.innerText), null, { timeout: 20000 });
		// Once a profile is there the page is called after it.
		await page.waitForFunction(() => /Something went wrong/.test(document.body.innerText) ||
			document.title !== "speedscope", null, { timeout: 20000 });
		return await page.evaluate(() => `${document.title}\n${document.body.innerText}`);
	} finally {
		await page.close();
	}
}

if (!existsSync(process.env.CHROMIUM || "")) {
	console.log(`ok ${++n} - speedscope opens them # SKIP no browser`);
} else {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM,
		args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--use-angle=swiftshader",
			"--enable-unsafe-swiftshader", "--disable-background-networking", "--disable-component-update", "--disable-sync",
			"--allow-file-access-from-files"],
	});
	for (const file of ["x.speedscope.json", "x.pb.gz", "x.folded", "x.json", "unsampled.json"])
		await check(`speedscope opens ${file}`, async () => {
			const text = await opened(browser, file);
			if (process.env.SHOTS) console.log("# " + text.replaceAll("\n", " | "));
			assert.doesNotMatch(text, /Something went wrong/);
			assert.match(text, /Left Heavy/);
		});
	await browser.close();
}
console.log(`1..${n}`);
process.exit(failed ? 1 : 0);
