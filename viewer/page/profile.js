	// ---- the page of a profile: its views, and the time that all share --------------------------------------------------
	const VIEWS = [["overview", "Overview", overview_render], ["timeline", "Time line", timeline_render], ["flame", "Flame graph", flame_render], ["scope", "Flame scope", scope_render],
		["tables", "Tables", tables_render], ["code", "Code", code_render]];
	const views = () => VIEWS.filter(([k]) => !H.scope || k === "scope" || k === "flame");
	function page_make() {
		groups_name();
		$("more").onclick = () => go({ more: S.more ? "" : "1" });
		$("rows").hidden = $("per-line").hidden = !H.steps[0].length;
		// Of the loop, unless a time is selected.
		$("per").onchange = (e) => go({ per: e.target.checked ? "1" : "", time: S.time || !e.target.checked ? S.time : time_text([H.steps[0][0], H.steps[1].at(-1)]) });
		choices("roots", [["", "together"], ...processes() > 1 ? [["1", "by process"]] : [], ...H.roots.length > processes() ? [["2", "by thread"]] : []]);
		$("roots").onchange = (e) => go({ roots: e.target.value, zoom: "" });
		$("kernel").onchange = (e) => { code_nth = 0; go({ kernel: e.target.value, at: "" }); };
		$("range-clear").onclick = () => go({ time: "" });
		$("scope-flame").onclick = () => go({ view: "flame" });
		strip_events();
		lanes_events();
	}
	function link_trouble(given) {
		const names = (list, what) => list.filter((name) => name && !H.names.includes(name)).map((name) => `${what} "${name}"`), ret = [], path = json_read(S.zoom);
		if (S.time && !time())
			ret.push(`the time "${S.time}"`);
		if (S.of && !kinds.some(([k]) => k === S.of))
			ret.push(`the picture "${S.of}"`);
		if (S.table && !H.tables[S.table])
			ret.push(`the table "${S.table}"`);
		if (S.kernel && !(H.code_of || []).includes(S.kernel))
			ret.push(`the listing "${S.kernel}"`);
		if (S.zoom && !is_texts(path && path.path || path))
			ret.push("a zoom that was cut");
		else if (S.zoom)
			ret.push(...names(path.path || path, "the frame").slice(0, 2));
		if (S.ops && !ops().length)
			ret.push("changes that were cut");
		for (const [op, name] of ops())
			ret.push(...op === "group" ? GROUPS[name] ? [] : [`the group "${name}"`] : op === "owner" ? H.owners.includes(name) ? [] : [`the owner "${name}"`] : OPS[op] ? names([name], "the frame") : [`the change "${op}"`]);
		return ret;
	}
	// What tests look at.
	const page_hooks = { L, get lanes() { return TL; }, owners: () => owners_of([H.why.window.from_ns, H.why.window.to_ns]).map((o) => ({ name: owner_name(o.owner), ns: o.ns })) };
	function rows_timed(table) {
		const t = time();
		return !t || !table.rows ? null : table === H.tables.kernels ? kernels_timed() : table === H.tables.idle && trees.device && trees.device.totals[IDLE] ? idle_timed() :
			table === H.tables.cpu && trees.cpu ? cpu_timed() : table === H.tables.steps && table.rows.length && typeof table.rows[0].start === "number" ?
			table.rows.filter((r) => r.start < t[1] && r.start + r.time > t[0]) : null;
	}
	function page_draw() {
		if (strips_of !== S.more) {
			strips_of = S.more;
			strips_make();
			$("strip-names").replaceChildren(...strips.map((s) => el("div", { title: strip_whose(s) + (s.title || "") }, cut(strip_name(s)))));
			$("band").hidden = !strips.length;
		}
		strip_draw();
		strip_say();
	}
	// What a table's rows have beside their columns: its title, what makes it.
	const row_bar = (key) => key === "kernels" && H.type.includes(10) && ["waits for", (r) => stalls_of(r.kernel)];
	// The lane of the time line that a row of a table is about.
	const of_process = (on, r) => TL.processes.length < 2 || !r.process || place_name(TL.processes, on.process, "").includes(r.process);
	const LANES = {
		breakdown: (r) => (row) => row.kind === "head" && "device" in row.on && place_name(TL.devices, row.on.device, "") === r.device && of_process(row.on, r),
		streams: (r) => (row) => row.kind === "work" && place_name(TL.devices, row.on.device, "") === r.device && row.on.stream === String(r.stream) && of_process(row.on, r),
		threads: (r) => (row) => row.kind === "head" && row.on.tid === r.thread,
		processes: (r) => (row) => row.kind === "head" && "tid" in row.on && of_process(row.on, r),
	};
	// The kernel of a row alone, in the row's process, as a picture has it: it has the row's number.
	function kernel_open(r) {
		const names = processes() > 1 && trees.device.root && "process" in r ? H.roots.map(([name]) => name) : [];
		const root = names.find((name) => name === r.process) || names.find((name) => name.includes(`(${r.process})`)) || names.find((name) => name.includes(r.process));
		go({ view: "flame", of: "device", by: "", leaf: "", mine: "", per: "", find: "", re: "", ops: JSON.stringify([["only", short_of(r.kernel)]]), roots: root ? "1" : "", zoom: root ? JSON.stringify([root]) : "" });
	}
	// From a row to the frames, or the time, that it is about.
	function row_open(key, r) {
		if (LANES[key])
			lane_open(LANES[key](r));
		else if (key === "counters")
			go({ more: "1" });
		else if (key === "sync" && r.call)
			go({ view: "timeline", find: r.call, re: "" });
		else if (key === "steps" && typeof r.start === "number")
			go({ view: "flame", time: time_text([r.start, r.start + r.time]) });
		else if (key === "cpu" && r.self && H.names.includes(short_of(r.function)))
			go({ view: "flame", of: "cpu", find: "", zoom: "", ops: JSON.stringify([["own", short_of(r.function)]]) });
		else if (key === "idle")
			go({ view: "flame", of: "loop", find: `: ${r.cause}]`, re: "", zoom: "", ops: "" });
		else if (r.kernel && key !== "stacks" && trees.device && H.names.includes(short_of(r.kernel)))
			kernel_open(r);
		else if (r.kernel || r.operator || r.range || r.name || r.function)
			go({ view: "flame", of: key === "cpu" ? "cpu" : "", find: String(r.kernel || r.operator || r.range || r.name || r.function), re: "", zoom: "", ops: "" });
	}
