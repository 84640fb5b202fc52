/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/notes.h"

#include "record/ingest/gpu_users.h"

#include <inttypes.h>

/* All of /proc is read that often at most, however often targets complain. */
#define GPU_USERS_NS AIF_NS_PER_S

/* Adds to a note's detail which programs may hold the GPU's sampling unit: CUPTI says that it is held, not by whom. */
static uint32_t put_holders(struct aif_drainer *d, const char *detail, size_t len)
{
	uint64_t now = aif_now_ns();
	struct aif_store *s = d->store;
	struct aif_gpu_user users[4];
	struct aif_buf text = {0};
	size_t n = 0;
	uint32_t id;

	if (!d->gpu_users_ns || now - d->gpu_users_ns >= GPU_USERS_NS) {
		d->gpu_users_ns = now;
		n = aif_gpu_users("", users, AIF_ARRAY_LEN(users));
	}
	aif_buf_append(&text, detail, len);
	for (size_t i = 0; i < n; i++)
		aif_buf_printf(&text, "%s%s (process %" PRIu32 ")", i ? ", " : "; perhaps it is ",
			       users[i].name, users[i].pid);
	id = aif_store_str(s, text.data, text.len);
	aif_buf_finish(&text);
	return id;
}

void aif_notes_record(struct aif_ingest *in, const struct aif_wire_note *r)
{
	struct aif_store *s = in->drainer->store;
	uint32_t detail = AIF_NONE;

	if (!aif_reason_info((int)r->head.aux))
		return;
	if (r->head.aux == AIF_REASON_CUDA_COUNTERS_HELD)
		detail = put_holders(in->drainer, (const char *)(r + 1), r->detail_len);
	else if (r->detail_len)
		detail = aif_store_str(s, r + 1, r->detail_len);
	aif_store_loss(s, (enum aif_reason)r->head.aux, in->target->process, detail,
		       AIF_MAX(r->count, 1));
}
