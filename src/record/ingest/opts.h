/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/activation.h"
#include "base/schedule.h"

/* Processes that can be named with -p. */
#define AIF_RECORD_PIDS 64

/* Choice of runtimes whose calls that can hold a thread up are recorded (base/host_calls.def). */
enum aif_record_calls {
	AIF_RECORD_CALLS_AUTO, /* of CUDA those that last only (agent/calls/host_call.h) */
	AIF_RECORD_CALLS_ON,
	AIF_RECORD_CALLS_OFF,
};

/* Whether NVIDIA GPUs are read through NVML. */
enum aif_record_nvml {
	AIF_RECORD_NVML_AUTO, /* those that recorded processes use through CUDA */
	AIF_RECORD_NVML_OFF,
};

/* Whether the agent is put into running processes that do not carry it (inject/inject.h). */
enum aif_record_inject {
	AIF_RECORD_INJECT_AUTO, /* unless they are sampled from outside */
	AIF_RECORD_INJECT_ALWAYS,
	AIF_RECORD_INJECT_NEVER,
};

/* The clock that starts CPU samples (record/sources/cpu_clock.h). */
enum aif_record_cpu_clock {
	AIF_RECORD_CPU_CLOCK_AUTO, /* what costs less here, of what may be had */
	AIF_RECORD_CPU_CLOCK_PERF,
	AIF_RECORD_CPU_CLOCK_TICK,
};

/* Options of `aiflame record`. Strings stay the caller's. A zeroed struct with `argv` set (and,
 * where 0 is not the default, what aif_record_opts_init sets) is a plain recording. */
struct aif_record_opts {
	const char *
		output; /* -o: pattern with %h %p %r %q{VAR}; default "aiflame.data"; NULL: no file */
	int watcher; /* a socket that is sent the recording (profile/live.h), from then on the recorder's; 0: none */
	int runtime_choice;          /* --runtime as it was given: 0 = all; it becomes: */
	const char *runtime;         /* only this one, by its name; NULL = all */
	const char *agent;           /* path of libaiflame-agent.so */
	uint32_t device_rate;        /* --device-rate Hz, default 999; 0 = no device samples */
	const char *counters;        /* --counters: names with commas between; NULL = none */
	uint64_t counters_period_ns; /* --counters-period; 0 = AIF_RECORD_COUNTERS_PERIOD_NS */
	uint32_t cpu_rate;           /* --cpu-rate Hz, default 99; 0 = no CPU samples */
	uint32_t
		cpu_rate_asked; /* as it was given, before cpu_clock limits it; set by aif_record_run() */
	int cpu_clock;          /* --cpu-clock: enum aif_record_cpu_clock */
	bool cpu_may_tick; /* perf_events may be left for the kernel's ticks where a thread makes them dear; set by
			    * aif_cpu_clock_choose() */
	const struct aif_cpu_event
		*cpu_event;  /* --event: starts CPU samples in place of CPU time; NULL: none */
	uint64_t cpu_period; /* --period: of that event */
	bool ebpf;    /* --ebpf: CPU samples from the kernel, of processes without the agent, too */
	bool off_cpu; /* --off-cpu: and where threads wait */
	/* CPU samples of running processes without the agent, by perf_event; or it is refused for one of .pids. Set by
	 * aif_outside_check(). */
	bool outside, outside_refused;
	bool wall;             /* --wall: CPU samples by wall-clock timers in the target */
	uint32_t overhead_ppm; /* --overhead: the slowdown that is allowed, in 1/1,000,000 */
	bool all_launches;     /* --all-launches: without a limit */
	uint64_t duration_ns;  /* --duration: 0 = until the command ends */
	uint32_t
		repeat; /* --repeat: so many times --delay or --activate, and --duration; 0 = once */
	struct aif_schedule schedule; /* --schedule, --steps: of the program's own steps */
	bool kill;                    /* --kill: end the command after the duration */
	uint64_t keep_ns;             /* --keep: 0 = everything */
	uint64_t max_size;            /* --max-size in bytes: 0 = no limit */
	uint32_t reduce;              /* --reduce: one step of so many is kept; 0 = all */
	int cupti;                    /* --cupti (enum aif_cupti_use) */
	bool device_lines;            /* --device-lines */
	int calls;                    /* --calls: enum aif_record_calls */
	int nvml;                     /* --nvml: enum aif_record_nvml */
	int inject;                   /* --inject: enum aif_record_inject */
	bool no_python;               /* --no-python */
	bool children;                /* --children */
	bool cpu;                     /* --cpu: and from the start of each process */
	bool nvtx;                    /* --nvtx */
	bool no_source;               /* --no-source */
	bool no_code;                 /* --no-code */
	bool keep_code;               /* --keep-code */
	bool quiet;
	bool can_have_metrics;            /* Level Zero's driver starts with ZET_ENABLE_METRICS=1 */
	const char *name;                 /* --name: for `ctl`; default: that of the output */
	uint64_t delay_ns;                /* --delay: collects nothing before */
	struct aif_activation activation; /* --activate: nor before this */
	const char *activate;             /* as it was given; NULL: not */
	bool all_processes;               /* -a: those on standby */
	/* -p: decimal numbers, NULL behind the last */
	const char *pids[AIF_RECORD_PIDS + 1];
	char *const *argv; /* NULL-terminated command; NULL: with -a and -p */
};

#define AIF_RECORD_COUNTERS 512 /* as AIF_SHM_COUNTERS has it */
/* Enough for a curve, some KB a second. */
#define AIF_RECORD_COUNTERS_PERIOD_NS UINT64_C(10000000)

#define AIF_RECORD_DEFAULT_RATE 999
/* Highest rate but for hardware that samples itself, in its own steps (xe_card.h). */
#define AIF_RECORD_MAX_RATE         20000
#define AIF_RECORD_DEFAULT_CPU_RATE 99
#define AIF_RECORD_CPU_ONLY_RATE    999 /* with --cpu */
#define AIF_RECORD_DEFAULT_OVERHEAD 20000

/* Returns true if nothing is collected at first. */
static inline bool aif_record_is_delayed(const struct aif_record_opts *o)
{
	return o->delay_ns || aif_activation_is_set(&o->activation);
}

/* Returns true if the profile is to have all CPU time of the command and what it starts, from their beginning on. */
static inline bool aif_record_has_all_cpu(const struct aif_record_opts *o)
{
	return o->cpu && o->argv && o->cpu_rate && !o->cpu_event && !o->wall && !o->ebpf &&
	       !o->outside && !aif_record_is_delayed(o) && !o->schedule.active;
}

static inline uint32_t aif_record_rate(const struct aif_record_opts *o)
{
	return AIF_MIN(o->device_rate, AIF_RECORD_MAX_RATE);
}
