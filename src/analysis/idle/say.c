/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/idle/blame.h"

#include "base/human.h"

#include <inttypes.h>

static const char *const cause_names[AIF_IDLE_CAUSES] = {
#define AIF_IDLE_CAUSE(id, name, meaning) name,
#include "analysis/idle/causes.def"
#undef AIF_IDLE_CAUSE
};
const char *aif_idle_cause_name(enum aif_idle_cause c)
{
	return c < AIF_IDLE_CAUSES ? cause_names[c] : "?";
}

void aif_idle_blame_say(const struct aif_idle_blame *b, struct aif_buf *out)
{
	const char *between = ": ";
	bool said[AIF_IDLE_CAUSES] = {false};

	aif_human_ns(out, b->idle_ns);
	aif_buf_puts(out, " idle in ");
	aif_human_counted(out, b->gaps, "gap");
	for (;;) {
		size_t most = AIF_IDLE_CAUSES;

		for (size_t i = 0; i < AIF_IDLE_CAUSES; i++)
			if (!said[i] && b->of_cause[i] &&
			    (most == AIF_IDLE_CAUSES || b->of_cause[i] > b->of_cause[most]))
				most = i;
		if (most == AIF_IDLE_CAUSES)
			break;
		said[most] = true;
		aif_buf_printf(out, "%s%.1f %% %s", between,
			       100 * (double)b->of_cause[most] / (double)b->idle_ns,
			       cause_names[most]);
		between = ", ";
	}
	if (b->captured_ns < b->idle_ns) {
		aif_buf_puts(out, "; estimated from gaps of ");
		aif_human_ns(out, b->captured_ns);
		aif_buf_puts(out, " that were captured whole");
	}
}

bool aif_idle_blame_check(const struct aif_idle_blame *b, struct aif_buf *ret_text)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < b->devices_len; k++) {
		const struct aif_idle_device *d = &b->devices[k];
		uint64_t causes = 0, rows = 0;

		for (size_t i = 0; i < AIF_IDLE_CAUSES; i++)
			causes += d->of_cause[i];
		for (size_t row = 0; row < b->len; row++)
			rows += b->rows[row].device == k ? b->rows[row].ns : 0;
		sum += rows;
		if (causes == d->idle_ns && rows == d->idle_ns)
			continue;
		aif_buf_printf(ret_text,
			       "idle = its causes: %" PRIu64 " ns on the left, %" PRIu64
			       " by cause, %" PRIu64 " by stack, on a device",
			       d->idle_ns, causes, rows);
		return false;
	}
	if (sum != b->idle_ns)
		aif_buf_printf(ret_text, "idle of all devices: %" PRIu64 " ns, by stack %" PRIu64,
			       b->idle_ns, sum);
	return sum == b->idle_ns;
}
