/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A kernel with all its modules has some 200,000 functions. */
#define MAX_SYMBOLS (4u << 20)
/* The kernel's own limits are 511 and 56 bytes. */
#define MAX_NAME   511
#define MAX_MODULE 127

int aif_kallsyms_line(struct aif_kallsyms *k, const char *line)
{
	struct aif_kallsym sym = {.module = AIF_STR_NONE};
	const char *name, *module;
	size_t len;
	char *end;

	sym.address = AIF_KALLSYMS_ADDRESS(strtoull(line, &end, 16));
	if (end == line || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return 0;
	if (!sym.address) {
		k->is_hidden = !k->len;
		return 0;
	}
	k->is_hidden = false;
	name = end + 3;
	len = strcspn(name, "\t ");
	if (!len || len > MAX_NAME || k->len >= MAX_SYMBOLS)
		return 0;
	sym.name = aif_strset_put(&k->strings, name, len);
	module = strchr(name + len, '[');
	if (module) {
		size_t n = strcspn(module, "]");

		if (module[n] == ']' && n < MAX_MODULE)
			sym.module = aif_strset_put(&k->strings, module, n + 1);
	}
	if (sym.name == AIF_STR_NONE || aif_grow(&k->at, &k->cap, k->len + 1, sizeof(sym)) < 0)
		return -ENOMEM;
	k->at[k->len++] = sym;
	return 0;
}

/* Orders symbols by address, and those of one address by first appearance in the file: a stable
 * choice. */
static int by_address(const void *a, const void *b)
{
	const struct aif_kallsym *x = a, *y = b;

	return AIF_ORDER(x->address, y->address) ?: AIF_ORDER(x->name, y->name);
}

void aif_kallsyms_seal(struct aif_kallsyms *k)
{
	if (k->len)
		qsort(k->at, k->len, sizeof(*k->at), by_address);
}

int aif_kallsyms_read(struct aif_kallsyms *k, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	int r = 0;

	if (!f)
		return -errno;
	while (r == 0 && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		r = aif_kallsyms_line(k, line);
	}
	fclose(f);
	aif_kallsyms_seal(k);
	return r == 0 && k->is_hidden ? -EACCES : r;
}

static bool is_end(const char *name)
{
	return !strcmp(name, "_etext") || !strcmp(name, "_einittext");
}

const struct aif_kallsym *aif_kallsyms_find(const struct aif_kallsyms *k, uint64_t address)
{
	size_t lo = AIF_BISECT(mid, 0, k->len, k->at[mid].address <= address);

	if (!lo)
		return NULL;
	/* Addresses between the end of the kernel's own code and that of modules have no symbol. */
	if (is_end(aif_strset_get(&k->strings, k->at[lo - 1].name, NULL)))
		return NULL;
	/* The first of those that share the address. */
	for (lo--; lo && k->at[lo - 1].address == k->at[lo].address; lo--)
		;
	return &k->at[lo];
}

void aif_kallsyms_finish(struct aif_kallsyms *k)
{
	free(k->at);
	aif_strset_finish(&k->strings);
	*k = (struct aif_kallsyms){0};
}
