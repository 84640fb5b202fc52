	// ---- bars of the time line, as src/page/timeline.h has them ----------------------------------------------------
	// Bars of lanes, one lane behind the other, those of a lane apart and in order.
	class Bars {
		constructor(start, end, more) {
			const n = this.n = start.length, sum = this.sum = new Float64Array(n + 1);
			Object.assign(this, { start, end }, more);
			for (let i = 0; i < n; i++)
				sum[i + 1] = sum[i] + this.worked(i);
			// The longest of 16 neighbours, of 256, of 4096.
			this.longest_of = [];
			for (let below = null, many = n; many > 16; below = this.longest_of.at(-1), many = below.length) {
				const next = new Uint32Array(Math.ceil(many / 16));
				for (let k = 0; k < next.length; k++) {
					let best = below ? below[16 * k] : 16 * k;
					for (let m = 16 * k; m < 16 * k + 16 && m < many; m++)
						if (this.worked(below ? below[m] : m) > this.worked(best))
							best = below ? below[m] : m;
					next[k] = best;
				}
				this.longest_of.push(next);
			}
		}
		// How long what it stands for took.
		worked(i) {
			return this.busy && this.busy[i] || this.end[i] - this.start[i];
		}
		many(i) {
			return this.count ? this.count[i] : 1;
		}
		// The first from lo on that ends behind a time; that begins at it or behind.
		ends(t, lo, hi) {
			return row_find(this.end, t, lo, hi);
		}
		begins(t, lo, hi) {
			let far = lo + 1; // it is near
			for (let by = 2; far < hi && this.start[far] < t; far += by, by *= 2)
				lo = far;
			hi = min(far, hi);
			while (lo < hi) {
				const mid = (lo + hi) >> 1;
				if (this.start[mid] >= t)
					hi = mid;
				else
					lo = mid + 1;
			}
			return lo;
		}
		longest(i, j) {
			let best = i;
			while (i < j) {
				let most = i, by = 1;
				for (let k = 0, size = 16; k < this.longest_of.length && i % size === 0 && i + size <= j; k++, size *= 16) {
					most = this.longest_of[k][i / size];
					by = size;
				}
				if (this.worked(most) > this.worked(best))
					best = most;
				i += by;
			}
			return best;
		}
	}
	// Of columns: each begins so long behind the end of the one before of its lane.
	function bars_read(c, prefix) {
		const gap = c(prefix + "gap"), dur = c(prefix + "dur"), lanes = c(prefix + "bars"), n = gap.length, start = new Float64Array(n), end = new Float64Array(n), first = [0];
		let i = 0;
		for (const many of lanes) {
			let at = 0;
			for (const last = i + many; i < last; i++) {
				start[i] = at += gap[i];
				end[i] = at += dur[i];
			}
			first.push(i);
		}
		const column = (name) => c.has(prefix + name) ? c(prefix + name) : null;
		return new Bars(start, end, { first, what: c(prefix + "what"), waited: c(prefix + "waited"), by: c(prefix + "by"), details: c(prefix + "details"), count: column("n"), busy: column("busy") });
	}
	// The frame of the tree of devices that a group of work is of: its kernel's; the frames of idle time, longest first.
	function group_frames() {
		const t = trees.device, work = new Map(), idle = new Map();
		if (t)
			for (let i = 0, { node, group, metric, value } = t.e; i < node.length; i++)
				if (metric[i] === IDLE)
					(idle.get(group[i]) || idle.set(group[i], []).get(group[i])).push([node[i], value[i]]);
				else if (metric[i] === LAUNCHES || !work.has(group[i]))
					work.set(group[i], node[i]);
		for (const list of idle.values())
			list.sort((a, b) => b[1] - a[1]);
		return { work, idle };
	}
	// Samples of each thread as bars, one list for each depth: what was on the stack at two samples behind one another was there between them.
	function stacks_read(c) {
		const t = trees.cpu, of = c("s_of"), gap = c("s_gap"), group = c("s_group"), leaf = new Map();
		if (!t)
			return [];
		for (let i = 0; i < t.e.node.length; i++)
			leaf.set(t.e.group[i], t.e.node[i]);
		let i = 0;
		return Array.from(of, (many) => {
			const from = i, at = new Float64Array(many);
			for (let k = 0; k < many; k++, i++)
				at[k] = gap[i] + (k ? at[k - 1] : 0);
			const period = Array.from(gap.subarray(from + 1, i)).sort((a, b) => a - b)[many >> 1] || H.end_ns / 1000, rows = [], open = [];
			for (let k = 0; k <= many; k++) {
				const path = [], joins = k && k < many && at[k] - at[k - 1] < 2.5 * period;
				for (let n = k < many && leaf.has(group[from + k]) ? leaf.get(group[from + k]) : 0; n > 0; n = t.shape.parent[n])
					path.unshift(n);
				if (path.length && H.names[t.name[path[0]]][0] === "[")
					path.shift();
				let d = 0;
				while (joins && d < path.length && open[d] && open[d].node === path[d])
					d++;
				for (let o = d; o < open.length; o++) {
					const row = rows[o] ||= { start: [], end: [], node: [] };
					row.start.push(open[o].start);
					row.node.push(open[o].node);
					row.end.push(joins ? at[k] : at[k - 1] + period);
				}
				open.length = d;
				for (; d < path.length; d++)
					open.push({ node: path[d], start: at[k] });
			}
			return rows.map(({ start, end, node }) => {
				for (let k = 0; k + 1 < start.length; k++)
					end[k] = min(end[k], start[k + 1]);
				return new Bars(Float64Array.from(start), Float64Array.from(end), { node: Uint32Array.from(node) });
			});
		});
	}
	// When each thread launched what: its launches in order, the time of all before.
	function launches_read(x, threads) {
		const lists = threads.map(() => []);
		for (let i = 0; i < x.n; i++)
			if (x.waited[i] && x.by[i])
				lists[x.by[i] - 1].push(i);
		const at = (i) => x.start[i] - x.waited[i] + 1;
		return lists.map((list) => {
			list.sort((a, b) => at(a) - at(b));
			const start = Float64Array.from(list, at);
			return new Bars(start, start, { of: Uint32Array.from(list), busy: null });
		});
	}
	let TL = null;
	function timeline_read(buffer) {
		const [object, c] = object_read(buffer);
		TL = { ...object, joins: { x: object.x, i: object.i, o: object.o } };
		TL.x = bars_read(c, "x_");
		TL.i = bars_read(c, "i_");
		TL.o = bars_read(c, "o_");
		TL.what = { name: c("what_name"), group: c("what_group"), of: c("what_class"), graph: c("what_graph") };
		TL.frames = group_frames();
		TL.stacks = stacks_read(c);
		TL.launches = launches_read(TL.x, TL.threads);
	}
