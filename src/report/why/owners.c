/* SPDX-License-Identifier: Apache-2.0 */
#include "report/why/owners.h"

#include "analysis/step_names.h"
#include "names/stack_names.h"

#include <errno.h>
#include <string.h>

/* Returns the name of the innermost range of a stack that is no step, "" if there is none. */
static const char *range_of(const struct aif_profile *p, uint32_t stack)
{
	for (; stack != AIF_NONE; stack = p->stacks[stack].parent) {
		uint32_t frame = p->stacks[stack].frame;
		const char *name;

		if (frame == AIF_NONE || p->frames[frame].kind != AIF_FRAME_RANGE ||
		    p->frames[frame].address >= p->strings.len)
			continue;
		name = aif_profile_str(p, (uint32_t)p->frames[frame].address);
		if (strncmp(name, "ProfilerStep#", 13) != 0 && !aif_step_names_match(name))
			return name;
	}
	return "";
}

int aif_why_place(const struct aif_profile *p, struct aif_stack_names *stacks, uint32_t stack,
		  struct aif_buf *out)
{
	const char *caller = aif_stack_names_caller(stacks, stack), *range = "", *end;
	size_t at = out->len;

	if (!caller)
		return -ENOMEM;
	aif_buf_puts(out, caller);
	if (!*caller && stack != AIF_NONE && aif_stack_names_line(stacks, stack, out) < 0)
		return -ENOMEM;
	if (aif_buf_failed(out))
		return -ENOMEM;
	end = strstr(aif_buf_str(out) + at, AIF_STACK_CALLED_BY);
	if (end)
		out->len = (size_t)(end - (const char *)out->data);
	if (!strpbrk(aif_buf_str(out) + at, "(["))
		range = range_of(p, stack);
	if (*range && strcmp(range, aif_buf_str(out) + at) != 0)
		aif_buf_printf(out, " in %s", range);
	return aif_buf_failed(out) ? -ENOMEM : 0;
}

/* Returns the length of a line's number at `at`, 0: there is none. */
static size_t line_at(const char *at)
{
	size_t digits = *at == ':' ? strspn(at + 1, "0123456789") : 0;

	return digits && at[1 + digits] == ')' ? 1 + digits : 0;
}

void aif_why_place_function(const char *place, struct aif_buf *out)
{
	size_t skip;

	for (const char *c = place; *c; c += skip ? skip : 1) {
		skip = line_at(c);
		if (!skip)
			aif_buf_putc(out, *c);
	}
}

int aif_why_owners_of(const struct aif_names *names, const struct aif_idle_blame *b,
		      struct aif_strset *owners, uint32_t *ret)
{
	struct aif_stack_names *stacks = NULL;
	struct aif_buf place = {0}, owner = {0};
	int e = aif_stack_names_new_with_lines(names, &stacks);

	for (size_t i = 0; i < b->len && !e; i++) {
		aif_buf_clear(&place);
		aif_buf_clear(&owner);
		e = aif_why_place(names->p, stacks, b->rows[i].stack, &place);
		if (e)
			break;
		if (b->rows[i].is_before && !b->rows[i].is_machine)
			aif_buf_puts(&owner, "before ");
		if (b->rows[i].is_machine)
			aif_buf_puts(&owner, AIF_IDLE_MACHINE);
		else if (names->p->traits.is_imported)
			aif_buf_puts(&owner, aif_buf_str(&place));
		else
			aif_why_place_function(aif_buf_str(&place), &owner);
		ret[i] = aif_buf_failed(&owner) ? AIF_STR_NONE
						: aif_strset_puts(owners, aif_buf_str(&owner));
		e = ret[i] == AIF_STR_NONE ? -ENOMEM : 0;
	}
	aif_stack_names_free(stacks);
	aif_buf_finish(&place);
	aif_buf_finish(&owner);
	return e;
}
