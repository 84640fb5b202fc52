/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unwind/python_internal.h"

#include <errno.h>
#include <string.h>

/*
 * An interpreter's memory, made by hand for any layout: objects from the low end of a block, a C stack from
 * its high end. Frames are pushed as calls happen, outermost first.
 */

struct fake {
	uint8_t *mem;
	size_t size, used, stack; /* [0, used) objects, [stack, size) C stack */
	struct aif_python_layout l;
	uint64_t type_code, type_str, type_bytes;
	uint64_t interpreter, thread;
	uint64_t top, cframe;
};

enum { FAKE_STACK = 16384 };

static inline void put64(uint64_t at, uint16_t offset, uint64_t v)
{
	memcpy((void *)(uintptr_t)(at + offset), &v, sizeof(v));
}

static inline void put32(uint64_t at, uint16_t offset, uint32_t v)
{
	memcpy((void *)(uintptr_t)(at + offset), &v, sizeof(v));
}

static inline void put8(uint64_t at, uint16_t offset, uint8_t v)
{
	memcpy((void *)(uintptr_t)(at + offset), &v, sizeof(v));
}

/* Length in words of the description that 3.13 and 3.14 keep of their own layout. */
enum { FAKE_WORDS = 96 };

static inline void fake_describe(unsigned minor, uint64_t *word)
{
	/* at: thread state, frame, code, object, bytes, str; as offsetof() says for those versions */
	static const uint8_t at_13[] = {19, 28, 34, 44, 64, 67}, at_14[] = {22, 31, 39, 50, 74, 77};
	const uint8_t *at = minor == 13 ? at_13 : at_14;
	const uint64_t code = minor == 13 ? 200 : 208;

	memset(word, 0, FAKE_WORDS * sizeof(*word));
	memcpy(word, "xdebugpy", 8);
	word[1] = 0x03000000 | (uint64_t)minor << 16 | 0x0af0;
	memcpy(word + at[0], (uint64_t[]){432, 0, 8, 16, 72}, 40);
	memcpy(word + at[1], (uint64_t[]){88, 8, 0, 56, 72, minor == 13 ? 70 : 74}, 48);
	memcpy(word + at[2], (uint64_t[]){code + 8, 112, 120, 128, 136, 68, 52, 88, 104, code}, 80);
	memcpy(word + at[3], (uint64_t[]){16, 8}, 16);
	memcpy(word + at[4], (uint64_t[]){40, 16, 32}, 24);
	memcpy(word + at[5], (uint64_t[]){64, 32, 16, 40}, 32);
}

static inline bool fake_layout(unsigned minor, struct aif_python_layout *ret)
{
	uint64_t word[FAKE_WORDS];

	if (minor < 13)
		return aif_python_layout_known(minor, ret);
	fake_describe(minor, word);
	return aif_python_layout_described(minor, word, sizeof(word), ret) == 0;
}

static inline uint64_t fake_alloc(struct fake *f, size_t n)
{
	uint64_t at = (uint64_t)(uintptr_t)f->mem + f->used;

	f->used += (n + 15) & ~(size_t)15;
	if (f->used > f->size - FAKE_STACK)
		abort();
	memset((void *)(uintptr_t)at, 0, n);
	return at;
}

static inline uint64_t fake_on_stack(struct fake *f, size_t n)
{
	f->stack -= (n + 15) & ~(size_t)15;
	if (f->stack < f->size - FAKE_STACK)
		abort();
	memset(f->mem + f->stack, 0, n);
	return (uint64_t)(uintptr_t)f->mem + f->stack;
}

static inline uint64_t fake_object(struct fake *f, uint64_t type, uint64_t size, size_t bytes)
{
	uint64_t at = fake_alloc(f, bytes);

	put64(at, f->l.ob_refcnt, 1);
	put64(at, f->l.ob_type, type);
	put64(at, f->l.ob_size, size);
	return at;
}

static inline uint64_t fake_str(struct fake *f, const uint32_t *chars, size_t n, unsigned kind)
{
	bool ascii = true;
	uint64_t at, data;

	for (size_t i = 0; i < n; i++)
		ascii &= chars[i] < 128;
	ascii &= kind == 1;
	data = ascii ? f->l.str_ascii : f->l.str_compact;
	at = fake_object(f, f->type_str, n, data + (n + 1) * kind + 8);
	put32(at, f->l.str_state, kind << 2 | 1u << 5 | (unsigned)ascii << 6);
	for (size_t i = 0; i < n; i++)
		memcpy((void *)(uintptr_t)(at + data + i * kind), &chars[i], kind);
	return at;
}

static inline uint64_t fake_ascii(struct fake *f, const char *text)
{
	uint32_t chars[256];
	size_t n = strlen(text);

	if (n > AIF_ARRAY_LEN(chars))
		abort();
	for (size_t i = 0; i < n; i++)
		chars[i] = (uint8_t)text[i];
	return fake_str(f, chars, n, 1);
}

static inline uint64_t fake_bytes(struct fake *f, const void *data, size_t n)
{
	uint64_t at = fake_object(f, f->type_bytes, n, f->l.bytes_data + n + 1);

	if (n)
		memcpy((void *)(uintptr_t)(at + f->l.bytes_data), data, n);
	return at;
}

enum { FAKE_CODE_UNITS = 50 };

static inline uint64_t fake_code(struct fake *f, uint64_t name, uint64_t file, int32_t first_line,
				 uint64_t lines)
{
	static const uint8_t zeros[FAKE_CODE_UNITS * 2];
	bool inside = f->l.instr == AIF_PYTHON_INSTR_PTR;
	uint64_t at = fake_object(f, f->type_code, inside ? FAKE_CODE_UNITS : 0,
				  (inside ? f->l.co_code : 200) + FAKE_CODE_UNITS * 2);

	put64(at, f->l.co_name, name);
	put64(at, f->l.co_filename, file);
	put32(at, f->l.co_firstline, (uint32_t)first_line);
	put64(at, f->l.co_linetable, lines);
	if (inside)
		put64(at, f->l.co_qualname, name);
	else
		put64(at, f->l.co_code, fake_bytes(f, zeros, sizeof(zeros)));
	return at;
}

static inline uint64_t fake_named(struct fake *f, const char *name)
{
	return fake_code(f, fake_ascii(f, name), fake_ascii(f, "file.py"), 10,
			 fake_bytes(f, "\x06\x01\x08\x02", 4));
}

static inline uint64_t fake_cframe(struct fake *f)
{
	uint64_t at = fake_on_stack(f, 24);

	put64(at, f->l.cframe_previous, f->cframe);
	f->cframe = at;
	return at;
}

/* A call. `entered`: by C, so in an evaluation loop of its own (to 3.10 each call is). Returns the frame;
 * *ret_place is the loop's place on the stack, 0 where versions have none. */
static inline uint64_t fake_push(struct fake *f, uint64_t code, int32_t lasti, bool entered,
				 uint64_t *ret_place)
{
	const struct aif_python_layout *l = &f->l;
	uint64_t frame, place = 0;

	fake_on_stack(f, 64); /* the C frames between */
	if (l->kind == AIF_PYTHON_ENTRY_FRAME && entered) {
		place = fake_on_stack(f, AIF_PYTHON_FRAME_BYTES);
		put8(place, l->f_mark, l->owner_entry);
		put64(place, l->f_previous, f->top);
		f->top = place;
	} else if (l->ts_cframe != AIF_PYTHON_NO_FIELD && l->kind != AIF_PYTHON_ENTRY_FRAME &&
		   entered) {
		place = fake_cframe(f);
	}
	frame = fake_alloc(f, AIF_PYTHON_FRAME_BYTES);
	put64(frame, l->f_code, code | (~l->code_mask & 1));
	put64(frame, l->f_previous, f->top);
	if (l->instr == AIF_PYTHON_INSTR_PTR)
		put64(frame, l->f_instr, code + l->co_code + (uint64_t)(int64_t)lasti);
	else
		put32(frame, l->f_instr,
		      (uint32_t)(l->instr == AIF_PYTHON_INSTR_UNITS ? lasti / 2 : lasti));
	if (l->kind == AIF_PYTHON_IS_ENTRY)
		put8(frame, l->f_mark, entered);
	f->top = frame;
	if (l->ts_frame != AIF_PYTHON_NO_FIELD)
		put64(f->thread, l->ts_frame, frame);
	if (l->ts_cframe != AIF_PYTHON_NO_FIELD) {
		put64(f->thread, l->ts_cframe, f->cframe);
		if (l->cframe_current != AIF_PYTHON_NO_FIELD)
			put64(f->cframe, l->cframe_current, frame);
	}
	if (ret_place)
		*ret_place = place;
	return frame;
}

static inline void fake_init(struct fake *f, const struct aif_python_layout *l, void *mem,
			     size_t size)
{
	*f = (struct fake){.mem = mem, .size = size, .stack = size, .l = *l};
	f->type_code = fake_alloc(f, 128);
	f->type_str = fake_alloc(f, 128);
	f->type_bytes = fake_alloc(f, 128);
	f->interpreter = fake_alloc(f, 64);
	f->thread = fake_alloc(f, 256);
	put64(f->thread, l->ts_interp, f->interpreter);
	if (l->ts_cframe != AIF_PYTHON_NO_FIELD) { /* the one in the thread state itself */
		f->cframe = f->thread + 128;
		put64(f->thread, l->ts_cframe, f->cframe);
		put64(f->cframe, l->cframe_previous, 0x5a5a5a5a5a5a5a58); /* never set by 3.10 */
	}
}

static inline struct aif_stack_bounds fake_bounds(const struct fake *f)
{
	uint64_t lo = (uint64_t)(uintptr_t)f->mem;

	return (struct aif_stack_bounds){.lo = lo + f->stack, .hi = lo + f->size};
}
