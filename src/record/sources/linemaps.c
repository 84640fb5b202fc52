/* SPDX-License-Identifier: Apache-2.0 */
#include "base/open_regular.h"
#include "base/process_read.h"
#include "record/sources/python_objects.h"
#include "record/sources/sources.h"
#include "symbolize/elf_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Finds the lines of the program that a file of Inductor's stands for. torch/_inductor/codecache.py keeps that in memory only:
 *
 *     PyCodeCache.linemaps[path] = [(line, ...), (stack, ...)]      stacks are texts or None, each from its line on
 *
 * It is read from outside, once the file's code has run, and becomes a row of `programs` beside that of the file: source_name
 * is the path with LINES behind it, and the source has, for each entry, a line with its number and then its stack as Python
 * prints it, each line of it behind a tab. names/compiled.h reads that.
 */
#define LINES ".lines"

/* Files that wait, and of which one look reads so many; bytes of one file's text. */
#define WAITING_MAX  4096
#define FILES_A_LOOK 8
#define TEXT_MAX     (1u << 20)
/* A file is looked for so often, after 1, 2, 4, ... s: its code may run before torch has put it there. */
#define TRIES 5
/* Reads of one program, 1 us each: its dictionaries may be larger than any of torch's, or made to be. */
#define READS_MAX 1000000

struct waiting {
	uint32_t path; /* string of the store */
	unsigned tries;
	uint64_t next_ns;
};

struct target_state {
	struct waiting *waiting;
	size_t len, cap;
	struct aif_map known; /* path -> 1 */
	unsigned minor;       /* the program's Python is 3.minor */
	bool is_sought;       /* its Python was looked for */
	uint64_t runtime;     /* address of _PyRuntime, 0: not found */
	struct aif_python_objects objects;
	int pid, error; /* errno of the last look's reads, 0: all could be made */
	unsigned reads;
};

/* ---- the program's memory ------------------------------------------------------------------------ */

static bool read_memory(void *arg, uint64_t at, void *to, size_t n)
{
	struct target_state *s = arg;
	ssize_t r;

	if (s->reads >= READS_MAX) {
		s->error = E2BIG;
		return false;
	}
	s->reads++;
	r = aif_process_memory(s->pid, at, to, n);
	if (r < 0 && r != -EFAULT)
		s->error = (int)-r;
	return r == (ssize_t)n;
}

/* The addresses of the symbols, in the file's numbering; 0: it has none of that name. */
static bool find_symbols(const struct aif_elf *e, const char *const *names, uint64_t *ret, size_t n)
{
	const struct aif_elf_section *table = aif_elf_section_of_type(e, SHT_DYNSYM), *texts;
	uint8_t *symbols = NULL, *strings = NULL;
	size_t len, strings_len, found = 0;

	texts = table && table->link < e->sections_len ? &e->sections[table->link] : NULL;
	if (texts && !aif_elf_load(e, table, 4u << 20, &symbols, &len) &&
	    !aif_elf_load(e, texts, 4u << 20, &strings, &strings_len)) {
		for (size_t i = 0; i < len / sizeof(Elf64_Sym); i++) {
			Elf64_Sym symbol;
			uint32_t name;

			memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
			name = aif_elf32(e, symbol.st_name);
			for (size_t k = 0; k < n && symbol.st_shndx; k++) {
				size_t size = strlen(names[k]) + 1;

				if (ret[k] || name >= strings_len || strings_len - name < size ||
				    memcmp(strings + name, names[k], size))
					continue;
				ret[k] = aif_elf64(e, symbol.st_value);
				found += ret[k] != 0;
			}
		}
	}
	free(symbols);
	free(strings);
	return found == n;
}

static bool is_python(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (!strncmp(name, "/python", 7) || !strncmp(name, "/libpython", 10));
}

/* Finds Python in one of the files that the target has mapped. */
static void seek(struct aif_drainer *d, struct aif_target *t, struct target_state *s)
{
	static const char *const names[] = {"_PyRuntime",   "PyDict_Type",   "PyList_Type",
					    "PyLong_Type",  "PyModule_Type", "PyUnicode_Type",
					    "PyTuple_Type", "PyType_Type"};
	struct aif_python_objects *o = &s->objects;

	s->is_sought = true;
	for (size_t i = 0; i < t->ranges.len && !s->runtime; i++) {
		const struct aif_address_range *range = &t->ranges.at[i];
		uint64_t at[AIF_ARRAY_LEN(names)] = {0};
		const char *path;
		struct aif_elf e;
		int fd;

		if (range->module >= d->store->p.modules_len)
			continue;
		path = aif_profile_str(&d->store->p, d->store->p.modules[range->module].path);
		if (!is_python(path))
			continue;
		fd = aif_open_spare(aif_process_open(&t->files, path, 0));
		if (fd < 0 || aif_elf_init(&e, fd, 0) < 0)
			continue;
		if (find_symbols(&e, names, at, AIF_ARRAY_LEN(names))) {
			s->runtime = range->base + at[0];
			*o = (struct aif_python_objects){.read = read_memory,
							 .arg = s,
							 .minor = s->minor,
							 .type_dict = range->base + at[1],
							 .type_list = range->base + at[2],
							 .type_long = range->base + at[3],
							 .type_module = range->base + at[4],
							 .type_text = range->base + at[5],
							 .type_tuple = range->base + at[6],
							 .type_type = range->base + at[7]};
		}
		aif_elf_finish(&e);
	}
}

/* ---- one file ------------------------------------------------------------------------------------ */

/* Appends the number of a line and the stack that it has. */
static bool put_entry(const struct aif_python_objects *o, uint64_t line, uint64_t stack,
		      struct aif_buf *stack_text, struct aif_buf *ret)
{
	const char *at, *end, *stop;
	uint32_t number;

	if (!aif_python_int(o, line, &number))
		return false;
	aif_buf_printf(ret, "%u\n", number);
	aif_buf_clear(stack_text);
	if (!aif_python_text(o, stack, stack_text)) /* Python's None */
		return true;
	at = (const char *)stack_text->data;
	for (end = at + stack_text->len; at < end; at = stop + 1) {
		stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		aif_buf_putc(ret, '\t');
		aif_buf_append(ret, at, (size_t)(stop - at));
		aif_buf_putc(ret, '\n');
	}
	return true;
}

/* Returns the dictionary of torch's lines. 0: there is none so far. */
static uint64_t find_linemaps(const struct aif_python_objects *o, uint64_t modules)
{
	uint64_t module = aif_python_get(o, modules, "torch._inductor.codecache");
	uint64_t cache = module ? aif_python_attribute(o, module, "PyCodeCache") : 0;

	return cache ? aif_python_attribute(o, cache, "linemaps") : 0;
}

/* Reads what torch has for a file. -ENOENT: nothing so far; -ENODATA: nothing at all; -E2BIG. */
static int read_lines(const struct aif_python_objects *o, uint64_t maps, const char *path,
		      struct aif_buf *ret)
{
	uint64_t map = aif_python_get(o, maps, path);
	uint64_t *both = NULL, *lines = NULL, *stacks = NULL;
	size_t both_len = 0, lines_len = 0, stacks_len = 0;
	struct aif_buf text = {0};
	int r = -ENODATA;

	if (!map || !aif_python_items(o, map, &both, &both_len))
		return -ENOENT;
	if (both_len == 2 && aif_python_items(o, both[0], &lines, &lines_len) &&
	    aif_python_items(o, both[1], &stacks, &stacks_len) && lines_len == stacks_len &&
	    lines_len) {
		r = 0;
		for (size_t i = 0; i < lines_len && !r; i++)
			r = ret->len > TEXT_MAX                             ? -E2BIG
			    : put_entry(o, lines[i], stacks[i], &text, ret) ? 0
									    : -ENODATA;
		/* Still what the dictionary has: nothing of it was somebody else's memory by then. */
		if (!r && aif_python_get(o, maps, path) != map)
			r = -ENOENT;
	}
	free(both);
	free(lines);
	free(stacks);
	aif_buf_finish(&text);
	return r ? r : aif_buf_failed(ret) ? -ENOMEM : 0;
}

static void lose(struct aif_drainer *d, const struct aif_target *t, const char *path,
		 const char *why)
{
	struct aif_buf detail = {0};

	aif_buf_printf(&detail, "%s: %s", path, why);
	if (!aif_buf_failed(&detail))
		aif_store_loss(d->store, AIF_REASON_GENERATED_LINES, t->process,
			       aif_store_str(d->store, detail.data, detail.len), 1);
	aif_buf_finish(&detail);
}

static void keep(struct aif_drainer *d, struct aif_target *t, const char *path,
		 const struct aif_buf *text)
{
	struct aif_program row = {.process = t->process};
	struct aif_buf name = {0};

	/* Texts share the room of the files themselves. */
	if (text->len >
	    AIF_GENERATED_ALL_MAX - AIF_MIN(d->generated.bytes, AIF_GENERATED_ALL_MAX)) {
		lose(d, t, path, "more than 64 MiB in all");
		return;
	}
	d->generated.bytes += text->len;
	row.options = aif_store_puts(d->store, "");
	row.source = aif_store_str(d->store, text->data, text->len);
	aif_buf_printf(&name, "%s" LINES, path);
	row.source_name =
		aif_buf_failed(&name) ? AIF_NONE : aif_store_str(d->store, name.data, name.len);
	if (row.source != AIF_NONE && row.source_name != AIF_NONE)
		aif_store_program(d->store, &row);
	aif_buf_finish(&name);
}

/* True if there is no more to be had. */
static bool try_one(struct aif_drainer *d, struct aif_target *t, struct target_state *s,
		    uint64_t maps, const struct waiting *w)
{
	const char *path = aif_profile_str(&d->store->p, w->path);
	struct aif_buf text = {0};
	int r = maps ? read_lines(&s->objects, maps, path, &text) : -ENOENT;

	if (!r)
		keep(d, t, path, &text);
	else if (r == -E2BIG)
		lose(d, t, path, "more than 1 MiB");
	aif_buf_finish(&text);
	return r != -ENOENT && !(r == -ENODATA && s->error);
}

/* ---- the source ---------------------------------------------------------------------------------- */

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_pycode *r = record;
	const char *path = (const char *)(r + 1) + r->name_len;
	struct aif_drainer *d = in->drainer;
	struct target_state *s = in->target->source_state[AIF_SOURCE_LINEMAPS];
	uint32_t name;

	if (d->opts->no_source || r->minor < 11 || r->minor > 14 ||
	    !aif_generated_is(path, r->file_len))
		return;
	name = aif_store_str(d->store, path, r->file_len);
	if (name == AIF_NONE || aif_map_get(&s->known, name, NULL) ||
	    aif_map_put(&s->known, name, 1) < 0)
		return;
	if (s->len >= WAITING_MAX ||
	    aif_grow(&s->waiting, &s->cap, s->len + 1, sizeof(*s->waiting)) < 0) {
		lose(d, in->target, aif_profile_str(&d->store->p, name), "too many wait");
		return;
	}
	s->minor = r->minor;
	s->waiting[s->len++] = (struct waiting){.path = name};
}

/* Returns why torch's lines cannot be had, NULL: they may come. */
static const char *reason_of(const struct target_state *s, uint64_t modules)
{
	return s->error == E2BIG ? "its objects are too many"
	       : s->error        ? strerror(s->error)
	       : !s->runtime     ? "its Python was not found"
	       : !modules        ? "its modules were not found"
				 : NULL;
}

/* Looks for files whose time has come; is_last: for all. */
static void look(struct aif_drainer *d, struct aif_target *t, uint64_t now, bool is_last)
{
	struct target_state *s = t->source_state[AIF_SOURCE_LINEMAPS];
	uint64_t modules = 0, maps = 0;
	bool has_maps = false;
	size_t kept = 0, looked = 0;

	s->error = 0;
	for (size_t i = 0; i < s->len; i++) {
		struct waiting *w = &s->waiting[i];

		if (!is_last && (w->next_ns > now || looked == FILES_A_LOOK)) {
			s->waiting[kept++] = *w;
			continue;
		}
		looked++;
		if (!has_maps) {
			has_maps = true;
			s->pid = t->pid;
			if (!s->is_sought)
				seek(d, t, s);
			modules = s->runtime ? aif_python_modules(&s->objects, s->runtime) : 0;
			maps = modules ? find_linemaps(&s->objects, modules) : 0;
		}
		if (try_one(d, t, s, maps, w))
			continue;
		if (reason_of(s, modules)) {
			lose(d, t, aif_profile_str(&d->store->p, w->path), reason_of(s, modules));
		} else if (++w->tries < TRIES && !is_last) {
			w->next_ns = now + (UINT64_C(1000000000) << (w->tries - 1));
			s->waiting[kept++] = *w;
		}
	}
	s->len = kept;
}

static void target_step(struct aif_drainer *d, struct aif_target *t, const struct aif_turn *turn)
{
	look(d, t, turn->now, false);
}

static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	struct target_state *s = t->source_state[AIF_SOURCE_LINEMAPS];

	/* The memory of one that has ended is gone: its number may be another's by now. What torch had not until then it
	 * may have had none of. */
	if (!t->ended)
		look(d, t, now, true);
	for (size_t i = 0; i < s->len && t->ended; i++)
		if (!s->waiting[i].tries)
			lose(d, t, aif_profile_str(&d->store->p, s->waiting[i].path),
			     "the program ended before");
}

static void target_free(struct aif_target *t)
{
	struct target_state *s = t->source_state[AIF_SOURCE_LINEMAPS];

	aif_map_finish(&s->known);
	free(s->waiting);
}

const struct aif_source aif_source_linemaps = {
	.name = "lines of generated code",
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(PYCODE),
	.on_record = on_record,
	.target_step = target_step,
	.target_end = target_end,
	.target_free = target_free,
};
