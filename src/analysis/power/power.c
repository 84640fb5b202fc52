/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/power/power.h"

#include "base/human.h"
#include "base/sort.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEAST_SLOWED_PPM 50000
#define LEAST_CLOCK      0.8

const char *aif_clock_reason_name(unsigned i)
{
	static const char *const names[AIF_CLOCK_REASONS] = {"idle",
							     "clocks set by an application",
							     "power cap",
							     "hardware slowdown",
							     "sync boost",
							     "heat",
							     "heat (hardware)",
							     "power brake"};

	return i < AIF_CLOCK_REASONS ? names[i] : "?";
}

struct measuring {
	const struct aif_profile *p;
	const struct aif_counters *c;
	int64_t from, to;
	struct aif_power *ret;
};

static bool is_named(const struct measuring *m, const struct aif_counter *of, const char *name,
		     const char *unit)
{
	return of->process == AIF_NONE && of->name != AIF_NONE && of->unit != AIF_NONE &&
	       !strcmp(aif_profile_str(m->p, of->name), name) &&
	       !strcmp(aif_profile_str(m->p, of->unit), unit);
}

/* Finds a counter of the device, or NULL. */
static const struct aif_counter *find(const struct measuring *m, uint32_t device, const char *name,
				      const char *unit)
{
	for (size_t i = 0; i < m->c->len; i++)
		if (m->c->at[i].device == device && is_named(m, &m->c->at[i], name, unit))
			return &m->c->at[i];
	return NULL;
}

static uint64_t overlap(const struct measuring *m, int64_t from, int64_t to)
{
	from = AIF_MAX(from, m->from);
	to = AIF_MIN(to, m->to);
	return to > from ? (uint64_t)(to - from) : 0;
}

static void add_energy(const struct measuring *m, const struct aif_counter *of,
		       struct aif_power_device *d)
{
	const struct aif_counter_value *v = m->c->values + of->first;

	/* A row of nothing is a beginning: no GPU takes that. */
	for (size_t i = 1; i < of->len; i++) {
		uint64_t ns = overlap(m, v[i - 1].at, v[i].at);

		if (!ns || !(v[i].value > 0))
			continue;
		d->energy_j += v[i].value * (double)ns / (double)(v[i].at - v[i - 1].at);
		d->energy_ns += ns;
	}
}

static void add_reasons(const struct measuring *m, const struct aif_counter *of,
			struct aif_power_device *d)
{
	const struct aif_counter_value *v = m->c->values + of->first;

	for (size_t i = 1; i < of->len; i++) {
		int64_t since = AIF_MAX(v[i - 1].at, v[i].at - AIF_POWER_MOST_NS);
		uint64_t ns = overlap(m, since, v[i].at), bits;

		if (!(v[i].value >= 0) || v[i].value > 1e15)
			continue;
		bits = (uint64_t)v[i].value;
		d->read_ns += ns;
		d->slowed_ns += bits & AIF_CLOCK_SLOWED ? ns : 0;
		for (unsigned k = 0; k < AIF_CLOCK_REASONS; k++)
			d->reason_ns[k] += bits >> k & 1 ? ns : 0;
	}
}

/* Returns the median of values in the part, of times when the GPU was not idle: readings of one turn have one time. */
static int median(const struct measuring *m, const struct aif_counter *of,
		  const struct aif_counter *reasons, double *ret)
{
	double *kept = of ? malloc((of->len + 1) * sizeof(*kept)) : NULL;
	size_t n = 0, at = 0;

	if (of && !kept)
		return -ENOMEM;
	for (size_t i = 0; of && i < of->len; i++) {
		const struct aif_counter_value *v = m->c->values + of->first + i,
					       *r = reasons ? m->c->values + reasons->first : NULL;

		while (reasons && at < reasons->len && r[at].at < v->at)
			at++;
		if (v->at < m->from || v->at >= m->to ||
		    (reasons && at < reasons->len && r[at].at == v->at && r[at].value >= 0 &&
		     r[at].value < 1e15 && ((uint64_t)r[at].value & AIF_CLOCK_IDLE)))
			continue;
		kept[n++] = v->value;
	}
	if (n)
		qsort(kept, n, sizeof(*kept), aif_by_double);
	*ret = n ? kept[n / 2] : 0;
	free(kept);
	return 0;
}

static double number_of(const struct aif_profile *p, uint32_t device, const char *what)
{
	char key[64];
	double v;

	snprintf(key, sizeof(key), "nvml.%" PRIu32 ".%s", device, what);
	v = strtod(aif_profile_meta(p, key), NULL);
	return v > 0 && v < 1e9 ? v : 0;
}

static void fill_cells(const struct measuring *m, const struct aif_counter *of, size_t len,
		       double *cells, double *most)
{
	const struct aif_counter_value *v = of ? m->c->values + of->first : NULL;
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		int64_t end = (int64_t)((double)m->to * (double)(i + 1) / (double)len);
		double sum = 0;
		size_t n = 0;

		for (; of && at < of->len && v[at].at < end; at++)
			if (v[at].value >= 0 && v[at].value < 1e9) {
				sum += v[at].value;
				*most = AIF_MAX(*most, v[at].value);
				n++;
			}
		cells[i] = n ? sum / (double)n : i ? cells[i - 1] : 0;
	}
}

void aif_power_cells(const struct aif_profile *p, const struct aif_counters *c, uint32_t device,
		     uint64_t ns, size_t len, double *power_w, double *clock_mhz, double *ret_w,
		     double *ret_mhz)
{
	struct measuring m = {.p = p, .c = c, .to = (int64_t)AIF_MIN(ns, (uint64_t)INT64_MAX)};

	*ret_w = *ret_mhz = 0;
	fill_cells(&m, find(&m, device, "power", "W"), len, power_w, ret_w);
	fill_cells(&m, find(&m, device, "SM clock", "MHz"), len, clock_mhz, ret_mhz);
	if (*ret_w > 0)
		*ret_w = AIF_MAX(*ret_w, number_of(p, device, "power_limit_w"));
	if (*ret_mhz > 0)
		*ret_mhz = AIF_MAX(*ret_mhz, number_of(p, device, "sm_clock_max_mhz"));
}

static int add_device(struct measuring *m, uint32_t device)
{
	const struct aif_counter *energy = find(m, device, "energy", "J"),
				 *reasons = find(m, device, "clock event reasons", "bits"),
				 *clock = find(m, device, "SM clock", "MHz"),
				 *power = find(m, device, "power", "W");
	struct aif_power_device d = {.device = device,
				     .most_clock_mhz = number_of(m->p, device, "sm_clock_max_mhz"),
				     .power_limit_w = number_of(m->p, device, "power_limit_w")};
	int r = 0;

	if (!energy && !reasons && !clock && !power)
		return 0;
	if (energy)
		add_energy(m, energy, &d);
	if (reasons)
		add_reasons(m, reasons, &d);
	r = median(m, clock, reasons, &d.clock_mhz);
	if (!r)
		r = median(m, power, reasons, &d.power_w);
	if (!r)
		r = aif_grow(&m->ret->devices, &m->ret->cap, m->ret->len + 1, sizeof(d));
	if (!r)
		m->ret->devices[m->ret->len++] = d;
	return r;
}

int aif_power_measure(const struct aif_profile *p, const struct aif_selection *sel, int64_t from,
		      int64_t to, struct aif_power *ret)
{
	struct aif_selection all = {.devices = sel ? sel->devices : NULL};
	struct aif_counters c;
	struct measuring m = {.p = p, .c = &c, .from = from, .to = to, .ret = ret};
	int r = aif_counters_read(p, &all, &c);

	*ret = (struct aif_power){.damaged = c.damaged};
	for (uint32_t i = 0; i < p->devices_len && !r && c.len; i++)
		r = add_device(&m, i);
	aif_counters_finish(&c);
	return r;
}

void aif_power_finish(struct aif_power *w)
{
	free(w->devices);
	*w = (struct aif_power){0};
}

bool aif_power_energy(const struct aif_power *w, double *ret_j, uint64_t *ret_ns)
{
	*ret_j = 0;
	*ret_ns = 0;
	for (size_t i = 0; i < w->len; i++) {
		*ret_j += w->devices[i].energy_j;
		*ret_ns += w->devices[i].energy_ns;
	}
	return *ret_ns != 0;
}

static bool is_below(const struct aif_power_device *d)
{
	return d->clock_mhz > 0 && d->clock_mhz < LEAST_CLOCK * d->most_clock_mhz;
}

static uint64_t slowed_ppm(const struct aif_power_device *d)
{
	return d->read_ns ? aif_share_ppm(d->slowed_ns, d->read_ns) : 0;
}

const struct aif_power_device *aif_power_slowed(const struct aif_power *w)
{
	const struct aif_power_device *most = NULL;

	for (size_t i = 0; i < w->len; i++) {
		const struct aif_power_device *d = &w->devices[i];

		if ((slowed_ppm(d) >= LEAST_SLOWED_PPM || is_below(d)) &&
		    (!most || slowed_ppm(d) > slowed_ppm(most)))
			most = d;
	}
	return most;
}

void aif_power_say_slowed(const struct aif_power_device *d, struct aif_buf *out)
{
	bool any = false;

	if (d->slowed_ns) {
		aif_buf_puts(out, "slowed down for ");
		aif_human_share(out, slowed_ppm(d));
		aif_buf_puts(out, " of the time (");
		for (unsigned i = 0; i < AIF_CLOCK_REASONS; i++) {
			if (!(AIF_CLOCK_SLOWED >> i & 1) || !d->reason_ns[i])
				continue;
			aif_buf_printf(out, "%s%s ", any ? ", " : "", aif_clock_reason_name(i));
			aif_human_share(out, aif_share_ppm(d->reason_ns[i], d->read_ns));
			any = true;
		}
		aif_buf_putc(out, ')');
	}
	if (d->clock_mhz > 0 && d->most_clock_mhz > 0)
		aif_buf_printf(out, "%sSM clock %.0f of %.0f MHz (median)", any ? "; " : "",
			       d->clock_mhz, d->most_clock_mhz);
	if (d->power_w > 0 && d->power_limit_w > 0)
		aif_buf_printf(out, ", %.0f of %.0f W", d->power_w, d->power_limit_w);
}
