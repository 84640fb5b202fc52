/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/entries.h"

#include "agent/nvtx/collectives.h"
#include "agent/nvtx/ranges.h"
#include "agent/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Payloads of one event that are read. */
#define DATA_MAX 8

/* ---- what an event says ---------------------------------------------------------------------- */

static const struct aif_nvtx_schema *find_schema(void *arg, uint32_t domain, uint64_t id)
{
	struct aif_nvtx *x = arg;

	return aif_nvtx_schema_find(&x->tables, domain, id);
}

static const char *find_registered(void *arg, uint64_t handle)
{
	struct aif_nvtx *x = arg;
	uint32_t name = aif_nvtx_string_of(&x->tables, (const void *)(uintptr_t)handle);
	size_t len;

	/* Without the domain, which the range's name has. */
	return name == AIF_NVTX_NAME_NONE
		       ? NULL
		       : aif_nvtx_name_text(&x->tables, name, &len) + x->tables.names[name].prefix;
}

/* A string that a payload points to: what a schema says of it may be wrong. */
static size_t read_foreign(void *arg, uint64_t address, void *to, size_t len)
{
	size_t page = 4096 - address % 4096, n = 0;
	int saved = errno;

	(void)arg;
	if (aif_sandbox_may_be_on())
		return 0;
	/* No further than the page's end, unless the string goes on there. */
	while (n < len) {
		size_t piece = AIF_MIN(len - n, n ? (size_t)4096 : page);
		struct iovec here = {(uint8_t *)to + n, piece};
		struct iovec there = {(void *)(uintptr_t)(address + n), piece};
		ssize_t r = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

		if (r <= 0)
			break;
		n += (size_t)r;
		if (memchr((uint8_t *)to + n - r, '\0', (size_t)r))
			break;
	}
	errno = saved;
	return n;
}

/* True if the page can be read, or if that cannot be found out. */
static AIF_NOINLINE bool page_is_readable(uint64_t page)
{
	uint8_t byte;
	struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)(page * 4096), 1};
	int saved = errno;
	bool is;

	if (aif_sandbox_may_be_on())
		return true;
	is = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
	errno = saved;
	return is;
}

/* A system call for each payload would take longer than all else. So pages that could be read are remembered: payloads are
 * mostly in few of them, of a thread's stack. */
static bool is_readable(void *arg, uint64_t address, size_t len)
{
	struct aif_nvtx *x = arg;
	uint64_t page = address / 4096, last;

	if (!len || __builtin_add_overflow(address, len - 1, &last))
		return false;
	for (last /= 4096; page <= last; page++) {
		_Atomic uint64_t *seen = &x->pages[page % AIF_NVTX_PAGES];

		if (aif_likely(page && atomic_load_explicit(seen, memory_order_relaxed) == page))
			continue;
		if (!page_is_readable(page))
			return false;
		atomic_store_explicit(seen, page, memory_order_relaxed);
	}
	return true;
}

static struct aif_nvtx_world world_of(struct aif_nvtx *x)
{
	return (struct aif_nvtx_world){.arg = x,
				       .schema = find_schema,
				       .registered = find_registered,
				       .read = read_foreign,
				       .is_readable = is_readable};
}

static size_t data_text(struct aif_nvtx *x, uint32_t domain, const struct aif_nvtx_data *data,
			uint64_t n, char text[AIF_NVTX_TEXT], size_t len)
{
	const struct aif_nvtx_world w = world_of(x);

	for (uint64_t i = 0;
	     data && i < n && i < DATA_MAX && aif_nvtx_is_readable(&w, &data[i], sizeof(data[i]));
	     i++)
		len = aif_nvtx_payload_text(&w, domain, &data[i], text, len, AIF_NVTX_TEXT);
	return len;
}

/* True if a program's structure has that field: it may be of an older version. */
#define HAS(a, field) \
	((a)->size >= offsetof(struct aif_nvtx_attributes, field) + sizeof((a)->field))

/* Finds the place in which a thread remembers the name of a text, or would. */
static struct aif_nvtx_recent *recent_of(struct aif_nvtx_thread *s, uint32_t domain,
					 const char *text)
{
	uint64_t hash = ((uint64_t)(uintptr_t)text ^ domain) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct aif_nvtx_recent *set =
		&s->recent[hash % (AIF_NVTX_RECENT / AIF_NVTX_RECENT_WAYS) * AIF_NVTX_RECENT_WAYS];

	for (struct aif_nvtx_recent *r = set; r < set + AIF_NVTX_RECENT_WAYS; r++)
		if (!r->text || (r->text == text && r->domain == domain))
			return r;
	return &set[(hash >> 16) % AIF_NVTX_RECENT_WAYS];
}

/* The name of a text; `s` remembers it, if it is not NULL. A program mostly gives the same constants. */
static uint32_t text_name(struct aif_nvtx *x, struct aif_nvtx_thread *s, uint32_t domain,
			  const char *text)
{
	struct aif_nvtx_recent *r = s ? recent_of(s, domain, text) : NULL;
	uint32_t name;
	size_t len;

	/* The program may have written there since. */
	if (r && r->text == text && r->domain == domain &&
	    !strcmp(text, aif_nvtx_name_text(&x->tables, r->name, &len) +
				  x->tables.names[r->name].prefix))
		return r->name;
	name = aif_nvtx_name(&x->tables, domain, text, aif_nvtx_length(text));
	/* A text that was cut is not equal to its name. */
	if (r && name != AIF_NVTX_NAME_OTHER)
		*r = (struct aif_nvtx_recent){.text = text, .domain = domain, .name = name};
	return name;
}

static uint32_t message_name(struct aif_nvtx *x, struct aif_nvtx_thread *s, uint32_t domain,
			     const struct aif_nvtx_attributes *a)
{
	char wide[AIF_NVTX_NAME_MAX];

	if (!HAS(a, message) || !a->message)
		return AIF_NVTX_NAME_NONE;
	switch (a->message_type) {
	case AIF_NVTX_MESSAGE_ASCII:
		return text_name(x, s, domain, a->message);
	case AIF_NVTX_MESSAGE_UNICODE:
		return aif_nvtx_name(&x->tables, domain, wide,
				     aif_nvtx_narrow(a->message, wide, sizeof(wide)));
	case AIF_NVTX_MESSAGE_REGISTERED:
		return aif_nvtx_string_of(&x->tables, a->message);
	default:
		return AIF_NVTX_NAME_NONE;
	}
}

/* Says what an event's payloads are, behind `len` bytes of text. */
static void event_data(struct aif_nvtx *x, struct aif_nvtx_thread *s,
		       const struct aif_nvtx_data *data, uint64_t n, char text[AIF_NVTX_TEXT],
		       size_t len, struct aif_nvtx_event *e)
{
	const struct aif_nvtx_world w = world_of(x);

	if (s && data && n == 1 && !len && aif_nvtx_is_readable(&w, data, sizeof(*data)))
		e->payload = aif_nvtx_repeated(&x->tables, s->repeated, &w, e->domain, data);
	if (e->payload == AIF_NVTX_NAME_OTHER)
		len = data_text(x, e->domain, data, n, text, len);
	e->text_len = len;
}

static size_t category_text(struct aif_nvtx *x, uint32_t domain,
			    const struct aif_nvtx_attributes *a, char text[AIF_NVTX_TEXT])
{
	const char *name = HAS(a, category) && a->category
				   ? aif_nvtx_category_name(&x->tables, domain, a->category)
				   : NULL;
	size_t len = name ? strlen(name) : 0;

	if (!len)
		return 0;
	memcpy(text, "category=", 9);
	memcpy(text + 9, name, len + 1);
	return len + 9;
}

static void event_of(struct aif_nvtx *x, struct aif_nvtx_thread *s, uint32_t domain,
		     const struct aif_nvtx_attributes *a, char text[AIF_NVTX_TEXT],
		     struct aif_nvtx_event *e)
{
	size_t len = category_text(x, domain, a, text);

	*e = (struct aif_nvtx_event){
		.domain = domain, .name = message_name(x, s, domain, a), .text = text};
	if (HAS(a, payload) && a->payload_type == AIF_NVTX_PAYLOAD_EXTENDED && a->payloads > 0) {
		event_data(x, s, a->payload.data, (uint64_t)a->payloads, text, len, e);
		return;
	}
	if (HAS(a, payload) && a->payload_type)
		len = aif_nvtx_number_text(a, text, len, AIF_NVTX_TEXT);
	e->text_len = len;
}

/* ---- an event, in whatever form it comes ------------------------------------------------------- */

/* The forms of a message: attributes, or a text alone, or payloads alone. */
struct form {
	const struct aif_nvtx_attributes *attributes;
	const char *ascii;
	const void *wide;
	const struct aif_nvtx_data *data;
	uint64_t data_len;
};
enum what { MARK, PUSH, START };

static AIF_NOINLINE void form_event(struct aif_nvtx *x, struct aif_nvtx_thread *s, uint32_t domain,
				    const struct form *f, char text[AIF_NVTX_TEXT],
				    struct aif_nvtx_event *e)
{
	char wide[AIF_NVTX_NAME_MAX];

	if (f->attributes) {
		event_of(x, s, domain, f->attributes, text, e);
		return;
	}
	*e = (struct aif_nvtx_event){.domain = domain, .name = AIF_NVTX_NAME_NONE, .text = text};
	if (f->ascii)
		e->name = text_name(x, s, domain, f->ascii);
	else if (f->wide)
		e->name = aif_nvtx_name(&x->tables, domain, wide,
					aif_nvtx_narrow(f->wide, wide, sizeof(wide)));
	if (f->data)
		event_data(x, s, f->data, f->data_len, text, 0, e);
}

static uint64_t do_event(enum what what, struct aif_thread *t, uint32_t domain,
			 const struct aif_nvtx_event *e)
{
	if (what == PUSH)
		return (uint64_t)(int64_t)aif_nvtx_push(t, domain, e);
	if (what == START)
		return aif_nvtx_start(t, e);
	if (t)
		aif_nvtx_mark(t, e);
	return 0;
}

/* While somebody records. */
static AIF_NOINLINE uint64_t record_event(enum what what, const void *handle, const struct form *f)
{
	struct aif_nvtx *x = aif_nvtx_now();
	uint32_t domain = aif_nvtx_domain_of(&x->tables, handle);
	char text[AIF_NVTX_TEXT];
	struct aif_nvtx_event e;
	enum aif_busy was;
	struct aif_thread *t = aif_thread_enter_callback(&was);
	uint64_t r;

	if (t)
		form_event(x, t->nvtx, domain, f, text, &e);
	r = do_event(what, t, domain, t ? &e : NULL);
	if (t)
		aif_thread_leave_callback(t, was);
	return r;
}

static AIF_NOINLINE uint64_t event(enum what what, const void *handle, const struct form *f)
{
	const struct aif_nvtx *x = aif_nvtx_now();

	return aif_nvtx_is_asleep()
		       ? do_event(what, NULL, aif_nvtx_domain_of(&x->tables, handle), NULL)
		       : record_event(what, handle, f);
}

static int pop(const void *handle)
{
	int r;

	if (aif_nvtx_pop_counted(&r))
		return r;
	return aif_nvtx_pop(aif_nvtx_domain_of(&aif_nvtx_now()->tables, handle), NULL, 0);
}

static void end(const void *handle, uint64_t range, const struct aif_nvtx_data *data, uint64_t n)
{
	struct aif_nvtx *x = aif_nvtx_now();
	char text[AIF_NVTX_TEXT];
	size_t len = 0;

	if (aif_nvtx_is_asleep())
		return;
	if (n)
		len = data_text(x, aif_nvtx_domain_of(&x->tables, handle), data, n, text, 0);
	aif_nvtx_end(range, text, len);
}

/* Counts an operation between ranks, if the range is one, whether anybody records or not. */
static AIF_NOINLINE void count_collective(const void *handle, const struct aif_nvtx_attributes *a)
{
	struct aif_nvtx *x = aif_nvtx_now();
	const struct aif_nvtx_world w = world_of(x);
	const uint32_t domain = aif_nvtx_domain_of(&x->tables, handle);
	const struct aif_nvtx_data *data = NULL;

	if (!a || !HAS(a, message) || a->message_type != AIF_NVTX_MESSAGE_REGISTERED)
		return;
	if (a->payload_type == AIF_NVTX_PAYLOAD_EXTENDED && a->payloads > 0 &&
	    aif_nvtx_is_readable(&w, a->payload.data, sizeof(*data)))
		data = a->payload.data;
	aif_nvtx_collective_begin(x, &w, domain, a->message, data);
}

/* ---- NVTX's functions -------------------------------------------------------------------------- */

static void mark_ex(const struct aif_nvtx_attributes *a)
{
	if (a)
		event(MARK, NULL, &(struct form){.attributes = a});
}
static void mark_a(const char *text)
{
	event(MARK, NULL, &(struct form){.ascii = text});
}
static void mark_w(const void *text)
{
	event(MARK, NULL, &(struct form){.wide = text});
}
static uint64_t start_ex(const struct aif_nvtx_attributes *a)
{
	return event(START, NULL, &(struct form){.attributes = a});
}
static uint64_t start_a(const char *text)
{
	return event(START, NULL, &(struct form){.ascii = text});
}
static uint64_t start_w(const void *text)
{
	return event(START, NULL, &(struct form){.wide = text});
}
static void range_end(uint64_t range)
{
	end(NULL, range, NULL, 0);
}
static int push_ex(const struct aif_nvtx_attributes *a)
{
	int r;

	return aif_nvtx_push_counted(&r) ? r
					 : (int)event(PUSH, NULL, &(struct form){.attributes = a});
}
static int push_a(const char *text)
{
	int r;

	return aif_nvtx_push_counted(&r) ? r
					 : (int)event(PUSH, NULL, &(struct form){.ascii = text});
}
static int push_w(const void *text)
{
	return (int)event(PUSH, NULL, &(struct form){.wide = text});
}
static int range_pop(void)
{
	return pop(NULL);
}

static void name_category(const void *handle, uint32_t id, const char *name)
{
	struct aif_nvtx *x = aif_nvtx_now();

	aif_nvtx_category_add(&x->tables, aif_nvtx_domain_of(&x->tables, handle), id, name);
}
static void name_category_wide(const void *handle, uint32_t id, const void *name)
{
	char text[AIF_NVTX_FIELD_NAME] = "";

	if (name)
		aif_nvtx_narrow(name, text, sizeof(text) - 1);
	name_category(handle, id, text);
}
static void name_category_a(uint32_t id, const char *name)
{
	name_category(NULL, id, name);
}
static void name_category_w(uint32_t id, const void *name)
{
	name_category_wide(NULL, id, name);
}

static void domain_mark_ex(const void *domain, const struct aif_nvtx_attributes *a)
{
	if (a)
		event(MARK, domain, &(struct form){.attributes = a});
}
static uint64_t domain_start_ex(const void *domain, const struct aif_nvtx_attributes *a)
{
	return event(START, domain, &(struct form){.attributes = a});
}
static void domain_end(const void *domain, uint64_t range)
{
	end(domain, range, NULL, 0);
}
static int domain_push_ex(const void *domain, const struct aif_nvtx_attributes *a)
{
	int r;

	if (aif_unlikely(aif_nvtx_is_of_collectives(domain)))
		count_collective(domain, a);
	return aif_nvtx_push_counted(&r)
		       ? r
		       : (int)event(PUSH, domain, &(struct form){.attributes = a});
}
static int domain_pop(const void *domain)
{
	return pop(domain);
}

static void *register_text(const void *handle, const char *text, size_t len)
{
	struct aif_nvtx *x = aif_nvtx_now();

	return aif_nvtx_string_handle(
		aif_nvtx_name(&x->tables, aif_nvtx_domain_of(&x->tables, handle), text, len));
}
static void *register_string_a(const void *domain, const char *text)
{
	return text ? register_text(domain, text, aif_nvtx_length_within(text, AIF_NVTX_STRING_MAX))
		    : aif_nvtx_string_handle(AIF_NVTX_NAME_NONE);
}
static void *register_string_w(const void *domain, const void *text)
{
	char narrow[AIF_NVTX_NAME_MAX];

	return text ? register_text(domain, narrow, aif_nvtx_narrow(text, narrow, sizeof(narrow)))
		    : aif_nvtx_string_handle(AIF_NVTX_NAME_NONE);
}
static void *domain_create_a(const char *name)
{
	void *handle = aif_nvtx_domain_handle(aif_nvtx_domain(&aif_nvtx_now()->tables, name));

	if (name && !strcmp(name, AIF_NVTX_COLLECTIVES))
		aif_nvtx_collectives_are_of(handle);
	return handle;
}
static void *domain_create_w(const void *name)
{
	char text[AIF_NVTX_DOMAIN_MAX] = "";

	if (name)
		aif_nvtx_narrow(name, text, sizeof(text) - 1);
	return domain_create_a(text);
}

/* ---- the extension for payloads ---------------------------------------------------------------- */

static uint64_t schema_register(const void *handle, const struct aif_nvtx_schema_attributes *a)
{
	struct aif_nvtx *x = aif_nvtx_now();
	const struct aif_nvtx_world w = world_of(x);
	struct aif_nvtx_schema s;

	return a && aif_nvtx_schema_copy(a, aif_nvtx_domain_of(&x->tables, handle), &w, &s)
		       ? aif_nvtx_schema_add(&x->tables, &s)
		       : 0;
}
static uint64_t enum_register(const void *handle, const struct aif_nvtx_enum_attributes *a)
{
	struct aif_nvtx *x = aif_nvtx_now();
	const struct aif_nvtx_world w = world_of(x);
	struct aif_nvtx_schema s;

	return a && aif_nvtx_enum_copy(a, aif_nvtx_domain_of(&x->tables, handle), &w, &s)
		       ? aif_nvtx_schema_add(&x->tables, &s)
		       : 0;
}
static void mark_payload(const void *domain, const struct aif_nvtx_data *data, size_t n)
{
	event(MARK, domain, &(struct form){.data = data, .data_len = n});
}
static int push_payload(const void *domain, const struct aif_nvtx_data *data, size_t n)
{
	return (int)event(PUSH, domain, &(struct form){.data = data, .data_len = n});
}
static int pop_payload(const void *handle, const struct aif_nvtx_data *data, size_t n)
{
	struct aif_nvtx *x = aif_nvtx_now();
	uint32_t domain = aif_nvtx_domain_of(&x->tables, handle);
	char text[AIF_NVTX_TEXT];

	if (aif_nvtx_is_of_collectives(handle) && n) {
		const struct aif_nvtx_world w = world_of(x);

		aif_nvtx_communicator(x, &w, domain, data);
	}
	return aif_nvtx_pop(domain, text,
			    n && !aif_nvtx_is_asleep() ? data_text(x, domain, data, n, text, 0)
						       : 0);
}
static uint64_t start_payload(const void *domain, const struct aif_nvtx_data *data, size_t n)
{
	return event(START, domain, &(struct form){.data = data, .data_len = n});
}
static void end_payload(const void *domain, uint64_t range, const struct aif_nvtx_data *data,
			size_t n)
{
	end(domain, range, data, n);
}
static uint8_t is_enabled(const void *domain)
{
	(void)domain;
	return 1;
}

/* ---- tables ------------------------------------------------------------------------------------ */

#define ENTRY(number, function)                    \
	{                                          \
		number, (void (*)(void))(function) \
	}

const struct aif_nvtx_entry aif_nvtx_core[] = {
	ENTRY(AIF_NVTX_CORE_MARK_EX, mark_ex),
	ENTRY(AIF_NVTX_CORE_MARK_A, mark_a),
	ENTRY(AIF_NVTX_CORE_MARK_W, mark_w),
	ENTRY(AIF_NVTX_CORE_START_EX, start_ex),
	ENTRY(AIF_NVTX_CORE_START_A, start_a),
	ENTRY(AIF_NVTX_CORE_START_W, start_w),
	ENTRY(AIF_NVTX_CORE_END, range_end),
	ENTRY(AIF_NVTX_CORE_PUSH_EX, push_ex),
	ENTRY(AIF_NVTX_CORE_PUSH_A, push_a),
	ENTRY(AIF_NVTX_CORE_PUSH_W, push_w),
	ENTRY(AIF_NVTX_CORE_POP, range_pop),
	ENTRY(AIF_NVTX_CORE_NAME_CATEGORY_A, name_category_a),
	ENTRY(AIF_NVTX_CORE_NAME_CATEGORY_W, name_category_w),
};
const unsigned aif_nvtx_core_len = AIF_ARRAY_LEN(aif_nvtx_core);

const struct aif_nvtx_entry aif_nvtx_core2[] = {
	ENTRY(AIF_NVTX_CORE2_MARK_EX, domain_mark_ex),
	ENTRY(AIF_NVTX_CORE2_START_EX, domain_start_ex),
	ENTRY(AIF_NVTX_CORE2_END, domain_end),
	ENTRY(AIF_NVTX_CORE2_PUSH_EX, domain_push_ex),
	ENTRY(AIF_NVTX_CORE2_POP, domain_pop),
	ENTRY(AIF_NVTX_CORE2_NAME_CATEGORY_A, name_category),
	ENTRY(AIF_NVTX_CORE2_NAME_CATEGORY_W, name_category_wide),
	ENTRY(AIF_NVTX_CORE2_REGISTER_STRING_A, register_string_a),
	ENTRY(AIF_NVTX_CORE2_REGISTER_STRING_W, register_string_w),
	ENTRY(AIF_NVTX_CORE2_DOMAIN_CREATE_A, domain_create_a),
	ENTRY(AIF_NVTX_CORE2_DOMAIN_CREATE_W, domain_create_w),
};
const unsigned aif_nvtx_core2_len = AIF_ARRAY_LEN(aif_nvtx_core2);

const struct aif_nvtx_entry aif_nvtx_payload[] = {
	ENTRY(AIF_NVTX_SLOT_SCHEMA_REGISTER, schema_register),
	ENTRY(AIF_NVTX_SLOT_ENUM_REGISTER, enum_register),
	ENTRY(AIF_NVTX_SLOT_MARK, mark_payload),
	ENTRY(AIF_NVTX_SLOT_PUSH, push_payload),
	ENTRY(AIF_NVTX_SLOT_POP, pop_payload),
	ENTRY(AIF_NVTX_SLOT_START, start_payload),
	ENTRY(AIF_NVTX_SLOT_END, end_payload),
	ENTRY(AIF_NVTX_SLOT_IS_ENABLED, is_enabled),
};
const unsigned aif_nvtx_payload_len = AIF_ARRAY_LEN(aif_nvtx_payload);
