/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Modules of one path without a build id that a file's is held against. */
#define BUILDS_MAX 64
/* Space for a row of any table. */
union row {
	struct aif_process process;
	struct aif_device device;
	struct aif_module module;
	struct aif_frame frame;
	struct aif_stack stack;
	struct aif_code code;
	struct aif_graph_node graph_node;
	struct aif_loss loss;
	uint8_t bytes[256];
};

struct adding {
	struct aif_merge_tables *t;
	const struct aif_merge_input *in;
	struct aif_profile *from;
	struct aif_merge_ids *ids;
	uint32_t *first_code, *next_code; /* by module, by code: 1 + the number of a code */
};

/* ---- rows --------------------------------------------------------------------------------------- */

static uint8_t *row_at(const struct aif_profile *p, unsigned table, size_t i)
{
	const struct aif_schema_table *s = &aif_schema_tables[table];

	return (uint8_t *)aif_schema_rows(p, s) + i * s->row_size;
}

/* Appends a row; AIF_NONE: no memory. */
static uint32_t push(struct aif_profile *p, unsigned table, const void *row)
{
	const struct aif_schema_table *s = &aif_schema_tables[table];
	size_t *len = aif_schema_len(p, s), *cap = (size_t *)((char *)p + s->cap_at);
	void **rows = (void **)((char *)p + s->rows_at);

	if (*len >= AIF_NONE - 1 || aif_grow(rows, cap, *len + 1, s->row_size) < 0)
		return AIF_NONE;
	memcpy((uint8_t *)*rows + *len * s->row_size, row, s->row_size);
	return (uint32_t)(*len)++;
}

/* Returns the number of a row, added if there is none like it; AIF_NONE: no memory. */
static uint32_t intern(struct aif_merge_tables *t, unsigned table, const void *row)
{
	size_t size = aif_schema_tables[table].row_size;
	uint64_t key = aif_hash_bytes(row, size), id;

	for (; aif_map_get(&t->known[table], key, &id); key++)
		if (!memcmp(row_at(&t->p, table, (size_t)id), row, size))
			return (uint32_t)id;
	id = push(&t->p, table, row);
	return id == AIF_NONE || aif_map_put(&t->known[table], key, id) < 0 ? AIF_NONE
									    : (uint32_t)id;
}

static uint32_t string(struct aif_merge_tables *t, const struct aif_profile *from, uint32_t id)
{
	size_t len;
	const char *text = aif_strset_get(&from->strings, id, &len);

	return aif_strset_put(&t->p.strings, text, len);
}

/* Copies a row with the merged profile's numbers in it. */
static void translate(const struct adding *a, unsigned table, size_t i, union row *ret)
{
	const struct aif_schema_table *s = &aif_schema_tables[table];
	const uint8_t *row = row_at(a->from, table, i);

	memset(ret, 0, sizeof(*ret));
	for (size_t c = 0; c < s->columns_len; c++) {
		const struct aif_schema_column *col = &s->columns[c];
		size_t size = col->type == AIF_TYPE_U64                                     ? 8
			      : col->type == AIF_TYPE_BYTES || col->type == AIF_TYPE_PACKED ? 0
											    : 4;
		uint32_t id;

		memcpy(ret->bytes + col->offset, row + col->offset, size);
		if (col->type != AIF_TYPE_REF)
			continue;
		memcpy(&id, row + col->offset, sizeof(id));
		id = aif_merge_id(a->ids, col->ref, id);
		memcpy(ret->bytes + col->offset, &id, sizeof(id));
	}
}

static uint64_t time_of(const struct adding *a, uint64_t at)
{
	return aif_merge_time(a->in, a->t->base_ns, at);
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Returns the names of a frame, which lie side by side. */
static size_t names_of(const struct aif_profile *p, uint32_t frame, size_t *from)
{
	size_t n = 0;

	while (*from < p->frame_names_len && p->frame_names[*from].frame < frame)
		++*from;
	while (*from + n < p->frame_names_len && p->frame_names[*from + n].frame == frame)
		n++;
	return n;
}

static bool has_names(const struct aif_merge_tables *t, uint32_t frame,
		      const struct aif_frame_name *names, size_t n)
{
	const struct aif_profile *p = &t->p;
	size_t at = t->names_of[frame], i = 0;

	for (; i < n && at + i < p->frame_names_len && p->frame_names[at + i].frame == frame; i++) {
		const struct aif_frame_name *x = &p->frame_names[at + i];

		if (x->inline_depth != names[i].inline_depth || x->name != names[i].name ||
		    x->file != names[i].file || x->line != names[i].line)
			return false;
	}
	return i == n && (at + i >= p->frame_names_len || p->frame_names[at + i].frame != frame);
}

/* A function of Python has a number of its recording's: it gets one that all files have for functions of that name and number. */
static int renumber_python(struct aif_merge_tables *t, struct aif_frame *f, uint32_t name)
{
	uint64_t key = aif_mix64(aif_mix64((uint64_t)f->module << 32 | name) ^ f->address >> 32),
		 code;

	if (!aif_map_get(&t->python, key, &code)) {
		code = t->python_codes++;
		if (aif_map_put(&t->python, key, code) < 0)
			return -ENOMEM;
	}
	f->address = code << 32 | (uint32_t)f->address;
	return 0;
}

/* Adds a frame with its names, or finds the one that has the same: an address of a file that is not the same one has others. */
static uint32_t add_frame(const struct adding *a, size_t i, size_t *names_from)
{
	struct aif_merge_tables *t = a->t;
	size_t n = names_of(a->from, (uint32_t)i, names_from);
	struct aif_frame_name names[AIF_FRAME_NAMES_MAX];
	union row row;
	uint64_t key, id;

	n = AIF_MIN(n, AIF_ARRAY_LEN(names));
	translate(a, AIF_TABLE_FRAME, i, &row);
	for (size_t k = 0; k < n; k++) {
		union row name;

		translate(a, AIF_TABLE_FRAME_NAME, *names_from + k, &name);
		memcpy(&names[k], name.bytes, sizeof(names[k]));
		names[k].frame = 0;
	}
	if (row.frame.kind == AIF_FRAME_PYTHON && row.frame.module != AIF_NONE &&
	    renumber_python(t, &row.frame, n ? names[n - 1].name : AIF_NONE) < 0)
		return AIF_NONE;
	if (row.frame.kind >= AIF_FRAME_MARK && row.frame.kind <= AIF_FRAME_CALL &&
	    row.frame.address < a->from->strings.len)
		row.frame.address =
			aif_merge_id(a->ids, AIF_TABLE_STRING, (uint32_t)row.frame.address);
	key = aif_hash_bytes(&row.frame, sizeof(row.frame)) ^
	      aif_hash_bytes(names, n * sizeof(names[0]));
	for (; aif_map_get(&t->known[AIF_TABLE_FRAME], key, &id); key++)
		if (!memcmp(&t->p.frames[id], &row.frame, sizeof(row.frame)) &&
		    has_names(t, (uint32_t)id, names, n))
			return (uint32_t)id;
	id = push(&t->p, AIF_TABLE_FRAME, &row.frame);
	if (id == AIF_NONE || aif_map_put(&t->known[AIF_TABLE_FRAME], key, id) < 0 ||
	    aif_grow(&t->names_of, &t->names_of_cap, (size_t)id + 1, sizeof(*t->names_of)) < 0)
		return AIF_NONE;
	t->names_of[id] = t->p.frame_names_len;
	for (size_t k = 0; k < n; k++) {
		names[k].frame = (uint32_t)id;
		if (push(&t->p, AIF_TABLE_FRAME_NAME, &names[k]) == AIF_NONE)
			return AIF_NONE;
	}
	return (uint32_t)id;
}

/* ---- code, and the modules that it is of ----------------------------------------------------------- */

/* Lists codes by their modules. */
static int list_codes(struct adding *a)
{
	const struct aif_profile *p = a->from;

	a->first_code = calloc(p->modules_len + 1, sizeof(*a->first_code));
	a->next_code = calloc(p->codes_len + 1, sizeof(*a->next_code));
	if (!a->first_code || !a->next_code)
		return -ENOMEM;
	for (size_t i = p->codes_len; i-- > 0;) {
		uint32_t module = p->codes[i].module;

		if (module == AIF_NONE)
			continue;
		a->next_code[i] = a->first_code[module];
		a->first_code[module] = (uint32_t)i + 1;
	}
	return 0;
}

static bool is_same(const struct aif_code *x, const struct aif_code *y)
{
	if (!x->bytes && !x->packed)
		return true;
	if (!y->bytes && !y->packed)
		return true;
	if (x->bytes && y->bytes)
		return x->size == y->size && !memcmp(x->bytes, y->bytes, x->size);
	return x->packed && y->packed && x->packed_size == y->packed_size &&
	       !memcmp(x->packed, y->packed, x->packed_size);
}

static uint64_t code_key(const struct adding *a, size_t i, union row *ret)
{
	translate(a, AIF_TABLE_CODE, i, ret);
	return aif_hash_bytes(&ret->code, sizeof(ret->code));
}

/* True unless a function of a file's module has other code in the merged profile's module `id`. */
static bool has_same_code(const struct adding *a, size_t i, uint32_t id)
{
	union row row;
	uint64_t code;

	a->ids->of[AIF_TABLE_MODULE][i] = id; /* for translate() */
	for (uint32_t c = a->first_code[i]; c; c = a->next_code[c - 1])
		if (aif_map_get(&a->t->codes, code_key(a, c - 1, &row), &code) &&
		    !is_same(&a->t->p.codes[code], &a->from->codes[c - 1]))
			return false;
	return true;
}

/* Adds a module, or finds the one that is the same. Two builds of a program may have one path: without a build id their code
 * tells them apart. */
static uint32_t add_module(const struct adding *a, size_t i, const union row *row)
{
	struct aif_merge_tables *t = a->t;
	uint64_t key = aif_hash_bytes(&row->module, sizeof(row->module)), id;
	size_t tried = 0;

	/* Memory of a process's own has no name that another's could have, too. */
	if (row->module.kind == AIF_MODULE_ANON)
		return push(&t->p, AIF_TABLE_MODULE, row);
	if (row->module.build_id != AIF_NONE)
		return intern(t, AIF_TABLE_MODULE, row);
	for (; tried < BUILDS_MAX && aif_map_get(&t->builds, key, &id); key++, tried++)
		if (!memcmp(&t->p.modules[id], &row->module, sizeof(row->module)) &&
		    has_same_code(a, i, (uint32_t)id))
			return (uint32_t)id;
	id = push(&t->p, AIF_TABLE_MODULE, row);
	return id == AIF_NONE || (tried < BUILDS_MAX && aif_map_put(&t->builds, key, id) < 0)
		       ? AIF_NONE
		       : (uint32_t)id;
}

/* Adds a file's code unless it is there; its bytes go over to the merged profile. */
static uint32_t add_code(const struct adding *a, size_t i)
{
	struct aif_code *from = &a->from->codes[i];
	union row row;
	uint64_t key = code_key(a, i, &row), id;

	if (aif_map_get(&a->t->codes, key, &id))
		return (uint32_t)id;
	row.code.bytes = from->bytes;
	row.code.packed = from->packed;
	row.code.packed_size = from->packed_size;
	id = push(&a->t->p, AIF_TABLE_CODE, &row.code);
	if (id == AIF_NONE || aif_map_put(&a->t->codes, key, id) < 0)
		return AIF_NONE;
	from->bytes = NULL;
	from->packed = NULL;
	return (uint32_t)id;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static void place_process(const struct adding *a, struct aif_process *x)
{
	if (x->start_ns)
		x->start_ns = time_of(a, x->start_ns);
	if (x->end_ns)
		x->end_ns = AIF_MAX(time_of(a, x->end_ns), x->start_ns);
	if (a->in->is == AIF_MERGE_CLOCK_APART)
		x->flags |= AIF_PROCESS_CLOCK_APART;
	x->clock_error_ns = (uint32_t)AIF_MIN(x->clock_error_ns + a->in->error_ns, UINT32_MAX);
}

static uint32_t add_row(const struct adding *a, unsigned table, size_t i)
{
	struct aif_merge_tables *t = a->t;
	union row row;

	translate(a, table, i, &row);
	switch (table) {
	case AIF_TABLE_PROCESS:
		place_process(a, &row.process);
		if (row.process.host == AIF_NONE && *a->in->host)
			row.process.host = aif_strset_puts(&t->p.strings, a->in->host);
		break;
	case AIF_TABLE_DEVICE:
		row.device.clock = AIF_CLOCK_MONOTONIC;
		break;
	case AIF_TABLE_GRAPH_NODE:
		row.graph_node.since = row.graph_node.since ? time_of(a, row.graph_node.since) : 0;
		row.graph_node.made = row.graph_node.made ? time_of(a, row.graph_node.made) : 0;
		break;
	case AIF_TABLE_MODULE:
		return add_module(a, i, &row);
	case AIF_TABLE_STACK:
		row.stack.depth =
			row.stack.parent == AIF_NONE ? 1 : t->p.stacks[row.stack.parent].depth + 1;
		return intern(t, table, &row);
	case AIF_TABLE_KERNEL:
	case AIF_TABLE_SHAPE:
	case AIF_TABLE_COLLECTIVE:
		return intern(t, table, &row);
	case AIF_TABLE_CODE:
		return add_code(a, i);
	case AIF_TABLE_LOSS:
		/* Rows that were dropped are in a table of their own (file_open.c). */
		if (row.loss.reason == AIF_REASON_MAX_SIZE)
			return 0;
		break;
	default:
		break;
	}
	return push(&t->p, table, &row);
}

static int add_strings(const struct adding *a)
{
	uint32_t *ids = malloc((a->from->strings.len + 1) * sizeof(*ids));

	a->ids->of[AIF_TABLE_STRING] = ids;
	for (uint32_t i = 0; ids && i < a->from->strings.len; i++) {
		ids[i] = string(a->t, a->from, i);
		if (ids[i] == AIF_STR_NONE)
			return -ENOMEM;
	}
	return ids ? 0 : -ENOMEM;
}

static int add_table(const struct adding *a, unsigned table)
{
	size_t n = *aif_schema_len(a->from, &aif_schema_tables[table]), names = 0;
	uint32_t *ids = malloc((n + 1) * sizeof(*ids));

	a->ids->of[table] = ids;
	for (size_t i = 0; ids && i < n; i++) {
		ids[i] = table == AIF_TABLE_FRAME ? add_frame(a, i, &names) : add_row(a, table, i);
		if (ids[i] == AIF_NONE)
			return -ENOMEM;
	}
	return ids ? 0 : -ENOMEM;
}

int aif_merge_tables_add(struct aif_merge_tables *t, const struct aif_merge_input *in,
			 struct aif_profile *from, struct aif_merge_ids *ret)
{
	struct adding a = {.t = t, .in = in, .from = from, .ids = ret};
	int r;

	*ret = (struct aif_merge_ids){0};
	r = list_codes(&a);
	if (!r)
		r = add_strings(&a);
	for (unsigned table = 0; table < AIF_TABLE_COUNT && !r; table++)
		if (table != AIF_TABLE_META && table != AIF_TABLE_CLOCK_PAIR &&
		    table != AIF_TABLE_FRAME_NAME)
			r = add_table(&a, table);
	free(a.first_code);
	free(a.next_code);
	return r;
}

void aif_merge_ids_finish(struct aif_merge_ids *ids)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(ids->of); i++)
		free(ids->of[i]);
}

void aif_merge_tables_finish(struct aif_merge_tables *t)
{
	for (size_t i = 0; i < AIF_TABLE_COUNT; i++)
		aif_map_finish(&t->known[i]);
	aif_map_finish(&t->codes);
	aif_map_finish(&t->python);
	aif_map_finish(&t->builds);
	free(t->names_of);
	aif_profile_finish(&t->p);
}

/* ---- names of processes ------------------------------------------------------------------------- */

static int name_process(struct aif_merge_tables *t, struct aif_process *x)
{
	struct aif_buf name = {0};

	aif_buf_puts(&name, aif_profile_str(&t->p, x->cmdline));
	if (x->rank)
		aif_buf_printf(&name, " (rank %" PRIu32 ")", x->rank - 1);
	else
		aif_buf_printf(&name, " (%s)", aif_profile_str(&t->p, x->host));
	aif_buf_str(&name);
	x->cmdline = aif_buf_failed(&name) ? AIF_STR_NONE
					   : aif_strset_put(&t->p.strings, name.data, name.len);
	aif_buf_finish(&name);
	return x->cmdline == AIF_STR_NONE ? -ENOMEM : 0;
}

int aif_merge_tables_name(struct aif_merge_tables *t)
{
	struct aif_map hosts = {
		0}; /* by number: 1 + the host of a process with it; 0: several hosts have one */
	uint64_t host;
	int r = 0;

	for (size_t i = 0; i < t->p.processes_len && !r; i++) {
		const struct aif_process *x = &t->p.processes[i];

		if (!aif_map_get(&hosts, x->pid, &host))
			host = (uint64_t)x->host + 1;
		r = aif_map_put(&hosts, x->pid, host == (uint64_t)x->host + 1 ? host : 0);
	}
	for (size_t i = 0; i < t->p.processes_len && !r; i++) {
		struct aif_process *x = &t->p.processes[i];

		if (x->cmdline != AIF_NONE && aif_map_get(&hosts, x->pid, &host) && !host)
			r = name_process(t, x);
	}
	aif_map_finish(&hosts);
	return r;
}
