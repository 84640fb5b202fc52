/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/cpu_event.h"

#include "base/buf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

static const struct aif_cpu_event events[] = {
#define AIF_CPU_EVENT(name_, type_, config_, period_) \
	{.name = name_, .type = PERF_TYPE_##type_, .config = config_, .period = period_},
#define AIF_CPU_EVENT_BOTH(name_, type_, config_, also_, period_) \
	{.name = name_,                                           \
	 .type = PERF_TYPE_##type_,                               \
	 .config = config_,                                       \
	 .also = also_,                                           \
	 .period = period_},
#include "record/sources/cpu_events.def"
};

const struct aif_cpu_event *aif_cpu_event_find(const char *name)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(events); i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

int aif_cpu_event_unknown(const char *name, struct aif_err *err)
{
	struct aif_buf all = {0};
	int r;

	for (size_t i = 0; i < AIF_ARRAY_LEN(events); i++)
		aif_buf_printf(&all, "%s%s", i ? ", " : "", events[i].name);
	r = aif_err_set(err, -EINVAL, "record: -e: '%.60s' is no event; give one of %s", name,
			aif_buf_str(&all));
	aif_buf_finish(&all);
	return r;
}

int aif_cpu_event_refused(const struct aif_cpu_event *e, int error, struct aif_err *err)
{
	switch (-error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case EINVAL:
		return aif_err_set(
			err, error,
			"record: -e %s: this machine has no such counter, as most virtual machines have "
			"none; record on one that has it, or leave out -e: samples are of CPU time then, "
			"and need no counter",
			e->name);
	case EACCES:
	case EPERM:
		return aif_err_set(err, error,
				   "record: -e %s: the OS does not allow it; sysctl "
				   "kernel.perf_event_paranoid=2 or less, or CAP_PERFMON",
				   e->name);
	default:
		return aif_err_set(err, error,
				   "record: -e %s: perf_event_open: %s; leave out -e, or see "
				   "aiflame doctor",
				   e->name, strerror(-error));
	}
}
