/* SPDX-License-Identifier: Apache-2.0 */
#include "page/roots.h"

#include "base/memory.h"
#include "names/process_names.h"
#include "text/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void aif_page_roots_finish(struct aif_page_roots *r)
{
	free(r->parts);
	free(r->at);
	aif_map_finish(&r->part_of);
	aif_map_finish(&r->root_of);
}

int aif_page_roots_part(struct aif_page_roots *r, uint32_t group, uint32_t thread, double ns)
{
	uint64_t key = (uint64_t)group << 32 | thread, i;

	if (!aif_map_get(&r->part_of, key, &i)) {
		i = r->parts_len;
		if (aif_grow(&r->parts, &r->parts_cap, i + 1, sizeof(*r->parts)) < 0 ||
		    aif_map_put(&r->part_of, key, i) < 0)
			return -ENOMEM;
		r->parts[r->parts_len++] = (struct aif_page_root_part){group, thread, 0};
	}
	r->parts[i].ns += ns;
	return 0;
}

static int by_group(const void *pa, const void *pb)
{
	const struct aif_page_root_part *a = pa, *b = pb;

	return AIF_ORDER(a->group, b->group) ?: AIF_ORDER(a->thread, b->thread);
}

void aif_page_roots_seal(struct aif_page_roots *r)
{
	aif_map_finish(&r->part_of);
	r->part_of = (struct aif_map){0};
	if (r->parts_len)
		qsort(r->parts, r->parts_len, sizeof(*r->parts), by_group);
}

uint32_t aif_page_root(struct aif_page_roots *r, uint32_t process, uint32_t thread)
{
	uint64_t key = (uint64_t)process << 32 | thread, i;

	if (aif_map_get(&r->root_of, key, &i))
		return (uint32_t)i;
	i = r->len;
	if (aif_grow(&r->at, &r->cap, i + 1, sizeof(*r->at)) < 0 ||
	    aif_map_put(&r->root_of, key, i) < 0) {
		r->failed = true;
		return 0;
	}
	r->at[r->len].process = process;
	r->at[r->len++].thread = thread;
	return (uint32_t)i;
}

static bool is_of(const struct aif_page_roots *r, const struct aif_page_root_part *part,
		  uint32_t process)
{
	return part->thread != AIF_NONE && r->p->threads[part->thread].process == process;
}

struct aif_page_root_share aif_page_roots_of(const struct aif_page_roots *r, uint32_t group,
					     uint32_t process)
{
	struct aif_page_root_share s = {.process = process};

	s.at = AIF_BISECT(mid, 0, r->parts_len, r->parts[mid].group < group);
	for (s.end = s.at; s.end < r->parts_len && r->parts[s.end].group == group; s.end++)
		s.sum += is_of(r, &r->parts[s.end], process) ? r->parts[s.end].ns : 0;
	s.is_whole = !(s.sum > 0);
	return s;
}

bool aif_page_root_next(struct aif_page_roots *r, struct aif_page_root_share *s, uint64_t value,
			uint32_t *ret_root, uint64_t *ret_part)
{
	uint64_t until;

	if (s->is_whole) {
		s->is_whole = false;
		s->at = s->end;
		*ret_root = aif_page_root(r, s->process, AIF_NONE);
		*ret_part = value;
		return true;
	}
	while (s->at < s->end && !is_of(r, &r->parts[s->at], s->process))
		s->at++;
	if (s->at == s->end)
		return false;
	s->so_far += r->parts[s->at].ns;
	until = s->so_far >= s->sum
			? value
			: AIF_MIN(aif_timed_rounded((double)value * (s->so_far / s->sum)), value);
	*ret_root = aif_page_root(r, s->process, r->parts[s->at++].thread);
	*ret_part = until - AIF_MIN(s->given, until);
	s->given = AIF_MAX(s->given, until);
	return true;
}

/* ---- names ------------------------------------------------------------------------------------------ */

/* Appends a name, and adds it to those of frames. */
static int name_put(const struct aif_buf *name, struct aif_page_names *texts, struct aif_buf *json)
{
	if (aif_buf_failed(name) ||
	    aif_strset_put(&texts->names, (const char *)name->data, name->len) == AIF_STR_NONE)
		return -ENOMEM;
	aif_out_json_string(json, (const char *)name->data + 1, name->len - 1);
	return 0;
}

/* Returns what people know a process by: its name where that is no other's, else its program; NULL: neither is known. */
static const char *process_said(const struct aif_process_names *shown, uint32_t process)
{
	const char *text = aif_process_names_show(shown, process), *slash;

	if (text || process == AIF_NONE || shown->p->processes[process].exe == AIF_NONE)
		return text;
	text = aif_profile_str(shown->p, shown->p->processes[process].exe);
	slash = strrchr(text, '/');
	return slash && slash[1] ? slash + 1 : *text ? text : NULL;
}

static int groups_find(const struct aif_page_roots *r, struct aif_thread_groups *ret)
{
	uint32_t *threads = aif_memory_calloc(r->len + 1, sizeof(*threads));
	int e = -ENOMEM;

	for (size_t i = 0; threads && i < r->len; i++)
		threads[i] = r->at[i].thread;
	if (threads)
		e = aif_thread_groups_init(ret, r->p, threads, r->len);
	free(threads);
	return e;
}

int aif_page_roots_put(const struct aif_page_roots *r, struct aif_page_names *texts,
		       struct aif_buf *json, bool *ret_several)
{
	struct aif_process_names shown = {0};
	struct aif_thread_groups groups = {0};
	struct aif_buf name = {0};
	int e;

	*ret_several = r->len > 1;
	if (!*ret_several)
		return 0;
	e = aif_process_names_init(&shown, r->p);
	if (e == 0)
		e = groups_find(r, &groups);
	for (size_t i = 0; e == 0 && i < r->len; i++) {
		uint32_t process = r->at[i].process;
		const char *text = process_said(&shown, process);

		aif_buf_clear(&name);
		aif_buf_putc(&name, AIF_TREE_SYNTHETIC);
		if (process == AIF_NONE)
			aif_buf_puts(&name, "process unknown");
		else
			aif_buf_printf(&name, "process %llu",
				       (unsigned long long)r->p->processes[process].pid);
		if (text)
			aif_buf_printf(&name, ": %s", text);
		aif_buf_puts(json, i ? ",[" : "[");
		e = name_put(&name, texts, json);
		aif_buf_clear(&name);
		aif_buf_putc(&name, AIF_TREE_SYNTHETIC);
		aif_thread_groups_note(&groups, r->at[i].thread, &name);
		aif_buf_putc(json, ',');
		if (e == 0)
			e = name_put(&name, texts, json);
		aif_buf_putc(json, ']');
	}
	aif_process_names_finish(&shown);
	aif_thread_groups_finish(&groups);
	aif_buf_finish(&name);
	return e;
}
