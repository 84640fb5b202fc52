/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/print.h"
#include "stacks/ranks.h"
#include "text/json.h"

#include <inttypes.h>
#include <string.h>

/* Ranks that are listed where many have one stack. */
#define LISTED 16

/* ---- text ---- */

struct one {
	const struct aif_stacks_rank *rank;
	const struct aif_stacks_thread *thread;
	uint64_t hash;
};

static void put_who(const struct aif_stacks_job *j, const struct one *o, struct aif_buf *out)
{
	if (j->number)
		aif_buf_printf(out, "rank %" PRIu32 ", process %d, thread ", o->rank->job.rank,
			       o->rank->pid);
	else
		aif_buf_printf(out, "process %d, thread ", o->rank->pid);
	aif_stacks_put_thread(o->thread, out);
}

static void put_stack(const struct aif_stacks_job *j, const struct one *all, size_t len, size_t i,
		      const struct aif_stacks_opts *o, struct aif_buf *out)
{
	size_t same = 0;

	put_who(j, &all[i], out);
	aif_stacks_put_activity(all[i].thread, out);
	aif_buf_puts(out, "\n");
	aif_stacks_put_frames(all[i].thread, o->full, out);
	for (size_t k = i + 1; k < len; k++) {
		if (all[k].hash != all[i].hash ||
		    !aif_stacks_is_same_frames(all[k].thread, all[i].thread))
			continue;
		if (same < LISTED) {
			aif_buf_puts(out, same ? "; " : "    [the same: ");
			put_who(j, &all[k], out);
		}
		same++;
	}
	if (same > LISTED)
		aif_buf_printf(out, "; and %zu more", same - LISTED);
	aif_buf_puts(out, same ? "]\n\n" : "\n");
}

void aif_stacks_job_text(const struct aif_stacks_job *j, const struct aif_stacks_opts *o,
			 struct aif_buf *out)
{
	struct aif_map seen = {0};
	struct one *all;
	size_t len = 0;

	for (size_t i = 0; i < j->len; i++)
		len += j->ranks[i].s.len;
	all = malloc(AIF_MAX(len, 1) * sizeof(*all));
	out->failed |= !all;
	len = 0;
	for (size_t i = 0; all && i < j->len; i++)
		for (size_t k = 0; k < j->ranks[i].s.len; k++) {
			all[len] = (struct one){.rank = &j->ranks[i],
						.thread = &j->ranks[i].s.threads[k]};
			all[len].hash = aif_stacks_hash_frames(all[len].thread);
			len++;
		}
	for (size_t i = 0; all && i < len; i++) {
		uint64_t first;

		if (aif_map_get(&seen, all[i].hash, &first) &&
		    aif_stacks_is_same_frames(all[first].thread, all[i].thread))
			continue;
		out->failed |= aif_map_put(&seen, all[i].hash, i) < 0;
		put_stack(j, all, len, i, o, out);
	}
	free(all);
	aif_map_finish(&seen);
	aif_stacks_job_say(j, out);
}

/* ---- JSON ---- */

static void put_text(struct aif_buf *out, const char *key, const char *text)
{
	aif_out_json_key(out, key);
	aif_out_json_escaped_text(out, text);
}

static void put_where(const struct aif_stacks_rank *r, struct aif_buf *out)
{
	static const char *const places[] = {[AIF_STACKS_ELSEWHERE] = "elsewhere",
					     [AIF_STACKS_COLLECTIVE] = "collective",
					     [AIF_STACKS_PEER] = "peer",
					     [AIF_STACKS_DEVICE] = "device"};
	const struct aif_stacks_where *w = &r->where;

	put_text(out, "place", places[w->place]);
	if (r->s.len)
		aif_json_put_u64(out, "tid", (uint64_t)r->s.threads[w->thread].tid);
	if (*w->operation)
		put_text(out, "operation", w->operation);
	if (w->caller) {
		put_text(out, "function", w->caller->function);
		if (w->caller->file)
			put_text(out, "file", w->caller->file);
		if (w->caller->line)
			aif_json_put_u64(out, "line", w->caller->line);
	}
	aif_out_json_key(out, "moved");
	aif_buf_puts(out, r->has_moved ? "true" : "false");
}

static void put_latest(const struct aif_collective_counts *counts, const struct aif_communicator *c,
		       struct aif_buf *out)
{
	uint64_t begun = c->begun;
	uint64_t i = begun > AIF_COLLECTIVES_LATEST ? begun - AIF_COLLECTIVES_LATEST + 1 : 1;
	bool begins = true;

	aif_out_json_key(out, "latest");
	aif_buf_puts(out, "[");
	for (; i && i <= begun; i++) {
		struct aif_collective_call call;

		if (!aif_stacks_call(c, i, &call))
			continue;
		aif_buf_printf(out, "%s{\"number\":%" PRIu64, begins ? "" : ",", i);
		begins = false;
		put_text(out, "operation", counts->kinds[call.kind]);
		if (call.bytes != UINT64_MAX)
			aif_json_put_u64(out, "bytes", call.bytes);
		aif_buf_puts(out, "}");
	}
	aif_buf_puts(out, "]");
}

static void put_counts(const struct aif_collective_counts *counts, struct aif_buf *out)
{
	bool begins = true;

	aif_out_json_key(out, "communicators");
	aif_buf_puts(out, "[");
	for (size_t i = 0; i < AIF_COMMUNICATORS; i++) {
		const struct aif_communicator *c = &counts->communicators[i];

		if (!c->is_used)
			continue;
		aif_buf_printf(out, "%s{\"id\":\"0x%" PRIx64 "\"", begins ? "" : ",", c->id);
		begins = false;
		if (c->size)
			aif_json_put_u64(out, "size", c->size);
		if (c->rank != UINT32_MAX)
			aif_json_put_u64(out, "rank", c->rank);
		aif_json_put_u64(out, "begun", c->begun);
		put_latest(counts, c, out);
		aif_buf_puts(out, "}");
	}
	aif_buf_puts(out, "]");
}

void aif_stacks_job_json(const struct aif_stacks_job *j, struct aif_buf *out)
{
	struct aif_buf said = {0};
	char *line, *next;

	aif_buf_printf(out, "{\"world\":%" PRIu32 ",\"apart_ns\":%" PRIu64, j->world, j->apart_ns);
	aif_stacks_job_say(j, &said);
	aif_out_json_key(out, "says");
	aif_buf_puts(out, "[");
	for (line = (char *)aif_buf_str(&said); *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		aif_buf_puts(out, line == (char *)said.data ? "" : ",");
		aif_out_json_escaped_text(out, line);
	}
	aif_buf_puts(out, "]");
	out->failed |= said.failed;
	aif_buf_finish(&said);
	aif_out_json_key(out, "ranks");
	aif_buf_puts(out, "[");
	for (size_t i = 0; i < j->len; i++) {
		const struct aif_stacks_rank *r = &j->ranks[i];

		aif_buf_printf(out, "%s{\"pid\":%d", i ? ",\n " : "\n ", r->pid);
		if (j->number)
			aif_json_put_u64(out, "rank", r->job.rank);
		if (r->why.code) {
			put_text(out, "error", r->why.text);
		} else {
			put_where(r, out);
			if (r->counts)
				put_counts(r->counts, out);
			aif_out_json_key(out, "process");
			aif_stacks_json(&r->s, out);
		}
		aif_buf_puts(out, "}");
	}
	aif_buf_puts(out, "]}");
}
