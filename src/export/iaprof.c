/* SPDX-License-Identifier: Apache-2.0 */
#include "text/iaprof_text.h"
#include "names/code_index.h"
#include "analysis/counters.h"
#include "export/exporter.h"
#include "names/filter.h"
#include "flame/folded.h"
#include "names/host_stacks.h"

#include <errno.h>
#include <string.h>

/*
 * iaprof's text (text/iaprof_text.h): the samples that devices took, by process, launch stack, kernel, instruction and
 * reason; also those that no launch explains. It has no place for times, source lines and inlined functions: these are
 * left out. All samples, if there are any, are of one interval, the last: counters' values come before it, as no interval may end before
 * the one that it follows. A kernel's address, of which the profile knows nothing, is a number that tells kernels apart.
 */

struct place { /* where samples are, and how many of each reason */
	uint32_t process, kernel, kind, stack, frame;
	bool is_unmatched; /* no launch explains them */
	uint64_t offset;
	uint64_t counts[AIF_IAPROF_COUNTS];
};
struct iaprof {
	const struct aif_export *x;
	struct aif_regex kernel;
	struct aif_host_stacks stacks;
	struct aif_code_index codes;
	AIF_TABLE(place, places);
	struct aif_counters counters;
	uint32_t *path;
	size_t path_cap;
	struct aif_buf stack, instruction, comm, file, symbol;
	struct aif_iaprof_writer w;
};

/* Reasons that the format has no column for are "other", and so are samples without one. */
static unsigned column_of(const struct aif_profile *p, uint32_t reason)
{
	const char *text = reason == AIF_NONE ? "" : aif_profile_str(p, reason);
	unsigned other = 0;

	for (unsigned i = 0; i < AIF_IAPROF_COUNTS; i++) {
		if (!strcmp(text, aif_iaprof_count_name(i)))
			return i;
		if (!strcmp(aif_iaprof_count_name(i), "other"))
			other = i;
	}
	return other;
}

/* Returns how far the place is behind the beginning of its function; 0 for one that is known by its name
 * only. */
static uint64_t offset_of(const struct iaprof *x, uint32_t frame)
{
	const struct aif_frame *f;
	const struct aif_code *c;

	if (frame == AIF_NONE)
		return 0;
	f = &x->x->profile->frames[frame];
	c = aif_code_index_find(&x->codes, f->module, f->address);
	return f->address == AIF_ADDRESS_UNKNOWN ? 0 : f->address - (c ? c->address : 0);
}

static int take(struct iaprof *x, const struct aif_attribution_row *row)
{
	const struct aif_profile *p = x->x->profile;
	struct place *to;

	if (!row->samples || (x->kernel.is_set &&
			      !aif_filter_kernel(&x->kernel, x->x->names, row->kind, row->kernel)))
		return 0;
	if (aif_grow(&x->places, &x->places_cap, x->places_len + 1, sizeof(*to)) < 0)
		return -ENOMEM;
	to = &x->places[x->places_len++];
	*to = (struct place){.process = row->process,
			     .kernel = row->kernel,
			     .kind = row->kind,
			     .stack = row->stack,
			     .frame = row->frame,
			     .is_unmatched = row->grade == AIF_GRADE_UNMATCHED,
			     .offset = offset_of(x, row->frame)};
	to->counts[column_of(p, row->reason)] = row->samples;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

#define BY(field)                 \
	if (x->field != y->field) \
	return x->field < y->field ? -1 : 1
	BY(process);
	BY(kind);
	BY(kernel);
	BY(stack);
	BY(is_unmatched);
	BY(offset);
	BY(frame);
#undef BY
	return 0;
}

/* Streams, graphs and devices are nothing that the text tells apart. */
static int merge(struct iaprof *x)
{
	size_t n = 0;

	qsort(x->places, x->places_len, sizeof(*x->places), compare);
	for (size_t i = 0; i < x->places_len; i++) {
		const struct place *from = &x->places[i];

		if (!n || compare(&x->places[n - 1], from)) {
			x->places[n++] = *from;
			continue;
		}
		for (unsigned k = 0; k < AIF_IAPROF_COUNTS; k++)
			if (__builtin_add_overflow(x->places[n - 1].counts[k], from->counts[k],
						   &x->places[n - 1].counts[k]))
				return -EOVERFLOW;
	}
	x->places_len = n;
	return 0;
}

static void text_put(struct aif_buf *b, const char *text)
{
	aif_buf_clear(b);
	aif_name_sanitize(text, strlen(text), b);
}

/* Root first, kinds of frames as folded stacks tell them. "": there is none. */
static int stack_put(struct iaprof *x, const struct place *of)
{
	const struct aif_host_stacks *h = &x->stacks;
	uint32_t node = 0, n = 0;

	aif_buf_clear(&x->stack);
	if (of->is_unmatched) {
		aif_unmatched_owner(x->x->profile, of->process, &x->stack);
		node = aif_host_stacks_mark(&x->stacks, 0, aif_buf_str(&x->stack));
		aif_buf_clear(&x->stack);
	} else if (of->stack != AIF_NONE) {
		node = aif_host_stacks_node(&x->stacks, of->stack);
	} else {
		return 0;
	}
	if (!node ||
	    aif_grow(&x->path, &x->path_cap, h->nodes[node].depth + 1, sizeof(*x->path)) < 0)
		return -ENOMEM;
	for (; node; node = h->nodes[node].parent)
		x->path[n++] = h->nodes[node].name;
	while (n) {
		aif_folded_frame(&x->stack, &h->tree, x->path[--n]);
		if (n)
			aif_buf_putc(&x->stack, ';');
	}
	return aif_buf_failed(&x->stack) ? -ENOMEM : 0;
}

/* The text of the instruction alone: "send +0x228" says the offset, too. */
static int instruction_put(struct iaprof *x, uint32_t frame)
{
	const struct aif_frame_label *l;
	const char *text;
	size_t n, len;

	aif_buf_clear(&x->instruction);
	if (frame == AIF_NONE)
		return 0;
	l = aif_frame_labels_get(x->stacks.labels, frame, &n);
	if (!l)
		return -ENOMEM;
	text = aif_tree_text(&x->stacks.tree, l[n - 1].name, &len);
	if (aif_tree_type_of(&x->stacks.tree, l[n - 1].name) == AIF_TREE_INSTRUCTION) {
		const char *plus = memrchr(text, '+', len);

		if (plus && plus > text && plus[-1] == ' ')
			len = (size_t)(plus - text) - 1;
		else if (plus == text)
			len = 0;
	}
	aif_name_sanitize(text, len, &x->instruction);
	return aif_buf_failed(&x->instruction) ? -ENOMEM : 0;
}

/* Returns the source file of the instruction's line, else that of its kernel's program. */
static const char *file_of(const struct aif_profile *p, const struct place *at)
{
	const struct aif_frame_name *n =
		at->frame == AIF_NONE ? NULL : aif_profile_frame_name(p, at->frame);
	uint32_t program = at->kernel < p->kernels_len ? p->kernels[at->kernel].program : AIF_NONE;
	const char *file = n ? aif_profile_str(p, n->file) : "";

	if (!*file && program < p->programs_len)
		file = aif_profile_str(p, p->programs[program].source_name);
	return file;
}

static const char *comm_of(const struct aif_profile *p, uint32_t process)
{
	const char *exe = process == AIF_NONE ? "" : aif_profile_str(p, p->processes[process].exe),
		   *slash = strrchr(exe, '/');

	return slash ? slash + 1 : exe;
}

static void symbol_put(struct iaprof *x, const struct place *at)
{
	const struct aif_profile *p = x->x->profile;

	aif_buf_clear(&x->symbol);
	if (at->kernel < p->kernels_len)
		text_put(&x->symbol, aif_profile_str(p, p->kernels[at->kernel].name));
	else if (at->kind != AIF_LAUNCH_KERNEL)
		text_put(&x->symbol, aif_transfer_name(at->kind));
}

static int place_put(struct iaprof *x, const struct place *at)
{
	const struct aif_profile *p = x->x->profile;
	struct aif_iaprof_sample s = {.offset = at->offset};
	int r = stack_put(x, at);

	if (!r)
		r = instruction_put(x, at->frame);
	if (r < 0)
		return r;
	if (at->process != AIF_NONE)
		s.pid = p->processes[at->process].pid;
	if (at->kernel < p->kernels_len)
		s.address = ((uint64_t)at->kernel + 1) << 32;
	text_put(&x->comm, comm_of(p, at->process));
	text_put(&x->file, file_of(p, at));
	symbol_put(x, at);
	if (aif_buf_failed(&x->comm) || aif_buf_failed(&x->file) || aif_buf_failed(&x->symbol))
		return -ENOMEM;
	s.comm = aif_buf_str(&x->comm);
	s.file = aif_buf_str(&x->file);
	s.symbol = aif_buf_str(&x->symbol);
	s.stack = aif_buf_str(&x->stack);
	s.instruction = aif_buf_str(&x->instruction);
	memcpy(s.counts, at->counts, sizeof(s.counts));
	aif_iaprof_write_sample(&x->w, &s);
	return 0;
}

/* A value and whose: index of .counters. */
struct metric {
	int64_t at;
	uint64_t value;
	uint32_t counter;
};

static int by_time(const void *a, const void *b)
{
	const struct metric *x = a, *y = b;

	return AIF_ORDER(x->at, y->at) ?: AIF_ORDER(x->counter, y->counter);
}

static void metric_name(struct iaprof *x, const struct aif_counter *of)
{
	const struct aif_profile *p = x->x->profile;

	aif_buf_clear(&x->symbol);
	aif_buf_clear(&x->comm);
	aif_counter_name(p, of, &x->comm);
	aif_name_sanitize(aif_buf_str(&x->comm), x->comm.len, &x->symbol);
}

/* Intervals of their own, one for each time; the format has whole numbers from 0 on only. */
static int metrics_put(struct iaprof *x, struct aif_out *out, uint64_t *interval, uint64_t *end_ns)
{
	const struct aif_counters *c = &x->counters;
	struct metric *m = malloc((c->values_len + 1) * sizeof(*m));
	uint64_t start = x->x->profile->start_ns;
	size_t n = 0;

	if (!m)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->len; i++)
		for (size_t k = 0; k < c->at[i].len; k++) {
			const struct aif_counter_value *v = &c->values[c->at[i].first + k];

			if (v->value > -0.5 && v->value < 18446744073709549568.0)
				m[n++] = (struct metric){v->at, (uint64_t)(v->value + 0.5), i};
		}
	qsort(m, n, sizeof(*m), by_time);
	for (size_t i = 0; i < n && !out->error; i++) {
		if (!i || m[i].at != m[i - 1].at) {
			*end_ns = m[i].at < 0 && (uint64_t)-m[i].at > start
					  ? 0
					  : start + (uint64_t)m[i].at;
			aif_iaprof_write_interval(&x->w, (*interval)++, *end_ns);
		}
		metric_name(x, &c->at[m[i].counter]);
		aif_iaprof_write_metric(&x->w, aif_buf_str(&x->symbol), m[i].value);
		if (aif_buf_failed(&x->w.out) || aif_buf_failed(&x->symbol))
			break;
		aif_buf_append(aif_out_buf(out), x->w.out.data, x->w.out.len);
		aif_buf_clear(&x->w.out);
		aif_out_flush_if_full(out);
	}
	free(m);
	return aif_buf_failed(&x->w.out) || aif_buf_failed(&x->symbol) ? -ENOMEM : 0;
}

static int put_all(struct iaprof *x, struct aif_out *out)
{
	uint64_t interval = 0, end_ns = 0;
	int r = metrics_put(x, out, &interval, &end_ns);

	/* A counter may have been read after all else. */
	if (x->places_len)
		aif_iaprof_write_interval(&x->w, interval, AIF_MAX(end_ns, x->x->profile->end_ns));
	for (size_t i = 0; i < x->places_len && !r && !out->error; i++) {
		r = place_put(x, &x->places[i]);
		if (aif_buf_failed(&x->w.out))
			return -ENOMEM;
		aif_buf_append(aif_out_buf(out), x->w.out.data, x->w.out.len);
		aif_buf_clear(&x->w.out);
		aif_out_flush_if_full(out);
	}
	return r;
}

static int write_all(struct iaprof *x, struct aif_out *out, struct aif_err *err)
{
	struct aif_attribution a = {0};
	int r = aif_attribution_compute(x->x->profile, &x->x->sel, &a, err);

	if (r < 0)
		return r;
	aif_export_damaged(x->x, a.conservation.damaged);
	r = aif_attribution_take_unmatched(&a);
	for (size_t i = 0; i < a.rows_len && !r; i++)
		r = take(x, &a.rows[i]);
	aif_attribution_finish(&a);
	if (!r && x->places_len)
		r = merge(x);
	if (!r && !x->kernel.is_set)
		r = aif_counters_read(x->x->profile, &x->x->sel, &x->counters);
	if (!r && !x->places_len && !x->counters.values_len)
		return aif_err_set(
			err, -ENODATA,
			"export: iaprof's text has samples and counters of devices, and the "
			"profile, or the selected part, has none; see aiflame info");
	if (!r)
		r = put_all(x, out);
	return r < 0 ? aif_err_set(err, r, "export: %s", strerror(-r)) : 0;
}

static int iaprof_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct iaprof i = {.x = x};
	int r = aif_regex_init(&i.kernel, "--kernel", x->kernel, err);

	if (r < 0)
		return r;
	r = aif_host_stacks_init(&i.stacks, x->names, x->detail);
	if (!r)
		r = aif_code_index_init(&i.codes, x->profile);
	if (r < 0)
		aif_err_set(err, r, "export: %s", strerror(-r));
	else
		r = write_all(&i, out, err);
	aif_regex_finish(&i.kernel);
	aif_host_stacks_finish(&i.stacks);
	aif_code_index_finish(&i.codes);
	aif_buf_finish(&i.stack);
	aif_buf_finish(&i.instruction);
	aif_buf_finish(&i.comm);
	aif_buf_finish(&i.file);
	aif_buf_finish(&i.symbol);
	aif_iaprof_writer_finish(&i.w);
	aif_counters_finish(&i.counters);
	free(i.places);
	free(i.path);
	return r;
}

const struct aif_exporter aif_exporter_iaprof = {
	.name = "iaprof",
	.output = "aiflame.iaprof",
	.suffixes = ".iaprof",
	.is_text = true,
	.write = iaprof_write,
};
