/* SPDX-License-Identifier: Apache-2.0 */
#include "script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const reasons[10] = {"tdr",      "other", "control", "pipestall",  "send",
					"dist_acc", "sbid",  "sync",    "inst_fetch", "active"};
static const struct {
	const char *name;
	int value;
} errors[] = {{"EIO", EIO},       {"ENODEV", ENODEV}, {"EAGAIN", EAGAIN}, {"EBUSY", EBUSY},
	      {"EACCES", EACCES}, {"EINTR", EINTR},   {"EINVAL", EINVAL}, {NULL, 0}};

static bool error_named(const char *name, int *ret)
{
	for (size_t i = 0; errors[i].name; i++)
		if (!strcmp(errors[i].name, name)) {
			*ret = errors[i].value;
			return true;
		}
	return false;
}

static bool read_counts(char *text, uint8_t ret[10])
{
	char *save = NULL;

	for (char *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		char *value = strchr(one, '=');
		unsigned k = 0;

		if (!value)
			return false;
		*value++ = '\0';
		while (k < 10 && strcmp(reasons[k], one) != 0)
			k++;
		if (k == 10 || atoi(value) > 255)
			return false;
		ret[k] = (uint8_t)atoi(value);
	}
	return true;
}

static int gt_of(const struct script *s, unsigned id)
{
	for (unsigned i = 0; i < s->gts_len; i++)
		if (s->gts[i].id == id)
			return (int)i;
	return -1;
}

static bool read_order(struct script *s, const char *verb, const char *rest)
{
	struct order o = {0};
	char word[200] = "";
	unsigned id;
	int gt;

	if (!strcmp(verb, "records")) {
		o.what = ORDER_RECORDS;
		if (sscanf(rest, "%u %lu %li %199s", &id, (unsigned long *)&o.n, (long *)&o.address,
			   word) != 4 ||
		    !o.n || !read_counts(word, o.counts))
			return false;
	} else if (!strcmp(verb, "error")) {
		o.what = ORDER_ERROR;
		if (sscanf(rest, "%u %199s", &id, word) != 2 || !error_named(word, &o.error))
			return false;
	} else {
		o.what = !strcmp(verb, "torn") ? ORDER_TORN : ORDER_PAUSE;
		if ((o.what == ORDER_PAUSE && strcmp(verb, "pause") != 0) ||
		    sscanf(rest, "%u %lu", &id, (unsigned long *)&o.n) != 2 || o.n > 100000)
			return false;
	}
	gt = gt_of(s, id);
	if (gt < 0 || s->orders_len == SCRIPT_ORDERS)
		return false;
	o.gt = (unsigned)gt;
	s->orders[s->orders_len++] = o;
	return true;
}

static bool read_line(struct script *s, char *line)
{
	char verb[32], word[32];
	unsigned id, major, minor, n;
	const char *rest;

	line[strcspn(line, "#\n")] = '\0';
	if (sscanf(line, "%31s", verb) != 1)
		return true;
	rest = strstr(line, verb) + strlen(verb);
	if (!strcmp(verb, "node"))
		return sscanf(rest, "%31s", s->node) == 1;
	if (!strcmp(verb, "driver"))
		return sscanf(rest, "%15s", s->driver) == 1;
	if (!strcmp(verb, "denied"))
		return s->denied = true;
	if (!strcmp(verb, "no-query"))
		return s->no_query = true;
	if (!strcmp(verb, "short"))
		return sscanf(rest, "%u", &s->short_reads) == 1;
	if (!strcmp(verb, "gt")) {
		if (sscanf(rest, "%u %u.%u", &id, &major, &minor) != 3 || s->gts_len == SCRIPT_GTS)
			return false;
		s->gts[s->gts_len++] = (struct script_gt){
			.id = (uint16_t)id, .major = (uint16_t)major, .minor = (uint16_t)minor};
		return true;
	}
	if (!s->gts_len)
		s->gts[s->gts_len++] = (struct script_gt){.id = 0, .major = 20, .minor = 1};
	if (!strcmp(verb, "open")) {
		if (sscanf(rest, "%u %31s %u", &id, word, &n) != 3 || gt_of(s, id) < 0)
			return false;
		s->gts[gt_of(s, id)].open_fails = n;
		return error_named(word, &s->gts[gt_of(s, id)].open_error);
	}
	return read_order(s, verb, rest);
}

bool script_read(struct script *s, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool ok = f;

	*s = (struct script){.node = "renderD128", .driver = "xe"};
	if (!f)
		fprintf(stderr, "fakexe: %s: %s\n", path, strerror(errno));
	while (ok && fgets(line, sizeof(line), f)) {
		ok = read_line(s, line);
		if (!ok)
			fprintf(stderr, "fakexe: %s: not understood: %s\n", path, line);
	}
	if (f)
		fclose(f);
	if (!s->gts_len)
		s->gts[s->gts_len++] = (struct script_gt){.id = 0, .major = 20, .minor = 1};
	return ok;
}

struct order *script_next(struct script *s, unsigned gt)
{
	for (unsigned i = 0; i < s->orders_len; i++)
		if (s->orders[i].gt == gt && !s->orders[i].done)
			return &s->orders[i];
	return NULL;
}

bool script_is_over(const struct script *s)
{
	for (unsigned i = 0; i < s->orders_len; i++)
		if (!s->orders[i].done)
			return false;
	return true;
}

static void put_bits(uint8_t *r, unsigned at, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++, at++)
		if (v >> i & 1)
			r[at / 8] |= (uint8_t)(1u << at % 8);
}

unsigned script_record(const struct script_gt *gt, const struct order *o, uint8_t ret[64])
{
	bool is_pvc = gt->major == 12, is_wide = gt->major >= 35;
	unsigned first = is_wide ? 61 : 29, sum = 0;

	memset(ret, 0, 64);
	put_bits(ret, 0, first, o->address >> 3);
	for (unsigned k = 0; k < 10; k++) {
		/* Ponte Vecchio has no tdr; active, which others have last, is in its place. */
		unsigned slot = !is_pvc ? k : k == 9 ? 0 : k;

		if (is_pvc && k == 0)
			continue;
		put_bits(ret, first + 8 * slot, 8, o->counts[k]);
		sum += o->counts[k];
	}
	if (!is_pvc)
		put_bits(ret, first + 83, 1, 1); /* the end of the record's used part */
	return sum;
}
