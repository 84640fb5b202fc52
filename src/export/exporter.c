/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include "profile/file.h"
#include "analysis/exec_timeline.h"
#include "analysis/weights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Code that exporters share; the table of them is exporters.c's. */

int aif_export_file(const struct aif_export *x, const char *path, bool is_gzip,
		    int (*write)(const struct aif_export *, struct aif_out *, struct aif_err *),
		    struct aif_err *err)
{
	struct aif_out out;
	int r = aif_out_open_stoppable(&out, path, x->stopped, x->scratch, err);

	if (r < 0)
		return r;
	out.max = x->max_bytes;
	if (is_gzip)
		r = aif_out_gzip(&out);
	if (r < 0)
		aif_err_set(err, r, "export: out of memory");
	else
		r = write(x, &out, err);
	if (r < 0 && !out.error) {
		aif_out_abort(&out);
		return r;
	}
	return aif_out_commit(&out, err);
}

int aif_export_cpu(const struct aif_export *x,
		   int (*fn)(void *arg, const struct aif_cpu_row *rows, size_t n), void *arg)
{
	uint64_t bad = 0;
	int r = aif_profile_cpu(x->profile, fn, arg, &bad);

	aif_export_damaged(x, bad);
	return r;
}

uint32_t aif_export_graph_node(struct aif_host_stacks *h, const struct aif_profile *p,
			       uint32_t node, uint32_t device, uint32_t graph, uint32_t replay,
			       uint32_t capture)
{
	struct aif_buf text = {0};

	if (!node)
		return 0;
	aif_names_put_graph(p, device, graph, &text);
	node = aif_buf_failed(&text) ? 0 : aif_host_stacks_mark(h, node, aif_buf_str(&text));
	aif_buf_finish(&text);
	if (node && capture != AIF_NONE)
		node = aif_host_stacks_capture(h, node, replay, capture);
	return node;
}

int aif_export_is_captured_only(const struct aif_export *x)
{
	const struct aif_selection *o = &x->sel;
	const struct aif_profile *p = x->profile;
	struct aif_weights_blank blank;
	struct aif_weights *w = NULL;
	int r = aif_weights_new(p, &w);

	if (!r && x->ret_left_out &&
	    aif_weights_blank(w, p->start_ns + o->from_ns,
			      o->to_ns ? p->start_ns + o->to_ns : p->end_ns, o->processes,
			      o->threads, &blank))
		*x->ret_left_out += aif_timed_rounded(blank.launches);
	aif_weights_free(w);
	return r;
}

int aif_export_nothing(struct aif_err *err)
{
	return aif_err_set(err, -ENODATA,
			   "export: the profile, or the selected part, is empty; see aiflame "
			   "info");
}

/* ---- what all formats call things ---------------------------------------------------------------- */

void aif_export_device_name(const struct aif_profile *p, uint32_t device, struct aif_buf *out)
{
	if (device == AIF_NONE) {
		aif_buf_puts(out, "unknown device");
		return;
	}
	aif_buf_puts(out, aif_profile_str(p, p->devices[device].name));
	for (size_t i = 0; i < p->devices_len; i++)
		if (i != device && p->devices[i].name == p->devices[device].name) {
			aif_buf_printf(out, " #%" PRIu32, device);
			break;
		}
}

const char *aif_export_process_own(const struct aif_profile *p, uint32_t process)
{
	const char *text = aif_profile_str(p, p->processes[process].cmdline);

	return *text ? text : aif_profile_str(p, p->processes[process].exe);
}

/* Is the number one of the words of a name? Traces have threads that are called by theirs. */
static bool has_number(const char *name, uint32_t number)
{
	char text[16];
	size_t len = (size_t)snprintf(text, sizeof(text), "%" PRIu32, number);

	for (const char *at = name; (at = strstr(at, text)) != NULL; at++)
		if ((at == name || at[-1] < '0' || at[-1] > '9') &&
		    (at[len] < '0' || at[len] > '9'))
			return true;
	return false;
}

void aif_export_process_name(const struct aif_profile *p, uint32_t process, struct aif_buf *out)
{
	const char *text;

	if (process == AIF_NONE) {
		aif_buf_puts(out, "unknown process");
		return;
	}
	text = aif_export_process_own(p, process);
	aif_buf_printf(out, "%s%s(%" PRIu32 ")", text, *text ? " " : "", p->processes[process].pid);
}

void aif_export_thread_name(const struct aif_profile *p, uint32_t thread, struct aif_buf *out)
{
	const char *text;

	if (thread == AIF_NONE) {
		aif_buf_puts(out, "unknown thread");
		return;
	}
	text = aif_profile_str(p, p->threads[thread].name);
	if (has_number(text, p->threads[thread].tid))
		aif_buf_puts(out, text);
	else
		aif_buf_printf(out, "%s %" PRIu32, *text ? text : "thread", p->threads[thread].tid);
}

uint64_t aif_export_unix_start(const struct aif_profile *p)
{
	uint64_t start = strtoull(aif_profile_meta(p, "start_realtime_ns"), NULL, 10);

	for (size_t i = 0; i < p->clock_pairs_len && !start; i++) {
		const struct aif_clock_pair *c = &p->clock_pairs[i];

		if (c->clock == AIF_CLOCK_REALTIME && c->process == AIF_NONE)
			start = c->value - (c->before - p->start_ns);
	}
	return start;
}
