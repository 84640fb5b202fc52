/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/fake/script.h"

#include "agent/emit.h"

#include <errno.h>
#include <string.h>

struct word {
	const char *name;
	uint32_t value;
};

static const struct word verbs[] = {
	{"device", AIF_FAKE_DEVICE},
	{"stream", AIF_FAKE_STREAM},
	{"program", AIF_FAKE_PROGRAM},
	{"kernel", AIF_FAKE_KERNEL},
	{"launch", AIF_FAKE_LAUNCH},
	{"exec", AIF_FAKE_EXEC},
	{"clock", AIF_FAKE_CLOCK},
	{"note", AIF_FAKE_NOTE},
	{"generate", AIF_FAKE_GENERATE},
	{"code", AIF_FAKE_CODE},
	{"reason", AIF_FAKE_REASON},
	{"window", AIF_FAKE_WINDOW},
	{"pc", AIF_FAKE_PC},
	{"place", AIF_FAKE_PLACE},
	{"node", AIF_FAKE_NODE},
	{"counter", AIF_FAKE_COUNTER},
	{"values", AIF_FAKE_VALUES},
	{"now", AIF_FAKE_NOW},
	{"sleep", AIF_FAKE_SLEEP},
	{NULL, 0},
};

#define OWN_CLOCK 1000
static const struct word words[] = {
	{"cpu", AIF_EMIT_DEVICE_CPU},
	{"gpu", AIF_EMIT_DEVICE_GPU},
	{"accelerator", AIF_EMIT_DEVICE_ACCELERATOR},
	{"other", AIF_EMIT_DEVICE_OTHER},
	{"read", AIF_EMIT_READ},
	{"write", AIF_EMIT_WRITE},
	{"copy", AIF_EMIT_COPY},
	{"fill", AIF_EMIT_FILL},
	{"map", AIF_EMIT_MAP},
	{"unmap", AIF_EMIT_UNMAP},
	{"migrate", AIF_EMIT_MIGRATE},
	{"peer", AIF_EMIT_PEER},
	{"monotonic", AIF_CLOCK_MONOTONIC},
	{"raw", AIF_CLOCK_MONOTONIC_RAW},
	{"realtime", AIF_CLOCK_REALTIME},
	{"boottime", AIF_CLOCK_BOOTTIME},
	{"own", OWN_CLOCK},
	{NULL, 0},
};

enum field_type { TEXT, NUMBER32, NUMBER64, WORD, LIST3, STACK };

#define FIELD(name, type)                                          \
	{                                                          \
#name, type, offsetof(struct aif_fake_order, name) \
	}
static const struct {
	const char *name;
	enum field_type type;
	size_t at;
} fields[] = {
	FIELD(name, TEXT),
	FIELD(options, TEXT),
	FIELD(source, TEXT),
	FIELD(detail, TEXT),
	FIELD(device, NUMBER32),
	FIELD(program, NUMBER32),
	FIELD(kernel, NUMBER32),
	FIELD(stream, NUMBER32),
	FIELD(units, NUMBER32),
	FIELD(pci, NUMBER32),
	FIELD(reason, NUMBER32),
	FIELD(out_of_order, NUMBER32),
	FIELD(graph, NUMBER32),
	FIELD(node, NUMBER32),
	FIELD(registers, NUMBER32),
	FIELD(shared, NUMBER32),
	FIELD(kind, WORD),
	FIELD(clock, WORD),
	FIELD(time, NUMBER64),
	FIELD(start, NUMBER64),
	FIELD(end, NUMBER64),
	FIELD(bytes, NUMBER64),
	FIELD(before, NUMBER64),
	FIELD(after, NUMBER64),
	FIELD(value, NUMBER64),
	FIELD(count, NUMBER64),
	FIELD(launches, NUMBER64),
	FIELD(rate, NUMBER64),
	FIELD(stacks, NUMBER64),
	FIELD(work, NUMBER64),
	FIELD(vendor, NUMBER64),
	FIELD(depth, NUMBER64),
	FIELD(kernels, NUMBER64),
	FIELD(streams, NUMBER64),
	FIELD(grid, LIST3),
	FIELD(block, LIST3),
	FIELD(stack, STACK),
	FIELD(object, TEXT),
	FIELD(symbol, NUMBER32),
	FIELD(code, NUMBER32),
	FIELD(window, NUMBER32),
	FIELD(hash, NUMBER64),
	FIELD(from, NUMBER64),
	FIELD(pc, NUMBER64),
	FIELD(period, NUMBER64),
	FIELD(samples, NUMBER64),
	FIELD(lost, NUMBER64),
	FIELD(others, NUMBER64),
	FIELD(address, NUMBER64),
	FIELD(size, NUMBER64),
	{"hits", STACK, offsetof(struct aif_fake_order, stack)},
	FIELD(unit, TEXT),
	FIELD(counter, NUMBER32),
	{"values", STACK, offsetof(struct aif_fake_order, stack)},
};

static bool find_word(const struct word *list, const char *name, uint32_t *ret)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name)) {
			*ret = list->value;
			return true;
		}
	return false;
}

/* The next blank-separated token of the line, quotes and escapes resolved, or false at its end. */
static bool next_token(const char **at, char *token, size_t size)
{
	const char *s = *at;
	size_t n = 0;
	bool quoted = false;

	while (*s == ' ' || *s == '\t' || *s == '\r')
		s++;
	if (!*s || *s == '\n' || *s == '#') {
		*at = s;
		return false;
	}
	for (; *s && *s != '\n' && (quoted || (*s != ' ' && *s != '\t' && *s != '\r')); s++) {
		char c = *s;

		if (c == '"') {
			quoted = !quoted;
			continue;
		}
		if (c == '\\' && s[1] && s[1] != '\n')
			c = *++s == 'n' ? '\n' : *s;
		if (n < size - 1)
			token[n++] = c;
	}
	token[n] = '\0';
	*at = s;
	return true;
}

static bool read_number(const char **s, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*s, &end, 0);
	if (end == *s)
		return false;
	*s = end;
	return true;
}

static bool read_list(const char *s, uint64_t *out, unsigned max, unsigned *ret_n)
{
	unsigned n = 0;

	for (;; s++) {
		if (n == max || !read_number(&s, &out[n++]))
			return false;
		if (!*s)
			break;
		if (*s != ',')
			return false;
	}
	*ret_n = n;
	return true;
}

static bool set_field(struct aif_fake_order *o, unsigned field, const char *value)
{
	void *at = (char *)o + fields[field].at;
	uint64_t number;
	unsigned n;

	switch (fields[field].type) {
	case TEXT:
		strncpy(at, value, AIF_FAKE_TEXT - 1);
		return true;
	case WORD:
		return find_word(words, value, at);
	case LIST3:
		return read_list(value, at, 3, &n);
	case STACK:
		return read_list(value, at, AIF_FAKE_DEPTH, &o->stack_len);
	case NUMBER32:
	case NUMBER64:
		if (!read_number(&value, &number) || *value)
			return false;
		if (fields[field].type == NUMBER64)
			*(uint64_t *)at = number;
		else
			*(uint32_t *)at = (uint32_t)number;
		return true;
	}
	return false;
}

static bool read_pair(struct aif_fake_order *o, char *token)
{
	char *value = strchr(token, '=');
	const char *s = token;
	uint64_t number;

	if (!value) { /* the id */
		if (!read_number(&s, &number) || *s)
			return false;
		o->id = (uint32_t)number;
		return true;
	}
	*value++ = '\0';
	for (unsigned i = 0; i < AIF_ARRAY_LEN(fields); i++)
		if (!strcmp(fields[i].name, token)) {
			if (set_field(o, i, value))
				return true;
			value[-1] = '=';
			return false;
		}
	value[-1] = '=';
	return false;
}

int aif_fake_order_read(const char **text, struct aif_fake_order *ret, struct aif_err *err)
{
	char token[2 * AIF_FAKE_TEXT];
	uint32_t verb = AIF_FAKE_NOTHING;

	memset(ret, 0, sizeof(*ret));
	if (next_token(text, token, sizeof(token))) {
		if (!find_word(verbs, token, &verb))
			return aif_err_set(err, -EINVAL, "fake script: unknown order \"%s\"",
					   token);
		while (next_token(text, token, sizeof(token)))
			if (!read_pair(ret, token))
				return aif_err_set(err, -EINVAL, "fake script: \"%s\" is wrong",
						   token);
	}
	ret->verb = verb;
	ret->own_clock = ret->clock == OWN_CLOCK;
	*text += strcspn(*text, "\n");
	*text += **text == '\n';
	return 0;
}
