	// ---- the data: src/page/file.c says how it lies in the page -------------------------------------
	// In a worker, so that the page draws meanwhile.
	function unpack_here(post) {
		return async (text) => {
			try {
				const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
				// Not through a Blob and a Response, whose pieces go by way of the browser's process. gzip ends with the size.
				const whole = new Uint8Array(new DataView(packed.buffer).getUint32(packed.length - 4, true));
				const from = new ReadableStream({ start(c) { c.enqueue(packed); c.close(); } }).pipeThrough(new DecompressionStream("gzip")).getReader();
				for (let at = 0, part; (part = (await from.read()).value); at += part.length)
					whole.set(part, at);
				post(whole.buffer, null);
			} catch (e) {
				post(null, "" + e);
			}
		};
	}

	function unpack(text) {
		return new Promise((resolve, reject) => {
			const done = (buffer, error) => error ? reject(new Error(error)) : resolve(buffer);
			const here = () => unpack_here(done)(text);
			const source = `const unpack = (${unpack_here})((b, e) => postMessage([b, e], b ? [b] : []));
				onmessage = (m) => unpack(m.data);`;
			let worker;
			// A small one is there before a worker is, and in pictures by --headless --screenshot, which wait for none.
			if (text.length < 2.5e5) {
				here();
				return;
			}
			try {
				worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
			} catch {
				here();
				return;
			}
			worker.onmessage = (m) => {
				worker.terminate();
				done(...m.data);
			};
			worker.onerror = () => {
				worker.terminate();
				here();
			};
			worker.postMessage(text);
		});
	}

	let H; // the object
	let columns; // name -> typed array
	// Numbers of seven bits a byte.
	function varints(bytes, n) {
		const ret = new Float64Array(n);
		for (let i = 0, at = 0; i < n; i++) {
			let v = 0, by = 1, b;
			do {
				b = bytes[at++];
				v += (b & 127) * by;
				by *= 128;
			} while (b > 127);
			ret[i] = v;
		}
		return ret;
	}
	// The object, and its columns.
	function object_read(buffer) {
		const length = new DataView(buffer).getUint32(0, true), object = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
		const base = (length + 11) & -8, arrays = { u8: Uint8Array, u16: Uint16Array, f64: Float64Array };
		const read = (name) => { // as they lie there: no second copy
			const at = object.columns[name] || ["", 0, 0];
			if (at[0] === "v")
				return varints(new Uint8Array(buffer, base + at[1], at[3]), at[2]);
			const v = new (arrays[at[0]] || Uint32Array)(buffer, base + at[1], at[2]);
			if (at[0] === "d32") {
				for (let i = 1; i < v.length; i++)
					v[i] += v[i - 1];
				at[0] = "u32"; // it is now
			}
			return v;
		};
		read.has = (name) => name in object.columns;
		return [object, read];
	}
	function parse(buffer) {
		[H, columns] = object_read(buffer);
		H.has = columns.has;
		// Read when they are shown.
		const later = (object, key, column) => {
			if (!H.has(column))
				return;
			let value;
			Object.defineProperty(object, key, { get: () => value ||= JSON.parse(new TextDecoder().decode(columns(column))) });
		};
		for (const [key, table] of Object.entries(H.tables || {}))
			later(table, "rows", "rows_" + key);
		later(H, "code", "code");
		H.colour = columns("name_colour");
		H.module = columns("name_module");
		H.type = columns("name_type");
		H.steps = H.has("step_start") ? [columns("step_start"), columns("step_end")] : [[], []];
	}

	// ---- trees ----------------------------------------------------------------------------------------
	const TIME = 0, SAMPLES = 1, LAUNCHES = 2, IDLE = 3, ENERGY = 4;

	class Tree {
		constructor(meta) {
			const c = (name) => columns(meta.key + "_" + name);
			Object.assign(this, meta);
			this.depth = c("depth");
			this.name = c("name");
			this.full = c("full");
			this.n = this.depth.length;
			this.e = { node: c("e_node"), group: c("e_group"), metric: c("e_metric"), value: c("e_value") };
			if (H.has(meta.key + "_e_root"))
				this.root = c("e_root");
			if (H.has(meta.key + "_e_owner"))
				this.owner = c("e_owner");
			this.look = c("look");
			this.pairs = c("g_pairs");
			this.cell = c("p_cell");
			this.weight = c("p_weight");
			this.totals = [0, 0, 0, 0, 0];
			for (let i = 0; i < this.e.node.length; i++)
				this.totals[this.e.metric[i]] += this.e.value[i];
			this.shape = { depth: this.depth, name: this.name, full: this.full, look: this.look.length ? this.look : null, ...family(this.depth) };
		}
		// Which part of each group lies in the time.
		group_parts(time, ret) {
			const cell_ns = H.cell_ns * this.join;
			for (let g = 0, i = 0; g < ret.length; g++) {
				let all = 0, part = 0;
				for (const end = i + this.pairs[g]; i < end; i++) {
					const from = this.cell[i] * cell_ns, to = min(from + cell_ns, H.end_ns); // the last one is shorter
					const inside = min(to, time[1]) - max(from, time[0]);
					all += this.weight[i];
					if (inside > 0)
						part += this.weight[i] * inside / (to - from);
				}
				ret[g] = all ? part / all : 0;
			}
			return ret;
		}
		// What of each entry's value lies in the selected time, that of untimed ones being 0; null: all. Idle time in the window of `why`
		// is scaled to what `why` has of its group: where launches were left out that is another estimate than of the whole run.
		parts(time) {
			if (!time)
				return null;
			const { group } = this.e, n = this.pairs.length, part = this.group_parts(time, this.part ||= new Float64Array(n)), ret = this.entry_part ||= new Float64Array(group.length), w = this.why_scales();
			const within = w && this.group_parts([max(time[0], w.of[0]), min(time[1], w.of[1])], this.part_within ||= new Float64Array(n));
			for (let i = 0; i < ret.length; i++)
				ret[i] = group[i] >= n ? 0 : part[group[i]] + (within && w.more[i] ? w.more[i] * within[group[i]] : 0);
			return ret;
		}
		// The window of `why`, and by entry how much more of idle time there is in it than the tree has: 0 is none.
		why_scales() {
			const w = H.why, { node, group, metric, value } = this.e;
			if (this.scales !== undefined || !w || !w.groups.length || this.key !== "device")
				return this.scales ||= null;
			const of = [w.window.from_ns, w.window.to_ns], part = this.group_parts(of, new Float64Array(this.pairs.length)), is = (i) => metric[i] === IDLE && group[i] < part.length, keys = [], key = (i) => keys[this.name[node[i]]] ||= group_of_idle(this.name[node[i]]) || "", sums = {}, more = new Float64Array(node.length);
			node.forEach((_, i) => is(i) && (sums[key(i)] = (sums[key(i)] || 0) + value[i] * part[group[i]]));
			const told = Object.fromEntries(w.groups.map((g) => [g.group, g.share_ppm * w.time_ns / 1e6]));
			// Cells alone make a difference of less.
			if (Object.keys(sums).reduce((off, k) => off + abs((told[k] || 0) - sums[k]), 0) < w.time_ns / 200)
				return this.scales = null;
			node.forEach((_, i) => { more[i] = is(i) && sums[key(i)] > 0 && key(i) in told ? told[key(i)] / sums[key(i)] - 1 : 0; });
			return this.scales = { of, more };
		}
		// A graph of what has these metrics in the selected time; of a set of roots, of an owner, if they are given.
		weigh(metrics, time, roots, owner) {
			const f = () => new Float64Array(this.n), make = () => ({ self: f(), total: f(), start: f(), places: new Uint32Array(this.n) }), kept = owner ? make() : this.kept ||= make(); // one graph at a time
			const self = kept.self.fill(0), part = this.parts(time), { node, group, metric, value } = this.e;
			let untimed = 0; // of no known time: not in a part
			for (let i = 0; i < node.length; i++) {
				if (!metrics.includes(metric[i]) || (roots && !roots.has(this.root[i])) || (owner && this.owner[i] !== owner))
					continue;
				if (!part)
					self[node[i]] += value[i];
				else if (group[i] < this.pairs.length)
					self[node[i]] += value[i] * part[i];
				else
					untimed += value[i];
			}
			return graph({ ...this.shape, ...kept, untimed });
		}
		// The same, each process, or each of its threads, below its name.
		weigh_apart(metrics, time, threads) {
			const to = new Growing(this.shape), at = new Int32Array(this.n), of = {};
			const first = processes() < 2 ? 1 : 0;
			let untimed = 0;
			H.roots.forEach((names, root) => (of[JSON.stringify(threads ? names.slice(first) : [names[0]])] ||= new Set()).add(root));
			for (const key of Object.keys(of).sort()) {
				const g = this.weigh(metrics, time, of[key]);
				untimed += g.untimed;
				for (let i = 0; i < g.n; i++)
					if (g.total[i] > 0) {
						at[i] = i ? to.under(at[g.parent[i]], g.name[i], g.full[i]) : JSON.parse(key).reduce((up, name) => to.under(up, H.names.indexOf(name), 0), 0);
						to.give(at[i], g, i);
					}
			}
			return to.graph(untimed);
		}
	}
	const processes = () => new Set(H.roots.map(([name]) => name)).size;

	// Callers, and the first index behind each subtree, of frames in the order of a walk.
	function family(depth) {
		const n = depth.length, parent = new Int32Array(n).fill(-1), end = new Uint32Array(n), open = [];
		for (let i = 0; i < n; i++) {
			while (open.length > depth[i])
				end[open.pop()] = i;
			if (open.length)
				parent[i] = open[open.length - 1];
			open.push(i);
		}
		for (const i of open)
			end[i] = n;
		return { parent, end };
	}

	function totals(g, self, total) {
		total.set(self);
		for (let i = g.n - 1; i > 0; i--)
			total[g.parent[i]] += total[i];
		return total;
	}
	// Adds totals and places to frames: x in the unit of values, and by depth those with a width from left to right.
	// A graph of two sides has the values of each in .side, which its widths are made of.
	function graph(g) {
		const n = g.n = g.depth.length, { depth } = g;
		if (g.side)
			sides_graph(g);
		const total = totals(g, g.self, g.total ||= new Float64Array(n));
		const start = g.start ||= new Float64Array(n), next = [0], rows = []; // by depth: where the next frame begins
		for (let i = 0; i < n; i++) {
			const d = depth[i];
			start[i] = next[d + 1] = next[d];
			next[d] += total[i];
			if (total[i] > 0)
				rows[d] = (rows[d] || 0) + 1;
		}
		g.places ||= new Uint32Array(n); // one behind the other
		let first = 0;
		g.rows = rows.map((k) => g.places.subarray(first, first += k));
		const at = rows.map(() => 0);
		for (let i = 0; i < n; i++)
			if (total[i] > 0)
				g.rows[depth[i]][at[depth[i]]++] = i;
		g.sum = n ? total[0] : 0;
		return g;
	}
