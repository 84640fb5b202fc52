/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_symbols.h"

#include "base/buf.h"

#include <errno.h>
#include <string.h>

/*
 * Symbol tables are untidy: several names for one address, labels of hand-written assembly without
 * a size, functions inside functions, sizes that run into the next function. All of it is settled
 * once, while building, by a sweep over the sorted symbols with a stack of those that cover the
 * present address; a look-up is then one binary search in disjoint stretches. The innermost symbol
 * wins; of several at one address the one that a person would write (see `is_better`).
 */

enum {
	MAX_SYMBOLS = 4 << 20, /* libtorch_cuda has 0.5 million; this is 100 MB while building */
	MAX_ENTRIES = 16 << 20 /* of the table: what is no function, too */
};

struct candidate {
	uint64_t start, end;
	uint64_t limit; /* end of its section */
	uint32_t name;
	uint8_t type; /* 2 function, 1 its resolver (IFUNC), 0 a label */
	uint8_t bind; /* 2 global, 1 weak, 0 local */
	bool sized;
	uint8_t source;
};

struct builder {
	const struct aif_elf_symbols *s;
	uint8_t source; /* that is being read */
	struct candidate *c;
	size_t c_len, c_cap;
};

static ssize_t read_name(const struct aif_elf_symbols *s, uint8_t source, uint32_t name, char *to,
			 size_t max)
{
	return aif_elf_string(s->sources[source].elf, s->sources[source].strings, name, to, max);
}

static ssize_t name_of(const struct builder *b, const struct candidate *c, char *to, size_t max)
{
	return read_name(b->s, c->source, c->name, to, max);
}

/* Sorts by address, and at one address by what can be told without names: the better last, so that
 * the sweep lays it on top. A total order of numbers: qsort needs one, whatever the file says. */
static int by_address(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->type != b->type)
		return a->type - b->type;
	if (!a->bind != !b->bind)
		return !b->bind - !a->bind;
	if (a->sized != b->sized)
		return a->sized - b->sized;
	if (a->source != b->source)
		return a->source - b->source;
	return AIF_ORDER(a->name, b->name);
}

static bool same_but_name(const struct candidate *a, const struct candidate *b)
{
	return a->start == b->start && a->type == b->type && !a->bind == !b->bind &&
	       a->sized == b->sized;
}

static unsigned underscores(const char *name)
{
	unsigned n = 0;

	if (name[0] == '_' && name[1] == 'Z')
		return 0;
	while (name[n] == '_')
		n++;
	return n;
}

/* Returns true if `a` is the name that a person would write for the function of both: `write`,
 * not `__write`; `printf`, not `_IO_printf`. */
static bool is_better(const struct candidate *a, const char *na, const struct candidate *b,
		      const char *nb)
{
	if (underscores(na) != underscores(nb))
		return underscores(na) < underscores(nb);
	if (a->bind != b->bind)
		return a->bind > b->bind;
	return strcmp(na, nb) < 0;
}

/* Moves the best-named of symbols that differ in nothing else to the end of their run. */
static void choose_names(struct builder *b)
{
	char best_name[256], name[256];

	for (size_t from = 0, to; from < b->c_len; from = to) {
		size_t best = from;

		for (to = from + 1; to < b->c_len && same_but_name(&b->c[from], &b->c[to]);)
			to++;
		if (to - from == 1 || name_of(b, &b->c[from], best_name, sizeof(name)) < 0)
			continue;
		for (size_t i = from + 1; i < to; i++) {
			if (name_of(b, &b->c[i], name, sizeof(name)) < 0 ||
			    !is_better(&b->c[i], name, &b->c[best], best_name))
				continue;
			best = i;
			memcpy(best_name, name, sizeof(name));
		}
		if (best != to - 1) {
			struct candidate c = b->c[best];

			b->c[best] = b->c[to - 1];
			b->c[to - 1] = c;
		}
	}
}

/* Labels that assemblers and ARM's mapping symbols leave behind are no functions. */
static bool is_noise(const struct builder *b, uint32_t name)
{
	char text[8];

	return read_name(b->s, b->source, name, text, sizeof(text)) <= 0 || text[0] == '$' ||
	       (text[0] == '.' && text[1] == 'L');
}

static int add_symbol(struct builder *b, const Elf64_Sym *sym)
{
	const struct aif_elf *elf = b->s->sources[b->source].elf;
	unsigned type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	struct candidate c = {.start = aif_elf64(elf, sym->st_value),
			      .name = aif_elf32(elf, sym->st_name),
			      .source = b->source};
	uint64_t size = aif_elf64(elf, sym->st_size);
	uint16_t index = aif_elf16(elf, sym->st_shndx);
	const struct aif_elf_section *section = NULL;
	int r;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (index == SHN_UNDEF || index >= SHN_LORESERVE || !c.name)
		return 0;
	if (index < elf->sections_len)
		section = &elf->sections[index];
	if (type == STT_NOTYPE &&
	    (!section || !(section->flags & SHF_EXECINSTR) || is_noise(b, c.name)))
		return 0;
	c.type = type == STT_FUNC ? 2 : type == STT_GNU_IFUNC ? 1 : 0;
	c.bind = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 2 : bind == STB_WEAK ? 1 : 0;
	if (!section || c.start < section->addr ||
	    __builtin_add_overflow(section->addr, section->size, &c.limit))
		c.limit = UINT64_MAX;
	if (c.start >= c.limit)
		return 0; /* a marker at the end of its section */
	c.sized = size != 0;
	if (__builtin_add_overflow(c.start, size, &c.end) || c.end > c.limit)
		c.end = c.limit;
	r = aif_grow(&b->c, &b->c_cap, b->c_len + 1, sizeof(c));
	if (r < 0)
		return r;
	b->c[b->c_len++] = c;
	return 0;
}

static int read_symbols(struct builder *b, const struct aif_elf_section *table)
{
	Elf64_Sym block[1024];
	uint64_t n = AIF_MIN(table->size / sizeof(*block), MAX_ENTRIES);
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < n && b->c_len < MAX_SYMBOLS;) {
		size_t now = AIF_MIN(n - at, AIF_ARRAY_LEN(block));

		if (aif_elf_read(b->s->sources[b->source].elf, table->offset + at * sizeof(*block),
				 block, now * sizeof(*block)) < 0)
			break; /* cut off: what came before still holds */
		for (size_t i = 0; r == 0 && i < now; i++)
			r = add_symbol(b, &block[i]);
		at += now;
	}
	return r;
}

/* A symbol without a size reaches to the next one. */
static void give_sizes(struct builder *b)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = b->c_len; i-- > 0;) {
		struct candidate *c = &b->c[i];

		if (!c->sized)
			c->end = AIF_MIN(next, c->limit);
		if (i && b->c[i - 1].start != c->start)
			next = c->start;
	}
}

static void emit(struct aif_elf_symbols *s, uint64_t start, uint32_t function)
{
	struct aif_elf_stretch *last =
		s->stretches_len ? &s->stretches[s->stretches_len - 1] : NULL;

	if (last && last->start == start)
		last->function = function;
	else if (!last || last->function != function)
		s->stretches[s->stretches_len++] = (struct aif_elf_stretch){start, function};
}

/* Ends the functions that do not reach `to`, giving way to what still covers their end. */
static size_t close_until(struct aif_elf_symbols *s, const uint32_t *open, size_t depth,
			  uint64_t to)
{
	while (depth && s->functions[open[depth - 1]].end <= to) {
		uint64_t end = s->functions[open[depth - 1]].end;

		while (depth && s->functions[open[depth - 1]].end <= end)
			depth--;
		emit(s, end, depth ? open[depth - 1] : AIF_ELF_NO_FUNCTION);
	}
	return depth;
}

/* Gives back what an array turned out not to need. */
static void shrink(void *array, size_t size)
{
	void **at = array, *smaller = size ? realloc(*at, size) : NULL;

	if (smaller)
		*at = smaller;
}

static int sweep(struct aif_elf_symbols *s, struct builder *b)
{
	size_t depth = 0;
	uint32_t *open;

	s->functions = malloc(b->c_len * sizeof(*s->functions));
	s->stretches = malloc(2 * b->c_len * sizeof(*s->stretches));
	open = malloc(b->c_len * sizeof(*open));
	if (!s->functions || !s->stretches || !open) {
		free(open);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->c_len; i++) {
		struct candidate *c = &b->c[i];

		depth = close_until(s, open, depth, c->start);
		if (!c->sized && i + 1 < b->c_len && b->c[i + 1].start == c->start)
			continue; /* a lesser name of the next */
		if (depth && c->type == 0)
			continue; /* a label inside a function */
		if (depth && !c->sized)
			c->end = AIF_MIN(c->end, s->functions[open[depth - 1]].end);
		open[depth++] = (uint32_t)s->functions_len;
		emit(s, c->start, (uint32_t)s->functions_len);
		s->functions[s->functions_len++] =
			(struct aif_elf_function){c->start, c->end, c->name, c->source};
	}
	close_until(s, open, depth, UINT64_MAX);
	free(open);
	shrink(&s->functions, s->functions_len * sizeof(*s->functions));
	shrink(&s->stretches, s->stretches_len * sizeof(*s->stretches));
	return 0;
}

static int read_source(struct builder *b, struct aif_elf_symbols_source *source)
{
	const struct aif_elf *elf = source->elf;
	const struct aif_elf_section *table = aif_elf_section_of_type(elf, SHT_SYMTAB);

	if (!table || table->size <= sizeof(Elf64_Sym))
		table = aif_elf_section_of_type(elf, SHT_DYNSYM);
	if (!table || table->link >= elf->sections_len || (table->flags & SHF_COMPRESSED))
		return 0;
	source->strings = &elf->sections[table->link];
	return read_symbols(b, table);
}

int aif_elf_symbols_init(struct aif_elf_symbols *s, const struct aif_elf *elf,
			 const struct aif_elf *more)
{
	struct builder b = {.s = s};
	int r;

	*s = (struct aif_elf_symbols){.sources = {{.elf = elf}, {.elf = more}}};
	r = read_source(&b, &s->sources[0]);
	b.source = 1;
	if (r == 0 && more)
		r = read_source(&b, &s->sources[1]);
	if (r == 0 && b.c_len) {
		qsort(b.c, b.c_len, sizeof(*b.c), by_address);
		choose_names(&b);
		give_sizes(&b);
		r = sweep(s, &b);
	}
	free(b.c);
	if (r < 0)
		aif_elf_symbols_finish(s);
	return r;
}

void aif_elf_symbols_finish(struct aif_elf_symbols *s)
{
	free(s->functions);
	free(s->stretches);
	*s = (struct aif_elf_symbols){0};
}

const struct aif_elf_function *aif_elf_symbols_find(const struct aif_elf_symbols *s,
						    uint64_t address)
{
	size_t lo = AIF_BISECT(mid, 0, s->stretches_len, s->stretches[mid].start <= address);

	if (!lo || s->stretches[lo - 1].function == AIF_ELF_NO_FUNCTION)
		return NULL;
	return &s->functions[s->stretches[lo - 1].function];
}

ssize_t aif_elf_symbols_name(const struct aif_elf_symbols *s, const struct aif_elf_function *f,
			     char *to, size_t max)
{
	ssize_t n = read_name(s, f->source, f->name, to, max);
	char *version = n > 1 ? memchr(to + 1, '@', (size_t)n - 1) : NULL;

	if (version) {
		*version = 0;
		n = version - to;
	}
	return n;
}
