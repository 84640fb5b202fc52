/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include "profile/file.h"
#include "profile/timed.h"
#include "profile/weights.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AIF_EXPORTER(name)       extern const struct aif_exporter aif_exporter_##name;
#define AIF_EXPORTER_FIRST(name) AIF_EXPORTER(name)
#include "export/exporters.def"
#undef AIF_EXPORTER

const struct aif_exporter *const aif_exporters[] = {
#define AIF_EXPORTER(name) &aif_exporter_##name,
#include "export/exporters.def"
	NULL,
};

static bool ends_with(const char *text, size_t n, const char *end, size_t end_len)
{
	return n > end_len && !memcmp(text + n - end_len, end, end_len);
}

static bool is_gz(const char *path)
{
	return ends_with(path, strlen(path), ".gz", 3);
}

/* The length of the exporter's suffix that the path has, 0 for none. */
static size_t suffix_of(const struct aif_exporter *e, const char *path)
{
	size_t n = strlen(path), plain = is_gz(path) ? n - 3 : n, best = 0;

	for (const char *at = e->suffixes; *at;) {
		size_t len = strcspn(at, " ");

		if (len > best && (ends_with(path, n, at, len) || ends_with(path, plain, at, len)))
			best = len;
		at += len;
		at += *at == ' ';
	}
	return best;
}

const struct aif_exporter *aif_exporter_of(const char *path)
{
	const struct aif_exporter *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; aif_exporters[i]; i++) {
		size_t len = suffix_of(aif_exporters[i], path);

		if (len > best_len) {
			best = aif_exporters[i];
			best_len = len;
		}
	}
	return best;
}

int aif_export_write(const struct aif_exporter *e, const struct aif_export *x, const char *path,
		     struct aif_err *err)
{
	struct aif_out out;
	int r;

	if (e->write_path)
		return e->write_path(x, path, err);
	if (!strcmp(path, "-") && !e->is_text && isatty(STDOUT_FILENO))
		return aif_err_set(err, -EINVAL,
				   "export: standard output is a terminal, and %s is no text; send "
				   "it on with | or >",
				   e->name);
	r = aif_out_open_stoppable(&out, path, x->stopped, x->scratch, err);
	if (r < 0)
		return r;
	out.max = x->max_bytes;
	if (e->is_gzip || is_gz(path))
		r = aif_out_gzip(&out);
	if (r < 0)
		aif_err_set(err, r, "export: out of memory");
	else
		r = e->write(x, &out, err);
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

int aif_export_is_captured_only(const struct aif_export *x)
{
	const struct aif_attribution_opts *o = &x->which;
	const struct aif_profile *p = x->profile;
	struct aif_weights_blank blank;
	struct aif_weights *w;
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
			   "export: nothing in this profile, or of what was asked for; see "
			   "aiflame info");
}

/* ---- what all formats say ------------------------------------------------------------------------ */

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
