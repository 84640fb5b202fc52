// SPDX-License-Identifier: Apache-2.0
//
// What makes an SVG flame graph interactive: zoom, search, keyboard, details. The picture is complete
// without it; it is part of the file, asks for nothing outside it, and never measures text: the font
// is monospaced, so that a new view is one pass that only sets attributes.
//
// Each frame is <g data-v="DEPTH START WIDTH NAMES"><title/><rect/>[<text/>]</g>, callers first, left to
// right; START and WIDTH are billionths of the whole, NAMES is how many lines of the title name it.
"use strict";
(() => {
	const NS = "http://www.w3.org/2000/svg";
	const HTML = "http://www.w3.org/1999/xhtml";
	const script = document.currentScript;
	const svg = (script && script.closest("svg")) || document.documentElement;
	const $ = (id) => svg.querySelector("#" + id);
	const layer = $("frames"), details = $("details"), matched = $("matched"), note = $("note");
	const subtitle = $("subtitle"), lines = [subtitle, $("quality")], told = $("told").textContent.split("\n");
	const PAD = +layer.dataset.pad, CHAR = +layer.dataset.char, ALL = 1e9;
	const fluid = layer.dataset.fluid === "1" && svg === document.documentElement;
	const inverted = layer.dataset.inverted === "1";
	let width = +svg.getAttribute("width");

	// ---- the frames, read once; index 0 is the root ------------------------------------------
	const groups = [...layer.children], n = groups.length;
	const rects = groups.map((g) => g.querySelector("rect"));
	const texts = groups.map((g) => g.querySelector("text"));
	const titles = groups.map((g) => g.firstElementChild.textContent.split("\n"));
	const depth = new Uint32Array(n), start = new Float64Array(n), size = new Float64Array(n);
	const parent = new Int32Array(n), end = new Uint32Array(n); // end: first index behind the subtree
	const names = new Uint8Array(n);
	const index = new Map();
	const shown = new Uint8Array(n).fill(1), labels = new Array(n).fill(null);

	function read() {
		const open = [];
		for (let i = 0; i < n; i++) {
			const v = groups[i].dataset.v.split(" ");
			depth[i] = v[0];
			start[i] = v[1];
			size[i] = v[2];
			names[i] = v[3];
			while (open.length > depth[i])
				end[open.pop()] = i;
			parent[i] = open.length ? open[open.length - 1] : -1;
			open.push(i);
			index.set(groups[i], i);
		}
		for (const i of open)
			end[i] = n;
	}

	// ---- one view: a frame as wide as the picture, what it calls above it, its callers faded ---
	let zoomed = 0;

	function columns(c) { // as in export/svg_text.c
		if (c >= 0x300 && c <= 0x36f)
			return 0;
		return c >= 0x1100 && (c <= 0x115f || (c >= 0x2e80 && c <= 0xa4cf) ||
			(c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
			(c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
			(c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
			(c >= 0x20000 && c <= 0x3fffd)) ? 2 : 1;
	}

	function fit(text, max) {
		if (max < 3)
			return "";
		if (text.length <= max && !/[^\x00-\x7f]/.test(text))
			return text;
		let used = 0, at = 0, cut = 0;
		for (const c of text) {
			used += columns(c.codePointAt(0));
			at += c.length;
			if (used <= max - 1)
				cut = at;
			if (used > max)
				return text.slice(0, cut) + "\u2026";
		}
		return text;
	}

	function label(i, x, w) {
		const s = fit(titles[i][0], Math.floor((w - 6) / CHAR));
		if (!s && !texts[i])
			return;
		if (!texts[i]) {
			texts[i] = document.createElementNS(NS, "text");
			texts[i].setAttribute("y", +rects[i].getAttribute("y") + 13);
			groups[i].append(texts[i]);
		}
		if (labels[i] !== s) {
			labels[i] = s;
			texts[i].textContent = s;
		}
		if (s)
			texts[i].setAttribute("x", (x + 4).toFixed(1));
	}

	function place(i, x, w, up) {
		rects[i].setAttribute("x", x.toFixed(2));
		rects[i].setAttribute("width", Math.max(w < 2 ? w : w - 0.5, 0.1).toFixed(2));
		label(i, x, w);
		if (groups[i].classList.contains("up") !== up)
			groups[i].classList.toggle("up", up);
	}

	function show(i, on) {
		if (shown[i] === +on)
			return;
		shown[i] = +on;
		groups[i].style.display = on ? "" : "none";
	}

	function draw() {
		const room = width - 2 * PAD, k = room / size[zoomed];
		for (let i = 0; i < n; i++) {
			const inside = i >= zoomed && i < end[zoomed];
			const above = i < zoomed && end[i] >= end[zoomed];
			show(i, inside || above);
			if (inside)
				place(i, PAD + (start[i] - start[zoomed]) * k, size[i] * k, false);
			else if (above)
				place(i, PAD, room, true);
		}
		reset.hidden = zoomed === 0;
	}

	function zoom(i) {
		zoomed = i;
		draw();
		tell_matched();
		remember();
	}

	// ---- details of one frame, at the lower edge of the window -----------------------------------
	const bar = $("bar");

	function tell(i) {
		const t = i < 0 ? "" : [titles[i][0], ...titles[i].slice(names[i])].join(" · ");
		details.textContent = fit(t, Math.floor((width - 2 * PAD) / CHAR) - 16);
		note.style.display = t || matched.textContent ? "none" : "";
	}

	function bar_move() {
		const height = +svg.getAttribute("height");
		const up = svg === document.documentElement
			? Math.max(0, height - window.innerHeight - window.scrollY) : 0;
		bar.setAttribute("transform", `translate(0 ${-up})`);
	}

	// ---- search: the share of all time under at least one frame that matches -------------------
	let pattern = "", hits = [];

	function share(from, to) {
		let sum = 0;
		for (let i = from; i < to;) {
			if (hits[i]) {
				sum += size[i];
				i = end[i];
			} else {
				i++;
			}
		}
		return sum;
	}

	function tell_matched() {
		if (!pattern) {
			matched.textContent = "";
		} else {
			const percent = (part, all) => (100 * part / all).toFixed(2) + " %";
			let s = "matched " + percent(share(0, n), ALL) + " of all";
			if (zoomed) {
				let inside = share(zoomed, end[zoomed]);
				for (let i = parent[zoomed]; i >= 0; i = parent[i])
					if (hits[i])
						inside = size[zoomed];
				s += ", " + percent(inside, size[zoomed]) + " of this frame";
			}
			matched.textContent = s;
		}
		note.style.display = details.textContent || matched.textContent ? "none" : "";
	}

	function search(text) {
		let re = null;
		try { // small letters match both cases
			re = text ? new RegExp(text, /[A-Z]/.test(text) ? "" : "i") : null;
		} catch (e) {
			input.classList.add("bad");
			input.setAttribute("aria-invalid", "true");
			input.title = e.message;
			return;
		}
		input.classList.remove("bad");
		input.removeAttribute("aria-invalid");
		input.title = "";
		pattern = re ? text : "";
		hits = new Uint8Array(n);
		for (let i = 0; i < n; i++) {
			for (let k = 0; re && k < names[i] && !hits[i]; k++)
				hits[i] = re.test(titles[i][k]);
			if (groups[i].classList.contains("hit") !== !!hits[i])
				groups[i].classList.toggle("hit", !!hits[i]);
		}
		layer.classList.toggle("searching", !!re);
		tell_matched();
		remember();
	}

	// ---- the view as part of the address ---------------------------------------------------------
	function remember() {
		const parts = [];
		if (zoomed)
			parts.push("z=" + zoomed);
		if (pattern)
			parts.push("s=" + encodeURIComponent(pattern));
		try {
			history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname + location.search);
		} catch (e) { /* where addresses cannot be changed, the view is not kept */ }
	}

	function recall() {
		for (const part of location.hash.slice(1).split("&")) {
			const value = part.slice(2);
			if (part.startsWith("z=") && +value > 0 && +value < n)
				zoomed = Math.floor(+value);
			if (part.startsWith("s=")) {
				try {
					input.value = decodeURIComponent(value);
				} catch (e) {
					input.value = "";
				}
			}
		}
		const z = zoomed;
		if (input.value)
			search(input.value);
		if (z || fluid)
			zoom(z);
	}

	// ---- tools -----------------------------------------------------------------------------------
	const tools = document.createElementNS(NS, "foreignObject");
	const box = document.createElementNS(HTML, "div");
	const input = document.createElementNS(HTML, "input");
	const reset = document.createElementNS(HTML, "button");

	function tools_make() {
		box.className = "tools";
		reset.textContent = "Reset zoom";
		reset.type = "button";
		reset.hidden = true;
		reset.id = "reset";
		input.id = "search";
		input.type = "search";
		input.placeholder = "Search: regular expression  /";
		input.setAttribute("aria-label", "Search frames by regular expression");
		input.spellcheck = false;
		box.append(reset, input);
		tools.append(box);
		tools.setAttribute("y", 4);
		tools.setAttribute("width", 360);
		tools.setAttribute("height", 40);
		svg.append(tools);
		input.addEventListener("input", () => search(input.value));
		reset.addEventListener("click", () => zoom(0));
	}

	function resize() {
		if (fluid)
			width = Math.max(640, document.documentElement.clientWidth || window.innerWidth);
		svg.setAttribute("width", width);
		svg.setAttribute("viewBox", `0 0 ${width} ${svg.getAttribute("height")}`);
		for (const r of svg.querySelectorAll(".paper, .bar rect"))
			r.setAttribute("width", width);
		for (const t of [matched, note])
			t.setAttribute("x", width - PAD);
		told.forEach((t, i) => {
			lines[i].textContent = fit(t, Math.floor((width - 2 * PAD) / +subtitle.dataset.char));
		});
		tools.setAttribute("x", width - 360 - PAD + 2);
		bar_move();
	}

	// ---- keyboard: a frame that is "here" moves through the tree -----------------------------------
	let here = -1;

	function go(i) {
		if (i < 0 || i >= n)
			return;
		if (here >= 0) {
			groups[here].classList.remove("here");
			groups[here].removeAttribute("id");
		}
		here = i;
		const g = groups[i];
		g.classList.add("here");
		g.id = "here";
		g.setAttribute("role", "treeitem");
		g.setAttribute("aria-level", depth[i] + 1);
		layer.setAttribute("aria-activedescendant", "here");
		if (svg === document.documentElement && g.scrollIntoView)
			g.scrollIntoView({ block: "nearest" });
		tell(i);
	}

	function widest_child(i) {
		let best = -1;
		for (let c = i + 1; c < end[i]; c = end[c])
			if (best < 0 || size[c] > size[best])
				best = c;
		return best;
	}

	function beside(i, step) {
		for (let k = i + step; k > 0 && k < n; k += step)
			if (depth[k] === depth[i] && shown[k])
				return k;
		return -1;
	}

	function next_hit(step) {
		for (let k = 1; k <= n; k++) {
			const i = (((here < 0 ? 0 : here) + step * k) % n + n) % n;
			if (hits[i] && shown[i])
				return i;
		}
		return -1;
	}

	function key(e) {
		if ((e.ctrlKey || e.metaKey) && e.key === "f") {
			e.preventDefault();
			input.focus();
			input.select();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.target === input) {
			if (e.key === "Escape") {
				input.value = "";
				search("");
			}
			if (e.key === "Escape" || e.key === "Enter") {
				layer.focus();
				e.preventDefault();
			}
			return;
		}
		if (e.target === reset && (e.key === "Enter" || e.key === " "))
			return;
		const toward = inverted ? { ArrowUp: -1, ArrowDown: 1 } : { ArrowUp: 1, ArrowDown: -1 };
		switch (e.key) {
		case "/":
			input.focus();
			input.select();
			break;
		case "ArrowUp":
		case "ArrowDown":
			if (here < 0 || !shown[here])
				go(zoomed);
			else
				go(toward[e.key] > 0 ? widest_child(here) : parent[here]);
			break;
		case "ArrowLeft":
			go(here < 0 ? zoomed : beside(here, -1));
			break;
		case "ArrowRight":
			go(here < 0 ? zoomed : beside(here, 1));
			break;
		case "Enter":
		case " ":
			if (here >= 0)
				zoom(here);
			break;
		case "n":
			go(next_hit(1));
			break;
		case "N":
			go(next_hit(-1));
			break;
		case "Escape":
			if (zoomed) {
				zoom(0);
			} else {
				input.value = "";
				search("");
			}
			break;
		case "Home":
		case "0":
			zoom(0);
			break;
		default:
			return;
		}
		e.preventDefault();
	}

	function frame_of(e) {
		const g = e.target.closest ? e.target.closest("#frames > g") : null;
		return g && index.has(g) ? index.get(g) : -1;
	}

	read();
	tools_make();
	resize();
	layer.setAttribute("role", "tree");
	layer.setAttribute("aria-label", "call tree");
	layer.setAttribute("tabindex", "0");
	layer.addEventListener("click", (e) => {
		const i = frame_of(e);
		if (i >= 0)
			zoom(i);
	});
	layer.addEventListener("mouseover", (e) => tell(frame_of(e)));
	layer.addEventListener("mouseleave", () => tell(here));
	window.addEventListener("keydown", key);
	window.addEventListener("scroll", bar_move, { passive: true });
	let later = 0;
	window.addEventListener("resize", () => {
		clearTimeout(later);
		later = setTimeout(() => {
			resize();
			draw();
		}, 60);
	});
	recall();
})();
