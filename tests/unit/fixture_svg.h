/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "flame/svg.h"

#include <expat.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- the picture, read back by a strict parser --------------------------------------------------- */

struct frame {
	unsigned depth, names;
	double start, width, x, w, y;
	char *title, *label;
};

struct seen {
	struct frame *frames;
	size_t len, cap;
	bool is_inside; /* a frame */
	int depth;
	struct aif_buf text;
	char *document_title, *subtitle_title, *narrow;
	unsigned width, height;
};

static inline const char *attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (!strcmp(attributes[0], name))
			return attributes[1];
	return NULL;
}

static inline void on_start(void *arg, const char *tag, const char **attributes)
{
	struct seen *s = arg;
	const char *v = attribute(attributes, "data-v");

	s->depth++;
	aif_buf_clear(&s->text);
	if (!strcmp(tag, "svg")) {
		s->width = (unsigned)atoi(attribute(attributes, "width"));
		s->height = (unsigned)atoi(attribute(attributes, "height"));
	}
	if (v) {
		struct frame f = {0};

		assert_int_equal(sscanf(v, "%u %lf %lf %u", &f.depth, &f.start, &f.width, &f.names),
				 4);
		assert_int_equal(aif_grow(&s->frames, &s->cap, s->len + 1, sizeof(f)), 0);
		s->frames[s->len++] = f;
		s->is_inside = true;
	} else if (s->is_inside && !strcmp(tag, "rect")) {
		s->frames[s->len - 1].x = atof(attribute(attributes, "x"));
		s->frames[s->len - 1].y = atof(attribute(attributes, "y"));
		s->frames[s->len - 1].w = atof(attribute(attributes, "width"));
	}
}

static inline void on_end(void *arg, const char *tag)
{
	struct seen *s = arg;

	s->depth--;
	if (!strcmp(tag, "title") && !s->is_inside && !s->document_title)
		s->document_title = strdup(aif_buf_str(&s->text));
	else if (!strcmp(tag, "title") && !s->is_inside && !s->subtitle_title)
		s->subtitle_title = strdup(aif_buf_str(&s->text));
	else if (!strcmp(tag, "title") && s->is_inside)
		s->frames[s->len - 1].title = strdup(aif_buf_str(&s->text));
	else if (!strcmp(tag, "text") && s->is_inside)
		s->frames[s->len - 1].label = strdup(aif_buf_str(&s->text));
	else if (!strcmp(tag, "metadata"))
		s->narrow = strdup(aif_buf_str(&s->text));
	else if (!strcmp(tag, "g"))
		s->is_inside = false;
}

static inline void on_text(void *arg, const char *text, int len)
{
	aif_buf_append(&((struct seen *)arg)->text, text, (size_t)len);
}

static inline char *draw_text(const struct aif_tree *t, const struct aif_svg_opts *o,
			      size_t *ret_len)
{
	char name[] = "/tmp/test_svg.XXXXXX", *text;
	int fd = mkstemp(name);
	struct aif_out out;
	struct aif_err err;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(aif_out_open(&out, name, &err), 0);
	assert_int_equal(aif_svg_write(t, o, &out), 0);
	assert_int_equal(aif_out_commit(&out, &err), 0);
	fd = open(name, O_RDONLY);
	*ret_len = (size_t)lseek(fd, 0, SEEK_END);
	text = calloc(1, *ret_len + 1);
	assert_int_equal(pread(fd, text, *ret_len, 0), *ret_len);
	close(fd);
	unlink(name);
	return text;
}

static inline void draw(const struct aif_tree *t, const struct aif_svg_opts *o, struct seen *ret)
{
	size_t len;
	char *text = draw_text(t, o, &len);
	XML_Parser parser = XML_ParserCreate(NULL);

	*ret = (struct seen){0};
	XML_SetUserData(parser, ret);
	XML_SetElementHandler(parser, on_start, on_end);
	XML_SetCharacterDataHandler(parser, on_text);
	if (XML_Parse(parser, text, (int)len, 1) != XML_STATUS_OK)
		fail_msg("line %lu: %s", XML_GetCurrentLineNumber(parser),
			 XML_ErrorString(XML_GetErrorCode(parser)));
	XML_ParserFree(parser);
	free(text);
}

static inline void seen_finish(struct seen *s)
{
	for (size_t i = 0; i < s->len; i++) {
		free(s->frames[i].title);
		free(s->frames[i].label);
	}
	free(s->frames);
	free(s->document_title);
	free(s->subtitle_title);
	free(s->narrow);
	aif_buf_finish(&s->text);
}

/* ---- trees --------------------------------------------------------------------------------------- */

static inline uint32_t add(struct aif_tree *t, uint32_t parent, const char *text, size_t len,
			   uint64_t value)
{
	uint32_t n = aif_tree_child(t, parent, aif_tree_name(t, AIF_TREE_C, text, len));

	assert_int_not_equal(n, 0);
	t->nodes[n].self += value;
	return n;
}

static inline uint32_t adds(struct aif_tree *t, uint32_t parent, const char *text, uint64_t value)
{
	return add(t, parent, text, strlen(text), value);
}

static inline void random_tree(struct aif_tree *t, uint64_t seed, unsigned stacks)
{
	assert_int_equal(aif_tree_init(t, false), 0);
	for (unsigned i = 0; i < stacks; i++) {
		unsigned depth = 1 + (seed = aif_mix64(seed + 1)) % 9;
		uint32_t n = 0;

		while (depth--) {
			char name[16];

			snprintf(name, sizeof(name), "%u",
				 (unsigned)((seed = aif_mix64(seed + 1)) % 7));
			n = adds(t, n, name, 0);
		}
		t->nodes[n].self += 1 + seed % 1000 * (seed % 3);
	}
	assert_int_equal(aif_tree_seal(t), 0);
}
