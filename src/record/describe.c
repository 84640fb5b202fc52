/* SPDX-License-Identifier: Apache-2.0 */
#include "record/describe.h"

#include "base/clock.h"
#include "record/sources/cpu_event.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void meta_printf(struct aif_store *s, const char *key, const char *fmt, ...)
	AIF_PRINTF(3, 4);
static void meta_printf(struct aif_store *s, const char *key, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	aif_store_meta(s, key, text);
}

static void cpu_model(char *ret, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	ret[0] = '\0';
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(ret, size, "%s", strchr(line, ':') + 2);
			break;
		}
	if (f)
		fclose(f);
}

void aif_describe_activation(struct aif_store *s, const char *activate, uint64_t due, uint64_t now)
{
	const time_t seconds = (time_t)(due / AIF_NS_PER_S);
	char at[64] = "?";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S", &tm);
	pthread_mutex_lock(&s->lock);
	meta_printf(s, "activated", "%s.%03u UTC, %.1f ms late (--activate %s)", at,
		    (unsigned)(due % AIF_NS_PER_S / 1000000), (double)(now - due) / 1e6, activate);
	pthread_mutex_unlock(&s->lock);
}

void aif_describe_recording(struct aif_store *s, const struct aif_record_opts *o)
{
	struct aif_buf command = {0};
	struct utsname un;
	char cpu[256];

	for (const char *const *p = o->pids; *p; p++)
		aif_buf_printf(&command, "%s%s", p == o->pids ? "process " : ", ", *p);
	if (o->all_processes)
		aif_buf_puts(&command,
			     o->ebpf || o->outside ? "all processes" : "all processes on standby");
	for (char *const *a = o->argv; a && *a; a++) {
		bool quote = !**a || strpbrk(*a, " \t\n'\"\\$;&|<>()*?");

		aif_buf_printf(&command, quote ? "%s'%s'" : "%s%s", a == o->argv ? "" : " ", *a);
	}
	cpu_model(cpu, sizeof(cpu));
	uname(&un);
	pthread_mutex_lock(&s->lock);
	aif_store_meta(s, "command", aif_buf_str(&command));
	if (!o->argv)
		aif_store_meta(s, "attached", o->all_processes ? "all" : "named");
	if (o->all_processes && o->inject == AIF_RECORD_INJECT_NEVER)
		aif_store_meta(s, "inject", "never");
	meta_printf(s, "host", "%s", un.nodename);
	meta_printf(s, "kernel", "%s %s", un.sysname, un.release);
	meta_printf(s, "cpu", "%s, %ld cores", cpu, sysconf(_SC_NPROCESSORS_ONLN));
	meta_printf(s, "recorder_version", "%s", AIF_VERSION);
	meta_printf(s, "device_rate", "%u", o->device_rate);
	if (!o->cpu_event)
		meta_printf(s, "cpu_rate", "%u", o->cpu_rate);
	if (o->cpu_rate_asked != o->cpu_rate)
		meta_printf(s, "cpu_rate_asked", "%u", o->cpu_rate_asked);
	if (o->cpu_rate && !o->wall && !o->cpu_event)
		aif_store_meta(s, "cpu_clock",
			       o->cpu_clock == AIF_RECORD_CPU_CLOCK_TICK ? "tick" : "perf");
	/* Notes --steps alone: --schedule records programs that mark none. */
	if (o->schedule.active && !o->schedule.is_for_unmarked)
		meta_printf(s, "steps_asked", "%" PRIu32 ":%" PRIu32, o->schedule.skip,
			    o->schedule.skip + o->schedule.active);
	if (o->cpu)
		meta_printf(s, "cpu_programs", "from their start");
	if (o->ebpf)
		meta_printf(s, "ebpf", "%s%s", o->all_processes ? "all" : "processes",
			    o->off_cpu ? ", off CPU" : "");
	if (o->outside)
		aif_store_meta(s, "outside", o->all_processes ? "all" : "processes");
	if (o->calls != AIF_RECORD_CALLS_OFF)
		aif_store_meta(s, "calls", "opencl, level zero, cuda");
	if (o->calls == AIF_RECORD_CALLS_AUTO)
		aif_store_meta(s, "cuda_calls", "5 us and more");
	meta_printf(s, "cpu_sampling", "%s", o->cpu_event ? "counts" : o->wall ? "wall" : "cpu");
	if (o->cpu_event) {
		aif_store_meta(s, "cpu_counts", o->cpu_event->name);
		meta_printf(s, "cpu_period", "%" PRIu64, o->cpu_period);
	}
	meta_printf(s, "start_realtime_ns", "%" PRIu64, aif_clock_ns(CLOCK_REALTIME));
	pthread_mutex_unlock(&s->lock);
	aif_buf_finish(&command);
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * AIF_NS_PER_S + (uint64_t)tv.tv_usec * 1000;
}

/* Captures below which a median says little. */
#define ENOUGH_CAPTURES 16

/* Returns a quantile of the times of captures, ns, interpolated within its range. */
static uint64_t capture_quantile(const struct aif_drain_stats *st, double q)
{
	double n = 0, below = 0;
	unsigned i = 0;

	for (unsigned k = 0; k < AIF_SHM_TIMES; k++)
		n += (double)st->capture_times[k];
	while (i < AIF_SHM_TIMES - 1 && below + (double)st->capture_times[i] < q * n)
		below += (double)st->capture_times[i++];
	return aif_shm_time_from(i) +
	       (uint64_t)((q * n - below) / AIF_MAX((double)st->capture_times[i], 1) *
			  (double)(aif_shm_time_from(i + 1) - aif_shm_time_from(i)));
}

/* Returns how many entries those are one of which in AIF_SHM_COST_EACH was measured: launches, nodes of graphs, allocations. */
static uint64_t measured_of(const struct aif_drain_stats *st)
{
	return st->captures >= ENOUGH_CAPTURES ? st->captures * AIF_SHM_COST_EACH : 0;
}

/* The part of CPU time without samples, and the least of it, from which on it is said. */
#define UNSAMPLED_PART 100
#define UNSAMPLED_MIN  (AIF_NS_PER_S / 10)

/* Puts CPU time of the command and what it started that no process has: under the command's main thread where it is the only
 * process, else under none. */
static void put_unsampled(struct aif_store *s, uint64_t ns, uint64_t time)
{
	const struct aif_profile *p = &s->p;
	uint32_t frame = aif_store_mark(s, AIF_CPU_NOT_MARK), thread = AIF_NONE;
	struct aif_cpu_row *row;

	for (uint32_t i = 0; p->processes_len == 1 && i < p->threads_len; i++)
		if (p->threads[i].tid == p->processes[0].pid)
			thread = i;
	row = frame == AIF_NONE ? NULL : aif_batches_row(&s->batches, AIF_BATCH_CPU);
	if (!row)
		return;
	*row = (struct aif_cpu_row){
		.thread = thread,
		.stack = aif_store_stack(s, AIF_NONE, frame, 0),
		.time = time,
		.weight = ns,
	};
	aif_batches_flush(&s->batches);
}

/* Holds the CPU time of the command and its children against their samples: programs of some tens of milliseconds end
 * before they are sampled, and those without the agent never are. Nor has the OS kernel counted children that nobody
 * waited for, as those of a program that a signal ended: their samples are all that is known of them. Returns the CPU
 * time of both. */
static uint64_t note_unsampled(struct aif_store *s, const struct aif_record_opts *o,
			       const struct aif_drain_stats *st, uint64_t children_ns)
{
	uint64_t known = st->cpu_sampled_ns + st->agent_cpu_ns,
		 missing = children_ns - AIF_MIN(children_ns, known);

	if (!aif_record_has_all_cpu(o) || o->duration_ns)
		return children_ns;
	if (known > children_ns + children_ns / UNSAMPLED_PART) {
		meta_printf(s, "cost.cpu_unreaped_ns", "%" PRIu64, known - children_ns);
		children_ns = known;
	}
	meta_printf(s, "cost.cpu_known_ns", "%" PRIu64, AIF_MIN(known, children_ns));
	if (st->cpu_without_ns)
		meta_printf(s, "cost.cpu_without_samples_ns", "%" PRIu64, st->cpu_without_ns);
	if (missing <= children_ns / UNSAMPLED_PART)
		return children_ns;
	put_unsampled(s, missing, st->end_ns);
	if (missing >= UNSAMPLED_MIN)
		aif_store_loss(s, AIF_REASON_CPU_UNSAMPLED, AIF_NONE, AIF_NONE, missing / 1000000);
	return children_ns;
}

void aif_describe_costs(struct aif_store *s, const struct aif_record_opts *o,
			const struct aif_drain_stats *st)
{
	struct rusage own, children;
	uint64_t command_ns;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	/* Without a command there are only tools that the recorder has started. */
	command_ns = o->argv ? timeval_ns(children.ru_utime) + timeval_ns(children.ru_stime) : 0;
	pthread_mutex_lock(&s->lock);
	meta_printf(s, "sampling", "%s",
		    st->sampled_by_perf    ? "perf"
		    : st->sampled_by_timer ? "timer"
					   : "none");
	meta_printf(s, "cost.recorder_cpu_ns", "%" PRIu64,
		    timeval_ns(own.ru_utime) + timeval_ns(own.ru_stime));
	meta_printf(s, "cost.drain_cpu_ns", "%" PRIu64, st->drain_cpu_ns);
	meta_printf(s, "cost.recorder_rss_kb", "%ld", own.ru_maxrss);
	command_ns = note_unsampled(s, o, st, command_ns);
	meta_printf(s, "cost.target_cpu_ns", "%" PRIu64, command_ns);
	meta_printf(s, "cost.helper_cpu_ns", "%" PRIu64, st->agent_cpu_ns);
	meta_printf(s, "overhead.asked_ppm", "%" PRIu32, o->all_launches ? 0 : o->overhead_ppm);
	meta_printf(s, "overhead.uncaptured", "%" PRIu64, st->uncaptured);
	if (st->cost_error_ppm) {
		meta_printf(s, "overhead.cost_ppm", "%" PRIu32, st->cost_ppm);
		meta_printf(s, "overhead.cost_error_ppm", "%" PRIu32, st->cost_error_ppm);
	}
	if (st->short_calls) {
		meta_printf(s, "short_calls", "%" PRIu64, st->short_calls);
		meta_printf(s, "short_calls_ns", "%" PRIu64, st->short_calls_ns);
	}
	if (st->sampled_by_perf)
		meta_printf(s, "cost.sampling_ns", "%" PRIu64, st->sampling_ns);
	if (st->spent_ns)
		meta_printf(s, "cost.callbacks_ns", "%" PRIu64, st->spent_ns);
	if (st->records_ns)
		meta_printf(s, "cost.records_ns", "%" PRIu64, st->records_ns);
	if (st->block_records_ns)
		meta_printf(s, "cost.block_records_ns", "%" PRIu64, st->block_records_ns);
	if (st->cpu_samples_ns)
		meta_printf(s, "cost.cpu_samples_ns", "%" PRIu64, st->cpu_samples_ns);
	if (st->samples_ns)
		meta_printf(s, "cost.samples_ns", "%" PRIu64, st->samples_ns);
	if (st->worked_ns)
		meta_printf(s, "cost.worked_ns", "%" PRIu64, st->worked_ns);
	if (st->device_bytes)
		meta_printf(s, "cost.device_bytes", "%" PRIu64, st->device_bytes);
	if (st->captures) /* measured on some launches, told for all */
		meta_printf(s, "cost.agent_ns", "%" PRIu64,
			    (uint64_t)((double)st->capture_ns / (double)st->captures *
				       (double)AIF_MAX(st->launches, measured_of(st))));
	if (st->captures >= ENOUGH_CAPTURES) {
		meta_printf(s, "cost.capture_median_ns", "%" PRIu64, capture_quantile(st, 0.5));
		meta_printf(s, "cost.capture_p99_ns", "%" PRIu64, capture_quantile(st, 0.99));
	}
	pthread_mutex_unlock(&s->lock);
}

struct aif_proc_cpus aif_describe_cpus(void)
{
	char text[256];

	aif_proc_read("/proc/stat", text, sizeof(text));
	return aif_proc_cpus(text);
}

void aif_describe_stolen(struct aif_store *s, const struct aif_proc_cpus *begin)
{
	struct aif_proc_cpus end = aif_describe_cpus();

	if (end.all <= begin->all || end.stolen < begin->stolen)
		return;
	pthread_mutex_lock(&s->lock);
	meta_printf(s, "cpus.stolen_ppm", "%" PRIu64,
		    (end.stolen - begin->stolen) * 1000000 / (end.all - begin->all));
	pthread_mutex_unlock(&s->lock);
}
