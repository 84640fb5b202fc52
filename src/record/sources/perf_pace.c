/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/perf_pace.h"

#include "base/map.h"

/* Some is always seen of what goes on. */
#define LEAST_DUTY 0.005

void aif_perf_pace_init(struct aif_perf_pace *p, uint32_t allowed_ppm, uint64_t seed, uint64_t now)
{
	*p = (struct aif_perf_pace){.allowed_ppm = allowed_ppm,
				    .random = seed,
				    .is_on = true,
				    .since = now,
				    .began = now,
				    .until = now + AIF_PERF_ON_NS};
}

void aif_perf_pace_rate(struct aif_perf_pace *p, double switches_per_s)
{
	p->cost = switches_per_s * AIF_PERF_SWITCH_NS * AIF_PERF_IN_TURN / AIF_NS_PER_S;
}

static double duty(const struct aif_perf_pace *p)
{
	double allowed = p->allowed_ppm / 1e6;

	if (!p->allowed_ppm || p->cost <= allowed)
		return 1;
	return AIF_MAX(allowed / p->cost, LEAST_DUTY);
}

/* 0 to 2 times the mean, which is from how long it was on: turns come late. */
static uint64_t off_ns(struct aif_perf_pace *p, uint64_t was_on_ns)
{
	double d = duty(p), mean = (double)was_on_ns * (1 - d) / d;

	p->random += UINT64_C(0x9e3779b97f4a7c15);
	return (uint64_t)(2 * mean * (double)(aif_mix64(p->random) >> 11) /
			  (double)(UINT64_C(1) << 53));
}

bool aif_perf_pace_turn(struct aif_perf_pace *p, uint64_t now)
{
	uint64_t ns = now > p->since ? now - p->since : 0;

	p->since = now;
	if (p->is_on) {
		p->on_ns += ns;
		p->cost_ns += (uint64_t)((double)ns * p->cost);
	}
	if (duty(p) >= 1) {
		p->is_on = true;
		p->began = now;
		p->until = now + AIF_PERF_ON_NS;
	} else if (now >= p->until) {
		p->is_on = !p->is_on;
		p->until = now + (p->is_on ? AIF_PERF_ON_NS : off_ns(p, now - p->began));
		p->began = now;
	}
	return p->is_on;
}
