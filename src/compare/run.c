/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/run.h"

#include "base/memory.h"
#include "base/signals.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

void aif_run_finish(struct aif_run *r)
{
	free(r->path);
	for (unsigned i = 0; i < AIF_RUN_TEXTS; i++)
		free(r->text[i]);
	aif_tree_finish(&r->tree);
	for (unsigned i = 0; i < AIF_RUN_BYS; i++)
		aif_tree_finish(&r->by[i]);
	aif_strset_finish(&r->range_names);
	free(r->ranges);
	aif_strset_finish(&r->kernel_names);
	free(r->kernels);
	*r = (struct aif_run){0};
}

const char *aif_run_text_key(enum aif_run_text which)
{
	static const char *const keys[AIF_RUN_TEXTS] = {
		[AIF_RUN_COMMAND] = "command", [AIF_RUN_HOST] = "host",
		[AIF_RUN_MACHINE] = "machine", [AIF_RUN_DRIVER] = "driver",
		[AIF_RUN_PROBLEM] = "problem", [AIF_RUN_LACKS] = "lacks",
		[AIF_RUN_LABEL] = "label",
	};

	return keys[which];
}

const char *aif_run_text(const struct aif_run *r, enum aif_run_text which)
{
	return r->text[which] ? r->text[which] : "";
}

bool aif_run_is_open(const struct aif_profile *p)
{
	return !p->traits.is_imported && *aif_profile_meta(p, "recorder_version") &&
	       (!*aif_profile_meta(p, "exit_status") || *aif_profile_meta(p, "end.by") ||
		p->kept_ns > p->start_ns);
}

/* A command may be megabytes long; nobody looks at more of it. */
#define MOST_TEXT 4000

int aif_run_set(struct aif_run *r, enum aif_run_text which, const char *text)
{
	size_t len = strnlen(text, MOST_TEXT + 1);
	char *copy;

	if (len > MOST_TEXT)
		for (len = MOST_TEXT; len && ((uint8_t)text[len] & 0xc0) == 0x80;)
			len--;
	copy = strndup(text, len);
	if (!copy) {
		aif_memory_fail();
		return -ENOMEM;
	}
	free(r->text[which]);
	r->text[which] = copy;
	return 0;
}

int aif_run_set_lacks(struct aif_run *r, const struct aif_profile *p)
{
	struct aif_buf text = {0};
	int e = 0;

	if (aif_lacks_say(&p->traits, UINT_MAX, &text))
		e = aif_buf_failed(&text) ? -ENOMEM
					  : aif_run_set(r, AIF_RUN_LACKS, aif_buf_str(&text));
	aif_buf_finish(&text);
	return e;
}

size_t aif_run_range_stem(const char *name)
{
	size_t len = strlen(name), stem = len;

	while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9')
		stem--;
	if (stem == len)
		return len;
	while (stem && strchr(" _#:-=", name[stem - 1]))
		stem--;
	return stem ? stem : len;
}

/* Returns how much of a range's name counts: whole characters. */
static size_t range_name_len(const char *name, size_t len)
{
	if (len <= AIF_RUN_RANGE_NAME)
		return len;
	for (len = AIF_RUN_RANGE_NAME; len && ((uint8_t)name[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

uint32_t aif_run_add_ranges(struct aif_run *r, const char *name, size_t len, uint64_t n)
{
	uint32_t number = aif_strset_put(&r->range_names, name, range_name_len(name, len));

	if (number == AIF_STR_NONE ||
	    aif_grow(&r->ranges, &r->ranges_cap, number + 1, sizeof(*r->ranges)) < 0)
		return AIF_STR_NONE;
	for (; r->ranges_len <= number; r->ranges_len++)
		r->ranges[r->ranges_len] = 0;
	if (__builtin_add_overflow(r->ranges[number], n, &r->ranges[number]))
		return AIF_STR_NONE;
	return number;
}

uint64_t aif_run_ranges(const struct aif_run *r, const char *name)
{
	uint32_t number =
		aif_strset_find(&r->range_names, name, range_name_len(name, strlen(name)));

	return number < r->ranges_len ? r->ranges[number] : 0;
}

const char *aif_run_command(const struct aif_run *r, size_t *ret_len)
{
	static const char shell[] = "/bin/sh -c ";
	const char *s = aif_run_text(r, AIF_RUN_COMMAND);

	*ret_len = strlen(s);
	if (strncmp(s, shell, sizeof(shell) - 1) != 0)
		return s;
	s += sizeof(shell) - 1;
	*ret_len -= sizeof(shell) - 1;
	if (*ret_len > 1 && *s == '\'' && strchr(s + 1, '\'') == s + *ret_len - 1) {
		s++;
		*ret_len -= 2;
	}
	return s;
}

bool aif_run_is_idle(const struct aif_tree *t, uint32_t name)
{
	size_t len;
	const char *text = aif_tree_text(t, name, &len);

	return aif_tree_base_type(aif_tree_type_of(t, name)) == AIF_TREE_SYNTHETIC && len > 5 &&
	       !memcmp(text, "[idle", 5) && (text[5] == ':' || text[5] == ' ');
}

int aif_run_of_folded(struct aif_tree *t, const char *path, struct aif_run *ret,
		      struct aif_err *err)
{
	*ret = (struct aif_run){.is_counts = true, .tree = *t, .path = strdup(path)};
	*t = (struct aif_tree){0};
	return ret->path ? 0 : aif_err_set(err, -ENOMEM, "out of memory");
}

int aif_run_fatal_signal(const struct aif_profile *p)
{
	long status = strtol(aif_profile_meta(p, "exit_status"), NULL, 10);
	int number = status > 128 && status <= 192 ? (int)status - 128 : 0;

	if (*aif_profile_meta(p, "end.by") || !number || !aif_signal_name(number))
		return 0;
	return number == SIGKILL || aif_signal_is_crash(number) ? number : 0;
}
