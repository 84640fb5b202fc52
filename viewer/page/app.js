	// ---- the page -------------------------------------------------------------------------------------------------------
	const VIEWS = [["overview", "Overview"], ["flame", "Flame graph"], ["scope", "Flame scope"], ["tables", "Tables"], ["code", "Code"]];
	const views = () => VIEWS.filter(([k]) => !H.scope || k === "scope" || k === "flame");
	const choice = (id, label, list, onchange) => el("label", { class: "choice" }, el("span", { class: "hidden" }, label),
		el("select", { id, title: label, onchange }, list.map(([value, text]) => el("option", { value }, text))));

	function page_build() {
		document.body.replaceChildren(
			el("header", {}, el("div", { class: "title" }, el("b", { class: "mark" }, "aiflame"), el("h1", { title: H.title }, H.title || "profile"),
				el("span", { class: "dim host" }, [H.host, H.date].filter(Boolean).join(", "))),
			el("nav", { "aria-label": "views" }, views().map(([k, text]) => button(text, () => go({ view: k }), { id: "view-" + k, class: "tab" }))),
			choice("theme", "theme", [["", "System"], ["light", "Light"], ["dark", "Dark"]], (e) => go({ theme: e.target.value }, true)),
			button("?", () => $("help").showModal(), { "aria-label": "keys", class: "round" })),
			el("div", { id: "band" }, el("div", { id: "strip-names", "aria-hidden": "true" }), el("div", { id: "strip", role: "slider", tabindex: "0", "aria-label": "time", "aria-valuetext": "all" }, el("canvas", { id: "strip-canvas" })),
				el("div", { id: "range-line" }, el("div", { id: "range" }), button("Whole run", () => go({ time: "" }), { id: "range-clear", class: "link" }))),
			el("main", {},
				el("div", { id: "overview", class: "view" }),
				el("div", { id: "flame-view", class: "view" },
					el("div", { class: "bar-line" },
						choice("of", "what is drawn", kinds.map((k) => [k[0], k[1]]), (e) => go({ of: e.target.value, zoom: "" })),
						choice("by", "what widths are", BYS.map(([k, t]) => [k, "by " + t]), (e) => go({ by: e.target.value, zoom: "" })),
						choice("colour", "colours", [["", "colour: kind"], ["safe", "colour: colour-blind"], ["self", "colour: own share"]], (e) => go({ colour: e.target.value }, true)),
						choice("dir", "direction", [["", "flames"], ["icicle", "icicles"]], (e) => go({ dir: e.target.value }, true)),
						el("label", { class: "check" }, el("input", { type: "checkbox", id: "mine", onchange: (e) => go({ mine: e.target.checked ? "1" : "", zoom: "" }) }), "only my code"),
						el("span", { class: "grow" }),
						el("span", { id: "found", role: "status" }),
						el("span", { class: "search" }, el("input", { type: "search", id: "find", placeholder: "Search  (/)", "aria-label": "search frames", spellcheck: "false", oninput: (e) => find_later(e.target.value) }),
							button(".*", () => go({ re: S.re ? "" : "1" }, true), { id: "re", title: "a regular expression", "aria-pressed": "false" }),
							button("\u2039", () => found_go(-1), { "aria-label": "previous" }), button("\u203a", () => found_go(1), { "aria-label": "next" })),
						button("SVG", () => save("aiflame.svg", "image/svg+xml", flame_svg()), { title: "save a picture" }),
						button("PNG", () => $("flame").toBlob((b) => save("aiflame.png", "image/png", b)), { title: "save pixels" })),
					el("div", { id: "crumbs" }),
					el("div", { class: "columns" }, el("div", { id: "chart", tabindex: "0", role: "application", "aria-label": "flame graph: arrows, Enter, Escape", "aria-describedby": "live" },
						el("canvas", { id: "flame", "aria-hidden": "true" }), el("div", { id: "tall" })), el("aside", { id: "panel", "aria-label": "frame" })),
					el("p", { id: "flame-none", class: "none" }), el("div", { id: "legend" })),
				el("div", { id: "scope", class: "view" }, el("div", { class: "bar-line" }, el("span", { id: "scope-said", class: "dim" }), el("span", { class: "grow" }),
					choice("rows", "columns", [["", "columns: time"], ["steps", "columns: steps"]], (e) => go({ rows: e.target.value }, true)),
					button("Flame graph of this time", () => go({ view: "flame" })), el("span", { id: "scope-info", role: "status" })), el("div", { id: "scope-body" })),
				el("div", { id: "tables", class: "view" }, el("div", { class: "bar-line" }, el("div", { id: "table-list" }), el("span", { class: "grow" }), el("span", { id: "table-said", class: "dim", role: "status" }),
					el("input", { type: "search", id: "filter", placeholder: "Filter", "aria-label": "filter rows", oninput: (e) => { rows_more = 1; go({ filter: e.target.value }, true); } }),
					button("CSV", () => save("aiflame.csv", "text/csv", table_csv()), { title: "save these rows" })), el("div", { id: "table-body" })),
				el("div", { id: "code", class: "view" }, el("div", { class: "bar-line" }, el("div", { id: "code-list" }), el("span", { class: "grow" }), button("Hottest line", () => {}, { id: "hottest" })), el("div", { id: "code-body" }))),
			el("div", { id: "tip", hidden: true }), el("div", { id: "live", class: "hidden", "aria-live": "polite" }),
			el("dialog", { id: "help", "aria-label": "keys" }, el("h2", {}, "Keys"), el("table", {}, el("tbody", {}, [
				["1 \u2026 5", "views"], ["/", "search; Enter: next match"], ["n, N", "next, previous match"], ["arrows", "caller, callee, neighbours; on the strip: move the time"], ["Enter", "zoom to the frame"],
				["Escape", "show all again"], ["+, \u2212", "on the strip: half, twice the time"], ["back", "undoes"],
			].map(([k, t]) => el("tr", {}, el("td", {}, el("kbd", {}, k)), el("td", {}, t))))), el("form", { method: "dialog" }, el("button", {}, "Close"))));
		$("strip-names").replaceChildren(...strips.map((s) => el("div", { title: s.device }, s.device + (s.pid && strips.length > 1 ? ` (${s.pid})` : ""))));
		$("band").hidden = !strips.length;
		const chart = $("chart");
		$("flame").onclick = flame_click;
		$("flame").onmousemove = flame_hover;
		$("flame").onmouseleave = () => { $("tip").hidden = true; };
		chart.onscroll = () => flame_draw();
		chart.onkeydown = flame_key;
		$("find").onkeydown = (e) => {
			if (e.key === "Enter")
				found_go(e.shiftKey ? -1 : 1);
			else if (e.key === "Escape")
				chart.focus();
		};
		if (!H.steps[0].length)
			$("rows").parentElement.hidden = true;
		strip_events();
		document.onkeydown = page_key;
		window.onpopstate = window.onhashchange = () => { state_read(); render(); };
		window.onresize = () => { F.placed = false; render(); };
		dark_asked.onchange = forced.onchange = () => { strip_picture = null; render(); };
	}
	let find_timer = 0;
	function find_later(text) {
		clearTimeout(find_timer);
		find_timer = setTimeout(() => go({ find: text }, true), 60);
	}
	function page_key(e) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
		if (typing || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const n = +e.key;
		if (n >= 1 && n <= views().length)
			go({ view: views()[n - 1][0] });
		else if (e.key === "/") {
			e.preventDefault();
			if (S.view !== "flame")
				go({ view: "flame" });
			$("find").focus();
		} else if (e.key === "n" || e.key === "N")
			found_go(e.key === "n" ? 1 : -1);
		else if (e.key === "?")
			$("help").showModal();
	}

	let drawn_key = "";
	function render() {
		if (!views().some(([k]) => k === S.view))
			S.view = views()[0][0];
		theme_apply();
		for (const [k] of views()) {
			const place = $(k === "flame" ? "flame-view" : k), tab = $("view-" + k);
			place.hidden = k !== S.view;
			tab.setAttribute("aria-current", k === S.view ? "page" : "false");
		}
		for (const [k] of VIEWS)
			if (!views().some(([v]) => v === k))
				$(k).hidden = true;
		for (const key of ["of", "by", "colour", "dir", "theme", "rows"])
			$(key).value = S[key] || (key === "of" && kinds.length ? kinds[0][0] : "");
		$("tip").hidden = true;
		strip_draw();
		strip_say();
		$("strip").setAttribute("aria-valuetext", time_said(time()));
		if (S.view === "overview")
			overview_render();
		else if (S.view === "flame")
			flame_render();
		else if (S.view === "scope")
			scope_render();
		else if (S.view === "tables")
			tables_render();
		else
			code_render();
		document.documentElement.dataset.ready = "yes";
	}
	function flame_render() {
		flame_graph();
		const has = F.g && F.g.sum > 0;
		$("mine").checked = S.mine === "1";
		$("re").setAttribute("aria-pressed", S.re ? "true" : "false");
		if (document.activeElement !== $("find"))
			$("find").value = S.find;
		const by = kinds.length ? metrics_now().by : "";
		$("by").value = by;
		if (kinds.length)
			[...$("by").options].forEach((o) => {
				const totals = trees[kind_now()[2]].totals;
				o.disabled = o.value === "samples" ? !totals[SAMPLES] : o.value === "launches" ? !totals[LAUNCHES] : !kind_now()[3].some((m) => totals[m] > 0);
			});
		$("chart").hidden = !has;
		$("panel").hidden = !has;
		const none = $("flame-none");
		none.hidden = has && !F.g.untimed;
		none.textContent = has ? (F.g.untimed ? `${amount(F.g.untimed, F.unit)} of the whole run have no known time, and are not in a part of it.` : "") :
			!kinds.length ? "There is nothing to draw: " + (H.lacks.join("; ") || "the profile has no stacks") + "." :
				F.g && F.g.untimed ? "What this draws has no known times: show the whole run." : "Nothing ran in the selected time, or nothing is left by the changes above.";
		if (!has) {
			crumbs_render();
			return;
		}
		flame_zoom();
		const found_key = S.find + S.re + F.key;
		if (found_key !== drawn_key) {
			const began = performance.now();
			flame_find();
			T.search = performance.now() - began;
			F.nth = -1;
			drawn_key = found_key;
		}
		found_say();
		crumbs_render();
		legend_render();
		const chart = $("chart"), view_key = [S.dir, S.ops, S.of, S.mine].join("|");
		chart.classList.toggle("icicle", inverted());
		$("tall").style.height = flame_height() + "px";
		if (F.placed !== view_key) {
			F.placed = view_key;
			F.view_height = chart.clientHeight;
			chart.scrollTop = inverted() ? 0 : 1e9;
		}
		const began = performance.now();
		flame_draw();
		T.draw = performance.now() - began;
		panel_render();
	}
	let legend_key = "";
	function legend_render() {
		const g = F.g, seen = new Map(), key = [F.key, S.colour, is_dark()].join(); // seen: name of a colour -> the colour
		if (key === legend_key)
			return;
		legend_key = key;
		for (let i = 1; i < g.n && S.colour !== "self"; i++) {
			const c = H.colour[g.name[i]], name = is_idle(g.name[i]) ? "idle" : H.palette[c].name;
			if (g.total[i] > 0 && !seen.has(name))
				seen.set(name, [name === "idle" ? 99 : c, fill_of(g, i)]);
		}
		$("legend").replaceChildren(...(S.colour === "self" ? [el("span", { class: "key" }, "darker: more of a frame's time is its own")] :
			[...seen].sort((a, b) => a[1][0] - b[1][0]).map(([name, [, fill]]) => {
				const dot = el("i", { class: "dot" });
				dot.style.background = fill;
				return el("span", { class: "key" }, dot, name);
			})));
	}

	// Times of the last actions in ms, and what tests look at.
	const T = { ready: 0, draw: 0, search: 0 };
	window.aiflame = { T, F, get state() { return S; }, get data() { return H; }, go, find: (t, re) => { S.find = t; S.re = re || ""; drawn_key = ""; render(); return F.found && { sum: F.found.sum, frames: F.found.frames.length, all: F.whole.sum }; } };

	document.body.append(el("p", { id: "loading" }, "Unpacking"));
	unpack($("data").textContent.trim()).then((buffer) => {
		parse(buffer);
		$("data").remove();
		trees_make();
		strips_make();
		state_read();
		page_build();
		render();
		requestAnimationFrame(() => { T.ready = performance.now(); });
	}).catch((e) => {
		document.body.replaceChildren(el("p", { class: "none", role: "alert" }, `This page cannot be shown: ${e.message}. It may be cut short, or the browser is too old.`));
		throw e;
	});
})();
