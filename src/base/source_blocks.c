/* SPDX-License-Identifier: Apache-2.0 */
#include "base/source_blocks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAB 8

const char *aif_source_statement(const struct aif_source_blocks *b, uint32_t line, size_t *ret_len)
{
	const char *at, *end;

	*ret_len = 0;
	if (!line || line > b->lines)
		return "";
	at = b->text + b->starts[line - 1];
	end = b->text + b->starts[line] - 1;
	while (at < end && isspace((unsigned char)*at))
		at++;
	while (at < end && isspace((unsigned char)end[-1]))
		end--;
	*ret_len = (size_t)(end - at);
	return at;
}

static uint32_t indentation(const struct aif_source_blocks *b, uint32_t line)
{
	uint32_t n = 0;

	for (uint32_t i = b->starts[line - 1]; i + 1 < b->starts[line]; i++)
		if (b->text[i] == '\t')
			n = n - n % TAB + TAB;
		else if (b->text[i] == ' ')
			n++;
		else
			break;
	return n;
}

/* True if a text of `len` bytes begins with a word, which ends there. */
static bool begins_with(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && !memcmp(text, word, n) &&
	       (len == n || (!isalnum((unsigned char)text[n]) && text[n] != '_'));
}

static bool begins_with_any(const char *text, size_t len, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(text, len, words[i]))
			return true;
	return false;
}

/* Passes closing brackets in front of a word: "} else {". */
static const char *behind_closing(const char *text, size_t *len)
{
	while (*len && (strchr(")]}", *text) || isspace((unsigned char)*text))) {
		text++;
		--*len;
	}
	return text;
}

enum branch { NO_BRANCH, FIRST, NEXT, CASE };

static enum branch branch_of(const struct aif_source_blocks *b, uint32_t line)
{
	static const char *const next[] = {"else", "elif", "elsif", "elseif"};
	static const char *const cases[] = {"case", "default", "when"};
	size_t len;
	const char *text = aif_source_statement(b, line, &len);

	text = behind_closing(text, &len);
	if (begins_with_any(text, len, next, AIF_ARRAY_LEN(next)))
		return NEXT;
	if (begins_with_any(text, len, cases, AIF_ARRAY_LEN(cases)))
		return CASE;
	return begins_with(text, len, "if") ? FIRST : NO_BRANCH;
}

static bool is_statement(const struct aif_source_blocks *b, uint32_t line)
{
	size_t len;
	const char *text = aif_source_statement(b, line, &len);

	if (!len || *text == '#' || *text == '*' || *text == '{')
		return false;
	if (len > 1 && *text == '/' && (text[1] == '/' || text[1] == '*'))
		return false;
	return !strchr(")]}", *text) || branch_of(b, line) == NEXT;
}

/* Finds the block of each statement. 0 or -ENOMEM. */
static int find_blocks(struct aif_source_blocks *b)
{
	uint32_t *open = malloc((b->lines + 1) * sizeof(*open)), *indents;
	size_t len = 0;

	indents = malloc((b->lines + 1) * sizeof(*indents));
	b->outer = malloc((b->lines + 1) * sizeof(*b->outer));
	b->before = malloc((b->lines + 1) * sizeof(*b->before));
	if (!open || !indents || !b->outer || !b->before) {
		free(open);
		free(indents);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i <= b->lines; i++) {
		b->outer[i] = b->before[i] = AIF_SOURCE_NO_STATEMENT;
		if (!is_statement(b, i))
			continue;
		indents[i] = indentation(b, i);
		b->before[i] = 0;
		for (; len && indents[open[len - 1]] >= indents[i]; len--)
			if (indents[open[len - 1]] == indents[i])
				b->before[i] = open[len - 1];
		b->outer[i] = len ? open[len - 1] : 0;
		open[len++] = i;
	}
	free(open);
	free(indents);
	return 0;
}

int aif_source_blocks_init(struct aif_source_blocks *b, const char *text, size_t len)
{
	size_t lines = 1;

	*b = (struct aif_source_blocks){.text = text};
	if (len >= UINT32_MAX)
		return -EFBIG;
	for (const char *c = text; (c = memchr(c, '\n', (size_t)(text + len - c))); c++)
		lines++;
	b->starts = malloc((lines + 1) * sizeof(*b->starts));
	if (!b->starts)
		return -ENOMEM;
	b->starts[b->lines++] = 0;
	for (const char *c = text; (c = memchr(c, '\n', (size_t)(text + len - c)));)
		b->starts[b->lines++] = (uint32_t)(++c - text);
	b->starts[b->lines] = (uint32_t)len + 1;
	return find_blocks(b);
}

void aif_source_blocks_finish(struct aif_source_blocks *b)
{
	free(b->starts);
	free(b->outer);
	free(b->before);
	*b = (struct aif_source_blocks){0};
}

static bool has_statement(const struct aif_source_blocks *b, uint32_t line)
{
	return line && line <= b->lines && b->outer[line] != AIF_SOURCE_NO_STATEMENT;
}

uint32_t aif_source_block(const struct aif_source_blocks *b, uint32_t line)
{
	return has_statement(b, line) ? b->outer[line] : 0;
}

uint32_t aif_source_branches(const struct aif_source_blocks *b, uint32_t line)
{
	uint32_t at = line;

	if (!has_statement(b, line) || branch_of(b, line) != NEXT)
		return line;
	for (unsigned i = 0; i < AIF_SOURCE_BRANCHES && (at = b->before[at]); i++) {
		if (branch_of(b, at) == FIRST)
			return at;
		if (branch_of(b, at) != NEXT)
			break;
	}
	return line;
}

/* True for "y = [f(x) for x in z]" of Python. */
static bool is_comprehension(const char *text, size_t len)
{
	const char *end = text + len, *open, *loop;

	for (open = text; open < end && !strchr("([{", *open); open++)
		;
	loop = open < end ? memmem(open, (size_t)(end - open), " for ", 5) : NULL;
	return loop && memmem(loop, (size_t)(end - loop), " in ", 4) &&
	       (memchr(loop, ']', (size_t)(end - loop)) ||
		memchr(loop, ')', (size_t)(end - loop)) || memchr(loop, '}', (size_t)(end - loop)));
}

bool aif_source_is_loop(const struct aif_source_blocks *b, uint32_t line)
{
	static const char *const words[] = {"for",   "while",   "do",        "loop",
					    "until", "foreach", "async for", "parfor"};
	size_t len, word;
	const char *text = aif_source_statement(b, line, &len);

	if (begins_with_any(text, len, words, AIF_ARRAY_LEN(words)) || is_comprehension(text, len))
		return true;
	/* Macros of lists. */
	for (word = 0; word < len && (isalnum((unsigned char)text[word]) || text[word] == '_');)
		word++;
	for (size_t i = 0; i + 8 <= word; i++)
		if (!strncasecmp(text + i, "for_each", 8))
			return true;
	return false;
}

static bool is_function(const struct aif_source_blocks *b, uint32_t line)
{
	static const char *const words[] = {"def",    "async def", "class",   "fn",
					    "pub fn", "func",      "function"};
	static const char *const lambdas[] = {"[&", "[=", "[this", "[]("};
	size_t len;
	const char *text = aif_source_statement(b, line, &len);

	for (size_t i = 0; i < AIF_ARRAY_LEN(lambdas); i++)
		if (memmem(text, len, lambdas[i], strlen(lambdas[i])) && len &&
		    text[len - 1] == '{')
			return true;
	return begins_with_any(text, len, words, AIF_ARRAY_LEN(words));
}

/* True if a line begins a block: by a bracket, a colon, or a word. What ends with ')' ends such a beginning. */
static bool begins_block(const struct aif_source_blocks *b, uint32_t line)
{
	static const char *const words[] = {"if", "switch", "try", "with", "match", "unsafe"};
	size_t len, comment;
	const char *text = aif_source_statement(b, line, &len);

	if (aif_source_is_loop(b, line) || branch_of(b, line) != NO_BRANCH ||
	    is_function(b, line) || begins_with_any(text, len, words, AIF_ARRAY_LEN(words)))
		return true;
	for (comment = 1; comment < len; comment++)
		if (isspace((unsigned char)text[comment - 1]) &&
		    (text[comment] == '#' || (text[comment] == '/' && comment + 1 < len &&
					      strchr("/*", text[comment + 1]))))
			break;
	len = AIF_MIN(len, comment);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len && strchr("{:)", text[len - 1]);
}

bool aif_source_place_find(const struct aif_source_blocks *b, uint32_t line,
			   struct aif_source_place *ret)
{
	uint32_t at = line, outer;

	*ret = (struct aif_source_place){.statement = line};
	if (!has_statement(b, line))
		return false;
	for (; (outer = aif_source_block(b, at)) && !begins_block(b, outer); at = outer)
		ret->statement = outer;
	if (aif_source_is_loop(b, ret->statement))
		ret->blocks[ret->len++] = ret->statement;
	for (at = ret->statement; (outer = aif_source_block(b, at)); at = outer) {
		if (is_function(b, outer))
			return true;
		if (ret->len == AIF_SOURCE_BLOCKS_DEPTH)
			return false;
		ret->blocks[ret->len++] = outer;
	}
	return !indentation(b, at);
}

uint32_t aif_source_common_loop(const struct aif_source_blocks *b, const struct aif_source_place *x,
				const struct aif_source_place *y)
{
	for (uint32_t i = 0; i < x->len; i++)
		for (uint32_t k = 0; k < y->len && aif_source_is_loop(b, x->blocks[i]); k++)
			if (x->blocks[i] == y->blocks[k])
				return x->blocks[i];
	return 0;
}

bool aif_source_are_branches(const struct aif_source_blocks *b, const struct aif_source_place *x,
			     const struct aif_source_place *y)
{
	uint32_t i = x->len, k = y->len, p, q;

	while (i && k && x->blocks[i - 1] == y->blocks[k - 1]) {
		i--;
		k--;
	}
	if (!i || !k)
		return false;
	p = x->blocks[i - 1];
	q = y->blocks[k - 1];
	if (branch_of(b, p) == CASE)
		return branch_of(b, q) == CASE;
	return branch_of(b, p) != NO_BRANCH &&
	       aif_source_branches(b, p) == aif_source_branches(b, q);
}

void aif_source_mark_around(const struct aif_source_blocks *b, uint32_t line, uint8_t *marks)
{
	while (line && line <= b->lines) {
		marks[line] = 1;
		marks[aif_source_branches(b, line)] = 1;
		line = aif_source_block(b, line);
	}
}
