	// ---- the time line: its keys and pointers, and what is said of a bar ------------------------------------------------------
	const whole = () => [0, H.end_ns], SHORTEST = 50; // ns
	let lanes_loading = false, lanes_timer = 0, lanes_frame = 0;
	const lanes_soon = () => { lanes_frame ||= requestAnimationFrame(() => { lanes_frame = 0; lanes_paint(); }); };
	// The part of the page that it is drawn from is unpacked when it is first shown.
	function lanes_load() {
		if (TL || lanes_loading || !later_text)
			return;
		lanes_loading = true;
		$("lanes-said").textContent = "Unpacking the time line \u2026";
		unpack(later_text).then((buffer) => {
			later_text = "";
			timeline_read(buffer);
			lanes_shut();
			render();
		}).catch((e) => { $("lanes-said").textContent = `The time line cannot be shown: ${e.message}.`; throw e; });
	}
	// Shows the first lane that is that, and chooses its longest bar.
	let lane_wanted = null;
	function lane_open(is_it) {
		lane_wanted = is_it;
		go({ view: "timeline" });
	}
	function lane_go() {
		const is_it = lane_wanted, row = L.rows.find((r) => r.on && is_it(r)), bars = row && (row.bars ? row : L.rows.find((r) => r.of === row.key && r.bars));
		lane_wanted = null;
		if (row)
			$("lanes").scrollTop = max(0, row.y - AXIS_TOP);
		say(row ? `lane ${row.name}` : "it has no lane");
		if (bars && lane_longest(bars).length)
			lanes_choose(bars, lane_longest(bars)[0]);
	}
	function timeline_render() {
		const none = TL && !TL.x.n && !TL.o.n && !L.rows.length && !TL.stacks.some((s) => s.length);
		lanes_load();
		if (!TL)
			return;
		if (!lanes_timer)
			L.view = time() || whole();
		if (!L.rows.length)
			lanes_make();
		$("lanes-none").hidden = !none;
		$("lanes-columns").hidden = none;
		$("lanes-tall").style.height = L.height + "px";
		if (document.activeElement !== $("lanes-find"))
			$("lanes-find").value = S.find;
		lanes_find();
		lanes_paint();
		lanes_said();
		lanes_panel();
		if (lane_wanted)
			lane_go();
	}
	// What was joined so that the page stays small.
	function lanes_said() {
		const { x, i, o } = TL.joins, said = (of, what) => of.joined ? `${count(of.joined)} of ${count(of.events)} ${what} are joined with neighbours within ${ns(of.ns)}` : `each of ${count(of.events)} ${what}`;
		$("lanes-said").textContent = [said(x, "executions"), i.joined && said(i, "gaps"), o.events && said(o, "operators, ranges and calls"), TL.s.every > 1 && `one of ${TL.s.every} samples`, TL.too_deep && `${count(TL.too_deep)} calls lie too deep`].filter(Boolean).join("; ") + ".";
	}
	// All views follow once the time stays; it is no step for the back button.
	function lanes_move(from, to, at_once) {
		const [, end] = whole(), length = min(end, max(SHORTEST, to - from));
		from = max(0, min(end - length, from));
		L.view = [from, from + length];
		lanes_soon();
		clearTimeout(lanes_timer);
		const commit = () => {
			lanes_timer = 0;
			go({ time: length >= end ? "" : time_text(L.view) }, !at_once);
		};
		if (at_once)
			commit();
		else
			lanes_timer = setTimeout(commit, 200);
	}
	const lanes_zoom = (t, by) => lanes_move(t - (t - L.view[0]) * by, t + (L.view[1] - t) * by);
	const lanes_pan = (part) => lanes_move(L.view[0] + part * (L.view[1] - L.view[0]), L.view[1] + part * (L.view[1] - L.view[0]));
	// To a bar, with room beside it.
	function lanes_to(row, i) {
		const a = row.bars.start[i], b = row.kind === "launches" ? a + 1000 : row.bars.end[i], room = max((b - a) * 0.08, SHORTEST / 2);
		lanes_move(a - room, b + room, true);
	}
	// So that a bar is in sight.
	function lanes_show(row, i) {
		const a = row.bars.start[i], b = row.bars.end[i], length = L.view[1] - L.view[0], place = $("lanes");
		if (b < L.view[0] || a > L.view[1])
			lanes_move((a + b) / 2 - length / 2, (a + b) / 2 + length / 2);
		if (row.y < place.scrollTop + AXIS_TOP)
			place.scrollTop = row.y - AXIS_TOP - LANE;
		else if (row.y + row.height > place.scrollTop + place.clientHeight)
			place.scrollTop = row.y + row.height + LANE - place.clientHeight;
	}
	function lanes_hit(e) {
		const r = $("lanes-canvas").getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top + $("lanes").scrollTop;
		const row = e.clientY - r.top < AXIS_TOP ? null : L.rows.find((o) => y >= o.y - 1 && y <= o.y + o.height + 1);
		if (!row || !row.bars || x < L.gutter)
			return { row, i: -1, x, t: lane_t(x) };
		const t = lane_t(x), near = 3 * (L.view[1] - L.view[0]) / (L.width - L.gutter), B = row.bars;
		let i = B.ends(t - near, row.lo, row.hi);
		// In a pixel with many, the longest of them, which has its colour.
		if (i < row.hi && B.end[i] - B.start[i] < near && B.start[i] <= t + near)
			i = B.longest(i, max(i + 1, B.begins(t + near / 3, i, row.hi)));
		return { row, i: i < row.hi && B.start[i] <= t + near ? i : -1, x, t };
	}
	function lanes_choose(row, i, quiet) {
		if (row && row.kind === "launches" && i >= 0) { // what it launched
			const k = row.bars.of[i], to = L.rows.find((r) => r.kind === "work" && k >= r.lo && k < r.hi);
			if (to) {
				row = to;
				i = k;
			}
		}
		L.here = row && i >= 0 ? { row, i } : null;
		lanes_panel();
		lanes_soon();
		if (L.here && !quiet)
			say(bar_facts(row, i).map(([k, v]) => `${k} ${v}`).join(", "));
	}

	// ---- what is said of a bar ----------------------------------------------------------------------------------------------
	const shape_text = (s) => [s.slice(0, 3), s.slice(3)].map((v) => v.filter((n, k) => n > 1 || !k).join(" \u00d7 "));
	function bar_facts(row, i) {
		const B = row.bars, many = B.many(i), ret = [["", bar_name(row, i)], ["from", moment(B.start[i])], ["for", ns(B.end[i] - B.start[i])]];
		if (many > 1)
			ret.push(["joined", `${count(many)} that took ${ns(B.worked(i))}; this is the longest of them`]);
		if (row.kind === "idle") {
			ret.push(["cause", (GROUPS[CLASSES[TL.what.of[B.what[i]]]] || GROUPS.unknown)[0]], ["owner", idle_owner(B.what[i])[0] || "not known"]);
		} else if (row.kind === "work") {
			const w = B.what[i], d = B.details[i], memory = TL.what.of[w] === 2;
			if (B.waited[i])
				ret.push(["queued for", ns(B.waited[i] - 1)], ["launched by", `thread ${TL.threads[B.by[i] - 1].tid} ${TL.threads[B.by[i] - 1].name}`]);
			if (memory && d)
				ret.push(["bytes", bytes(d)], ["rate", `${(d / (B.worked(i) / many || 1)).toFixed(1)} GB/s`]);
			if (!memory && d) {
				const [grid, block] = shape_text(TL.shapes[d - 1]);
				ret.push(["grid", grid], ["block", block]);
			}
			if (TL.what.graph[w])
				ret.push(["replay of graph", TL.what.graph[w]]);
			const gap = idle_before(row, i);
			if (gap)
				ret.push(["idle before", `${ns(gap.ns)}, most of it ${bar_name({ kind: "idle", bars: TL.i }, gap.most)}`]);
		} else if (row.kind === "ops") {
			ret.push(["kind", OP_KINDS[TL.what.of[B.what[i]]] || "call"]);
			const of = TL.launches[row.thread], a = of.begins(B.start[i], 0, of.n), b = of.begins(B.end[i], a, of.n);
			if (b > a) {
				let sum = 0;
				for (let k = a; k < b && k < a + 100000; k++)
					sum += TL.x.worked(of.of[k]);
				ret.push(["launched", `${count(b - a)}, which took ${ns(sum)}`]);
			}
		}
		return ret;
	}
	// The idle time of its device that it ended: how long, and the longest part of one cause; or null.
	function idle_before(row, i) {
		const B = TL.i, t = row.bars.start[i], lo = B.first[row.device], hi = B.first[row.device + 1];
		let k = B.ends(t - 1, lo, hi), most = k, ns = 0;
		if (k >= hi || B.start[k] >= t || B.end[k] < t - 1)
			return null;
		for (let until = B.end[k]; k >= lo && B.end[k] >= until - 1; until = B.start[k--]) {
			ns += B.worked(k);
			if (B.worked(k) > B.worked(most))
				most = k;
		}
		return { ns, most };
	}
	// The stack of a bar, from its root on: names, and the frame of the tree that it ends with.
	function bar_frame(row, i) {
		if (row.kind === "stacks")
			return [trees.cpu, row.bars.node[i], "cpu"];
		const group = TL.what.group[row.bars.what ? row.bars.what[i] : 0];
		if (row.kind === "work" && TL.frames.work.has(group))
			return [trees.device, TL.frames.work.get(group), "device"];
		if (row.kind === "idle" && TL.frames.idle.has(group))
			return [trees.device, TL.frames.idle.get(group)[0][0], "idle"];
		return null;
	}
	function lanes_panel() {
		const panel = $("lanes-panel"), here = L.here;
		if (!TL)
			return;
		if (!here) {
			panel.replaceChildren(el("p", { class: "dim" }, "Click a bar: what it is, who launched it, why the device was idle before. Wheel: zoom. Drag: move. Double click: zoom to a bar, a gap or a step."), lanes_tree());
			return;
		}
		const { row, i } = here, [[, name], ...facts] = bar_facts(row, i), frame = row.bars.what || row.bars.node ? bar_frame(row, i) : null, acts = [button("Zoom", () => lanes_to(row, i))], items = [];
		if (frame) {
			const [t, node, of] = frame, g = t.shape, path = [];
			for (let n = node; n > 0; n = g.parent[n])
				path.push(n);
			acts.push(button("Flame graph", () => go({ view: "flame", of, ops: "", mine: "", find: "", zoom: JSON.stringify(path_of(g, node)) })));
			const code = H.code_of && code_frame(g, node);
			if (code)
				acts.push(button("Code", () => go({ view: "code", kernel: H.names[g.name[code]], at: "" })));
			items.push(el("h3", {}, row.kind === "idle" ? "Who owns it" : "Stack"), el("ol", { class: "frames" }, path.slice(0, 60).map((n) => el("li", {}, button(H.names[g.name[n]], () => go({ view: "flame", of, ops: "", mine: "", find: "", zoom: JSON.stringify(path_of(g, n)) }), { class: "link" })))));
		}
		if (row.kind === "work") {
			const gap = idle_before(row, i), idle = L.rows.find((r) => r.kind === "idle" && r.device === row.device);
			if (gap && idle)
				acts.push(button("Idle before", () => { lanes_choose(idle, gap.most); lanes_show(idle, gap.most); }));
			acts.push(button("Next like it", () => lanes_next(row, i, 1)));
		}
		if (row.kind === "idle") {
			const list = TL.frames.idle.get(TL.what.group[row.bars.what[i]]) || [], all = list.reduce((sum, [, v]) => sum + v, 0), t = trees.device;
			if (list.length > 1)
				items.unshift(el("h3", {}, "Shares of such gaps"), el("ul", {}, list.slice(0, 6).map(([n, v]) => el("li", {}, `${share(v, all)} ${CLASS_OF.idle(t.name[n]) || H.names[t.name[n]]}${t.shape.parent[n] > 0 ? ": " + H.names[t.name[t.shape.parent[n]]] : ""}`))));
			const next = L.rows.filter((r) => r.kind === "work" && r.device === row.device).map((r) => [r, r.bars.begins(row.bars.end[i] - 1, r.lo, r.hi)]).filter(([r, k]) => k < r.hi).sort(([a, k], [b, m]) => a.bars.start[k] - b.bars.start[m])[0];
			if (next)
				acts.push(button("What ended it", () => { lanes_choose(...next); lanes_show(...next); }));
		}
		panel.replaceChildren(el("h2", {}, name), el("div", { class: "acts" }, acts), el("dl", {}, facts.map(([k, v]) => [el("dt", {}, k), el("dd", {}, String(v))])), ...items, lanes_tree());
	}
	// For those who do not see the picture: the lanes, and of the chosen one its longest bars in the time that is shown.
	function lanes_tree() {
		const here = L.here && L.here.row, items = [];
		L.rows.forEach((row, k) => {
			if (row.kind === "counter" || !row.name)
				return;
			const is_here = row === here;
			items.push(el("div", { role: "treeitem", "aria-level": row.kind === "head" ? 1 : 2, id: "lane" + k, "aria-selected": is_here ? "true" : "false", "aria-expanded": row.bars ? String(is_here) : String(!L.shut.has(row.key)), class: "item" + (is_here ? " here" : ""), onclick: () => row.bars ? lanes_choose(row, lane_longest(row).concat(-1)[0]) : lanes_toggle(row) }, row.title || row.name));
			if (is_here)
				lane_longest(row).forEach((i) => items.push(el("div", { role: "treeitem", "aria-level": 3, "aria-selected": i === L.here.i ? "true" : "false", class: "item sub" + (i === L.here.i ? " here" : ""), onclick: () => { lanes_choose(row, i); lanes_show(row, i); } }, `${ns(row.bars.end[i] - row.bars.start[i])}  ${bar_name(row, i)}`)));
		});
		return el("div", { role: "tree", "aria-label": "lanes, and the longest bars of the chosen one", class: "lanes-tree" }, items);
	}
	function lane_longest(row) {
		const B = row.bars, from = B.ends(L.view[0], row.lo, row.hi), to = B.begins(L.view[1], from, row.hi), ret = [];
		if (to - from > 20000) // by blocks: the longest of each
			for (let k = 0; k < 200; k++) {
				const a = from + floor((to - from) * k / 200), b = from + floor((to - from) * (k + 1) / 200);
				if (b > a)
					ret.push(B.longest(a, b));
			}
		else
			for (let i = from; i < to; i++)
				ret.push(i);
		return ret.sort((a, b) => B.worked(b) - B.worked(a)).slice(0, 12);
	}
	function lanes_toggle(row) {
		if (L.shut.has(row.key))
			L.shut.delete(row.key);
		else
			L.shut.add(row.key);
		L.rows = [];
		if (L.here && !TL.threads.length)
			L.here = null;
		const was = L.here;
		lanes_make();
		if (was) // the same lane among the new rows
			L.here = ((r) => r ? { row: r, i: was.i } : null)(L.rows.find((r) => r.bars === was.row.bars && r.lo === was.row.lo));
		$("lanes-tall").style.height = L.height + "px";
		lanes_paint();
		lanes_panel();
	}
	// The next bar of the same name in a lane.
	function lanes_next(row, i, by) {
		const B = row.bars, name = bar_label(row, i);
		for (let k = i + by; k >= row.lo && k < row.hi; k += by)
			if (bar_label(row, k) === name) {
				lanes_choose(row, k);
				lanes_show(row, k);
				return B;
			}
		say("there is no other");
		return null;
	}
	// Marks what matches the search.
	function lanes_find() {
		L.found = null;
		$("lanes-found").textContent = "";
		if (!S.find)
			return;
		let re;
		try {
			re = pattern(S.find, S.re === "1");
		} catch {
			$("lanes-found").textContent = "no such expression";
			return;
		}
		const hit = Uint8Array.from(TL.what.name, (name, w) => re.test(TL.names[name]) || re.test(names_kept.get(w * 4 + 2) || "") || re.test(idle_owner(w)[0] || "") ? 1 : 0);
		const node_hit = (w) => { const n = TL.frames.work.get(TL.what.group[w]); return n !== undefined && (re.test(H.names[trees.device.name[n]]) || re.test(H.full[trees.device.full[n] - 1] || "")); };
		for (let w = 0; w < hit.length; w++)
			hit[w] ||= node_hit(w) ? 1 : 0;
		let many = 0, sum = 0;
		for (let i = 0; i < TL.x.n; i++)
			if (hit[TL.x.what[i]] && TL.x.end[i] > L.view[0] && TL.x.start[i] < L.view[1]) {
				many += TL.x.many(i);
				sum += TL.x.worked(i);
			}
		L.found = hit;
		$("lanes-found").textContent = hit.some((v) => v) ? many ? `${count(many)} executions, ${ns(sum)}, in this time` : "no executions in this time" : "nothing matches";
	}
	function found_next(by) {
		const rows = L.rows.filter((r) => r.bars && r.bars.what), from = L.here && L.here.row.bars.what ? L.here.row.bars.start[L.here.i] : by > 0 ? L.view[0] : L.view[1];
		let best = null;
		for (const row of rows) {
			const B = row.bars;
			let i = by > 0 ? B.begins(from + 1, row.lo, row.hi) : B.begins(from, row.lo, row.hi) - 1;
			while (i >= row.lo && i < row.hi && !L.found[B.what[i]])
				i += by;
			if (i >= row.lo && i < row.hi && (!best || (B.start[i] - best.row.bars.start[best.i]) * by < 0))
				best = { row, i };
		}
		if (best) {
			lanes_choose(best.row, best.i);
			lanes_show(best.row, best.i);
		}
	}

	// ---- pointers and keys ----------------------------------------------------------------------------------------------------
	const fingers = new Map();
	let drag = null;
	function lanes_events() {
		const place = $("lanes"), canvas = $("lanes-canvas"), x_of = (e) => e.clientX - canvas.getBoundingClientRect().left;
		// Of two fingers: how far they are apart, and the time between them.
		const spread_of = () => {
			const [a, b] = [...fingers.values()].map((f) => x_of(f)), mid = (a + b) / 2;
			return b === undefined ? null : { apart: max(10, abs(a - b)), mid, t: lane_t(mid), view: L.view };
		};
		place.onscroll = lanes_soon;
		place.addEventListener("wheel", (e) => {
			const x = x_of(e), sideways = e.shiftKey || abs(e.deltaX) > abs(e.deltaY), unit = e.deltaMode ? 30 : 1;
			if (!TL || (x < L.gutter && !e.ctrlKey)) // the names scroll
				return;
			e.preventDefault();
			if (sideways)
				lanes_pan((e.deltaX || e.deltaY) * unit / (L.width - L.gutter));
			else
				lanes_zoom(lane_t(x), Math.exp(max(-1.2, min(1.2, e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.002)))));
		}, { passive: false });
		canvas.onpointerdown = (e) => {
			if (e.button || !TL)
				return;
			canvas.setPointerCapture(e.pointerId);
			fingers.set(e.pointerId, e);
			drag = { x: x_of(e), y: e.clientY, top: place.scrollTop, view: L.view, moved: false, chooses: e.shiftKey, spread: spread_of() };
		};
		canvas.onpointermove = (e) => {
			if (!TL)
				return;
			if (!fingers.has(e.pointerId)) {
				lanes_hover(e);
				return;
			}
			fingers.set(e.pointerId, e);
			if (fingers.size > 1) { // two fingers: the times below them stay there
				const { apart, mid } = spread_of();
				const length = (drag.spread.view[1] - drag.spread.view[0]) * drag.spread.apart / apart, from = drag.spread.t - (mid - L.gutter) / (L.width - L.gutter) * length;
				drag.moved = true;
				lanes_move(from, from + length);
				return;
			}
			const dx = x_of(e) - drag.x;
			drag.moved ||= abs(dx) > 3 || abs(e.clientY - drag.y) > 3;
			if (!drag.moved || drag.spread)
				return;
			$("tip").hidden = true;
			if (drag.chooses) {
				L.chosen = [max(L.gutter, min(drag.x, x_of(e))), max(drag.x, x_of(e))];
				lanes_soon();
				return;
			}
			const by = (drag.view[1] - drag.view[0]) / (L.width - L.gutter);
			lanes_move(drag.view[0] - dx * by, drag.view[1] - dx * by);
			place.scrollTop = drag.top - (e.clientY - drag.y);
		};
		canvas.onpointerup = canvas.onpointercancel = (e) => {
			fingers.delete(e.pointerId);
			if (fingers.size || !drag)
				return;
			const was = drag;
			drag = null;
			if (L.chosen) {
				const [a, b] = L.chosen.map(lane_t);
				L.chosen = null;
				lanes_move(a, b, true);
			} else if (!was.moved && e.type === "pointerup") {
				const hit = lanes_hit(e);
				if (hit.row && hit.row.kind === "head")
					lanes_toggle(hit.row);
				else
					lanes_choose(hit.row, hit.i);
			}
			place.focus({ preventScroll: true });
		};
		canvas.ondblclick = (e) => {
			const hit = lanes_hit(e), step = hit.row || hit.x < L.gutter ? null : step_at(hit.t);
			if (hit.i >= 0 && hit.row)
				lanes_to(hit.row, hit.i);
			else if (step)
				lanes_move(...step, true);
		};
		canvas.onpointerleave = () => { $("tip").hidden = true; };
		place.onkeydown = lanes_key;
		$("lanes-fit").onclick = () => lanes_move(...whole(), true);
		$("lanes-find").oninput = (e) => find_later(e.target.value);
		$("lanes-find").onkeydown = (e) => {
			if (e.key === "Enter" && L.found)
				found_next(e.shiftKey ? -1 : 1);
			else if (e.key === "Escape")
				place.focus();
		};
	}
	function lanes_hover(e) {
		const { row, i, t, x } = lanes_hit(e), tip = $("tip");
		tip.hidden = !row || i < 0 || x < L.gutter;
		if (tip.hidden)
			return;
		const [of, k] = row.kind === "launches" ? [L.rows.find((r) => r.kind === "work" && row.bars.of[i] >= r.lo && row.bars.of[i] < r.hi) || row, row.bars.of[i]] : [row, i], [[, name], ...facts] = of.kind === "launches" ? [["", "launch"]] : bar_facts(of, k);
		tip.replaceChildren(el("b", {}, (row.kind === "launches" ? "launch of " : "") + name), ...facts.map(([key, v]) => el("div", {}, `${key} ${v}`)), el("div", { class: "dim" }, `at ${tick_text(t, max(1, (L.view[1] - L.view[0]) / 1000))}`));
		tip_place(e);
	}
	function lanes_key(e) {
		const key = e.key.length === 1 ? e.key.toLowerCase() : e.key, here = L.here;
		if (!TL || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const mid = here && here.row.bars.end[here.i] > L.view[0] && here.row.bars.start[here.i] < L.view[1] ? max(L.view[0], min(L.view[1], (here.row.bars.start[here.i] + here.row.bars.end[here.i]) / 2)) : (L.view[0] + L.view[1]) / 2;
		if (key === "w" || key === "+" || key === "=")
			lanes_zoom(mid, 0.7);
		else if (key === "s" || key === "-")
			lanes_zoom(mid, 1 / 0.7);
		else if (key === "a" || key === "d")
			lanes_pan(key === "a" ? -0.15 : 0.15);
		else if (key === "f" && here)
			lanes_to(here.row, here.i);
		else if (key === "f" || key === "Home")
			lanes_move(...whole(), true);
		else if (key === "Escape" && here)
			lanes_choose(null, -1);
		else if (key === "Escape")
			lanes_move(...whole(), true);
		else if (key === "Enter" && here)
			lanes_to(here.row, here.i);
		else if (key === "n" && L.found)
			found_next(e.shiftKey ? -1 : 1);
		else if (key === "ArrowLeft" || key === "ArrowRight")
			lane_step(key === "ArrowLeft" ? -1 : 1);
		else if (key === "ArrowUp" || key === "ArrowDown")
			lane_change(key === "ArrowUp" ? -1 : 1);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	}
	const lanes_with_bars = () => L.rows.filter((r) => r.bars && r.kind !== "launches" && r.lo < r.hi);
	function lane_step(by) {
		const here = L.here;
		if (!here) {
			lane_change(1);
			return;
		}
		const i = here.i + by;
		if (i >= here.row.lo && i < here.row.hi) {
			lanes_choose(here.row, i);
			lanes_show(here.row, i);
		}
	}
	// To the lane above or below, at the same time.
	function lane_change(by) {
		const rows = lanes_with_bars(), at = L.here ? rows.indexOf(L.here.row) + by : by > 0 ? 0 : rows.length - 1, row = rows[at];
		if (!row)
			return;
		const t = L.here ? max(L.view[0], L.here.row.bars.start[L.here.i]) : L.view[0], i = min(row.hi - 1, row.bars.ends(t, row.lo, row.hi));
		lanes_choose(row, i);
		lanes_show(row, i);
	}
