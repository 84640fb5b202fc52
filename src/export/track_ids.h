/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * Numbers by which formats with processes and threads tell tracks apart. Those of the system are kept where they are
 * unique; a process or thread whose number was used before, in another process or on another host, is given one beyond
 * what Linux gives (4,194,304), as are devices, which these formats know as processes only.
 */
enum {
	AIF_TRACK_ID_DEVICE = 10000000,  /* and the device */
	AIF_TRACK_ID_AGAIN = 20000000,   /* and the process or thread */
	AIF_TRACK_ID_UNKNOWN = 19999999, /* what belongs to none */
};

struct aif_track_ids {
	uint32_t *processes, *threads; /* by id of the profile */
};

/* 0 or -ENOMEM; finished by the caller in any case. */
int aif_track_ids_init(struct aif_track_ids *t, const struct aif_profile *p);
void aif_track_ids_finish(struct aif_track_ids *t);

static inline uint32_t aif_track_id_process(const struct aif_track_ids *t, uint32_t process)
{
	return process == AIF_NONE ? AIF_TRACK_ID_UNKNOWN : t->processes[process];
}
static inline uint32_t aif_track_id_thread(const struct aif_track_ids *t, uint32_t thread)
{
	return thread == AIF_NONE ? AIF_TRACK_ID_UNKNOWN : t->threads[thread];
}
static inline uint32_t aif_track_id_device(uint32_t device)
{
	return device == AIF_NONE ? AIF_TRACK_ID_DEVICE - 1 : AIF_TRACK_ID_DEVICE + device;
}
