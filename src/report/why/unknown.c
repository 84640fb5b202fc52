/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of an answer: what the profile does not have (unknown.def). */
#include "report/why/why.h"

#include "base/reasons.h"

#include <stdlib.h>

/* Calls of Python that a profiler followed, from which on it slows the program. */
#define PYTHON_CALLS 100

/* Returns true if any stack has a frame that names a place of the program. */
static bool has_places(const struct aif_profile *p)
{
	for (size_t i = 0; i < p->stacks_len; i++) {
		uint32_t frame = p->stacks[i].frame;

		if (frame == AIF_NONE)
			continue;
		switch (p->frames[frame].kind) {
		case AIF_FRAME_NATIVE:
		case AIF_FRAME_PYTHON:
		case AIF_FRAME_OP:
		case AIF_FRAME_RANGE:
			return true;
		default:
			break;
		}
	}
	return false;
}

static bool is_unknown(const struct aif_profile *p, const struct aif_why *w,
		       enum aif_why_unknown what)
{
	switch (what) {
	case AIF_WHY_UNKNOWN_LAUNCHES:
		return !w->launches;
	case AIF_WHY_UNKNOWN_STACKS:
		return w->launches && !has_places(p);
	case AIF_WHY_UNKNOWN_CLOCKS:
		return p->traits.lacks & AIF_LACK_CLOCKS;
	case AIF_WHY_UNKNOWN_WORK:
		return p->traits.lacks & AIF_LACK_WORK;
	case AIF_WHY_UNKNOWN_STEPS:
		return w->phases.from == AIF_PHASES_MARKS && w->phases.len < 3;
	case AIF_WHY_UNKNOWN_CUT:
		return p->notes & AIF_NOTE_CUT_SHORT;
	case AIF_WHY_UNKNOWN_SLOWED:
		return strtoull(aif_profile_meta(p, "imported.python_calls"), NULL, 10) >=
			       PYTHON_CALLS &&
		       aif_share_ppm(w->of_group[AIF_WHY_HOST], w->time_ns) >= AIF_WHY_ADVICE_PPM;
	case AIF_WHY_UNKNOWNS:
		break;
	}
	return false;
}

size_t aif_why_unknown(const struct aif_profile *p, const struct aif_why *w,
		       enum aif_why_unknown ret[AIF_WHY_UNKNOWNS])
{
	size_t n = 0;

	for (unsigned i = 0; i < AIF_WHY_UNKNOWNS; i++)
		if ((w->time_ns || i == AIF_WHY_UNKNOWN_CUT) &&
		    is_unknown(p, w, (enum aif_why_unknown)i))
			ret[n++] = (enum aif_why_unknown)i;
	return n;
}

bool aif_why_incomplete(const struct aif_profile *p, bool of_cpus, struct aif_buf *out)
{
	unsigned of = AIF_LACK_CPU | AIF_LACK_OFF_CPU | AIF_LACK_WAITS | AIF_LACK_STACKS |
		      AIF_LACK_RECORDS | AIF_LACK_EVENTS;

	bool is_cut = of_cpus && p->notes & AIF_NOTE_CUT_SHORT;
	struct aif_buf lacks = {0};
	bool lacks_any;

	if (!of_cpus)
		of |= AIF_LACK_EXECUTIONS | AIF_LACK_LAUNCHES | AIF_LACK_JOINS | AIF_LACK_RANGES |
		      AIF_LACK_CALLS;
	lacks_any = aif_lacks_say(&p->traits, of, &lacks);
	if (is_cut)
		aif_buf_puts(out, aif_why_unknown_text(AIF_WHY_UNKNOWN_CUT));
	if (lacks_any)
		aif_buf_printf(out, "%s%s", is_cut ? "; " : "", aif_buf_str(&lacks));
	out->failed |= aif_buf_failed(&lacks);
	aif_buf_finish(&lacks);
	return is_cut || lacks_any;
}

const char *aif_why_unknown_key(enum aif_why_unknown what)
{
	static const char *const keys[] = {
#define AIF_WHY_UNKNOWN(id, key, text) key,
#include "report/why/unknown.def"
#undef AIF_WHY_UNKNOWN
	};

	return keys[what];
}

const char *aif_why_unknown_text(enum aif_why_unknown what)
{
	static const char *const texts[] = {
#define AIF_WHY_UNKNOWN(id, key, text) text,
#include "report/why/unknown.def"
#undef AIF_WHY_UNKNOWN
	};

	return texts[what];
}
