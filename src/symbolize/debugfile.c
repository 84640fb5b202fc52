/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "symbolize/debugfile.h"

#include "base/open_regular.h"
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534

/* Debug files that are found by a checksum only are of programs without a build-id: old, and
 * small. Of browsers they had 2 GB. */
#define MAX_SUMMED (UINT64_C(4) << 30)

/* CRC-32 (IEEE 802.3), as .gnu_debuglink wants it. */
static uint32_t crc32_of(const struct aif_elf *e, int *ret_error)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t block[16384];

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (unsigned bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (uint64_t at = 0; at < e->size; at += sizeof(block)) {
		size_t n = AIF_MIN(e->size - at, sizeof(block));

		*ret_error = aif_elf_read(e, at, block, n);
		if (*ret_error < 0)
			return 0;
		for (size_t i = 0; i < n; i++)
			crc = crc >> 8 ^ table[(crc ^ block[i]) & 0xff];
	}
	*ret_error = 0;
	return ~crc;
}

static bool belongs(const struct aif_elf *elf, const struct aif_elf *debug, const uint32_t *crc)
{
	int error;

	if (debug->machine != elf->machine)
		return false;
	if (elf->build_id_len)
		return debug->build_id_len == elf->build_id_len &&
		       !memcmp(debug->build_id, elf->build_id, elf->build_id_len);
	return crc && debug->size <= MAX_SUMMED && crc32_of(debug, &error) == *crc && error == 0;
}

/* Opens a path that a file names: with the rights of that file's owner, who may have made it to have others read. */
static int open_named(const struct aif_elf *by, const char *path)
{
	const struct aif_rights rights = {
		.uid = by->owner, .gid = NOBODY, .overrides = by->owner == 0};
	struct aif_rights_before before;
	int fd;

	fd = aif_rights_take(&rights, &before);
	if (fd < 0)
		return fd;
	fd = aif_open_regular(AT_FDCWD, path, O_RDONLY);
	aif_rights_give_back(&before);
	return fd;
}

/* Takes the descriptor, or -errno. */
static bool try_open(const struct aif_elf *elf, int fd, const uint32_t *crc, struct aif_elf *ret)
{
	struct aif_elf debug;

	if (fd < 0 || aif_elf_init(&debug, fd, 0) < 0)
		return false;
	debug.effort = elf->effort;
	if (!belongs(elf, &debug, crc)) {
		aif_elf_finish(&debug);
		return false;
	}
	*ret = debug;
	return true;
}

static void hex_of(const uint8_t *id, size_t len, char *to)
{
	for (size_t i = 0; i < len; i++)
		snprintf(to + 2 * i, 3, "%02x", id[i]);
}

static bool by_build_id(const struct aif_elf *elf, const char *debug_dir, struct aif_elf *ret)
{
	char path[PATH_MAX], hex[2 * sizeof(elf->build_id) + 1];
	int n;

	if (elf->build_id_len < 2)
		return false;
	hex_of(elf->build_id, elf->build_id_len, hex);
	n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2);
	return n > 0 && (size_t)n < sizeof(path) &&
	       try_open(elf, aif_open_regular(AT_FDCWD, path, O_RDONLY), NULL, ret);
}

/* Finds the directory in which debuginfod's clients (gdb, perf, elfutils) keep what they have fetched, as they do. */
static bool debuginfod_cache(char *to, size_t max)
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	int n;

	if (own && *own)
		n = snprintf(to, max, "%s", own);
	else if (cache && *cache)
		n = snprintf(to, max, "%s/debuginfod_client", cache);
	else if (home && *home)
		n = snprintf(to, max, "%s/.cache/debuginfod_client", home);
	else
		return false;
	return n > 0 && (size_t)n < max;
}

/* Opens what such a client has fetched; fetches nothing. */
static bool by_debuginfod(const struct aif_elf *elf, struct aif_elf *ret)
{
	char dir[PATH_MAX], path[PATH_MAX], hex[2 * sizeof(elf->build_id) + 1];
	int n;

	if (!elf->build_id_len || !debuginfod_cache(dir, sizeof(dir)))
		return false;
	hex_of(elf->build_id, elf->build_id_len, hex);
	n = snprintf(path, sizeof(path), "%s/%s/debuginfo", dir, hex);
	return n > 0 && (size_t)n < sizeof(path) &&
	       try_open(elf, aif_open_regular(AT_FDCWD, path, O_RDONLY), NULL, ret);
}

static bool by_link(const struct aif_elf *elf, const char *file, const char *debug_dir,
		    struct aif_elf *ret)
{
	const struct aif_elf_section *s = aif_elf_section(elf, ".gnu_debuglink");
	const char *slash = strrchr(file, '/');
	char path[PATH_MAX], link[NAME_MAX + 1];
	bool found = false;
	uint32_t crc;
	ssize_t link_n;

	if (!s || !slash)
		return false;
	link_n = aif_elf_string(elf, s, 0, link, sizeof(link));
	if (link_n <= 0 || strchr(link, '/') ||
	    aif_elf_read(elf, s->offset + AIF_ALIGN_UP((uint64_t)link_n + 1, 4), &crc, 4) < 0)
		return false;
	crc = aif_elf32(elf, crc);
	for (unsigned i = 0; i < 3 && !found; i++) {
		int n = snprintf(path, sizeof(path), "%s%.*s/%s%s", i == 2 ? debug_dir : "",
				 (int)(slash - file), file, i == 1 ? ".debug/" : "", link);

		/* Never itself: a link may name the very file it stands in. */
		found = n > 0 && (size_t)n < sizeof(path) && strcmp(path, file) &&
			try_open(elf, open_named(elf, path), &crc, ret);
	}
	return found;
}

static bool try_alt(const struct aif_elf *by, const char *path, const void *id, size_t id_len,
		    struct aif_elf *ret)
{
	int fd = open_named(by, path);
	struct aif_elf alt;

	if (fd < 0 || aif_elf_init(&alt, fd, 0) < 0)
		return false;
	alt.effort = by->effort;
	if (alt.build_id_len != id_len || memcmp(alt.build_id, id, id_len) != 0) {
		aif_elf_finish(&alt);
		return false;
	}
	*ret = alt;
	return true;
}

int aif_debugfile_find_alt(const struct aif_elf *debug, const char *name, const void *id,
			   size_t id_len, struct aif_elf *ret)
{
	char path[PATH_MAX], hex[2 * sizeof(debug->build_id) + 1], link[32];
	ssize_t n;

	if (id_len < 2 || id_len > sizeof(debug->build_id))
		return -ENOENT;
	hex_of(id, id_len, hex);
	snprintf(path, sizeof(path), AIF_DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (try_alt(debug, path, id, id_len, ret) ||
	    (name[0] == '/' && try_alt(debug, name, id, id_len, ret)))
		return 0;
	if (name[0] == '/' || debug->fd < 0)
		return -ENOENT;
	/* Relative to where the file lies that names it. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", debug->fd);
	n = readlink(link, path, sizeof(path) - 1);
	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n <= 0 || (size_t)n + strlen(name) >= sizeof(path))
		return -ENOENT;
	strcpy(path + n, name);
	return try_alt(debug, path, id, id_len, ret) ? 0 : -ENOENT;
}

int aif_debugfile_find(const struct aif_elf *elf, const char *path, const char *debug_dir,
		       struct aif_elf *ret)
{
	if (by_build_id(elf, debug_dir, ret) || (path && by_link(elf, path, debug_dir, ret)) ||
	    by_debuginfod(elf, ret))
		return 0;
	return -ENOENT;
}
