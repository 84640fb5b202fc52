	// ---- what a flame graph of a profile draws --------------------------------------------------------------------------
	const KINDS = [ // key, its name, tree, metrics
		["device", "Device time", "device", [TIME]], ["loop", "Device and idle time", "device", [TIME, IDLE]],
		["idle", "Idle time", "device", [IDLE]], ["cpu", "Threads on CPU", "cpu", [TIME]],
		["off-cpu", "Threads off CPU", "off-cpu", [TIME]], ["memory", "Memory at its peak", "memory", [TIME]],
	];
	const BYS = [["", "time"], ["samples", "samples"], ["launches", "launches"], ["energy", "energy"]];
	const LEAVES = [["", "to stalls"], ["9", "to instructions"], ["8", "to lines"], ["7", "to kernels"]];
	const COLOURS = [["", "kind"], ["safe", "colour-blind"], ["self", "own share"], ["module", "module"], ["stall", "stall class"], ["idle", "idle cause"], ["grade", "grade"]];
	let trees = {}, kinds = [];
	function trees_make() {
		trees = Object.fromEntries(H.trees.map((t) => [t.key, new Tree(t)]));
		kinds = KINDS.filter(([, , tree, metrics]) => trees[tree] && metrics.every((m) => trees[tree].totals[m] > 0));
		for (const t of Object.values(trees)) // samples and launches without times
			if (!kinds.some((k) => k[2] === t.key) && t.totals.some((v) => v > 0))
				kinds.push([t.key, t.key === "device" ? "Device work" : "Threads", t.key, [TIME]]);
	}
	const kind_now = () => kinds.find((k) => k[0] === S.of) || kinds[0];
	const METRIC = { samples: SAMPLES, launches: LAUNCHES, energy: ENERGY };
	const by_has = (by) => (METRIC[by] ? [METRIC[by]] : kind_now()[3]).some((m) => trees[kind_now()[2]].totals[m] > 0);
	function metrics_now() {
		const [, , tree, metrics] = kind_now(), by = S.by || (by_has("") ? "" : by_has("samples") ? "samples" : "launches");
		return METRIC[by] && by_has(by) && !metrics.includes(IDLE) ? { metrics: [METRIC[by]], unit: by, by } : { metrics, unit: trees[tree].unit, by: "" }; // idle time has no samples
	}
	// The kernels that ran in the selected time, from the tree; the most time first. Launches are divided as times are.
	let timed_key = "", timed = null;
	function kernels_timed(of = time()) {
		if (!of || !trees.device || !trees.device.totals[TIME])
			return null;
		if (timed_key === time_text(of))
			return timed;
		const t = trees.device, part = t.parts(of), sums = new Map(), { node, metric, value } = t.e, up = new Int32Array(t.n);
		let all = 0;
		// The kernel that a frame belongs to: the outermost frame of a device, which stands below functions that were inlined into it.
		for (let i = 0; i < t.n; i++)
			up[i] = i && up[t.shape.parent[i]] || (/^device (kernel|copy)$/.test(H.palette[H.colour[t.name[i]]].name) ? i : 0);
		for (let i = 0; i < node.length; i++) {
			const k = metric[i] === TIME ? 0 : metric[i] === LAUNCHES ? 1 : -1, at = up[node[i]], v = value[i] * part[i];
			if (k < 0 || !v)
				continue;
			const name = H.names[t.name[at]], row = sums.get(name) || sums.set(name, [0, 0]).get(name);
			row[k] += v;
			all += k ? 0 : v;
		}
		timed_key = time_text(of);
		return timed = [...sums].sort((a, b) => b[1][0] - a[1][0]).map(([kernel, [ns, launches]]) => ({ kernel, share: all ? ns / all : 0, time: round(ns), launches: round(launches) }));
	}
	// The group of `why` that a frame of idle time is in.
	const group_of_idle = (name) => H.causes[CLASS_OF.idle(name)] || null;
	// Idle time by group, as flame graphs of that time have it.
	function idle_groups(of) {
		const ret = {}, t = trees.device, part = t && t.parts(of);
		for (let i = 0, { node, metric, value } = t ? t.e : { node: [] }; i < node.length; i++)
			if (metric[i] === IDLE) {
				const key = group_of_idle(t.name[node[i]]);
				ret[key] = (ret[key] || 0) + value[i] * part[i];
			}
		return ret;
	}
	// Who owns idle time, the most first, as flame graphs of that time have it: [number, ns, group with most of it].
	function owners_of(of) {
		const sums = new Map(), t = trees.device, part = t && t.owner && t.parts(of);
		for (let i = 0, { node, metric, value } = part ? t.e : { node: [] }; i < node.length; i++)
			if (metric[i] === IDLE && t.owner[i]) {
				const v = value[i] * part[i], row = sums.get(t.owner[i]) || sums.set(t.owner[i], { ns: 0, groups: {} }).get(t.owner[i]), key = group_of_idle(t.name[node[i]]);
				row.ns += v;
				row.groups[key] = (row.groups[key] || 0) + v;
			}
		return [...sums].map(([owner, { ns, groups }]) => ({ owner, ns, groups: Object.entries(groups).sort((a, b) => b[1] - a[1]) })).filter((r) => r.ns >= 0.5).sort((a, b) => b.ns - a.ns);
	}
	const UNOWNED = "an owner that is not known", owner_name = (k) => H.owners[k - 1] || UNOWNED;
	// Frames of work that is of a group of `why`: the rest computes.
	let communicating = null;
	function is_of_work(g, i, key) {
		communicating ||= new Set((H.tables && H.tables.comm.rows || []).flatMap((r) => [r.kernel, short_of(r.kernel)]));
		const kind = kind_of(g, i), is = kind === "device copy" ? "copies" : kind === "device kernel" ? communicating.has(H.names[g.name[i]]) || communicating.has(H.full[g.full[i] - 1]) ? "communication" : "compute" : "";
		return is === (key === "waiting" ? "communication" : key);
	}
	// Time in which devices do that and, of copies and communication, nothing computes; what `why` has of its window.
	function alone(key, of) {
		const w = H.why, g = w && w.groups.find((r) => r.group === key);
		return g && time_text(of) === time_text([w.window.from_ns, w.window.to_ns]) ? g.share_ppm * w.time_ns / 1e6 : class_sums(of)[CLASSES.indexOf(key)];
	}
	// Waiting for other ranks is a part of operations between ranks, known of the window of `why` alone.
	const WORK = ["compute", "copies", "communication", "waiting"];
	// What a picture of one kind of work shows beside the time that rows have, and what the profile lacks.
	function picture_note() {
		const of = ops().find(([op, key]) => op === "group" && WORK.includes(key));
		const key = of && of[1], ns_alone = of && alone(key, time() || [0, H.end_ns]), between = key === "waiting" || (key === "communication" && has_waits());
		return (of ? `${GROUPS[key][0]}: ${key === "waiting" && !ns_alone ? "not known of this time" : `${amount(ns_alone, "ns")} of devices${key === "compute" ? "" : ", in which nothing computes"}`}. Drawn: ${worth(F.g.sum)}, ${between ? "all of the operations between ranks, in which waiting and transfer are not apart" : "as moments in which several things run are shared among them"}. ` : "") + (H.incomplete && H.incomplete + ". ");
	}
	// Rows of the selected time, by a key of each frame that has such time itself: sums, the most first.
	function sums_timed(t, metric_of, key) {
		const part = t.parts(time()), sums = new Map(), { node, metric, value } = t.e;
		let all = 0;
		for (let i = 0; i < node.length; i++) {
			const v = metric[i] === metric_of ? value[i] * part[i] : 0, of = v && key(node[i]);
			if (of)
				sums.set(of, (sums.get(of) || 0) + v);
			all += of ? v : 0;
		}
		return [...sums].sort((a, b) => b[1] - a[1]).map(([of, v]) => [of, round(v), v / all]);
	}
	function idle_timed() {
		const t = trees.device, names = (i) => i > 0 ? [H.names[t.name[i]], ...names(t.shape.parent[i])] : [];
		return sums_timed(t, IDLE, (i) => i).map(([i, idle, idle_share]) => ({ idle_share, idle, cause: CLASS_OF.idle(t.name[i]), stack: names(t.shape.parent[i]).join(" < ") }));
	}
	const cpu_timed = () => sums_timed(trees.cpu, TIME, (i) => !H.names[trees.cpu.name[i]].startsWith("[waiting") && H.names[trees.cpu.name[i]]).map(([f, self, self_share]) => ({ self_share, self, function: f }));
	// How many steps the selected time has.
	const steps_in = ([from, to]) => H.steps[0].reduce((sum, a, k) => sum + max(0, min(to, H.steps[1][k]) - max(from, a)) / (H.steps[1][k] - a || 1), 0);
	const per_now = () => S.per && steps_in(time() || [0, H.end_ns]) || 1;
	// What each kernel's sampled time waits for, by class: a bar, by the kernel's name in short and in full.
	let stalls = null;
	function stalls_of(kernel) {
		if (!stalls) {
			stalls = new Map();
			const t = trees.device, { node, metric, value } = t ? t.e : { node: [] };
			for (let i = 0; i < node.length; i++) {
				const c = metric[i] === TIME && CLASS_OF.stall(t.name[node[i]]);
				let k = node[i];
				while (c && H.type[t.name[k]] !== 6)
					k = t.shape.parent[k];
				for (const name of c && [H.names[t.name[k]], H.full[t.full[k] - 1]] || []) {
					const sums = stalls.get(name) || stalls.set(name, {}).get(name);
					sums[c] = (sums[c] || 0) + value[i];
				}
			}
		}
		const of = Object.entries(stalls.get(kernel) || {}).sort((a, b) => b[1] - a[1]), all = of.reduce((sum, [, v]) => sum + v, 0);
		return of.length ? stack_bar(of.map(([c, v]) => [c, v / all, stall_colour(c)])) : "";
	}
	function whole_make() {
		const t = trees[kind_now()[2]], { metrics } = metrics_now();
		return S.roots && t.root ? t.weigh_apart(metrics, time(), S.roots > 1) : t.weigh(metrics, time());
	}
	function frame_said(i, g) {
		const v = g.total[i], all = F.whole.sum;
		const ret = [worth(v) + " \u00b7 " + share(v, all) + " of all"];
		if (g.parent[i] > 0)
			ret.push(share(v, g.total[g.parent[i]]) + " of its caller");
		if (g.self[i] > 0 && g.self[i] < v)
			ret.push(worth(g.self[i]) + " in itself");
		return ret;
	}
	const flame_caption = () => [H.title, H.host, H.date, `${kind_now()[1]}: ${worth(F.g.sum)}`, time() ? time_said(time()) : ""].filter(Boolean).join(" \u00b7 ");

	const HEATS = [0, 1, 2, 3, 4].map((k) => [k, `${k * 25} % of its time is its own`, rgb([255 - 2 * k, 236 - 32 * k, 214 - 38 * k])]);
	const GRADES = ["exact", "some shared over what ran at the same time", "some mixed: stacks not told apart", "some totals from samples"].map((t, k) => [k, t, spread([2, 0, 1, 3][k])]);
	const NONE = [99, "none of it", "rgb(214,214,218)"], UNGRADED = [99, "no grade", NONE[2]];
	// Names that are in a class, and what the class is called.
	const CLASS_OF = {
		stall: (name) => H.type[name] === 10 && H.palette[H.colour[name]].name,
		idle: (name) => (/^\[idle[^:]*: (.*)\]$/.exec(H.names[name]) || [])[1],
	};
	const stall_colour = (c) => rgb(H.palette.find((p) => p.name === c).low);
	// The class that most of each frame's time is in, of its own and of what it calls.
	function class_groups(g) {
		const key = F.key + S.colour;
		if (g.classes_key === key)
			return g.classes;
		const by_group = S.colour === "idle", of = H.names.map((_, name) => by_group ? H.causes[CLASS_OF.idle(name)] : CLASS_OF.stall(name));
		const keys = [...new Set(of)].filter(Boolean).sort(), groups = keys.map((c) => by_group ? [CLASSES.indexOf(c), GROUPS[c][0], css(GROUPS[c][1])] : [0, c, stall_colour(c)]);
		const sum = new Float64Array(g.n), most = new Float64Array(g.n), which = new Uint8Array(g.n); // one class at a time
		keys.forEach((c, k) => totals(g, g.self.map((v, i) => of[g.name[i]] === c ? v : 0), sum).forEach((v, i) => {
			if (v > most[i]) {
				most[i] = v;
				which[i] = k + 1;
			}
		}));
		g.classes_key = key;
		return g.classes = (i) => groups[which[i] - 1] || NONE;
	}
	const group_in = (g, i) => S.colour === "self" ? HEATS[g.total[i] ? round(4 * g.self[i] / g.total[i]) : 0] :
		S.colour === "grade" ? g.look && GRADES[g.look[i]] || UNGRADED : CLASS_OF[S.colour] ? class_groups(g)(i) : null;
	function group_by(name) {
		const m = H.module[name];
		return S.colour !== "module" ? kind_group(name) : m ? [m, H.modules[m - 1], spread(m - 1)] : NONE;
	}
