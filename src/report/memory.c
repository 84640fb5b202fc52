/* SPDX-License-Identifier: Apache-2.0 */
/* --memory: who allocated, how much of it there was at the device's peak, and at most. */
#include "report/report_table.h"

#include "analysis/memory.h"
#include "base/map.h"

#include <errno.h>
#include <string.h>

struct owner {
	uint32_t process, device, op,
		caller; /* op, caller: texts; by stack the stack's line in place of the caller */
	uint64_t at_peak, now, peak, allocated, released, allocations;
	bool is_before; /* whoever allocated before the recording */
};

struct table {
	struct aif_report *r;
	struct aif_memory m;
	struct aif_strset texts;
	struct aif_map of_stack; /* operator << 32 | caller */
	struct aif_buf line;
	struct aif_strset keys;
	AIF_TABLE(owner, owners);
	uint32_t *of_block;
	bool have_operators;
};

static const struct aif_table_column columns[] = {
	{"at_peak", AIF_TABLE_BYTES},  {"at_peak_share", AIF_TABLE_SHARE},
	{"peak", AIF_TABLE_BYTES},     {"allocated", AIF_TABLE_BYTES},
	{"released", AIF_TABLE_BYTES}, {"allocations", AIF_TABLE_COUNT},
	{"process", AIF_TABLE_ID},     {"device", AIF_TABLE_TEXT},
	{"operator", AIF_TABLE_TEXT},  {"caller", AIF_TABLE_TEXT},
};

/* Columns of --by stack: the stack stands in place of the operator and the caller. */
static const struct aif_table_column by_stack[] = {
	{"at_peak", AIF_TABLE_BYTES},  {"at_peak_share", AIF_TABLE_SHARE},
	{"peak", AIF_TABLE_BYTES},     {"allocated", AIF_TABLE_BYTES},
	{"released", AIF_TABLE_BYTES}, {"allocations", AIF_TABLE_COUNT},
	{"process", AIF_TABLE_ID},     {"device", AIF_TABLE_TEXT},
	{"stack", AIF_TABLE_TEXT},
};

static bool is_by_stack(const struct table *t)
{
	return t->r->o->by == AIF_REPORT_BY_STACK;
}

static uint32_t put(struct aif_strset *s, const char *text)
{
	return text ? aif_strset_puts(s, text) : AIF_STR_NONE;
}

/* Returns the line of a stack, valid until the next call, or NULL when memory runs out. */
static const char *line_of(struct table *t, uint32_t stack)
{
	aif_buf_clear(&t->line);
	return aif_stack_names_line(t->r->stacks, stack, &t->line) < 0 || aif_buf_failed(&t->line)
		       ? NULL
		       : aif_buf_str(&t->line);
}

/* 0 or -ENOMEM. */
static int names_of(struct table *t, uint32_t stack, uint64_t *ret)
{
	uint32_t op, caller;

	if (aif_map_get(&t->of_stack, stack, ret))
		return 0;
	op = put(&t->texts, is_by_stack(t) ? "" : aif_stack_names_operator(t->r->stacks, stack));
	caller = put(&t->texts, is_by_stack(t) ? line_of(t, stack)
					       : aif_stack_names_caller(t->r->stacks, stack));
	if (op == AIF_STR_NONE || caller == AIF_STR_NONE)
		return -ENOMEM;
	*ret = (uint64_t)op << 32 | caller;
	return aif_map_put(&t->of_stack, stack, *ret);
}

/* Returns the owner's place; AIF_NONE: no memory. */
static uint32_t owner_of(struct table *t, const struct owner *o)
{
	uint32_t key[] = {o->process, o->device, o->op, o->caller, o->is_before},
		 id = aif_strset_put(&t->keys, key, sizeof(key));

	if (id == AIF_STR_NONE || id < t->owners_len)
		return id;
	if (aif_grow(&t->owners, &t->owners_cap, t->owners_len + 1, sizeof(*t->owners)) < 0)
		return AIF_NONE;
	t->owners[t->owners_len++] = *o;
	return id;
}

static int blocks_add(struct table *t)
{
	const struct aif_memory *m = &t->m;

	t->of_block = malloc(AIF_MAX(m->blocks_len, 1) * sizeof(*t->of_block));
	if (!t->of_block)
		return -ENOMEM;
	for (size_t i = 0; i < m->blocks_len; i++) {
		const struct aif_memory_block *b = &m->blocks[i];
		uint64_t names;
		uint32_t id;
		struct owner *o;

		if (names_of(t, b->stack, &names) < 0)
			return -ENOMEM;
		id = owner_of(t, &(struct owner){.process = b->process,
						 .device = b->device,
						 .op = (uint32_t)(names >> 32),
						 .caller = (uint32_t)names});
		if (id == AIF_NONE)
			return -ENOMEM;
		t->of_block[i] = id;
		o = &t->owners[id];
		o->allocated += b->bytes;
		o->released += b->last == SIZE_MAX ? 0 : b->bytes;
		o->at_peak += aif_memory_is_at_peak(m, b) ? b->bytes : 0;
		o->allocations++;
	}
	for (size_t i = 0; i < m->events_len; i++) {
		const struct aif_memory_event *e = &m->events[i];
		struct owner *o = &t->owners[t->of_block[e->block]];

		if (e->is_release)
			o->now -= m->blocks[e->block].bytes;
		else
			o->now += m->blocks[e->block].bytes;
		o->peak = AIF_MAX(o->peak, o->now);
	}
	return 0;
}

static int before_add(struct table *t)
{
	for (size_t i = 0; i < t->m.devices_len; i++) {
		const struct aif_memory_device *d = &t->m.devices[i];
		struct owner o = {.process = AIF_NONE,
				  .device = d->device,
				  .op = put(&t->texts, ""),
				  .caller = put(&t->texts, "[allocated before the recording]"),
				  .at_peak = d->before,
				  .peak = d->before,
				  .is_before = true};

		if (d->before && (o.op == AIF_STR_NONE || o.caller == AIF_STR_NONE ||
				  owner_of(t, &o) == AIF_NONE))
			return -ENOMEM;
	}
	return 0;
}

static uint64_t peak_of(const struct table *t, uint32_t device)
{
	for (size_t i = 0; i < t->m.devices_len; i++)
		if (t->m.devices[i].device == device)
			return t->m.devices[i].peak;
	return 0;
}

static void put_stack(struct table *t, uint32_t line)
{
	struct aif_report *r = t->r;

	aif_buf_clear(&t->line);
	aif_buf_puts(&t->line, aif_strset_get(&t->texts, line, NULL));
	if (r->o->format == AIF_TABLE_PLAIN && r->o->detail != AIF_NAME_FULL)
		aif_report_elide_stack(&t->line);
	r->t.failed |= aif_buf_failed(&t->line);
	aif_table_text(&r->t, aif_buf_str(&t->line));
}

static int put_rows(struct table *t)
{
	struct aif_report *r = t->r;
	bool several = false, devices = false;

	if (is_by_stack(t)) {
		aif_table_init(&r->t, by_stack, AIF_ARRAY_LEN(by_stack));
		r->t.folds = AIF_STACK_CALLED_BY;
	} else {
		aif_table_init(&r->t, columns, AIF_ARRAY_LEN(columns));
	}
	for (size_t i = 0; i < t->owners_len; i++) {
		const struct owner *o = &t->owners[i];
		const char *op = aif_strset_get(&t->texts, o->op, NULL);

		several |= !o->is_before && o->process != t->owners[0].process;
		devices |= o->device != t->owners[0].device;
		t->have_operators |= *op != '\0';
		aif_table_number(&r->t, o->at_peak);
		aif_table_number(&r->t, aif_share_ppm(o->at_peak, peak_of(t, o->device)));
		aif_table_number(&r->t, o->peak);
		aif_table_number(&r->t, o->allocated);
		aif_table_number(&r->t, o->released);
		aif_table_number(&r->t, o->allocations);
		aif_report_process_cell(r, o->process);
		if (o->device == AIF_NONE)
			aif_table_text(&r->t, "host");
		else
			aif_report_device_cell(r, o->device);
		if (is_by_stack(t)) {
			put_stack(t, o->caller);
			continue;
		}
		aif_table_text(&r->t, op);
		/* A trace without Python has the operator in both places. */
		aif_table_text(&r->t, o->caller == o->op && r->o->format == AIF_TABLE_PLAIN
					      ? ""
					      : aif_strset_get(&t->texts, o->caller, NULL));
	}
	if (!several)
		aif_report_hide(r, "process");
	if (!devices)
		aif_report_hide(r, "device");
	if (!t->have_operators)
		aif_report_hide_known(r, "operator");
	aif_memory_say(r->p, &t->m, &r->before);
	aif_buf_putc(&r->before, '\n');
	return aif_table_sort(&r->t, 0);
}

static int fill(struct aif_report *r, struct aif_err *err)
{
	struct table t = {.r = r};
	int e = aif_report_name_stacks(r, is_by_stack(&t) ? r->o->detail : AIF_NAME_NORMAL, err);

	if (!e)
		e = aif_memory_read(r->p, r->o->sel, &t.m);
	r->damaged += t.m.damaged;
	if (!e)
		e = blocks_add(&t);
	if (!e)
		e = before_add(&t);
	if (!e)
		e = put_rows(&t);
	aif_memory_finish(&t.m);
	aif_strset_finish(&t.texts);
	aif_strset_finish(&t.keys);
	aif_map_finish(&t.of_stack);
	aif_buf_finish(&t.line);
	free(t.owners);
	free(t.of_block);
	return e;
}

const struct aif_report_table aif_report_table_memory = {
	.lacks = AIF_LACK_CALLS | AIF_LACK_RECORDS | AIF_LACK_EVENTS,
	.rows = "allocations",
	.hint = "record a program that allocates a device's memory, or import a trace of "
		"torch.profiler taken with profile_memory=True",
	.no_kernel = "memory is allocated by the host",
	.by = 1U << AIF_REPORT_BY_STACK,
	.fill = fill,
};
