/* SPDX-License-Identifier: Apache-2.0 */
#include "export/weighted.h"

#include "analysis/cpu_totals.h"
#include "analysis/traits.h"
#include "names/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct aif_weighted_type aif_weighted_types[AIF_WEIGHTED_COUNT] = {
	[AIF_WEIGHTED_DEVICE_TIME] = {"device_time", "nanoseconds"},
	[AIF_WEIGHTED_DURATION] = {"device_duration", "nanoseconds"},
	[AIF_WEIGHTED_LAUNCHES] = {"launches", "count"},
	[AIF_WEIGHTED_SAMPLES] = {"device_samples", "count"},
	[AIF_WEIGHTED_BYTES] = {"moved", "bytes"},
	[AIF_WEIGHTED_CPU] = {"cpu", "nanoseconds"},
	[AIF_WEIGHTED_WAITING] = {"device_wait", "nanoseconds"},
};

struct aif_weighted_type aif_weighted_type(const struct aif_profile *p, unsigned type)
{
	const char *counts = type == AIF_WEIGHTED_CPU ? aif_cpu_counts(p) : NULL;

	if (type == AIF_WEIGHTED_CPU && p->traits.cpu_weights == AIF_CPU_WEIGHTS_WALL)
		return (struct aif_weighted_type){"wall", "nanoseconds"};
	if (!counts)
		return aif_weighted_types[type];
	return (struct aif_weighted_type){counts, strcmp(counts, "bytes") ? "count" : "bytes"};
}

struct each {
	const struct aif_export *x;
	struct aif_host_stacks *h;
	struct aif_regex kernel;
	int (*fn)(void *arg, const struct aif_weighted *w);
	void *arg;
	size_t given;
	/* CPU samples by thread and stack. */
	struct aif_map known; /* thread, then (stack | waiting) -> index */
	struct cpu_sum {
		uint32_t thread, stack;
		bool waiting;
		uint64_t ns;
	} * sums;
	size_t sums_len, sums_cap;
};

/* Ranges, outermost first. */
static uint32_t ranges_under(struct each *e, uint32_t node, const uint32_t *path, unsigned n)
{
	const struct aif_range_index *x = e->x->sel.ranges;

	for (unsigned i = 0; i < n && node; i++)
		node = aif_host_stacks_mark(
			e->h, node, aif_strset_get(&x->names, x->chains[path[i]].name, NULL));
	return node;
}

/* Places a row as the picture does: on its stack, its ranges, and of a graph's node its graph and what made it. */
static uint32_t row_node(struct each *e, const struct aif_attribution_row *row)
{
	const struct aif_profile *p = e->x->profile;
	const struct aif_range_index *x = e->x->sel.by_range ? e->x->sel.ranges : NULL;
	uint32_t node = aif_host_stacks_node(e->h, row->stack), path[AIF_RANGE_DEPTH];

	if (node && x)
		node = ranges_under(e, node, path, aif_range_path(x, row->range, false, path));
	if (!node || !row->graph)
		return node;
	node = aif_export_graph_node(e->h, p, node, row->device, row->graph, row->stack,
				     row->capture);
	if (node && x)
		node = ranges_under(e, node, path,
				    aif_range_node_path(x, row->range, row->capture_range, path));
	return node;
}

static int row_give(struct each *e, const struct aif_attribution_row *row)
{
	struct aif_weighted w = {.process = row->process,
				 .thread = AIF_NONE,
				 .device = row->device,
				 .stream = row->stream,
				 .kernel = row->kernel,
				 .kind = row->kind,
				 .frame = row->frame,
				 .reason = row->reason};

	if (e->kernel.is_set && !aif_filter_kernel(&e->kernel, e->x->names, row->kind, row->kernel))
		return 0;
	w.values[AIF_WEIGHTED_DEVICE_TIME] = row->wall_ns;
	w.values[AIF_WEIGHTED_DURATION] = row->time_ns;
	w.values[AIF_WEIGHTED_LAUNCHES] = row->launches;
	w.values[AIF_WEIGHTED_SAMPLES] = row->samples;
	w.values[AIF_WEIGHTED_BYTES] = row->bytes;
	w.node = row_node(e, row);
	if (w.node)
		w.node = aif_host_stacks_kernel(e->h, w.node, row->kernel, row->kind);
	if (w.node && row->frame != AIF_NONE)
		w.node = aif_host_stacks_inside(e->h, w.node, row->frame,
						row->kind == AIF_LAUNCH_KERNEL ? row->kernel
									       : AIF_NONE);
	if (!w.node)
		return -ENOMEM;
	e->given++;
	return e->fn(e->arg, &w);
}

static int cpu_add(struct each *e, const struct aif_cpu_row *row)
{
	bool waiting = row->waiting;
	/* Threads and stacks have 32 bits each; the flag takes the place of a thread that cannot be. */
	uint64_t key = ((uint64_t)row->thread << 32 | row->stack) ^
		       (waiting ? UINT64_C(1) << 63 : 0),
		 i;

	if (!aif_map_get(&e->known, key, &i)) {
		if (aif_grow(&e->sums, &e->sums_cap, e->sums_len + 1, sizeof(*e->sums)) < 0 ||
		    aif_map_put(&e->known, key, e->sums_len) < 0)
			return -ENOMEM;
		i = e->sums_len++;
		e->sums[i] = (struct cpu_sum){row->thread, row->stack, waiting, 0};
	}
	return __builtin_add_overflow(e->sums[i].ns, waiting ? row->waiting : row->weight,
				      &e->sums[i].ns)
		       ? -EOVERFLOW
		       : 0;
}

static int cpus_add(void *arg, const struct aif_cpu_row *rows, size_t n)
{
	struct each *e = arg;
	struct aif_cpu_row part;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		if (aif_cpu_part(e->x->profile, &e->x->sel, &rows[i], &part))
			r = cpu_add(e, &part);
	return r;
}

static int cpu_give(struct each *e, const struct cpu_sum *s)
{
	const struct aif_profile *p = e->x->profile;
	struct aif_weighted w = {.process = s->thread == AIF_NONE ? AIF_NONE
								  : p->threads[s->thread].process,
				 .thread = s->thread,
				 .device = AIF_NONE,
				 .stream = AIF_NONE,
				 .kernel = AIF_NONE,
				 .kind = AIF_NONE,
				 .frame = AIF_NONE,
				 .reason = AIF_NONE};

	w.values[s->waiting ? AIF_WEIGHTED_WAITING : AIF_WEIGHTED_CPU] = s->ns;
	w.node = aif_host_stacks_node(e->h, s->stack);
	if (w.node && s->waiting)
		w.node = aif_host_stacks_mark(e->h, w.node, "[waiting]");
	if (!w.node)
		return -ENOMEM;
	e->given++;
	return e->fn(e->arg, &w);
}

static int give_all(struct each *e, struct aif_err *err)
{
	struct aif_attribution a = {0};
	int r = aif_attribution_compute(e->x->profile, &e->x->sel, &a, err);

	aif_export_damaged(e->x, a.conservation.damaged);
	aif_export_rows(e->x, &a);
	for (size_t i = 0; i < a.rows_len && !r; i++)
		r = row_give(e, &a.rows[i]);
	aif_attribution_finish(&a);
	/* CPU samples are of no device and no kernel. */
	if (!r && !e->x->sel.devices && !e->kernel.is_set)
		r = aif_export_cpu(e->x, cpus_add, e);
	for (size_t i = 0; i < e->sums_len && !r; i++)
		r = cpu_give(e, &e->sums[i]);
	if (!r && !e->given)
		return aif_export_nothing(err);
	if (r < 0 && !(err && err->code))
		aif_err_set(err, r, "export: %s", strerror(-r));
	return r;
}

int aif_weighted_each(const struct aif_export *x, struct aif_host_stacks *h,
		      int (*fn)(void *arg, const struct aif_weighted *w), void *arg,
		      struct aif_err *err)
{
	struct each e = {.x = x, .h = h, .fn = fn, .arg = arg};
	int r = aif_regex_init(&e.kernel, "--kernel", x->kernel, err);

	if (r < 0)
		return r;
	r = give_all(&e, err);
	aif_regex_finish(&e.kernel);
	aif_map_finish(&e.known);
	free(e.sums);
	return r;
}

static void label_begin(struct aif_weighted_label ret[], size_t *n, const char *key,
			struct aif_buf *b)
{
	ret[(*n)++] = (struct aif_weighted_label){key, b->len};
}

size_t aif_weighted_labels(const struct aif_export *x, struct aif_host_stacks *h,
			   const struct aif_weighted *w, struct aif_buf *b,
			   struct aif_weighted_label ret[AIF_WEIGHTED_LABELS])
{
	const struct aif_profile *p = x->profile;
	struct aif_frame_label kernel;
	size_t n = 0, len;

	aif_buf_clear(b);
	if (w->process != AIF_NONE) {
		label_begin(ret, &n, "process", b);
		aif_export_process_name(p, w->process, b);
		aif_buf_putc(b, 0);
	}
	if (w->thread != AIF_NONE) {
		label_begin(ret, &n, "thread", b);
		aif_export_thread_name(p, w->thread, b);
		aif_buf_putc(b, 0);
	}
	if (w->device != AIF_NONE) {
		label_begin(ret, &n, "device", b);
		aif_export_device_name(p, w->device, b);
		aif_buf_putc(b, 0);
	}
	if (w->stream != AIF_NONE) {
		label_begin(ret, &n, "stream", b);
		aif_buf_printf(b, "%" PRIu64, p->streams[w->stream].ordinal);
		aif_buf_putc(b, 0);
	}
	if (w->kind != AIF_NONE &&
	    aif_frame_labels_kernel(h->labels, w->kernel, w->kind, &kernel) == 0) {
		label_begin(ret, &n, "kernel", b);
		aif_buf_puts(b, aif_tree_text(&h->tree, kernel.name, &len));
		aif_buf_putc(b, 0);
	}
	if (w->frame != AIF_NONE) {
		const struct aif_frame_label *l = aif_frame_labels_get(h->labels, w->frame, &len);

		if (l) {
			label_begin(ret, &n, "instruction", b);
			aif_buf_puts(b, aif_tree_text(&h->tree, l[len - 1].name, &len));
			aif_buf_putc(b, 0);
		}
	}
	if (w->reason != AIF_NONE) {
		label_begin(ret, &n, "stall", b);
		aif_buf_puts(b, aif_profile_str(p, w->reason));
		aif_buf_putc(b, 0);
	}
	return aif_buf_failed(b) ? 0 : n;
}
