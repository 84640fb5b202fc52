/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/run_tools.h"

#include "probe/tool.h"
#include "runbook/run_dir.h"
#include "text/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_REPORT (16u << 20)
#define MOST_ROWS   32 /* as v7 keeps of Advisor's table */
enum { MOST_COLUMNS = 256, MOST_WORDS = 16 };

static const char *const vtune_names[AIF_RUNBOOK_ANALYSES] = {"hotspots", "uarch-exploration",
							      "memory-access"};

const char *aif_runbook_analysis_name(size_t i)
{
	return vtune_names[i];
}

/* Appends the words of a command behind those of a tool, and runs it. Returns its status. */
static int run(const char *const *words, char *const *argv)
{
	const char *all[MOST_WORDS];
	size_t n = 0, len = 0;
	char **both;
	int status;

	while (words[n]) {
		all[n] = words[n];
		n++;
	}
	while (argv && argv[len])
		len++;
	both = calloc(n + len + 1, sizeof(*both));
	if (!both)
		return -ENOMEM;
	memcpy(both, all, n * sizeof(*both));
	if (len)
		memcpy(both + n, argv, len * sizeof(*both));
	status = aif_tool_run(both, false);
	free(both);
	return status;
}

/* Says why a tool's run failed. Returns true where it did not. */
static bool is_ok(const char *tool, const char *what, int status, struct aif_buf *why)
{
	if (status == 127)
		aif_buf_printf(why, "%s is not in PATH", tool);
	else if (status)
		aif_buf_printf(why, "%s ended with status %d %s", tool, status, what);
	return status == 0;
}

/* Says so where the OS kernel lets no process look into another, which both tools do. */
static bool may_trace(const char *tool, struct aif_buf *why)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	if (scope > 0)
		aif_buf_printf(why,
			       "kernel.yama.ptrace_scope is %d: %s may not look into the command; "
			       "set it to 0",
			       scope, tool);
	return scope <= 0;
}

/* ---- VTune ----------------------------------------------------------------------------------- */

/* Reads the number of a label's line that stands before `unit`; false: there is none. */
static bool number_of(const char *text, const char *label, const char *unit, double *ret)
{
	for (const char *at = strcasestr(text, label); at; at = strcasestr(at + 1, label)) {
		const char *end = at + strcspn(at, "\n");

		for (const char *c = at + strlen(label); c < end; c++) {
			char *behind;

			if (!isdigit((unsigned char)*c))
				continue;
			*ret = strtod(c, &behind);
			while (*behind == ' ')
				behind++;
			if (!strncmp(behind, unit, strlen(unit)))
				return true;
			c = behind > c ? behind - 1 : c;
		}
	}
	return false;
}

size_t aif_runbook_vtune_metrics(const char *text,
				 struct aif_runbook_metric ret[AIF_RUNBOOK_METRICS])
{
	/* The name of v7, and those that VTune prints. */
	static const struct {
		const char *name, *label, *unit;
	} known[] = {{"Memory Bound", "Memory Bound", "%"},
		     {"Core Bound", "Core Bound", "%"},
		     {"Retiring", "Retiring", "%"},
		     {"Frontend Bound", "Frontend Bound", "%"},
		     {"Frontend Bound", "Front-End Bound", "%"},
		     {"Backend Bound", "Backend Bound", "%"},
		     {"Backend Bound", "Back-End Bound", "%"},
		     {"Bad Speculation", "Bad Speculation", "%"},
		     {"DRAM Bound", "DRAM Bound", "%"},
		     {"L1 Bound", "L1 Bound", "%"},
		     {"L2 Bound", "L2 Bound", "%"},
		     {"L3 Bound", "L3 Bound", "%"},
		     {"Store Bound", "Store Bound", "%"},
		     {"Bandwidth GB/s", "Bandwidth", "GB/s"}};
	size_t n = 0;

	static_assert(AIF_ARRAY_LEN(known) <= AIF_RUNBOOK_METRICS, "room for all");
	for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++) {
		double value;

		if ((n && ret[n - 1].name == known[i].name) ||
		    !number_of(text, known[i].label, known[i].unit, &value))
			continue;
		ret[n++] = (struct aif_runbook_metric){known[i].name, value};
	}
	return n;
}

/* Has VTune write a report. */
static int report(struct aif_runbook_vtune_analysis *a, const char *kind, const char *format,
		  struct aif_buf *to)
{
	const char *words[MOST_WORDS] = {"vtune",
					 "-report",
					 kind,
					 "-result-dir",
					 aif_buf_str(&a->result),
					 "-format",
					 format,
					 "-report-output",
					 aif_buf_str(to),
					 "-quiet"};

	if (!strcmp(format, "csv")) {
		words[10] = "-csv-delimiter";
		words[11] = "comma";
	}
	return run(words, NULL);
}

static bool analyse(const char *dir, char *const *argv, struct aif_runbook_vtune_analysis *a,
		    struct aif_buf *why)
{
	bool is_hotspots = !strcmp(a->name, "hotspots");
	const char *kind = is_hotspots ? "hotspots" : "summary";
	struct aif_err err = {0};
	struct aif_buf name = {0};
	bool ok;

	aif_buf_printf(&a->result, "%s/vtune-%s", dir, a->name);
	aif_buf_printf(&a->report, "%s/vtune-%s.txt", dir, a->name);
	aif_buf_printf(&a->csv, "%s/vtune-%s.csv", dir, a->name);
	aif_buf_printf(&name, "vtune-%s.txt", a->name);
	ok = is_ok("vtune", "as it collected",
		   run((const char *const[]){"vtune", "-collect", a->name, "-result-dir",
					     aif_buf_str(&a->result), "-quiet", "--", NULL},
		       argv),
		   why) &&
	     is_ok("vtune", "as it reported", report(a, kind, "text", &a->report), why) &&
	     is_ok("vtune", "as it reported", report(a, kind, "csv", &a->csv), why);
	if (ok && aif_runbook_dir_read(dir, aif_buf_str(&name), MOST_REPORT, &a->raw, &err) < 0) {
		aif_buf_printf(why, "vtune left no report: %s", err.text);
		ok = false;
	}
	if (ok && !is_hotspots)
		a->metrics_len = aif_runbook_vtune_metrics(aif_buf_str(&a->raw), a->metrics);
	aif_buf_finish(&name);
	return ok;
}

/* Makes a profile of its hotspots, from which functions are taken as from a recording. */
static bool import(const char *dir, struct aif_runbook_vtune_run *r)
{
	const char *args[] = {"aiflame", "import",    "-q",
			      "--from",  "intel-csv", aif_buf_str(&r->analyses[0].csv),
			      "-o",      NULL,        NULL};

	aif_buf_printf(&r->data, "%s/vtune-hotspots.data", dir);
	args[7] = aif_buf_str(&r->data);
	if (aif_tool_run((char *const *)args, true) == 0)
		return true;
	aif_buf_printf(&r->why, "vtune's table of functions cannot be read");
	return false;
}

void aif_runbook_vtune_run(const char *dir, char *const *argv, bool is_deep,
			   struct aif_runbook_vtune_run *ret)
{
	size_t wanted = is_deep ? AIF_RUNBOOK_ANALYSES : 1, len = 0;
	bool ok;

	*ret = (struct aif_runbook_vtune_run){0};
	ok = may_trace("vtune", &ret->why);
	while (ok && len < wanted) {
		ret->analyses[len].name = vtune_names[len];
		ok = analyse(dir, argv, &ret->analyses[len], &ret->why);
		len++;
	}
	if (ok && import(dir, ret))
		ret->len = wanted;
}

void aif_runbook_vtune_run_finish(struct aif_runbook_vtune_run *r)
{
	for (size_t i = 0; i < AIF_RUNBOOK_ANALYSES; i++) {
		aif_buf_finish(&r->analyses[i].result);
		aif_buf_finish(&r->analyses[i].report);
		aif_buf_finish(&r->analyses[i].csv);
		aif_buf_finish(&r->analyses[i].raw);
	}
	aif_buf_finish(&r->data);
	aif_buf_finish(&r->why);
}

/* ---- Advisor --------------------------------------------------------------------------------- */

/* Reads a field, with or without quotes, and moves *at behind it and its delimiter. False: the line ends behind it. */
static bool read_field(const char **at, char delimiter, struct aif_buf *ret)
{
	const char *c = *at;
	bool is_quoted = *c == '"';

	aif_buf_clear(ret);
	for (c += is_quoted; *c; c++) {
		if (is_quoted && *c == '"') {
			if (c[1] != '"')
				break;
			c++;
		} else if (!is_quoted && (*c == delimiter || *c == '\n' || *c == '\r')) {
			break;
		}
		aif_buf_putc(ret, *c);
	}
	c += is_quoted && *c == '"';
	while (*c == '\r')
		c++;
	*at = c + (*c == delimiter || *c == '\n');
	return *c == delimiter;
}

static char delimiter_of(const char *text)
{
	static const char signs[] = ",;\t";
	size_t n = strcspn(text, "\n"), most = 0;
	char ret = ',';

	for (const char *s = signs; *s; s++) {
		size_t count = 0;

		for (size_t i = 0; i < n; i++)
			count += text[i] == *s;
		if (count > most) {
			most = count;
			ret = *s;
		}
	}
	return ret;
}

void aif_runbook_table_rows(const char *text, struct aif_buf *out)
{
	struct aif_buf names[MOST_COLUMNS] = {{0}}, field = {0};
	char delimiter = delimiter_of(text);
	size_t columns = 0, rows = 0;
	bool more = *text;

	while (more && columns < MOST_COLUMNS)
		more = read_field(&text, delimiter, &names[columns++]);
	aif_buf_putc(out, '[');
	for (; *text && rows < MOST_ROWS && !more; rows++) {
		bool is_in = true;

		aif_buf_puts(out, rows ? ",\n    {" : "\n    {");
		for (size_t i = 0; is_in; i++) {
			is_in = read_field(&text, delimiter, &field);
			if (i >= columns)
				continue;
			aif_buf_puts(out, i ? ", " : "");
			aif_out_json_escaped(out, aif_buf_str(&names[i]), names[i].len);
			aif_buf_puts(out, ": ");
			aif_out_json_escaped(out, aif_buf_str(&field), field.len);
		}
		aif_buf_putc(out, '}');
	}
	aif_buf_putc(out, ']');
	for (size_t i = 0; i < columns; i++)
		aif_buf_finish(&names[i]);
	aif_buf_finish(&field);
}

static int advisor_report(struct aif_runbook_advisor_run *r, const char *tool, const char *format,
			  struct aif_buf *to)
{
	struct aif_buf as = {0};
	int status;

	aif_buf_printf(&as, "--format=%s", format);
	status = run((const char *const[]){tool, "--report=roofline", "--project-dir",
					   aif_buf_str(&r->project), aif_buf_str(&as),
					   "--report-output", aif_buf_str(to), NULL},
		     NULL);
	aif_buf_finish(&as);
	return status;
}

void aif_runbook_advisor_run(const char *dir, char *const *argv,
			     struct aif_runbook_advisor_run *ret)
{
	static const char *const tools[] = {"advisor",
					    "advixe-cl"}; /* today's name, and the one before */
	struct aif_buf table = {0};
	struct aif_err err = {0};
	const char *tool = tools[0];
	int status = 127;

	*ret = (struct aif_runbook_advisor_run){0};
	aif_buf_printf(&ret->project, "%s/advisor", dir);
	aif_buf_printf(&ret->report, "%s/advisor.txt", dir);
	aif_buf_printf(&ret->csv, "%s/advisor.csv", dir);
	if (!may_trace("advisor", &ret->why))
		return;
	for (size_t i = 0; i < AIF_ARRAY_LEN(tools) && status == 127; i++) {
		tool = tools[i];
		status = run((const char *const[]){tool, "--collect=roofline", "--project-dir",
						   aif_buf_str(&ret->project), "--", NULL},
			     argv);
	}
	if (!is_ok("advisor", "as it collected", status, &ret->why) ||
	    !is_ok("advisor", "as it reported", advisor_report(ret, tool, "text", &ret->report),
		   &ret->why) ||
	    !is_ok("advisor", "as it reported", advisor_report(ret, tool, "csv", &ret->csv),
		   &ret->why))
		return;
	if (aif_runbook_dir_read(dir, "advisor.txt", MOST_REPORT, &ret->raw, &err) < 0 ||
	    aif_runbook_dir_read(dir, "advisor.csv", MOST_REPORT, &table, &err) < 0) {
		aif_buf_printf(&ret->why, "advisor left no report: %s", err.text);
	} else {
		aif_runbook_table_rows(aif_buf_str(&table), &ret->rows);
		ret->has_run = true;
	}
	aif_buf_finish(&table);
}

void aif_runbook_advisor_run_finish(struct aif_runbook_advisor_run *r)
{
	aif_buf_finish(&r->project);
	aif_buf_finish(&r->report);
	aif_buf_finish(&r->csv);
	aif_buf_finish(&r->raw);
	aif_buf_finish(&r->rows);
	aif_buf_finish(&r->why);
}
