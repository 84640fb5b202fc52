/* SPDX-License-Identifier: Apache-2.0 */
/* hub.html: what a run directory says, on one page that needs nothing else. */
#include "runbook/hub.h"

#include "runbook/run_dir.h"
#include "text/svg_text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_SVG (16u << 20)
enum { MOST_COLUMNS = 300 };

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">"
	"<title>aiflame runbook</title><style>"
	"body{font:14px system-ui,sans-serif;margin:0 auto;max-width:1290px;padding:16px;color:#222}"
	".cards{display:flex;flex-wrap:wrap;gap:8px}.card{border:1px solid #ccc;border-radius:6px;"
	"padding:8px 12px;min-width:150px}.card b{display:block;font-size:20px}.card small{color:#666}"
	".pass{border-left:6px solid #2a7d3f}.fail{border-left:6px solid #b3261e}.cannot{border-left:"
	"6px solid #999}table{border-collapse:collapse;margin:8px 0}th,td{border-bottom:1px solid "
	"#ddd;padding:4px 10px;text-align:left;vertical-align:top}td.n{text-align:right}"
	".bar{display:inline-block;height:10px;background:#4a7ab5}"
	"iframe{width:100%;height:560px;border:1px solid #ccc}h2{margin:24px 0 8px}"
	"</style></head><body>\n";

static void put_html(const char *text, size_t n, struct aif_buf *out)
{
	aif_svg_text(out, text, n, MOST_COLUMNS);
}

static void put_value(double v, struct aif_buf *out)
{
	if (isnan(v))
		aif_buf_puts(out, "n/a");
	else
		aif_buf_printf(out, "%.4g", v);
}

static void put_cards(const struct aif_runbook_check *checks, struct aif_buf *out)
{
	static const char *const classes[] = {"pass", "fail", "cannot"};

	aif_buf_puts(out, "<div class=\"cards\">");
	for (size_t i = 0; i < AIF_RUNBOOK_BUDGETS; i++) {
		const struct aif_runbook_check *c = &checks[i];

		aif_buf_printf(out, "<div class=\"card %s\">%s<b>", classes[c->verdict], c->metric);
		put_value(c->value, out);
		aif_buf_printf(out, "</b><small>%s %.4g: %s%s</small></div>",
			       *c->comparison == '>' ? "at least" : "at most", c->threshold,
			       aif_runbook_verdict_word(c->verdict),
			       isnan(c->value) ? ", not measured here" : "");
	}
	aif_buf_puts(out, "</div>\n");
}

static void put_signals(const struct aif_runbook_values *v, const struct aif_runbook_signal *s,
			size_t len, struct aif_buf *out)
{
	aif_buf_puts(out, "<h2>Signals</h2>\n");
	if (!len) {
		aif_buf_puts(out, "<p>None of the decision table fires on what is known.</p>\n");
		return;
	}
	aif_buf_puts(out, "<table><tr><th>signal<th>value<th>threshold<th>what it means<th>what to "
			  "do<th>evidence</tr>\n");
	for (size_t i = 0; i < len; i++) {
		aif_buf_printf(out, "<tr><td>%s<td>", s[i].signal);
		put_value(s[i].value, out);
		aif_buf_puts(out, "<td>");
		put_value(s[i].threshold, out);
		aif_buf_printf(out, "<td>%s<td>%s<td>", s[i].means, s[i].action);
		if (s[i].of == AIF_RUNBOOK_OUTSIDE)
			put_html((const char *)v->outside.data, v->outside.len, out);
		else
			put_html(s[i].key, s[i].key_len, out);
		aif_buf_puts(out, "</tr>\n");
	}
	aif_buf_puts(out, "</table>\n");
}

/* The graph as the document of a frame, where its script runs apart from the page. */
static void put_flame(const char *dir, const char *svg, struct aif_buf *out)
{
	struct aif_buf text = {0};
	struct aif_err why = {0};

	aif_buf_puts(out, "<h2>Flame graph: ");
	put_html(svg, strlen(svg) - 4, out);
	aif_buf_puts(out, "</h2>\n");
	if (aif_runbook_dir_read(dir, svg, MOST_SVG, &text, &why) < 0) {
		aif_buf_puts(out, "<p>Not shown: ");
		put_html(why.text, strlen(why.text), out);
		aif_buf_puts(out, "</p>\n");
	} else {
		aif_buf_puts(out, "<iframe sandbox=\"allow-scripts\" srcdoc=\"");
		for (size_t i = 0; i < text.len; i++) {
			if (text.data[i] == '"')
				aif_buf_puts(out, "&quot;");
			else if (text.data[i] == '&')
				aif_buf_puts(out, "&amp;");
			else
				aif_buf_putc(out, (char)text.data[i]);
		}
		aif_buf_puts(out, "\"></iframe>\n");
	}
	aif_buf_finish(&text);
}

static void put_flames(const char *dir, struct aif_buf *out)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);

		if (len > 4 && !strcmp(list[i]->d_name + len - 4, ".svg"))
			put_flame(dir, list[i]->d_name, out);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* Calls each() with the name, less its end, of each recording of the directory, until it returns an error. */
static int each_recording(const char *dir,
			  int (*each)(const char *dir, const char *name, void *arg), void *arg)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort), e = 0;

	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name);

		if (!e && len > 5 && !strcmp(list[i]->d_name + len - 5, ".data")) {
			list[i]->d_name[len - 5] = '\0';
			e = each(dir, list[i]->d_name, arg);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return e;
}

static bool is_newer(const char *page, const char *data)
{
	struct stat a, b;

	return stat(page, &a) == 0 && stat(data, &b) == 0 &&
	       (a.st_mtim.tv_sec > b.st_mtim.tv_sec ||
		(a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec >= b.st_mtim.tv_nsec));
}

struct pages {
	aif_runbook_page *write;
	struct aif_err *err;
};

static int write_page(const char *dir, const char *name, void *arg)
{
	struct aif_buf data = {0}, page = {0};
	const struct pages *p = arg;
	struct stat st;
	int r = 0;

	aif_buf_printf(&data, "%s/%s.data", dir, name);
	aif_buf_printf(&page, "%s/%s.html", dir, name);
	/* A page takes seconds where many kernels were disassembled: `run` writes it, `render` only where it is not there. */
	if (lstat(aif_buf_str(&page), &st) == 0 && !S_ISREG(st.st_mode))
		r = aif_err_set(p->err, -EINVAL, "%s: is a link or no file; remove it",
				aif_buf_str(&page));
	else if (!is_newer(aif_buf_str(&page), aif_buf_str(&data)))
		r = p->write(aif_buf_str(&data), aif_buf_str(&page), p->err);
	aif_buf_finish(&data);
	aif_buf_finish(&page);
	return r;
}

int aif_runbook_pages(const char *dir, aif_runbook_page *write, struct aif_err *err)
{
	struct pages p = {.write = write, .err = err};

	return each_recording(dir, write_page, &p);
}

/* Links lead beside the page, so that they hold where the directory is moved to. */
static int put_page(const char *dir, const char *name, void *arg)
{
	struct aif_buf *out = arg;

	(void)dir;
	aif_buf_puts(out, "<p><a href=\"");
	for (const char *c = name; *c; c++)
		if (isalnum((unsigned char)*c) || strchr("-_.", *c))
			aif_buf_putc(out, *c);
		else
			aif_buf_printf(out, "%%%02X", (unsigned char)*c);
	aif_buf_puts(out, ".html\">");
	put_html(name, strlen(name), out);
	aif_buf_puts(out, "</a>: what bounds it, time lines, flame graphs and tables</p>\n");
	return 0;
}

static void put_missing(const char *dir, struct aif_buf *out)
{
	static const char *const names[] = {
		"profile_summary.json", "perf_stat_summary.json", "flamegraph_manifest.json",
		"vtune_summary.json",   "advisor_summary.json",   "perf_gate_report.json",
		"ledger.jsonl"};
	const char *before = "<h2>Missing artifacts</h2>\n<p>";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct aif_buf path = {0};
		struct stat st;

		aif_buf_printf(&path, "%s/%s", dir, names[i]);
		if (stat(aif_buf_str(&path), &st) < 0) {
			aif_buf_printf(out, "%s%s", before, names[i]);
			before = ", ";
		}
		aif_buf_finish(&path);
	}
	aif_buf_puts(out, *before == ',' ? "</p>\n" : "");
}

void aif_runbook_hub(const char *dir, const struct aif_runbook_values *v,
		     const struct aif_runbook_check checks[AIF_RUNBOOK_BUDGETS],
		     const struct aif_runbook_signal *signals, size_t signals_len,
		     struct aif_buf *out)
{
	aif_buf_puts(out, head);
	aif_buf_puts(out, "<h1>");
	put_html(dir, strlen(dir), out);
	aif_buf_puts(out, "</h1>\n");
	put_cards(checks, out);
	put_signals(v, signals, signals_len, out);
	aif_buf_puts(out, "<h2>Pages of the recordings</h2>\n");
	each_recording(dir, put_page, out);
	put_flames(dir, out);
	aif_runbook_hub_tables(dir, out);
	put_missing(dir, out);
	aif_buf_puts(out, "</body></html>\n");
}
