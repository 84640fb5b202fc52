/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/device_elf.h"

#include "base/buf.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

/*
 * Reads devices' ELF files. Unlike in the host's, each kernel has a section of its own,
 * .text.KERNEL, all of them at address 0, and its symbol covers the whole section; other functions
 * may lie in it too. So functions nest, and the innermost names a place.
 */

enum {
	MAX_FUNCTIONS = 1 << 20, /* libcublasLt's largest cubins have some hundred */
	MAX_NAMES = 1 << 30,     /* bytes, all together */
	MAX_SYMBOLS = 1 << 30,
	MAX_SYMBOL_NAME = 4096, /* of one that is asked for */
	NO_FUNCTION = -1,
};

static uint16_t get16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static uint32_t get32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

#define FIELD16(p, type, field) get16((p) + offsetof(type, field))
#define FIELD32(p, type, field) get32((p) + offsetof(type, field))
#define FIELD64(p, type, field) get64((p) + offsetof(type, field))

/* The terminated text of less than `max` bytes at `offset` of a section, or "". */
static const char *text_at(const struct aif_device_section *s, uint64_t offset, size_t max)
{
	const char *text;

	if (offset >= s->size)
		return "";
	text = (const char *)s->bytes + offset;
	return memchr(text, 0, AIF_MIN(s->size - offset, max)) ? text : "";
}

/* Bytes that names out of one table may have together. Those of a sound table do not overlap
 * much; those of a hostile one could each be the whole table, and comparing them would take for
 * ever. */
static size_t names_allowed(const struct aif_device_section *texts)
{
	return AIF_MIN(2 * texts->size, (size_t)MAX_NAMES);
}

static int read_sections(struct aif_device_elf *e, const uint8_t *bytes, size_t n)
{
	uint64_t at = FIELD64(bytes, Elf64_Ehdr, e_shoff);
	size_t count = FIELD16(bytes, Elf64_Ehdr, e_shnum), i;
	unsigned names = FIELD16(bytes, Elf64_Ehdr, e_shstrndx);
	const uint8_t *table;

	if (FIELD16(bytes, Elf64_Ehdr, e_shentsize) != sizeof(Elf64_Shdr) || at > n)
		return -ENOEXEC;
	table = bytes + at;
	/* The count of an image with 65,280 sections or more (a kernel has five) is in the first
	 * one. */
	if (count == 0 && n - at >= sizeof(Elf64_Shdr))
		count = AIF_MIN(FIELD64(table, Elf64_Shdr, sh_size), (uint64_t)n);
	if (names == SHN_XINDEX && n - at >= sizeof(Elf64_Shdr))
		names = FIELD32(table, Elf64_Shdr, sh_link);
	if (count == 0 || count > (n - at) / sizeof(Elf64_Shdr))
		return -ENOEXEC;
	e->sections = calloc(count, sizeof(*e->sections));
	if (!e->sections)
		return -ENOMEM;
	e->sections_len = count;
	for (i = 0; i < count; i++) {
		const uint8_t *h = table + i * sizeof(Elf64_Shdr);
		struct aif_device_section *s = &e->sections[i];
		uint64_t offset = FIELD64(h, Elf64_Shdr, sh_offset);

		s->name = "";
		s->type = FIELD32(h, Elf64_Shdr, sh_type);
		s->link = FIELD32(h, Elf64_Shdr, sh_link);
		if (s->type == SHT_NOBITS || s->type == SHT_NULL || offset >= n)
			continue;
		s->bytes = bytes + offset;
		s->size = AIF_MIN(FIELD64(h, Elf64_Shdr, sh_size), n - offset);
	}
	if (names < count) {
		const struct aif_device_section *texts = &e->sections[names];
		size_t left = names_allowed(texts);

		for (i = 0; i < count; i++) {
			const uint8_t *h = table + i * sizeof(Elf64_Shdr);

			e->sections[i].name = text_at(texts, FIELD32(h, Elf64_Shdr, sh_name), left);
			left -= strlen(e->sections[i].name);
		}
	}
	return 0;
}

struct builder {
	const struct aif_device_elf_kind *kind;
	size_t cap, names_left;
	bool *is_covered; /* by section: its kernel has a symbol */
};

static int put_function(struct aif_device_elf *e, struct builder *b,
			const struct aif_device_function *f)
{
	int r = aif_grow(&e->functions, &b->cap, e->functions_len + 1, sizeof(*f));

	if (r == 0)
		e->functions[e->functions_len++] = *f;
	return r;
}

static int add_function(struct aif_device_elf *e, struct builder *b, uint32_t symbol)
{
	const uint8_t *s = e->symbols + (size_t)symbol * sizeof(Elf64_Sym);
	struct aif_device_function f = {.symbol = symbol, .size = FIELD64(s, Elf64_Sym, st_size)};
	const struct aif_device_section *in;

	if (ELF64_ST_TYPE(s[offsetof(Elf64_Sym, st_info)]) != STT_FUNC ||
	    !aif_device_elf_symbol(e, symbol, &f.section, &f.start) || f.size == 0 ||
	    f.start >= e->sections[f.section].size)
		return 0;
	in = &e->sections[f.section];
	f.size = AIF_MIN(f.size, in->size - f.start);
	f.name = text_at(e->strings, FIELD32(s, Elf64_Sym, st_name), b->names_left);
	if (!b->kind->accept(&f, s[offsetof(Elf64_Sym, st_other)], in))
		return 0;
	f.name_len = (uint32_t)strlen(f.name);
	b->names_left -= f.name_len;
	b->is_covered[f.section] |= f.kernel;
	return put_function(e, b, &f);
}

static int add_section(struct aif_device_elf *e, struct builder *b, uint32_t section)
{
	const struct aif_device_section *s = &e->sections[section];
	struct aif_device_function f = {.symbol = (uint32_t)e->symbols_len + section,
					.section = section,
					.size = s->size,
					.kernel = true};

	if (b->is_covered[section] || s->type != SHT_PROGBITS || s->size == 0 ||
	    strncmp(s->name, AIF_DEVICE_TEXT, strlen(AIF_DEVICE_TEXT)) != 0)
		return 0;
	f.name = s->name + strlen(AIF_DEVICE_TEXT);
	f.name_len = (uint32_t)strlen(f.name);
	return put_function(e, b, &f);
}

static int read_functions(struct aif_device_elf *e, const struct aif_device_elf_kind *kind)
{
	struct builder b = {.kind = kind, .is_covered = calloc(e->sections_len, 1)};
	const struct aif_device_section *table = NULL;
	int r = b.is_covered ? 0 : -ENOMEM;

	for (size_t i = 0; i < e->sections_len && !table; i++)
		if (e->sections[i].type == SHT_SYMTAB)
			table = &e->sections[i];
	if (table && table->link < e->sections_len) {
		e->symbols = table->bytes;
		e->symbols_len = AIF_MIN(table->size / sizeof(Elf64_Sym), (size_t)MAX_SYMBOLS);
		e->strings = &e->sections[table->link];
		b.names_left = names_allowed(e->strings);
	}
	for (uint32_t i = 0; r == 0 && i < e->symbols_len && e->functions_len < MAX_FUNCTIONS; i++)
		r = add_function(e, &b, i);
	for (uint32_t i = 0; r == 0 && kind->has_sections_as_functions && i < e->sections_len &&
			     e->functions_len < MAX_FUNCTIONS;
	     i++)
		r = add_section(e, &b, i);
	free(b.is_covered);
	return r;
}

static const struct aif_device_function *at(const struct aif_device_elf *e, uint32_t i)
{
	return &e->functions[i];
}

static int by_name(const void *pa, const void *pb, void *arg)
{
	const struct aif_device_function *a = at(arg, *(const uint32_t *)pa),
					 *b = at(arg, *(const uint32_t *)pb);
	int r = memcmp(a->name, b->name, AIF_MIN(a->name_len, b->name_len));

	if (r == 0)
		r = (a->name_len > b->name_len) - (a->name_len < b->name_len);
	if (r == 0)
		r = b->kernel - a->kernel;
	return r ? r : (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* Orders functions by place; of several that begin at one place the largest comes first, so that
 * the last one lies innermost. */
static int by_place(const void *pa, const void *pb, void *arg)
{
	const struct aif_device_function *a = at(arg, *(const uint32_t *)pa),
					 *b = at(arg, *(const uint32_t *)pb);

	return AIF_ORDER(a->section, b->section) ?: AIF_ORDER(a->start, b->start)
	       ?: AIF_ORDER(b->size, a->size) ?: AIF_ORDER(a->symbol, b->symbol);
}

/* Appends a stretch; of those that begin at one place the last holds. */
static void emit(struct aif_device_elf *e, uint32_t section, uint64_t start, uint32_t function)
{
	e->stretches[e->stretches_len++] = (struct aif_device_stretch){section, function, start};
}

/* Sweeps over the functions in order of place, with a stack of those around the present one. */
static void lay_out(struct aif_device_elf *e, const uint32_t *order, uint32_t *stack,
		    uint64_t *ends)
{
	size_t depth = 0;

	for (size_t i = 0; i <= e->functions_len; i++) {
		const struct aif_device_function *f = NULL;
		uint64_t end;

		if (i < e->functions_len)
			f = at(e, order[i]);
		while (depth && (!f || at(e, stack[depth - 1])->section != f->section ||
				 ends[depth - 1] <= f->start)) {
			depth--;
			emit(e, at(e, stack[depth])->section, ends[depth],
			     depth ? stack[depth - 1] : (uint32_t)NO_FUNCTION);
		}
		if (!f)
			break;
		end = f->start + f->size;
		emit(e, f->section, f->start, order[i]);
		stack[depth] = order[i];
		/* one that runs out of what it began in is cut there: so they nest */
		ends[depth] = depth ? AIF_MIN(end, ends[depth - 1]) : end;
		depth++;
	}
}

static int index_functions(struct aif_device_elf *e)
{
	size_t n = e->functions_len;
	uint32_t *order = calloc(n + 1, sizeof(*order)), *stack = calloc(n + 1, sizeof(*stack));
	uint64_t *ends = calloc(n + 1, sizeof(*ends));
	int r = -ENOMEM;

	e->by_name = calloc(n + 1, sizeof(*e->by_name));
	e->stretches = calloc(2 * n + 1, sizeof(*e->stretches));
	if (!order || !stack || !ends || !e->by_name || !e->stretches)
		goto out;
	for (uint32_t i = 0; i < n; i++)
		order[i] = e->by_name[i] = i;
	qsort_r(order, n, sizeof(*order), by_place, e);
	qsort_r(e->by_name, n, sizeof(*e->by_name), by_name, e);
	lay_out(e, order, stack, ends);
	r = 0;
out:
	free(order);
	free(stack);
	free(ends);
	return r;
}

bool aif_device_elf_is(uint16_t machine, const void *image, size_t n)
{
	const uint8_t *bytes = image;

	return n >= sizeof(Elf64_Ehdr) && memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
	       bytes[EI_CLASS] == ELFCLASS64 && bytes[EI_DATA] == ELFDATA2LSB &&
	       FIELD16(bytes, Elf64_Ehdr, e_machine) == machine;
}

int aif_device_elf_init(struct aif_device_elf *e, const struct aif_device_elf_kind *kind,
			const void *bytes, size_t n)
{
	int r;

	*e = (struct aif_device_elf){0};
	if (!aif_device_elf_is(kind->machine, bytes, n))
		return -ENOEXEC;
	r = read_sections(e, bytes, n);
	if (r == 0)
		r = read_functions(e, kind);
	if (r == 0)
		r = index_functions(e);
	if (r < 0)
		aif_device_elf_finish(e);
	return r;
}

void aif_device_elf_finish(struct aif_device_elf *e)
{
	free(e->sections);
	free(e->functions);
	free(e->stretches);
	free(e->by_name);
	*e = (struct aif_device_elf){0};
}

bool aif_device_elf_symbol(const struct aif_device_elf *e, uint32_t symbol, uint32_t *ret_section,
			   uint64_t *ret_value)
{
	const uint8_t *s;
	uint32_t section;

	if (symbol >= e->symbols_len)
		return false;
	s = e->symbols + (size_t)symbol * sizeof(Elf64_Sym);
	section = FIELD16(s, Elf64_Sym, st_shndx);
	if (section == SHN_XINDEX) {
		const struct aif_device_section *more = NULL;

		for (size_t i = 0; i < e->sections_len && !more; i++)
			if (e->sections[i].type == SHT_SYMTAB_SHNDX)
				more = &e->sections[i];
		if (!more || symbol >= more->size / sizeof(uint32_t))
			return false;
		section = get32(more->bytes + (size_t)symbol * sizeof(uint32_t));
	} else if (section >= SHN_LORESERVE) {
		return false;
	}
	if (section == SHN_UNDEF || section >= e->sections_len)
		return false;
	*ret_section = section;
	*ret_value = FIELD64(s, Elf64_Sym, st_value);
	return true;
}

const char *aif_device_elf_symbol_name(const struct aif_device_elf *e, uint32_t symbol)
{
	const uint8_t *s;

	if (symbol >= e->symbols_len)
		return "";
	s = e->symbols + (size_t)symbol * sizeof(Elf64_Sym);
	return text_at(e->strings, FIELD32(s, Elf64_Sym, st_name), MAX_SYMBOL_NAME);
}

const struct aif_device_function *aif_device_elf_by_symbol(const struct aif_device_elf *e,
							   uint32_t symbol)
{
	size_t i = AIF_BISECT(mid, 0, e->functions_len, e->functions[mid].symbol < symbol);

	return i < e->functions_len && e->functions[i].symbol == symbol ? &e->functions[i] : NULL;
}

static bool is_named_before(const struct aif_device_function *f, const char *name, size_t len)
{
	int r = memcmp(f->name, name, AIF_MIN((size_t)f->name_len, len));

	return r < 0 || (r == 0 && f->name_len < len);
}

const struct aif_device_function *aif_device_elf_by_name(const struct aif_device_elf *e,
							 const char *name)
{
	size_t len = strlen(name),
	       i = AIF_BISECT(mid, 0, e->functions_len,
			      is_named_before(at(e, e->by_name[mid]), name, len));
	const struct aif_device_function *f = i < e->functions_len ? at(e, e->by_name[i]) : NULL;

	return f && f->name_len == len && memcmp(f->name, name, len) == 0 ? f : NULL;
}

const struct aif_device_function *aif_device_elf_find(const struct aif_device_elf *e,
						      uint32_t symbol, uint64_t pc,
						      uint64_t *ret_offset)
{
	const struct aif_device_function *outer = aif_device_elf_by_symbol(e, symbol), *f;
	size_t from;
	uint32_t found;

	if (!outer || pc >= outer->size)
		return NULL;
	from = AIF_BISECT(mid, 0, e->stretches_len,
			  e->stretches[mid].section < outer->section ||
				  (e->stretches[mid].section == outer->section &&
				   e->stretches[mid].start <= outer->start + pc));
	/* There is one: a stretch begins where outer does. Nobody's is where outer runs out of a
	 * function that it began in. */
	found = e->stretches[from - 1].function;
	f = found == (uint32_t)NO_FUNCTION ? outer : at(e, found);
	if (ret_offset)
		*ret_offset = outer->start + pc - f->start;
	return f;
}

const uint8_t *aif_device_elf_code(const struct aif_device_elf *e,
				   const struct aif_device_function *f, size_t *ret_n)
{
	*ret_n = f->size;
	return e->sections[f->section].bytes + f->start;
}

const struct aif_device_section *aif_device_elf_section(const struct aif_device_elf *e,
							const char *name)
{
	for (size_t i = 0; i < e->sections_len; i++)
		if (strcmp(e->sections[i].name, name) == 0)
			return &e->sections[i];
	return NULL;
}
