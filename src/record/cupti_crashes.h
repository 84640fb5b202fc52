/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"
#include "wire/shm.h"

/*
 * Builds of CUPTI that ended a program while it was recorded: a text file of the user's
 * (base/state.h), a line for each such end, which the next recordings read and pass to their agents
 * (struct aif_shm, cupti_crashes). A line is
 *
 *     BUILDID-HEX USE YYYY-MM-DD SIGNAL COMMAND
 *
 * and a line that is not of this form is ignored. Which library a program ended in is read from the
 * kernel's log.
 */

struct aif_cupti_crash {
	uint8_t id[AIF_SHM_CUPTI_ID];
	uint32_t use;     /* enum aif_cupti_use, not AUTO */
	char date[11];    /* local, YYYY-MM-DD */
	char signal[12];  /* SIGSEGV */
	char command[81]; /* as much of it as there is room for; control characters are '?' */
};

#define AIF_CUPTI_ID_TEXT (2 * AIF_SHM_CUPTI_ID + 1)
void aif_cupti_id_text(const uint8_t id[AIF_SHM_CUPTI_ID], char ret[AIF_CUPTI_ID_TEXT]);

/* Parses the log from its end. Returns at most `max` different builds, newest first, each with the
 * use of all its lines that asks least. */
size_t aif_cupti_crashes_parse(const char *text, size_t len, struct aif_cupti_crash *ret,
			       size_t max);
/* The same of the user's file, of which the last 64 KiB are read. 0 if there is none, or if it is
 * another user's or no regular file. */
size_t aif_cupti_crashes_load(struct aif_cupti_crash *ret, size_t max);
/* Appends a line to the user's file. 0, or -errno: nothing is written where there is no home, or
 * below a directory of another user's (sudo may keep HOME). */
int aif_cupti_crashes_add(const struct aif_cupti_crash *crash);

/* A program error that the kernel has logged. */
struct aif_fault {
	uint32_t tid; /* as the initial namespace has it */
	char name[16];
	char library[64]; /* the mapped file that the instruction was in; "" if it was in none */
};

/* Reads a record of /dev/kmsg. False: it is no program error. */
bool aif_fault_parse(const char *record, struct aif_fault *ret);
/* True for libcupti, and for the libraries that CUPTI alone calls or that call it back: nvperf,
 * libcuda. */
bool aif_is_cupti_library(const char *library);

/* The kernel's log from now on, a descriptor; -errno where it may not be read. */
int aif_kernel_log_open(void);
/* Threads to look for, by number, which the log has only outside of containers, and files that the
 * process was started from. */
struct aif_fault_of {
	const uint32_t *tids;
	size_t tids_len;
	const char *names[3]; /* paths, or NULL */
};
enum aif_fault_place {
	AIF_FAULT_UNKNOWN, /* the log does not say */
	AIF_FAULT_CUPTI,
	AIF_FAULT_ELSEWHERE,
};
/* Reads all that the log has since it was opened. log: a descriptor, or negative. library: where it
 * was; "" if the log does not say. */
enum aif_fault_place aif_kernel_log_find(int log, const struct aif_fault_of *of, char library[64]);
