/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/joined_list.h"

#include "base/name_sanitize.h"
#include "cmd/message.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_MOST 12
/* A shorter wait for a processor is not worth words. */
#define SAID_NS 100000

struct aif_joined {
	int pid;
	uid_t uid;
	char name[16], why[512];
	struct aif_inject_times times;
};

static bool is_left(const struct aif_joined *j)
{
	return *j->why;
}

void aif_joined_list_add(struct aif_joined_list *l, const struct aif_record_joined *j)
{
	struct aif_joined *row;
	uint64_t at;

	if (!aif_map_get(&l->at, (uint64_t)j->pid, &at)) {
		at = l->len;
		if (at >= AIF_JOINED_ROWS_MAX ||
		    aif_grow(&l->row, &l->cap, l->len + 1, sizeof(*l->row)) < 0 ||
		    aif_map_put(&l->at, (uint64_t)j->pid, at) < 0) {
			l->more_joined += !*j->why;
			l->more_left += *j->why != '\0';
			return;
		}
		l->row[l->len++] = (struct aif_joined){.pid = j->pid};
	}
	row = &l->row[at];
	row->uid = j->uid;
	row->times = j->times;
	/* Keeps the name: what is said later may come without it. */
	if (j->name)
		snprintf(row->name, sizeof(row->name), "%s", j->name);
	snprintf(row->why, sizeof(row->why), "%s", j->why);
	aif_name_sanitize_in_place(row->name);
	aif_name_sanitize_in_place(row->why);
}

/* Puts whose a process is, where it is not this user's: ", of alice". */
static void put_user(struct aif_buf *out, uid_t uid)
{
	const struct passwd *user = uid == geteuid() ? NULL : getpwuid(uid);
	char name[64];

	if (uid == geteuid())
		return;
	snprintf(name, sizeof(name), "%s", user ? user->pw_name : "");
	aif_name_sanitize_in_place(name);
	if (*name)
		aif_buf_printf(out, ", of %s", name);
	else
		aif_buf_printf(out, ", of user %u", (unsigned)uid);
}

/* Puts the user behind the number in "process 4711: is stopped". */
static void put_why(struct aif_buf *out, uid_t uid, const char *why)
{
	const size_t number = strcspn(why, ":");

	aif_buf_append(out, why, number);
	if (why[number])
		put_user(out, uid);
	aif_buf_puts(out, why + number);
}

void aif_joined_times_text(struct aif_buf *out, const struct aif_inject_times *t)
{
	aif_buf_printf(out, "the agent %s; a thread of it stood still for %.1f ms at most",
		       t->was_there ? "in it was woken" : "was put into it",
		       (double)t->longest.ns / 1e6);
	if (t->longest.waited_ns >= SAID_NS)
		aif_buf_printf(out, ", %.1f ms of which it waited for a processor",
			       (double)t->longest.waited_ns / 1e6);
}

void aif_joined_stops_text(struct aif_buf *out, const struct aif_record_joined *j)
{
	const struct aif_inject_times *t = &j->times;

	aif_buf_printf(
		out,
		"process %d: %u stops, the longest: seen after %.1f ms at most, looked at its stack for "
		"%.1f ms, had it make a thread that maps memory for %.1f ms, or one that "
		"loads for %.1f ms; that thread loaded the agent in %.1f ms",
		j->pid, t->stops, (double)t->longest.seen_ns / 1e6,
		(double)t->longest.look_ns / 1e6, (double)t->longest.map_ns / 1e6,
		(double)t->longest.create_ns / 1e6, (double)t->load_ns / 1e6);
}

void aif_joined_say(void (*text)(struct aif_buf *, const struct aif_record_joined *),
		    const struct aif_record_joined *j)
{
	struct aif_buf out = {0};

	text(&out, j);
	aif_message("%s", aif_buf_str(&out));
	aif_buf_finish(&out);
}

void aif_joined_became_text(struct aif_buf *out, const struct aif_record_joined *j)
{
	/* A sentence begins with the process's number, too. */
	const char *why = strstr(j->why, ": ");

	aif_buf_printf(out, "process %d: has become another program, %s: ", j->pid, j->name);
	if (*j->why)
		aif_buf_printf(out, "of which nothing is recorded: %s", why ? why + 2 : j->why);
	else
		aif_joined_times_text(out, &j->times);
}

void aif_joined_text(struct aif_buf *out, const struct aif_record_joined *j)
{
	if (*j->why) {
		put_why(out, j->uid, j->why);
		return;
	}
	aif_buf_printf(out, "process %d", j->pid);
	put_user(out, j->uid);
	aif_buf_puts(out, ": ");
	aif_joined_times_text(out, &j->times);
}

static void print_row(const struct aif_joined *j)
{
	struct aif_buf out = {0};

	if (is_left(j)) {
		put_why(&out, j->uid, j->why);
	} else {
		aif_buf_printf(&out, "process %d, %s", j->pid, j->name);
		put_user(&out, j->uid);
		aif_buf_printf(&out, ": a thread stood still for %.1f ms",
			       (double)j->times.longest.ns / 1e6);
	}
	fprintf(stderr, "         %s\n", aif_buf_str(&out));
	aif_buf_finish(&out);
}

/* `unlisted`: how many of that part have no row. */
static void print_part(const struct aif_joined_list *l, bool is_joined, size_t most,
		       uint64_t unlisted)
{
	size_t n = 0;

	for (size_t i = 0; i < l->len; i++)
		if (is_left(&l->row[i]) != is_joined && n++ < most)
			print_row(&l->row[i]);
	if (n > most)
		fprintf(stderr, "         and %zu more, which -v names\n", n - most);
	if (unlisted)
		fprintf(stderr, "         and %" PRIu64 " more: the list ends after %d\n", unlisted,
			AIF_JOINED_ROWS_MAX);
}

void aif_joined_list_print(const struct aif_joined_list *l, bool all)
{
	size_t joined = 0, left, part = all ? SIZE_MAX : LINES_MOST / 2;
	uint64_t n;

	for (size_t i = 0; i < l->len; i++)
		joined += !is_left(&l->row[i]);
	left = l->len - joined;
	if (joined || l->more_joined) {
		n = joined + l->more_joined;
		aif_message("joined %" PRIu64 " process%s that nobody had prepared", n,
			    n == 1 ? "" : "es");
		print_part(l, true, left || all ? part : LINES_MOST, l->more_joined);
	}
	if (left || l->more_left) {
		n = left + l->more_left;
		aif_message("left %" PRIu64 " process%s alone", n, n == 1 ? "" : "es");
		print_part(l, false, joined || all ? part : LINES_MOST, l->more_left);
	}
}

void aif_joined_list_finish(struct aif_joined_list *l)
{
	free(l->row);
	aif_map_finish(&l->at);
	*l = (struct aif_joined_list){.len = 0};
}
