	// ---- the page's frame -------------------------------------------------------------------------------------------------------
	const choices = (id, list) => $(id).replaceChildren(...list.map(([value, text]) => el("option", { value }, text)));

	function page_build() {
		document.body.classList.add("live");
		$("title").title = H.title;
		$("title").textContent = H.title.replace(/^imported from .*/, (t) => t.replace(/( from|,) [^,]*\//g, "$1 ")) || "profile";
		$("host").textContent = [H.host, H.date].filter(Boolean).join(", ");
		$("nav").replaceChildren(...views().map(([k, text]) => button(text, () => go({ view: k }), { id: "view-" + k, class: "tab" })));
		choices("of", kinds);
		choices("by", BYS.map(([k, t]) => [k, "by " + t]));
		choices("colour", COLOURS.map(([k, t]) => [k, "colour: " + t]));
		choices("leaf", LEAVES);
		$("leaf").hidden = !LEAVES.length || !H.type.some((t) => t > 7 && t < 11 || t > 69);
		for (const key of ["of", "by", "leaf"])
			$(key).onchange = (e) => go({ [key]: e.target.value, zoom: "" });
		for (const key of ["theme", "colour", "dir", "rows"])
			$(key).onchange = (e) => go({ [key]: e.target.value }, true);
		const click = (id, f) => { $(id).onclick = f; }, chart = $("chart");
		click("ask", () => $("help").showModal());
		click("re", () => go({ re: S.re ? "" : "1" }, true));
		click("find-last", () => found_go(-1));
		click("find-next", () => found_go(1));
		click("svg", () => save("aiflame.svg", "image/svg+xml", flame_svg()));
		click("png", flame_png);
		click("csv", () => save("aiflame.csv", "text/csv", table_csv()));
		click("flame", flame_click);
		$("mine").onchange = (e) => go({ mine: e.target.checked ? "1" : "", zoom: "" });
		$("filter").oninput = (e) => { rows_more = 1; go({ filter: e.target.value }, true); };
		$("find").oninput = (e) => find_later(e.target.value);
		$("find").onkeydown = (e) => {
			if (e.key === "Enter")
				found_go(e.shiftKey ? -1 : 1);
			else if (e.key === "Escape")
				chart.focus();
		};
		$("flame").onmousemove = flame_hover;
		$("flame").onmouseleave = () => { $("tip").hidden = true; };
		chart.onscroll = () => flame_draw();
		chart.onkeydown = flame_key;
		page_make();
		document.onkeydown = page_key;
		window.onpopstate = window.onhashchange = () => { clearTimeout(link_timer); link_timer = 0; state_read(); render(); };
		window.onresize = () => { F.placed = false; render(); };
		dark_asked.onchange = forced.onchange = printing.onchange = render;
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
			if (S.view !== "flame" && S.view !== "timeline")
				go({ view: "flame" });
			$(S.view === "timeline" ? "lanes-find" : "find").focus();
		} else if (e.key === "n" || e.key === "N")
			found_go(e.key === "n" ? 1 : -1);
		else if (e.key === "?")
			$("help").showModal();
	}

	// What has the focus keeps it when it is made anew: known by its place in what has a name. Where that is shown no more, the view has it.
	function focus_place() {
		const at = [];
		for (let e = document.activeElement; e && e !== document.body; e = e.parentNode) {
			if (e.id)
				return [e.id, at];
			at.unshift([...e.parentNode.children].indexOf(e));
		}
		return null;
	}
	function focus_put(place) {
		const now = document.activeElement;
		if (!place || (now && now !== document.body && now.isConnected && now.checkVisibility()))
			return;
		const e = place[1].reduce((up, k) => up && up.children[k], $(place[0]));
		(e && e.checkVisibility() ? e : $(S.view === "flame" ? $("chart").hidden ? "flame-view" : "chart" : S.view === "timeline" ? "lanes" : S.view)).focus({ preventScroll: true });
	}

	let drawn_key = "";
	function render() {
		const focused = focus_place();
		const view = views().find(([k]) => k === S.view) || views()[0];
		S.view = view[0];
		theme_apply();
		for (const [k] of views()) {
			$(k === "flame" ? "flame-view" : k).hidden = k !== S.view;
			$("view-" + k).setAttribute("aria-current", k === S.view ? "page" : "false");
		}
		for (const key of ["of", "by", "leaf", "colour", "dir", "theme", "rows"])
			$(key).value = key === "of" && kinds.length ? kind_now()[0] : S[key];
		$("tip").hidden = true;
		page_draw();
		view[2]();
		focus_put(focused);
		document.documentElement.dataset.ready = "yes";
	}
	function flame_render() {
		flame_graph();
		const has = F.g && F.g.sum > 0;
		$("mine").checked = S.mine === "1";
		$("per").checked = S.per === "1";
		$("roots").value = S.roots;
		$("roots").hidden = !kinds.length || !trees[kind_now()[2]].root;
		$("re").setAttribute("aria-pressed", S.re ? "true" : "false");
		if (document.activeElement !== $("find"))
			$("find").value = S.find;
		if (kinds.length) {
			$("by").value = metrics_now().by;
			$("by").hidden = F.unit === "bytes";
			[...$("by").options].forEach((o) => { o.disabled = !by_has(o.value); });
		}
		$("chart").hidden = !has;
		$("panel").hidden = !has;
		const none = $("flame-none");
		none.textContent = has ? picture_note() + (F.g.untimed ? `${amount(F.g.untimed, F.unit)} of the whole run have no known time, and are not in a part of it.` : "") :
			!kinds.length ? "There is nothing to draw: " + (H.lacks.join("; ") || "the profile has no stacks") + "." :
				F.g && F.g.untimed ? "What this draws has no known times: show the whole run." : "Nothing ran in the selected time, or nothing is left by the changes above.";
		none.hidden = !none.textContent;
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
		const g = F.g, seen = new Map(), key = [F.key, S.colour, is_dark()].join();
		if (key === legend_key)
			return;
		legend_key = key;
		const done = new Uint8Array(H.names.length), by_name = g.n > 1 && !group_in(g, 1);
		for (let i = 1; i < g.n; i++)
			if (g.total[i] > 0 && !done[g.name[i]]) {
				done[g.name[i]] = by_name;
				const [order, name, fill] = group_of(g, i);
				if (!seen.has(name))
					seen.set(name, [order, fill]);
			}
		$("legend").replaceChildren(...[...seen].sort((a, b) => a[1][0] - b[1][0]).map(([name, [, fill]]) => el("span", { class: "key" }, dot(fill), name)));
	}

	// Times of the last actions in ms, and what tests look at.
	const T = { ready: 0, draw: 0, search: 0 };
	window.aiflame = { T, F, more: page_hooks, get state() { return S; }, get data() { return H; }, go, find: (t, re) => { S.find = t; S.re = re || ""; drawn_key = ""; flame_find(); return F.found && { sum: F.found.sum, frames: F.found.frames.length, all: F.whole.sum }; } };

	let later_text = ""; // what is unpacked when it is first shown
	const loading = el("p", { id: "loading" }, "Unpacking");
	document.currentScript.remove();
	document.body.append(loading);
	unpack($("data").textContent.trim()).then((buffer) => {
		parse(buffer);
		$("data").remove();
		if ($("later")) {
			later_text = $("later").textContent.trim();
			$("later").remove();
		}
		loading.remove();
		trees_make();
		state_read();
		page_build();
		render();
		requestAnimationFrame(() => { T.ready = performance.now(); });
	}).catch((e) => {
		document.body.replaceChildren(el("p", { class: "none", role: "alert" }, `This page cannot be shown: ${e.message}. It may be cut short, or the browser too old.`));
		throw e;
	});
})();
