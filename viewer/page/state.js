	// ---- state ----------------------------------------------------------------------------------------------
	// All that a link holds, by names, so that it fits a page that is made anew. The back button undoes.
	const DEFAULTS = {
		view: "overview", of: "", by: "", time: "", zoom: "", ops: "", mine: "", find: "", re: "", dir: "", colour: "", theme: "",
		table: "", sort: "", filter: "", kernel: "", at: "", rows: "", more: "", leaf: "", per: "", roots: "",
	};
	let S = { ...DEFAULTS };
	// Of a link that may have been cut.
	const json_read = (text) => {
		try {
			return JSON.parse(text);
		} catch {
			return null;
		}
	};
	const list_read = (text) => {
		const v = json_read(text);
		return Array.isArray(v) ? v : [];
	};
	const is_texts = (v) => Array.isArray(v) && v.every((t) => typeof t === "string");
	const ops = () => list_read(S.ops).filter((o) => is_texts(o) && o.length === 2);
	const time = () => {
		const [a, b] = S.time.split("-").map((t) => parseFloat(t) * 1e9);
		return b > a && a >= 0 ? [a, b] : null;
	};
	const time_text = (t) => t ? `${(t[0] / 1e9).toFixed(9).replace(/\.?0+$/, "")}-${(t[1] / 1e9).toFixed(9).replace(/\.?0+$/, "")}` : "";

	function state_read() {
		const given = new URLSearchParams(location.hash.replace(/^#v1&?/, ""));
		const next = { ...DEFAULTS, view: H.first, theme: S.theme };
		for (const key in DEFAULTS)
			if (given.has(key))
				next[key] = given.get(key);
		S = next;
		link_said(given);
	}
	// Says what a link names that this page does not have: one that was cut, or is of another profile.
	function link_said(given) {
		const trouble = link_trouble(given);
		for (const key of given.keys())
			if (!(key in DEFAULTS))
				trouble.push(`"${key}", which no page has`);
		if (!views().some(([k]) => k === S.view))
			trouble.push(`the view "${S.view}"`);
		$("trouble").hidden = !trouble.length;
		$("trouble").replaceChildren(trouble.length ? `The link names what is not in this page: ${trouble.join("; ")}. The rest is shown.` : "", button("Close", () => { $("trouble").hidden = true; }, { class: "link" }));
	}
	function state_link() {
		const p = new URLSearchParams();
		for (const key in DEFAULTS)
			if (S[key] && (key === "view" || S[key] !== DEFAULTS[key]))
				p.set(key, S[key]);
		return "#v1&" + p;
	}
	let link_timer = 0;
	function link_put(how) {
		clearTimeout(link_timer);
		link_timer = 0;
		try {
			history[how](null, "", state_link());
		} catch {
			// Too many changes within a short time: the link is late, the page is not.
		}
	}
	// Changes what is shown. `quiet`: no step for the back button; the link follows when changes pause, as it costs milliseconds.
	function go(change, quiet) {
		if (link_timer && !quiet)
			link_put("replaceState");
		Object.assign(S, change);
		if (!quiet)
			link_put("pushState");
		else
			link_timer ||= setTimeout(link_put, 100, "replaceState");
		render();
	}
