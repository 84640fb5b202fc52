// SPDX-License-Identifier: Apache-2.0
//
// The page of `aiflame view`. The modules of this folder are one script at build time (src/meson.build has their order),
// which is in the page itself: it asks for nothing outside it. All texts of a profile are untrusted: they go into
// textContent and fillText, never into markup.
"use strict";
(() => {
	const $ = (id) => document.getElementById(id);
	const { abs, floor, max, min, round } = Math;

	// An element: attributes, properties that are functions or booleans, children or texts.
	function el(tag, attributes, ...children) {
		const e = document.createElement(tag);
		for (const [key, value] of Object.entries(attributes || {}))
			if (typeof value === "function" || typeof value === "boolean")
				e[key] = value;
			else if (value !== null && value !== undefined)
				e.setAttribute(key, value);
		e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
		return e;
	}
	const button = (text, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, text);

	// ---- numbers for people, as src/base/human.c has them ------------------------------------------
	function ns(v) {
		for (const [below, by, digits, word] of [[1e3, 1, 0, "ns"], [1e5, 1e3, 1, "us"], [1e6, 1e3, 0, "us"],
			[1e8, 1e6, 1, "ms"], [1e9, 1e6, 0, "ms"], [172800e9, 1e9, 2, "s"]])
			if (v < below)
				return (v / by).toFixed(digits) + " " + word;
		return (v / 86400e9).toFixed(1) + " days";
	}
	const count = (v) => v.toLocaleString("en-US", { maximumFractionDigits: 0 });
	const amount = (v, unit) => unit === "ns" ? ns(v) : unit === "bytes" ? bytes(v) : unit === "energy" ? +(v / 1e9).toPrecision(3) + " J" : (v < 100 ? +v.toFixed(2) : count(v)) + " " + unit;
	function share(part, all) {
		const p = all ? 100 * part / all : 0;
		return (p > 0 && p < 0.01 ? "< 0.01" : p.toFixed(p < 10 ? 2 : 1)) + " %";
	}
	function bytes(v) {
		if (v < 0)
			return "\u2212" + bytes(-v);
		for (const unit of ["B", "KiB", "MiB", "GiB"]) {
			if (v < 1024)
				return v.toFixed(unit === "B" ? 0 : 1) + " " + unit;
			v /= 1024;
		}
		return v.toFixed(1) + " TiB";
	}

	function save(name, type, content) {
		const a = el("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
		document.body.append(a);
		a.click();
		a.remove();
		setTimeout(() => URL.revokeObjectURL(a.href), 10000);
	}
	// A spot of a colour, of a legend.
	function dot(colour) {
		const e = el("i", { class: "dot" });
		e.style.background = colour;
		return e;
	}
	// A text that loses its middle where room is short: names that begin alike are told apart by their ends, a number or a value.
	function cut(text) {
		const at = text.search(/(,? to .{1,14}| \([^(]{1,14}\)|.{0,10})$/su);
		return el("span", { class: "cut" }, [text.slice(0, at), text.slice(at)].map((t) => el("span", {}, t)));
	}
	const middle_cut = (text, room) => text.length > room ? text.slice(0, room * 0.6) + "\u2026" + text.slice(1 - room * 0.4) : text;
	// A bar of parts: [words, share, colour].
	function stack_bar(list) {
		const said = list.map(([words, v]) => `${words} ${share(v, 1)}`);
		return el("div", { class: "stack", role: "img", "aria-label": said.join(", ") }, list.map(([, v, colour], k) => {
			const part = el("i", { class: "part", title: said[k] });
			part.style.flexGrow = v;
			part.style.background = colour;
			return part;
		}));
	}
	const card = (title, ...rest) => el("section", { class: "card" }, el("h2", {}, title), ...rest);
	// What makes an element a place to click on, with the mouse or Enter.
	const opens = (open) => ({ tabindex: "0", onclick: open, onkeydown: (e) => { if (e.key === "Enter") open(); } });
	const say = (text) => { $("live").textContent = text; };
