/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/cubin_line_header.h"

#include <errno.h>
#include <string.h>

/*
 * ptxas writes DWARF 2 (CUDA 11 to 13.0): zero-terminated lists of directories and files, both
 * counted from 1. DWARF 5 describes its entries: pairs of (what it is, how it is written), and
 * counts from 0.
 */

enum {
	MAX_TEXT = 4096, /* longer paths are none */
	MAX_FORMATS = 16,
	CONTENT_PATH = 1,
	CONTENT_DIRECTORY = 2,
	FORM_DATA2 = 0x05,
	FORM_DATA4,
	FORM_DATA8,
	FORM_STRING,
	FORM_BLOCK,
	FORM_DATA1 = 0x0b,
	FORM_STRP = 0x0e,
	FORM_UDATA = 0x0f,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f,
	NO_DIR = -1,
};

struct entry {
	const char *text;
	uint32_t number;
};

struct format {
	uint64_t content, form;
};

struct reader {
	struct aif_line_header *h;
	struct line_cursor p;
	const struct aif_device_section *str, *line_str;
	size_t dirs_cap, files_cap;
};

static int add_dir(struct reader *r, const char *text)
{
	struct aif_line_header *h = r->h;
	int e = aif_grow(&h->dirs, &r->dirs_cap, h->dirs_len + 1, sizeof(*h->dirs));

	if (e == 0)
		h->dirs[h->dirs_len++] = text;
	return e;
}

static int add_file(struct reader *r, const char *text, uint32_t dir)
{
	struct aif_line_header *h = r->h;
	int e = aif_grow(&h->files, &r->files_cap, h->files_len + 1, sizeof(*h->files));

	if (e == 0)
		h->files[h->files_len++] = (struct aif_line_file){text, dir};
	return e;
}

static int read_lists(struct reader *r)
{
	const char *text;
	int e = add_dir(r, NULL); /* 0: where the compiler ran, which is not written down */

	while (e == 0 && (text = line_text(&r->p)) && text[0])
		e = add_dir(r, text);
	while (e == 0 && (text = line_text(&r->p)) && text[0]) {
		uint32_t dir = line_uleb32(&r->p);

		line_uleb(&r->p); /* time */
		line_uleb(&r->p); /* size */
		e = add_file(r, text, dir ? dir : (uint32_t)NO_DIR);
	}
	r->h->first_file = 1;
	return e;
}

static const char *text_of(const struct aif_device_section *s, uint64_t offset)
{
	const char *text;

	if (!s || offset >= s->size)
		return NULL;
	text = (const char *)s->bytes + offset;
	return memchr(text, 0, AIF_MIN(s->size - offset, (size_t)MAX_TEXT)) ? text : NULL;
}

static struct entry read_form(struct reader *r, uint64_t form)
{
	struct entry e = {NULL, (uint32_t)NO_DIR};

	switch (form) {
	case FORM_STRING:
		e.text = line_text(&r->p);
		break;
	case FORM_STRP:
		e.text = text_of(r->str, line_u32(&r->p));
		break;
	case FORM_LINE_STRP:
		e.text = text_of(r->line_str, line_u32(&r->p));
		break;
	case FORM_UDATA:
		e.number = line_uleb32(&r->p);
		break;
	case FORM_DATA1:
		e.number = line_u8(&r->p);
		break;
	case FORM_DATA2:
		e.number = line_u16(&r->p);
		break;
	case FORM_DATA4:
		e.number = line_u32(&r->p);
		break;
	case FORM_DATA8:
		line_take(&r->p, 8);
		break;
	case FORM_DATA16:
		line_take(&r->p, 16);
		break;
	case FORM_BLOCK:
		line_take(&r->p, line_uleb(&r->p));
		break;
	default: /* of unknown length: nothing behind it can be read */
		r->p.failed = true;
	}
	return e;
}

static int read_table(struct reader *r, bool files)
{
	struct format formats[MAX_FORMATS];
	unsigned formats_len = line_u8(&r->p);
	uint64_t n;
	int e = 0;

	if (formats_len > MAX_FORMATS)
		return -EBADMSG;
	for (unsigned i = 0; i < formats_len; i++) {
		formats[i].content = line_uleb(&r->p);
		formats[i].form = line_uleb(&r->p);
	}
	n = line_uleb(&r->p);
	if (formats_len == 0 && n)
		return -EBADMSG;
	for (uint64_t i = 0; e == 0 && i < n && !r->p.failed; i++) {
		const char *path = NULL;
		uint32_t dir = (uint32_t)NO_DIR;

		for (unsigned k = 0; k < formats_len; k++) {
			struct entry v = read_form(r, formats[k].form);

			if (formats[k].content == CONTENT_PATH)
				path = v.text;
			else if (formats[k].content == CONTENT_DIRECTORY)
				dir = v.number;
		}
		e = files ? add_file(r, path, dir) : add_dir(r, path);
	}
	return e;
}

int aif_line_header_read(struct aif_line_header *h, const struct aif_cubin *c,
			 struct line_cursor *all)
{
	struct reader r = {.h = h,
			   .str = aif_device_elf_section(&c->elf, ".debug_str"),
			   .line_str = aif_device_elf_section(&c->elf, ".debug_line_str")};
	unsigned version;
	int e;

	*h = (struct aif_line_header){0};
	h->program = line_take(all, line_u32(all));
	version = line_u16(&h->program);
	if (version == 5)
		line_take(&h->program, 2); /* sizes of an address and of a segment selector */
	r.p = line_take(&h->program, line_u32(&h->program));
	h->min_instruction = line_u8(&r.p);
	if (version >= 4)
		line_u8(&r.p); /* operations of an instruction: 1 */
	line_u8(&r.p);         /* whether rows are statements at first */
	h->line_base = (int8_t)line_u8(&r.p);
	h->line_range = line_u8(&r.p);
	h->opcode_base = line_u8(&r.p);
	if (r.p.failed || version < 2 || version > 5 || h->line_range == 0 || h->opcode_base == 0)
		return -EBADMSG;
	for (unsigned i = 0; i + 1 < h->opcode_base; i++)
		h->operands[i] = line_u8(&r.p);
	if (version < 5) {
		e = read_lists(&r);
	} else {
		e = read_table(&r, false);
		if (e == 0)
			e = read_table(&r, true);
	}
	if (e == 0 && r.p.failed)
		e = -EBADMSG;
	if (e < 0)
		aif_line_header_finish(h);
	return e;
}

void aif_line_header_finish(struct aif_line_header *h)
{
	free(h->dirs);
	free(h->files);
	*h = (struct aif_line_header){0};
}

static void put_dir(const char *dir, struct aif_buf *ret)
{
	size_t n = strnlen(dir, MAX_TEXT);

	if (n == 0)
		return;
	aif_buf_append(ret, dir, n);
	if (dir[n - 1] != '/')
		aif_buf_putc(ret, '/');
}

bool aif_line_header_file(const struct aif_line_header *h, uint32_t file, struct aif_buf *ret)
{
	const struct aif_line_file *f;

	if (file - h->first_file >= h->files_len) /* also when it is less: it wraps around */
		return false;
	f = &h->files[file - h->first_file];
	if (!f->name || !f->name[0])
		return false;
	if (f->name[0] != '/' && f->dir < h->dirs_len && h->dirs[f->dir]) {
		const char *dir = h->dirs[f->dir];

		/* in DWARF 5 a directory may be relative to number 0 */
		if (dir[0] != '/' && f->dir != 0 && h->dirs[0])
			put_dir(h->dirs[0], ret);
		put_dir(dir, ret);
	}
	aif_buf_append(ret, f->name, strnlen(f->name, MAX_TEXT));
	return true;
}
