/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define AIF_EXPORTER(name)       extern const struct aif_exporter aif_exporter_##name;
#define AIF_EXPORTER_FIRST(name) AIF_EXPORTER(name)
#include "export/exporters.def"
#undef AIF_EXPORTER

const struct aif_exporter *const aif_exporters[] = {
#define AIF_EXPORTER(name) &aif_exporter_##name,
#include "export/exporters.def"
	NULL,
};

static bool ends_with(const char *text, size_t n, const char *end, size_t end_len)
{
	return n > end_len && !memcmp(text + n - end_len, end, end_len);
}

static bool is_gz(const char *path)
{
	return ends_with(path, strlen(path), ".gz", 3);
}

/* The length of the exporter's suffix that the path has, 0 for none. */
static size_t suffix_of(const struct aif_exporter *e, const char *path)
{
	size_t n = strlen(path), plain = is_gz(path) ? n - 3 : n, best = 0;

	for (const char *at = e->suffixes; *at;) {
		size_t len = strcspn(at, " ");

		if (len > best && (ends_with(path, n, at, len) || ends_with(path, plain, at, len)))
			best = len;
		at += len;
		at += *at == ' ';
	}
	return best;
}

const struct aif_exporter *aif_exporter_of(const char *path)
{
	const struct aif_exporter *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; aif_exporters[i]; i++) {
		size_t len = suffix_of(aif_exporters[i], path);

		if (len > best_len) {
			best = aif_exporters[i];
			best_len = len;
		}
	}
	return best;
}

int aif_export_write(const struct aif_exporter *e, const struct aif_export *x, const char *path,
		     struct aif_err *err)
{
	if (e->write_path)
		return e->write_path(x, path, err);
	if (!strcmp(path, "-") && !e->is_text && isatty(STDOUT_FILENO))
		return aif_err_set(err, -EINVAL,
				   "export: standard output is a terminal, and %s is not "
				   "text; redirect it with | or >",
				   e->name);
	return aif_export_file(x, path, e->is_gzip || is_gz(path), e->write, err);
}
