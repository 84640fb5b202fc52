/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cfi.h"

/*
 * Running call frame instructions for three registers: CFA, frame pointer (rbp, x29), return
 * address; and for rbx, which a caller's frame may be computed from. The program is a list of "from here on, register R is saved there" and "move on by N
 * bytes", so it is run from the function's start until it would pass the wanted pc; what holds then
 * is the row. (ehframe.c has the wider picture.)
 */

/* The instructions (DW_CFA_*). */
enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_ADVANCE_LOC8 = 0x1d,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	CFA_ADVANCE_LOC = 1, /* these three in the high two bits */
	CFA_OFFSET = 2,
	CFA_RESTORE = 3,
};

/* DWARF expression operators of the shapes that we know (DW_OP_*). */
enum { OP_DEREF = 0x06, OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70 };

/* Compilers nest remember_state once, hand-written assembly twice. */
#define MAX_REMEMBERED 8

enum rule_kind { RULE_SAME, RULE_AT_CFA, RULE_EXPRESSION, RULE_UNDEFINED, RULE_OTHER };

struct rule {
	enum rule_kind kind;
	int64_t off; /* AT_CFA */
	struct aif_eh_reader expr;
};

struct state {
	bool cfa_is_expr;
	uint64_t cfa_reg, cfa_off; /* the offset wraps as two's complement */
	struct aif_eh_reader cfa_expr;
	struct rule bp, ra;
#if defined(__x86_64__)
	struct rule bx;
#endif
};

static struct rule *rule_of(struct state *s, uint64_t reg)
{
	switch (reg) {
	case AIF_CFI_REG_BP:
		return &s->bp;
	case AIF_CFI_REG_RA:
		return &s->ra;
#if defined(__x86_64__)
	case AIF_CFI_REG_BX:
		return &s->bx;
#endif
	default:
		return NULL;
	}
}

static void set_rule(struct state *s, uint64_t reg, enum rule_kind kind, int64_t off)
{
	struct rule *rule = rule_of(s, reg);

	if (rule) {
		rule->kind = kind;
		rule->off = off;
	}
}

static void restore_rule(struct state *s, const struct state *initial, uint64_t reg)
{
	struct rule *rule = rule_of(s, reg);
	struct state from = *initial;

	if (rule)
		*rule = *rule_of(&from, reg);
}

static struct aif_eh_reader read_block(struct aif_eh_reader *r)
{
	struct aif_eh_reader block = {r->p, r->p, false};
	uint64_t len = aif_eh_uleb(r);

	block.p = r->p;
	aif_eh_skip(r, len);
	block.end = r->p;
	return block;
}

static void set_cfa_register(struct state *s, uint64_t reg)
{
	s->cfa_is_expr = false;
	s->cfa_reg = reg;
}

static int64_t scale(const struct aif_cfi_cie *c, uint64_t v)
{
	return (int64_t)(v * (uint64_t)c->data_factor);
}

/* Runs r's program, which starts at *loc, until it passes pc. `initial` is what restore goes
 * back to (NULL in a CIE). Returns false if the program is malformed. */
static bool run(struct aif_eh_reader r, const struct aif_cfi_cie *c, const struct state *initial,
		uint64_t loc, uint64_t pc, struct state *s)
{
	static const struct state nothing;
	struct state remembered[MAX_REMEMBERED];
	unsigned n_remembered = 0;

	if (!initial)
		initial = &nothing;
	while (r.p < r.end) {
		uint8_t op = *r.p++;
		uint64_t low = op & 0x3f, next = loc, reg;

		switch (op >> 6) {
		case CFA_ADVANCE_LOC:
			next = loc + low * c->code_factor;
			goto advance;
		case CFA_OFFSET:
			set_rule(s, low, RULE_AT_CFA, scale(c, aif_eh_uleb(&r)));
			goto check;
		case CFA_RESTORE:
			restore_rule(s, initial, low);
			continue;
		}
		switch (op) {
		case CFA_NOP:
			break;
		case CFA_SET_LOC:
			next = aif_eh_pointer(&r, c->pointer_enc, NULL);
			goto advance;
		case CFA_ADVANCE_LOC1:
			next = loc + aif_eh_fixed(&r, 1) * c->code_factor;
			goto advance;
		case CFA_ADVANCE_LOC2:
			next = loc + aif_eh_fixed(&r, 2) * c->code_factor;
			goto advance;
		case CFA_ADVANCE_LOC4:
			next = loc + aif_eh_fixed(&r, 4) * c->code_factor;
			goto advance;
		case CFA_ADVANCE_LOC8:
			next = loc + aif_eh_fixed(&r, 8) * c->code_factor;
			goto advance;
		case CFA_OFFSET_EXTENDED:
			reg = aif_eh_uleb(&r);
			set_rule(s, reg, RULE_AT_CFA, scale(c, aif_eh_uleb(&r)));
			break;
		case CFA_OFFSET_EXTENDED_SF:
			reg = aif_eh_uleb(&r);
			set_rule(s, reg, RULE_AT_CFA, scale(c, (uint64_t)aif_eh_sleb(&r)));
			break;
		case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
			reg = aif_eh_uleb(&r);
			set_rule(s, reg, RULE_AT_CFA, scale(c, -aif_eh_uleb(&r)));
			break;
		case CFA_RESTORE_EXTENDED:
			restore_rule(s, initial, aif_eh_uleb(&r));
			break;
		case CFA_UNDEFINED:
			set_rule(s, aif_eh_uleb(&r), RULE_UNDEFINED, 0);
			break;
		case CFA_SAME_VALUE:
			set_rule(s, aif_eh_uleb(&r), RULE_SAME, 0);
			break;
		case CFA_REGISTER:
		case CFA_VAL_OFFSET:
			set_rule(s, aif_eh_uleb(&r), RULE_OTHER, 0);
			aif_eh_uleb(&r);
			break;
		case CFA_VAL_OFFSET_SF:
			set_rule(s, aif_eh_uleb(&r), RULE_OTHER, 0);
			aif_eh_sleb(&r);
			break;
		case CFA_VAL_EXPRESSION:
			set_rule(s, aif_eh_uleb(&r), RULE_OTHER, 0);
			read_block(&r);
			break;
		case CFA_EXPRESSION: {
			struct rule *rule = rule_of(s, aif_eh_uleb(&r));
			struct aif_eh_reader block = read_block(&r);

			if (rule)
				*rule = (struct rule){RULE_EXPRESSION, 0, block};
			break;
		}
		case CFA_REMEMBER_STATE:
			if (n_remembered == MAX_REMEMBERED)
				return false;
			remembered[n_remembered++] = *s;
			break;
		case CFA_RESTORE_STATE: /* the CFA too, as compilers mean it */
			if (n_remembered == 0)
				return false;
			*s = remembered[--n_remembered];
			break;
		case CFA_DEF_CFA:
			set_cfa_register(s, aif_eh_uleb(&r));
			s->cfa_off = aif_eh_uleb(&r);
			break;
		case CFA_DEF_CFA_SF:
			set_cfa_register(s, aif_eh_uleb(&r));
			s->cfa_off = (uint64_t)scale(c, (uint64_t)aif_eh_sleb(&r));
			break;
		case CFA_DEF_CFA_REGISTER:
			set_cfa_register(s, aif_eh_uleb(&r));
			break;
		case CFA_DEF_CFA_OFFSET:
			s->cfa_off = aif_eh_uleb(&r);
			break;
		case CFA_DEF_CFA_OFFSET_SF:
			s->cfa_off = (uint64_t)scale(c, (uint64_t)aif_eh_sleb(&r));
			break;
		case CFA_DEF_CFA_EXPRESSION:
			s->cfa_is_expr = true;
			s->cfa_expr = read_block(&r);
			break;
		case CFA_GNU_ARGS_SIZE:
			aif_eh_uleb(&r);
			break;
		case CFA_AARCH64_NEGATE_RA_STATE: /* signed or not, we use what is left without */
		case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
			if (!AIF_ARCH_LINK)
				return false;
			break;
		default:
			return false;
		}
	check:
		if (r.failed)
			return false;
		continue;
	advance:
		if (r.failed || next < loc)
			return false;
		if (next > pc)
			return true;
		loc = next;
	}
	return true;
}

/* ---- from rules to a row ---- */

static uint64_t bad_row(enum aif_row_bad why)
{
	return aif_row_make(AIF_ROW_BAD, 0, (int16_t)why, 0);
}

#if defined(__x86_64__)

/* Is the expression `breg<reg> off`, followed by a deref if asked? */
static bool is_breg(struct aif_eh_reader x, unsigned reg, bool deref, int64_t *ret_off)
{
	int64_t off;

	if (aif_eh_fixed(&x, 1) != OP_BREG0 + reg)
		return false;
	off = aif_eh_sleb(&x);
	if (deref && aif_eh_fixed(&x, 1) != OP_DEREF)
		return false;
	if (x.failed || x.p != x.end)
		return false;
	*ret_off = off;
	return true;
}

/* The linker's expression for a lazy PLT: breg7(rsp) 8; breg16(rip) 0; lit15; and; lit N; ge; lit3;
 * shl; plus. From the stub's N-th byte on, the index has been pushed. */
static bool is_plt(struct aif_eh_reader x, int16_t *ret_n)
{
	static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
	static const uint8_t tail[] = {0x2a, 0x33, 0x24, 0x22};

	if (aif_eh_left(&x) != sizeof(head) + 1 + sizeof(tail) || memcmp(x.p, head, sizeof(head)) ||
	    memcmp(x.p + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	if (x.p[sizeof(head)] < OP_LIT0 || x.p[sizeof(head)] > OP_LIT31)
		return false;
	*ret_n = (int16_t)(x.p[sizeof(head)] - OP_LIT0);
	return true;
}

static uint64_t signal_row(const struct state *s)
{
	int64_t sp, bp, pc;

	if (!s->cfa_is_expr || !is_breg(s->cfa_expr, AIF_CFI_REG_SP, true, &sp) || sp < 0 ||
	    sp > INT32_MAX)
		return bad_row(AIF_ROW_BAD_CFA);
	if (s->bp.kind != RULE_EXPRESSION || !is_breg(s->bp.expr, AIF_CFI_REG_SP, false, &bp) ||
	    bp < 8 || bp % 8 || bp / 8 >= AIF_ROW_BP_AT_BP)
		return bad_row(AIF_ROW_BAD_BP);
	if (s->ra.kind != RULE_EXPRESSION || !is_breg(s->ra.expr, AIF_CFI_REG_SP, false, &pc) ||
	    pc < 0 || pc > INT16_MAX)
		return bad_row(AIF_ROW_BAD_RA);
	return aif_row_make(AIF_ROW_SIGNAL, (int8_t)(bp / 8), (int16_t)pc, (int32_t)sp);
}

static uint64_t row_of(const struct state *s, bool signal_frame)
{
	int64_t cfa_off = (int64_t)s->cfa_off, at;
	int16_t plt;
	int8_t bp;

	if (signal_frame)
		return signal_row(s);
	if (s->ra.kind == RULE_UNDEFINED)
		return aif_row_make(AIF_ROW_END, 0, 0, 0);
	if (s->ra.kind != RULE_AT_CFA || s->ra.off != -8)
		return bad_row(AIF_ROW_BAD_RA);

	switch (s->bp.kind) {
	case RULE_SAME:
		bp = 0;
		break;
	case RULE_AT_CFA:
		if (s->bp.off % 8 || s->bp.off == 0 || s->bp.off / 8 <= -AIF_ROW_BP_AT_BP ||
		    s->bp.off / 8 >= AIF_ROW_BP_AT_BP)
			return bad_row(AIF_ROW_BAD_BP);
		bp = (int8_t)(s->bp.off / 8);
		break;
	case RULE_EXPRESSION:
		if (!is_breg(s->bp.expr, AIF_CFI_REG_BP, false, &at) || at != 0)
			return bad_row(AIF_ROW_BAD_BP);
		bp = AIF_ROW_BP_AT_BP;
		break;
	default:
		return bad_row(AIF_ROW_BAD_BP);
	}

	if (!s->cfa_is_expr) {
		if (cfa_off < INT32_MIN || cfa_off > INT32_MAX)
			return bad_row(AIF_ROW_BAD_CFA);
		if (s->cfa_reg == AIF_CFI_REG_R10 || s->cfa_reg == AIF_CFI_REG_R11 ||
		    s->cfa_reg == AIF_CFI_REG_R13 || s->cfa_reg == AIF_CFI_REG_BX)
			return aif_row_make(AIF_ROW_REG, bp, (int16_t)s->cfa_reg, (int32_t)cfa_off);
		if (bp == AIF_ROW_BP_AT_BP) {
			/* gcc, at the `ret` of an over-aligned function: it forgot to say that
			 * rbp has been restored, which it has, as only the return address is
			 * left. */
			if (s->cfa_reg != AIF_CFI_REG_SP || cfa_off != 8)
				return bad_row(AIF_ROW_BAD_BP);
			bp = 0;
		}
		if (s->cfa_reg == AIF_CFI_REG_SP)
			return aif_row_make(AIF_ROW_RSP, bp, 0, (int32_t)cfa_off);
		if (s->cfa_reg == AIF_CFI_REG_BP)
			return aif_row_make(AIF_ROW_RBP, bp, 0, (int32_t)cfa_off);
		return bad_row(AIF_ROW_BAD_CFA);
	}
	if (is_plt(s->cfa_expr, &plt))
		return aif_row_make(AIF_ROW_PLT, bp, plt, 0);
	if (is_breg(s->cfa_expr, AIF_CFI_REG_BP, true, &at) && at >= INT16_MIN && at <= INT16_MAX)
		return aif_row_make(AIF_ROW_RBP_DEREF, bp, (int16_t)at, 0);
	if (is_breg(s->cfa_expr, AIF_CFI_REG_SP, true, &at) && at >= INT16_MIN && at <= INT16_MAX)
		return aif_row_make(AIF_ROW_RSP_DEREF, bp, (int16_t)at, 0);
	return bad_row(AIF_ROW_BAD_CFA);
}

#else /* aarch64 */

/* The kernel's trampoline is known by its instructions (stub.h). What it had as rules up to
 * Linux 5.7 leaves out the function that was interrupted. */
static uint64_t row_of(const struct state *s, bool signal_frame)
{
	int64_t cfa_off = (int64_t)s->cfa_off, ra = 0, bp = 0;
	enum aif_row_kind kind;

	if (s->ra.kind == RULE_UNDEFINED)
		return aif_row_make(AIF_ROW_END, 0, 0, 0);
	if (signal_frame || (s->ra.kind != RULE_SAME && s->ra.kind != RULE_AT_CFA))
		return bad_row(AIF_ROW_BAD_RA);
	if (s->cfa_is_expr || cfa_off < INT32_MIN || cfa_off > INT32_MAX)
		return bad_row(AIF_ROW_BAD_CFA); /* SVE registers saved: by their length */
	if (s->cfa_reg == AIF_CFI_REG_SP)
		kind = AIF_ROW_RSP;
	else if (s->cfa_reg == AIF_CFI_REG_BP)
		kind = AIF_ROW_RBP;
	else
		return bad_row(AIF_ROW_BAD_CFA);
	if (s->ra.kind == RULE_SAME) {
		if (kind != AIF_ROW_RSP)
			return bad_row(AIF_ROW_BAD_RA);
		kind = AIF_ROW_LR;
	} else {
		ra = s->ra.off;
		if (ra % 8 || ra >= 0 || ra < 8 * INT16_MIN)
			return bad_row(AIF_ROW_BAD_RA);
	}
	if (s->bp.kind == RULE_AT_CFA) {
		bp = s->bp.off - ra;
		if (bp % 8 || bp == 0 || bp / 8 <= -AIF_ROW_BP_AT_BP || bp / 8 >= AIF_ROW_BP_AT_BP)
			return bad_row(AIF_ROW_BAD_BP);
	} else if (s->bp.kind != RULE_SAME) {
		return bad_row(AIF_ROW_BAD_BP);
	}
	return aif_row_make(kind, (int8_t)(bp / 8), (int16_t)(ra / 8), (int32_t)cfa_off);
}

#endif

static bool state_at(const struct aif_cfi_cie *c, struct aif_eh_reader program, uint64_t start,
		     uint64_t pc, struct state *ret)
{
	struct state initial = {0};

	/* A CIE's program has no location of its own: it runs to its end. */
	if (!run(c->program, c, NULL, 0, UINT64_MAX, &initial))
		return false;
	*ret = initial;
	return run(program, c, &initial, start, pc, ret);
}

uint64_t aif_cfi_row(const struct aif_cfi_cie *c, struct aif_eh_reader program, uint64_t start,
		     uint64_t pc)
{
	struct state s;

	return state_at(c, program, start, pc, &s) ? row_of(&s, c->signal_frame)
						   : bad_row(AIF_ROW_BAD_TABLE);
}

#if defined(__x86_64__)
int64_t aif_cfi_bx(const struct aif_cfi_cie *c, struct aif_eh_reader program, uint64_t start,
		   uint64_t pc)
{
	struct state s;

	if (!state_at(c, program, start, pc, &s) || c->signal_frame)
		return AIF_CFI_UNKNOWN;
	if (s.bx.kind == RULE_SAME)
		return AIF_CFI_SAME;
	return s.bx.kind == RULE_AT_CFA && s.bx.off && s.bx.off % 8 == 0 ? s.bx.off
									 : AIF_CFI_UNKNOWN;
}
#endif
