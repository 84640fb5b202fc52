/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "import/kineto/events.h"
#include "profile/model.h"

/* Processes, devices and streams of a trace, and what it says of them. Rows of the profile are made at first use. */
struct kineto;

struct kineto_pid {
	struct kineto_id pid;
	uint32_t number;       /* as of threads */
	uint32_t name, labels; /* strings of the profile, AIF_NONE */
	uint32_t process;
	bool is_xla_device; /* a device of XLA in place of a process: xla.h */
	int64_t xla_device; /* the device's number */
};

struct kineto_rank_name { /* "[rank]" before pids */
	uint32_t group;   /* group of struct kineto_id */
	uint32_t name;    /* string of the profile */
};

struct kineto_device {
	int64_t number;  /* kineto_device_key() */
	uint32_t device; /* of the profile */
	int64_t shift;   /* ns that its times are moved by */
	uint64_t early;  /* executions that would start before their launch */
};

struct kineto_stream {
	int64_t device, stream;
	uint32_t id, of_device; /* stream and device of the profile */
	uint64_t last_end;
	bool has_last;
};

/* A queue that executions name; several may be of one stream. */
struct kineto_queue {
	int64_t device, stream; /* device: kineto_device_key() */
	uint32_t group;         /* group of struct kineto_id */
	uint32_t at;            /* 1 + index of .streams; 0: not yet looked up */
};

struct kineto_property { /* an element of deviceProperties */
	int64_t number;
	uint32_t name, units; /* string of the profile */
};

enum kineto_family {
	KINETO_UNKNOWN,
	KINETO_CUDA,
	KINETO_HIP,
	KINETO_XPU,
	KINETO_MTIA,
	KINETO_HPU,
	KINETO_PRIVATE,
	KINETO_AIU,
	KINETO_NPU, /* Huawei's Ascend */
	KINETO_ZE,  /* unitrace: Level Zero and OpenCL on Intel's GPUs */
};

struct kineto_machine {
	AIF_TABLE(kineto_pid, pids);
	struct aif_map by_pid; /* index of the one that came last with a key */
	AIF_TABLE(kineto_rank_name, ranks);
	AIF_TABLE(kineto_device, devices);
	AIF_TABLE(kineto_stream, streams);
	AIF_TABLE(kineto_property, properties);
	struct aif_map stream_ids;
	AIF_TABLE(kineto_queue, queues);
	struct aif_map queue_ids;
	/* The process, of the profile, of a device's work where no launch says whose it is. */
	uint32_t main_process;
	uint32_t host; /* string, AIF_NONE */
	enum kineto_family family;
	int64_t rank, world; /* number of the rank; how many there are */
	bool has_xla;        /* a process is a device */
	bool has_rank, has_world;
	/* above their 32 bits streams' numbers say of which context or queue they are */
	bool has_stream_places;
	char driver[64];
};

uint32_t kineto_process(struct kineto *k, struct kineto_id pid);
/* Returns the entry of a process, made at the first time; NULL: out of memory (.is_failed). */
struct kineto_pid *kineto_pid_of(struct kineto *k, struct kineto_id pid);
/* Notes the rank that is named before k->event's pid. Returns its place among .ranks + 1; 0: none is named; AIF_NONE:
 * out of memory. */
uint32_t kineto_rank_of(struct kineto *k);
/* Returns what tells the devices of several ranks apart that have one number. */
int64_t kineto_device_key(struct kineto *k, int64_t number);
uint32_t kineto_device(struct kineto *k, int64_t key);
uint32_t kineto_stream(struct kineto *k, int64_t device, int64_t number);
/* Returns a stream's number as its tool has it. */
uint64_t kineto_stream_ordinal(const struct kineto *k, int64_t number);
/* Returns where a stream is looked for first. The next place is aif_mix64() of it, not the one behind: whoever makes a file can choose
 * numbers of two devices so that the places of all would follow one another. */
uint64_t kineto_stream_key(int64_t device, int64_t number, uint32_t group);
/* Returns the index of a queue, made at the first time; AIF_NONE: out of memory (.is_failed). */
uint32_t kineto_queue(struct kineto *k, int64_t device, int64_t stream, uint32_t group);
/* Returns the stream of a queue, made at the first time; NULL: out of memory (.is_failed). */
struct kineto_stream *kineto_stream_of(struct kineto *k, uint32_t queue);
/* Adds what the file says of a device; no more than a machine may have. 0 or -ENOMEM. */
int kineto_property_add(struct kineto_machine *m, const struct kineto_property *p);
/* Sets .main_process: that with most spans. */
void kineto_main_process_find(struct kineto *k);
void kineto_machine_finish(struct kineto_machine *m);
