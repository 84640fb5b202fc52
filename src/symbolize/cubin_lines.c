/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cubin_lines.h"

#include "symbolize/line_cursor.h"
#include "symbolize/cubin_line_header.h"
#include "base/buf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/*
 * NVIDIA's line tables are DWARF with two particulars:
 *
 * - Addresses are 0 in the file. Each function has a sequence of its own, whose DW_LNE_set_address has a
 *   relocation in .rela.debug_line (or .rel.debug_line) to the function's symbol: without it one cannot
 *   tell whose it is.
 *
 * - Inlining is in the line program. The extended opcode 0x90, before a row, has two numbers: `context`,
 *   the row of the same sequence (counted from 1) that the inlined function was called at, and where in
 *   .debug_str the inlined function's name is. So rows form a tree, and a place's chain of functions is
 *   the way from its row to the root:
 *
 *	row 6   line 44  context 0              kernel, line 44
 *	row 7   line 20  context 6  "middle"      called at row 6: middle, line 20
 *	row 8   line 13  context 7  "inner"         called at row 7: inner, line 13
 *
 *   Several rows may have one address; the last of them is the innermost and holds.
 */

enum {
	STANDARD_COPY = 1,
	STANDARD_ADVANCE_PC,
	STANDARD_ADVANCE_LINE,
	STANDARD_SET_FILE,
	STANDARD_SET_BASIC_BLOCK = 7,
	STANDARD_CONST_ADD_PC = 8,
	STANDARD_FIXED_ADVANCE_PC,
	EXTENDED_END_SEQUENCE = 1,
	EXTENDED_SET_ADDRESS,
	EXTENDED_INLINED_CALL = 0x90,
	MAX_ROWS = 8 << 20, /* 160 MB; a cubin of 10 MB has half a million */
	MAX_UNITS = 4096,   /* linked cubins have one */
	MAX_NAME = 64 * 1024,
};

struct row {
	uint32_t address; /* from the sequence's beginning */
	uint32_t file, line;
	uint32_t context; /* 0 or the row that calls, from 1 */
	uint32_t name;    /* offset in .debug_str, if there is a context */
};

struct sequence {
	uint32_t section;
	uint32_t rows_len;
	uint64_t start, end; /* addresses in the section */
	size_t rows;         /* the first */
	size_t unit;
	/* Opcodes between the address and the end, in .debug_line. */
	uint32_t opcodes, opcodes_size;
};

struct relocation {
	uint64_t offset;
	uint32_t symbol;
	bool has_addend;
	uint64_t addend;
};

struct aif_cubin_lines {
	const struct aif_cubin *cubin;
	const struct aif_device_section *lines, *names;
	struct aif_line_header *units;
	size_t units_len, units_cap;
	struct row *rows;
	size_t rows_len, rows_cap;
	struct sequence *sequences; /* sorted by section and start */
	size_t sequences_len, sequences_cap;
	struct relocation *relocations; /* sorted by offset */
	size_t relocations_len;
	struct aif_buf text; /* text of the latest answer */
};

/* ---- reading ---- */

static int by_offset(const void *pa, const void *pb)
{
	const struct relocation *a = pa, *b = pb;

	return AIF_ORDER(a->offset, b->offset);
}

/* With an addend, or (ptxas writes both) with the addend where the address will be. */
static int read_relocations(struct aif_cubin_lines *l)
{
	const struct aif_device_section *s =
		aif_device_elf_section(&l->cubin->elf, ".rela.debug_line");
	size_t size = sizeof(Elf64_Rela), n;
	struct line_cursor p;

	if (!s) {
		s = aif_device_elf_section(&l->cubin->elf, ".rel.debug_line");
		size = sizeof(Elf64_Rel);
	}
	if (!s || s->size < size)
		return 0;
	n = s->size / size;
	l->relocations = calloc(n, sizeof(*l->relocations));
	if (!l->relocations)
		return -ENOMEM;
	p = line_cursor(s->bytes, s->size);
	for (size_t i = 0; i < n; i++) {
		struct relocation *r = &l->relocations[i];

		r->offset = line_u64(&p);
		r->symbol = (uint32_t)(line_u64(&p) >> 32);
		r->has_addend = size == sizeof(Elf64_Rela);
		if (r->has_addend)
			r->addend = line_u64(&p);
	}
	l->relocations_len = n;
	qsort(l->relocations, n, sizeof(*l->relocations), by_offset);
	return 0;
}

/* The machine of DWARF's line programs, and the sequence that it is in. */
struct program {
	struct aif_cubin_lines *l;
	const struct aif_line_header *h;
	size_t unit;
	struct line_cursor p;
	/* registers */
	uint64_t address;
	uint32_t file, line, context, name;
	/* the sequence; without a relocation it belongs to nothing and is dropped */
	bool placed;
	uint32_t section;
	uint64_t base, lowest_next;
	size_t first_row;
	bool backwards;
	const uint8_t *opcodes; /* after the only address; NULL: there is not one */
	bool has_address;
};

static void begin_sequence(struct program *m)
{
	m->address = m->base = m->lowest_next = 0;
	m->file = m->line = 1;
	m->context = m->name = 0;
	m->placed = m->backwards = m->has_address = false;
	m->opcodes = NULL;
	m->first_row = m->l->rows_len;
}

static void set_address(struct program *m, uint64_t operand, uint64_t offset)
{
	const struct relocation key = {.offset = offset}, *r;
	const struct aif_cubin_lines *l = m->l;
	uint32_t section;
	uint64_t value;

	m->address = operand;
	r = l->relocations_len
		    ? bsearch(&key, l->relocations, l->relocations_len, sizeof(key), by_offset)
		    : NULL;
	if (!r || !aif_device_elf_symbol(&l->cubin->elf, r->symbol, &section, &value))
		return;
	m->address = value + (r->has_addend ? r->addend : operand);
	if (m->placed && section != m->section) {
		m->backwards = true; /* one sequence in two sections is not to be believed */
		return;
	}
	if (!m->placed)
		m->base = m->address;
	m->placed = true;
	m->section = section;
}

static int add_row(struct program *m)
{
	struct aif_cubin_lines *l = m->l;
	uint64_t address = m->address - m->base;
	int r;

	if (!m->placed)
		return 0;
	if (m->address < m->base || address < m->lowest_next || address > UINT32_MAX)
		m->backwards = true; /* could not be searched, and no compiler does it */
	if (m->backwards || l->rows_len >= MAX_ROWS)
		return 0;
	r = aif_grow(&l->rows, &l->rows_cap, l->rows_len + 1, sizeof(*l->rows));
	if (r < 0)
		return r;
	m->lowest_next = address;
	l->rows[l->rows_len++] =
		(struct row){(uint32_t)address, m->file, m->line, m->context, m->name};
	return 0;
}

/* `op`: the opcode that ends the sequence. */
static int end_sequence(struct program *m, const uint8_t *op)
{
	struct aif_cubin_lines *l = m->l;
	size_t n = l->rows_len - m->first_row;
	struct sequence s = {.section = m->section,
			     .rows_len = (uint32_t)n,
			     .start = m->base,
			     .end = m->address,
			     .rows = m->first_row,
			     .unit = m->unit};
	int r = 0;

	if (m->opcodes && op - l->lines->bytes <= UINT32_MAX) {
		s.opcodes = (uint32_t)(m->opcodes - l->lines->bytes);
		s.opcodes_size = (uint32_t)(op - m->opcodes);
	}

	if (m->backwards || n == 0 || m->address < m->base ||
	    m->address - m->base < m->lowest_next) {
		l->rows_len = m->first_row;
	} else {
		r = aif_grow(&l->sequences, &l->sequences_cap, l->sequences_len + 1, sizeof(s));
		if (r == 0)
			l->sequences[l->sequences_len++] = s;
	}
	begin_sequence(m);
	return r;
}

/* `op`: where the opcode begins. */
static int run_extended(struct program *m, const uint8_t *op)
{
	uint64_t n = line_uleb(&m->p);
	struct line_cursor p = line_take(&m->p, n);
	uint64_t offset;

	switch (line_u8(&p)) {
	case EXTENDED_END_SEQUENCE:
		return end_sequence(m, op);
	case EXTENDED_SET_ADDRESS:
		offset = (uint64_t)(p.at - m->l->lines->bytes);
		set_address(m, line_unsigned(&p, n - 1), offset);
		m->opcodes = m->has_address ? NULL : m->p.at;
		m->has_address = true;
		break;
	case EXTENDED_INLINED_CALL:
		m->context = line_uleb32(&p);
		m->name = line_uleb32(&p);
		break;
	default: /* opcodes that no place's line depends on */
		break;
	}
	return 0;
}

static int run_standard(struct program *m, unsigned opcode)
{
	const struct aif_line_header *h = m->h;

	switch (opcode) {
	case STANDARD_COPY:
		return add_row(m);
	case STANDARD_ADVANCE_PC:
		m->address += line_uleb(&m->p) * h->min_instruction;
		break;
	case STANDARD_ADVANCE_LINE:
		m->line += (uint32_t)line_sleb(&m->p);
		break;
	case STANDARD_SET_FILE:
		m->file = line_uleb32(&m->p);
		break;
	case STANDARD_CONST_ADD_PC:
		m->address +=
			(uint64_t)((255 - h->opcode_base) / h->line_range) * h->min_instruction;
		break;
	case STANDARD_FIXED_ADVANCE_PC:
		m->address += line_u16(&m->p);
		break;
	default:
		for (unsigned i = 0; i < h->operands[opcode - 1]; i++)
			line_uleb(&m->p);
	}
	return 0;
}

static int run_program(struct aif_cubin_lines *l, size_t unit)
{
	const struct aif_line_header *h = &l->units[unit];
	struct program m = {.l = l, .h = h, .unit = unit, .p = h->program};
	int r = 0;

	begin_sequence(&m);
	while (r == 0 && !m.p.failed && m.p.at < m.p.end) {
		const uint8_t *op = m.p.at;
		unsigned opcode = line_u8(&m.p);

		if (opcode >= h->opcode_base) {
			opcode -= h->opcode_base;
			m.address += (uint64_t)(opcode / h->line_range) * h->min_instruction;
			m.line += (uint32_t)(h->line_base + (int)(opcode % h->line_range));
			r = add_row(&m);
		} else if (opcode == 0) {
			r = run_extended(&m, op);
		} else {
			r = run_standard(&m, opcode);
		}
	}
	return r;
}

static int by_place(const void *pa, const void *pb)
{
	const struct sequence *a = pa, *b = pb;

	return AIF_ORDER(a->section, b->section) ?: AIF_ORDER(a->start, b->start)
	       ?: AIF_ORDER(a->rows, b->rows);
}

static int read_units(struct aif_cubin_lines *l)
{
	struct line_cursor all = line_cursor(l->lines->bytes, l->lines->size);
	struct aif_line_header h;
	int r = 0;

	while (r == 0 && !all.failed && all.at < all.end && l->units_len < MAX_UNITS) {
		r = aif_grow(&l->units, &l->units_cap, l->units_len + 1, sizeof(h));
		if (r < 0)
			break;
		r = aif_line_header_read(&h, l->cubin, &all);
		if (r == 0) {
			l->units[l->units_len++] = h;
			r = run_program(l, l->units_len - 1);
		} else if (r == -EBADMSG) {
			r = 0; /* goes on: others may be sound */
		}
	}
	return r;
}

int aif_cubin_lines_new(const struct aif_cubin *c, struct aif_cubin_lines **ret)
{
	const struct aif_device_section *lines = aif_device_elf_section(&c->elf, ".debug_line");
	struct aif_cubin_lines *l;
	int r;

	if (!lines || lines->size == 0)
		return -ENODATA;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->cubin = c;
	l->lines = lines;
	l->names = aif_device_elf_section(&c->elf, ".debug_str");
	r = read_relocations(l);
	if (r == 0)
		r = read_units(l);
	if (r == 0 && l->sequences_len == 0)
		r = -ENODATA;
	if (r < 0) {
		aif_cubin_lines_free(l);
		return r;
	}
	qsort(l->sequences, l->sequences_len, sizeof(*l->sequences), by_place);
	*ret = l;
	return 0;
}

void aif_cubin_lines_free(struct aif_cubin_lines *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->units_len; i++)
		aif_line_header_finish(&l->units[i]);
	free(l->units);
	free(l->rows);
	free(l->sequences);
	free(l->relocations);
	aif_buf_finish(&l->text);
	free(l);
}

/* ---- asking ---- */

static const struct sequence *find_sequence(const struct aif_cubin_lines *l, uint32_t section,
					    uint64_t place)
{
	size_t from = AIF_BISECT(
		mid, 0, l->sequences_len,
		l->sequences[mid].section < section ||
			(l->sequences[mid].section == section && l->sequences[mid].start <= place));
	const struct sequence *s = from ? &l->sequences[from - 1] : NULL;

	return s && s->section == section && place < s->end ? s : NULL;
}

/* The last row at or before the address; rows are in order of address. NULL: before the first. */
static const struct row *find_row(const struct row *rows, size_t n, uint64_t address)
{
	size_t from = AIF_BISECT(mid, 0, n, rows[mid].address <= address);

	return from ? &rows[from - 1] : NULL;
}

/* Rows from the innermost outwards. A row is called at an earlier one: so there are no circles. */
static unsigned find_chain(const struct row *rows, const struct row *row,
			   const struct row *chain[AIF_DEVICE_MAX_LEVELS])
{
	unsigned n = 0;

	while (n < AIF_DEVICE_MAX_LEVELS) {
		chain[n++] = row;
		if (row->context == 0 || row->context > (size_t)(row - rows))
			break;
		row = &rows[row->context - 1];
	}
	return n;
}

/* The terminated text at `offset` of .debug_str, appended. Its place in `text`, or SIZE_MAX. */
static size_t put_name(struct aif_cubin_lines *l, uint32_t offset)
{
	size_t start = l->text.len, left;
	const char *name;

	if (!l->names || offset >= l->names->size)
		return SIZE_MAX;
	name = (const char *)l->names->bytes + offset;
	left = AIF_MIN(l->names->size - offset, (size_t)MAX_NAME);
	if (!memchr(name, 0, left) || !name[0])
		return SIZE_MAX;
	aif_buf_append(&l->text, name, strlen(name) + 1);
	return start;
}

static size_t put_function(struct aif_cubin_lines *l, uint32_t symbol, uint64_t pc)
{
	const struct aif_device_function *f = aif_device_elf_find(&l->cubin->elf, symbol, pc, NULL);
	size_t start = l->text.len;

	if (!f || !f->name_len)
		return SIZE_MAX;
	aif_buf_append(&l->text, f->name, AIF_MIN(f->name_len, (uint32_t)MAX_NAME));
	aif_buf_putc(&l->text, 0);
	return start;
}

static size_t put_file(struct aif_cubin_lines *l, size_t unit, uint32_t file)
{
	size_t start = l->text.len;

	if (!aif_line_header_file(&l->units[unit], file, &l->text))
		return SIZE_MAX;
	aif_buf_putc(&l->text, 0);
	return start;
}

int aif_cubin_lines_resolve(struct aif_cubin_lines *l, uint32_t symbol, uint64_t pc,
			    struct aif_device_level *ret, unsigned max)
{
	const struct aif_device_function *outer = aif_device_elf_by_symbol(&l->cubin->elf, symbol);
	const struct row *chain[AIF_DEVICE_MAX_LEVELS], *row, *rows;
	size_t names[AIF_DEVICE_MAX_LEVELS], files[AIF_DEVICE_MAX_LEVELS];
	const struct sequence *s;
	unsigned n, kept;
	uint64_t place;

	if (!outer || pc >= outer->size || max == 0)
		return 0;
	place = outer->start + pc;
	s = find_sequence(l, outer->section, place);
	if (!s)
		return 0;
	rows = &l->rows[s->rows];
	row = find_row(rows, s->rows_len, place - s->start);
	if (!row)
		return 0;
	n = find_chain(rows, row, chain);
	kept = AIF_MIN(n, max);
	aif_buf_clear(&l->text);
	for (unsigned i = 0; i < kept; i++) {
		/* outermost first; the innermost keeps its place when others are left out */
		const struct row *at = chain[i == kept - 1 ? 0 : n - 1 - i];

		names[i] = at->context ? put_name(l, at->name) : put_function(l, symbol, pc);
		files[i] = put_file(l, s->unit, at->file);
		ret[i].line = at->line;
	}
	if (aif_buf_failed(&l->text)) {
		aif_buf_finish(&l->text);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < kept; i++) {
		const char *text = (const char *)l->text.data;

		ret[i].name = names[i] == SIZE_MAX ? NULL : text + names[i];
		ret[i].file = files[i] == SIZE_MAX ? NULL : text + files[i];
	}
	return (int)kept;
}

/* ---- cutting ---- */

bool aif_cubin_lines_next(const struct aif_cubin_lines *l, const struct aif_device_function *of,
			  size_t *at, uint64_t *ret_offset, uint64_t *ret_size)
{
	for (; *at < l->sequences_len; ++*at) {
		const struct sequence *s = &l->sequences[*at];
		const struct aif_line_header *h = &l->units[s->unit];

		if (!s->opcodes_size || h->opcode_base <= STANDARD_SET_BASIC_BLOCK ||
		    h->operands[STANDARD_SET_BASIC_BLOCK - 1] != 0)
			continue;
		if (of && (s->section != of->section || s->start < of->start ||
			   s->start - of->start >= of->size))
			continue;
		*ret_offset = s->opcodes;
		*ret_size = s->opcodes_size;
		++*at;
		return true;
	}
	return false;
}

void aif_cubin_lines_blank(const struct aif_cubin_lines *l, uint8_t *lines)
{
	uint64_t offset, size;
	size_t at = 0;

	while (aif_cubin_lines_next(l, NULL, &at, &offset, &size))
		memset(lines + offset, STANDARD_SET_BASIC_BLOCK, size);
}
