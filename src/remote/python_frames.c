/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/python.h"

#include "base/utf8.h"

#include <string.h>

/* Bounds: as unwind/python_walk.c has them. */
#define STEPS_PER_FRAME 3
#define LASTI_MAX       (1 << 30)
#define TEXT_MAX        4096 /* characters; longer names and paths are cut */
#define LINES_MAX       (1u << 20)
#define CODE_MAX        (UINT64_C(1) << 30)
/* A mark above this is on no C stack of the thread. */
#define STACK_MAX (UINT64_C(1) << 30)

/* ---- frames ---- */

struct walk {
	struct aif_remote_python *py;
	struct aif_python_frame *frames;
	unsigned max, len, steps;
	uint64_t sp, at; /* the stack pointer; the last mark */
	bool unlocated;
};

/* A mark lies on the thread's stack, above the last one. */
static uint64_t believed(struct walk *w, uint64_t at)
{
	if (at < w->sp || at - w->sp > STACK_MAX || at <= w->at)
		return 0;
	w->at = at;
	return at;
}

static void end_segment(struct walk *w, uint64_t on_stack)
{
	if (!w->len || w->frames[w->len - 1].ends_segment)
		return;
	w->frames[w->len - 1].ends_segment = true;
	w->frames[w->len - 1].on_stack = on_stack;
	w->unlocated |= !on_stack;
}

static uint64_t u64_at(const uint8_t *bytes, uint16_t offset)
{
	uint64_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

static int32_t i32_at(const uint8_t *bytes, uint16_t offset)
{
	int32_t v;

	memcpy(&v, bytes + offset, sizeof(v));
	return v;
}

/* Takes the frame whose bytes these are. False: it is none. */
static bool take(struct walk *w, const uint8_t *frame)
{
	const struct aif_python_layout *l = &w->py->layout;
	uint64_t code = u64_at(frame, l->f_code) & l->code_mask;
	int64_t lasti;

	if (l->instr == AIF_PYTHON_INSTR_PTR) {
		uint64_t from = u64_at(frame, l->f_instr) - (code + l->co_code);

		if (from + 2 > LASTI_MAX)
			return false;
		lasti = (int64_t)from;
	} else {
		lasti = i32_at(frame, l->f_instr) *
			(l->instr == AIF_PYTHON_INSTR_UNITS ? INT64_C(2) : 1);
		if (lasti < -2 || lasti > LASTI_MAX)
			return false;
	}
	w->frames[w->len++] = (struct aif_python_frame){.code = code, .lasti = (int32_t)lasti};
	return true;
}

/* Follows the frames from `frame` on. False: some are missing. */
static bool follow(struct walk *w, uint64_t frame, uint64_t cframe)
{
	const struct aif_python_layout *l = &w->py->layout;
	const uint16_t end = aif_python_frame_end(l);
	uint8_t bytes[AIF_PYTHON_FRAME_BYTES];

	while (frame) {
		bool is_mark = false;

		if (w->len == w->max || w->steps++ > w->max * STEPS_PER_FRAME || frame & 7 ||
		    end > sizeof(bytes) || !aif_remote_read(w->py->memory, frame, bytes, end))
			return false;
		if (l->kind == AIF_PYTHON_ENTRY_FRAME)
			is_mark = bytes[l->f_mark] >= l->owner_entry;
		if (is_mark)
			end_segment(w, believed(w, frame));
		else if (!take(w, bytes))
			return false;
		if (l->kind == AIF_PYTHON_OBJECTS ||
		    (l->kind == AIF_PYTHON_IS_ENTRY && bytes[l->f_mark])) {
			uint64_t next = 0;

			cframe = believed(w, cframe);
			end_segment(w, cframe);
			if (cframe)
				aif_remote_u64(w->py->memory, cframe + l->cframe_previous, &next);
			cframe = next;
		}
		frame = u64_at(bytes, l->f_previous);
	}
	end_segment(w, 0);
	return true;
}

unsigned aif_remote_python_walk(struct aif_remote_python *py, uint64_t state, uint64_t sp,
				struct aif_python_frame *frames, unsigned max, bool *ret_whole)
{
	const struct aif_python_layout *l = &py->layout;
	struct walk w = {.py = py, .frames = frames, .max = max, .sp = sp};
	uint64_t cframe = 0, frame = 0;
	bool ok = true;

	*ret_whole = false;
	if (l->ts_cframe != AIF_PYTHON_NO_FIELD)
		ok = aif_remote_u64(py->memory, state + l->ts_cframe, &cframe);
	if (l->ts_frame != AIF_PYTHON_NO_FIELD)
		ok = ok && aif_remote_u64(py->memory, state + l->ts_frame, &frame);
	else
		ok = ok && aif_remote_u64(py->memory, cframe + l->cframe_current, &frame);
	if (!ok)
		return 0;
	*ret_whole = follow(&w, frame, l->cframe_previous == AIF_PYTHON_NO_FIELD ? 0 : cframe);
	end_segment(&w, 0);
	/* An address is kept for every segment, or for none. */
	for (unsigned i = 0; w.unlocated && i < w.len; i++)
		frames[i].on_stack = 0;
	return w.len;
}

/* ---- code objects ---- */

static bool is_a(struct aif_remote_python *py, uint64_t at, uint64_t type)
{
	uint64_t is;

	return at % 8 == 0 && aif_remote_u64(py->memory, at + py->layout.ob_type, &is) &&
	       is == type;
}

/* The text of a str as UTF-8, for free(). NULL: it is none. */
static char *read_text(struct aif_remote_python *py, uint64_t at)
{
	const struct aif_python_layout *l = &py->layout;
	uint64_t length, data;
	struct aif_buf b = {0};
	uint8_t *chars;
	uint32_t state;
	unsigned kind;
	char *ret = NULL;

	if (!is_a(py, at, py->type_text) ||
	    !aif_remote_u64(py->memory, at + l->str_length, &length) ||
	    !aif_remote_read(py->memory, at + l->str_state, &state, sizeof(state)))
		return NULL;
	/* bits: interned 2, kind 3, compact, ascii; in all versions */
	kind = state >> 2 & 7;
	if (kind != 1 && kind != 2 && kind != 4)
		return NULL;
	data = at + (state >> 6 & 1 ? l->str_ascii : l->str_compact);
	if (!(state >> 5 & 1) && !aif_remote_u64(py->memory, at + l->str_compact, &data))
		return NULL;
	length = AIF_MIN(length, TEXT_MAX);
	chars = malloc(length * kind + 1);
	if (chars && aif_remote_read(py->memory, data, chars, length * kind)) {
		for (uint64_t i = 0; i < length; i++) {
			uint32_t c = 0;

			memcpy(&c, chars + i * kind, kind); /* both processors are little-endian */
			aif_utf8_put_char(&b, c);
		}
		ret = strdup(aif_buf_str(&b));
	}
	free(chars);
	aif_buf_finish(&b);
	return ret;
}

static void read_lines(struct aif_remote_python *py, uint64_t at,
		       struct aif_remote_python_code *ret)
{
	uint64_t len;

	if (!is_a(py, at, py->type_bytes) ||
	    !aif_remote_u64(py->memory, at + py->layout.ob_size, &len))
		return;
	len = AIF_MIN(len, LINES_MAX);
	ret->lines = malloc(len + 1);
	if (ret->lines && aif_remote_read(py->memory, at + py->layout.bytes_data, ret->lines, len))
		ret->lines_len = len;
}

static bool read_code(struct aif_remote_python *py, uint64_t at, struct aif_remote_python_code *ret)
{
	const struct aif_python_layout *l = &py->layout;
	const bool has_qualname = l->co_qualname != AIF_PYTHON_NO_FIELD;
	uint64_t name, file, lines, len;
	int32_t traceable;

	if (!is_a(py, at, py->type_code) ||
	    !aif_remote_u64(py->memory, at + (has_qualname ? l->co_qualname : l->co_name), &name) ||
	    !aif_remote_u64(py->memory, at + l->co_filename, &file) ||
	    !aif_remote_u64(py->memory, at + l->co_linetable, &lines) ||
	    !aif_remote_read(py->memory, at + l->co_firstline, &ret->first_line,
			     sizeof(ret->first_line)))
		return false;
	if (has_qualname) {
		if (!aif_remote_u64(py->memory, at + l->ob_size, &len) || len > CODE_MAX ||
		    !aif_remote_read(py->memory, at + l->co_firsttraceable, &traceable,
				     sizeof(traceable)))
			return false;
		ret->hidden = (uint64_t)(int64_t)traceable >= len;
	}
	ret->name = read_text(py, name);
	ret->file = read_text(py, file);
	read_lines(py, lines, ret);
	return ret->name && ret->file;
}

const struct aif_remote_python_code *aif_remote_python_resolve(struct aif_remote_python *py,
							       uint64_t code)
{
	struct aif_remote_python_code *ret;
	uint64_t i;

	if (!aif_map_get(&py->known, code, &i)) {
		if (aif_grow(&py->codes, &py->codes_cap, py->codes_len + 1, sizeof(*py->codes)))
			return NULL;
		i = py->codes_len++;
		py->codes[i] = (struct aif_remote_python_code){0};
		if (!read_code(py, code, &py->codes[i])) {
			free(py->codes[i].name);
			py->codes[i].name = NULL;
		}
		aif_map_put(&py->known, code, i);
	}
	ret = &py->codes[i];
	return ret->name ? ret : NULL;
}
