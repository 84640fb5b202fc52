/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/callgrind.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 16, MOST_OBJECTS = 1 << 16, MOST_LINE = 1 << 16 };

struct reader {
	struct aif_callgrind_range *ranges;
	size_t len;
	struct aif_callgrind_totals *totals;
	char **objects; /* names by number: a name stands behind its number once */
	const char *object;
	uint64_t address;                       /* of the last line of costs */
	int executions, fetched[2], written[2]; /* columns of events; -1: there is none */
	bool has_addresses, is_call;            /* is_call: the next line is what a call cost */
};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Finds the columns that matter among the names of events. */
static void take_events(struct reader *r, char *names)
{
	static const char *const known[] = {"Ir", "DLmr", "DLmw", "DLdmr", "DLdmw"};
	int *const to[] = {&r->executions, &r->fetched[0], &r->fetched[1], &r->written[0],
			   &r->written[1]};
	char *rest;
	int column = 0;

	for (char *name = strtok_r(names, " \n", &rest); name && column < MOST_EVENTS;
	     name = strtok_r(NULL, " \n", &rest), column++)
		for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++)
			if (!strcmp(name, known[i]))
				*to[i] = column;
}

/* Takes "LL cache: 1048576 B, 64 B, 16-way associative". */
static void take_cache(struct reader *r, const char *text)
{
	unsigned long long size, line;

	if (sscanf(text, "%llu B, %llu B", &size, &line) != 2 || !line || line > 4096)
		return;
	r->totals->line_bytes = line;
	snprintf(r->totals->cache, sizeof(r->totals->cache), "%.*s", (int)strcspn(text, "\n"),
		 text);
}

/* Takes "(3) /usr/lib/libm.so.6", or "(3)" where the name stood before. 0 or -errno. */
static int take_object(struct reader *r, char *text)
{
	unsigned long id;
	char *behind;

	text[strcspn(text, "\n")] = '\0';
	r->object = "";
	if (*text != '(')
		return 0;
	id = strtoul(text + 1, &behind, 10);
	if (*behind != ')' || id >= MOST_OBJECTS)
		return 0;
	behind++;
	if (*behind == ' ' && !r->objects[id]) {
		r->objects[id] = strdup(behind + 1);
		if (!r->objects[id])
			return -ENOMEM;
	}
	if (r->objects[id])
		r->object = r->objects[id];
	return 0;
}

/* Reads a position, "0x1220", "+5", "-26" or "*", which is relative to `was`. Moves *at behind it. */
static uint64_t position(const char **at, uint64_t was)
{
	const char *text = *at;
	char sign = *text;
	uint64_t n;
	char *behind;

	if (sign == '*') {
		*at = text + 1;
		return was;
	}
	text += sign == '+' || sign == '-';
	n = strtoull(text, &behind, 0);
	*at = behind;
	return sign == '+' ? was + n : sign == '-' ? was - n : n;
}

static uint64_t column_of(const uint64_t *values, int n, int column)
{
	return column >= 0 && column < n ? values[column] : 0;
}

static void add(struct reader *r, const uint64_t *values, int n)
{
	uint64_t fetched =
			 column_of(values, n, r->fetched[0]) + column_of(values, n, r->fetched[1]),
		 written =
			 column_of(values, n, r->written[0]) + column_of(values, n, r->written[1]);

	r->totals->fetched += fetched;
	r->totals->written += written;
	for (size_t i = 0; i < r->len; i++) {
		struct aif_callgrind_range *to = &r->ranges[i];

		if (r->address - to->address >= to->size || strcmp(to->path, r->object) != 0)
			continue;
		to->executions[r->address - to->address] += column_of(values, n, r->executions);
		to->fetched += fetched;
		to->written += written;
	}
}

/* Takes a line of costs: an address, a line of source, and a value for each event. */
static void take_costs(struct reader *r, const char *text)
{
	uint64_t values[MOST_EVENTS];
	int n = 0;

	r->address = position(&text, r->address);
	while (*text == ' ')
		text++;
	(void)position(&text, 0);
	while (n < MOST_EVENTS) {
		char *behind;

		while (*text == ' ')
			text++;
		if (!isdigit((unsigned char)*text))
			break;
		values[n++] = strtoull(text, &behind, 10);
		text = behind;
	}
	if (!r->is_call)
		add(r, values, n);
	r->is_call = false;
}

static int take_line(struct reader *r, char *line)
{
	if (isdigit((unsigned char)*line) || strchr("+-*", *line)) {
		if (*line && r->has_addresses)
			take_costs(r, line);
	} else if (begins(line, "ob=")) {
		return take_object(r, line + 3);
	} else if (begins(line, "cob=")) {
		/* A name may stand there for the first time. */
		const char *object = r->object;
		int e = take_object(r, line + 4);

		r->object = object;
		return e;
	} else if (begins(line, "calls=")) {
		r->is_call = true;
	} else if (begins(line, "positions:")) {
		r->has_addresses = strstr(line, " instr line") != NULL;
	} else if (begins(line, "events:")) {
		take_events(r, line + 7);
	} else if (begins(line, "desc: LL cache: ")) {
		take_cache(r, line + 16);
	}
	return 0;
}

/* Reads a line of which the first MOST_LINE bytes are kept. False: the file ends. */
static bool read_line(FILE *f, char *line)
{
	size_t n;

	if (!fgets(line, MOST_LINE, f))
		return false;
	n = strlen(line);
	if (n == MOST_LINE - 1 && line[n - 1] != '\n')
		for (int c = getc(f); c != EOF && c != '\n'; c = getc(f))
			;
	return true;
}

int aif_callgrind_read(FILE *f, struct aif_callgrind_range *ranges, size_t len,
		       struct aif_callgrind_totals *totals)
{
	struct reader r = {.ranges = ranges,
			   .len = len,
			   .totals = totals,
			   .object = "",
			   .executions = -1,
			   .fetched = {-1, -1},
			   .written = {-1, -1}};
	char *line = malloc(MOST_LINE);
	int e = 0;

	r.objects = calloc(MOST_OBJECTS, sizeof(*r.objects));
	if (!line || !r.objects)
		e = -ENOMEM;
	while (!e && read_line(f, line))
		e = take_line(&r, line);
	if (!e && ferror(f))
		e = -EIO;
	if (!e && (!r.has_addresses || r.executions < 0 || r.fetched[0] < 0 || r.written[0] < 0))
		e = -EINVAL;
	totals->files += !e;
	for (size_t i = 0; r.objects && i < MOST_OBJECTS; i++)
		free(r.objects[i]);
	free(r.objects);
	free(line);
	return e;
}
