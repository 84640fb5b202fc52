/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct mock_cupti mock_cupti = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local struct mock_thread *self;

struct mock_thread *mock_thread(void)
{
	if (!self) {
		self = calloc(1, sizeof(*self));
		if (!self)
			abort();
		pthread_mutex_lock(&mock_cupti.lock);
		self->next = mock_cupti.threads;
		mock_cupti.threads = self;
		pthread_mutex_unlock(&mock_cupti.lock);
	}
	return self;
}

void mock_alive(const char *what)
{
	if (mock_cupti.over)
		mock_log("BAD %s after the driver's end", what);
}

static unsigned count(const bool *on, unsigned n)
{
	unsigned all = 0;

	for (unsigned i = 0; i < n; i++)
		all += on[i];
	return all;
}

/* The calls that this driver has. */
static bool launches(uint32_t domain, uint32_t id)
{
	return domain == AIF_CUPTI_DOMAIN_DRIVER && (id == MOCK_LAUNCH || id == MOCK_COPY);
}

unsigned mock_callbacks_on(void)
{
	return mock_cupti.called_back[AIF_CUPTI_DOMAIN_DRIVER][MOCK_LAUNCH] +
	       mock_cupti.called_back[AIF_CUPTI_DOMAIN_DRIVER][MOCK_COPY];
}

unsigned mock_records_on(void)
{
	return count(mock_cupti.recorded, MOCK_KINDS);
}

unsigned mock_launching(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&mock_cupti.lock);
	for (struct mock_thread *t = mock_cupti.threads; t; t = t->next)
		n += t != self && t->launches;
	pthread_mutex_unlock(&mock_cupti.lock);
	return n;
}

unsigned mock_in_driver(void)
{
	unsigned n = 0;

	for (struct mock_thread *t = mock_cupti.threads; t; t = t->next)
		n += t != self && t->in_driver;
	return n;
}

/* Under the lock: the callback of a call is off. CUPTI 13.0 loses count of threads that are inside it, unless records
 * watch it (bench/results/h100-cupti.md). 0 = all calls. */
static void unwatched(uint32_t id)
{
	unsigned lost = 0;

	for (struct mock_thread *t = mock_cupti.threads; t && !mock_records_on(); t = t->next) {
		if (t == self || !t->in_call || (t->call != id && id) || t->stuck)
			continue;
		t->stuck = t->correlation;
		lost++;
	}
	mock_log("unwatched lost=%u", lost);
}

/* ---- what the driver tells ---- */

struct listener {
	aif_cupti_callback_fn *callback;
	void *user;
};

/* Returns true if this callback is on, and its listener by value, as it may unsubscribe
 * meanwhile. */
static bool listens(uint32_t domain, uint32_t id, struct listener *ret)
{
	bool wanted;

	pthread_mutex_lock(&mock_cupti.lock);
	wanted = mock_cupti.callback && mock_cupti.called_back[domain][id];
	*ret = (struct listener){mock_cupti.callback, mock_cupti.user};
	pthread_mutex_unlock(&mock_cupti.lock);
	return wanted;
}

static void call_back(const struct listener *l, uint32_t domain, uint32_t id, const void *data)
{
	struct mock_thread *t = mock_thread();

	t->inside++;
	l->callback(l->user, domain, id, data);
	t->inside--;
}

static void call_back_of(struct mock_call *call, enum aif_cupti_site site)
{
	struct aif_cupti_callback cb = {.site = site,
					.function = call->name,
					.parameters = call->parameters,
					.result = &call->result,
					.symbol = call->function ? call->function->name : NULL,
					.context = call->context,
					.context_id = call->context->id,
					.data = &call->data,
					.correlation = call->correlation};
	struct listener l;

	if (!call->correlation || !listens(AIF_CUPTI_DOMAIN_DRIVER, call->id, &l))
		return;
	mock_spend(mock_cupti.callback_ns / 2); /* there are two */
	call_back(&l, AIF_CUPTI_DOMAIN_DRIVER, call->id, &cb);
}

static void enter(struct mock_call *call)
{
	struct mock_thread *t = mock_thread();

	pthread_mutex_lock(&mock_cupti.lock);
	mock_cupti.calls++;
	t->in_call = mock_cupti.called_back[AIF_CUPTI_DOMAIN_DRIVER][call->id] || mock_records_on();
	t->call = call->id;
	if (t->in_call)
		t->correlation = t->stuck ? t->stuck : ++mock_cupti.correlation;
	call->correlation = t->in_call ? t->correlation : 0;
	mock_cupti.callbacks += mock_cupti.called_back[AIF_CUPTI_DOMAIN_DRIVER][call->id];
	pthread_mutex_unlock(&mock_cupti.lock);
	call_back_of(call, AIF_CUPTI_ENTER);
	pthread_mutex_lock(&mock_cupti.lock);
	t->launches = call->id == MOCK_LAUNCH;
	t->in_driver = true;
	pthread_mutex_unlock(&mock_cupti.lock);
}

static void executed(struct mock_call *call)
{
	mock_activity_executed(call);
	mock_sampling_executed(call);
}

static void leave(struct mock_call *call)
{
	struct mock_thread *t = mock_thread();

	pthread_mutex_lock(&mock_cupti.lock);
	t->launches = t->in_driver = false;
	pthread_mutex_unlock(&mock_cupti.lock);
	call_back_of(call, AIF_CUPTI_EXIT);
	pthread_mutex_lock(&mock_cupti.lock);
	t->in_call = false;
	pthread_mutex_unlock(&mock_cupti.lock);
}

static void waits(struct mock_call *call, bool over)
{
	call->correlation = UINT32_MAX;
	call_back_of(call, over ? AIF_CUPTI_EXIT : AIF_CUPTI_ENTER);
}

static void resource(uint32_t event, struct mock_context *context, const void *descriptor)
{
	struct aif_cupti_resource r = {.context = context, .descriptor = descriptor};
	struct listener l;

	if (event == AIF_CUPTI_MODULE_LOADED)
		atomic_store(&mock_cupti.loaded_ns, mock_now());
	if (listens(AIF_CUPTI_DOMAIN_RESOURCE, event, &l))
		call_back(&l, AIF_CUPTI_DOMAIN_RESOURCE, event, &r);
}

static void over(void)
{
	mock_log(
		"over calls=%llu callbacks=%llu records=%llu callback_kinds=%u record_kinds=%u sampled=%d",
		(unsigned long long)mock_cupti.calls, (unsigned long long)mock_cupti.callbacks,
		(unsigned long long)mock_cupti.records, mock_callbacks_on(), mock_records_on(),
		mock_sampling_is_on());
	mock_cupti.over = true;
}

__attribute__((constructor)) static void init(void)
{
	static const struct mock_hooks hooks = {enter, executed, leave, waits, resource, over};
	long version = mock_option("version");

	/* CUPTI looks exit() up, too, long before it samples: by then it is bound. */
	if (!dlsym(RTLD_DEFAULT, "exit"))
		abort();
	mock_cupti.version = version ? (uint32_t)version : 130001;
	mock_cupti.callback_ns = (uint64_t)mock_option("callback");
	mock_cupti.record_ns = (uint64_t)mock_option("record");
	mock_activity_init();
	mock_sampling_init();
	mock_cuda_hook(&hooks);
}

/* ---- what others call ---- */

int cuptiGetVersion(uint32_t *version)
{
	*version = mock_cupti.version;
	return 0;
}

int cuptiGetTimestamp(uint64_t *now)
{
	mock_alive(__func__);
	*now = mock_now() + EPOCH_NS;
	return 0;
}

int cuptiGetResultString(int result, const char **text)
{
	static const struct {
		int result;
		const char *text;
	} texts[] = {
		{AIF_CUPTI_OUT_OF_MEMORY, "MOCK_OUT_OF_MEMORY"},
		{AIF_CUPTI_NOT_COMPATIBLE, "MOCK_NOT_COMPATIBLE"},
		{AIF_CUPTI_HARDWARE_BUSY, "MOCK_HARDWARE_BUSY"},
		{AIF_CUPTI_INSUFFICIENT_PRIVILEGES, "MOCK_INSUFFICIENT_PRIVILEGES"},
		{AIF_CUPTI_MULTIPLE_SUBSCRIBERS, "MOCK_MULTIPLE_SUBSCRIBERS"},
		{AIF_CUPTI_UNKNOWN, "MOCK_UNKNOWN"},
	};

	for (unsigned i = 0; i < AIF_ARRAY_LEN(texts); i++)
		if (texts[i].result == result) {
			*text = texts[i].text;
			return 0;
		}
	return CUPTI_INVALID_PARAMETER;
}

int cuptiSubscribe(void **subscriber, aif_cupti_callback_fn *callback, void *user)
{
	bool refused, unwilling = mock_option("unwilling");

	mock_alive(__func__);
	pthread_mutex_lock(&mock_cupti.lock);
	refused = mock_cupti.callback || mock_option("crowded") || unwilling;
	if (!refused) {
		mock_cupti.callback = callback;
		mock_cupti.user = user;
		mock_cupti.subscription++;
		mock_cupti.correlation = 0; /* numbers begin anew */
		*subscriber = &mock_cupti.subscription;
	}
	pthread_mutex_unlock(&mock_cupti.lock);
	mock_log("subscribe refused=%d", refused);
	return unwilling ? AIF_CUPTI_UNKNOWN : refused ? AIF_CUPTI_MULTIPLE_SUBSCRIBERS : 0;
}

int cuptiUnsubscribe(void *subscriber)
{
	int on;

	mock_alive(__func__);
	pthread_mutex_lock(&mock_cupti.lock);
	if (subscriber != &mock_cupti.subscription || !mock_cupti.callback) {
		pthread_mutex_unlock(&mock_cupti.lock);
		mock_log("BAD unsubscribe");
		return CUPTI_INVALID_PARAMETER;
	}
	on = (int)mock_callbacks_on();
	/* Option "losing": a profiler of the program's has switched its callbacks off before. */
	if (mock_option("losing"))
		unwatched(0);
	memset(mock_cupti.called_back, 0, sizeof(mock_cupti.called_back));
	mock_cupti.callback = NULL;
	mock_log("unsubscribe before=%d callback_kinds=0 record_kinds=%u sampled=%d", on,
		 mock_records_on(), mock_sampling_is_on());
	pthread_mutex_unlock(&mock_cupti.lock);
	return 0;
}

int cuptiFinalize(void)
{
	bool bad;

	mock_alive(__func__);
	pthread_mutex_lock(&mock_cupti.lock);
	bad = mock_cupti.callback || mock_records_on() || mock_sampling_is_on();
	mock_sampling_forget();
	for (struct mock_thread *t = mock_cupti.threads; t; t = t->next)
		t->stuck = 0;
	mock_log("%sfinalize", bad ? "BAD " : "");
	pthread_mutex_unlock(&mock_cupti.lock);
	return 0;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
	bool *is;

	mock_alive(__func__);
	if (subscriber != &mock_cupti.subscription || !mock_cupti.callback ||
	    domain >= MOCK_DOMAINS || id >= MOCK_CALLBACKS) {
		mock_log("BAD callback domain=%u id=%u", domain, id);
		return CUPTI_INVALID_PARAMETER;
	}
	pthread_mutex_lock(&mock_cupti.lock);
	is = &mock_cupti.called_back[domain][id];
	if (*is != (bool)on) {
		*is = on;
		if (launches(domain, id)) {
			if (!on)
				unwatched(id);
			mock_log("callback on=%u id=%u callback_kinds=%u record_kinds=%u", on, id,
				 mock_callbacks_on(), mock_records_on());
		}
	}
	pthread_mutex_unlock(&mock_cupti.lock);
	return 0;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
	struct mock_context *c = context;

	if (!c || atomic_load(&c->gone)) {
		mock_log("BAD device of a context that is gone");
		return CUPTI_INVALID_CONTEXT;
	}
	*device = c->device;
	return 0;
}
