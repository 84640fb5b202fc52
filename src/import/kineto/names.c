/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include "base/demangle.h"
#include "import/kineto/aiu.h"
#include "import/host.h"

#include <stdio.h>
#include <string.h>

/* "torch/nn/modules/module.py(1773): _wrapped_call_impl": file, line, function. False: it has no such form. */
static bool python_place(const char *name, size_t len, size_t *ret_file, uint32_t *ret_line,
			 size_t *ret_function)
{
	const char *at = name, *end = name + len;

	while ((at = memmem(at, (size_t)(end - at), "): ", 3)) != NULL) {
		const char *open = at;
		uint64_t line = 0;

		while (open > name && open[-1] >= '0' && open[-1] <= '9')
			open--;
		if (open < at && open > name + 1 && open[-1] == '(' && at - open < 10 &&
		    at + 3 < end) {
			for (const char *p = open; p < at; p++)
				line = line * 10 + (uint64_t)(*p - '0');
			*ret_file = (size_t)(open - 1 - name);
			*ret_line = (uint32_t)line;
			*ret_function = (size_t)(at + 3 - name);
			return true;
		}
		at += 3;
	}
	return false;
}

/* "<built-in method mm of type object at 0x7f12>": an address makes each a function of its own. */
static void put_without_address(struct aif_buf *b, const char *name, size_t len)
{
	const char *at = memmem(name, len, " at 0x", 6), *end = name + len;

	if (!at) {
		aif_buf_append(b, name, len);
		return;
	}
	aif_buf_append(b, name, (size_t)(at - name));
	for (at += 6; at < end && ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f') ||
				   (*at >= 'A' && *at <= 'F'));)
		at++;
	aif_buf_append(b, at, (size_t)(end - at));
}

static uint32_t python_frame(struct aif_builder *b, const char *name, size_t len)
{
	struct aif_frame f = {.kind = AIF_FRAME_PYTHON, .module = AIF_NONE};
	size_t file_len, function;
	uint32_t line, id, file;
	struct aif_buf text = {0};

	if (python_place(name, len, &file_len, &line, &function)) {
		file = aif_builder_str(b, name, file_len);
		id = aif_builder_str(b, name + function, len - function);
		f.module = aif_builder_module(b, AIF_MODULE_SOURCE, file);
	} else {
		put_without_address(&text, name, len);
		id = aif_builder_str(b, text.data, text.len);
		b->failed |= aif_buf_failed(&text);
		aif_buf_finish(&text);
		file = AIF_NONE;
		line = 0;
	}
	f.address = (uint64_t)id << 32 | line;
	return aif_builder_named_frame(b, &f, id, file, line);
}

#define RECENT 8192u /* 32 KiB */

uint32_t kineto_name(struct kineto *k, const char *name, size_t len)
{
	uint64_t first = 0, last = 0, middle = 0;
	uint32_t *recent;
	size_t known_len;
	const char *known;

	if (!k->names.recent) {
		k->names.recent = malloc(RECENT * sizeof(*k->names.recent));
		if (!k->names.recent)
			return AIF_STR_NONE;
		memset(k->names.recent, 0xff, RECENT * sizeof(*k->names.recent));
	}
	if (len < 8)
		return aif_strset_put(&k->names.texts, name, len);
	memcpy(&first, name, 8);
	memcpy(&last, name + len - 8, 8);
	memcpy(&middle, name + len / 2 - 4, 8);
	recent = &k->names.recent[aif_mix64(first + middle * 3 + last * 5 + len) % RECENT];
	if (*recent != AIF_STR_NONE) {
		known = aif_strset_get(&k->names.texts, *recent, &known_len);
		if (known_len == len && !memcmp(known, name, len))
			return *recent;
	}
	*recent = aif_strset_put(&k->names.texts, name, len);
	return *recent;
}

/* Returns the entry of a name; NULL when memory runs out. */
static struct kineto_name *remembered(struct kineto *k, uint32_t name)
{
	size_t was = k->names.known_cap;

	if (name >= was) {
		if (aif_grow(&k->names.known, &k->names.known_cap, k->names.texts.len,
			     sizeof(*k->names.known)) < 0) {
			k->is_failed = true;
			return NULL;
		}
		memset(k->names.known + was, 0xff,
		       (k->names.known_cap - was) * sizeof(*k->names.known));
	}
	return &k->names.known[name];
}

uint32_t kineto_name_str(struct kineto *k, uint32_t name)
{
	struct kineto_name *known = remembered(k, name);
	size_t len;
	const char *text;

	if (!known)
		return AIF_NONE;
	if (known->str == AIF_NONE) {
		text = aif_strset_get(&k->names.texts, name, &len);
		known->str = aif_builder_str(k->b, text, len);
	}
	return known->str;
}

/* Limit of a demangled name: so many times the mangled one's length. Only hostile names reach it. */
#define DEMANGLED_MAX 32

/* Returns the name as the programmer wrote it, if it is the linker's name. */
static uint32_t plain_name(struct kineto *k, uint32_t name)
{
	struct aif_buf mangled = {0}, plain = {0};
	size_t len;
	const char *text = aif_strset_get(&k->names.texts, name, &len);
	uint32_t str = AIF_NONE;

	/* AMD's object of a kernel beside its code. */
	if (k->machine.family == KINETO_HIP && len > 3 && !memcmp(text + len - 3, ".kd", 3))
		len -= 3;
	aif_buf_append(&mangled, text, len);
	aif_demangle_part(aif_buf_str(&mangled), len * DEMANGLED_MAX, &plain);
	if (!aif_buf_failed(&mangled) && !aif_buf_failed(&plain))
		str = plain.len < len * DEMANGLED_MAX ? aif_builder_str(k->b, plain.data, plain.len)
						      : aif_builder_str(k->b, text, len);
	else
		k->is_failed = true;
	aif_buf_finish(&mangled);
	aif_buf_finish(&plain);
	return str;
}

uint32_t kineto_kernel(struct kineto *k, uint32_t name)
{
	struct kineto_name *known = remembered(k, name);

	if (!known)
		return AIF_NONE;
	if (known->kernel == AIF_NONE)
		known->kernel = aif_builder_kernel(
			k->b, k->names.demangles ? plain_name(k, name) : kineto_name_str(k, name));
	return known->kernel;
}

uint32_t kineto_frame(struct kineto *k, uint32_t name, enum kineto_class class)
{
	struct kineto_name *known = remembered(k, name);
	struct aif_frame f = {.module = AIF_NONE};
	size_t len;
	const char *text;
	enum aif_aiu_group group;

	if (!known)
		return AIF_NONE;
	if (known->frame != AIF_NONE && known->of == class)
		return known->frame;
	text = aif_strset_get(&k->names.texts, name, &len);
	known->of = (uint8_t) class;
	if (class == KINETO_PYTHON) {
		known->frame = python_frame(k->b, text, len);
		return known->frame;
	}
	f.address = kineto_name_str(k, name);
	if (class == KINETO_OTHER && aif_host_kind(text, len, NULL, 0) == AIF_FRAME_PYTHON) {
		known->frame = python_frame(k->b, text, len);
		return known->frame;
	}
	f.kind = class == KINETO_OTHER   ? AIF_FRAME_NATIVE
		 : class == KINETO_OP    ? AIF_FRAME_OP
		 : class == KINETO_RANGE ? AIF_FRAME_RANGE
					 : AIF_FRAME_CALL;
	group = class == KINETO_CALL ? aif_aiu_group_of(text, len) : AIF_AIU_NONE;
	if (group != AIF_AIU_NONE) {
		char module[64];

		snprintf(module, sizeof(module), "AIU runtime: %s", aif_aiu_group_name(group));
		f.module = aif_builder_module(k->b, AIF_MODULE_RUNTIME,
					      aif_builder_puts(k->b, module));
	}
	known->frame = aif_builder_named_frame(k->b, &f, (uint32_t)f.address, AIF_NONE, 0);
	return known->frame;
}

void kineto_names_finish(struct kineto_names *n)
{
	aif_strset_finish(&n->texts);
	free(n->known);
	free(n->recent);
}
