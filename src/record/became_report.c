/* SPDX-License-Identifier: Apache-2.0 */
#include "record/became_report.h"

static void count_unrecorded(struct aif_store *s, const char *name)
{
	pthread_mutex_lock(&s->lock);
	aif_store_loss(s, AIF_REASON_NOT_COVERED_EXEC, AIF_NONE, aif_store_puts(s, name), 1);
	pthread_mutex_unlock(&s->lock);
}

void aif_report_became(struct aif_attach *a, struct aif_drain_thread *drain,
		       struct aif_store *store, const struct aif_record_observer *o)
{
	struct aif_became_news news;

	while (aif_became_next(a, &news)) {
		if (news.has_left)
			aif_drain_thread_forget(drain, news.pid);
		else if (o && o->became)
			o->became(o->arg, &(struct aif_record_joined){.pid = news.pid,
								      .name = news.name,
								      .times = news.times,
								      .why = news.why});
		if (*news.why)
			count_unrecorded(store, news.name);
	}
}
