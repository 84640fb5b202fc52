	// ---- code: the listings of `aiflame annotate` ----------------------------------------------------------------------
	function code_render() {
		const list = H.code_of || [], chosen = list.includes(S.kernel) ? S.kernel : list[0], place = $("code-body");
		$("code-list").replaceChildren(...list.map((c) => button(c, () => go({ kernel: c }), { class: "tab", title: c, "aria-pressed": c === chosen ? "true" : "false" })));
		if (!chosen) {
			place.replaceChildren(el("p", { class: "none" }, "No kernel has samples of its instructions, so no listing: aiflame info says why."));
			return;
		}
		const text = H.code[list.indexOf(chosen)], heats = text.map((l) => { const m = /^\s*(\d+\.\d+) %(?=  |$)/.exec(l); return m ? +m[1] : 0; }), most = Math.max(...heats, 0.001);
		const lines = text.map((l, k) => {
			const e = el("div", { class: "line", id: "line" + k }, l || " ");
			if (heats[k])
				e.style.background = `color-mix(in srgb, var(--hot) ${Math.round(6 + 54 * heats[k] / most)}%, transparent)`;
			return e;
		});
		place.replaceChildren(el("pre", { tabindex: "0", "aria-label": "listing of " + chosen }, lines));
		$("hottest").onclick = () => {
			const hot = heats.map((h, k) => [h, k]).filter(([h]) => h).sort((a, b) => b[0] - a[0]);
			if (hot.length)
				lines[hot[code_nth++ % Math.min(hot.length, 10)][1]].scrollIntoView({ block: "center" });
		};
	}
	let code_nth = 0;
