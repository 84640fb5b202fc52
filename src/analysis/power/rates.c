/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/power/power.h"

#include "analysis/attribution.h"
#include "base/human.h"
#include "text/table.h"

#include <errno.h>
#include <string.h>

static int rate_of(const struct aif_profile *p, const struct aif_device_time *d,
		   struct aif_power_rates *r)
{
	bool *only = calloc(p->devices_len + 1, sizeof(*only));
	struct aif_selection sel = {.devices = only};
	struct aif_power w = {0};
	int e = only && d->device < r->len ? 0 : only ? -EINVAL : -ENOMEM;

	if (!e) {
		only[d->device] = true;
		e = aif_power_measure(p, &sel, (int64_t)d->first_ns, (int64_t)d->last_ns, &w);
	}
	if (!e && w.len && w.devices->energy_ns && w.devices->energy_j > 0 && d->busy_ns) {
		r->uj_per_ns[d->device] = w.devices->energy_j * 1e6 / (double)d->busy_ns;
		r->energy_j += w.devices->energy_j;
		r->busy_ns += d->busy_ns;
		r->of_ns += d->last_ns - d->first_ns;
		r->known_ns += w.devices->energy_ns;
	}
	aif_power_finish(&w);
	free(only);
	return e == -ENOMEM ? e : 0;
}

int aif_power_rates_make(const struct aif_profile *p, const struct aif_selection *sel,
			 struct aif_power_rates *ret, struct aif_err *err)
{
	/* Processes and ranges share a device: its rate is that of all its work. */
	struct aif_selection whole = {0};
	struct aif_attribution a = {0};
	int r = 0;

	if (sel) {
		whole.from_ns = sel->from_ns;
		whole.to_ns = sel->to_ns;
		whole.devices = sel->devices;
	}
	*ret = (struct aif_power_rates){.uj_per_ns =
						calloc(p->devices_len + 1, sizeof(*ret->uj_per_ns)),
					.len = p->devices_len};
	if (!ret->uj_per_ns)
		return aif_err_set(err, -ENOMEM, "energy: out of memory");
	r = aif_attribution_compute(p, &whole, &a, err);
	for (size_t i = 0; i < a.devices_len && !r; i++)
		if (rate_of(p, &a.devices[i], ret) < 0)
			r = aif_err_set(err, -ENOMEM, "energy: out of memory");
	aif_attribution_finish(&a);
	if (!r && !ret->busy_ns)
		r = aif_err_set(
			err, -ENODATA,
			"no energy of a device that worked is known; record an NVIDIA GPU with "
			"--nvml auto, and see aiflame info for why it was not read");
	return r;
}

void aif_power_rates_finish(struct aif_power_rates *r)
{
	free(r->uj_per_ns);
	*r = (struct aif_power_rates){0};
}

void aif_power_rates_say(const struct aif_power_rates *r, struct aif_buf *out)
{
	aif_human_energy(out, r->energy_j);
	aif_buf_puts(out, ", shared by device time (grade: apportioned), ");
	aif_human_share(out, aif_share_ppm(r->of_ns - AIF_MIN(r->busy_ns, r->of_ns), r->of_ns));
	aif_buf_puts(out, " of it idle");
	if (r->known_ns < r->of_ns) {
		aif_buf_puts(out, "; known of ");
		aif_human_share(out, aif_share_ppm(r->known_ns, r->of_ns));
		aif_buf_puts(out, " of the time");
	}
}
