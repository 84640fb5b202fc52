/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/words.h"

#include "base/human.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void aif_flame_subtitle(const struct aif_profile *p, struct aif_buf *b)
{
	time_t start = (time_t)(strtoull(aif_profile_meta(p, "start_realtime_ns"), NULL, 10) /
				AIF_NS_PER_S);
	struct tm tm;
	char date[32] = "";

	if (start && gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	aif_buf_puts(b, aif_profile_meta(p, "command"));
	/* Imported files may tell neither. */
	if (*aif_profile_meta(p, "host"))
		aif_buf_printf(b, " on %s", aif_profile_meta(p, "host"));
	if (*date)
		aif_buf_printf(b, ", %s", date);
	if (p->notes & AIF_NOTE_CUT_SHORT)
		aif_buf_puts(b, ", cut short");
}

const char *aif_flame_cxx_word(const struct aif_profile *p)
{
	bool operators = false, functions = false;

	for (size_t i = 0; i < p->frames_len; i++) {
		operators |= p->frames[i].kind == AIF_FRAME_OP;
		functions |= p->frames[i].kind == AIF_FRAME_NATIVE;
	}
	return !operators ? NULL : functions ? "C++, operator" : "operator";
}

void aif_flame_time_say(const struct aif_run_part *time, struct aif_buf *b)
{
	aif_buf_puts(b, "--time ");
	switch (time->part) {
	case AIF_PART_LOOP:
		aif_buf_puts(b, "loop");
		return;
	case AIF_PART_STARTUP:
		aif_buf_puts(b, "startup");
		return;
	case AIF_PART_TAIL:
		aif_buf_puts(b, "tail");
		return;
	case AIF_PART_STEPS:
		aif_buf_printf(b, time->first == time->last ? "step:%u" : "steps:%u-%u",
			       time->first, time->last);
		return;
	case AIF_PART_ALL:
		aif_buf_puts(b, "all");
		return;
	case AIF_PART_NONE:
		break;
	}
	if (time->from_ns)
		aif_human_ns(b, time->from_ns);
	aif_buf_putc(b, ',');
	if (time->to_ns)
		aif_human_ns(b, time->to_ns);
}

int aif_flame_check_lengths(const struct aif_profile *p, const struct aif_flame_opts *o,
			    struct aif_err *err)
{
	if (!p->traits.is_lengths || (o->by != AIF_BY_SAMPLES && o->by != AIF_BY_LAUNCHES))
		return 0;
	if (o->by == AIF_BY_SAMPLES && !p->traits.samples_unknown)
		return 0;
	if (!p->traits.samples_unknown)
		return aif_err_set(
			err, -ENODATA,
			"flame: the number of launches is not known: the imported file has "
			"stacks of samples; leave out --by launches");
	return aif_err_set(
		err, -ENODATA,
		"flame: the numbers of launches and samples are not known: the imported file "
		"has stacks with lengths; leave out --by %s",
		aif_flame_unit(o->by));
}

bool aif_flame_threads_are_apart(const struct aif_profile *p)
{
	return !p->traits.is_imported && strncmp(aif_profile_meta(p, "ebpf"), "all", 3) != 0;
}
