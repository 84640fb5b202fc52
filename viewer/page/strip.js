	// ---- devices over time: one strip each, with a brush ------------------------------------------------------
	const GROUPS = { // of src/report/why/groups.def, and columns of strips: name, colour. The words of idle time are those of `why`.
		compute: ["Computing", "var(--compute)"], copies: ["Copies", "var(--copy)"],
		communication: ["Communication", "var(--comm)"], waiting: ["Waiting for other ranks", "#b050f8"],
		host: ["The host", "#d38c28"], sync: ["Synchronisation", "#e5c63d"],
		late: ["Late starts", "#b7b7d3"], input: ["Input", "#f15fa5"], compile: ["Compiling", "#df5240"], allocate: ["Allocation", "#97c67b"],
		prepare: ["Preparation", "#a0f0b9"], collect: ["Garbage collection", "#c8605d"], gil: ["Python's lock", "#7e9cfa"], off_cpu: ["Not running", "#faed8a"],
		no_cpu: ["Busy machine", "#a0c7fa"], no_demand: ["Nothing to do", "#d9e6f2"], unknown: ["Not known", "#d7bdbc"], off: ["Not collected", "var(--off)"],
	};
	const CLASSES = Object.keys(GROUPS), FIRST_IDLE = CLASSES.indexOf("waiting"); // from there on, but the last, the device is idle
	function groups_name() {
		for (const [key, name] of Object.entries(H.groups || {}))
			if (CLASSES.indexOf(key) >= FIRST_IDLE)
				GROUPS[key][0] = name[0].toUpperCase() + name.slice(1);
	}
	const STRIP = 22, GAP = 5, AXIS = 18;
	let strips = [];
	function strips_make() {
		strips = H.strips.map((s, k) => ({ ...s, of: CLASSES.map((key) => columns(`s${k}_${key}`)) }));
		const idle = trees.device && trees.device.totals[IDLE] > 0;
		$("more").hidden = !H.counters.length && !idle;
		$("more").textContent = S.more ? "Fewer strips" : [idle && "Idle causes", H.counters.length && "Counters"].filter(Boolean).join(", ");
		if (S.more && idle)
			strips.push(...idle_strips());
		if (S.more)
			strips.push(...H.counters.map((c, k) => ({ device: `${c.name}${H.counters.some((o) => o !== c && o.name === c.name) ? ` (${c.device})` : ""}, to ${c.unit === "B" || c.unit === "bytes" ? bytes(c.most) : +c.most.toPrecision(3) + " " + c.unit}`, title: ", " + c.device, counts: columns("c" + k) })));
		for (const [key, label] of [["n_device", "samples of devices"], ["n_cpu", "samples of CPUs"]])
			if (H.has(key) && (key === "n_cpu" || !H.strips.length))
				strips.push({ device: label, counts: columns(key) });
	}
	// Idle time of all devices, a strip for each group.
	function idle_strips() {
		const of = device_strips();
		return CLASSES.slice(FIRST_IDLE, -1).map((key, k) => {
			const counts = new Float64Array(H.cells);
			for (const s of of)
				s.of[k + FIRST_IDLE].forEach((v, c) => { counts[c] += v * (s.many || 1); });
			const most = max(...counts);
			return most && { device: `idle: ${GROUPS[key][0]}, to ${share(most, 10000 * of.reduce((n, s) => n + (s.many || 1), 0))}`, counts, colour: GROUPS[key][1] };
		}).filter(Boolean);
	}
	const device_strips = () => strips.filter((s) => s.of);
	const strip_x = (t) => t / H.end_ns * ($("strip").clientWidth);
	const strip_t = (x) => max(0, min(H.end_ns, x / $("strip").clientWidth * H.end_ns));

	// Ranks go by their number, others by their process's where several devices have one name. One that is drawn for others says for how many.
	function strip_name(s) {
		if (s.many > 1)
			return `${"rank" in s ? "rank" : "process"} ${"rank" in s ? s.rank : s.pid} and ${count(s.many - 1)} alike`;
		return "rank" in s && strips.length > 1 ? `rank ${s.rank}, ${s.device}` : s.device + (s.pid && strips.some((o) => o !== s && o.device === s.device) ? ` (${s.pid})` : "");
	}
	const strip_whose = (s) => s.many > 1 ? `${s.device}: ${"rank" in s ? "ranks" : "processes"} ${s.whose}` : s.device;
	// The mean of a class over the cells of each pixel.
	function strip_sums(column, width) {
		const ret = new Float64Array(width), per = H.end_ns / H.cell_ns / width;
		for (let x = 0; x < width; x++) {
			const from = floor(x * per), to = max(from + 1, floor((x + 1) * per));
			let sum = 0;
			for (let c = from; c < to && c < column.length; c++)
				sum += column[c];
			ret[x] = sum / (to - from);
		}
		return ret;
	}
	let strips_of = null, strip_picture = null, strip_drawn = ""; // without the brush; what the canvas has
	function strip_paint(width, height) {
		const canvas = el("canvas"), ctx = canvas_fit(canvas, width, height);
		strips.forEach((s, k) => {
			const top = k * (STRIP + GAP);
			ctx.fillStyle = css("--strip");
			ctx.fillRect(0, top, width, STRIP);
			if (s.counts) {
				const sums = strip_sums(s.counts, width), most = max(...sums, 1e-9);
				ctx.fillStyle = css(s.colour || "--compute");
				for (let x = 0; x < width; x++)
					ctx.fillRect(x, top + STRIP * (1 - sums[x] / most), 1, STRIP * sums[x] / most);
				return;
			}
			const below = new Float64Array(width);
			CLASSES.forEach((key, c) => {
				const sums = strip_sums(s.of[c], width);
				ctx.fillStyle = css(GROUPS[key][1]);
				for (let x = 0; x < width; x++)
					if (sums[x] > 0) {
						const h = sums[x] / 10000 * STRIP;
						ctx.fillRect(x, top + STRIP - below[x] - h, 1, h);
						below[x] += h;
					}
			});
		});
		const axis = strips.length * (STRIP + GAP);
		ctx.fillStyle = css("--dim");
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		const steps = H.steps[0];
		if (steps.length && steps.length < width / 3)
			for (const t of steps)
				ctx.fillRect(round(strip_x(t)), axis - GAP, 1, GAP);
		for (const t of ticks(H.end_ns, max(2, floor(width / 110)))) {
			const x = strip_x(t), text = t ? ns(t) : "0";
			ctx.fillRect(round(x), axis, 1, 4);
			ctx.textAlign = x > width - 40 ? "right" : t ? "center" : "left";
			ctx.fillText(text, x, axis + 11);
		}
		return canvas;
	}
	function ticks(end, most) {
		const ret = [], ten = 10 ** max(0, floor(Math.log10(end / most))), step = [1, 2, 5, 10].map((m) => m * ten).find((s) => end / s <= most);
		for (let t = 0; t <= end; t += step)
			ret.push(t);
		return ret;
	}
	function strip_draw(drag) {
		const canvas = $("strip-canvas"), width = floor($("strip").clientWidth), height = strips.length * (STRIP + GAP) + AXIS;
		const key = [width, height, devicePixelRatio, is_dark(), forced.matches].join();
		if (!strips.length || width < 10 || strip_drawn === key + S.time + drag)
			return;
		strip_drawn = key + S.time + drag;
		if (!strip_picture || strip_picture.key !== key)
			strip_picture = { key, canvas: strip_paint(width, height) };
		const ctx = canvas_fit(canvas, width, height);
		ctx.clearRect(0, 0, width, height);
		ctx.drawImage(strip_picture.canvas, 0, 0, width, height);
		const t = drag || time();
		if (t) {
			const from = strip_x(t[0]), to = max(strip_x(t[1]), from + 1);
			ctx.fillStyle = css("--veil");
			ctx.fillRect(0, 0, from, height - AXIS);
			ctx.fillRect(to, 0, width - to, height - AXIS);
			ctx.strokeStyle = css("--here");
			ctx.lineWidth = 1.5;
			ctx.strokeRect(from, 0.75, to - from, height - AXIS - 1.5);
		}
		set($("strip"), "aria-valuenow", round(t ? 100 * t[0] / H.end_ns : 0));
		set($("strip"), "aria-valuetext", [time_said(t), ...shares_of(t).map(([label, v]) => `${label} ${share(v, 1)}`)].join(", "));
	}
	// What devices did in a time, in shares of it, by class: sums over the cells.
	function strip_shares(s, t) {
		const [from, to] = t || [0, H.end_ns], sums = CLASSES.map(() => 0);
		const first = floor(from / H.cell_ns), last = min(H.cells, Math.ceil(to / H.cell_ns));
		for (let c = first; c < last; c++) {
			const part = (min((c + 1) * H.cell_ns, to) - max(c * H.cell_ns, from)) / H.cell_ns;
			s.of.forEach((v, k) => { sums[k] += (v[c] || 0) / 10000 * part * H.cell_ns * (s.many || 1); });
		}
		return sums;
	}
	const time_said = (t) => t ? `${t[0] ? ns(t[0]) : 0} to ${ns(t[1])} (${ns(t[1] - t[0])})` : `all ${ns(H.end_ns)}`;
	// Of all devices, by class; a device counts from its first to its last work.
	function class_sums(t) {
		const sums = CLASSES.map(() => 0);
		for (const s of device_strips())
			strip_shares(s, t).forEach((v, k) => { sums[k] += v; });
		return sums;
	}
	const device_time = (t) => class_sums(t).reduce((a, b) => a + b, 0);
	// Strips do not part waiting from transfer, as `why` does.
	const has_waits = () => H.why && H.why.groups.some((g) => g.group === "waiting");
	// Words, share, colour of each class that there is.
	function shares_of(t) {
		const sums = class_sums(t), all = device_time(t);
		return CLASSES.map((key, k) => [GROUPS[key][0] + (key === "communication" && has_waits() ? ", with waiting for other ranks" : ""), sums[k] / all, GROUPS[key][1]]).filter(([, v]) => v >= 0.0005);
	}
	const shares_keys = (t) => shares_of(t).map(([label, v, colour]) => el("span", { class: "key" }, dot(colour), `${label} ${share(v, 1)}`));
	let strip_said = null;
	function strip_say() {
		const t = time();
		if (strip_said === S.time)
			return;
		strip_said = S.time;
		$("range").replaceChildren(el("b", {}, t ? time_said(t) : `All ${ns(H.end_ns)}`), ...shares_keys(t));
		$("range-clear").hidden = !t;
	}

	let strip_from = -1;
	function strip_events() {
		const place = $("strip"), at = (e) => strip_t(e.clientX - place.getBoundingClientRect().left);
		place.onpointerdown = (e) => {
			if (e.button)
				return;
			place.setPointerCapture(e.pointerId);
			strip_from = at(e);
		};
		place.onpointermove = (e) => {
			const t = at(e);
			if (strip_from >= 0)
				strip_draw([min(strip_from, t), max(strip_from, t)]);
		};
		place.onpointerup = (e) => {
			const from = strip_from, t = at(e), few = H.end_ns / place.clientWidth * 3;
			strip_from = -1;
			if (from < 0)
				return;
			if (abs(t - from) < few)
				go({ time: step_at(t) && !time() ? time_text(step_at(t)) : "" });
			else
				go({ time: time_text([min(from, t), max(from, t)]) });
		};
		place.onpointercancel = () => { strip_from = -1; strip_draw(); };
		place.onkeydown = (e) => {
			const t = time() || [0, H.end_ns], by = (e.shiftKey ? 0.01 : 0.1) * (t[1] - t[0]) * (e.key === "ArrowLeft" ? -1 : 1), mid = (t[0] + t[1]) / 2;
			let to = null;
			if (e.key === "ArrowLeft" || e.key === "ArrowRight")
				to = t[0] + by < 0 || t[1] + by > H.end_ns ? t : [t[0] + by, t[1] + by];
			else if (e.key === "+" || e.key === "=")
				to = [mid - (t[1] - t[0]) / 4, mid + (t[1] - t[0]) / 4];
			else if (e.key === "-")
				to = [max(0, mid - (t[1] - t[0])), min(H.end_ns, mid + (t[1] - t[0]))];
			else if (e.key !== "Escape")
				return;
			e.preventDefault();
			if (to && to[0] <= 0 && to[1] >= H.end_ns)
				to = null;
			go({ time: time_text(to) });
			say(time_said(time()));
		};
	}
	// The step at a moment, or null: a click on it chooses it.
	function step_at(t) {
		const [start, end] = H.steps;
		for (let k = 0; k < start.length; k++)
			if (t >= start[k] && t < end[k])
				return [start[k], end[k]];
		return null;
	}
