	// ---- the time line: its rows, and how they are painted ----------------------------------------------------------------
	const ARROWS = 40, LANE = 20, THIN = 14, AXIS_TOP = 22;
	const L = { rows: [], height: 0, view: [0, 1], width: 0, gutter: 0, here: null, ms: 0, shut: new Set(), found: null };
	const lane_x = (t) => L.gutter + (t - L.view[0]) / (L.view[1] - L.view[0]) * (L.width - L.gutter);
	const lane_t = (x) => L.view[0] + (x - L.gutter) / (L.width - L.gutter) * (L.view[1] - L.view[0]);
	const place_name = (list, k, none) => k < 0 ? none : list[k] || none;
	// Rows from above to below: { kind, name, height, bars, lo, hi, ... }; those below a shut head are not there.
	function lanes_make() {
		const rows = [], add = (row) => {
			if (!row.of || !L.shut.has(row.of))
				rows.push(row);
		};
		if (H.steps[0].length)
			add({ kind: "steps", name: "steps", height: THIN, bars: L.steps ||= new Bars(Float64Array.from(H.steps[0]), Float64Array.from(H.steps[1]), {}), lo: 0, hi: H.steps[0].length });
		const many = TL.processes.length > 1;
		TL.idle.forEach((d, k) => {
			if (!d.many) // another one is drawn for it
				return;
			const key = `device ${d.device} ${d.process}`, head = place_name(TL.devices, d.device, "device") + (many ? `, ${place_name(TL.processes, d.process, "")}` : "") + (d.many > 1 ? `, one of ${count(d.many)} alike` : "");
			add({ kind: "head", name: head, key, height: LANE, on: d });
			if (TL.i.first[k] < TL.i.first[k + 1])
				add({ kind: "idle", name: "idle", of: key, height: LANE, bars: TL.i, lo: TL.i.first[k], hi: TL.i.first[k + 1], device: k });
			TL.streams.forEach((s, n) => {
				if (s.device === d.device && s.process === d.process)
					add({ kind: "work", name: s.nth ? "" : "stream" in s ? `stream ${s.stream}` : "no stream", of: key, height: LANE, bars: TL.x, lo: TL.x.first[n], hi: TL.x.first[n + 1], device: k, on: s });
			});
		});
		const used = TL.threads.map((_, k) => k).filter((k) => TL.launches[k].n || TL.ops.some((o) => o.thread === k) || TL.stacks[k] && TL.stacks[k].length);
		used.sort((a, b) => TL.threads[a].process - TL.threads[b].process || TL.launches[b].n - TL.launches[a].n || a - b);
		used.forEach((k) => {
			const th = TL.threads[k], key = `thread ${k}`;
			add({ kind: "head", name: `${th.name || "thread"} ${th.tid}${many ? ` of ${place_name(TL.processes, th.process, "")}` : ""}`, key, height: LANE, on: th });
			if (TL.launches[k].n)
				add({ kind: "launches", name: "launches", of: key, height: THIN, bars: TL.launches[k], lo: 0, hi: TL.launches[k].n, thread: k });
			TL.ops.forEach((o, n) => {
				if (o.thread === k)
					add({ kind: "ops", name: o.depth ? "" : "operators, ranges, calls", of: key, height: THIN, bars: TL.o, lo: TL.o.first[n], hi: TL.o.first[n + 1], thread: k });
			});
			(TL.stacks[k] || []).forEach((bars, d) => add({ kind: "stacks", name: d ? "" : "samples on CPU", of: key, height: THIN, bars, lo: 0, hi: bars.n, thread: k }));
		});
		if (H.counters.length) {
			add({ kind: "head", name: "counters", key: "counters", height: LANE, on: {} });
			H.counters.forEach((c, k) => add({ kind: "counter", name: c.name, title: `${c.name}, ${c.device}, to ${amount(c.most, c.unit)}`, of: "counters", height: 26, column: columns("c" + k), most: c.most, unit: c.unit }));
		}
		let y = AXIS_TOP;
		for (const row of rows) {
			row.y = y;
			y += row.height + (row.kind === "head" ? 2 : row.kind === "ops" || row.kind === "stacks" ? 1 : 3);
		}
		L.rows = rows;
		L.height = y + 8;
	}
	// Threads that launched nothing are shut at first, and of many those behind the first.
	function lanes_shut() {
		L.shut = new Set(TL.threads.map((_, k) => k).filter((k) => TL.threads.length > 2 && !TL.launches[k].n).map((k) => "thread " + k));
		if (H.counters.length > 6)
			L.shut.add("counters");
	}

	// ---- names and colours of bars ----------------------------------------------------------------------------------------
	const OP_KINDS = ["", "operator", "range", "step", "call", "Python function"];
	let fills = { key: "", of: [], frames: [] };
	function hue(name, from, to) {
		return css(`hsl(${(from + shade(name) * (to - from)).toFixed()} ${is_dark() ? "42% 58%" : "46% 66%"})`);
	}
	function what_fill(kind, w) {
		const name = TL.names[TL.what.name[w]], of = TL.what.of[w];
		if (kind === "idle")
			return css((GROUPS[CLASSES[of]] || GROUPS.unknown)[1]);
		if (kind === "work")
			return of === 2 ? hue(name, 90, 140) : of === 1 ? hue(name, 262, 292) : hue(name, 172, 222);
		return of === 2 || of === 3 ? hue(name, 30, 44) : of === 4 ? hue(name, 8, 22) : of === 5 ? hue(name, 208, 226) : hue(name, 46, 64);
	}
	function bar_fill(row, i) {
		if (row.kind === "steps")
			return css(i % 2 ? "--step-odd" : "--step");
		if (row.kind === "stacks")
			return fills.frames[trees.cpu.name[row.bars.node[i]]] ||= kind_group(trees.cpu.name[row.bars.node[i]])[2];
		const w = row.bars.what[i], at = row.kind === "idle" || row.kind === "work" ? 0 : 1;
		return (fills.of[2 * w + at] ||= what_fill(row.kind, w));
	}
	// Who owns idle time: the innermost frames of most of it.
	function idle_owner(w) {
		const list = TL.frames.idle.get(TL.what.group[w]) || [], t = trees.device;
		if (!list.length)
			return [];
		const ret = [];
		for (let n = list[0][0]; n > 0; n = t.shape.parent[n])
			if (!is_idle(t.name[n]))
				ret.push(H.names[t.name[n]]);
		return ret;
	}
	function bar_name(row, i) {
		if (row.kind === "steps")
			return `step ${i}`;
		if (row.kind === "stacks")
			return H.names[trees.cpu.name[row.bars.node[i]]];
		const w = row.bars.what[i], name = TL.names[TL.what.name[w]];
		if (row.kind === "work") { // as the flame graph calls it
			const node = TL.frames.work.get(TL.what.group[w]);
			return node === undefined || !/^device/.test(H.palette[H.colour[trees.device.name[node]]].name) ? name : H.names[trees.device.name[node]];
		}
		return row.kind === "idle" ? [name, idle_owner(w)[0]].filter(Boolean).join(": ") : name;
	}
	// The name that is written into a bar: made once.
	const names_kept = new Map();
	function bar_label(row, i) {
		const key = row.kind === "steps" || row.kind === "stacks" ? -1 : row.bars.what[i] * 4 + (row.kind === "idle" ? 1 : row.kind === "work" ? 2 : 3);
		if (key < 0)
			return bar_name(row, i);
		let ret = names_kept.get(key);
		if (ret === undefined)
			names_kept.set(key, ret = bar_name(row, i));
		return ret;
	}

	// ---- painting ---------------------------------------------------------------------------------------------------------
	// Each bar that is a pixel and more; of those that are narrower one line for each pixel, as high as they worked in it, in the
	// colour of the longest. Calls draw(x, width, bar, how many, part of the height).
	function lane_boxes(row, draw) {
		const { bars: B, lo, hi } = row, by = (L.width - L.gutter) / (L.view[1] - L.view[0]), from = L.view[0], to = L.view[1], room = L.width - L.gutter;
		for (let i = B.ends(from, lo, hi); i < hi && B.start[i] < to;) {
			const x0 = (B.start[i] - from) * by, x1 = (B.end[i] - from) * by;
			if (x1 - x0 >= 1) {
				const left = max(0, x0), many = B.many(i);
				draw(left, min(room, x1) - left, i, 1, many > 1 ? min(1, B.worked(i) / (B.end[i] - B.start[i])) : 1);
				i++;
				continue;
			}
			const x = max(0, floor(x0));
			let j = B.begins(from + (x + 1) / by, i + 1, hi);
			if (j - 1 > i && (B.end[j - 1] - B.start[j - 1]) * by >= 1) // a wide one that begins in this pixel is not skipped
				j--;
			draw(x, 1, j - i > 1 ? B.longest(i, j) : i, j - i, min(1, max(0.12, (B.sum[j] - B.sum[i]) * by)));
			i = j;
		}
	}
	// Lines of a pixel go into an image, which is drawn once: a call for each would be too slow.
	let image = null, words = null;
	function image_of(width, height) {
		if (!image || image.canvas.width !== width || image.canvas.height !== height) {
			const canvas = el("canvas"), to = (canvas.width = width, canvas.height = height, canvas.getContext("2d"));
			image = { canvas, to, data: to.createImageData(width, height), colours: new Map() };
			words = new Uint32Array(image.data.data.buffer);
		} else {
			words.fill(0);
		}
	}
	function lane_lines(row, y, wide) {
		const h = row.height, width = image.canvas.width, bottom = min(image.canvas.height, floor(y) + h), found = row.bars.what && L.found;
		lane_boxes(row, (x, w, i, many, part) => {
			const hit = !found || found[row.bars.what[i]];
			if (w !== 1 || x % 1) {
				wide.push([x, w, i, part, hit]);
				return;
			}
			const fill = bar_fill(row, i), key = hit ? fill : fill + 0;
			let word = image.colours.get(key);
			if (word === undefined)
				image.colours.set(key, word = pixel(fill, hit ? 1 : DIMMED / 2));
			for (let at = max(0, floor(y + h - part * h)) * width + x, to = bottom * width; at < to; at += width)
				words[at] = word;
		});
	}
	function lane_paint(ctx, row, y, wide) {
		const h = row.height, contrast = forced.matches;
		let last = "";
		ctx.textBaseline = "middle";
		ctx.font = "11px system-ui, sans-serif";
		for (const [x, w, i, part, hit] of wide) {
			const fill = contrast ? "CanvasText" : bar_fill(row, i), high = part * h;
			ctx.globalAlpha = hit ? 1 : DIMMED / 2;
			if (fill !== last)
				ctx.fillStyle = last = fill;
			ctx.fillRect(L.gutter + x, y + h - high, w > 3 ? w - 0.5 : w, high);
			if (w > 26) {
				ctx.fillStyle = contrast ? "Canvas" : "#15161b";
				if ((part < 1 || row.kind === "steps") && !contrast)
					ctx.fillStyle = css("--ink");
				last = "";
				const text = row.bars.many(i) > 1 ? `${count(row.bars.many(i))} \u00d7 ${bar_label(row, i)}` : bar_label(row, i), room = floor((w - 8) / 6.2);
				ctx.fillText(text.length <= room ? text : text.slice(0, max(1, room - 1)) + "\u2026", L.gutter + x + 4, y + h / 2 + 0.5);
			}
			ctx.globalAlpha = 1;
		}
	}
	// A mark for each pixel in which a thread launched something.
	function launches_paint(ctx, row, y) {
		const B = row.bars, by = (L.width - L.gutter) / (L.view[1] - L.view[0]);
		ctx.fillStyle = css("--launch");
		for (let i = B.begins(L.view[0], 0, B.n); i < B.n && B.start[i] <= L.view[1];) {
			const x = floor((B.start[i] - L.view[0]) * by), j = max(i + 1, B.begins(L.view[0] + (x + 1) / by, i, B.n)), high = min(row.height, 5 + 2 * Math.log2(j - i + 1));
			ctx.fillRect(L.gutter + x, y + row.height - high, by > 0.002 ? 1.5 : 1, high);
			i = j;
		}
	}
	function counter_paint(ctx, row, y) {
		const cell = H.cell_ns, by = (L.width - L.gutter) / (L.view[1] - L.view[0]), top = row.top ||= row.column.reduce((m, v) => max(m, v), 1);
		ctx.fillStyle = css("--compute");
		for (let x = 0; x < L.width - L.gutter; x++) {
			const a = floor((L.view[0] + x / by) / cell), b = max(a + 1, floor((L.view[0] + (x + 1) / by) / cell));
			let most = 0;
			for (let c = a; c < b && c < row.column.length; c++)
				most = max(most, row.column[c]);
			const high = row.height * most / top;
			ctx.fillRect(L.gutter + x, y + row.height - high, 1, high);
		}
	}
	const time_step = (length, many) => {
		const ten = 10 ** floor(Math.log10(length / many));
		return [1, 2, 5, 10].map((m) => m * ten).find((s) => length / s <= many);
	};
	function axis_paint(ctx, height) {
		const [from, to] = L.view, step = max(1, time_step(to - from, max(2, floor((L.width - L.gutter) / 120))));
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		ctx.textAlign = "left";
		for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
			const x = round(lane_x(t));
			ctx.fillStyle = css("--grid");
			ctx.fillRect(x, AXIS_TOP - 4, 1, height);
			ctx.fillStyle = css("--dim");
			if (x < L.width - 50)
				ctx.fillText(tick_text(t, step), x + 3, 9);
		}
	}
	// As many digits as tell two ticks apart.
	function tick_text(t, step) {
		const [by, word] = t >= 1e9 ? [1e9, "s"] : t >= 1e6 ? [1e6, "ms"] : t >= 1e3 ? [1e3, "us"] : [1, "ns"];
		return t ? `${(t / by).toFixed(max(0, Math.ceil(-Math.log10(step / by) - 1e-9)))} ${word}` : "0";
	}
	// A moment as exactly as it is known.
	const moment = (t) => t < 1e6 ? `${+(t / 1e3).toFixed(3)} us` : t < 1e9 ? `${+(t / 1e6).toFixed(6)} ms` : `${+(t / 1e9).toFixed(9)} s`;
	// From where something was launched to where it ran.
	function arrow_paint(ctx, top, i) {
		const B = TL.x, from = L.rows.find((r) => r.kind === "launches" && r.thread === B.by[i] - 1), to = L.rows.find((r) => r.kind === "work" && i >= r.lo && i < r.hi);
		if (!from || !to || !B.waited[i])
			return;
		const x0 = lane_x(B.start[i] - B.waited[i] + 1), x1 = lane_x(B.start[i]), y0 = from.y - top + (from.y > to.y ? 0 : from.height), y1 = to.y - top + (from.y > to.y ? to.height : 0), bend = max(12, abs(y1 - y0) / 2) * (y1 > y0 ? 1 : -1);
		ctx.strokeStyle = ctx.fillStyle = css("--here");
		ctx.lineWidth = 1.25;
		ctx.beginPath();
		ctx.moveTo(x0, y0);
		ctx.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
		ctx.stroke();
		ctx.beginPath();
		ctx.moveTo(x1, y1);
		ctx.lineTo(x1 - 4, y1 - 7 * Math.sign(bend));
		ctx.lineTo(x1 + 4, y1 - 7 * Math.sign(bend));
		ctx.fill();
	}
	// Of few launches in sight each has its arrow.
	function arrows_paint(ctx, top) {
		const all = [];
		for (const r of L.rows)
			if (r.kind === "work" && r.y - top < 4000)
				for (let i = r.bars.ends(L.view[0], r.lo, r.hi); i < r.hi && r.bars.start[i] < L.view[1] && all.length <= ARROWS; i++)
					all.push(i);
		ctx.globalAlpha = 0.3;
		if (all.length <= ARROWS)
			all.forEach((i) => arrow_paint(ctx, top, i));
		ctx.globalAlpha = 1;
		if (L.here && L.here.row.kind === "work")
			arrow_paint(ctx, top, L.here.i);
	}
	function lanes_paint() {
		const began = performance.now(), place = $("lanes"), canvas = $("lanes-canvas"), width = place.clientWidth, height = place.clientHeight;
		if (!TL || width < 50)
			return;
		const ctx = canvas_fit(canvas, width, height), top = place.scrollTop, key = [is_dark(), S.colour, S.theme].join();
		if (fills.key !== key)
			fills = { key, of: [], frames: [] };
		L.width = width;
		L.gutter = width < 560 ? 84 : 170;
		ctx.clearRect(0, 0, width, height);
		ctx.save();
		ctx.beginPath();
		ctx.rect(L.gutter, 0, width - L.gutter, height);
		ctx.clip();
		axis_paint(ctx, height);
		ctx.beginPath();
		ctx.rect(L.gutter, AXIS_TOP - 2, width - L.gutter, height);
		ctx.clip();
		const seen = L.rows.filter((r) => r.y + r.height > top + AXIS_TOP - 2 && r.y < top + height);
		const painted = seen.filter((r) => r.bars && r.kind !== "launches").map((row) => [row, row.y - top, []]);
		image_of(width - L.gutter, height);
		painted.forEach(([row, y, wide]) => lane_lines(row, y, wide));
		image.to.putImageData(image.data, 0, 0);
		ctx.imageSmoothingEnabled = false;
		ctx.drawImage(image.canvas, L.gutter, 0);
		painted.forEach(([row, y, wide]) => lane_paint(ctx, row, y, wide));
		for (const row of seen)
			if (row.kind === "launches")
				launches_paint(ctx, row, row.y - top);
			else if (row.kind === "counter")
				counter_paint(ctx, row, row.y - top);
		arrows_paint(ctx, top);
		if (L.here && L.here.row.bars && L.here.row.kind !== "launches") {
			const { row, i } = L.here, x0 = max(L.gutter, lane_x(row.bars.start[i])), x1 = min(width, lane_x(row.bars.end[i]));
			ctx.strokeStyle = css("--here");
			ctx.lineWidth = 2;
			if (x1 >= x0)
				ctx.strokeRect(x0 - 1, row.y - top - 1, max(2, x1 - x0) + 1.5, row.height + 2);
		}
		if (L.chosen) {
			ctx.fillStyle = css("--chosen");
			ctx.fillRect(L.chosen[0], 0, L.chosen[1] - L.chosen[0], height);
		}
		ctx.restore();
		ctx.save();
		ctx.beginPath();
		ctx.rect(0, AXIS_TOP - 2, width, height);
		ctx.clip();
		for (const row of seen) {
			const head = row.kind === "head", text = head ? `${L.shut.has(row.key) ? "\u25b8" : "\u25be"} ${row.name}` : row.name, room = floor(((head ? width - 20 : L.gutter) - 16) / 6.1);
			ctx.font = (head ? "600 12px" : "11px") + " system-ui, sans-serif";
			ctx.fillStyle = css(head ? "--ink" : "--dim");
			ctx.textBaseline = "middle";
			ctx.textAlign = "left";
			ctx.fillText(middle_cut(text, max(4, room)), head ? 6 : 14, row.y - top + row.height / 2 + 0.5);
			if (head) {
				ctx.fillStyle = css("--edge");
				ctx.fillRect(0, row.y - top - 2, width, 1);
			}
		}
		ctx.restore();
		L.ms = T.lanes = performance.now() - began;
	}
