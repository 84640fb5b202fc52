/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what NVTX is told once, payloads as text, and payloads that come again. */
#include "agent/nvtx/repeated.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include <cmocka.h>

static int set_up(void **state)
{
	struct aif_nvtx_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	aif_nvtx_tables_init(t);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static uint32_t put(struct aif_nvtx_tables *t, uint32_t domain, const char *text)
{
	return aif_nvtx_name(t, domain, text, aif_nvtx_length(text));
}

static void assert_name(struct aif_nvtx_tables *t, uint32_t name, const char *text)
{
	size_t len;

	assert_string_equal(aif_nvtx_name_text(t, name, &len), text);
	assert_int_equal(len, strlen(text));
}

static void a_name_has_one_number_in_each_domain(void **state)
{
	struct aif_nvtx_tables *t = *state;
	uint32_t nccl = aif_nvtx_domain(t, "NCCL"), a = put(t, 0, "a"), b = put(t, nccl, "a");

	assert_int_equal(nccl, 1);
	assert_int_equal(aif_nvtx_domain(t, "NCCL"), nccl);
	assert_int_equal(aif_nvtx_domain(t, NULL), 0);
	assert_int_equal(aif_nvtx_domain(t, ""), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(put(t, 0, "a"), a);
	assert_int_equal(put(t, nccl, "a"), b);
	assert_name(t, a, "a");
	assert_name(t, b, "NCCL:a");
	assert_name(t, put(t, 0, ""), "");
	assert_name(t, AIF_NVTX_NAME_OTHER, "[other names]");
	assert_name(t, AIF_NVTX_NAME_NONE, "[unnamed]");
}

static void what_does_not_fit_is_other(void **state)
{
	struct aif_nvtx_tables *t = *state;
	char text[32];
	uint32_t others = 0;

	for (int i = 0; i < 70000; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		others += put(t, 0, text) == AIF_NVTX_NAME_OTHER;
	}
	/* The index's places for a name are few: some names find none before the table is full. */
	assert_in_range(others, 70000 - AIF_NVTX_NAMES, 70000 - AIF_NVTX_NAMES + 100);
	assert_name(t, put(t, 0, "name 5"), "name 5");
	for (int i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "domain %d", i);
		assert_in_range(aif_nvtx_domain(t, text), 1, AIF_NVTX_DOMAINS - 1);
	}
	assert_string_equal(t->domains[aif_nvtx_domain(t, "domain 299")], "[other domains]");
}

static void texts_that_do_not_fit_are_other(void **state)
{
	struct aif_nvtx_tables *t = *state;
	char text[AIF_NVTX_NAME_MAX + 1];
	uint32_t name = 2;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; name && i < 40000; i++) {
		text[snprintf(text, 16, "%08d", i)] = 'x';
		name = put(t, 0, text);
	}
	assert_int_equal(name, AIF_NVTX_NAME_OTHER);
	assert_true(atomic_load(&t->names_len) < 26000);
}

static void long_names_are_cut_between_characters(void **state)
{
	char text[1100];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[1099] = '\0';
	assert_int_equal(aif_nvtx_length(text), 1000);
	memcpy(text + 998, "\xe2\x82\xac", 3);
	assert_int_equal(aif_nvtx_length(text), 998);
	text[998] = '\0';
	assert_int_equal(aif_nvtx_length(text), 998);
	memset(text, 0x80, sizeof(text) - 1); /* no character at all */
	assert_in_range(aif_nvtx_length(text), 996, 1000);
	assert_int_equal(aif_nvtx_narrow(L"a\xe4\x20ac\x1f600", text, sizeof(text)), 10);
	assert_memory_equal(text, "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 10);
	assert_int_equal(aif_nvtx_narrow(L"a\xe4\x20ac\x1f600", text, 6), 6);
	assert_int_equal(aif_nvtx_narrow((const wchar_t[]){0x7fffffff, 0xd800, 0}, text, 99), 6);
	assert_memory_equal(text, "\xef\xbf\xbd\xef\xbf\xbd", 6);
}

static void a_handle_is_judged(void **state)
{
	struct aif_nvtx_tables *t = *state;
	uint32_t d = aif_nvtx_domain(t, "d"), n = put(t, d, "n");

	assert_int_equal(aif_nvtx_domain_of(t, aif_nvtx_domain_handle(d)), d);
	assert_int_equal(aif_nvtx_domain_of(t, aif_nvtx_domain_handle(0)), 0);
	assert_int_equal(aif_nvtx_domain_of(t, aif_nvtx_domain_handle(d + 1)), 0);
	assert_int_equal(aif_nvtx_domain_of(t, aif_nvtx_string_handle(d)), 0);
	assert_int_equal(aif_nvtx_domain_of(t, t), 0);
	assert_int_equal(aif_nvtx_string_of(t, aif_nvtx_string_handle(n)), n);
	assert_int_equal(aif_nvtx_string_of(t, aif_nvtx_string_handle(n + 1)), AIF_NVTX_NAME_NONE);
	assert_int_equal(aif_nvtx_string_of(t, NULL), AIF_NVTX_NAME_NONE);
	assert_int_equal(aif_nvtx_string_of(t, "text"), AIF_NVTX_NAME_NONE);
	assert_int_equal(aif_nvtx_string_of(t, (void *)UINTPTR_MAX), AIF_NVTX_NAME_NONE);
}

/* ---- several threads ------------------------------------------------------------------------- */

static void *add_all(void *arg)
{
	struct aif_nvtx_tables *t = arg;
	char text[32];

	for (int i = 0; i < 2000; i++) {
		uint32_t d, n;
		size_t len;

		snprintf(text, sizeof(text), "domain %d", i % 20);
		d = aif_nvtx_domain(t, text);
		snprintf(text, sizeof(text), "%d", i);
		n = put(t, d, text);
		/* Another thread may have written it: it is whole. */
		if (strcmp(strrchr(aif_nvtx_name_text(t, n, &len), ':') + 1, text) != 0 ||
		    aif_nvtx_string_of(t, aif_nvtx_string_handle(n)) != n)
			return t;
		aif_nvtx_category_add(t, 0, (uint32_t)i % 100, text);
	}
	return NULL;
}

static void threads_add_at_once(void **state)
{
	pthread_t threads[4];
	void *failed;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_all, *state), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

/* ---- payloads -------------------------------------------------------------------------------- */

static const struct aif_nvtx_schema *find_schema(void *arg, uint32_t domain, uint64_t id)
{
	return aif_nvtx_schema_find(arg, domain, id);
}
static const char *find_registered(void *arg, uint64_t handle)
{
	size_t len;

	return aif_nvtx_name_text(arg, aif_nvtx_string_of(arg, (void *)(uintptr_t)handle), &len);
}
static size_t read_text(void *arg, uint64_t address, void *to, size_t len)
{
	static const char text[] = "a text";

	(void)arg;
	if (address != 1000)
		return 0;
	len = AIF_MIN(len, sizeof(text));
	memcpy(to, text, len);
	return len;
}

static const uint8_t *unreadable; /* a page, or NULL */

static bool is_readable(void *arg, uint64_t address, size_t len)
{
	uint64_t page = (uint64_t)(uintptr_t)unreadable;

	assert_non_null(arg);
	return !page || address >= page + 4096 || address + len <= page;
}

struct call {
	uint64_t comm, bytes;
	int32_t op;
	float f;
	uint64_t text, handle;
	char inside[8];
	int8_t small;
	double d;
};

#define FIELD(t, n, f)                                                   \
	{                                                                \
		.type = t, .name = n, .offset = offsetof(struct call, f) \
	}
static const struct aif_nvtx_schema_entry fields[] = {
	FIELD(18, "comm", comm),
	FIELD(22, "Message size [bytes]", bytes),
	FIELD((1 << 24) + 20, "op", op),
	FIELD(19, "f", f),
	FIELD(75, "text", text),
	FIELD(80, "handle", handle),
	{.type = 75,
	 .flags = AIF_NVTX_ENTRY_ARRAY_FIXED,
	 .detail = 8,
	 .name = "inside",
	 .offset = offsetof(struct call, inside)},
	FIELD(11, "small", small),
	FIELD(20, NULL, d),
	{.type = 18, .flags = AIF_NVTX_ENTRY_HIDE, .name = "hidden", .offset = 8},
	{.type = 18, .flags = 3 << 4, .name = "array", .offset = 8},
	{.type = 999, .name = "unknown", .offset = 8},
};

static struct aif_nvtx_schema_attributes schema_of(const struct aif_nvtx_schema_entry *e, size_t n,
						   uint64_t id)
{
	return (struct aif_nvtx_schema_attributes){
		.fields = AIF_NVTX_SCHEMA_TYPE | AIF_NVTX_SCHEMA_ENTRIES |
			  AIF_NVTX_SCHEMA_ENTRIES_LEN | AIF_NVTX_SCHEMA_ID,
		.type = AIF_NVTX_SCHEMA_STATIC,
		.entries = e,
		.entries_len = n,
		.id = id};
}

static uint64_t add_schema(struct aif_nvtx_tables *t, const struct aif_nvtx_schema_attributes *a)
{
	const struct aif_nvtx_world w = {t, find_schema, find_registered, read_text, is_readable};
	struct aif_nvtx_schema s;

	assert_true(aif_nvtx_schema_copy(a, 1, &w, &s));
	return aif_nvtx_schema_add(t, &s);
}

static const char *text_of(struct aif_nvtx_tables *t, uint64_t schema, const void *data,
			   size_t size)
{
	const struct aif_nvtx_world w = {t, find_schema, find_registered, read_text, is_readable};
	static char text[AIF_NVTX_TEXT];
	const struct aif_nvtx_data d = {schema, size, data};
	size_t len;

	text[0] = '\0';
	len = aif_nvtx_payload_text(&w, 1, &d, text, 0, sizeof(text));
	assert_int_equal(len, strlen(text));
	return text;
}

static void a_payload_is_read_by_its_schema(void **state)
{
	struct aif_nvtx_tables *t = *state;
	const struct aif_nvtx_enum_entry values[] = {{"Sum", 0, 0}, {"Prod", 1, 0}};
	const struct aif_nvtx_enum_attributes e = {.fields = UINT64_MAX,
						   .entries = values,
						   .entries_len = 2,
						   .size = 4,
						   .id = (1 << 24) + 20};
	struct aif_nvtx_schema_attributes a = schema_of(fields, AIF_ARRAY_LEN(fields), 1 << 24);
	struct call c = {77, 4096, 1, 0.5F, 1000, 0, "inside!!", -3, 2.25};
	const struct aif_nvtx_world w = {t, find_schema, find_registered, read_text, is_readable};
	struct aif_nvtx_schema s;

	c.handle = (uintptr_t)aif_nvtx_string_handle(put(t, 0, "registered"));
	assert_true(aif_nvtx_enum_copy(&e, 1, &w, &s));
	assert_int_equal(aif_nvtx_schema_add(t, &s), (1 << 24) + 20);
	assert_int_equal(add_schema(t, &a), 1 << 24);
	assert_string_equal(text_of(t, 1 << 24, &c, sizeof(c)),
			    "comm=77, Message size [bytes]=4096, op=Prod, f=0.5, text=a text, "
			    "handle=registered, inside=inside!!, small=-3, 2.25");
	c.op = 9;
	c.text = 5;
	assert_string_equal(text_of(t, 1 << 24, &c, offsetof(struct call, handle)),
			    "comm=77, Message size [bytes]=4096, op=9, f=0.5, text=");
	assert_string_equal(text_of(t, 1 << 24, &c, 15), "comm=77");
	assert_string_equal(text_of(t, 1 << 24, &c, 7), "");
	assert_string_equal(text_of(t, 12345, &c, sizeof(c)), "");
	/* A plain type in place of a schema. */
	assert_string_equal(text_of(t, 18, &c, 8), "77");
	assert_string_equal(text_of(t, 18, &c, SIZE_MAX), "77");
	assert_string_equal(text_of(t, 18, NULL, 8), "");
}

static void offsets_follow_from_alignment(void **state)
{
	const struct aif_nvtx_schema_entry e[] = {
		{.type = 11, .name = "a"},  {.type = 17, .name = "b"},
		{.type = 13, .name = "c"},  {.type = 1 << 24, .name = "in"},
		{.type = 999, .name = "?"}, {.type = 11, .name = "lost"}};
	const struct {
		int8_t a;
		int64_t b;
		int16_t c;
		struct {
			int8_t a;
			int64_t b;
		} in;
	} data = {1, 2, 3, {4, 5}};
	struct aif_nvtx_tables *t = *state;
	struct aif_nvtx_schema_attributes a = schema_of(e, 2, 1 << 24);

	add_schema(t, &a);
	a = schema_of(e, 6, (1 << 24) + 1);
	add_schema(t, &a);
	assert_string_equal(text_of(t, (1 << 24) + 1, &data, sizeof(data)),
			    "a=1, b=2, c=3, a=4, b=5");
	a.fields |= AIF_NVTX_SCHEMA_PACK;
	a.pack = 1;
	a.id++;
	a.entries_len = 3;
	add_schema(t, &a);
	assert_string_equal(text_of(t, a.id, "\1\2\0\0\0\0\0\0\0\3\0", 11), "a=1, b=2, c=3");
}

static void schemas_that_lie_end(void **state)
{
	struct aif_nvtx_tables *t = *state;
	struct aif_nvtx_schema_entry e[40];
	struct aif_nvtx_schema_attributes a = schema_of(e, 40, (1 << 24) + 7);
	uint8_t data[64] = {0};
	struct aif_nvtx_schema s;
	const struct aif_nvtx_world w = {t, find_schema, find_registered, read_text, is_readable};

	for (int i = 0; i < 40; i++)
		e[i] = (struct aif_nvtx_schema_entry){.type = (1 << 24) + 7, .name = "itself"};
	add_schema(t, &a);
	(void)text_of(t, a.id, data, sizeof(data));
	(void)text_of(t, a.id, data, SIZE_MAX); /* of no known size */
	e[0] = (struct aif_nvtx_schema_entry){.type = 18, .offset = UINT64_MAX - 3};
	e[1] = (struct aif_nvtx_schema_entry){.type = 18, .name = "wraps"};
	a.id++;
	add_schema(t, &a);
	(void)text_of(t, a.id, data, sizeof(data));
	/* More text than there is room for. */
	for (int i = 0; i < 40; i++)
		e[i] = (struct aif_nvtx_schema_entry){
			.type = 18,
			.offset = 8,
			.name = "a field whose name takes all the room there is"};
	a.id++;
	add_schema(t, &a);
	assert_int_equal(strlen(text_of(t, a.id, data, sizeof(data))), AIF_NVTX_TEXT - 1);
	a.entries = NULL;
	assert_false(aif_nvtx_schema_copy(&a, 1, &w, &s));
	a = schema_of(e, 0, 5);
	assert_false(aif_nvtx_schema_copy(&a, 1, &w, &s));
	for (int i = 0; i < 400; i++) {
		a = schema_of(e, 1, 0);
		assert_true(i < 100 ? add_schema(t, &a) >= AIF_NVTX_FIRST_DYNAMIC : true);
		add_schema(t, &a);
	}
}

/* Leaves out what schemas and payloads say of memory and is not so: neither where it is nor how much is believed. */
static void what_cannot_be_read_is_left_out(void **state)
{
	struct aif_nvtx_tables *t = *state;
	const struct aif_nvtx_world w = {t, find_schema, find_registered, read_text, is_readable};
	uint8_t *pages =
		mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct aif_nvtx_schema_entry *e = (void *)(pages + 4096 - 2 * sizeof(*e));
	struct aif_nvtx_enum_entry *values = (void *)(pages + 4096 - sizeof(*values));
	struct aif_nvtx_schema_attributes a = schema_of(e, 1000000, 1 << 24);
	const struct aif_nvtx_enum_attributes names = {.fields = UINT64_MAX,
						       .entries = values,
						       .entries_len = 1000000,
						       .size = 4,
						       .id = (1 << 24) + 20};
	struct aif_nvtx_repeated *seen = calloc(AIF_NVTX_REPEATED, sizeof(*seen));
	struct aif_nvtx_data d = {1 << 24, 16, pages + 4096 - 8};
	struct aif_nvtx_schema s;

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_non_null(seen);
	unreadable = pages + 4096;
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	/* Fields beyond the array, a name that is not there, and one that its page's end cuts. */
	e[0] = (struct aif_nvtx_schema_entry){.type = 6, .name = (const char *)unreadable};
	e[1] = (struct aif_nvtx_schema_entry){.type = 6, .offset = 4};
	assert_true(aif_nvtx_schema_copy(&a, 1, &w, &s));
	assert_int_equal(s.len, 2);
	assert_string_equal(s.fields[0].name, "");
	e[0].name = memcpy(pages + 4, "two", 4);
	e[1].name = (const char *)(pages + 4096 - 1); /* its own last byte, which is 0 */
	assert_int_equal(add_schema(t, &a), 1 << 24);
	values[0] = (struct aif_nvtx_enum_entry){.name = "one", .value = 1};
	assert_true(aif_nvtx_enum_copy(&names, 1, &w, &s));
	assert_int_equal(s.len, 1);
	/* Payloads that begin, end or lie where nothing is. */
	memset(pages + 4096 - 8, 0, 8);
	assert_string_equal(text_of(t, 1 << 24, pages + 4096 - 8, 16), "two=0, 0");
	assert_string_equal(text_of(t, 1 << 24, pages + 4096 - 4, 16), "two=0");
	assert_string_equal(text_of(t, 1 << 24, unreadable, SIZE_MAX), "");
	assert_string_equal(text_of(t, 18, pages + 4096 - 4, 8), "");
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 1, &d), AIF_NVTX_NAME_OTHER);
	unreadable = NULL;
	munmap(pages, 2 * 4096);
	free(seen);
}

struct thunk {
	uint64_t source, hlo;
	int32_t id;
};
static const struct aif_nvtx_schema_entry thunk_fields[] = {
	{.type = 80, .name = "Source locations", .offset = offsetof(struct thunk, source)},
	{.type = 80, .name = "HLO", .offset = offsetof(struct thunk, hlo)},
	{.type = 5, .name = "id", .offset = offsetof(struct thunk, id)},
};

static unsigned texts; /* made: a payload that is remembered asks for no schema */

static const struct aif_nvtx_schema *count_schemas(void *arg, uint32_t domain, uint64_t id)
{
	texts++;
	return find_schema(arg, domain, id);
}

static void payloads_of_a_step_are_remembered(void **state)
{
	struct aif_nvtx_tables *t = *state;
	const struct aif_nvtx_world w = {t, count_schemas, find_registered, read_text, is_readable};
	struct aif_nvtx_schema_attributes a = schema_of(thunk_fields, 3, 1 << 24);
	struct aif_nvtx_repeated *seen = calloc(AIF_NVTX_REPEATED, sizeof(*seen));
	struct thunk one = {0};
	const struct aif_nvtx_data d = {1 << 24, sizeof(one), &one};

	assert_non_null(seen);
	add_schema(t, &a);
	for (one.id = 0; one.id < 300; one.id++)
		assert_int_not_equal(aif_nvtx_repeated(t, seen, &w, 1, &d), AIF_NVTX_NAME_OTHER);
	assert_true(texts >= 300);
	texts = 0;
	for (one.id = 0; one.id < 300; one.id++)
		aif_nvtx_repeated(t, seen, &w, 1, &d);
	assert_true(texts <= 300 / 20);
	free(seen);
}

static void a_payload_that_comes_again_is_one_name(void **state)
{
	struct aif_nvtx_tables *t = *state;
	const struct aif_nvtx_world w = {t, find_schema, find_registered, read_text, is_readable};
	struct aif_nvtx_schema_attributes a = schema_of(thunk_fields, 3, 1 << 24);
	struct aif_nvtx_repeated seen[AIF_NVTX_REPEATED] = {0};
	char tree[2 * AIF_NVTX_STRING_MAX];
	struct thunk one = {0}, two;
	const struct aif_nvtx_data d = {1 << 24, sizeof(one), &one},
				   e = {1 << 24, sizeof(two), &two}, plain = {18, 8, &one},
				   cut = {1 << 24, 4, &one},
				   large = {1 << 24, AIF_NVTX_REPEATED_BYTES + 1, &one};
	uint32_t first, before;
	size_t len;

	memset(tree, 't', sizeof(tree));
	tree[3000] = '\0';
	one.source = (uintptr_t)aif_nvtx_string_handle(put(t, 0, "short"));
	one.hlo = (uintptr_t)aif_nvtx_string_handle(
		aif_nvtx_name(t, 0, tree, aif_nvtx_length_within(tree, AIF_NVTX_STRING_MAX)));
	add_schema(t, &a);
	first = aif_nvtx_repeated(t, seen, &w, 1, &d);
	assert_int_not_equal(first, AIF_NVTX_NAME_OTHER);
	/* Longer than a record's own text may be. */
	assert_non_null(strstr(aif_nvtx_name_text(t, first, &len), "tttt, id=0"));
	assert_int_equal(len, strlen("Source locations=short, HLO=, id=0") + 3000);
	before = atomic_load(&t->names_len);
	two = one;
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 1, &e), first);
	for (two.id = 1; two.id < 2 * AIF_NVTX_REPEATED; two.id++)
		assert_int_not_equal(aif_nvtx_repeated(t, seen, &w, 1, &e), first);
	assert_int_equal(atomic_load(&t->names_len), before + 2 * AIF_NVTX_REPEATED - 1);
	/* The place may be another's by now: the name is the same. */
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 1, &d), first);
	/* Another domain has no such schema; what points elsewhere, is a number, or is no whole payload is not kept. */
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 2, &d), AIF_NVTX_NAME_OTHER);
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 1, &plain), AIF_NVTX_NAME_OTHER);
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 1, &cut), AIF_NVTX_NAME_OTHER);
	assert_int_equal(aif_nvtx_repeated(t, seen, &w, 1, &large), AIF_NVTX_NAME_OTHER);
	a = schema_of(fields, AIF_ARRAY_LEN(fields), (1 << 24) + 1);
	add_schema(t, &a);
	two = one;
	assert_int_equal(
		aif_nvtx_repeated(t, seen, &w, 1, &(struct aif_nvtx_data){a.id, sizeof(two), &two}),
		AIF_NVTX_NAME_OTHER);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_name_has_one_number_in_each_domain),
		TEST(what_does_not_fit_is_other),
		TEST(texts_that_do_not_fit_are_other),
		TEST(long_names_are_cut_between_characters),
		TEST(a_handle_is_judged),
		TEST(threads_add_at_once),
		TEST(a_payload_is_read_by_its_schema),
		TEST(offsets_follow_from_alignment),
		TEST(schemas_that_lie_end),
		TEST(what_cannot_be_read_is_left_out),
		TEST(a_payload_that_comes_again_is_one_name),
		TEST(payloads_of_a_step_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
