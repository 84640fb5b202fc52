	// ---- flame graphs ---------------------------------------------------------------------------------------
	const F = { g: null, up: null, key: "", unit: "ns", x0: 0, x1: 1, here: -1, get boxes() { return boxes_at(0, $("chart").clientHeight); }, search: null, found: null, nth: -1, sum: 0 };
	// What is drawn: the tree, weighed, changed by one operation after the other. Kept until one of these changes.
	function flame_graph() {
		const kind = kind_now();
		if (!kind) {
			F.g = null;
			return;
		}
		const key = JSON.stringify([kind[0], metrics_now().by, S.time, S.ops, S.mine, S.leaf, S.roots]);
		F.per = per_now();
		if (key === F.key)
			return;
		F.key = key;
		F.unit = metrics_now().unit;
		F.g = F.whole = F.up = F.found = null; // memory for what comes
		F.whole = whole_make();
		const owner = ops().find(([op]) => op === "owner");
		let g = owner && trees[kind[2]].owner ? trees[kind[2]].weigh([IDLE], time(), null, H.owners.indexOf(owner[1]) + 1 || -1) : F.whole;
		if (S.leaf) {
			const of = g;
			g = hide(g, (i) => H.type[of.name[i]] > +S.leaf && (H.type[of.name[i]] & 63) !== 11 && !(H.type[of.name[i]] < 70 && H.type[of.name[i]] > 63));
		}
		if (S.mine) {
			const mine = is_mine(g);
			g = hide(g, (i) => !mine(i));
		}
		for (const [op, name] of ops()) {
			const id = H.names.indexOf(name), now = g;
			if (op === "focus")
				g = focus(g, id);
			else if (op === "hide")
				g = hide(g, (i) => now.name[i] === id);
			else if (op === "without")
				g = without(g, id);
			else if (op === "only")
				g = only(g, (i) => H.names[now.name[i]] === name && /^device/.test(kind_of(now, i)));
			else if (op === "own")
				g = only(g, (i) => H.names[now.name[i]] === name, true);
			else if (op === "group")
				g = only(g, WORK.includes(name) ? (i) => is_of_work(now, i, name) : (i) => group_of_idle(now.name[i]) === name);
			else if (op === "callers")
				g = callers(g, id);
			else if (op === "sandwich") {
				F.up = callers(g, id);
				g = focus(g, id);
			}
		}
		F.g = g;
		F.here = -1;
	}

	const worth = (v) => amount(v / F.per, F.unit) + (S.per ? " a step" : "");

	// ---- its chart --------------------------------------------------------------------------------------------
	const inverted = () => S.dir === "icicle" || F.up !== null;
	function flame_find() {
		F.search = F.found = null;
		F.bad = "";
		$("find").classList.remove("bad");
		if (!S.find || !F.g)
			return;
		try {
			F.search = new Search(S.find, S.re === "1");
		} catch (e) {
			$("find").classList.add("bad");
			F.bad = `this is no regular expression: ${e.message.replace(/^Invalid regular expression: /, "")}`;
			return;
		}
		F.found = F.search.sum(F.g);
	}
	function flame_zoom() {
		const g = F.g;
		F.x0 = 0;
		F.x1 = g.sum || 1;
		F.zoomed = 0;
		const zoom = json_read(S.zoom);
		if (zoom && is_texts(zoom.path || zoom)) {
			const i = find_path(g, zoom.path || zoom);
			if (i > 0 && g.total[i] > 0) {
				F.zoomed = i;
				F.x0 = g.start[i];
				F.x1 = F.x0 + g.total[i];
				if (zoom.x && zoom.x.length === 2 && zoom.x[1] > zoom.x[0]) {
					F.x1 = F.x0 + g.total[i] * min(1, zoom.x[1]);
					F.x0 += g.total[i] * max(0, zoom.x[0]);
				}
			}
		}
	}
	const rows_of = (g) => g ? max(g.rows.length, 1) : 0;
	function flame_height() {
		return (rows_of(F.g) + (F.up ? rows_of(F.up) - 3 : 0)) * ROW + 8;
	}
	// Where the row of a depth is in the whole chart. In a sandwich callers stand above the frame, which both begin with.
	function flame_y(is_up, d) {
		const rows = F.up ? rows_of(F.up) : 3;
		if (is_up)
			return (rows - 1 - d) * ROW + 4;
		if (inverted())
			return (rows - 3 + d) * ROW + 4;
		return max(flame_height(), F.view_height || 0) - (d + 1) * ROW - 4;
	}
	function flame_draw() {
		const place = $("chart"), canvas = $("flame");
		if (!F.g || place.hidden)
			return;
		const width = place.clientWidth, height = place.clientHeight, ctx = canvas_fit(canvas, width, height);
		const whole = max(flame_height(), height);
		F.view_height = height;
		$("tall").style.height = whole + "px";
		const top = place.scrollTop;
		ctx.clearRect(0, 0, width, height);
		const rows = [];
		flame_parts((g, is_up, d, x0, x1) => {
			const y = flame_y(is_up, d) - top;
			if (y > -ROW && y < height)
				rows.push([g, d, x0, x1, y]);
		});
		rows_draw(ctx, rows, width, F.here);
	}
	// Calls row(graph, is it of callers, depth, from, to) for each row of the picture.
	function flame_parts(row) {
		const part = (g, is_up, d, scale) => {
			for (; d < g.rows.length; d++)
				row(g, is_up, d, F.x0 * scale, F.x1 * scale);
		};
		part(F.g, false, F.up ? 1 : 0, 1);
		if (F.up)
			part(F.up, true, 2, F.up.sum / (F.g.sum || 1)); // the root and the frame itself are drawn below
	}
	const kind_of = (g, i) => H.palette[H.colour[g.name[i]]].name;

	// Chooses a frame: the panel, the tree and the ring show it.
	function flame_choose(i, quiet) {
		F.here = i;
		panel_render();
		const g = F.g;
		if (i >= 0 && !quiet)
			say([H.names[g.name[i]], ...frame_said(i, g), kind_of(g, i)].join(", "));
		if (i >= 0) {
			const place = $("chart"), y = flame_y(false, g.depth[i]);
			if (y < place.scrollTop)
				place.scrollTop = y - ROW;
			else if (y + ROW > place.scrollTop + place.clientHeight)
				place.scrollTop = y + 2 * ROW - place.clientHeight;
		}
		flame_draw();
	}
	const zoom_to = (i) => go({ zoom: i > 0 ? JSON.stringify(path_of(F.g, i)) : "" });
	// Makes room for frames that are narrower than a pixel.
	function zoom_range(b) {
		const g = b.g, from = g.start[b.i], to = g.start[b.last] + g.total[b.last];
		let p = g.parent[b.i];
		while (p > 0 && g.end[p] <= b.last)
			p = g.parent[p];
		const x = [(from - g.start[p]) / g.total[p], (to - g.start[p]) / g.total[p]];
		go({ zoom: JSON.stringify({ path: path_of(g, p), x }) });
	}
	// The boxes of the rows that are between two heights of the chart.
	function boxes_at(from, to) {
		const ret = [], { clientWidth: width, scrollTop } = $("chart");
		if (F.g)
			flame_parts((g, is_up, d, x0, x1) => {
				const y = flame_y(is_up, d) - scrollTop;
				if (y > from - ROW && y < to)
					row_boxes(g, g.rows[d], x0, x1, width, (x, w, i, n, last) => { ret.push({ x, y, w, i, n, last, g }); });
			});
		return ret;
	}
	function box_at(event) {
		const r = $("flame").getBoundingClientRect(), x = event.clientX - r.left, y = event.clientY - r.top;
		return boxes_at(y, y + 1).find((o) => x >= o.x && x < o.x + max(o.w, 1) && y >= o.y && y < o.y + ROW);
	}
	function flame_click(event) {
		const b = box_at(event);
		$("tip").hidden = true;
		if (!b)
			return;
		$("chart").focus();
		if (b.g !== F.g) { // a caller of a sandwich: in its own graph
			if (b.n === 1)
				op_add("sandwich", H.names[b.g.name[b.i]]);
		} else if (b.n > 1) {
			zoom_range(b);
		} else {
			const was = b.i === F.zoomed;
			if (!was)
				zoom_to(b.i);
			flame_choose(b.i);
		}
	}
	function flame_hover(event) {
		const b = box_at(event), tip = $("tip");
		tip.hidden = !b;
		if (!b)
			return;
		const name = H.names[b.g.name[b.i]], full = H.full[b.g.full[b.i] - 1];
		if (b.n > 1) {
			let sum = 0;
			for (let i = b.i; i <= b.last; i = max(i + 1, b.g.end[i]))
				sum += b.g.total[i];
			tip.replaceChildren(el("b", {}, `${count(b.n)} frames below a pixel`), el("div", {}, worth(sum) + " \u00b7 " +
				share(sum, F.whole.sum) + " of all"), el("div", { class: "dim" }, "click to open them"));
		} else {
			tip.replaceChildren(el("b", {}, name), ...frame_said(b.i, b.g).map((t) => el("div", {}, t)),
				el("div", { class: "dim" }, kind_of(b.g, b.i)), full ? el("div", { class: "dim full" }, full) : "");
		}
		tip_place(event);
	}
	function tip_place(event) {
		const tip = $("tip"), w = tip.offsetWidth, h = tip.offsetHeight;
		tip.style.left = max(4, min(event.clientX + 14, innerWidth - w - 8)) + "px";
		tip.style.top = (event.clientY + 18 + h > innerHeight ? max(4, event.clientY - h - 12) : event.clientY + 18) + "px";
	}

	// ---- keys ---------------------------------------------------------------------------------------------------
	// The next sibling with a width, in that direction, or -1.
	function sibling(g, i, by) {
		const row = g.rows[g.depth[i]], k = row.indexOf(i) + by;
		return k >= 0 && k < row.length ? row[k] : -1;
	}
	function widest(g, i) {
		let best = -1;
		for (let k = i + 1; k < g.end[i]; k = g.end[k])
			if (g.total[k] > 0 && (best < 0 || g.total[k] > g.total[best]))
				best = k;
		return best;
	}
	function flame_key(event) {
		const g = F.g, here = F.here < 0 ? F.zoomed : F.here, up = inverted() ? "ArrowDown" : "ArrowUp";
		const down = inverted() ? "ArrowUp" : "ArrowDown";
		let to = -1;
		if (!g || event.ctrlKey || event.metaKey || event.altKey)
			return;
		if (event.key === up)
			to = widest(g, here);
		else if (event.key === down)
			to = g.parent[here];
		else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
			to = sibling(g, here, event.key === "ArrowLeft" ? -1 : 1);
		else if (event.key === "Home")
			to = 0;
		else if (event.key === "Enter")
			zoom_to(here);
		else if (event.key === "Escape" && S.zoom)
			go({ zoom: "" });
		else
			return;
		event.preventDefault();
		if (to >= 0)
			flame_choose(to);
	}
	function found_go(by) {
		const n = F.found ? F.found.frames.length : 0;
		if (!n)
			return;
		F.nth = (F.nth + by + n) % n;
		const i = F.found.frames[F.nth];
		if (g_width(i) < 2)
			zoom_to(F.g.parent[i] > 0 ? F.g.parent[i] : i);
		flame_choose(i);
		found_say();
	}
	const g_width = (i) => F.g.total[i] / (F.x1 - F.x0) * $("chart").clientWidth;
	function found_say() {
		const f = F.found;
		const least = f && share(f.sum, F.whole.sum), most = f && share(f.sum + f.maybe, F.whole.sum);
		$("found").textContent = !f ? F.bad || "" : !f.frames.length && !f.maybe ? "nothing matches"
			: !f.frames.length ? `nothing matches; up to ${most} of all may, in frames that were joined`
			: `${least === most ? least : least + " to " + most} of all \u00b7 ${worth(f.sum)} \u00b7 ` +
			(F.nth >= 0 ? `${count(F.nth + 1)} of ` : "") + `${count(f.frames.length)} frames`;
	}

	// ---- operations, as a line of crumbs --------------------------------------------------------------------------
	const op_add = (op, name) => go({ ops: JSON.stringify([...ops(), [op, name]]), zoom: "" });
	const OPS = { only: "only", group: "only", owner: "idle time of", own: "own time of", focus: "from", hide: "without frame", without: "without stacks of", callers: "callers of", sandwich: "around" };
	const op_said = (op, name) => op === "group" && GROUPS[name] ? GROUPS[name][0] : op === "owner" ? name || UNOWNED : name;
	function crumbs_render() {
		const list = ops(), items = [];
		list.forEach(([op, name], k) => items.push(button(`${OPS[op] || op} ${op_said(op, name)}  \u00d7`, () =>
			go({ ops: JSON.stringify(list.filter((_, i) => i !== k)), zoom: "" }), { class: "crumb", "aria-label": `undo: ${OPS[op]} ${name}` })));
		if (S.mine)
			items.push(button("only my code  \u00d7", () => go({ mine: "", zoom: "" }), { class: "crumb" }));
		if (S.zoom && F.g && F.zoomed > 0)
			items.push(button(`zoomed: ${H.names[F.g.name[F.zoomed]]}  \u00d7`, () => go({ zoom: "" }), { class: "crumb" }));
		$("crumbs").replaceChildren(...(items.length ? items : [el("span", { class: "dim" }, "Click a frame to zoom.")]));
	}

	// ---- the panel: the chosen frame, and the tree of what is around it --------------------------------------------
	const PANEL_MAX = 40, CAPTION = 26;
	// Made once, since each step changes all of it: new elements would be a burden.
	let P = null;
	function panel_make() {
		const here = () => F.here < 0 ? F.zoomed : F.here, name = () => H.names[F.g.name[here()]], op = (text, o, title) => button(text, () => op_add(o, name()), { title });
		P = {
			here, name, title: el("h2"), full: el("p", { class: "full" }), said: el("p"), rest: el("p", { class: "dim" }), items: [],
			code: button("Code", () => go({ view: "code", kernel: H.names[F.g.name[P.code_of]], at: P.code_of === here() ? "" : H.names[F.g.name[H.type[F.g.name[here()]] === 10 ? F.g.parent[here()] : here()]] })), row: button("In tables", () => go({ view: "tables", table: "kernels", filter: P.in_table })),
			tree: el("div", { role: "tree", id: "tree", tabindex: "0", "aria-label": "call tree", onkeydown: flame_key }),
		};
		P.acts = el("div", { class: "acts" }, button("Zoom", () => zoom_to(here())), op("From here", "focus", "all that is called by frames of this name, as one tree"),
			op("Around", "sandwich", "callers above, callees below"), op("Hide", "hide", "its callees move to its callers"), op("Leave out", "without", "without the stacks that have it"),
			button("Copy stack", () => stack_copy(here())), P.code, P.row);
		$("panel").replaceChildren(P.title, P.full, P.said, P.acts, P.tree, P.rest);
	}
	// What a step does not change is not written again: each writing costs the browser memory.
	function panel_item() {
		const bar = el("i"), num = el("span", { class: "num" }, " "), name = el("span", { class: "name" }, " "), was = {},
			e = el("div", { role: "treeitem", class: "item", onclick: () => flame_choose(item.k), ondblclick: () => zoom_to(item.k) }, el("span", { class: "bar" }, bar), num, name);
		const put = {
			id: (v) => { e.id = v; }, level: (v) => set(e, "aria-level", v), here: (v) => { e.classList.toggle("here", v); set(e, "aria-selected", v); }, more: (v) => set(e, "aria-expanded", v),
			share: (v) => { num.firstChild.data = v; }, name: (v) => { name.firstChild.data = e.title = v; }, indent: (v) => { name.style.paddingLeft = v; },
			width: (v) => { bar.style.width = v; }, fill: (v) => { bar.style.backgroundColor = v; },
		};
		const item = { e, k: 0, show: (now) => {
			for (const key in now)
				if (was[key] !== now[key])
					put[key](was[key] = now[key]);
		} };
		return item;
	}
	const set = (e, key, value) => value === null ? e.removeAttribute(key) : e.setAttribute(key, value);
	function panel_render() {
		const g = F.g;
		if (!g || $("chart").hidden)
			return;
		if (!P)
			panel_make();
		const i = P.here(), name = P.name(), full = H.full[g.full[i] - 1];
		const above = [], below = [];
		for (let k = g.parent[i]; k >= 0; k = g.parent[k])
			above.unshift(k);
		for (let k = i + 1; k < g.end[i]; k = g.end[k])
			if (g.total[k] > 0)
				below.push(k);
		below.sort((a, b) => g.total[b] - g.total[a]);
		const shown = [...above.slice(-PANEL_MAX), i, ...below.slice(0, PANEL_MAX)];
		shown.forEach((k, n) => {
			const item = P.items[n] ||= panel_item(), part = g.total[k] / (F.whole.sum || 1);
			item.k = k;
			item.show({
				id: "item" + k, level: g.depth[k] + 1, here: k === i, more: g.depth[k] < g.depth[i] || (k === i ? below.length > 0 : g.end[k] > k + 1 ? false : null),
				share: share(part, 1), name: H.names[g.name[k]], indent: max(0, g.depth[k] - g.depth[i] + 4) * 6 + "px",
				width: (100 * min(1, part)).toFixed() + "%", fill: fill_of(g, k),
			});
			if (item.e.parentNode !== P.tree)
				P.tree.append(item.e);
		});
		P.items.slice(shown.length).forEach(({ e }) => e.remove());
		set(P.tree, "aria-activedescendant", "item" + i);
		P.in_table = H.tables && [name, full].find((t) => t && kernel_row(t));
		P.title.textContent = name;
		P.full.textContent = full === name ? "" : full;
		P.said.replaceChildren(...frame_said(i, g).map((t) => el("div", {}, t)), i > 0 ? el("div", { class: "dim" }, kind_of(g, i)) : "");
		P.acts.hidden = i <= 0;
		P.code.hidden = !(P.code_of = H.code_of && code_frame(g, i));
		P.row.hidden = !P.in_table;
		P.rest.textContent = below.length > PANEL_MAX ? `and ${count(below.length - PANEL_MAX)} more callees` : "";
	}
	function stack_copy(i) {
		const text = path_of(F.g, i).join("\n") + "\n";
		(navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject()).then(() => say("stack copied"),
			() => save("stack.txt", "text/plain", text));
	}

	// ---- pictures, with a line above that says what they are of -----------------------------------------------------------------------------------------------------
	function flame_svg() {
		const width = $("chart").clientWidth, xml = (t) => t.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\0-\x08\x0b-\x1f]/g, "?");
		const out = [], height = flame_height() + CAPTION;
		flame_parts((g, is_up, d, x0, x1) => row_boxes(g, g.rows[d], x0, x1, width, (x, w, i, n) => {
			const y = inverted() ? flame_y(is_up, d) + CAPTION : height - (d + 1) * ROW - 4, name = n > 1 ? `${n} frames below a pixel` : H.names[g.name[i]];
			out.push(`<g><title>${xml(name + "\n" + (n > 1 ? "" : frame_said(i, g).join("\n")))}</title><rect x="${x.toFixed(1)}" y="${y}" width="${w.toFixed(1)}" ` +
				`height="${ROW - 1}" fill="${n > 1 ? "#999" : fill_of(g, i)}"/>` + (n > 1 || w <= LABELLED ? "" : `<text x="${(x + 4).toFixed(1)}" y="${y + 14}">${xml(label(name, w))}</text>`) + "</g>");
		}));
		return `<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by aiflame ${H.version} -->\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
			`font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11"><rect width="100%" height="100%" fill="#fff"/><text x="4" y="17">${xml(flame_caption())}</text>${out.join("\n")}</svg>\n`;
	}
	// The canvas below a line that says what it is of.
	function flame_png() {
		const from = $("flame"), by = window.devicePixelRatio || 1, to = el("canvas"), ctx = canvas_fit(to, from.width / by, from.height / by + CAPTION);
		ctx.fillStyle = css("--paper");
		ctx.fillRect(0, 0, to.width, to.height);
		ctx.fillStyle = css("--ink");
		ctx.font = FONT;
		ctx.fillText(flame_caption(), 4, 17);
		ctx.drawImage(from, 0, CAPTION, from.width / by, from.height / by);
		to.toBlob((b) => save("aiflame.png", "image/png", b));
	}
