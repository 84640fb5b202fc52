/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_stack.h"

#include "unwind/peek.h"

#include <string.h>

/* Go's own limit of a stack on 64-bit machines is 1 GB. */
#define STACK_MAX (UINT64_C(1) << 30)

/* Takes the bytes if they are next. */
static bool take(struct aif_span *code, const uint8_t *bytes, size_t n)
{
	if ((size_t)(code->hi - code->lo) < n || memcmp(code->lo, bytes, n) != 0)
		return false;
	code->lo += n;
	return true;
}
#define TAKE(code, ...)                                        \
	({                                                     \
		static const uint8_t bytes_[] = {__VA_ARGS__}; \
		take(code, bytes_, sizeof(bytes_));            \
	})

static bool skip(struct aif_span *code, size_t n)
{
	if ((size_t)(code->hi - code->lo) < n)
		return false;
	code->lo += n;
	return true;
}

/* Takes the offset of an operand relative to rsp: one byte, or none where it is 0. */
static bool take_offset(struct aif_span *code, uint8_t opcode, uint8_t modrm, uint8_t *ret)
{
	const uint8_t *at = code->lo;

	if (code->hi - at < 5 || at[0] != 0x48 || at[1] != opcode || at[3] != 0x24)
		return false;
	if (at[2] == modrm) { /* no displacement */
		*ret = 0;
		return skip(code, 4);
	}
	if (at[2] != (modrm | 0x40) || at[4] >= 0x80 || at[4] % 8)
		return false;
	*ret = at[4];
	return skip(code, 5);
}

bool aif_go_switch(struct aif_span code, struct aif_go_switch *ret)
{
	struct aif_go_switch found;

	/* Code that is independent of its position begins with "mov TLS offset, %rcx". */
	if (TAKE(&code, 0x48, 0x8b, 0x0d) || TAKE(&code, 0x48, 0xc7, 0xc1))
		if (!skip(&code, 4))
			return false;
	if (!take_offset(&code, 0x8b, 0x3c, &found.g_at) || !TAKE(&code, 0x48, 0x8b, 0x77, 0x08) ||
	    !take_offset(&code, 0x2b, 0x34, &found.depth_at))
		return false;
	if (TAKE(&code, 0x64, 0x48, 0x89, 0x3c, 0x25)) {
		if (!skip(&code, 4))
			return false;
	} else if (!TAKE(&code, 0x64, 0x48, 0x89, 0x39)) {
		return false;
	}
	if (!TAKE(&code, 0x48, 0x89, 0xf4, 0x89, 0x44, 0x24, 0x18, 0xc3))
		return false;
	*ret = found;
	return true;
}

bool aif_go_stack(uint64_t g, uint64_t depth, struct aif_go_stack *ret)
{
	struct aif_go_stack s;

	if (!g || g % 8)
		return false;
	s.lo = aif_peek(g);
	s.hi = aif_peek(g + 8);
	s.sp = s.hi - depth;
	if (!s.lo || s.lo % 8 || s.hi % 8 || s.hi <= s.lo || s.hi - s.lo > STACK_MAX || depth % 8 ||
	    depth < 16 || depth > s.hi - s.lo)
		return false;
	*ret = s;
	return true;
}

bool aif_go_is_first(struct aif_span code, uint64_t pc)
{
	uint64_t lo = (uint64_t)(uintptr_t)code.lo, hi = (uint64_t)(uintptr_t)code.hi;
	const uint8_t *at;

	if (pc <= lo || pc >= hi || hi - pc < 6)
		return false;
	at = code.lo + (pc - lo);
	return at[-1] == 0x90 && at[0] == 0xe8 && at[5] == 0x90; /* nop; call goexit1; nop */
}
