/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_text.h"

#include "base/build_id.h"
#include "base/job_rank.h"
#include "base/mounts.h"
#include "base/proc.h"
#include "record/attach/attach_dir.h"
#include "record/cupti_crashes.h"
#include "stat/model_event.h"
#include "stat/sysfs_event.h"

#include <stdlib.h>
#include <string.h>

/*
 * Texts of the OS kernel's about processes, in which names and values are the processes' own: files of /proc and /sys, the
 * kernel's log, ELF notes; and the list of CUPTI's crashes. The first byte says which; what was read lies within what was
 * given.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STAT, STATUS, CPUS, MOUNTS, ENVIRON, MAPS, LOG, CRASHES, SYSFS, CPUINFO, NOTES, KINDS };

static void stat_fields(const char *text)
{
	size_t len = strlen(text);

	for (int n = 3; n <= 52; n++) {
		const char *field = aif_proc_stat_field(text, n);

		if (field && (field < text || field > text + len))
			abort();
	}
}

static void mounts(const char *text)
{
	struct aif_mounts m = {0};

	if (aif_mounts_parse(text, &m) == 0)
		for (size_t i = 0; i < m.len; i++)
			(void)aif_mounts_allow(&m, m.at[i].device, m.at[i].id);
	(void)aif_mounts_allow(&m, AIF_MOUNT_DEVICE(8, 1), 0);
	aif_mounts_finish(&m);
}

static void environment(const char *block, size_t size)
{
	char value[64];

	(void)aif_job_rank_find(block, size);
	(void)aif_job_number(block, size);
	if (aif_standby_variable(block, size, "PATH", value, sizeof(value)) == 0 &&
	    strlen(value) >= sizeof(value))
		abort();
}

static void maps(char *text)
{
	struct aif_standby_maps m = {0};

	aif_standby_maps_read(text, 7, &m);
	if (strnlen(m.dir, sizeof(m.dir)) == sizeof(m.dir))
		abort();
}

static bool ends_within(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

static void crashes(const char *text, size_t size)
{
	struct aif_cupti_crash c[3];
	size_t n = aif_cupti_crashes_parse(text, size, c, AIF_ARRAY_LEN(c));

	if (n > AIF_ARRAY_LEN(c))
		abort();
	for (size_t i = 0; i < n; i++)
		if (!ends_within(c[i].date, sizeof(c[i].date)) ||
		    !ends_within(c[i].signal, sizeof(c[i].signal)) ||
		    !ends_within(c[i].command, sizeof(c[i].command)) || !c[i].use)
			abort();
}

static void log_line(const char *text)
{
	struct aif_fault f;

	if (!aif_fault_parse(text, &f))
		return;
	if (!ends_within(f.name, sizeof(f.name)) || !ends_within(f.library, sizeof(f.library)))
		abort();
	(void)aif_is_cupti_library(f.library);
}

static void notes(const uint8_t *data, size_t size)
{
	char text[129];

	for (unsigned is_big = 0; is_big < 2; is_big++) {
		size_t len = 0;
		const uint8_t *id = aif_build_id_find(data, size, is_big, &len);

		if (id && (!len || id < data || len > size || id + len > data + size))
			abort();
		aif_build_id_text(data, size, is_big, text, sizeof(text));
		if (strlen(text) >= sizeof(text))
			abort();
	}
}

static void read_text(unsigned kind, char *text, size_t size)
{
	uint64_t config;

	switch (kind) {
	case STAT:
		stat_fields(text);
		break;
	case STATUS:
		(void)aif_proc_filters(text);
		break;
	case CPUS:
		(void)aif_proc_cpus(text);
		break;
	case MOUNTS:
		mounts(text);
		break;
	case ENVIRON:
		environment(text, size);
		break;
	case MAPS:
		maps(text);
		break;
	case LOG:
		log_line(text);
		break;
	case CRASHES:
		crashes(text, size);
		break;
	case SYSFS:
		(void)aif_stat_sysfs_parse(text, &config);
		break;
	case CPUINFO:
		(void)aif_stat_model_event_of(text, "dtlb_load_misses.walk_completed", &config);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = fuzz_text(data, size);
	if (data[0] % KINDS == NOTES) {
		uint8_t *bytes = malloc(size);

		memcpy(bytes, data + 1, size - 1);
		notes(bytes, size - 1);
		free(bytes);
	} else {
		read_text(data[0] % KINDS, text, size - 1);
	}
	free(text);
	return 0;
}
