/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/cpu_clock.h"

#include "base/clock.h"
#include "base/open_regular.h"
#include "wire/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define HAS_TASK_WORK_MAJOR 5
#define HAS_TASK_WORK_MINOR 10

bool aif_cpu_ticks_are_safe(void)
{
#ifdef __x86_64__
	unsigned major, minor;
	struct utsname un;

	return uname(&un) == 0 && sscanf(un.release, "%u.%u", &major, &minor) == 2 &&
	       (major > HAS_TASK_WORK_MAJOR ||
		(major == HAS_TASK_WORK_MAJOR && minor >= HAS_TASK_WORK_MINOR));
#else
	return false;
#endif
}

int aif_cpu_event_open(uint32_t tid, uint32_t type, uint64_t config, uint64_t period)
{
	struct perf_event_attr a = {
		.type = type,
		.size = sizeof(a),
		.config = config,
		.sample_period = period,
		.wakeup_events = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};
	int fd, r;

	/* Linux 5.13 can: no signal is sent to the next program of the thread. */
	a.remove_on_exec = 1;
	fd = (int)syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EINVAL) {
		a.remove_on_exec = 0;
		fd = (int)syscall(SYS_perf_event_open, &a, (pid_t)tid, -1, -1,
				  PERF_FLAG_FD_CLOEXEC);
	}
	fd = aif_open_spare(fd < 0 ? -errno : fd);
	if (fd < 0)
		return fd;
	/* Without a buffer: the overflow is all that is wanted. */
	if (fcntl(fd, F_SETSIG, AIF_SHM_CPU_SIGNAL) < 0 || fcntl(fd, F_SETOWN_EX, &owner) < 0 ||
	    fcntl(fd, F_SETFL, O_ASYNC) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int aif_cpu_clock_open(uint32_t tid, uint32_t rate)
{
	return aif_cpu_event_open(tid, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				  AIF_NS_PER_S / rate);
}

int aif_cpu_probe(void)
{
	int fd = aif_cpu_clock_open((uint32_t)syscall(SYS_gettid), AIF_CPU_PROBE_RATE);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The kernel's ticks in a second: the coarse clock moves with them. */
static uint32_t tick_rate(void)
{
	struct timespec t;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) < 0 || t.tv_sec || t.tv_nsec <= 0)
		return 100;
	return (uint32_t)(AIF_NS_PER_S / (uint64_t)t.tv_nsec);
}

/* Rates up to this one cost too little for a measurement. */
#define NOT_MEASURED_RATE 199
/* The cost is that of so many events a second, in work of a millisecond, the fastest of so many rounds. */
#define MEASURED_RATE 5000
#define WORK_NS       1000000
#define ROUNDS        6

static void work(uint64_t turns)
{
	volatile uint64_t x = 1;

	for (uint64_t i = 0; i < turns; i++)
		x = x * 3 + i;
}

static uint64_t time_of(uint64_t turns)
{
	uint64_t begin = aif_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	work(turns);
	return aif_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* A source of interrupts of this thread, MEASURED_RATE times a second. */
struct interrupts {
	int fd;    /* an event of perf with a signal, which is ignored here; -1: none */
	int timer; /* for --wall, a timer with a signal, whose handler does nothing */
	struct sigaction old;
};

static void ignore(int number)
{
	(void)number;
}

static bool interrupts_begin(struct interrupts *i, bool wall)
{
	const struct itimerspec period = {.it_interval.tv_nsec = AIF_NS_PER_S / MEASURED_RATE,
					  .it_value.tv_nsec = AIF_NS_PER_S / MEASURED_RATE};
	struct sigaction handler = {.sa_handler = ignore, .sa_flags = SA_RESTART};
	struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX};

	i->fd = -1;
	if (!wall) {
		i->fd = aif_cpu_clock_open((uint32_t)syscall(SYS_gettid), MEASURED_RATE);
		return i->fd >= 0;
	}
	to._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	/* The C library's functions are in librt before glibc 2.34. */
	if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &to, &i->timer) < 0)
		return false;
	sigaction(SIGRTMAX, &handler, &i->old);
	syscall(SYS_timer_settime, i->timer, 0, &period, NULL);
	return true;
}

static void interrupts_end(struct interrupts *i)
{
	if (i->fd >= 0) {
		close(i->fd);
		return;
	}
	syscall(SYS_timer_delete, i->timer);
	sigaction(SIGRTMAX, &i->old, NULL);
}

/* Returns the CPU time that one interrupt with its signal takes from a thread; 0: unknown. */
static uint64_t interrupt_cost_ns(bool wall)
{
	uint64_t plain = UINT64_MAX, with = UINT64_MAX, turns = 10000, ns = time_of(turns);
	struct interrupts in;

	turns = turns * WORK_NS / AIF_MAX(ns, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		ns = time_of(turns);
		plain = AIF_MIN(plain, ns);
		if (!interrupts_begin(&in, wall))
			return 0;
		ns = time_of(turns);
		with = AIF_MIN(with, ns);
		interrupts_end(&in);
	}
	return with > plain ? (with - plain) * (AIF_NS_PER_S / MEASURED_RATE) / with : 0;
}

/* Lowers the rate to what keeps AIF_CPU_EVENTS_PPM. */
static void limit_rate(struct aif_record_opts *o)
{
	uint64_t cost = o->cpu_rate > NOT_MEASURED_RATE ? interrupt_cost_ns(o->wall) : 0;

	if (cost)
		o->cpu_rate = (uint32_t)AIF_MAX(
			AIF_MIN(o->cpu_rate, AIF_CPU_EVENTS_PPM * (AIF_NS_PER_S / 1000000) / cost),
			NOT_MEASURED_RATE);
}

void aif_cpu_clock_choose(struct aif_record_opts *o)
{
	bool is_auto = o->cpu_clock == AIF_RECORD_CPU_CLOCK_AUTO;

	o->cpu_rate_asked = o->cpu_rate;
	if (o->wall && is_auto)
		limit_rate(o);
	if (!o->cpu_rate || o->wall)
		return;
	if (o->cpu_event) {
		o->cpu_clock = AIF_RECORD_CPU_CLOCK_PERF;
		return;
	}
	if (is_auto)
		o->cpu_clock = aif_cpu_probe() < 0 && aif_cpu_ticks_are_safe()
				       ? AIF_RECORD_CPU_CLOCK_TICK
				       : AIF_RECORD_CPU_CLOCK_PERF;
	o->cpu_may_tick = is_auto && o->cpu_clock == AIF_RECORD_CPU_CLOCK_PERF;
	if (o->cpu_clock == AIF_RECORD_CPU_CLOCK_TICK) {
		o->cpu_rate = AIF_MIN(o->cpu_rate, tick_rate());
	} else if (is_auto && !o->ebpf) {
		limit_rate(o);
	}
}
