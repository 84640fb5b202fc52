// SPDX-License-Identifier: Apache-2.0
//
// What makes an SVG flame graph interactive: zoom, search, keyboard, details. The picture is complete
// without it; it is part of the file, asks for nothing outside it, and never measures text: the font
// is monospaced, so that a new view is one pass that only sets attributes.
//
// Each frame is <g data-v="DEPTH START WIDTH NAMES"><title/><rect/>[<text/>]</g>, callers first, left to
// right; START and WIDTH are billionths of the whole, NAMES is how many lines of the title name it. What is
// too narrow to draw is in <metadata id="narrow"> (flame/narrow.h says how): a search counts it, and
// where somebody zooms in it is drawn, too. What has no room even then is a hatched hole.
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
	const ROW = +layer.dataset.row, MAX = +layer.dataset.max, MIN = +layer.dataset.min, MIN_HOLE = 3;
	const holes = $("holes");
	const HEIGHT = +svg.getAttribute("height"); // as the file has it
	let width = +svg.getAttribute("width"), height = HEIGHT;

	// ---- the frames, read once; index 0 is the root ------------------------------------------
	const drawn = [...layer.children], narrow = narrow_read();
	const n = drawn.length + narrow.frames.length;
	const groups = new Array(n).fill(null), rects = new Array(n), texts = new Array(n).fill(null);
	const titles = new Array(n).fill(null);
	const name_of = new Int32Array(n).fill(-1); // of narrow ones: in narrow.names; 0: the file has its width alone
	const count = new Map(); // of those without a name: how many frames they are
	const depth = new Uint32Array(n), start = new Float64Array(n), size = new Float64Array(n);
	const parent = new Int32Array(n), end = new Uint32Array(n); // end: first index behind the subtree
	const names = new Uint8Array(n);
	const index = new Map();
	const shown = new Uint8Array(n), labels = new Array(n).fill(null);
	const deepest = +layer.dataset.rows - 1; // of the rows that the file's picture has
	let root_y = 0;

	function narrow_read() {
		const ret = { names: [null], frames: [] };
		const lines = $("narrow") ? $("narrow").textContent.split("\n") : [];
		let i = 1; // the first one is empty
		for (; i < lines.length && lines[i]; i++) {
			const [look, ...said] = lines[i].split("\t"), space = look.indexOf(" ");
			ret.names.push({ look: look.slice(0, space), kind: look.slice(space + 1), said });
		}
		for (i++; i < lines.length; i++)
			if (lines[i])
				ret.frames.push(lines[i].split(" ").map(Number));
		return ret;
	}

	function read_drawn(i, g) {
		const v = g.dataset.v.split(" ");
		groups[i] = g;
		rects[i] = g.querySelector("rect");
		texts[i] = g.querySelector("text");
		titles[i] = g.firstElementChild.textContent.split("\n");
		depth[i] = v[0];
		start[i] = v[1];
		size[i] = v[2];
		names[i] = v[3];
		shown[i] = 1;
		index.set(g, i);
	}

	function read_narrow(i, frame, at) {
		depth[i] = frame[1];
		start[i] = at;
		size[i] = frame[2];
		name_of[i] = frame[3];
		names[i] = frame[3] ? narrow.names[frame[3]].said.length : 0;
		if (!frame[3])
			count.set(i, frame[4]);
	}

	function read() {
		const open = [], next = [0]; // next: by depth, where the next frame begins
		let d = 0, m = 0, since = 0;
		for (let i = 0; i < n; i++) {
			const frame = narrow.frames[m];
			if (frame && since === frame[0]) {
				read_narrow(i, frame, next[frame[1]]);
				m++;
				since = 0;
			} else {
				read_drawn(i, drawn[d++]);
				since++;
			}
			next[depth[i]] = start[i] + size[i];
			next[depth[i] + 1] = start[i];
			while (open.length > depth[i])
				end[open.pop()] = i;
			parent[i] = open.length ? open[open.length - 1] : -1;
			open.push(i);
		}
		for (const i of open)
			end[i] = n;
		root_y = n ? +rects[0].getAttribute("y") : 0;
	}

	const row_y = (d) => root_y + (inverted ? d : -d) * ROW;

	// ---- frames that are drawn where somebody zooms in -------------------------------------------
	function counted(v) { // as base/human.c
		const unit = layer.dataset.unit;
		if (unit === "uJ")
			for (const [below, by, word] of [[1e6, 1e3, "mJ"], [1e9, 1e6, "J"], [1e12, 1e9, "kJ"], [Infinity, 1e12, "MJ"]])
				if (v < below)
					return (v / by).toPrecision(3) + " " + word;
		if (unit === "bytes")
			for (const [i, word] of ["B", "KiB", "MiB", "GiB", "TiB"].entries())
				if (v < 1024 ** (i + 1) || i === 4)
					return (v / 1024 ** i).toFixed(i ? 1 : 0) + " " + word;
		if (unit !== "ns")
			return v.toLocaleString("en-US", { maximumFractionDigits: v < 1000 ? 2 : 0 }) + " " + unit;
		for (const [below, by, digits, word] of [[1e3, 1, 0, "ns"], [1e5, 1e3, 1, "us"], [1e6, 1e3, 0, "us"],
			[1e8, 1e6, 1, "ms"], [1e9, 1e6, 0, "ms"], [172800e9, 1e9, 2, "s"]])
			if (v < below)
				return (v / by).toFixed(digits) + " " + word;
		return (v / 86400e9).toFixed(1) + " days";
	}

	function share_said(part, all, of) {
		const percent = 100 * part / all;
		return (percent < 0.01 ? "< 0.01" : percent.toFixed(2)) + " % of " + of;
	}

	const value_said = (v) => counted(v / ALL * +layer.dataset.total) + " \u00b7 " + share_said(v, ALL, "all");

	function element(name, to, attributes) {
		const e = document.createElementNS(NS, name);
		for (const key in attributes)
			e.setAttribute(key, attributes[key]);
		to.append(e);
		return e;
	}

	function make(i) {
		const name = narrow.names[name_of[i]], g = element("g", layer, { class: name.look });
		titles[i] = [...name.said,
			value_said(size[i]) + " \u00b7 " + share_said(size[i], size[parent[i]], "its caller"), name.kind];
		element("title", g, {}).textContent = titles[i].join("\n");
		rects[i] = element("rect", g, { y: row_y(depth[i]), height: rects[0].getAttribute("height"), rx: 2 });
		g.classList.toggle("hit", !!hits[i]);
		groups[i] = g;
		shown[i] = 1;
		index.set(g, i);
	}

	function unmake(i) {
		if (here === i)
			leave();
		index.delete(groups[i]);
		groups[i].remove();
		groups[i] = texts[i] = labels[i] = titles[i] = null;
		shown[i] = 0;
	}

	// ---- one view: a frame as wide as the picture, what it calls above it, its callers faded ---
	let zoomed = 0;

	function columns(c) { // as in text/svg_text.c
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
			texts[i].setAttribute("y", row_y(depth[i]) + 13);
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

	// The least width of narrow frames at which there are not too many.
	function least_width(k) {
		let room = MAX, least = MIN;
		for (let i = zoomed; i < end[zoomed]; i++)
			room -= name_of[i] < 0;
		for (;; least *= 2) {
			let some = 0;
			for (let i = zoomed; i < end[zoomed]; i++)
				some += name_of[i] > 0 && size[i] * k >= least;
			if (some <= room)
				return least;
		}
	}

	function hole_put(hole, k) {
		const w = hole.size * k, x = PAD + (hole.start - start[zoomed]) * k;
		if (w < MIN_HOLE)
			return 0;
		const g = element("g", holes, hole.hit ? { class: "hit" } : {}), many = hole.count.toLocaleString("en-US") + (hole.count === 1 ? " frame" : " frames");
		const what = many + (hole.known ? " too narrow to draw" : " that this file does not have");
		element("title", g, {}).textContent = what + "\n" + value_said(hole.size);
		element("rect", g, { x: x.toFixed(2), y: row_y(hole.depth), width: (w - 0.5).toFixed(2),
			height: rects[0].getAttribute("height"), rx: 2, fill: "url(#hatch)" });
		const s = fit(what, Math.floor((w - 6) / CHAR));
		if (s)
			element("text", g, { x: (x + 4).toFixed(1), y: row_y(hole.depth) + 13 }).textContent = s;
		return hole.depth;
	}

	// Of what has no frame, though its caller has one. How deep they are.
	function holes_draw(k) {
		let hole = null, top = 0;
		holes.replaceChildren();
		for (let i = zoomed; i < end[zoomed]; i++) {
			if (groups[i] && shown[i])
				continue;
			const known = name_of[i] !== 0;
			if (!hole || hole.end !== i || hole.parent !== parent[i]) {
				if (hole)
					top = Math.max(top, hole_put(hole, k));
				hole = { parent: parent[i], depth: depth[i], start: start[i], size: 0, count: 0, known: true };
			}
			hole.size += size[i];
			for (let c = i; c < end[i] && !hole.hit; c++)
				hole.hit = !!hits[c];
			hole.known = hole.known && known;
			for (let c = i; c < end[i]; c++)
				hole.count += count.get(c) || 1;
			hole.end = end[i];
			i = end[i] - 1;
		}
		return hole ? Math.max(top, hole_put(hole, k)) : top;
	}

	function draw() {
		const room = width - 2 * PAD, k = room / size[zoomed], least = least_width(k);
		let top = deepest;
		for (let i = 0; i < n; i++) {
			const inside = i >= zoomed && i < end[zoomed];
			const above = i < zoomed && end[i] >= end[zoomed];
			if (name_of[i] < 0) {
				show(i, inside || above);
			} else {
				const wanted = above || i === zoomed || (inside && name_of[i] > 0 && size[i] * k >= least);
				if (wanted && !groups[i])
					make(i);
				else if (!wanted && groups[i])
					unmake(i);
				if (!wanted)
					continue;
			}
			if (inside)
				place(i, PAD + (start[i] - start[zoomed]) * k, size[i] * k, false);
			else if (above)
				place(i, PAD, room, true);
			if (inside)
				top = Math.max(top, depth[i]);
		}
		grow(Math.max(top, holes_draw(k)));
		reset.hidden = zoomed === 0;
	}

	// The picture has the rows that the widest frames need; a narrow tower may need more.
	function grow(top) {
		const more = (top - deepest) * ROW, was = height;
		if (HEIGHT + more === was)
			return;
		height = HEIGHT + more;
		for (const g of [layer, holes])
			g.setAttribute("transform", `translate(0 ${inverted ? 0 : more})`);
		resize();
		if (!inverted && svg === document.documentElement)
			window.scrollBy(0, height - was);
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
		const t = i < 0 || !titles[i] ? "" : [titles[i][0], ...titles[i].slice(names[i])].join(" · ");
		details.textContent = fit(t, Math.floor((width - 2 * PAD) / CHAR) - 16);
		note.style.display = t || matched.textContent ? "none" : "";
	}

	function bar_move() {
		const down = svg === document.documentElement ? window.scrollY : 0;
		const up = svg === document.documentElement
			? Math.max(0, height - window.innerHeight - down) : 0;
		bar.setAttribute("transform", `translate(0 ${height - HEIGHT - up})`);
		tools.setAttribute("y", 4 + down);
		box.classList.toggle("afloat", down > 0);
	}

	// ---- search: the share of all time under at least one frame that matches -------------------
	let pattern = "", hits = [];

	// What matches, and what may: frames whose names the file does not have.
	function share(from, to) {
		let sum = 0, maybe = 0;
		for (let i = from; i < to;) {
			if (hits[i]) {
				sum += size[i];
				i = end[i];
			} else {
				maybe += name_of[i] === 0 ? size[i] : 0;
				i++;
			}
		}
		return [sum, maybe];
	}

	function tell_matched() {
		if (!pattern) {
			matched.textContent = "";
		} else {
			const percent = ([part, maybe], all) => {
				const least = (100 * part / all).toFixed(2), most = (100 * (part + maybe) / all).toFixed(2);
				return (least === most ? least : least + " to " + most) + " %";
			};
			let s = "matched " + percent(share(0, n), ALL) + " of all";
			if (zoomed) {
				let inside = share(zoomed, end[zoomed]);
				for (let i = parent[zoomed]; i >= 0; i = parent[i])
					if (hits[i])
						inside = [size[zoomed], 0];
				s += ", " + percent(inside, size[zoomed]) + " of this frame";
			}
			matched.textContent = s;
		}
		note.style.display = details.textContent || matched.textContent ? "none" : "";
	}

	function search(text) {
		const is_exact = /[A-Z]/.test(text), plain = is_exact ? text : text.toLowerCase();
		const holds = (s) => (is_exact ? s : s.toLowerCase()).includes(plain);
		let re = null;
		try { // small letters match both cases; names, with all their characters, match themselves
			const expression = text ? new RegExp(text, is_exact ? "" : "i") : null;
			re = expression && { test: (s) => expression.test(s) || holds(s) };
		} catch (e) {
			if (titles.some((t) => t.some(holds)) || narrow.names.some((name) => name && name.said.some(holds))) {
				re = { test: holds };
			} else {
				input.classList.add("bad");
				input.setAttribute("aria-invalid", "true");
				input.title = e.message;
				return;
			}
		}
		input.classList.remove("bad");
		input.removeAttribute("aria-invalid");
		input.title = "";
		pattern = re ? text : "";
		hits = new Uint8Array(n);
		const named = narrow.names.map((name) => !!re && !!name && name.said.some((s) => re.test(s)));
		for (let i = 0; i < n; i++) {
			if (name_of[i] >= 0)
				hits[i] = named[name_of[i]];
			for (let k = 0; re && name_of[i] < 0 && k < names[i] && !hits[i]; k++)
				hits[i] = re.test(titles[i][k]);
			if (groups[i] && groups[i].classList.contains("hit") !== !!hits[i])
				groups[i].classList.toggle("hit", !!hits[i]);
		}
		layer.classList.toggle("searching", !!re);
		holes_draw((width - 2 * PAD) / size[zoomed]);
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
			if (part.startsWith("z=") && +value > 0 && +value < n && name_of[Math.floor(+value)] !== 0)
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
		if (n)
			zoom(z);
	}

	// A picture that is taller than the window opens at its root, not at the thin ends of its towers.
	function to_root() {
		if (svg !== document.documentElement || height <= window.innerHeight || window.scrollY)
			return;
		if (!inverted)
			window.scrollTo(0, height);
		if (zoomed)
			groups[zoomed].scrollIntoView({ block: "nearest" });
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
		svg.setAttribute("height", height);
		svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		for (const r of svg.querySelectorAll(".paper, .bar rect"))
			r.setAttribute("width", width);
		for (const s of svg.querySelectorAll(".strip svg"))
			s.setAttribute("width", width - 2 * PAD);
		svg.querySelector(".paper").setAttribute("height", height);
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

	function leave() {
		if (here >= 0) {
			groups[here].classList.remove("here");
			groups[here].removeAttribute("id");
		}
		here = -1;
	}

	function go(i) {
		if (i < 0 || i >= n || !groups[i])
			return;
		leave();
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
			if (shown[c] && (best < 0 || size[c] > size[best]))
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
	to_root();
})();
