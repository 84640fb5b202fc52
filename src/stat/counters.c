/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/counters.h"

#include "stat/model_event.h"
#include "stat/sysfs_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned set, group;
	uint32_t type;
	uint64_t config;
} events[] = {
#define AIF_STAT_EVENT(id, name, set, type, config, group) \
	{name, AIF_STAT_SET_##set, group, PERF_TYPE_##type, config},
#include "stat/events.def"
#undef AIF_STAT_EVENT
};

const char *aif_stat_event_name(enum aif_stat_event e)
{
	return events[e].name;
}

bool aif_stat_event_is_software(enum aif_stat_event e)
{
	return events[e].type == PERF_TYPE_SOFTWARE;
}

aif_stat_events aif_stat_events_of(unsigned sets)
{
	aif_stat_events all = 0;

	for (unsigned i = 0; i < AIF_STAT_EVENTS; i++)
		if (events[i].set & sets)
			all |= UINT64_C(1) << i;
	return all;
}

static aif_stat_events find(const char *name, size_t len)
{
	static const struct {
		const char *name;
		unsigned sets;
	} sets[] = {{"base", AIF_STAT_SET_BASE},
		    {"cache", AIF_STAT_SET_CACHE},
		    {"tlb", AIF_STAT_SET_TLB},
		    {"topdown", AIF_STAT_SET_TOPDOWN}};

	for (unsigned i = 0; i < AIF_STAT_EVENTS; i++)
		if (strlen(events[i].name) == len && !memcmp(events[i].name, name, len))
			return UINT64_C(1) << i;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(sets); i++)
		if (strlen(sets[i].name) == len && !memcmp(sets[i].name, name, len))
			return aif_stat_events_of(sets[i].sets);
	return 0;
}

int aif_stat_events_parse(const char *list, aif_stat_events *ret, struct aif_err *err)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		aif_stat_events found = find(list, len);

		if (!found)
			return aif_err_set(
				err, -EINVAL,
				"stat: '%.*s' is no event; give base, cache, tlb, topdown, "
				"or names as cycles,branch-misses",
				(int)AIF_MIN(len, (size_t)60), list);
		*ret |= found;
		list += len + (list[len] == ',');
	}
	return 0;
}

static int event_open(unsigned e, pid_t pid, int group)
{
	uint64_t config = events[e].config;
	struct perf_event_attr a = {
		.type = events[e].type,
		.size = sizeof(a),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = group < 0,
		.inherit = 1,
		.enable_on_exec = group < 0,
		.exclude_kernel = events[e].type != PERF_TYPE_SOFTWARE,
		.exclude_hv = 1,
	};

	/* The same number is another event on another CPU. */
	if (events[e].type == PERF_TYPE_RAW && !aif_stat_sysfs_event(events[e].name, &config) &&
	    !aif_stat_model_event(events[e].name, &config)) {
		errno = ENOENT;
		return -1;
	}
	a.config = config;
	return (int)syscall(SYS_perf_event_open, &a, pid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

void aif_stat_counters_open(struct aif_stat_counters *c, aif_stat_events asked, pid_t pid)
{
	*c = (struct aif_stat_counters){.asked = asked};
	for (unsigned i = 0; i < AIF_STAT_EVENTS; i++) {
		int group = -1;

		c->fd[i] = -1;
		if (!(asked >> i & 1))
			continue;
		for (unsigned k = 0; k < i && events[i].group && group < 0; k++)
			if (events[k].group == events[i].group)
				group = c->fd[k];
		c->fd[i] = event_open(i, pid, group);
		/* Counters may be too few for both: then they take turns. */
		if (c->fd[i] < 0 && group >= 0)
			c->fd[i] = event_open(i, pid, -1);
		c->error[i] = c->fd[i] < 0 ? errno : 0;
	}
}

void aif_stat_counters_read(struct aif_stat_counters *c, struct aif_stat_value *values)
{
	for (unsigned i = 0; i < AIF_STAT_EVENTS; i++) {
		struct {
			uint64_t value, enabled, running;
		} got = {0};

		values[i] = (struct aif_stat_value){.error = c->error[i]};
		if (c->fd[i] < 0)
			continue;
		if (read(c->fd[i], &got, sizeof(got)) != sizeof(got)) {
			values[i].error = EIO;
		} else if (!got.running) {
			values[i].error = EBUSY;
		} else {
			values[i].is_known = true;
			values[i].enabled_ns = got.enabled;
			values[i].running_ns = got.running;
			values[i].value =
				(double)got.value * (double)got.enabled / (double)got.running;
		}
		close(c->fd[i]);
		c->fd[i] = -1;
	}
}

const char *aif_stat_reason(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case EINVAL:
		return "this machine does not have the event";
	case EACCES:
	case EPERM:
		return "the OS does not allow it";
	case ENOSYS:
		return "the OS kernel, or a container's filter, has no perf_event_open";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	case EBUSY:
		return "it was never counted: others use the counters, or the program was too short";
	default:
		return strerror(error);
	}
}

const char *aif_stat_fix(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case EINVAL:
		return "run on a machine whose CPU counters are visible: virtual machines often hide "
		       "them";
	case EACCES:
	case EPERM:
		return "sysctl kernel.perf_event_paranoid=2 or less (1 for software events), or "
		       "CAP_PERFMON";
	case ENOSYS:
		return "allow perf_event_open in the container's seccomp profile";
	case EMFILE:
	case ENFILE:
		return "raise ulimit -n";
	case EBUSY:
		return "count fewer events (-e), or stop who else counts (an NMI watchdog takes one)";
	default:
		return "";
	}
}
