	// ---- colours ------------------------------------------------------------------------------------------
	const media = (q) => window.matchMedia(q);
	const dark_asked = media("(prefers-color-scheme: dark)"), forced = media("(forced-colors: active)"), printing = media("print");
	const is_dark = () => !printing.matches && (S.theme === "dark" || (S.theme !== "light" && dark_asked.matches)); // paper is bright
	// Colours of Okabe and Ito, lightened so that black text is read on them, by the palette's names.
	const SAFE = {
		"Python": [230, 159, 0], "C": [240, 228, 66], "C++": [240, 228, 66], "C++, operator": [240, 228, 66], "OS kernel": [204, 121, 167],
		"runtime, driver": [213, 110, 60], "device kernel": [86, 180, 233], "device copy": [60, 180, 145],
		"source line": [150, 208, 240], "instruction": [120, 140, 220], "range": [226, 206, 178],
	};
	// Colours of things without an order: told apart by all, for the first eight; then lighter.
	const spread = (k) => rgb(between(SPREAD[k % 8], [255, 255, 255], min(0.6, floor(k / 8) * 0.2)));
	const SPREAD = [[86, 180, 233], [230, 159, 0], [60, 180, 145], [240, 228, 66], [204, 121, 167], [120, 140, 220], [213, 110, 60], [128, 128, 128]];
	function shade(text) {
		let h = 2166136261;
		for (let i = 0; i < text.length; i++)
			h = Math.imul(h ^ text.charCodeAt(i), 16777619);
		return ((h >>> 8) % 8) / 7;
	}
	const between = (low, high, s) => low.map((v, k) => v + (high[k] - v) * s);
	const rgb = (c) => `rgb(${c.map(round).join(",")})`;
	// What a frame's colour means: its place in the legend, the legend's words, the colour. By name, where it hangs on no more.
	let groups = [];
	function group_of(g, i) {
		const name = g.name[i];
		return group_in(g, i) || (groups[name] ||= group_by(name));
	}
	const fill_of = (g, i) => group_of(g, i)[2];
	const is_idle = (name) => H.names[name].startsWith("[idle");
	function kind_group(name) {
		const safe = S.colour === "safe";
		if (is_idle(name))
			return [99, "idle", safe ? "rgb(213,138,80)" : "rgb(236,176,112)"];
		const k = H.colour[name], c = H.palette[k], s = shade(H.names[name]);
		return [k, c.name, rgb(safe ? (SAFE[c.name] || [190, 190, 190]).map((v) => v + (255 - v) * s * 0.25) : between(c.low, c.high, s))];
	}
	// The value that a colour, or a custom property of the style, has now: as a canvas knows it.
	let colours = {};
	function css(name) {
		if (!colours[name]) {
			const probe = el("i");
			probe.style.forcedColorAdjust = "none"; // strips have their colours with those of the user, too
			probe.style.color = name.startsWith("--") ? `var(${name})` : name;
			document.body.append(probe);
			colours[name] = getComputedStyle(probe).color;
			probe.remove();
		}
		return colours[name];
	}

	// ---- canvas ---------------------------------------------------------------------------------------------
	const ROW = 20, CHAR = 6.6, LABELLED = 24, FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
	// As much of a name as a box has room for; of idle time the cause.
	function label(name, width) {
		name = name.replace(/^\[idle b.*: /, "[idle: ");
		const room = floor((width - 8) / CHAR);
		return name.length <= room ? name : name.slice(0, max(room - 1, 1)) + "\u2026";
	}
	// As large as its place, in the device's pixels. Returns its context, scaled to CSS's.
	function canvas_fit(canvas, width, height) {
		const by = window.devicePixelRatio || 1;
		width = max(1, floor(width));
		height = max(1, min(floor(height), 8192));
		if (canvas.width !== round(width * by) || canvas.height !== round(height * by)) {
			canvas.width = round(width * by);
			canvas.height = round(height * by);
			canvas.style.width = width + "px";
			canvas.style.height = height + "px";
		}
		const ctx = canvas.getContext("2d");
		ctx.setTransform(by, 0, 0, by, 0, 0);
		return ctx;
	}

	// Where the frames of a row end, behind one another: a walk over the tree's own columns misses the cache at each.
	function row_ends(g, row) {
		let ret = (g.ends ||= new Map()).get(row);
		if (!ret) {
			g.ends.set(row, ret = new Float64Array(row.length));
			for (let k = 0; k < row.length; k++)
				ret[k] = g.start[row[k]] + g.total[row[k]];
		}
		return ret;
	}
	// The first of a row's ends, from `lo` on, that lies beyond x. Frames of a row are apart, so that ends ascend as starts do.
	function row_find(ends, x, lo = 0, hi = ends.length) {
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (ends[mid] > x)
				hi = mid;
			else
				lo = mid + 1;
		}
		return lo;
	}

	// The boxes of a row that are drawn between x0 and x1 (in the unit of values) on so many pixels: one for a frame of a
	// pixel and more, and one for neighbours that are narrower, which nothing is left out of. Each calls
	// box(left, width, frame, how many, last frame, place in the row).
	function row_boxes(g, row, x0, x1, width, box) {
		const scale = width / (x1 - x0), ends = row_ends(g, row);
		for (let k = row_find(ends, x0); k < row.length;) {
			const i = row[k], left = (g.start[i] - x0) * scale, w = g.total[i] * scale;
			if (g.start[i] >= x1)
				break;
			if (w >= 1) {
				const from = max(0, left);
				box(from, min(width, left + w) - from, i, 1, i, k);
				k++;
				continue;
			}
			// To the end of this pixel; a wide frame that begins in it ends behind it, and is not skipped.
			const first = k, edge = x0 + (floor(left) + 1) / scale;
			let lo = first, far = first + 1; // it is near
			for (let by = 2; far < row.length && ends[far] <= edge; far += by, by *= 2)
				lo = far;
			let last = max(first + 1, row_find(ends, edge, lo, min(far, row.length)));
			while (last > first + 1 && g.total[row[last - 1]] * scale >= 1)
				last--;
			k = last;
			box(floor(left), 1, i, k - first, row[k - 1], first);
		}
	}

	// A row's boxes as they are painted: those of a pixel as an image of one line, which costs a call for all of them; the
	// others, and what covers the end of one, in order; above all of them, in whole pixels, what is narrow and matches the search:
	// no neighbour is mixed into it. Kept while nothing but the scroll position and the chosen frame changes.
	const FOUND = "rgb(236,63,208)", DIMMED = 0.35;
	let painted = new Map(), painted_key = "", line = null;
	const pixel = (colour, alpha) => {
		const [r, g, b] = colour.match(/[\d.]+/g);
		return (round(255 * alpha) << 24 | b << 16 | g << 8 | r) >>> 0;
	};
	function row_paint(g, d, x0, x1, width) {
		const row = g.rows[d], contrast = forced.matches, search = F.search, image = new Uint32Array(width), boxes = [], found = [], pixels = new Map();
		const hits = search && search.counts(g, row);
		let end = 0, from = width, to = 0;
		row_boxes(g, row, x0, x1, width, (x, w, i, n, last, k) => {
			const hit = search && hits[k + n] > hits[k], fill = contrast ? (hit ? "Highlight" : "Canvas") : hit ? FOUND : n > 1 ? css_merged : fill_of(g, i), alpha = search && !hit ? DIMMED : 1;
			if (hit && w < 3) {
				const first = floor(x), after = max(first + 1, round(x + w)), run = found.at(-1);
				if (run && run[1] >= first)
					run[1] = after;
				else
					found.push([first, after]);
				return;
			}
			if (w !== 1 || x % 1 || x < end || contrast) {
				boxes.push([x, w, n === 1 ? i : -1, fill, alpha, hit]);
				end = x + w;
				return;
			}
			const key = fill + alpha;
			image[x] = pixels.get(key) || pixels.set(key, pixel(fill, alpha)).get(key);
			from = min(from, x);
			to = x + 1;
		});
		return { image, from, to, boxes, found };
	}

	// Draws rows of a graph, [graph, depth, from, to, y]; the chosen frame has a ring around it.
	function rows_draw(ctx, rows, width, here) {
		const contrast = forced.matches, key = [F.key, S.find, S.re, theme_key, width, F.x0, F.x1].join();
		if (key !== painted_key)
			painted = new Map();
		painted_key = key;
		line ||= el("canvas");
		line.width = width;
		line.height = max(1, rows.length);
		const made = rows.map(([g, d, x0, x1]) => painted.get(g.rows[d]) || painted.set(g.rows[d], row_paint(g, d, x0, x1, width)).get(g.rows[d]));
		const to = line.getContext("2d"), image = to.createImageData(width, line.height), words = new Uint32Array(image.data.buffer);
		made.forEach((m, k) => words.set(m.image, k * width));
		to.putImageData(image, 0, 0);
		ctx.font = FONT;
		ctx.textBaseline = "middle";
		ctx.imageSmoothingEnabled = false;
		rows.forEach(([g, d, x0, x1, y], k) => {
			const { from, to, boxes, found } = made[k];
			if (to > from)
				ctx.drawImage(line, from, k, to - from, 1, from, y, to - from, ROW - 1);
			for (const [x, w, i, fill, alpha, hit] of boxes) {
				ctx.globalAlpha = alpha;
				ctx.fillStyle = fill;
				ctx.fillRect(x, y, w >= 3 ? w - 0.6 : w, ROW - 1);
				ctx.globalAlpha = 1;
				if (contrast) {
					ctx.strokeStyle = "CanvasText";
					ctx.strokeRect(x + 0.5, y + 0.5, max(w - 1, 0), ROW - 2);
				}
				if (i >= 0 && w > LABELLED) {
					ctx.fillStyle = contrast ? (hit ? "HighlightText" : "CanvasText") : alpha < 1 && is_dark() ? css("--ink") : "#141419";
					ctx.fillText(label(H.names[g.name[i]], w), x + 4, y + ROW / 2);
				}
			}
			ctx.fillStyle = contrast ? "Highlight" : FOUND;
			for (const [from, to] of found)
				ctx.fillRect(from, y, to - from, ROW - 1);
			const by = width / (x1 - x0), x = (g.start[here] - x0) * by, w = g.total[here] * by;
			if (g !== F.g || here < 0 || g.depth[here] !== d || x + w < 0 || x > width)
				return;
			const left = w < 1 ? floor(x) : max(0, x);
			ctx.strokeStyle = css_here;
			ctx.lineWidth = 2;
			ctx.strokeRect(left + 1, y + 1, max((w < 1 ? 1 : min(width, x + w) - left) - 2, 1), ROW - 3);
			ctx.lineWidth = 1;
		});
	}
	let theme_key, css_merged = "#999", css_here = "#1552d8";
	function theme_apply() {
		const now = [S.theme, is_dark(), forced.matches, S.colour].join();
		if (now === theme_key)
			return;
		theme_key = now;
		colours = {};
		document.documentElement.dataset.theme = S.theme || "";
		css_merged = css("--merged");
		css_here = css("--here");
		groups = new Array(H.names.length);
	}
