	// ---- other trees made of one ------------------------------------------------------------------------
	// A tree in the making: a frame is one node under its caller.
	const UNTESTED = 255; // a look: joined from several frames of two sides
	class Growing {
		constructor(g) {
			this.name = [g.name[0]];
			this.full = [0];
			this.parent = [-1];
			this.self = [0];
			this.side = g.side && [[0], [0]];
			this.look = [];
			this.child = new Map();
		}
		under(parent, name, full) {
			const key = parent * 4194304 + name;
			let i = this.child.get(key);
			if (i === undefined) {
				i = this.name.push(name) - 1;
				this.full.push(full);
				this.parent.push(parent);
				this.self.push(0);
				if (this.side)
					this.side.forEach((v) => v.push(0));
				this.child.set(key, i);
			}
			return i;
		}
		// Gives a frame what frame i of a graph has itself, or in all.
		give(at, g, i, all) {
			this.self[at] += all ? g.total[i] : g.self[i];
			if (g.side)
				this.side.forEach((v, k) => { v[at] += (all ? g.sums : g.side)[k][i]; });
			// What was tested, or has a grade, is one frame, with all that it called.
			if (g.look)
				this.look[at] = at in this.look || this.name[at] !== g.name[i] || all ? UNTESTED : g.look[i];
		}
		// In the order of a walk.
		graph(untimed) {
			const n = this.name.length, first = new Int32Array(n).fill(-1), next = new Int32Array(n).fill(-1);
			for (let i = n - 1; i > 0; i--) {
				next[i] = first[this.parent[i]];
				first[this.parent[i]] = i;
			}
			const depth = new Uint32Array(n), name = new Uint32Array(n), full = new Uint32Array(n), self = new Float64Array(n);
			const side = this.side && this.side.map(() => new Float64Array(n)), look = new Uint8Array(n).fill(UNTESTED);
			for (let i = 0, k = 0, d = 0; k < n; k++) {
				depth[k] = d;
				name[k] = this.name[i];
				full[k] = this.full[i];
				self[k] = this.self[i];
				look[k] = this.look[i] ?? UNTESTED;
				if (side)
					side.forEach((v, s) => { v[k] = this.side[s][i]; });
				if (first[i] >= 0) {
					i = first[i];
					d++;
					continue;
				}
				while (i > 0 && next[i] < 0) {
					i = this.parent[i];
					d--;
				}
				i = next[i];
			}
			return graph({ depth, name, full, self, side, look, untimed, ...family(depth) });
		}
	}

	// A copy in which frame i is what place(i, copy of its caller, growing) returns: -1 leaves its own time out.
	function rebuild(g, place) {
		const to = new Growing(g), at = new Int32Array(g.n);
		for (let i = 1; i < g.n; i++) {
			at[i] = g.total[i] > 0 ? place(i, at[g.parent[i]], to) : -1;
			if (at[i] >= 0)
				to.give(at[i], g, i);
		}
		to.give(0, g, 0);
		return to.graph(g.untimed);
	}
	const same = (g) => (i, under, to) => under < 0 ? -1 : to.under(under, g.name[i], g.full[i]);

	// Only what is called by frames of that name, from these on.
	function focus(g, name) {
		const inside = new Uint8Array(g.n);
		const ret = rebuild(g, (i, under, to) => {
			inside[i] = inside[g.parent[i]] || g.name[i] === name;
			return inside[i] ? to.under(inside[g.parent[i]] ? under : 0, g.name[i], g.full[i]) : 0;
		});
		// The rest hung below the root as its own time.
		ret.self[0] = 0;
		if (ret.side)
			ret.side.forEach((v) => { v[0] = 0; });
		return graph(ret);
	}
	const hide = (g, is_hidden) => rebuild(g, (i, under, to) =>
		under < 0 ? -1 : is_hidden(i) ? under : to.under(under, g.name[i], g.full[i]));
	const without = (g, name) => rebuild(g, (i, under, to) =>
		under < 0 || g.name[i] === name ? -1 : to.under(under, g.name[i], g.full[i]));

	// The same frames with the time of those alone that `hit` has, or, but for `alone`, that stand on one of these.
	function only(g, hit, alone) {
		const inside = new Uint8Array(g.n), self = new Float64Array(g.n), { depth, name, full, look, parent, end, untimed } = g;
		for (let i = 1; i < g.n; i++) {
			inside[i] = (!alone && inside[parent[i]]) || hit(i) ? 1 : 0;
			self[i] = inside[i] ? g.self[i] : 0;
		}
		return graph({ depth, name, full, look, parent, end, untimed, self });
	}

	// Who calls frames of that name: their callers, innermost first. A frame inside another of its name counts once.
	function callers(g, name) {
		const to = new Growing(g), inside = new Uint8Array(g.n);
		for (let i = 1; i < g.n; i++) {
			inside[i] = inside[g.parent[i]] || g.name[i] === name;
			if (g.name[i] !== name || inside[g.parent[i]] || !(g.total[i] > 0))
				continue;
			let at = 0;
			for (let k = i; k > 0; k = g.parent[k])
				at = to.under(at, g.name[k], g.full[k]);
			to.give(at, g, i, true);
		}
		return to.graph(0);
	}

	// Frames of Python and of devices; of C and C++ where there is no Python; and ranges. The rest is libraries' and ours.
	function is_mine(g) {
		const type = H.type, base = (i) => type[g.name[i]] & 63;
		let python = false;
		for (let i = 1; i < g.n && !python; i++)
			python = base(i) === 1;
		return (i) => {
			const t = base(i);
			if (t === 2 || t === 3)
				return !python && !/^(\[|std::|__|_start|start_thread|at::|c10::|torch::)/.test(H.names[g.name[i]]);
			if (t === 1)
				return !/(site-packages|dist-packages|lib\/python|<frozen)/.test(H.full[g.full[i] - 1] || "") &&
					!/\((<|torch\/|contextlib\.py|threading\.py|_ops\.py|module\.py)/.test(H.names[g.name[i]]);
			return t > 5;
		};
	}

	function path_of(g, i) {
		const ret = [];
		for (let k = i; k > 0; k = g.parent[k])
			ret.push(H.names[g.name[k]]);
		return ret.reverse();
	}
	// The frame with these names from the root on, or -1; `nearest`: as far as there is one.
	function find_path(g, names, nearest) {
		let at = 0;
		for (const name of names) {
			let k = at + 1;
			while (k < g.end[at] && H.names[g.name[k]] !== name)
				k = g.end[k];
			if (k >= g.end[at])
				return nearest ? at : -1;
			at = k;
		}
		return at;
	}

	// ---- search --------------------------------------------------------------------------------------------
	// Letters of either case; the text as it is, or an expression. Names in full are searched, too.
	function pattern(text, is_expression) {
		return new RegExp(is_expression ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "i");
	}
	class Search {
		constructor(text, is_expression) {
			const re = pattern(text, is_expression), test = (list) => {
				const ret = new Uint8Array(list.length);
				for (let i = 0; i < ret.length; i++)
					ret[i] = re.test(list[i]);
				return ret;
			};
			this.names = test(H.names);
			this.joined = H.names.map((name) => /^.?\[\d+ narrow frames\]$/s.test(name));
			this.full = test(H.full);
		}
		has(g, i) {
			return i > 0 && (this.names[g.name[i]] === 1 || (g.full[i] > 0 && this.full[g.full[i] - 1] === 1));
		}
		// How many frames of a row match before each of its places, and in all.
		counts(g, row) {
			const kept = this.rows ||= new Map();
			let ret = kept.get(row);
			if (!ret) {
				kept.set(row, ret = new Uint32Array(row.length + 1));
				for (let k = 0; k < row.length; k++)
					ret[k + 1] = ret[k] + this.has(g, row[k]);
			}
			return ret;
		}
		// The sum of what stands on or above frames that match, each part once; what may be of it, in frames that
		// the page has joined, whose names it does not have; the frames that match.
		sum(g) {
			const frames = [];
			let sum = 0, maybe = 0;
			for (let i = 1, outer = 0; i < g.n; i++) {
				if (!(g.total[i] > 0))
					continue;
				const has = this.has(g, i);
				if (has)
					frames.push(i);
				if (i < outer)
					continue;
				if (has) {
					sum += g.total[i];
					outer = g.end[i];
				} else if (this.joined[g.name[i]]) {
					maybe += g.total[i];
				}
			}
			return { sum, maybe, frames };
		}
	}
