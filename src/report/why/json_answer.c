/* SPDX-License-Identifier: Apache-2.0 */
/* The answer's sentences for programs: the lines that people read, as members (text/json_answer.h). */
#include "report/why/saying.h"

#include "analysis/no_samples.h"
#include "text/json.h"

#include <string.h>

/* Columns of a line before its text: of all lines, and of rows that begin with a share. */
enum { OF_KEY = 9, OF_SHARE = 18 };

struct answer {
	struct aif_json_answer head;
	struct aif_buf tries;
	const char *command; /* which shows more of the lines that come */
	size_t lines;        /* that the part has had */
};

static const char *from_column(const char *text, size_t column)
{
	return text + AIF_MIN(column, strlen(text));
}

static void take_verdict(struct saying *s, const char *text)
{
	struct answer *a = s->taker;

	aif_json_answer_verdict(&a->head, from_column(text, OF_KEY));
}

/* Takes a line that is evidence by itself. */
static void take_fact(struct saying *s, const char *text)
{
	struct answer *a = s->taker;

	aif_json_answer_evidence(&a->head, from_column(text, OF_KEY), -1, a->command);
}

/* Takes rows behind a line that only begins them. */
static void take_row(struct saying *s, const char *text)
{
	struct answer *a = s->taker;

	if (a->lines++)
		aif_json_answer_evidence(&a->head,
					 from_column(text, s->ppm < 0 ? OF_KEY : OF_SHARE), s->ppm,
					 a->command);
}

static void take_try(struct saying *s, const char *text)
{
	struct answer *a = s->taker;

	if (a->tries.len)
		aif_buf_putc(&a->tries, ',');
	aif_out_json_text(&a->tries, from_column(text, OF_KEY));
}

/* Begins a part whose lines `take` takes, and of which `view` shows more. */
static void begin(struct saying *s, void (*take)(struct saying *s, const char *text),
		  const char *view, const char *path, struct aif_buf *command)
{
	struct answer *a = s->taker;

	aif_buf_clear(command);
	aif_buf_printf(command, "aiflame %s", view);
	aif_why_say_selection(s->w, command);
	aif_buf_putc(command, ' ');
	aif_buf_shell_path(command, path);
	a->command = aif_buf_str(command);
	a->lines = 0;
	s->take = take;
	s->ppm = -1;
}

static void say_evidence(struct saying *s, const char *path)
{
	struct answer *a = s->taker;
	struct aif_buf command = {0};
	const char *next[2];

	/* Evidence of a late rank comes first: neither idle time nor a kernel bounds its job. */
	if (aif_why_is_rank_late(s->w)) {
		begin(s, take_fact, "report --ranks", path, &command);
		aif_why_say_ranks(s);
	}
	begin(s, take_row, "report --idle", path, &command);
	aif_why_say_owners(s);
	begin(s, take_row, "report --kernels", path, &command);
	aif_why_say_kernels(s);
	begin(s, take_fact, "report --queue", path, &command);
	aif_why_say_queue(s);
	if (!aif_why_is_rank_late(s->w)) {
		begin(s, take_fact, "report --ranks", path, &command);
		aif_why_say_ranks(s);
	}
	begin(s, take_fact, "report --changes", path, &command);
	aif_why_say_changes(s);
	a->command = NULL;
	aif_why_say_machine(s);
	aif_why_next(s->w, next);
	for (size_t i = 0; i < AIF_ARRAY_LEN(next); i++) {
		begin(s, NULL, next[i], path, &command);
		aif_json_answer_next(&a->head, a->command);
	}
	aif_buf_finish(&command);
}

static void abstain(const struct saying *s, struct aif_json_answer *head)
{
	enum aif_why_unknown what[AIF_WHY_UNKNOWNS];
	size_t n = aif_why_unknown(s->names->p, s->w, what);
	struct aif_buf incomplete = {0};

	for (size_t i = 0; i < n; i++)
		aif_json_answer_abstain(head, aif_why_unknown_key(what[i]),
					aif_why_unknown_text(what[i]));
	if (aif_why_incomplete(s->names->p, false, &incomplete))
		aif_json_answer_abstain(head, "incomplete", aif_buf_str(&incomplete));
	head->abstained.failed |= aif_buf_failed(&incomplete);
	aif_buf_finish(&incomplete);
}

void aif_why_json_answer(const struct aif_names *names, const struct aif_why *w, const char *path,
			 struct aif_buf *out)
{
	struct answer a = {.command = NULL};
	struct saying s = {.names = names, .w = w, .out = out, .taker = &a};
	enum aif_why_group order[AIF_WHY_GROUPS];
	size_t n = aif_why_order(w->of_group, order);

	if (!w->time_ns) {
		aif_json_answer_abstain(&a.head, "device",
					aif_no_cpu_samples(names->p)
						?: "no device work with times is in it");
	} else {
		s.take = take_verdict;
		aif_why_say_bound(&s, order, n);
		say_evidence(&s, path);
		s.take = take_try;
		aif_why_say_advice(&s, order, n);
	}
	abstain(&s, &a.head);
	if (w->damaged)
		aif_json_answer_abstain(&a.head, "damaged",
					"part of the file could not be read: times are missing");
	aif_json_answer_put(&a.head, "why", out);
	aif_buf_puts(out, ",\"try\":[");
	aif_buf_append(out, a.tries.data, a.tries.len);
	aif_buf_puts(out, "],");
	out->failed |= aif_buf_failed(&a.tries) || aif_buf_failed(&s.line);
	aif_buf_finish(&a.tries);
	aif_buf_finish(&s.line);
}
