/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Frames to begin with; halved until the file is small enough. */
#define MOST_FRAMES 16384
/* Kernels have that part of the file at most. */
#define KERNEL_BYTES (AIF_RUN_FILE_BYTES / 5 * 2)
/* Operators, and ranges, are at most that part of the number of frames. */
#define BY_PART 8

static_assert(sizeof(AIF_RUN_TYPES) - 1 == AIF_TREE_TYPE_COUNT, "a letter for each type");

const char *aif_run_amount_key(enum aif_run_amount which)
{
	static const char *const keys[AIF_RUN_AMOUNTS] = {
		[AIF_RUN_ELAPSED] = "elapsed",
		[AIF_RUN_BUSY] = "busy",
		[AIF_RUN_IDLE] = "idle",
		[AIF_RUN_COPY] = "copy",
		[AIF_RUN_COMMUNICATION] = "communication",
		[AIF_RUN_LAUNCHES] = "launches",
		[AIF_RUN_BYTES] = "bytes",
		[AIF_RUN_ERROR] = "error",
		[AIF_RUN_CPU] = "cpu",
		[AIF_RUN_STATUS] = "status",
		[AIF_RUN_MEMORY] = "memory",
		[AIF_RUN_CLOCK] = "clock",
		[AIF_RUN_POWER_LIMIT] = "power-limit",
		[AIF_RUN_CAPPED] = "capped",
		[AIF_RUN_THROTTLED] = "throttled",
		[AIF_RUN_BEFORE] = "startup",
		[AIF_RUN_AFTER] = "tail",
		[AIF_RUN_LOOP] = "loop",
		[AIF_RUN_SAMPLES] = "samples",
		[AIF_RUN_EXTENT] = "extent",
		[AIF_RUN_EXTENT_BUSY] = "extent-busy",
	};

	return keys[which];
}

const char *aif_run_by_key(enum aif_run_by which)
{
	return which == AIF_RUN_BY_RANGE ? "range" : "operator";
}

const char *aif_run_steps_key(enum aif_phases_from from)
{
	return from == AIF_PHASES_MARKS ? "marks" : from == AIF_PHASES_TURNS ? "turns" : "none";
}

static void put_text(struct aif_buf *b, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '\\':
			aif_buf_puts(b, "\\\\");
			break;
		case '\t':
			aif_buf_puts(b, "\\t");
			break;
		case '\n':
			aif_buf_puts(b, "\\n");
			break;
		default:
			aif_buf_putc(b, text[i]);
		}
	}
}

static void put_head(const struct aif_run *r, struct aif_buf *b)
{
	aif_buf_puts(b, AIF_RUN_FILE_BEGIN "1\n");
	for (unsigned i = 0; i < AIF_RUN_TEXTS; i++) {
		const char *text = aif_run_text(r, (enum aif_run_text)i);

		aif_buf_printf(b, "%s ", aif_run_text_key((enum aif_run_text)i));
		put_text(b, text, strlen(text));
		aif_buf_putc(b, '\n');
	}
	/* A file's number on this machine means nothing elsewhere. */
	if (r->recording && r->start_s)
		aif_buf_printf(b, "recording %" PRIu64 "\n", r->recording);
	aif_buf_printf(b, "start %" PRIu64 "\nsteps %" PRIu64 " %s\n", r->start_s, r->steps,
		       aif_run_steps_key(r->steps_from));
	aif_buf_puts(b, r->is_part ? "is part\n" : "");
	aif_buf_puts(b, r->is_cut ? "is cut\n" : "");
	aif_buf_puts(b, r->is_loop ? "is loop\n" : "");
	aif_buf_puts(b, r->is_whole ? "is whole\n" : "");
	aif_buf_puts(b, r->is_open ? "is open\n" : "");
	aif_buf_puts(b, r->is_cpu ? "is cpu\n" : "");
	aif_buf_puts(b, r->is_counts ? "is counts\n" : "");
	for (unsigned i = 0; i < AIF_RUN_AMOUNTS; i++)
		if (i < AIF_RUN_CPU || r->amount[i] || (i == AIF_RUN_CPU && r->is_cpu))
			aif_buf_printf(b, "amount %s %" PRIu64 "\n",
				       aif_run_amount_key((enum aif_run_amount)i), r->amount[i]);
}

static void put_kernel(const struct aif_run *r, const struct aif_run_kernel *k, struct aif_buf *b)
{
	size_t len;
	const char *name = aif_strset_get(&r->kernel_names, k->name, &len);

	aif_buf_printf(b, "kernel %d %" PRIu64 " %" PRIu64 " ", k->is_copy, k->ns, k->launches);
	put_text(b, name, len);
	aif_buf_putc(b, '\t');
	name = aif_strset_get(&r->kernel_names, k->full, &len);
	put_text(b, name, len);
	aif_buf_putc(b, '\n');
}

/* Writes the kernels, longest first, as far as there is room, and what all others sum to. */
static void put_kernels(const struct aif_run *r, struct aif_buf *b)
{
	uint64_t ns = 0, launches = 0;
	size_t begin = b->len, i = 0;

	for (; i < r->kernels_len; i++) {
		size_t before = b->len;

		put_kernel(r, &r->kernels[i], b);
		if (b->len - begin <= KERNEL_BYTES)
			continue;
		b->len = before;
		break;
	}
	if (i == r->kernels_len)
		return;
	for (; i < r->kernels_len; i++) {
		ns += r->kernels[i].ns;
		launches += r->kernels[i].launches;
	}
	aif_buf_printf(b, "kernel 0 %" PRIu64 " %" PRIu64 " %s\t%s\n", ns, launches,
		       AIF_RUN_LEFT_OUT, AIF_RUN_LEFT_OUT);
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct writing {
	const struct aif_tree *t;
	struct aif_buf *out;
	uint64_t *self, *idle, *launches; /* by node: own, and of callees that are left out */
	uint32_t *number;                 /* of the file, 0: left out */
	uint32_t *name;                   /* of the file + 1, by name of the tree */
	uint32_t names, frames;
};

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return AIF_ORDER(y, x);
}

/* Returns the least total of the `most` largest frames, 0: all are kept. */
static uint64_t least_total(const struct aif_tree *t, size_t most, int *ret)
{
	uint64_t *totals = malloc((t->len + 1) * sizeof(*totals)), least = 0;

	*ret = totals ? 0 : -ENOMEM;
	if (totals && t->len > most) {
		for (size_t i = 0; i < t->len; i++)
			totals[i] = t->nodes[i].total;
		qsort(totals, t->len, sizeof(*totals), by_size);
		least = totals[most - 1] + 1;
	}
	free(totals);
	return least;
}

static void put_name(struct writing *w, uint32_t name)
{
	size_t len;
	const char *text = aif_tree_text(w->t, name, &len);

	if (w->name[name])
		return;
	aif_buf_puts(w->out, "name ");
	put_text(w->out, text, len);
	aif_buf_putc(w->out, '\n');
	w->name[name] = ++w->names;
}

static void put_frame(struct writing *w, uint32_t parent, unsigned type, uint64_t self,
		      uint64_t launches, uint32_t name)
{
	aif_buf_printf(w->out, "frame %u %c %" PRIu64 " %" PRIu64 " %u\n", parent,
		       AIF_RUN_TYPES[type], self, launches, name);
	w->frames++;
}

/* Gives what is left out to the nearest caller that is kept. */
static void fold(struct writing *w, uint64_t least)
{
	const struct aif_tree *t = w->t;

	for (size_t n = t->len; n-- > 1;) {
		const struct aif_tree_node *node = &t->nodes[n];
		uint64_t launches = t->details ? t->details[n].launches : 0;
		bool is_kept = node->total >= least && node->total;

		for (uint32_t k = node->first; k && t->details; k = t->nodes[k].next)
			launches -= AIF_MIN(launches, t->details[k].launches);
		w->launches[n] += launches;
		*(aif_run_is_idle(t, node->name) && !is_kept ? &w->idle[n] : &w->self[n]) +=
			node->self;
		w->number[n] = is_kept;
		if (is_kept)
			continue;
		w->self[node->parent] += w->self[n];
		w->idle[node->parent] += w->idle[n];
		w->launches[node->parent] += w->launches[n];
	}
	w->self[0] += t->nodes[0].self;
}

static void put_frames(struct writing *w)
{
	const struct aif_tree *t = w->t;
	uint32_t idle_name = 0;

	for (size_t n = 0; n < t->len; n++) {
		const struct aif_tree_node *node = &t->nodes[n];
		unsigned type = aif_tree_base_type(aif_tree_type_of(t, node->name));

		if (n && !w->number[n])
			continue;
		if (n) {
			put_name(w, node->name);
			put_frame(w, w->number[node->parent], type, w->self[n], w->launches[n],
				  w->name[node->name] - 1);
			w->number[n] = w->frames;
		}
		if (!n && w->self[0]) {
			aif_buf_puts(w->out, "name [left out]\n");
			put_frame(w, 0, AIF_TREE_SYNTHETIC, w->self[0], w->launches[0], w->names++);
		}
		if (!w->idle[n])
			continue;
		if (!idle_name) {
			aif_buf_puts(w->out, "name [idle: left out]\n");
			idle_name = ++w->names;
		}
		put_frame(w, w->number[n], AIF_TREE_SYNTHETIC, w->idle[n], 0, idle_name - 1);
	}
}

static int put_tree(const struct aif_run *r, size_t most, struct aif_buf *out)
{
	const struct aif_tree *t = &r->tree;
	struct writing w = {.t = t, .out = out};
	int e;
	uint64_t least = least_total(t, most, &e);

	w.self = calloc(t->len + 1, sizeof(*w.self));
	w.idle = calloc(t->len + 1, sizeof(*w.idle));
	w.launches = calloc(t->len + 1, sizeof(*w.launches));
	w.number = calloc(t->len + 1, sizeof(*w.number));
	w.name = calloc(t->names.len + 1, sizeof(*w.name));
	if (!w.self || !w.idle || !w.launches || !w.number || !w.name)
		e = -ENOMEM;
	if (!e) {
		fold(&w, least);
		put_frames(&w);
	}
	free(w.self);
	free(w.idle);
	free(w.launches);
	free(w.number);
	free(w.name);
	return e;
}

/* Writes the operators or ranges with most time; the time of others is that of those around them. */
static int put_by(const struct aif_run *r, enum aif_run_by which, size_t most, struct aif_buf *out)
{
	const struct aif_tree *t = &r->by[which];
	uint32_t *number = calloc(t->len + 1, sizeof(*number)), numbers = 0;
	uint64_t *self = calloc(t->len + 1, sizeof(*self)), least;
	int e;

	least = AIF_MAX(least_total(t, most, &e), UINT64_C(1));
	if (!number || !self)
		e = -ENOMEM;
	for (size_t n = t->len; n-- > 1 && !e;) {
		self[n] += t->nodes[n].self;
		if (t->nodes[n].total < least)
			self[t->nodes[n].parent] += self[n];
	}
	for (size_t n = 1; n < t->len && !e; n++) {
		size_t len;
		const char *text = aif_tree_text(t, t->nodes[n].name, &len);

		if (t->nodes[n].total < least)
			continue;
		aif_buf_printf(out, "%s %u %" PRIu64 " ", aif_run_by_key(which),
			       number[t->nodes[n].parent], self[n]);
		put_text(out, text, len);
		aif_buf_putc(out, '\n');
		number[n] = ++numbers;
	}
	free(number);
	free(self);
	return e;
}

/* Writes how often the run went through ranges: the most frequent ones, in the order of their numbers. */
static int put_counts(const struct aif_run *r, struct aif_buf *out)
{
	size_t n = r->ranges_len, most = AIF_RUN_FILE_COUNTS, least_ones = n;
	uint64_t *sorted = malloc((n + 1) * sizeof(*sorted)), least = 1;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sorted[i] = r->ranges[i];
	if (n > most) {
		qsort(sorted, n, sizeof(*sorted), by_size);
		least = AIF_MAX(sorted[most - 1], least);
		/* Takes of those with that number as many as there is room for. */
		for (least_ones = most; least_ones && sorted[most - least_ones] > least;)
			least_ones--;
	}
	free(sorted);
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *name = aif_strset_get(&r->range_names, (uint32_t)i, &len);

		if (r->ranges[i] < least || (r->ranges[i] == least && !least_ones))
			continue;
		least_ones -= r->ranges[i] == least;
		aif_buf_printf(out, "count %" PRIu64 " ", r->ranges[i]);
		put_text(out, name, len);
		aif_buf_putc(out, '\n');
	}
	return 0;
}

int aif_run_write(const struct aif_run *r, struct aif_buf *out)
{
	size_t begin = out->len;
	int e = 0;

	for (size_t most = MOST_FRAMES; most && !e; most /= 2) {
		out->len = begin;
		put_head(r, out);
		put_kernels(r, out);
		e = put_tree(r, most, out);
		for (unsigned i = 0; i < AIF_RUN_BYS && !e; i++)
			e = put_by(r, (enum aif_run_by)i, most / BY_PART + 1, out);
		if (!e)
			e = put_counts(r, out);
		aif_buf_puts(out, "end\n");
		if (aif_buf_failed(out))
			e = -ENOMEM;
		if (out->len - begin <= AIF_RUN_FILE_BYTES)
			break;
	}
	return e;
}

int aif_run_set_hash(struct aif_run *r)
{
	uint64_t extent = r->amount[AIF_RUN_EXTENT], busy = r->amount[AIF_RUN_EXTENT_BUSY];
	char *label = r->text[AIF_RUN_LABEL];
	struct aif_buf text = {0};
	int e = 0;

	r->text[AIF_RUN_LABEL] = NULL;
	/* Files of runs that do not have these yet are known again. */
	r->amount[AIF_RUN_EXTENT] = r->amount[AIF_RUN_EXTENT_BUSY] = 0;
	/* Two runs differ in their times, to the nanosecond; only counts may agree in all but the stacks. */
	put_head(r, &text);
	put_kernels(r, &text);
	aif_buf_printf(&text, "%" PRIu64 "\n", r->tree.len ? r->tree.nodes[0].total : 0);
	if (r->is_counts)
		e = aif_run_write(r, &text);
	r->text[AIF_RUN_LABEL] = label;
	r->amount[AIF_RUN_EXTENT] = extent;
	r->amount[AIF_RUN_EXTENT_BUSY] = busy;
	if (aif_buf_failed(&text))
		e = -ENOMEM;
	if (!e)
		r->hash = aif_hash_bytes(text.data, text.len);
	aif_buf_finish(&text);
	return e;
}
