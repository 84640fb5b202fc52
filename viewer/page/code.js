	// ---- code: source and instructions side by side, as `aiflame annotate` has them (src/report/annotate_json.h) ----------
	let code_nth = 0; // of the hottest
	// The frame that has a listing, of a frame: itself, or the kernel that it is inside of; or 0.
	function code_frame(g, i) {
		const type = H.type[g.name[i]], inside = type > 69 || (type > 7 && type < 11); // inlined into a kernel; a line, an instruction, a stall
		for (let k = i; k > 0 && (k === i || inside); k = g.parent[k])
			if (H.code_of && H.code_of.includes(H.names[g.name[k]]))
				return k;
		return 0;
	}
	function code_render() {
		const list = H.code_of || [], at = max(0, list.indexOf(S.kernel)), place = $("code-body");
		$("kernel").hidden = $("hottest").hidden = !list.length;
		if (!list.length) {
			place.replaceChildren(el("p", { class: "none" }, "There is no listing: no instruction samples or lines; see aiflame info."));
			return;
		}
		choices("kernel", list.map((t) => [t, t]));
		$("kernel").value = list[at];
		const { head, all, functions } = H.code[at], panes = [[], []], rows = []; // rows: its element, what chooses it
		const most = functions.flatMap((f) => [...f.lines, ...f.code]).reduce((m, r) => max(m, r[2] || 0), 1);
		for (const f of functions) {
			const sides = [f.lines, f.code].map((list, side) => {
				const width = (k) => max(0, ...list.map((r) => (r[k] || "").length)), wide = [width(0), min(width(1), 60)];
				return list.map(([where = "", text = "", n = 0, line, waits], k) => {
					const e = el("div", { class: "line", onclick: () => { code_nth = 0; show(side, k); } }, `${(n ? share(n, all) : "").padStart(8)}  ${where.padEnd(wide[0])}  ${waits ? text.padEnd(wide[1]) + "  " + waits : text}`);
					if (n)
						e.style.background = `color-mix(in srgb, var(--hot) ${round(6 + 54 * n / most)}%, transparent)`;
					rows.push({ side, n, where, show: () => show(side, k) });
					return e;
				});
			});
			// Marks a line and its instructions, or an instruction, its line and what it waits for, and makes room for them.
			const show = (side, k) => {
				const [row, source] = side ? [f.code[k][3], f.code[k][5]] : [k];
				const of_line = (side ? [k] : f.code.map((_, n) => n).sort((a, b) => f.code[b][2] - f.code[a][2])).filter((n) => f.code[n][3] === row);
				place.querySelectorAll(".lit").forEach((e) => e.classList.remove("lit"));
				for (const e of [sides[0][row], sides[side][k], ...of_line.map((n) => sides[1][n]), source && sides[1][f.code.findIndex((r) => r[0] === source)]])
					if (e)
						e.classList.add("lit");
				for (const e of [sides[0][row], sides[1][side ? k : of_line[0]]])
					if (e) { // in its pane alone
						const pane = e.parentNode, y = e.offsetTop - pane.scrollTop;
						if (y < 0 || y > pane.clientHeight / 2)
							pane.scrollTop = e.offsetTop - pane.clientHeight / 2;
					}
			};
			const title = () => f.head.map((t) => el("b", { class: "line" }, t));
			const no_text = f.lines.some((r) => r[0]) && !f.lines.some((r) => r[1]);
			sides.forEach((s, side) => s.length && panes[side].push(...title(), no_text && !side ? el("div", { class: "line dim" }, "source not recorded") : "", s, el("br")));
		}
		place.replaceChildren(el("p", { class: "dim" }, head.map((t) => el("div", {}, t))), el("div", { class: "panes" }, panes.map((p, side) =>
			p.length ? el("pre", { tabindex: "0", "aria-label": (side ? "instructions of " : "source of ") + list[at] }, p) : "")));
		const hot = rows.filter((r) => r.n && r.side === (panes[1].length ? 1 : 0)).sort((a, b) => b.n - a.n);
		$("hottest").onclick = () => hot.length && hot[code_nth++ % min(hot.length, 10)].show();
		const frame = S.at && rows.find((r) => r.where && (r.where.split(" ")[0] === S.at || S.at.endsWith(" " + r.where.replace(/x0+(?=.)/, "x"))));
		if (frame)
			frame.show();
		else if (hot.length) {
			hot[0].show();
			code_nth = 1;
		}
	}
