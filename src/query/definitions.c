/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `aiflame query` that define what the rows of others name: strings, frames, kernels, processes, devices. */
#include "query/cells.h"

#include "base/duration_bucket.h"
#include "profile/code_pack.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define ROWS(table)                                                \
	size_t aif_query_##table##_rows(const struct aif_query *q) \
	{                                                          \
		return q->p->table##_len;                          \
	}

size_t aif_query_strings_rows(const struct aif_query *q)
{
	return q->p->strings.len;
}
void aif_query_strings_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	if (column == 0)
		number(ctx, row);
	else
		str(q, ctx, (uint32_t)row);
}

ROWS(frames)
void aif_query_frames_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	static const char *const kinds[] = {"?",    "native",   "os",    "python", "device",
					    "mark", "operator", "range", "call"};
	const struct aif_frame *f = &q->p->frames[row];
	const struct aif_frame_name *n;

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return sqlite3_result_text(ctx,
					   f->kind < AIF_ARRAY_LEN(kinds) ? kinds[f->kind] : "?",
					   -1, SQLITE_STATIC);
	case 2:
		return id(ctx, f->module);
	case 3:
		return number(ctx, f->address);
	case 4:
		n = aif_profile_frame_name(q->p, (uint32_t)row);
		return str(q, ctx, n ? n->name : AIF_NONE);
	default:
		n = aif_profile_frame_name(q->p, (uint32_t)row);
		return n && n->line ? number(ctx, n->line) : sqlite3_result_null(ctx);
	}
}

ROWS(frame_names)
void aif_query_frame_names_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_frame_name *n = &q->p->frame_names[row];

	switch (column) {
	case 0:
		return id(ctx, n->frame);
	case 1:
		return id(ctx, n->inline_depth);
	case 2:
		return str(q, ctx, n->name);
	case 3:
		return str(q, ctx, n->file);
	default:
		return id(ctx, n->line);
	}
}

ROWS(stacks)
void aif_query_stacks_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_stack *s = &q->p->stacks[row];
	const uint32_t values[] = {(uint32_t)row, s->parent, s->frame, s->depth, s->flags};

	id(ctx, values[column]);
}

ROWS(kernels)
void aif_query_kernels_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_kernel *k = &q->p->kernels[row];
	const char *short_name = aif_names_short(q->names, (uint32_t)row);

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return str(q, ctx, k->name);
	case 2:
		if (!short_name)
			return str(q, ctx, k->name);
		return text(ctx, short_name, strlen(short_name));
	case 4:
		return id(ctx, k->program);
	default: /* the module that holds it, where one module holds one kernel */
		for (size_t i = 0; i < q->p->modules_len; i++)
			if (q->p->modules[i].kernel == row)
				return number(ctx, i);
		return sqlite3_result_null(ctx);
	}
}

ROWS(modules)
void aif_query_modules_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	static const char *const kinds[] = {"?",          "elf",    "vdso",   "anon",
					    "device elf", "device", "source", "os"};
	const struct aif_module *m = &q->p->modules[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return sqlite3_result_text(ctx,
					   m->kind < AIF_ARRAY_LEN(kinds) ? kinds[m->kind] : "?",
					   -1, SQLITE_STATIC);
	case 2:
		return str(q, ctx, m->path);
	case 3:
		return str(q, ctx, m->build_id);
	default:
		return id(ctx, m->kernel);
	}
}

/* Returns the exit status as a shell has it: 128 and the number of the signal that ended the
 * process. */
static int exit_number(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

ROWS(processes)
void aif_query_processes_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_process *p = &q->p->processes[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return id(ctx, p->pid);
	case 2:
		return id(ctx, p->ppid);
	case 3:
		return str(q, ctx, p->exe);
	case 4:
		return str(q, ctx, p->cmdline);
	case 5:
		return str(q, ctx, p->host);
	case 6:
		return when(q, ctx, p->start_ns);
	case 7:
		return p->end_ns ? when(q, ctx, p->end_ns) : sqlite3_result_null(ctx);
	case 8:
		return sqlite3_result_int(ctx, (p->flags & AIF_PROCESS_AGENT) != 0);
	case 9:
		return sqlite3_result_int(ctx, (p->flags & AIF_PROCESS_RUNTIME) != 0);
	case 10:
		return p->exit_status < 0 ? sqlite3_result_null(ctx)
					  : sqlite3_result_int(ctx, exit_number(p->exit_status));
	case 11:
		return p->cpu_ns ? number(ctx, p->cpu_ns) : sqlite3_result_null(ctx);
	case 12:
		return id(ctx, p->rank - 1);
	case 13:
		return id(ctx, p->local_rank - 1);
	default:
		return id(ctx, p->world ? p->world : AIF_NONE);
	}
}

ROWS(threads)
void aif_query_threads_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_thread *t = &q->p->threads[row];

	if (column == 3)
		str(q, ctx, t->name);
	else
		id(ctx, column == 0 ? (uint32_t)row : column == 1 ? t->process : t->tid);
}

/* Returns the PCI address as lspci and nvidia-smi have it. */
static void pci(sqlite3_context *ctx, uint32_t pci)
{
	char text[24];

	if (!pci)
		return sqlite3_result_null(ctx);
	snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", pci >> 16, pci >> 8 & 0xff,
		 pci >> 3 & 0x1f, pci & 7);
	sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
}

ROWS(devices)
void aif_query_devices_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	static const char *const kinds[] = {"other", "cpu", "gpu", "accelerator"};
	const struct aif_device *d = &q->p->devices[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return str(q, ctx, d->name);
	case 2:
		return str(q, ctx, d->vendor);
	case 3:
		return str(q, ctx, d->driver);
	case 4:
		return str(q, ctx, d->runtime);
	case 5:
		return sqlite3_result_text(ctx,
					   d->kind < AIF_ARRAY_LEN(kinds) ? kinds[d->kind] : "?",
					   -1, SQLITE_STATIC);
	case 6:
		return id(ctx, d->units);
	case 7:
		return id(ctx, d->arch ? d->arch : AIF_NONE);
	default:
		return pci(ctx, d->pci);
	}
}

size_t aif_query_clocks_rows(const struct aif_query *q)
{
	return q->p->clock_pairs_len;
}
void aif_query_clocks_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_clock_pair *c = &q->p->clock_pairs[row];

	switch (column) {
	case 0:
		return id(ctx, c->clock);
	case 1:
		return id(ctx, c->process);
	case 2:
		return when(q, ctx, c->before);
	case 3:
		return when(q, ctx, c->after);
	default:
		return number(ctx, c->value);
	}
}

ROWS(graph_nodes)
void aif_query_graph_nodes_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_graph_node *n = &q->p->graph_nodes[row];

	switch (column) {
	case 0:
		return id(ctx, n->process);
	case 1:
		return id(ctx, n->graph);
	case 2:
		return id(ctx, n->node);
	case 3:
		return when(q, ctx, n->since);
	case 4:
		return id(ctx, n->thread);
	case 5:
		return when(q, ctx, n->made);
	default:
		return id(ctx, n->stack);
	}
}

ROWS(collectives)
void aif_query_collectives_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_collective *c = &q->p->collectives[row];

	switch (column) {
	case 0:
		return number(ctx, row);
	case 1:
		return str(q, ctx, c->communicator);
	case 2:
		return str(q, ctx, c->operation);
	case 3:
		return id(ctx, c->ranks ? c->ranks : AIF_NONE);
	default:
		return c->bytes ? number(ctx, c->bytes) : sqlite3_result_null(ctx);
	}
}

ROWS(durations)
void aif_query_durations_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_duration *d = &q->p->durations[row];

	switch (column) {
	case 0:
		return id(ctx, d->process);
	case 1:
		return id(ctx, d->device);
	case 2:
		return sqlite3_result_text(ctx, aif_launch_kind_name(d->kind), -1, SQLITE_STATIC);
	case 3:
		return id(ctx, d->kernel);
	case 4:
		return number(ctx, aif_duration_of(d->bucket));
	case 5:
		return number(ctx, d->count);
	default:
		return number(ctx, d->ns);
	}
}

ROWS(losses)
void aif_query_losses_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_loss *l = &q->p->losses[row];
	const struct aif_reason_info *info = aif_reason_info((int)l->reason);

	switch (column) {
	case 0:
		return id(ctx, l->reason);
	case 1:
		return sqlite3_result_text(ctx, info ? info->name : "?", -1, SQLITE_STATIC);
	case 2:
		return number(ctx, l->count);
	case 3:
		return id(ctx, l->process);
	case 4:
		return id(ctx, l->thread);
	default:
		return str(q, ctx, l->detail);
	}
}

ROWS(meta)
void aif_query_meta_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	str(q, ctx, column ? q->p->meta[row].value : q->p->meta[row].key);
}

ROWS(programs)
void aif_query_programs_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_program *p = &q->p->programs[row];

	if (column >= 2)
		str(q, ctx, column == 2 ? p->options : column == 3 ? p->source : p->source_name);
	else
		id(ctx, column ? p->process : (uint32_t)row);
}

static void code_bytes(sqlite3_context *ctx, const struct aif_code *c)
{
	uint8_t *bytes;

	if (aif_code_unpack(c, &bytes) == 0)
		sqlite3_result_blob64(ctx, bytes, c->size, free);
	else
		sqlite3_result_null(ctx);
}

ROWS(codes)
void aif_query_codes_column(struct aif_query *q, size_t row, int column, sqlite3_context *ctx)
{
	const struct aif_code *c = &q->p->codes[row];

	switch (column) {
	case 0:
		return id(ctx, c->module);
	case 1:
		return number(ctx, c->address);
	case 2:
		return number(ctx, c->size);
	case 3:
		return str(q, ctx, c->name);
	case 4:
		return str(q, ctx, c->arch);
	default:
		return code_bytes(ctx, c);
	}
}
