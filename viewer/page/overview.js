	// ---- overview: what `aiflame why` says, and where to look next ------------------------------------------------------
	const PHASES = { startup: "Start-up", loop: "Loop", tail: "Tail" };
	function overview_render() {
		const w = H.why, window_of = w && w.window && time_text([w.window.from_ns, w.window.to_ns]), fresh = { time: window_of, zoom: "", ops: "", mine: "", by: "", leaf: "", per: "", roots: "", find: "", re: "", filter: "" }, body = [], name = (g) => GROUPS[g][0], colour = (r) => GROUPS[r.group][1], place = (r) => r.place && (r.is_before ? "before " : "") + r.place;
		const bounds = (...of) => body.push(el("section", { class: "card wide" }, el("h2", {}, "What bounds this program"), ...of));
		/* Of a program that used no device, what `why` says under a word: lines without one belong to the word before. */
		let word = "";
		const answers = (H.why_cpu || []).map((line) => [word = line.slice(0, 9).trim() || word, line.slice(9)]), said = (of) => answers.filter(([key]) => key === of).map(([, text]) => text);
		const faster = (m) => !m || m >= 1e8 || m <= 1.005e6 ? "" : `at most ${m >= 2e6 ? (m / 1e6).toFixed(1) + "\u00d7" : ((m - 1e6) / 1e4).toFixed(0) + " %"} faster without`;
		if (w && w.groups.length) {
			// What is opened has the time that the rows are of, and nothing but what a row names.
			// Idle time that has this cause in the loop alone, and not in the whole run, has no frames: the time line has its gaps.
			const open = (g) => go({ ...fresh, ...(WORK.includes(g.group) || idle[g.group] > 0 ? { view: "flame", of: WORK.includes(g.group) ? "device" : "idle", ops: JSON.stringify([["group", g.group]]) } : { view: "timeline" }) });
			const bar = stack_bar(w.groups.map((g) => [name(g.group), g.share_ppm / 1e6, colour(g)]));
			const of = w.window.of === "loop" ? "the loop" : "the devices' time", outside = w.outside_ns > w.time_ns / 20 ? `, without ${ns(w.outside_ns)} before the first device work in it and behind the last` : "";
			const idle = idle_groups([w.window.from_ns, w.window.to_ns]), worth_of = (g) => g.group in idle ? idle[g.group] : g.share_ppm * w.time_ns / 1e6;
			bounds(el("p", { class: "lead" }, H.why_brief || ""), H.why_job ? el("p", { id: "job" }, `Ranks: ${H.why_job}. `, H.tables.ranks.types && button("Each rank", () => go({ view: "tables", table: "ranks" }), { class: "link" })) : "", bar,
				el("table", { class: "groups" }, el("thead", {}, el("tr", {}, ["", `of ${of}`, "time", w.groups.some((g) => faster(g.at_most_ppm)) ? "if it took none" : "", "to try"].map((t, k) => el("th", { scope: "col", class: k && k < 4 ? "num" : "" }, t)))), el("tbody", {}, w.groups.filter((g) => g.share_ppm > 0).map((g) =>
					el("tr", opens(() => open(g)), el("td", {}, dot(colour(g)), name(g.group)), el("td", { class: "num" }, share(worth_of(g), w.time_ns)), el("td", { class: "num dim" }, ns(worth_of(g))),
						el("td", { class: "num dim" }, faster(g.at_most_ppm)),
						el("td", { class: "try" }, g.share_ppm >= 50000 ? g.try || "" : ""))))), el("p", { class: "dim" }, `Shares of ${ns(w.time_ns)} of ${of}${w.window.devices > 1 ? " on " + w.window.devices + " devices" : ""}, from ${ns(w.window.from_ns)} to ${ns(w.window.to_ns)}${outside}. `,
					button("Select this time", () => go({ time: time_text([w.window.from_ns, w.window.to_ns]) }), { class: "link" })),
				(w.phases || []).length > 1 ? el("p", { class: "phases" }, w.phases.filter((f) => f.to_ns > f.from_ns).map((f) => el("span", {}, button(`${PHASES[f.phase] || f.phase} ${ns(f.to_ns - f.from_ns)}`, () => go({ time: time_text([f.from_ns, f.to_ns]) }), { class: "link" }), el("span", { class: "dim" }, ` devices busy ${share(f.busy_ppm, 1e6)}`)))) : "");
		} else if (H.why_cpu) {
			// Its functions and lines have cards of their own.
			bounds(el("p", { class: "lead" }, `Bound by ${said("bound by")[0]}.`), ...["CPUs", "ranks", "threads", "machine", "missing", "python", "spinning", "try"].flatMap((key) => said(key).map((text) => el("p", { class: "dim" }, `${key === "try" ? "To try:" : key} ${text}`))));
		} else {
			bounds(el("p", { class: "none" }, H.why_none || "No device work with times: nothing says what bounds it."));
		}
		const bars = (rows, total, what, open, fill, brief = what, word = null) => el("table", { class: "bars" }, el("tbody", {}, rows.map((r) => {
			const name = el("td", { class: fill ? "name" : "name all", title: what(r) }, middle_cut(brief(r), 50), word ? el("span", { class: "word" }, word(r)) : "");
			name.style.backgroundSize = `${100 * r.ns / rows[0].ns}% 3px`;
			if (fill)
				name.style.backgroundImage = `linear-gradient(${fill(r)} 0 100%)`;
			return el("tr", opens(() => open(r)), name, el("td", { class: "num" }, share(r.ns, total)), el("td", { class: "num dim" }, amount(r.ns, r.unit || "ns")));
		})));
		const window_ns = w && [w.window.from_ns, w.window.to_ns], of_time = (all) => `Shares of ${ns(all)} of ${w && w.window.of === "loop" && !time() ? "the loop" : time() ? "the selected time" : "the devices' time"}.`;
		const within = w && w.window.of === "loop" ? ", in the loop" : "", kernels = (title, rows, all, sums) => {
			const shown = rows.slice(0, 8), drawn = shown.reduce((sum, r) => sum + r.ns, 0), added = sums && shown.reduce((sum, r) => sum + (sums.get(r.kernel) || r.ns), 0);
			return card(title, rows.length ? bars(shown, all, (r) => short_of(r.kernel), (r) =>
				go({ ...fresh, view: "flame", of: "device", time: S.time || window_of, ops: JSON.stringify([["only", short_of(r.kernel)]]) })) : el("p", { class: "none" }, "none"),
			el("p", { class: "dim" }, of_time(all), added > drawn * 1.005 ? ` Moments in which several run are shared among them; the sum of durations, which aiflame why has, is ${ns(added)} in place of ${ns(drawn)}.` : ""),
			button("All kernels", () => go({ view: "tables", table: "kernels" }), { class: "link" }));
		};
		const t = time(), in_time = t && kernels_timed();
		if (t)
			body.unshift(el("section", { class: "card wide", id: "selected" }, el("h2", {}, `The selected time: ${time_said(t)}`), stack_bar(shares_of(t)), el("div", { id: "shares" }, shares_keys(t)),
				el("p", { class: "dim" }, "What bounds the whole run is below; aiflame why --time has a part. ", button("Whole run", () => go({ time: "" }), { class: "link" }))));
		if (in_time)
			body.push(kernels("Kernels, in the selected time", in_time.map((r) => ({ kernel: r.kernel, ns: r.time })), device_time(t)));
		else if (w && w.kernels.length)
			body.push(kernels("Kernels" + within, (kernels_timed([w.window.from_ns, w.window.to_ns]) || []).map((r) => ({ kernel: r.kernel, ns: r.time })), w.time_ns, new Map(w.kernels.map((k) => [short_of(k.kernel), k.ns]))));
		const functions = !(w && w.groups.length) && trees.cpu && H.tables.cpu.rows;
		if (functions && functions.length)
			body.push(card("Functions on CPUs", bars(functions.filter((r) => r.self).slice(0, 8).map((r) => ({ ...r, ns: r.self, unit: trees.cpu.unit })), functions[0].self / functions[0].self_share, (r) => short_of(r.function), (r) => row_open("cpu", r)),
				button("All functions", () => go({ view: "tables", table: "cpu" }), { class: "link" })));
		const mine = functions && functions.length && !time() ? said("lines").map((text) => ({ ns: parseFloat(text) / 100 * functions[0].self / functions[0].self_share, place: text.slice(9) })) : [];
		if (mine.length)
			body.push(card("Lines of the program", bars(mine, functions[0].self / functions[0].self_share, (r) => r.place, (r) => go({ ...fresh, time: "", view: "flame", of: "cpu", find: r.place.replace(/ \(.*/, "") })),
				el("p", { class: "dim" }, "Each with what it called in libraries.")));
		const owned = window_ns ? owners_of(t || window_ns) : [], lines = new Map(w ? w.owners.map((o) => [place(o), o.place]) : []);
		/* Of a function, the line that `why` names. */
		const line_of = (k) => [...lines].find(([text]) => text && text.replace(/:\d+\)/g, ")") === owner_name(k)), named = (r) => (line_of(r.owner) || [owner_name(r.owner)])[0], most = (r) => name(r.groups[0][0]);
		if (owned.length)
			body.push(card("Idle time, by its owner" + (t ? ", in the selected time" : within), bars(owned.slice(0, 8), t ? device_time(t) : w.time_ns, (r) => `${named(r)}: ${r.groups.map(([key, v]) => `${name(key)} ${ns(v)}`).join(", ")}`,
				(r) => go({ ...fresh, view: "flame", of: "idle", time: S.time || window_of, ops: JSON.stringify([["owner", H.owners[r.owner - 1]]]) }), (r) => colour({ group: r.groups[0][0] }), named, most),
			el("p", { class: "dim" }, of_time(t ? device_time(t) : w.time_ns)), button("All idle time", () => go({ view: "tables", table: "idle" }), { class: "link" })));
		const facts = [["Command", H.title], ["Host", H.host], ["Recorded", H.date], ["Length", ns(H.end_ns)], ["Devices", [...new Set(H.strips.map((s) => s.device))].join(", ")],
			["Loop", w && w.loop && w.loop.steps ? `${count(w.loop.steps)} ${w.loop.found_by === "launches" ? "turn" : "step"}${w.loop.steps === 1 ? "" : "s"}, median ${ns(w.loop.median_ns)}, 95 % within ${ns(w.loop.p95_ns)}` : ""],
			["Quality", H.why_cpu ? "" : H.quality], ["File", H.file]].filter(([, v]) => v);
		body.push(card("This profile", el("dl", {}, facts.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))));
		const joined = H.trees.filter((t) => t.joined).map((t) => `${count(t.joined)} frames narrower than ${amount(t.joined_below, t.unit)} are joined in the picture "${t.key}": --frames keeps more`);
		const coarse = H.trees.filter((t) => t.join > 1).map((t) => `times in the picture "${t.key}" are known to ${ns(t.join * H.cell_ns)}`);
		const left = [["strips", "devices"], ["counters", "counters"]].map(([k, t]) => H[k + "_left_out"] ? `${count(H[k + "_left_out"])} more ${t} have no strip` : "").filter(Boolean);
		const lacks = [...H.lacks.map((t) => t.replace(/^flame: /, "")), ...joined, ...coarse, ...left];
		if (lacks.length)
			body.push(card("What this page lacks", el("ul", {}, lacks.map((t) => el("li", {}, t)))));
		if (H.losses.length)
			body.push(card("What was lost, or could not be had", el("ul", {}, H.losses.map((t) => el("li", {}, t))), el("p", { class: "dim" }, H.incomplete)));
		$("overview").replaceChildren(...body);
	}
