/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_file.h"

#include <dwarf.h>
#include <string.h>

/* Appends the parts of a path; ".." takes the last one away that was appended since `begin`. */
static void parts_put(struct aif_buf *ret, size_t begin, const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !memcmp(path, "..", 2)) {
			while (ret->len > begin && ret->data[ret->len - 1] != '/')
				ret->len--;
			ret->len -= ret->len > begin;
		} else if (len && !(len == 1 && *path == '.')) {
			aif_buf_putc(ret, '/');
			aif_buf_append(ret, path, len);
		}
		path += len + (path[len] == '/');
	}
}

bool aif_dwarf_file_put(Dwarf_Die *unit, const char *file, struct aif_buf *ret)
{
	Dwarf_Attribute attr;
	const char *dir;
	size_t begin = ret->len;

	if (*file == '/' || *file == '<' || !dwarf_attr(unit, DW_AT_comp_dir, &attr))
		return false;
	dir = dwarf_formstring(&attr);
	if (!dir || *dir != '/')
		return false;
	parts_put(ret, begin, dir);
	parts_put(ret, begin, file);
	return !ret->failed;
}
