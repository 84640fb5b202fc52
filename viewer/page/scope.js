	// ---- flame scopes: a column is a stretch of time, from below to above -----------------------------------------
	const SCOPE_ROWS = 50;
	let scope_from = null, scope_hover = null;
	// A second; of what is shorter, so that there are at least 40 columns; a step on request.
	function scope_layout() {
		if (S.rows === "steps" && H.steps[0].length > 1) {
			const spans = Array.from(H.steps[0], (s, k) => [s, H.steps[1][k]]), longest = max(...spans.map(([a, b]) => b - a));
			return { steps: true, spans, row_ns: longest / SCOPE_ROWS, period: longest };
		}
		let period = 1e9;
		for (const p of [0.5e9, 0.2e9, 0.1e9, 0.05e9, 0.02e9, 0.01e9, 0.005e9, 0.002e9, 0.001e9])
			if (H.end_ns / period < 40 && p >= 10 * H.cell_ns)
				period = p;
		while (H.end_ns / period > 1200)
			period *= 2;
		const spans = [];
		for (let t = 0; t < H.end_ns && spans.length < 4000; t += period)
			spans.push([t, t + period]);
		return { spans, row_ns: max(H.cell_ns, period / SCOPE_ROWS), period };
	}
	function scopes() {
		const ret = [];
		device_strips().forEach((s, k, all) => ret.push({
			title: all.length > 1 ? `${s.device}${s.pid ? ", process " + s.pid : ""}` : "Device busy", unit: "busy", mean: true,
			of: (c) => s.of.slice(0, 3).reduce((sum, v) => sum + (v[c] || 0), 0) / 10000,
		}));
		for (const [key, title] of [["n_device", "Samples of devices"], ["n_cpu", "Samples of CPUs"]])
			if (H.has(key)) {
				const column = columns(key);
				ret.push({ title, unit: "samples", of: (c) => column[c] });
			}
		return ret.slice(0, 8);
	}
	// Values by column and row, and the greatest.
	function scope_values(scope, layout) {
		const rows = max(1, round(layout.period / layout.row_ns)), ret = new Float32Array(layout.spans.length * rows).fill(-1);
		let most = scope.mean ? 1 : 0;
		layout.spans.forEach(([from, to], x) => {
			for (let y = 0; y < rows; y++) {
				const a = from + y * layout.row_ns, b = min(a + layout.row_ns, to, H.end_ns);
				if (a >= b)
					break;
				const first = floor(a / H.cell_ns + 1e-6), last = max(first + 1, floor(b / H.cell_ns - 1e-6) + 1);
				let sum = 0;
				for (let c = first; c < last && c < H.cells; c++)
					sum += scope.of(c);
				ret[x * rows + y] = scope.mean ? sum / (last - first) : sum;
				most = max(most, ret[x * rows + y]);
			}
		});
		return { rows, values: ret, most: most || 1 };
	}
	function heat(v) { // from the ground to the ink, by way of the strip's colour
		const stops = is_dark() ? [[30, 32, 38], [32, 112, 118], [160, 236, 232]] : [[236, 239, 243], [96, 188, 192], [10, 62, 84]], k = v < 0.5 ? 0 : 1, t = v * 2 - k;
		return [0, 1, 2].map((c) => stops[k][c] + (stops[k + 1][c] - stops[k][c]) * max(0, min(1, t)));
	}
	function scope_render() {
		const layout = scope_layout(), list = scopes(), body = $("scope-body");
		const wide = max(2, min(layout.spans.length < 12 ? 90 : 24, floor((body.clientWidth - 4) / layout.spans.length)));
		const tall = list.length < 2 ? 8 : list.length < 3 ? 6 : 4;
		$("scope-said").textContent = (layout.steps ? `A column is a step, a row ${ns(layout.row_ns)} of it` :
			`A column is ${ns(layout.period)}, a row ${ns(layout.row_ns)}`) + "; time goes up. Two clicks select a time for all views." + (H.incomplete && ` ${H.incomplete}.`);
		if (!list.length) {
			body.replaceChildren(el("p", { class: "none" }, "No device work with times and no samples: there is nothing to show here."));
			return;
		}
		body.replaceChildren(...list.map((scope, k) => {
			const { rows, values, most } = scope_values(scope, layout), canvas = el("canvas", { class: "heat", role: "img", "aria-label": `${scope.title}: heat map` });
			const width = layout.spans.length * wide, height = rows * tall, ctx = canvas_fit(canvas, min(width, 8000), height);
			const t = time(), picture = ctx.createImageData(layout.spans.length, rows);
			for (let x = 0; x < layout.spans.length; x++)
				for (let y = 0; y < rows; y++) {
					const v = values[x * rows + y], at = ((rows - 1 - y) * layout.spans.length + x) * 4;
					picture.data.set(v < 0 ? [0, 0, 0, 0] : [...heat(v / most), 255], at);
				}
			const small = el("canvas");
			small.width = layout.spans.length;
			small.height = rows;
			small.getContext("2d").putImageData(picture, 0, 0);
			const paint = () => {
				const c = canvas_fit(canvas, min(width, 8000), height);
				c.imageSmoothingEnabled = false;
				c.clearRect(0, 0, width, height);
				c.drawImage(small, 0, 0, width, height);
				const chosen = scope_from !== null ? [scope_from, scope_hover === null ? scope_from + layout.row_ns : scope_hover].sort((a, b) => a - b) : t;
				if (chosen) {
					c.fillStyle = css("--chosen");
					layout.spans.forEach(([from, to], x) => {
						const a = max(from, chosen[0]), b = min(to, chosen[1]);
						if (b > a)
							c.fillRect(x * wide, height - (b - from) / layout.row_ns * tall, wide, (b - a) / layout.row_ns * tall);
					});
				}
			};
			paint();
			const cell = (e) => {
				const r = canvas.getBoundingClientRect(), x = min(layout.spans.length - 1, max(0, floor((e.clientX - r.left) / wide)));
				const y = min(rows - 1, max(0, rows - 1 - floor((e.clientY - r.top) / tall)));
				return { at: layout.spans[x][0] + y * layout.row_ns, v: values[x * rows + y] };
			};
			canvas.onclick = (e) => {
				const { at } = cell(e);
				if (scope_from === null) {
					scope_from = at;
					scope_hover = null;
					say(`from ${ns(at)}: choose the end`);
					paint();
					return;
				}
				const from = min(scope_from, at), to = min(H.end_ns, max(scope_from, at) + layout.row_ns);
				scope_from = null;
				go({ time: time_text([from, to]) });
			};
			canvas.onmousemove = (e) => {
				const { at, v } = cell(e), info = $("scope-info");
				info.textContent = v < 0 ? "" : `${ns(at)}: ${scope.mean ? share(v, 1) + " busy" : count(v) + " samples"}` +
					(scope_from !== null ? ` \u00b7 from ${ns(scope_from)}, click the end` : "");
				if (scope_from !== null) {
					scope_hover = at + layout.row_ns;
					paint();
				}
			};
			return el("figure", { id: "heat" + k }, el("figcaption", {}, scope.title, el("span", { class: "dim" },
				scope.mean ? " \u00b7 strongest: always busy" : ` \u00b7 strongest: ${count(most)} samples`)), el("div", { class: "heat-wide" }, canvas));
		}));
	}
