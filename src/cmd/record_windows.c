/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record_windows.h"

#include "base/clock.h"
#include "cmd/message.h"
#include "text/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_activation_right(const char *activate, struct aif_record_opts *o,
				struct aif_err *err)
{
	int r = activate ? aif_activation_parse(activate, aif_clock_ns(CLOCK_REALTIME),
						&o->activation)
			 : 0;

	if (r == -ERANGE)
		return aif_err_set(err, -1, "record: --activate: %s is over; give a later time",
				   activate) == 0;
	if (r)
		return aif_err_set(
			       err, -1,
			       "record: --activate: '%s' is not a multiple (/10s, of 100ms to 24h), "
			       "a time of the day (14:05 or 14:05:00) or @SECONDS since 1970",
			       activate) == 0;
	o->activate = activate;
	if (o->repeat && o->activation.at_ns)
		return aif_err_set(err, -1,
				   "record: --repeat repeats --activate at multiples only; give "
				   "/TIME") == 0;
	return true;
}

bool aif_record_windows_right(const char *steps, const char *activate, struct aif_record_opts *o,
			      struct aif_err *err)
{
	const char *colon = steps ? strchr(steps, ':') : NULL;
	uint32_t first = 0, end = 0;
	char from[16] = "";

	if (!is_activation_right(activate, o, err))
		return false;
	if (o->repeat && (!aif_record_is_delayed(o) || !o->duration_ns))
		return aif_err_set(err, -1,
				   "record: --repeat needs --duration, and --delay or --activate; "
				   "give both") == 0;
	if (!steps)
		return true;
	if (colon && (size_t)(colon - steps) < sizeof(from))
		memcpy(from, steps, (size_t)(colon - steps));
	if (aif_parse_count(from, &first) < 0 ||
	    aif_parse_count(colon ? colon + 1 : "", &end) < 0 || first >= end)
		return aif_err_set(err, -1,
				   "record: --steps: '%s' is not A:B with A less than B; 10:13 "
				   "means the steps 10, 11 and 12",
				   steps) == 0;
	o->schedule = (struct aif_schedule){.skip = first, .active = end - first, .repeat = 1};
	return true;
}

bool aif_record_reduce_right(struct aif_record_opts *o, struct aif_err *err)
{
	if (o->reduce == AIF_REDUCE_NOT_GIVEN) {
		o->reduce = 0;
		return true;
	}
	if (o->reduce >= 2 && !o->keep_ns && !o->max_size)
		return true;
	return aif_err_set(
		       err, -1, "record: --reduce: %s",
		       o->reduce < 2
			       ? "give 2 or more; with less nothing is left out"
			       : "leaves out other rows than --keep and --max-size; give one") == 0;
}

void aif_record_say_waits(void *arg, uint64_t due_ns)
{
	const uint64_t now = aif_clock_ns(CLOCK_REALTIME);
	const time_t seconds = (time_t)(due_ns / AIF_NS_PER_S);
	char at[64] = "?";
	struct tm tm;

	(void)arg;
	if (localtime_r(&seconds, &tm))
		strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S", &tm);
	aif_message("collecting begins at %s.%03u, in %.1f s; `aiflame ctl start` begins it now",
		    at, (unsigned)(due_ns % AIF_NS_PER_S / 1000000),
		    due_ns > now ? (double)(due_ns - now) / 1e9 : 0.0);
}
