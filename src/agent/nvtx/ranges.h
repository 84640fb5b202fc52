/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/enter.h"
#include "agent/nvtx/names.h"
#include "agent/nvtx/repeated.h"
#include "wire/wire.h"

/*
 * The ranges that a thread is in, and the records of their begins and ends. A thread's stack of open ranges is kept also
 * while nobody records: a recorder that comes meanwhile must not take the end of an old range for that of a new one.
 * Ranges of different domains of a thread nest each by itself, so one may end below another that goes on.
 *
 * A name is written into the thread's ring once, before its first use there (AIF_WIRE_NAME); a begin has its number.
 */

/* Ranges of a thread that are open at a time; more are counted, and not recorded. */
#define AIF_NVTX_OPEN 64
/* Texts that a thread remembers the names of, and places in which one can be: a step of XLA's has some 200. */
#define AIF_NVTX_RECENT      1024
#define AIF_NVTX_RECENT_WAYS 4

/* A text of the program's that was named; it may have another text at that address since. */
struct aif_nvtx_recent {
	const char *text;
	uint32_t domain, name;
};

struct aif_nvtx_thread {
	uint32_t takes, announcements; /* those of struct aif_thread that this is of */
	uint32_t len, over;            /* over: pushed beyond AIF_NVTX_OPEN */
	struct {
		uint64_t start; /* CLOCK_MONOTONIC ns; 0: its begin was not recorded */
		uint16_t domain;
		bool is_closed; /* while one above it is open */
	} open[AIF_NVTX_OPEN];
	uint64_t defined[AIF_NVTX_NAMES / 64]; /* names that the ring has, a bit each */
	struct aif_nvtx_recent recent[AIF_NVTX_RECENT];
	struct aif_nvtx_repeated repeated[AIF_NVTX_REPEATED];
};

/* Pages that payloads of the program were in. */
#define AIF_NVTX_PAGES 64

struct aif_nvtx {
	_Atomic uint64_t spans; /* ranges that need not end in their thread, so far */
	_Atomic uint64_t pages[AIF_NVTX_PAGES]; /* numbers of pages that could be read */
	struct aif_nvtx_tables tables;
};

/* The process's state, made by the first call; NULL: no memory. */
struct aif_nvtx *aif_nvtx_get(void);
/* The same, NULL before that. */
static inline struct aif_nvtx *aif_nvtx_now(void)
{
	return atomic_load_explicit(&aif_agent.nvtx, memory_order_acquire);
}

/* True if nobody records: these loads are most of what a push or pop costs then (bench/nvtx.sh). A forked child is not
 * woken: it meets the recorder when it uses a device. */
static inline bool aif_nvtx_is_asleep(void)
{
	struct aif_armed *armed =
		atomic_load_explicit(&aif_agent.session.armed, memory_order_acquire);

	return !armed || !atomic_load_explicit(&armed->on, memory_order_acquire);
}

/* Ranges that the thread is in, begun before it had a stack of them: nobody has recorded it yet. */
extern __thread uint32_t aif_nvtx_below __attribute__((tls_model("initial-exec")));

/* Counts a range of a thread that has no stack of them while nobody records: all that such a push does. False: there is
 * more to do. */
static inline bool aif_nvtx_push_counted(int *ret)
{
	if (aif_unlikely(!aif_nvtx_is_asleep() || (aif_self && aif_self->nvtx)))
		return false;
	*ret = (int)AIF_MIN(aif_nvtx_below, (uint32_t)INT32_MAX);
	aif_nvtx_below++;
	return true;
}

/* Ends such a range; false: there is more to do. */
static inline bool aif_nvtx_pop_counted(int *ret)
{
	if (aif_unlikely(!aif_nvtx_below || (aif_self && aif_self->nvtx)))
		return false;
	*ret = (int)--aif_nvtx_below;
	return true;
}

/* An event as the program gave it. `name` is a name's number. */
struct aif_nvtx_event {
	uint32_t domain, name;
	uint32_t
		payload; /* the name that has the payload's text; AIF_NVTX_NAME_OTHER: .text has it */
	const char *text; /* of its payload and category */
	size_t text_len;
};

/* Opens a range; `e` NULL: nobody records. Returns how many the thread was in. */
int aif_nvtx_push(struct aif_thread *t, uint32_t domain, const struct aif_nvtx_event *e);
/* Ends the thread's innermost range of that domain. Returns how many it is in still, or -1: there was none. */
int aif_nvtx_pop(uint32_t domain, const char *text, size_t text_len);
/* A moment. */
void aif_nvtx_mark(struct aif_thread *t, const struct aif_nvtx_event *e);
/* Opens a range that any thread may end; `t` NULL: nobody records. Returns its number, never 0. */
uint64_t aif_nvtx_start(struct aif_thread *t, const struct aif_nvtx_event *e);
void aif_nvtx_end(uint64_t range, const char *text, size_t text_len);
