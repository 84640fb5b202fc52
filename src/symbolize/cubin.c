/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cubin.h"

#include "base/buf.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * What differs from the host's ELF files: each kernel has a section of its own, .text.KERNEL, all of them
 * at address 0; functions that were not inlined are local symbols $KERNEL$FUNCTION in the section of the
 * kernel that calls them (each caller has its copy), or have a section of their own (separate compilation).
 * A kernel's symbol covers its whole section, so functions nest, and the innermost names a place.
 *
 * The sm stands in e_flags: the lowest byte up to ABI version 7, the second one from version 8 (CUDA 12.8).
 */

enum {
	MACHINE_CUDA = 190,
	ABI_OF_SECOND_BYTE = 8,
	OTHER_IS_ENTRY = 0x10,
	MAX_FUNCTIONS = 1 << 20, /* libcublasLt's largest cubins have some hundred */
	MAX_SECTION_NAME =
		64,          /* what is asked for by name is short; .text.KERNEL is not asked for */
	MAX_NAMES = 1 << 30, /* bytes, all together */
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
static const char *text_at(const struct aif_cubin_section *s, uint64_t offset, size_t max)
{
	const char *text;

	if (offset >= s->size)
		return "";
	text = (const char *)s->bytes + offset;
	return memchr(text, 0, AIF_MIN(s->size - offset, max)) ? text : "";
}

static int read_sections(struct aif_cubin *c, const uint8_t *bytes, size_t n)
{
	uint64_t at = FIELD64(bytes, Elf64_Ehdr, e_shoff);
	size_t count = FIELD16(bytes, Elf64_Ehdr, e_shnum), i;
	unsigned names = FIELD16(bytes, Elf64_Ehdr, e_shstrndx);
	const uint8_t *table;

	if (FIELD16(bytes, Elf64_Ehdr, e_shentsize) != sizeof(Elf64_Shdr) || at > n)
		return -ENOEXEC;
	table = bytes + at;
	/* The count of an image with 65,280 sections or more (a kernel has five) is in the first one. */
	if (count == 0 && n - at >= sizeof(Elf64_Shdr))
		count = AIF_MIN(FIELD64(table, Elf64_Shdr, sh_size), (uint64_t)n);
	if (names == SHN_XINDEX && n - at >= sizeof(Elf64_Shdr))
		names = FIELD32(table, Elf64_Shdr, sh_link);
	if (count == 0 || count > (n - at) / sizeof(Elf64_Shdr))
		return -ENOEXEC;
	c->sections = calloc(count, sizeof(*c->sections));
	if (!c->sections)
		return -ENOMEM;
	c->sections_len = count;
	for (i = 0; i < count; i++) {
		const uint8_t *h = table + i * sizeof(Elf64_Shdr);
		struct aif_cubin_section *s = &c->sections[i];
		uint64_t offset = FIELD64(h, Elf64_Shdr, sh_offset);

		s->name = "";
		s->type = FIELD32(h, Elf64_Shdr, sh_type);
		s->link = FIELD32(h, Elf64_Shdr, sh_link);
		if (s->type == SHT_NOBITS || s->type == SHT_NULL || offset >= n)
			continue;
		s->bytes = bytes + offset;
		s->size = AIF_MIN(FIELD64(h, Elf64_Shdr, sh_size), n - offset);
	}
	if (names < count)
		for (i = 0; i < count; i++)
			c->sections[i].name = text_at(
				&c->sections[names],
				FIELD32(table + i * sizeof(Elf64_Shdr), Elf64_Shdr, sh_name),
				MAX_SECTION_NAME);
	return 0;
}

/* "$KERNEL$FUNCTION", "$__internal_0_$FUNCTION" -> "FUNCTION". */
static const char *own_name(const char *name)
{
	const char *second = name[0] == '$' ? strchr(name + 1, '$') : NULL;

	return second && second[1] ? second + 1 : name;
}

struct builder {
	size_t cap;
	/* Bytes of names that may still come. Names of a sound table do not overlap much; those of a hostile
	 * one could each be the whole table, and comparing them would take for ever. */
	size_t names_left;
};

static int add_function(struct aif_cubin *c, struct builder *b, uint32_t symbol)
{
	const uint8_t *s = c->symbols + (size_t)symbol * sizeof(Elf64_Sym);
	struct aif_cubin_function f = {
		.symbol = symbol,
		.section = FIELD16(s, Elf64_Sym, st_shndx),
		.start = FIELD64(s, Elf64_Sym, st_value),
		.size = FIELD64(s, Elf64_Sym, st_size),
		.kernel = s[offsetof(Elf64_Sym, st_other)] & OTHER_IS_ENTRY,
	};
	int r;

	if (ELF64_ST_TYPE(s[offsetof(Elf64_Sym, st_info)]) != STT_FUNC ||
	    !aif_cubin_symbol(c, symbol, &f.section, &f.start) || f.size == 0 ||
	    f.start >= c->sections[f.section].size)
		return 0;
	f.size = AIF_MIN(f.size, c->sections[f.section].size - f.start);
	f.name = own_name(text_at(c->strings, FIELD32(s, Elf64_Sym, st_name), b->names_left));
	f.name_len = (uint32_t)strlen(f.name);
	b->names_left -= f.name_len;
	r = aif_grow(&c->functions, &b->cap, c->functions_len + 1, sizeof(f));
	if (r < 0)
		return r;
	c->functions[c->functions_len++] = f;
	return 0;
}

static int read_functions(struct aif_cubin *c)
{
	const struct aif_cubin_section *table = NULL;
	struct builder b = {0};
	int r = 0;

	for (size_t i = 0; i < c->sections_len && !table; i++)
		if (c->sections[i].type == SHT_SYMTAB)
			table = &c->sections[i];
	if (!table || table->link >= c->sections_len)
		return 0;
	c->symbols = table->bytes;
	c->symbols_len = AIF_MIN(table->size / sizeof(Elf64_Sym), (size_t)UINT32_MAX);
	c->strings = &c->sections[table->link];
	b.names_left = AIF_MIN(2 * c->strings->size, (size_t)MAX_NAMES);
	for (uint32_t i = 0; r == 0 && i < c->symbols_len && c->functions_len < MAX_FUNCTIONS; i++)
		r = add_function(c, &b, i);
	return r;
}

static const struct aif_cubin_function *at(const struct aif_cubin *c, uint32_t i)
{
	return &c->functions[i];
}

static int by_name(const void *pa, const void *pb, void *arg)
{
	const struct aif_cubin_function *a = at(arg, *(const uint32_t *)pa),
					*b = at(arg, *(const uint32_t *)pb);
	int r = memcmp(a->name, b->name, AIF_MIN(a->name_len, b->name_len));

	if (r == 0)
		r = (a->name_len > b->name_len) - (a->name_len < b->name_len);
	if (r == 0)
		r = b->kernel - a->kernel;
	return r ? r : (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* By place; of several that begin at one place the largest first, the last one lies innermost. */
static int by_place(const void *pa, const void *pb, void *arg)
{
	const struct aif_cubin_function *a = at(arg, *(const uint32_t *)pa),
					*b = at(arg, *(const uint32_t *)pb);

	if (a->section != b->section)
		return a->section < b->section ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* Of stretches that begin at one place the last holds. */
static void emit(struct aif_cubin *c, uint32_t section, uint64_t start, uint32_t function)
{
	c->stretches[c->stretches_len++] = (struct aif_cubin_stretch){section, function, start};
}

/* Sweeps over the functions in order of place, with a stack of those around the present one. */
static void lay_out(struct aif_cubin *c, const uint32_t *order, uint32_t *stack, uint64_t *ends)
{
	size_t depth = 0;

	for (size_t i = 0; i <= c->functions_len; i++) {
		const struct aif_cubin_function *f = NULL;
		uint64_t end;

		if (i < c->functions_len)
			f = at(c, order[i]);
		while (depth && (!f || at(c, stack[depth - 1])->section != f->section ||
				 ends[depth - 1] <= f->start)) {
			depth--;
			emit(c, at(c, stack[depth])->section, ends[depth],
			     depth ? stack[depth - 1] : (uint32_t)NO_FUNCTION);
		}
		if (!f)
			break;
		end = f->start + f->size;
		emit(c, f->section, f->start, order[i]);
		stack[depth] = order[i];
		/* one that runs out of what it began in is cut there: so they nest */
		ends[depth] = depth ? AIF_MIN(end, ends[depth - 1]) : end;
		depth++;
	}
}

static int index_functions(struct aif_cubin *c)
{
	size_t n = c->functions_len;
	uint32_t *order = calloc(n + 1, sizeof(*order)), *stack = calloc(n + 1, sizeof(*stack));
	uint64_t *ends = calloc(n + 1, sizeof(*ends));
	int r = -ENOMEM;

	c->by_name = calloc(n + 1, sizeof(*c->by_name));
	c->stretches = calloc(2 * n + 1, sizeof(*c->stretches));
	if (!order || !stack || !ends || !c->by_name || !c->stretches)
		goto out;
	for (uint32_t i = 0; i < n; i++)
		order[i] = c->by_name[i] = i;
	qsort_r(order, n, sizeof(*order), by_place, c);
	qsort_r(c->by_name, n, sizeof(*c->by_name), by_name, c);
	lay_out(c, order, stack, ends);
	r = 0;
out:
	free(order);
	free(stack);
	free(ends);
	return r;
}

int aif_cubin_init(struct aif_cubin *c, const void *image, size_t n)
{
	const uint8_t *bytes = image;
	uint32_t flags;
	int r;

	*c = (struct aif_cubin){0};
	if (n < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0 ||
	    bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB ||
	    FIELD16(bytes, Elf64_Ehdr, e_machine) != MACHINE_CUDA)
		return -ENOEXEC;
	flags = FIELD32(bytes, Elf64_Ehdr, e_flags);
	c->sm = (bytes[EI_ABIVERSION] >= ABI_OF_SECOND_BYTE ? flags >> 8 : flags) & 0xff;
	snprintf(c->arch, sizeof(c->arch), "sm_%u", c->sm);
	r = read_sections(c, bytes, n);
	if (r == 0)
		r = read_functions(c);
	if (r == 0)
		r = index_functions(c);
	if (r < 0)
		aif_cubin_finish(c);
	return r;
}

void aif_cubin_finish(struct aif_cubin *c)
{
	free(c->sections);
	free(c->functions);
	free(c->stretches);
	free(c->by_name);
	*c = (struct aif_cubin){0};
}

bool aif_cubin_symbol(const struct aif_cubin *c, uint32_t symbol, uint32_t *ret_section,
		      uint64_t *ret_value)
{
	const uint8_t *s;
	uint32_t section;

	if (symbol >= c->symbols_len)
		return false;
	s = c->symbols + (size_t)symbol * sizeof(Elf64_Sym);
	section = FIELD16(s, Elf64_Sym, st_shndx);
	if (section == SHN_XINDEX) {
		const struct aif_cubin_section *more = NULL;

		for (size_t i = 0; i < c->sections_len && !more; i++)
			if (c->sections[i].type == SHT_SYMTAB_SHNDX)
				more = &c->sections[i];
		if (!more || symbol >= more->size / sizeof(uint32_t))
			return false;
		section = get32(more->bytes + (size_t)symbol * sizeof(uint32_t));
	} else if (section >= SHN_LORESERVE) {
		return false;
	}
	if (section == SHN_UNDEF || section >= c->sections_len)
		return false;
	*ret_section = section;
	*ret_value = FIELD64(s, Elf64_Sym, st_value);
	return true;
}

const struct aif_cubin_function *aif_cubin_by_symbol(const struct aif_cubin *c, uint32_t symbol)
{
	size_t from = 0, to = c->functions_len;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (c->functions[mid].symbol == symbol)
			return &c->functions[mid];
		if (c->functions[mid].symbol < symbol)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

const struct aif_cubin_function *aif_cubin_by_name(const struct aif_cubin *c, const char *name)
{
	size_t from = 0, to = c->functions_len, len = strlen(name);

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct aif_cubin_function *f = at(c, c->by_name[mid]);
		int r = memcmp(f->name, name, AIF_MIN((size_t)f->name_len, len));

		if (r < 0 || (r == 0 && f->name_len < len))
			from = mid + 1;
		else
			to = mid;
	}
	if (from < c->functions_len) {
		const struct aif_cubin_function *f = at(c, c->by_name[from]);

		if (f->name_len == len && memcmp(f->name, name, len) == 0)
			return f;
	}
	return NULL;
}

const struct aif_cubin_function *aif_cubin_find(const struct aif_cubin *c, uint32_t symbol,
						uint64_t pc, uint64_t *ret_offset)
{
	const struct aif_cubin_function *outer = aif_cubin_by_symbol(c, symbol), *f;
	size_t from = 0, to = c->stretches_len;
	uint32_t found;

	if (!outer || pc >= outer->size)
		return NULL;
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct aif_cubin_stretch *s = &c->stretches[mid];

		if (s->section < outer->section ||
		    (s->section == outer->section && s->start <= outer->start + pc))
			from = mid + 1;
		else
			to = mid;
	}
	/* There is one: a stretch begins where outer does. Nobody's is where outer runs out of a function
	 * that it began in. */
	found = c->stretches[from - 1].function;
	f = found == (uint32_t)NO_FUNCTION ? outer : at(c, found);
	if (ret_offset)
		*ret_offset = outer->start + pc - f->start;
	return f;
}

const uint8_t *aif_cubin_code(const struct aif_cubin *c, const struct aif_cubin_function *f,
			      size_t *ret_n)
{
	*ret_n = f->size;
	return c->sections[f->section].bytes + f->start;
}

const struct aif_cubin_section *aif_cubin_section(const struct aif_cubin *c, const char *name)
{
	for (size_t i = 0; i < c->sections_len; i++)
		if (strcmp(c->sections[i].name, name) == 0)
			return &c->sections[i];
	return NULL;
}
