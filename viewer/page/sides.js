	// ---- the page of two sides: `aiflame diff A B -o d.html` ------------------------------------------------------------
	const VIEWS = [["overview", "Comparison", sides_render], ["flame", "Flame graph", flame_render], ["tables", "Tables", tables_render]];
	const views = () => VIEWS;
	const KIND = ["diff", "A and B", "diff"], BYS = [["", "both"], ["a", "A"], ["b", "B"]], LEAVES = [], COLOURS = [["", "difference"], ["kind", "kind"], ["safe", "colour-blind"]];
	let trees = {}, kinds = [KIND], D;
	function trees_make() {
		D = H.diff;
		trees = { diff: new Tree(H.trees[0]) };
		const t = trees.diff, side = [0, 1].map(() => new Float64Array(t.n));
		for (let i = 0; i < t.e.node.length; i++)
			side[t.e.metric[i]][t.e.node[i]] += t.e.value[i] / H.scale;
		t.side = side;
		if (!(t.totals[0] + t.totals[1]))
			kinds = [];
	}
	const kind_now = () => kinds[0];
	const metrics_now = () => ({ by: S.by, unit: H.unit });
	const by_has = () => true, per_now = () => 1, picture_note = () => "", link_trouble = () => [];
	const whole_make = () => graph({ ...trees.diff.shape, side: trees.diff.side });
	// Widths: where a frame takes more, so that what is gone is seen; or those of one side.
	function sides_graph(g) {
		const [a, b] = g.side;
		g.self = a.map((v, i) => S.by === "a" ? v : S.by === "b" ? b[i] : max(v, b[i]));
		g.sums = g.side.map((v) => totals(g, v, new Float64Array(g.n)));
	}
	const percent = (v) => abs(v) < 0.0005 ? "0 %" : (v < 0 ? "\u2212" : "+") + (100 * abs(v)).toFixed(abs(v) < 1 ? 1 : 0) + " %";
	const look_in = (g, i) => {
		const [a, b] = [g.sums[0][i], g.sums[1][i]];
		if (g.look[i] !== UNTESTED)
			return H.looks[g.look[i]];
		// SAME, UNKNOWN, UP, DOWN, NEW, GONE of src/compare/compare.h
		return H.pale[!a ? 4 : !b ? 5 : abs(b / a - 1) < D.margin ? 0 : b > a ? 2 : 3];
	};
	function frame_said(i, g) {
		const [a, b] = [g.sums[0][i], g.sums[1][i]];
		return [`A ${amount(a, H.unit)}, B ${amount(b, H.unit)} a ${D.unit}`, cell_text("signed", b - a) + (a && b ? ` (${percent(b / a - 1)})` : ""),
			look_in(g, i)[1], `${share(g.total[i], F.whole.sum)} of the picture's width`];
	}
	const side_name = (s) => `${s.name} (${count(s.runs.length)} run${s.runs.length === 1 ? "" : "s"})`;
	const flame_caption = () => `A: ${side_name(D.a)}, B: ${side_name(D.b)} \u00b7 A ${amount(F.g.sums[0][0], H.unit)}, B ${amount(F.g.sums[1][0], H.unit)} a ${D.unit} \u00b7 ` +
		(S.by ? `widths of ${S.by.toUpperCase()}` : "frames are as wide as where they take more");
	const group_in = (g, i) => S.colour ? null : look_in(g, i);
	const group_by = kind_group;

	// ---- its first view, and where rows lead to -----------------------------------------------------------------------------
	// To the frame that a finding is about, as far as the picture has it.
	function finding_open(k) {
		go({ view: "flame", ops: "", mine: "", by: "", find: "", zoom: JSON.stringify(H.paths[k]) });
		flame_choose(find_path(F.g, H.paths[k], true));
	}
	function row_open(key, r) {
		if (key === "stacks")
			finding_open(H.tables.stacks.rows.indexOf(r));
		else if (key === "kernels")
			go({ view: "flame", ops: "", find: r.kernel, re: "", zoom: "" });
	}
	function page_make() {
		$("sides").hidden = false;
		$("of").hidden = true;
		$("sides").replaceChildren(...["a", "b"].map((k) => el("span", { class: "side " + k, title: D[k].runs.map((r) => r.path).join("\n") }, el("b", {}, k.toUpperCase()), " ", side_name(D[k]))),
			el("span", { class: "dim" }, D.per));
	}
	const page_draw = () => {}, page_hooks = null, group_of_idle = () => null, GROUPS = {}; // idle time is not compared
	const rows_timed = () => null, row_bar = () => null;
	function sides_render() {
		const row = (r, cells) => el("tr", r, cells.map(([c, text]) => el("td", { class: c }, text))), { stacks, metrics } = H.tables;
		const list = (rows) => [...new Set(rows)].filter(Boolean).slice(0, 12), facts = (k, name, rows) => list(rows).map((t) => [el("dt", {}, name), el("dd", {}, t)]);
		const notes = [...D.notes, ...H.lacks];
		$("overview").replaceChildren(
			el("section", { class: "card wide" }, el("h2", {}, "What changed from A to B"), el("p", { class: "lead" }, D.summary), D.no_verdict.map((t) => el("p", { class: "none" }, "No verdict: " + t)),
				el("table", { class: "sums" }, el("thead", {}, el("tr", {}, ["", "A", "B", "change", D.no_verdict.length ? "" : "verdict"].map((t) => el("th", { scope: "col" }, t)))), el("tbody", {}, metrics.rows.map((m) =>
					row({}, [["", m.metric], ["num", m.A], ["num", m.B], ["num", m.change], ["is-" + m.verdict.split(" ")[0], m.verdict]]))))),
			el("section", { class: "card wide" }, el("h2", {}, "Stacks that changed"), stacks.rows.length ? el("table", { class: "found" }, el("tbody", {}, stacks.rows.slice(0, 10).map((s, k) =>
				row(opens(() => finding_open(k)), [["num", cell_text("signed", s.difference)], ["verdict is-" + s.verdict.split(" ")[0], s.verdict], ["how", s.how], ["name", s.stack]])))) : el("p", { class: "none" }, stacks.none),
			button("All of them", () => go({ view: "tables", table: "stacks" }), { class: "link" })),
			...["a", "b"].map((k) => card(`${k.toUpperCase()}: ${side_name(D[k])}`, el("dl", {}, facts(k, "command", D[k].runs.map((r) => r.command.replace(/^\/bin\/sh -c '([^']*)'$/, "$1"))), facts(k, "machine", D[k].runs.map((r) => r.machine)),
				facts(k, "run", D[k].runs.map((r) => r.path))))),
			...(notes.length ? [card("To be known of it", el("ul", {}, notes.map((t) => el("li", {}, t))))] : []));
	}
