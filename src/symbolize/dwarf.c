/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf.h"

#include "base/buf.h"
#include "symbolize/debugfile.h"
#include "symbolize/dwarf_file.h"
#include "symbolize/dwarf_scope.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <libelf.h>
#include <string.h>

/*
 * libdw reads; the indexes are ours, because its own need .debug_aranges (clang writes none) and
 * walk a whole unit for each address.
 *
 *     address --(unit ranges: built once, from the units' headers)--> unit
 *             --(function ranges: built at a unit's first use, one walk)--> function
 *             --(its children that hold the address)--> inlined functions
 *
 * Bounds. libdw keeps for ever what it has decoded (lines above all), so its memory is estimated,
 * and when that is too much for the owner it drops the whole handle, which opens itself anew at the
 * next use: a rare pause instead of memory that grows with the number of different addresses. A
 * hostile file is met by: decompressed sizes checked before libdw inflates anything; walks with a
 * budget of entries and a depth; siblings that must come later in the file. Sections come from
 * read(), not from a mapping, up to MAX_READ, so that a file truncated meanwhile gives an error and
 * not SIGBUS; larger debug information (libtorch's is gigabytes) is mapped. Split DWARF (.dwo) is
 * not followed: its file names come from the target, and opening them could block.
 */

enum {
	MAX_READ = 64 << 20,
	MAX_INFLATED = 128 << 20,
	LINE_BYTES = 64, /* libdw's memory for a line, rounded up */
	WALK_BYTES = 24, /* memory for a walked entry: its share of decoded abbreviations */
	MAX_UNITS_RANGES = 1 << 20,
	MAX_UNITS = 1 << 20,
	MAX_LINES =
		4
		<< 20, /* bytes of one unit's lines, of which each may make a row; LLVM's have 1 MB */
	ENTRY_COST = 256,   /* effort for a walked entry, in bytes read (effort.h) */
	MAX_WALK = 8 << 20, /* the largest unit of LLVM has 0.6 million entries */
	MAX_DEPTH = 128,
};

struct range {
	uint64_t lo, hi;
	Dwarf_Off die; /* entry of the unit or the function */
};
struct ranges {
	struct range *r;
	size_t len, cap;
};
struct unit {
	Dwarf_Off die;
	bool has_lines; /* libdw may decode its lines */
	struct ranges functions;
};
struct aif_dwarf {
	const struct aif_elf *file;
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct aif_elf
		alt_file; /* file that several debug files share (dwz); fd -1 if there is none */
	struct ranges units;
	struct unit *walked; /* units whose functions are known */
	size_t walked_len, walked_cap;
	size_t cached, opened; /* estimates, bytes; opened: when the handle was new */
	struct aif_buf names;  /* names made up for the present call, terminated */
};

static int by_lo(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->hi != b->hi) /* the inner one later */
		return a->hi > b->hi ? -1 : 1;
	return AIF_ORDER(a->die, b->die);
}

static void ranges_sort(struct ranges *s)
{
	if (s->len)
		qsort(s->r, s->len, sizeof(*s->r), by_lo);
}

/* The range that begins last before the address and holds it. Ranges may nest, but not deeply. */
static const struct range *ranges_find(const struct ranges *s, uint64_t address)
{
	size_t lo = AIF_BISECT(mid, 0, s->len, s->r[mid].lo <= address);

	for (size_t tries = 0; lo-- && tries < 64; tries++)
		if (address < s->r[lo].hi)
			return &s->r[lo];
	return NULL;
}

/* All address ranges of a DIE. 0 or -ENOMEM. */
static int ranges_add(struct ranges *s, struct aif_effort *effort, Dwarf_Die *die, size_t max)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	int r;

	while (s->len < max && !aif_effort_spend(effort, ENTRY_COST) &&
	       (at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (lo >= hi || !lo) /* 0: a function that the linker threw away */
			continue;
		r = aif_grow(&s->r, &s->cap, s->len + 1, sizeof(*s->r));
		if (r < 0)
			return r;
		s->r[s->len++] = (struct range){lo, hi, dwarf_dieoffset(die)};
	}
	return 0;
}

/* Sums up the size of a file's debug sections: 0, or -errno if libdw should not see it. */
static int debug_size(const struct aif_elf *e, uint64_t *ret_in_file, uint64_t *ret_inflated)
{
	uint64_t in_file = 0, inflated = 0;
	bool have_info = false;

	for (size_t i = 0; i < e->sections_len; i++) {
		const struct aif_elf_section *s = &e->sections[i];
		Elf64_Chdr c;

		if (!strncmp(s->name, ".zdebug", 7))
			return -ENOTSUP; /* the form before SHF_COMPRESSED; gone since 2015 */
		if (s->type == SHT_NOBITS || s->offset > e->size || s->size > e->size - s->offset)
			continue;
		if (!strcmp(s->name, ".debug_info"))
			have_info = true;
		if (s->flags & SHF_COMPRESSED) {
			uint64_t size;

			if (aif_elf_read(e, s->offset, &c, sizeof(c)) < 0)
				return -E2BIG;
			size = aif_elf64(e, c.ch_size);
			if (size > MAX_INFLATED)
				return -E2BIG;
			inflated += size;
		} else if (!strncmp(s->name, ".debug_", 7))
			in_file += s->size;
	}
	if (!have_info)
		return -ENODATA;
	if (inflated > MAX_INFLATED)
		return -E2BIG;
	*ret_in_file = in_file;
	*ret_inflated = inflated;
	return 0;
}

static void close_handle(struct aif_dwarf *d)
{
	for (size_t i = 0; i < d->walked_len; i++)
		free(d->walked[i].functions.r);
	d->walked_len = 0;
	d->cached = 0;
	if (d->dwarf)
		dwarf_end(d->dwarf);
	if (d->elf)
		elf_end(d->elf);
	if (d->alt)
		dwarf_end(d->alt);
	if (d->alt_elf)
		elf_end(d->alt_elf);
	aif_elf_finish(&d->alt_file);
	d->dwarf = d->alt = NULL;
	d->elf = d->alt_elf = NULL;
}

static Elf *open_elf(const struct aif_elf *e, uint64_t in_file)
{
	return e->fd < 0
		       ? elf_memory((char *)e->bytes, e->size)
		       : elf_begin(e->fd, in_file > MAX_READ ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
}

/* Value that libdw itself stores for a file whose shared debug information was looked for and
 * not found. Without it libdw opens, at some reference in the file, whatever path the file
 * names. */
#define NO_ALT ((Dwarf *)-1)

static void open_alt(struct aif_dwarf *d)
{
	uint64_t in_file = 0, inflated = 0;
	const char *name;
	const void *id;
	ssize_t id_len = dwelf_dwarf_gnu_debugaltlink(d->dwarf, &name, &id);

	if (id_len > 0 &&
	    aif_debugfile_find_alt(d->file, name, id, (size_t)id_len, &d->alt_file) == 0 &&
	    debug_size(&d->alt_file, &in_file, &inflated) == 0) {
		d->alt_elf = open_elf(&d->alt_file, in_file);
		d->alt = d->alt_elf ? dwarf_begin_elf(d->alt_elf, DWARF_C_READ, NULL) : NULL;
	}
	dwarf_setalt(d->dwarf, d->alt ? d->alt : NO_ALT);
	d->cached += inflated + (in_file > MAX_READ ? 0 : in_file);
}

static int open_handle(struct aif_dwarf *d)
{
	uint64_t in_file, inflated;
	int r = debug_size(d->file, &in_file, &inflated);

	if (r < 0)
		return r;
	elf_version(EV_CURRENT);
	d->elf = open_elf(d->file, in_file);
	d->dwarf = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	if (!d->dwarf) {
		close_handle(d);
		return -ENODATA;
	}
	d->cached = inflated + (in_file > MAX_READ ? 0 : in_file);
	open_alt(d);
	d->opened = d->cached;
	return 0;
}

static int read_units(struct aif_dwarf *d)
{
	Dwarf_CU *unit = NULL;
	unsigned n = 0;
	Dwarf_Off last = 0;
	Dwarf_Die die;
	uint8_t type;
	int r = 0;

	while (r == 0 && d->units.len < MAX_UNITS_RANGES && n++ < MAX_UNITS &&
	       dwarf_get_units(d->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
		Dwarf_Off at = dwarf_dieoffset(&die);

		if (at <= last) /* units of .debug_types follow: they hold no code */
			break;
		last = at;
		if (dwarf_tag(&die) == DW_TAG_compile_unit)
			r = ranges_add(&d->units, d->file->effort, &die, MAX_UNITS_RANGES);
	}
	ranges_sort(&d->units);
	return r;
}

int aif_dwarf_new(const struct aif_elf *elf, struct aif_dwarf **ret)
{
	struct aif_dwarf *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->file = elf;
	d->alt_file.fd = -1;
	r = open_handle(d);
	if (r == 0)
		r = read_units(d);
	if (r < 0) {
		aif_dwarf_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void aif_dwarf_free(struct aif_dwarf *d)
{
	if (!d)
		return;
	close_handle(d);
	aif_buf_finish(&d->names);
	free(d->walked);
	free(d->units.r);
	free(d);
}

void aif_dwarf_drop(struct aif_dwarf *d)
{
	close_handle(d);
}

size_t aif_dwarf_opened(const struct aif_dwarf *d)
{
	return d->opened;
}

size_t aif_dwarf_cached(const struct aif_dwarf *d)
{
	return d->cached;
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	}
	return false;
}

/* Steps to the next sibling, which must lie further on. */
static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
		return false;
	*die = next;
	return true;
}

/* Collects the ranges of all functions in one walk over a unit. */
static int walk_unit(struct aif_effort *effort, Dwarf_Die *unit, struct ranges *ret,
		     size_t *ret_seen)
{
	Dwarf_Die level[MAX_DEPTH];
	size_t depth = 0, seen = 0;
	int r = 0;

	if (dwarf_child(unit, &level[0]) != 0)
		return 0;
	while (r == 0 && seen++ < MAX_WALK && !aif_effort_spend(effort, ENTRY_COST)) {
		int tag = dwarf_tag(&level[depth]);

		if (tag == DW_TAG_subprogram)
			r = ranges_add(ret, effort, &level[depth], MAX_WALK);
		if (may_hold_functions(tag) && depth + 1 < MAX_DEPTH &&
		    dwarf_child(&level[depth], &level[depth + 1]) == 0 &&
		    dwarf_dieoffset(&level[depth + 1]) > dwarf_dieoffset(&level[depth])) {
			depth++;
			continue;
		}
		while (!next_sibling(&level[depth])) {
			if (depth-- == 0)
				goto out;
		}
	}
out:
	*ret_seen = seen;
	ranges_sort(ret);
	return r;
}

/* Libdw decodes the lines of a unit in one go, which nothing interrupts and only their bytes bound. */
static bool may_read_lines(const struct aif_dwarf *d, Dwarf_Die *unit)
{
	const struct aif_elf_section *s = aif_elf_section(d->file, ".debug_line");
	uint64_t offset, size = 0;
	Dwarf_Attribute attr;
	Dwarf_Word at;
	uint32_t narrow;

	if (!s || !dwarf_attr(unit, DW_AT_stmt_list, &attr) || dwarf_formudata(&attr, &at) != 0)
		return false;
	if (s->flags & SHF_COMPRESSED) /* MAX_INFLATED bounds them */
		return true;
	if (at >= s->size || __builtin_add_overflow(s->offset, at, &offset) ||
	    aif_elf_read(d->file, offset, &narrow, sizeof(narrow)) < 0)
		return false;
	size = aif_elf32(d->file, narrow);
	if (narrow == UINT32_MAX) {
		if (aif_elf_read(d->file, offset + 4, &size, sizeof(size)) < 0)
			return false;
		size = aif_elf64(d->file, size);
	}
	return size <= MAX_LINES;
}

static int unit_of(struct aif_dwarf *d, Dwarf_Off offset, Dwarf_Die *die, const struct unit **ret)
{
	size_t lines_n = 0, seen = 0;
	Dwarf_Lines *lines;
	struct unit *u;
	int r;

	for (size_t i = 0; i < d->walked_len; i++) {
		if (d->walked[i].die != offset)
			continue;
		*ret = &d->walked[i];
		return 0;
	}
	r = aif_grow(&d->walked, &d->walked_cap, d->walked_len + 1, sizeof(*d->walked));
	if (r < 0)
		return r;
	u = &d->walked[d->walked_len++];
	*u = (struct unit){.die = offset};
	u->has_lines = may_read_lines(d, die);
	r = walk_unit(d->file->effort, die, &u->functions, &seen);
	if (r < 0)
		return r;
	if (u->has_lines && dwarf_getsrclines(die, &lines, &lines_n) != 0)
		lines_n = 0;
	d->cached += lines_n * LINE_BYTES + seen * WALK_BYTES +
		     u->functions.cap * sizeof(*u->functions.r);
	*ret = u;
	return 0;
}

/* A name put together from its scopes goes to d->names, which moves: its offset + 1 is kept in
 * *ret_made until all levels are known. */
static void name_of(struct aif_dwarf *d, Dwarf_Die *die, struct aif_dwarf_level *level,
		    size_t *ret_made)
{
	Dwarf_Attribute attr;
	const char *name = NULL;
	size_t at = d->names.len;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	level->linkage = name != NULL;
	level->name = name ? name : dwarf_diename(die);
	*ret_made = 0;
	if (!name && aif_dwarf_scoped_name(die, &d->names)) {
		aif_buf_putc(&d->names, 0);
		*ret_made = at + 1;
	}
}

/* Makes a relative path absolute, in d->names as name_of() does. */
static void file_of(struct aif_dwarf *d, Dwarf_Die *unit, const struct aif_dwarf_level *level,
		    size_t *ret_made)
{
	size_t at = d->names.len;

	if (level->file && aif_dwarf_file_put(unit, level->file, &d->names)) {
		aif_buf_putc(&d->names, 0);
		*ret_made = at + 1;
	}
}

static void call_site(Dwarf_Die *unit, bool has_lines, Dwarf_Die *inlined,
		      struct aif_dwarf_level *caller)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word value;
	size_t n;

	caller->file = NULL;
	caller->line = 0;
	if (has_lines && dwarf_attr(inlined, DW_AT_call_file, &attr) &&
	    dwarf_formudata(&attr, &value) == 0 && dwarf_getsrcfiles(unit, &files, &n) == 0 &&
	    value < n)
		caller->file = dwarf_filesrc(files, value, NULL, NULL);
	if (dwarf_attr(inlined, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &value) == 0 &&
	    value <= UINT32_MAX)
		caller->line = (uint32_t)value;
}

static void line_of(Dwarf_Die *unit, uint64_t address, struct aif_dwarf_level *level)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number;

	if (!line)
		return;
	level->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &number) == 0 && number > 0)
		level->line = (uint32_t)number;
}

/* Steps from a function or block to its child that holds the address. */
static bool step_in(struct aif_effort *effort, Dwarf_Die *die, uint64_t address, size_t *budget)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0 || dwarf_dieoffset(&child) <= dwarf_dieoffset(die))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    dwarf_haspc(&child, address) > 0) {
			*die = child;
			return true;
		}
	} while (*budget && (*budget)-- && !aif_effort_spend(effort, ENTRY_COST) &&
		 next_sibling(&child));
	return false;
}

int aif_dwarf_resolve(struct aif_dwarf *d, uint64_t address, struct aif_dwarf_level *ret,
		      unsigned max)
{
	const struct range *in_unit = ranges_find(&d->units, address), *function;
	size_t budget = MAX_WALK, made[AIF_DWARF_MAX_LEVELS] = {0},
	       made_files[AIF_DWARF_MAX_LEVELS] = {0};
	const struct unit *u;
	Dwarf_Die unit, die;
	unsigned n = 1;
	int r;

	max = AIF_MIN(max, AIF_DWARF_MAX_LEVELS);
	if (!in_unit || !max)
		return 0;
	aif_buf_clear(&d->names);
	if (!d->dwarf) {
		r = open_handle(d);
		if (r < 0)
			return r;
	}
	if (!dwarf_offdie(d->dwarf, in_unit->die, &unit))
		return 0;
	r = unit_of(d, in_unit->die, &unit, &u);
	if (r < 0)
		return r;
	ret[0] = (struct aif_dwarf_level){0};
	function = ranges_find(&u->functions, address);
	if (function && dwarf_offdie(d->dwarf, function->die, &die)) {
		name_of(d, &die, &ret[0], &made[0]);
		for (size_t depth = 0;
		     depth < MAX_DEPTH && step_in(d->file->effort, &die, address, &budget);
		     depth++) {
			if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
				continue;
			if (n < max) {
				call_site(&unit, u->has_lines, &die, &ret[n - 1]);
				ret[n++] = (struct aif_dwarf_level){0};
			}
			name_of(d, &die, &ret[n - 1], &made[n - 1]);
		}
	}
	if (u->has_lines)
		line_of(&unit, address, &ret[n - 1]);
	for (unsigned i = 0; i < n; i++)
		file_of(d, &unit, &ret[i], &made_files[i]);
	for (unsigned i = 0; i < n && !d->names.failed; i++) {
		if (made[i])
			ret[i].name = (const char *)d->names.data + made[i] - 1;
		if (made_files[i])
			ret[i].file = (const char *)d->names.data + made_files[i] - 1;
	}
	return function || ret[0].line ? (int)n : 0;
}
