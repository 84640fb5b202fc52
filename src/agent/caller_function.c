/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/caller_function.h"

#include "agent/next_function.h"
#include "base/base.h"

/* Modules that one needs, with all that these need: others are left out. */
#define MODULES_MAX 512

struct modules {
	const struct link_map *at[MODULES_MAX];
	size_t len;
};

static bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

static const char *base_of(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* glibc has made addresses of what a dynamic section names, musl has not. */
static const char *strings_of(const struct link_map *m)
{
	for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			return (const char *)(d->d_un.d_ptr < m->l_addr ? m->l_addr + d->d_un.d_ptr
									: d->d_un.d_ptr);
	return NULL;
}

static bool is_called(const struct link_map *m, const char *name)
{
	const char *strings = strings_of(m);

	for (const ElfW(Dyn) *d = m->l_ld; strings && d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME && same(base_of(strings + d->d_un.d_val), name))
			return true;
	return m->l_name && same(base_of(m->l_name), name);
}

static bool has(const struct modules *s, const struct link_map *m)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->at[i] == m)
			return true;
	return false;
}

static void add(struct modules *s, const struct link_map *m)
{
	if (m && s->len < MODULES_MAX && !has(s, m))
		s->at[s->len++] = m;
}

static void add_needed(struct modules *s, const struct link_map *m)
{
	const char *strings = strings_of(m);

	for (const ElfW(Dyn) *d = m->l_ld; strings && d && d->d_tag != DT_NULL; d++) {
		const struct link_map *of = aif_modules();

		if (d->d_tag != DT_NEEDED)
			continue;
		while (of && !is_called(of, base_of(strings + d->d_un.d_val)))
			of = of->l_next;
		add(s, of);
	}
}

/* Returns the first of the modules, and of all that they need, that defines the function. */
static void *find(struct modules *s, const char *name, bool after_agent)
{
	void *found = NULL;
	bool behind = !after_agent;

	for (size_t i = 0; i < s->len; i++)
		add_needed(s, s->at[i]);
	for (size_t i = 0; i < s->len && !found; i++) {
		if (behind)
			found = aif_function_of(s->at[i], name);
		behind |= s->at[i]->l_ld == _DYNAMIC;
	}
	return found;
}

/* The program and what was preloaded: the list has these before all that the program needs. */
static void add_first(struct modules *s)
{
	const struct link_map *program = aif_modules();
	struct modules needed = {.len = 0};

	if (!program)
		return;
	add_needed(&needed, program);
	for (const struct link_map *m = program; m && !has(&needed, m); m = m->l_next)
		add(s, m);
}

void *aif_caller_function(const char *name, const struct link_map *caller)
{
	struct modules s = {.len = 0};
	void *found;

	add_first(&s);
	found = find(&s, name, true);
	if (!found) {
		s.len = 0;
		add(&s, caller);
		found = find(&s, name, false);
	}
	return found ? found : aif_next_function(name);
}
