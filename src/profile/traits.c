/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/traits.h"
#include "base/reasons.h"
#include "profile/model.h"

#include <string.h>

static enum aif_cpu_weights cpu_weights(const struct aif_profile *p)
{
	static const char *const words[] = {
		[AIF_CPU_WEIGHTS_WALL] = "wall",
		[AIF_CPU_WEIGHTS_SPANS] = "spans",
		[AIF_CPU_WEIGHTS_COUNTS] = "counts",
	};
	const char *is = aif_profile_meta(p, "cpu_sampling");

	for (unsigned i = AIF_CPU_WEIGHTS_WALL; i < AIF_ARRAY_LEN(words); i++)
		if (!strcmp(is, words[i]))
			return i;
	return AIF_CPU_WEIGHTS_TIME;
}

unsigned aif_lack_after(uint32_t reason)
{
	static const struct {
		enum aif_reason reason;
		enum aif_lack lack;
	} rows[] = {
#define AIF_LACK_AFTER(reason, id) {AIF_REASON_##reason, AIF_LACK_##id},
#include "profile/lacks.def"
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		if (rows[i].reason == reason)
			return rows[i].lack;
	return 0;
}

bool aif_lacks_say(const struct aif_traits *t, unsigned of, struct aif_buf *out)
{
	static const char *const words[] = {
#define AIF_LACK(id, words) words,
#include "profile/lacks.def"
	};
	const char *before = "incomplete: ";

	for (unsigned i = 0; i < AIF_LACK_COUNT; i++)
		if (t->lacks & of & (1u << i)) {
			aif_buf_printf(out, "%s%s", before, words[i]);
			before = ", ";
		}
	return t->lacks & of;
}

/* Processes without samples that have less of all CPU time change no share by more than that. Those that only started a job's
 * ranks, as mpirun does, which handles SIGURG itself and takes 0.1 s, are no part of what was recorded: of them more is minor,
 * since such jobs may be short. */
#define MINOR_PERCENT    5
#define LAUNCHER_PERCENT 20
/* Processes without samples beyond that are no exception. */
#define MINOR_MOST 16

static bool is_of_one_process(uint32_t reason)
{
	return reason == AIF_REASON_CPU_SIGNAL_TAKEN || reason == AIF_REASON_CPU_FILTER_CODE;
}

/* Returns true of a process that is no rank and has started one. */
static bool is_launcher(const struct aif_profile *p, uint32_t process)
{
	for (size_t i = 0; i < p->processes_len && !p->processes[process].rank; i++)
		if (p->processes[i].rank && p->processes[i].ppid == p->processes[process].pid)
			return true;
	return false;
}

/* Returns true if the processes that have no CPU samples used hardly any CPU time, by the OS's own account. */
static bool has_minor_cpu_losses(const struct aif_profile *p)
{
	double all = 0, unsampled = 0, of_launchers = 0;
	size_t n = 0;

	for (size_t i = 0; i < p->losses_len && n <= MINOR_MOST; i++)
		n += is_of_one_process(p->losses[i].reason);
	if (!n || n > MINOR_MOST)
		return false;
	for (size_t i = 0; i < p->processes_len; i++)
		all += (double)p->processes[i].cpu_ns;
	for (size_t i = 0; i < p->losses_len; i++) {
		uint32_t process = p->losses[i].process;

		if (!is_of_one_process(p->losses[i].reason))
			continue;
		if (process >= p->processes_len || !p->processes[process].cpu_ns)
			return false;
		*(is_launcher(p, process) ? &of_launchers : &unsampled) +=
			(double)p->processes[process].cpu_ns;
	}
	return unsampled * 100 < all * MINOR_PERCENT &&
	       (unsampled + of_launchers) * 100 < all * LAUNCHER_PERCENT;
}

bool aif_loss_is_minor(const struct aif_traits *t, uint32_t reason)
{
	return t->has_minor_cpu_losses && is_of_one_process(reason);
}

static unsigned lacks_of(const struct aif_profile *p, bool minor_cpu)
{
	unsigned lacks = 0;

	for (size_t i = 0; i < p->losses_len; i++)
		if (!minor_cpu || !is_of_one_process(p->losses[i].reason))
			lacks |= aif_lack_after(p->losses[i].reason);
	if (*aif_profile_meta(p, "imported.device_work"))
		lacks |= AIF_LACK_WORK;
	return lacks;
}

struct aif_traits aif_traits_of(const struct aif_profile *p)
{
	const char *rows = aif_profile_meta(p, "imported.rows");
	bool is_samples = !strcmp(rows, "samples"), is_lengths = !strcmp(rows, "lengths"),
	     minor_cpu = has_minor_cpu_losses(p);

	return (struct aif_traits){
		.is_imported = *aif_profile_meta(p, "imported"),
		.is_lengths = is_lengths || is_samples,
		.samples_unknown = is_lengths,
		.times_unknown = is_samples && !*aif_profile_meta(p, "imported.count_ns"),
		.has_minor_cpu_losses = minor_cpu,
		.lacks = lacks_of(p, minor_cpu),
		.cpu_weights = cpu_weights(p),
	};
}
