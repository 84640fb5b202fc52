/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/jit_names.h"
#include "stacks/stacks.h"
#include "symbolize/perf_map.h"
#include "symbolize/pylines.h"
#include "symbolize/symbolize.h"
#include "unwind/interleave.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Inlined functions of one address. */
#define LEVELS 16
/* Bytes of a map of a JIT compiler's that are read. */
#define PERF_MAP_MAX (256u << 20)

struct naming {
	struct aif_stacks *s;
	struct aif_process_files files;
	struct aif_symbols *symbols;
	bool *known; /* for each module */
	/* Code of no module, and its names. */
	struct aif_perf_map_want *jit;
	size_t jit_len, jit_cap;
	struct aif_perf_map perf_map;
};

/* ---- code that was made while the program ran ---- */

static int compare_wants(const void *a, const void *b)
{
	const struct aif_perf_map_want *x = a, *y = b;

	return AIF_ORDER(x->address, y->address);
}

/* Returns a point within the call before a return address. */
static uint64_t point(const struct aif_stacks_thread *t, unsigned i)
{
	return t->pcs[i] - (i > 0);
}

static int find_jit(struct naming *n)
{
	struct aif_jit_names names;
	char *bytes;
	ssize_t got;
	uint64_t done = 0;

	for (size_t i = 0; i < n->s->len; i++) {
		const struct aif_stacks_thread *t = &n->s->threads[i];

		for (unsigned k = 0; t->pcs && k < t->walk.depth; k++) {
			if (aif_remote_module_at(&n->s->modules, point(t, k)))
				continue;
			if (aif_grow(&n->jit, &n->jit_cap, n->jit_len + 1, sizeof(*n->jit)))
				return -ENOMEM;
			n->jit[n->jit_len++] = (struct aif_perf_map_want){.address = point(t, k)};
		}
	}
	if (!n->jit_len)
		return 0;
	qsort(n->jit, n->jit_len, sizeof(*n->jit), compare_wants);
	aif_perf_map_init(&n->perf_map, n->jit, n->jit_len);
	aif_jit_names_init(&names);
	aif_jit_names_seen(&names, &n->files, 1);
	bytes = malloc(65536);
	while (bytes && names.map >= 0 && done < PERF_MAP_MAX &&
	       (got = read(names.map, bytes, 65536)) > 0) {
		done += (uint64_t)got;
		if (!aif_perf_map_feed(&n->perf_map, bytes, (size_t)got))
			break;
	}
	aif_perf_map_end(&n->perf_map);
	free(bytes);
	aif_jit_names_finish(&names);
	return 0;
}

static char *jit_name(struct naming *n, uint64_t address)
{
	struct aif_perf_map_want key = {.address = address};
	const struct aif_perf_map_want *want =
		n->jit_len ? bsearch(&key, n->jit, n->jit_len, sizeof(key), compare_wants) : NULL;
	char *ret = NULL;
	int len;

	if (want && want->name_len)
		len = asprintf(&ret, "[jit] %.*s", (int)want->name_len,
			       (const char *)n->perf_map.names.data + want->name);
	else
		len = asprintf(&ret, "[jit 0x%" PRIx64 "]", address);
	return len < 0 ? NULL : ret;
}

/* ---- frames ---- */

static struct aif_stacks_frame *add_frame(struct aif_stacks_thread *t, size_t *cap)
{
	if (aif_grow(&t->frames, cap, t->frames_len + 1, sizeof(*t->frames)))
		return NULL;
	t->frames[t->frames_len] = (struct aif_stacks_frame){0};
	return &t->frames[t->frames_len++];
}

static void make_known(struct naming *n, const struct aif_remote_module *module, uint32_t number)
{
	const char *id = module->build_id[0] ? module->build_id : NULL;

	if (n->known[number])
		return;
	n->known[number] = true;
	if (!strcmp(module->path, "[vdso]"))
		aif_symbols_vdso(n->symbols, number, id);
	else
		aif_symbols_module(
			n->symbols, number,
			aif_modfile_open(&n->files, module->lo, module->hi, module->path),
			module->path, id);
}

static bool is_interpreter(const struct aif_stacks *s, const struct aif_remote_module *module)
{
	return s->python_found != AIF_REMOTE_PYTHON_NONE &&
	       s->python.module == (size_t)(module - s->modules.modules);
}

/* Adds the functions at a native frame, the innermost inlined one first. */
static int add_native(struct naming *n, struct aif_stacks_thread *t, unsigned i, size_t *cap)
{
	const uint64_t at = point(t, i);
	const struct aif_remote_module *module = aif_remote_module_at(&n->s->modules, at);
	struct aif_symbol levels[LEVELS];
	struct aif_stacks_frame *f;
	uint32_t number;
	int len;

	if (!module) {
		f = add_frame(t, cap);
		if (!f)
			return -ENOMEM;
		f->address = t->pcs[i];
		f->function = jit_name(n, at);
		return f->function ? 0 : -ENOMEM;
	}
	number = (uint32_t)(module - n->s->modules.modules);
	make_known(n, module, number);
	len = aif_symbols_resolve(n->symbols, number, at - module->base, levels, LEVELS);
	if (len < 0)
		return len;
	for (int k = len; k-- > 0;) {
		f = add_frame(t, cap);
		if (!f)
			return -ENOMEM;
		f->address = t->pcs[i];
		f->is_inlined = k > 0;
		f->is_interpreter = is_interpreter(n->s, module);
		f->line = levels[k].line;
		f->function = strdup(levels[k].name);
		f->module = strdup(module->path);
		if (levels[k].file)
			f->file = strdup(levels[k].file);
		if (!f->function || !f->module)
			return -ENOMEM;
	}
	return 0;
}

static int add_python(struct naming *n, struct aif_stacks_thread *t,
		      const struct aif_python_frame *frame, size_t *cap)
{
	const struct aif_remote_python_code *code =
		aif_remote_python_resolve(&n->s->python, frame->code);
	struct aif_stacks_frame *f;
	int32_t line;

	if (code && code->hidden)
		return 0;
	f = add_frame(t, cap);
	if (!f)
		return -ENOMEM;
	f->is_python = true;
	f->function = strdup(code ? code->name : "[unreadable Python function]");
	if (code) {
		line = aif_pylines_find(n->s->python.layout.minor, code->lines, code->lines_len,
					code->first_line, frame->lasti);
		f->line = line > 0 ? (uint32_t)line : 0;
		f->file = strdup(code->file);
	}
	return f->function && (!code || f->file) ? 0 : -ENOMEM;
}

static int name_thread(struct naming *n, struct aif_stacks_thread *t)
{
	struct aif_interleave in = {
		.pcs = t->pcs,
		.sps = t->sps,
		.native_len = t->walk.depth,
		.native_cut = t->walk.end != AIF_REMOTE_END,
		.frames = t->python,
		.python_len = t->python_len,
		.python_cut = t->python_cut,
		.eval_lo = n->s->python.eval_lo,
		.eval_hi = n->s->python.eval_hi,
	};
	size_t len = (size_t)in.native_len + in.python_len, cap = 0;
	uint32_t *order = malloc(AIF_MAX(len, 1) * sizeof(*order));
	int r = 0;

	if (!order)
		return -ENOMEM;
	t->unordered = aif_interleave(&in, order) == AIF_INTERLEAVE_BLOCK;
	for (size_t i = 0; i < len && !r; i++)
		r = order[i] & AIF_INTERLEAVE_PYTHON
			    ? add_python(n, t, &t->python[order[i] & ~AIF_INTERLEAVE_PYTHON], &cap)
			    : add_native(n, t, order[i], &cap);
	free(order);
	return r;
}

int aif_stacks_name(struct aif_stacks *s)
{
	struct naming n = {.s = s};
	int r = aif_symbols_new(&n.symbols);

	aif_process_files_init(&n.files, s->pid);
	n.known = calloc(AIF_MAX(s->modules.len, 1), sizeof(*n.known));
	if (!r && !n.known)
		r = -ENOMEM;
	if (!r)
		r = find_jit(&n);
	aif_remote_forget(s->memory); /* code objects may be newer than what was kept */
	for (size_t i = 0; i < s->len && !r; i++)
		if (s->threads[i].pcs)
			r = name_thread(&n, &s->threads[i]);
	if (n.jit_len)
		aif_perf_map_finish(&n.perf_map);
	free(n.jit);
	free(n.known);
	aif_symbols_free(n.symbols);
	return r;
}
