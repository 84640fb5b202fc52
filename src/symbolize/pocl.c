/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbolize/pocl.h"

#include <errno.h>
#include <string.h>

/* The kernel's name in a path of the cache, or NULL. */
static const char *kernel_in_path(const char *path, size_t *ret_len)
{
	const char *file = strrchr(path, '/'), *shape, *dir, *p;
	size_t n, file_n;

	if (!file)
		return NULL;
	file_n = strcspn(file + 1, " "); /* "... (deleted)" */
	if (file_n < 4 || memcmp(file + 1 + file_n - 3, ".so", 3))
		return NULL;
	n = file_n - 3;
	shape = memrchr(path, '/', (size_t)(file - path));
	dir = shape ? memrchr(path, '/', (size_t)(shape - path)) : NULL;
	if (!dir || (size_t)(shape - dir - 1) != n || memcmp(dir + 1, file + 1, n))
		return NULL;
	p = shape + 1;
	for (unsigned i = 0; i < 3; i++) {
		size_t digits = strspn(p, "0123456789");

		p += digits;
		if (!digits || (*p != '-' && i < 2))
			return NULL;
		p += i < 2;
	}
	if (*p != '-' && *p != '/') /* "-goffs0", "-smallgrid" may follow */
		return NULL;
	*ret_len = n;
	return file + 1;
}

bool aif_pocl_is_kernel_path(const char *path)
{
	size_t n;

	return kernel_in_path(path, &n) != NULL;
}

int aif_pocl_kernel_of_path(const char *path, char *to, size_t max)
{
	size_t n;
	const char *name = kernel_in_path(path, &n);

	if (!name)
		return -ENOENT;
	if (n >= max)
		return -ENAMETOOLONG;
	memcpy(to, name, n);
	to[n] = 0;
	return 0;
}

const char *aif_pocl_kernel_name(const char *symbol, const char *path, size_t *ret_len)
{
	static const char prefix[] = "_pocl_kernel_";
	static const char *const suffixes[] = {"_workgroup_fast", "_workgroup"};
	const char *name = symbol + sizeof(prefix) - 1, *known;
	size_t n, known_n;

	if (strncmp(symbol, prefix, sizeof(prefix) - 1) || !*name)
		return NULL;
	n = strlen(name);
	known = path ? kernel_in_path(path, &known_n) : NULL;
	if (known && known_n <= n && !memcmp(name, known, known_n)) {
		*ret_len = known_n;
		return name;
	}
	for (size_t i = 0; i < AIF_ARRAY_LEN(suffixes); i++) {
		size_t s = strlen(suffixes[i]);

		if (n > s && !strcmp(name + n - s, suffixes[i])) {
			n -= s;
			break;
		}
	}
	*ret_len = n;
	return name;
}
