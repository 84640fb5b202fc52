/* SPDX-License-Identifier: Apache-2.0 */
#include "export/report.h"

#include "export/frame_type.h"
#include "profile/file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where there is no name. */
static void place_put(const struct aif_profile *p, const struct aif_frame *f, struct aif_buf *b)
{
	const char *path =
		f->module == AIF_NONE ? "?" : aif_profile_str(p, p->modules[f->module].path);

	if (strrchr(path, '/'))
		path = strrchr(path, '/') + 1;
	if (!strcmp(path, "[jit]"))
		aif_buf_printf(b, "[jit 0x%" PRIx64 "]", f->address);
	else
		aif_buf_printf(b, "[%s+0x%" PRIx64 "]", path, f->address);
}

void aif_report_frame(const struct aif_profile *p, uint32_t frame, struct aif_buf *b)
{
	const struct aif_frame_name *name = aif_profile_frame_name(p, frame);

	if (name)
		aif_buf_puts(b, aif_profile_str(p, name->name));
	else
		place_put(p, &p->frames[frame], b);
}

static bool is_api_frame(const struct aif_profile *p, uint32_t frame)
{
	uint32_t module = p->frames[frame].module;
	const struct aif_frame_name *name = aif_profile_frame_name(p, frame);
	const char *text = name ? aif_profile_str(p, name->name) : "";

	return module != AIF_NONE &&
	       aif_frame_type_native(text, strlen(text),
				     aif_profile_str(p, p->modules[module].path)) == AIF_TREE_API;
}

void aif_report_caller(const struct aif_profile *p, uint32_t stack, struct aif_buf *b)
{
	for (uint32_t s = stack; s != AIF_NONE; s = p->stacks[s].parent)
		if (p->stacks[s].frame != AIF_NONE && !is_api_frame(p, p->stacks[s].frame)) {
			aif_report_frame(p, p->stacks[s].frame, b);
			return;
		}
}

const char *aif_report_kernel(const struct aif_profile *p, uint32_t kind, uint32_t kernel,
			      char space[64])
{
	if (kind == AIF_LAUNCH_KERNEL && kernel != AIF_NONE)
		return aif_profile_str(p, p->kernels[kernel].name);
	snprintf(space, 64, "[%s]", aif_launch_kind_name(kind));
	return space;
}

struct sums {
	uint64_t wall, time, launches, samples, bytes;
	uint32_t kind, kernel, stack, device;
	double variance; /* of time */
};

/* Adds the attribution's rows up by what `key` says. */
static struct sums *sum_up(const struct aif_attribution *a,
			   uint64_t (*key)(const struct aif_attribution_row *), size_t *ret_len)
{
	struct sums *sums = calloc(AIF_MAX(a->rows_len, 1), sizeof(*sums));
	struct aif_map ids = {0};
	size_t len = 0;

	for (size_t i = 0; sums && i < a->rows_len; i++) {
		const struct aif_attribution_row *r = &a->rows[i];
		uint64_t id, k = key(r);

		if (k == UINT64_MAX)
			continue;
		if (!aif_map_get(&ids, k, &id)) {
			id = len++;
			aif_map_put(&ids, k, id);
			sums[id] = (struct sums){.kind = r->kind,
						 .kernel = r->kernel,
						 .stack = r->stack,
						 .device = r->device};
		}
		sums[id].wall += r->wall_ns;
		sums[id].time += r->time_ns;
		sums[id].launches += r->launches;
		sums[id].samples += r->samples;
		sums[id].bytes += r->bytes;
		sums[id].variance += (double)r->error_ns * (double)r->error_ns;
	}
	aif_map_finish(&ids);
	*ret_len = len;
	return sums;
}

static uint64_t kernel_key(const struct aif_attribution_row *r)
{
	return r->kind == AIF_LAUNCH_KERNEL ? r->kernel : UINT64_C(1) << 32 | r->kind;
}
static uint64_t stack_key(const struct aif_attribution_row *r)
{
	return (uint64_t)r->stack << 32 | (r->kind == AIF_LAUNCH_KERNEL ? r->kernel : ~r->kind);
}
static uint64_t copy_key(const struct aif_attribution_row *r)
{
	return r->kind == AIF_LAUNCH_KERNEL ? UINT64_MAX : (uint64_t)r->stack << 32 | r->kind;
}

static const struct aif_table_column kernel_columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},        {"time", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},         {"launches", AIF_TABLE_COUNT}, {"average", AIF_TABLE_NS},
	{"samples", AIF_TABLE_COUNT},    {"kernel", AIF_TABLE_TEXT},
};

static int kernels(const struct aif_profile *p, const struct aif_attribution *a,
		   struct aif_table *t)
{
	size_t n;
	struct sums *s = sum_up(a, kernel_key, &n);
	char space[64];

	if (!s)
		return -ENOMEM;
	aif_table_init(t, kernel_columns, AIF_ARRAY_LEN(kernel_columns));
	for (size_t i = 0; i < n; i++) {
		aif_table_number(t, aif_share_ppm(s[i].wall, a->conservation.busy_ns));
		aif_table_number(t, s[i].wall);
		aif_table_number(t, s[i].time);
		aif_table_number(t, (uint64_t)sqrt(s[i].variance));
		aif_table_number(t, s[i].launches);
		aif_table_number(t, s[i].launches ? s[i].time / s[i].launches : 0);
		aif_table_number(t, s[i].samples);
		aif_table_text(t, aif_report_kernel(p, s[i].kind, s[i].kernel, space));
	}
	free(s);
	return aif_table_sort(t, 1);
}

static const struct aif_table_column stack_columns[] = {
	{"wall_share", AIF_TABLE_SHARE}, {"wall", AIF_TABLE_NS},        {"time", AIF_TABLE_NS},
	{"error", AIF_TABLE_NS},         {"launches", AIF_TABLE_COUNT}, {"kernel", AIF_TABLE_TEXT},
	{"stack", AIF_TABLE_TEXT},
};

#define CALLED_BY " < "

static void stack_text(const struct aif_profile *p, uint32_t stack, struct aif_buf *b)
{
	aif_buf_clear(b);
	for (uint32_t s = stack; s != AIF_NONE; s = p->stacks[s].parent) {
		uint32_t frame = p->stacks[s].frame;
		const struct aif_frame_name *first = p->frame_names, *name;

		if (frame == AIF_NONE)
			continue;
		if (b->len)
			aif_buf_puts(b, CALLED_BY);
		aif_report_frame(p, frame, b);
		/* The innermost function was inlined into the ones before it. */
		for (name = aif_profile_frame_name(p, frame);
		     name && name > first && name[-1].frame == frame; name--) {
			aif_buf_puts(b, CALLED_BY);
			aif_buf_puts(b, aif_profile_str(p, name[-1].name));
		}
	}
}

static int stacks(const struct aif_profile *p, const struct aif_attribution *a, struct aif_table *t)
{
	struct aif_buf text = {0};
	size_t n;
	struct sums *s = sum_up(a, stack_key, &n);
	char space[64];

	if (!s)
		return -ENOMEM;
	aif_table_init(t, stack_columns, AIF_ARRAY_LEN(stack_columns));
	for (size_t i = 0; i < n; i++) {
		aif_table_number(t, aif_share_ppm(s[i].wall, a->conservation.busy_ns));
		aif_table_number(t, s[i].wall);
		aif_table_number(t, s[i].time);
		aif_table_number(t, (uint64_t)sqrt(s[i].variance));
		aif_table_number(t, s[i].launches);
		aif_table_text(t, aif_report_kernel(p, s[i].kind, s[i].kernel, space));
		stack_text(p, s[i].stack, &text);
		aif_table_text(t, aif_buf_str(&text));
	}
	free(s);
	aif_buf_finish(&text);
	return aif_table_sort(t, 1);
}

static const struct aif_table_column copy_columns[] = {
	{"time", AIF_TABLE_NS},     {"copies", AIF_TABLE_COUNT},
	{"bytes", AIF_TABLE_BYTES}, {"bytes_per_second", AIF_TABLE_BYTES},
	{"kind", AIF_TABLE_TEXT},   {"caller", AIF_TABLE_TEXT},
};

static int copies(const struct aif_profile *p, const struct aif_attribution *a, struct aif_table *t)
{
	struct aif_buf caller = {0};
	size_t n;
	struct sums *s = sum_up(a, copy_key, &n);

	if (!s)
		return -ENOMEM;
	aif_table_init(t, copy_columns, AIF_ARRAY_LEN(copy_columns));
	for (size_t i = 0; i < n; i++) {
		aif_table_number(t, s[i].time);
		aif_table_number(t, s[i].launches);
		aif_table_number(t, s[i].bytes);
		aif_table_number(
			t,
			s[i].time ? (uint64_t)((double)s[i].bytes * 1e9 / (double)s[i].time) : 0);
		aif_table_text(t, aif_launch_kind_name(s[i].kind));
		aif_buf_clear(&caller);
		aif_report_caller(p, s[i].stack, &caller);
		aif_table_text(t, aif_buf_str(&caller));
	}
	free(s);
	aif_buf_finish(&caller);
	return aif_table_sort(t, 0);
}

static const struct aif_table_column launch_columns[] = {
	{"time", AIF_TABLE_NS},     {"tid", AIF_TABLE_COUNT},   {"kind", AIF_TABLE_TEXT},
	{"bytes", AIF_TABLE_BYTES}, {"grid", AIF_TABLE_TEXT},   {"block", AIF_TABLE_TEXT},
	{"kernel", AIF_TABLE_TEXT}, {"caller", AIF_TABLE_TEXT},
};

struct launches_to {
	const struct aif_profile *p;
	struct aif_table *t;
	struct aif_buf text;
};

static void shape_cell(struct launches_to *to, const uint32_t v[3])
{
	aif_buf_clear(&to->text);
	if (v && v[0])
		aif_buf_printf(&to->text, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, v[0], v[1], v[2]);
	aif_table_text(to->t, aif_buf_str(&to->text));
}

static int add_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct launches_to *to = arg;
	const struct aif_profile *p = to->p;
	char space[64];

	for (size_t i = 0; i < n; i++) {
		const struct aif_launch_row *r = &rows[i];
		const struct aif_shape *shape = r->shape == AIF_NONE ? NULL : &p->shapes[r->shape];

		aif_table_number(to->t, r->time - p->start_ns);
		aif_table_number(to->t, r->thread == AIF_NONE ? 0 : p->threads[r->thread].tid);
		aif_table_text(to->t, aif_launch_kind_name(r->kind));
		aif_table_number(to->t, r->bytes);
		shape_cell(to, shape ? shape->grid : NULL);
		shape_cell(to, shape ? shape->block : NULL);
		aif_table_text(to->t, aif_report_kernel(p, r->kind, r->kernel, space));
		aif_buf_clear(&to->text);
		aif_report_caller(p, r->stack, &to->text);
		aif_table_text(to->t, aif_buf_str(&to->text));
	}
	return to->t->failed ? -ENOMEM : 0;
}

static int launches(const struct aif_profile *p, struct aif_table *t)
{
	struct launches_to to = {.p = p, .t = t};
	int r;

	aif_table_init(t, launch_columns, AIF_ARRAY_LEN(launch_columns));
	r = aif_profile_launches(p, add_launches, &to, NULL);
	aif_buf_finish(&to.text);
	return r;
}

static int unknown_column(const struct aif_table *t, const char *name, struct aif_err *err)
{
	struct aif_buf list = {0};

	for (size_t i = 0; i < t->width; i++)
		aif_buf_printf(&list, "%s%s", i ? ", " : "", t->columns[i].name);
	aif_err_set(err, -EINVAL, "report: --sort: no column '%s'; use one of %s", name,
		    aif_buf_str(&list));
	aif_buf_finish(&list);
	return -EINVAL;
}

int aif_report_write(const struct aif_profile *p, const struct aif_attribution *a,
		     const struct aif_report_opts *opts, struct aif_buf *out, struct aif_err *err)
{
	struct aif_table t = {0};
	int r;

	switch (opts->kind) {
	case AIF_REPORT_KERNELS:
		r = kernels(p, a, &t);
		break;
	case AIF_REPORT_STACKS:
		r = stacks(p, a, &t);
		break;
	case AIF_REPORT_COPIES:
		r = copies(p, a, &t);
		break;
	default:
		r = launches(p, &t);
	}
	if (!r && opts->sort) {
		int column = aif_table_column(&t, opts->sort);

		r = column < 0 ? unknown_column(&t, opts->sort, err) : aif_table_sort(&t, column);
	}
	if (!r)
		r = aif_table_print(&t, opts->format, opts->limit, out);
	aif_table_finish(&t);
	return r == -ENOMEM ? aif_err_set(err, r, "out of memory") : r;
}
