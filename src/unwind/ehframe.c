/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/ehframe.h"

#include "unwind/cfi.h"

#include <errno.h>
#include <string.h>

/*
 * Reading .eh_frame: one function, one row
 * ========================================
 *
 * Compilers describe, for each instruction, where the caller's registers are, so that C++ can
 * throw. On x86-64 all code has this, C too, and it survives strip, so it is what makes stacks
 * possible on stock binaries without frame pointers. It comes in two pieces:
 *
 *     .eh_frame_hdr   version, encodings, -> .eh_frame, sorted pairs (function start, -> FDE)
 *     .eh_frame       CIE FDE FDE FDE CIE FDE ... 0
 *
 * An FDE (frame description entry) covers one function: its range, and a small program. A CIE
 * (common information entry) holds what FDEs share: how pointers are encoded, factors, and the
 * program's first instructions. Running the program from the function's start up to the wanted pc
 * yields the rule for each register there. We follow three of them only: CFA (the frame's upper
 * end), rbp, and the return address, because the CFA of all but exotic code is computed from rsp or
 * rbp. (The rule of rbx is asked for where the loader binds a function: unwind.c.)
 *
 * No table is built. The header is a sorted index already, and one look-up (binary search, then one
 * FDE interpreted) costs 0.2 to 0.8 us, once per distinct pc: a PyTorch process needed 257 of them.
 * A table of all rows would cost 5 to 11 MB per big library and process.
 *
 * What a row can hold covers 98.3 to 100 % of the rows of libc, libstdc++, python, libLLVM,
 * libtorch and CUDA's libraries. The special shapes, each recognised byte for byte:
 *
 *   - PLT stubs: an expression that compares the low bits of rip ("has the index been pushed?");
 *   - functions with over-aligned locals: the CFA was saved in the frame, `*(rbp - 8)`;
 *   - the signal return trampoline: all registers are in the ucontext above rsp;
 *   - outermost frames (_start, clone): the return address is declared undefined.
 *
 * Anything else is BAD with a reason and never guessed at: mostly the CFA in r10, for the few
 * instructions in which an over-aligned function sets up or tears down its frame.
 *
 * Trust: the tables are the target's and may be anything. A reader (ehread.h) never moves past its
 * end; an FDE must lie in .eh_frame, a CIE too, and not after its FDE; programs only move forward;
 * the depth of remembered states is bounded. So the cost is bounded by the FDE's own length.
 */

/* A .eh_frame without a sorted table is walked from its start at each look-up, up to here: about
 * 1,500 functions, some 10 us. Linkers always write the table; those that do not are embedded
 * toolchains with small programs. */
#define MAX_LINEAR_BYTES (64 * 1024)

struct fde {
	struct aif_cfi_cie cie;
	uint64_t start, end; /* of the function */
	struct aif_eh_reader program;
};

static bool parse_augmentation(struct aif_eh_reader *r, const char *letters, struct aif_cfi_cie *c)
{
	const uint8_t *end;
	uint64_t len;

	if (letters[0] == '\0')
		return true;
	if (letters[0] != 'z') /* the data's length is unknown: compilers of the last century */
		return false;
	c->has_augmentation = true;
	len = aif_eh_uleb(r);
	if (aif_eh_left(r) < len)
		return false;
	end = r->p + len;
	for (const char *a = letters + 1; *a; a++) {
		switch (*a) {
		case 'R':
			c->pointer_enc = (uint8_t)aif_eh_fixed(r, 1);
			break;
		case 'L':
			aif_eh_fixed(r, 1);
			break;
		case 'P': {
			uint8_t enc = (uint8_t)aif_eh_fixed(r, 1);

			/* Only to step over it, so neither base nor indirection matters. */
			aif_eh_pointer(r, enc & 0x0f, NULL);
			break;
		}
		case 'S':
			c->signal_frame = true;
			break;
		case 'B': /* which key signs return addresses; frames are tagged: nothing to us */
		case 'G':
			if (!AIF_ARCH_LINK)
				return false;
			break;
		default:
			return false;
		}
	}
	if (r->failed || r->p > end)
		return false;
	r->p = end;
	return true;
}

/* Takes the entry at p: what follows its length. Extended (64-bit) lengths are refused: readers
 * disagree on their layout in .eh_frame, and no linker writes them. */
static bool open_entry(const uint8_t *p, const uint8_t *limit, struct aif_eh_reader *ret)
{
	struct aif_eh_reader r = {p, limit, false};
	uint32_t len = (uint32_t)aif_eh_fixed(&r, 4);

	if (r.failed || len == 0 || len >= 0xfffffff0 || aif_eh_left(&r) < len)
		return false;
	r.end = r.p + len;
	*ret = r;
	return true;
}

static bool parse_cie(const uint8_t *p, const uint8_t *limit, struct aif_cfi_cie *c)
{
	struct aif_eh_reader r;
	const char *letters;
	uint64_t version, ra;

	memset(c, 0, sizeof(*c));
	if (!open_entry(p, limit, &r) || aif_eh_fixed(&r, 4) != 0 || r.failed)
		return false;
	version = aif_eh_fixed(&r, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = (const char *)r.p;
	while (r.p < r.end && *r.p)
		r.p++;
	aif_eh_skip(&r, 1);
	if (r.failed)
		return false;
	/* address size and segment size */
	if (version == 4 && (aif_eh_fixed(&r, 1) != 8 || aif_eh_fixed(&r, 1) != 0))
		return false;
	c->code_factor = aif_eh_uleb(&r);
	c->data_factor = aif_eh_sleb(&r);
	ra = version == 1 ? aif_eh_fixed(&r, 1) : aif_eh_uleb(&r);
	if (r.failed || ra != AIF_CFI_REG_RA || !parse_augmentation(&r, letters, c))
		return false;
	c->program = r;
	return true;
}

/* Parses what follows an FDE's pointer to its CIE, which is in f. The bytes were copied from
 * `moved` bytes further on. */
static bool parse_function(struct aif_eh_reader r, uint64_t moved, struct fde *f)
{
	const uint8_t enc = f->cie.pointer_enc;

	f->start = aif_eh_pointer(&r, enc, NULL);
	if ((enc & 0xf0) == AIF_PE_PCREL)
		f->start += moved;
	f->end = f->start + aif_eh_pointer(&r, enc & 0x0f, NULL);
	if (f->cie.has_augmentation)
		aif_eh_skip(&r, aif_eh_uleb(&r));
	if (r.failed || f->end < f->start)
		return false;
	f->program = r;
	return true;
}

/* The FDE at p, which may be any address. */
static bool parse_fde(const struct aif_ehframe *e, const uint8_t *p, struct fde *f)
{
	struct aif_eh_reader r;
	const uint8_t *cie_at;
	uint64_t back;

	if (p < e->frames.lo || p >= e->frames.hi || !open_entry(p, e->frames.hi, &r))
		return false;
	cie_at = r.p;
	back = aif_eh_fixed(&r, 4);
	if (r.failed || back == 0 || back > (uint64_t)(cie_at - e->frames.lo))
		return false;
	return parse_cie(cie_at - back, e->frames.hi, &f->cie) && parse_function(r, 0, f);
}

/* ---- finding the FDE ---- */

static int32_t table_value(const struct aif_ehframe *e, size_t pair, size_t column)
{
	int32_t v;

	memcpy(&v, e->table + pair * 8 + column * 4, sizeof(v));
	return v;
}

/* Finds the function at pc. AIF_ROW_NONE: there is none; AIF_ROW_BAD: its entry is malformed. */
static enum aif_row_kind search_table(const struct aif_ehframe *e, uint64_t pc, struct fde *f)
{
	int64_t rel = (int64_t)(pc - (uint64_t)(uintptr_t)e->hdr);
	/* Finds the first that starts behind pc. */
	size_t lo = AIF_BISECT(mid, 0, e->table_len, table_value(e, mid, 0) <= rel);

	if (lo == 0)
		return AIF_ROW_NONE;
	/* Adds as integers: the sum may point anywhere, parse_fde() judges it. */
	if (!parse_fde(e,
		       (const uint8_t *)((uintptr_t)e->hdr +
					 (uintptr_t)(intptr_t)table_value(e, lo - 1, 1)),
		       f))
		return AIF_ROW_BAD;
	return pc < f->start || pc >= f->end ? AIF_ROW_NONE : AIF_ROW_KIND_COUNT;
}

static enum aif_row_kind search_linear(const struct aif_ehframe *e, uint64_t pc, struct fde *f)
{
	const uint8_t *p = e->frames.lo;
	struct aif_ehframe head = *e;
	struct aif_eh_reader entry;

	if ((size_t)(head.frames.hi - p) > MAX_LINEAR_BYTES)
		head.frames.hi = p + MAX_LINEAR_BYTES;
	while (open_entry(p, head.frames.hi, &entry)) {
		if (parse_fde(&head, p, f) && pc >= f->start && pc < f->end)
			return AIF_ROW_KIND_COUNT;
		p = entry.end;
	}
	return AIF_ROW_NONE;
}

static enum aif_row_kind search(const struct aif_ehframe *e, uint64_t pc, struct fde *f)
{
	return e->table ? search_table(e, pc, f) : search_linear(e, pc, f);
}

uint64_t aif_ehframe_row(const struct aif_ehframe *e, uint64_t pc)
{
	struct fde f;

	switch (search(e, pc, &f)) {
	case AIF_ROW_NONE:
		return aif_row_make(AIF_ROW_NONE, 0, 0, 0);
	case AIF_ROW_BAD:
		return aif_row_make(AIF_ROW_BAD, 0, AIF_ROW_BAD_TABLE, 0);
	default:
		return aif_cfi_row(&f.cie, f.program, f.start, pc);
	}
}

#if defined(__x86_64__)
int64_t aif_ehframe_bx(const struct aif_ehframe *e, uint64_t pc)
{
	struct fde f;

	return search(e, pc, &f) == AIF_ROW_KIND_COUNT ? aif_cfi_bx(&f.cie, f.program, f.start, pc)
						       : AIF_CFI_UNKNOWN;
}
#endif

static const struct aif_span *span_of(uint64_t at, const struct aif_span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (at >= (uint64_t)(uintptr_t)spans[i].lo && at < (uint64_t)(uintptr_t)spans[i].hi)
			return &spans[i];
	}
	return NULL;
}

int aif_ehframe_init(struct aif_ehframe *e, const uint8_t *hdr, size_t len,
		     const struct aif_span *spans, size_t n_spans)
{
	const struct aif_span *span = span_of((uint64_t)(uintptr_t)hdr, spans, n_spans);
	uint8_t frames_enc, count_enc, table_enc;
	struct aif_ehframe made = {.hdr = hdr};
	uint64_t frames, count;
	struct aif_eh_reader r;

	if (!span)
		return -EINVAL;
	r = (struct aif_eh_reader){hdr, hdr + AIF_MIN(len, (size_t)(span->hi - hdr)), false};
	if (aif_eh_fixed(&r, 1) != 1)
		return r.failed ? -EINVAL : -ENOTSUP;
	frames_enc = (uint8_t)aif_eh_fixed(&r, 1);
	count_enc = (uint8_t)aif_eh_fixed(&r, 1);
	table_enc = (uint8_t)aif_eh_fixed(&r, 1);
	if (!r.failed && frames_enc == AIF_PE_OMIT)
		return -ENOTSUP;
	frames = aif_eh_pointer(&r, frames_enc, hdr);
	if (r.failed)
		return -EINVAL;
	span = span_of(frames, spans, n_spans);
	if (!span)
		return -EINVAL;
	made.frames.lo = span->lo + (frames - (uint64_t)(uintptr_t)span->lo);
	made.frames.hi = span->hi;

	if (count_enc != AIF_PE_OMIT && table_enc == (AIF_PE_DATAREL | AIF_PE_SDATA4)) {
		count = aif_eh_pointer(&r, count_enc, hdr);
		if (r.failed || count > aif_eh_left(&r) / 8)
			return -EINVAL;
		made.table = r.p;
		made.table_len = count;
	}
	*e = made;
	return 0;
}

/* ---- copies ---- */

static uint32_t entry_len(const struct aif_eh_reader *r, const uint8_t *at)
{
	return (uint32_t)(r->end - at);
}

bool aif_ehframe_next(struct aif_span copy, uint64_t moved, uint32_t *at,
		      struct aif_ehframe_function *ret)
{
	struct aif_eh_reader r, cie;

	while (*at < (uint64_t)(copy.hi - copy.lo) && open_entry(copy.lo + *at, copy.hi, &r)) {
		const uint8_t *entry = copy.lo + *at, *pointer = r.p;
		uint64_t back = aif_eh_fixed(&r, 4);
		struct fde f;

		*at = (uint32_t)(r.end - copy.lo);
		if (r.failed || back == 0 || back > (uint64_t)(pointer - copy.lo) ||
		    !open_entry(pointer - back, copy.hi, &cie) ||
		    !parse_cie(pointer - back, copy.hi, &f.cie) || !parse_function(r, moved, &f))
			continue;
		*ret = (struct aif_ehframe_function){
			.start = f.start,
			.end = f.end,
			.fde = (uint32_t)(entry - copy.lo),
			.fde_len = entry_len(&r, entry),
			.cie = (uint32_t)(pointer - back - copy.lo),
			.cie_len = entry_len(&cie, pointer - back),
		};
		return true;
	}
	return false;
}

uint64_t aif_ehframe_row_of(struct aif_span cie, struct aif_span fde, uint64_t fde_at, uint64_t pc)
{
	struct aif_eh_reader r;
	struct fde f;

	if (!parse_cie(cie.lo, cie.hi, &f.cie) || !open_entry(fde.lo, fde.hi, &r))
		return aif_row_make(AIF_ROW_BAD, 0, AIF_ROW_BAD_TABLE, 0);
	aif_eh_fixed(&r, 4);
	if (!parse_function(r, fde_at - (uint64_t)(uintptr_t)fde.lo, &f))
		return aif_row_make(AIF_ROW_BAD, 0, AIF_ROW_BAD_TABLE, 0);
	if (pc < f.start || pc >= f.end)
		return aif_row_make(AIF_ROW_NONE, 0, 0, 0);
	f.cie.pointer_enc =
		AIF_PE_OMIT; /* of a copy: an address within the program would be wrong */
	return aif_cfi_row(&f.cie, f.program, f.start, pc);
}
