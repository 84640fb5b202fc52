/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the fill functions of tables: what is shown, cells, hidden columns and notes. */
#include "report/report_table.h"

#include <inttypes.h>
#include <string.h>

bool aif_report_has_kernel(const struct aif_report *r, uint32_t kind, uint32_t kernel)
{
	return !r->kernel.is_set || aif_filter_kernel(&r->kernel, r->names, kind, kernel);
}

bool aif_report_has_exec(const void *arg, const struct aif_timeline_exec *x)
{
	const struct aif_report *r = arg;
	const struct aif_timeline_work *of = aif_timeline_work_of(r->timeline, x);

	return aif_report_has_kernel(r, of->kind, of->kernel);
}

int aif_report_name_stacks(struct aif_report *r, enum aif_name_detail detail, struct aif_err *err)
{
	int e = aif_stack_names_new(r->names, detail, &r->stacks);

	return e ? e : aif_stack_names_join(r->stacks, r->o->sel, err);
}

uint64_t aif_report_left_out_rows(const struct aif_report *r)
{
	return r->a->rows_len ? 0 : r->a->conservation.left_out;
}

/* Launches that were left out are of no known device. */
uint64_t aif_report_left_out_execs(const struct aif_report *r)
{
	bool has_devices = r->o->sel && r->o->sel->devices;

	return r->timeline->execs_len || has_devices ? 0 : r->timeline->left_out;
}

static uint32_t pid_of(const struct aif_report *r, uint32_t process)
{
	return process == AIF_NONE ? 0 : r->p->processes[process].pid;
}

void aif_report_put_process(const struct aif_report *r, uint32_t process, struct aif_buf *out)
{
	const char *name = aif_process_names_show(&r->processes, process);

	if (name)
		aif_name_sanitize(name, strlen(name), out);
	else
		aif_buf_printf(out, "%" PRIu32, pid_of(r, process));
}

void aif_report_process_cell(struct aif_report *r, uint32_t process)
{
	bool is_plain = r->o->format == AIF_TABLE_PLAIN;

	aif_table_id(&r->t, pid_of(r, process),
		     (is_plain ? aif_process_names_show : aif_process_names_get)(&r->processes,
										 process));
}

void aif_report_device_cell(struct aif_report *r, uint32_t device)
{
	aif_table_text(&r->t,
		       device == AIF_NONE ? "" : aif_profile_str(r->p, r->p->devices[device].name));
}

void aif_report_kernel_cell(struct aif_report *r, uint32_t kind, uint32_t kernel)
{
	bool is_full =
		r->o->format != AIF_TABLE_PLAIN || r->o->detail == AIF_NAME_FULL || r->o->style;

	aif_table_text(&r->t,
		       (is_full ? aif_names_work_full : aif_names_work)(r->names, kind, kernel));
}

void aif_report_hide(struct aif_report *r, const char *column)
{
	r->t.hidden |= UINT64_C(1) << aif_table_column(&r->t, column);
}

void aif_report_hide_known(struct aif_report *r, const char *column)
{
	if (aif_table_column(&r->t, column) >= 0)
		aif_report_hide(r, column);
}

bool aif_report_is_empty(const struct aif_report *r, size_t c, size_t *ret_known)
{
	const struct aif_table *t = &r->t;
	const bool is_process = t->columns[c].type == AIF_TABLE_ID;
	size_t known = 0;

	for (size_t i = c; i < t->cells_len; i += t->width) {
		if (aif_table_has_no_value(t, i))
			continue;
		if (t->cells[i] != (is_process ? t->cells[c] : 0))
			return false;
		known++;
	}
	*ret_known = known;
	return true;
}

void aif_report_describe_captured(uint64_t captured, uint64_t left_out, struct aif_buf *out)
{
	aif_buf_puts(out, "of what was captured, ");
	aif_human_share(out, aif_share_ppm(captured, captured + left_out));
	aif_buf_puts(out, " of the launches");
}

void aif_report_note_captured(struct aif_report *r, const char *rest)
{
	if (!r->timeline->left_out)
		return;
	aif_report_describe_captured(r->timeline->captured, r->timeline->left_out, &r->before);
	aif_buf_printf(&r->before, "%s\n", rest);
}

void aif_report_note_others(struct aif_report *r, const char *what, uint64_t ns)
{
	if (!ns)
		return;
	aif_buf_puts(&r->after, "other_threads: ");
	aif_human_ns(&r->after, ns);
	aif_buf_printf(
		&r->after,
		" in device_total were launched by a thread without a %s of its own, as autograd's "
		"is, while the %s ran in another\n",
		what, what);
}

int aif_report_read_whole(struct aif_report *r, struct aif_selection *ret)
{
	*ret = r->o->sel ? *r->o->sel : (struct aif_selection){0};
	if (!ret->from_ns && !ret->to_ns)
		return 0;
	ret->from_ns = ret->to_ns = 0;
	aif_facts_put(r->timeline);
	return aif_exec_timeline_get(r->p, ret, &r->timeline);
}

void aif_utilization_parts_cells(struct aif_report *r, const struct aif_utilization_parts *x)
{
	aif_table_number(&r->t, x->compute);
	aif_table_number(&r->t, x->communication_alone);
	aif_table_number(&r->t, x->memory_alone);
	aif_table_number(&r->t, x->idle);
	aif_table_number(&r->t, x->not_collected);
}

uint64_t aif_utilization_hidden_communication(const struct aif_device_utilization *d)
{
	const struct aif_utilization_whole *x = &d->whole;

	return x->communication - AIF_MIN(x->parts.communication_alone, x->communication);
}
