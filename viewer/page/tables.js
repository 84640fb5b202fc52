	// ---- tables: those of `aiflame report` ---------------------------------------------------------------------------
	const ROWS_SHOWN = 300, UNITS = { gb_s: "GB/s", gflop_s: "GFLOP/s" };
	let rows_more = 1;
	const kernel_row = (name) => H.tables.kernels.rows && H.tables.kernels.rows.some((r) => r.kernel === name);
	// What pictures call it.
	let shorts = null;
	function short_of(name) {
		if (!shorts) {
			shorts = new Map();
			for (const t of Object.values(trees))
				t.full.forEach((full, i) => shorts.set(H.full[full - 1], H.names[t.name[i]]));
		}
		return shorts.get(name) || name;
	}
	function type_of(table, column, value) {
		const known = table.types && table.types[column];
		if (known)
			return known;
		if (typeof value !== "number")
			return "text";
		return column === "process" ? "id" : /share|ppm|_rate$/.test(column) && value <= 1 ? "share" : /time|wall|idle|self|total|average|error|duration|_ns$|cpu|cuda/.test(column) ? "ns" :
			/bytes/.test(column) ? "bytes" : "count";
	}
	function cell_text(type, v) {
		if (typeof v !== "number")
			return v === null || v === undefined ? "" : String(v);
		if (type === "value" || type === "signed") // of two sides
			return (type === "signed" ? v < 0 ? "\u2212" : "+" : "") + (H.unit === "ns" && v && abs(v) < 10 ? abs(v).toFixed(1) + " ns" : amount(abs(v), H.unit));
		return type === "ns" || type === "at" ? ns(v) : type === "share" ? share(v, 1) : type === "bytes" ? bytes(v) : type === "id" ? String(v) :
			Number.isInteger(v) ? count(v) : v.toPrecision(4);
	}
	const tables_with_rows = () => Object.keys(H.tables || {});
	// The rows of the selected time, where the page can tell; else all.
	const rows_all = (table) => rows_timed(table) || table.rows || [];
	// The rows that match, in the chosen order.
	function table_rows(table) {
		let rows = rows_all(table);
		if (S.filter) {
			const words = S.filter.toLowerCase();
			rows = rows.filter((r) => Object.values(r).some((v) => String(v).toLowerCase().includes(words)));
		}
		const [column, order] = S.sort.split(":");
		if (column && rows.length && column in rows[0]) {
			const by = order === "up" ? 1 : -1;
			rows = rows.slice().sort((a, b) => by * (typeof a[column] === "number" && typeof b[column] === "number" ? a[column] - b[column] :
				String(a[column]).localeCompare(String(b[column]))));
		}
		return rows;
	}
	const table_key = () => H.tables[S.table] ? S.table : tables_with_rows()[0];
	function tables_render() {
		const key = table_key(), table = H.tables[key], base = rows_all(table), rows = table_rows(table), shown = rows.slice(0, ROWS_SHOWN * rows_more);
		$("table-list").replaceChildren(...tables_with_rows().map((k) => {
			const n = H.has("rows_" + k) ? columns("rows_" + k).length > 4 : H.tables[k].rows; // more than "[]"
			return button(H.tables[k].title, () => { rows_more = 1; go({ table: k, sort: "", filter: "" }); }, {
				class: "tab" + (n ? "" : " empty"), "aria-pressed": k === key ? "true" : "false",
			});
		}));
		$("filter").value = S.filter;
		const all = base.length, more = base === table.rows && all > H.rows_max;
		$("table-said").textContent = !all ? "" : `${count(rows.length)}${S.filter ? " of " + count(all) : ""} row${all === 1 ? "" : "s"}${H.diff ? "" : base !== table.rows ? " of the selected time" : " of the whole run"}` +
			(more ? `; the page has the first ${count(H.rows_max)}, aiflame report --${key} has all` : "");
		const place = $("table-body");
		if (!shown.length) {
			place.replaceChildren(el("p", { class: "none" }, table.none && table.none.replace(/^report: /, "") || (all ? "No row matches." : `There are no ${table.help || "rows"} in this profile.`)));
			return;
		}
		const names = Object.keys(shown[0]).filter((c) => base.some((r) => r[c] || (r[c] === 0 && /^(id|text|any)$/.test(type_of(table, c, 0)))));
		if (!names.length)
			names.push(...Object.keys(shown[0]));
		const types = Object.fromEntries(names.map((c) => [c, type_of(table, c, shown[0][c])]));
		// What a row is called stands first.
		const text = names.filter((c) => types[c] === "text" && c !== "stack" && c !== "process"), lead = text.find((c) => c === "step") || text.find((c) => /kernel|operator|range|cause|device|name|counter/.test(c) && shown.some((r) => r[c])) || text[0];
		const order = [...new Set(["number", lead, ...names])].filter((c) => names.includes(c));
		const most = Object.fromEntries(names.map((c) => [c, max(...base.map((r) => typeof r[c] === "number" ? r[c] : 0))]));
		const [sorted, way] = S.sort.split(":"), bar = row_bar(key);
		place.replaceChildren(el("table", {}, el("caption", { class: "hidden" }, H.tables[key].title), el("thead", {}, el("tr", {}, order.map((c) =>
			el("th", { scope: "col", class: types[c], "aria-sort": c === sorted ? (way === "up" ? "ascending" : "descending") : "none" },
				button((UNITS[c] || c.replaceAll("_", " ")) + (c === sorted ? (way === "up" ? " \u25b4" : " \u25be") : ""), () =>
					go({ sort: c + (c === sorted && way !== "up" ? ":up" : ":down") }, true)))).toSpliced(1, 0, bar ? el("th", { scope: "col" }, bar[0]) : ""))),
		el("tbody", {}, shown.map((r) => {
			return el("tr", opens(() => row_open(key, r)), order.map((c) => {
				const td = el("td", { class: types[c] + (c === lead ? " lead" : ""), title: types[c] === "text" ? String(r[c]) : null }, c === "kernel" ? short_of(r[c]) : cell_text(types[c], r[c]));
				if (types[c] === "share" && typeof r[c] === "number")
					td.style.backgroundSize = `${min(100, 100 * r[c] / (most[c] || 1))}% 3px`;
				return td;
			}).toSpliced(1, 0, bar ? el("td", {}, bar[1](r)) : ""));
		}))), ...(rows.length > shown.length ? [button(`Show more (${count(rows.length - shown.length)} rows)`, () => { rows_more++; tables_render(); })] : []));
	}
	function table_csv() {
		const rows = table_rows(H.tables[table_key()]), names = rows.length ? Object.keys(rows[0]) : [];
		const field = (v) => /[",\n\r]/.test(v = String(v === null ? "" : v)) ? `"${v.replaceAll('"', '""')}"` : v;
		return [names, ...rows.map((r) => names.map((c) => r[c]))].map((r) => r.map(field).join(",")).join("\r\n") + "\r\n";
	}

