/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/joined_list.h"

#include "base/buf.h"
#include "base/name_sanitize.h"
#include "cmd/message.h"

#include <stdio.h>
#include <stdlib.h>

#define LINES_MOST 12

struct aif_joined {
	int pid;
	char name[16], why[512];
	uint64_t stop_ns;
};

void aif_joined_list_add(struct aif_joined_list *l, int pid, const char *name, uint64_t stop_ns,
			 const char *why)
{
	size_t at = 0;

	while (at < l->len && l->row[at].pid != pid)
		at++;
	if (at == l->len) {
		if (aif_grow(&l->row, &l->cap, l->len + 1, sizeof(*l->row)) < 0)
			return;
		l->len++;
	}
	l->row[at] = (struct aif_joined){.pid = pid, .stop_ns = stop_ns};
	snprintf(l->row[at].name, sizeof(l->row[at].name), "%s", name);
	snprintf(l->row[at].why, sizeof(l->row[at].why), "%s", why);
	aif_name_sanitize_in_place(l->row[at].name);
	aif_name_sanitize_in_place(l->row[at].why);
}

static void print_row(const struct aif_joined *j)
{
	if (*j->why)
		fprintf(stderr, "         %s\n", j->why);
	else
		fprintf(stderr, "         process %d, %s: a thread stood still for %.1f ms\n",
			j->pid, j->name, (double)j->stop_ns / 1e6);
}

static void print_part(const struct aif_joined_list *l, bool is_joined, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < l->len; i++)
		if (!*l->row[i].why == is_joined && n++ < most)
			print_row(&l->row[i]);
	if (n > most)
		fprintf(stderr, "         and %zu more, which -v names\n", n - most);
}

void aif_joined_list_print(const struct aif_joined_list *l, bool all)
{
	size_t joined = 0, left, part = all ? SIZE_MAX : LINES_MOST / 2;

	for (size_t i = 0; i < l->len; i++)
		joined += !*l->row[i].why;
	left = l->len - joined;
	if (joined) {
		aif_message("joined %zu process%s that nobody had prepared", joined,
			    joined == 1 ? "" : "es");
		print_part(l, true, left || all ? part : LINES_MOST);
	}
	if (left) {
		aif_message("left %zu process%s alone", left, left == 1 ? "" : "es");
		print_part(l, false, joined || all ? part : LINES_MOST);
	}
}

void aif_joined_list_finish(struct aif_joined_list *l)
{
	free(l->row);
	*l = (struct aif_joined_list){.len = 0};
}
