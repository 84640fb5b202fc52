/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/target.h"

#include "base/open_regular.h"
#include "base/process_read.h"
#include "record/ingest/elf_peek.h"
#include "record/ingest/modfiles.h"
#include "symbolize/pocl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An address that no module explains must not make us read the maps for each of its samples (a read
 * takes 50 to 100 us). */
#define MAPS_INTERVAL_NS (10 * 1000 * 1000)

/* A hostile target fills these, not our memory; the largest programs map some thousands. */
#define MAX_RANGES 65536

static size_t range_after(const struct aif_address_map *r, uint64_t pc)
{
	return AIF_BISECT(mid, 0, r->len, r->at[mid].lo <= pc);
}

const struct aif_address_range *aif_address_map_find(const struct aif_address_map *r, uint64_t pc)
{
	size_t i = range_after(r, pc);

	return i && pc < r->at[i - 1].hi ? &r->at[i - 1] : NULL;
}

void aif_address_map_remove(struct aif_address_map *r, uint64_t lo, uint64_t hi)
{
	size_t keep = 0;

	for (size_t i = 0; i < r->len; i++)
		if (r->at[i].hi <= lo || r->at[i].lo >= hi)
			r->at[keep++] = r->at[i];
	r->len = keep;
}

void aif_address_map_add(struct aif_address_map *r, const struct aif_address_range *range)
{
	size_t at;

	if (range->lo >= range->hi)
		return;
	aif_address_map_remove(r, range->lo, range->hi);
	if (r->len >= MAX_RANGES || aif_grow(&r->at, &r->cap, r->len + 1, sizeof(*range)) < 0)
		return;
	at = range_after(r, range->lo);
	memmove(&r->at[at + 1], &r->at[at], (r->len - at) * sizeof(*range));
	r->at[at] = *range;
	r->len++;
}

/* The kernel that a PoCL module holds, by its name: the process has created it before it runs. */
static uint32_t kernel_of(struct aif_drainer *d, struct aif_target *t, const char *path)
{
	char name[512];
	uint64_t kernel;

	if (aif_pocl_kernel_of_path(path, name, sizeof(name)) < 0 ||
	    !aif_map_get(&t->kernel_named, aif_store_puts(d->store, name), &kernel))
		return AIF_NONE;
	return (uint32_t)kernel;
}

bool aif_target_range_of_file(struct aif_drainer *d, struct aif_target *t,
			      struct aif_address_range *range, uint64_t offset, const char *path)
{
	struct aif_store *s = d->store;
	struct aif_elf_peek elf;
	size_t known = s->p.modules_len;
	int fd;

	range->is_kernel = aif_pocl_is_kernel_path(path);
	fd = aif_modfile_open(&t->files, range->lo, range->hi, path);
	if (aif_open_lacks_descriptors(fd) || fd == -EREMOTE)
		aif_target_no_file(d, t, path, fd);
	if (fd < 0 || aif_elf_peek(fd, &elf) < 0 ||
	    !aif_elf_bias(&elf, range->lo, offset, &range->base)) {
		if (fd >= 0)
			close(fd);
		range->base = 0;
		range->is_kernel = false;
		range->module = aif_store_module(s, AIF_MODULE_ANON, path, strlen(path), NULL, 0);
		return range->module != AIF_NONE;
	}
	range->module =
		aif_store_module(s, range->is_kernel ? AIF_MODULE_DEVICE_ELF : AIF_MODULE_ELF, path,
				 strlen(path), elf.build_id, strlen(elf.build_id));
	if (range->module == AIF_NONE) {
		close(fd);
		return false;
	}
	aif_homes_note(&s->homes, range->module, &t->files);
	if (range->is_kernel && s->p.modules[range->module].kernel == AIF_NONE)
		s->p.modules[range->module].kernel = kernel_of(d, t, path);
	if (s->p.modules_len > known)
		aif_modfiles_add(d->files, range->module, fd, path, elf.build_id);
	else
		close(fd);
	return true;
}

void aif_target_no_file(struct aif_drainer *d, const struct aif_target *t, const char *path,
			int error)
{
	bool lacks = aif_open_lacks_descriptors(error);

	/* Without descriptors all modules that come are lost: they are counted, not named. */
	aif_store_loss(d->store,
		       lacks               ? AIF_REASON_NO_DESCRIPTORS
		       : error == -EINVAL  ? AIF_REASON_MODULE_NO_FILE
		       : error == -EREMOTE ? AIF_REASON_MODULE_OF_USER
					   : AIF_REASON_MODULE_GONE,
		       t->process,
		       aif_store_puts(d->store, lacks ? "names of a module's functions" : path), 1);
}

uint32_t aif_target_jit(struct aif_drainer *d, struct aif_target *t, unsigned layer)
{
	uint32_t *module = &t->jit.modules[layer];
	char id[24];

	if (*module == AIF_NONE) {
		snprintf(id, sizeof(id), "%08" PRIx32 "%02x", t->process, layer);
		*module = aif_store_module(d->store, AIF_MODULE_ANON, "[jit]", 5, id, strlen(id));
	}
	return *module;
}

static void read_maps(struct aif_drainer *d, struct aif_target *t)
{
	struct aif_buf text = {0};
	char *line, *rest = NULL;

	/* A longer text is looked at as far as it goes. */
	(void)aif_process_text(t->pid, "maps", AIF_PROCESS_MAPS_MAX, &text);
	aif_buf_putc(&text, '\0');
	for (line = aif_buf_failed(&text) ? NULL : strtok_r((char *)text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct aif_address_range range = {.module = AIF_NONE};
		const struct aif_address_range *old;
		uint64_t offset;
		char perms[8], *path;
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &range.lo,
			   &range.hi, perms, &offset, &at) != 4 ||
		    perms[2] != 'x')
			continue;
		path = line + at;
		path[strcspn(path, "\n")] = '\0';
		old = aif_address_map_find(&t->ranges, range.lo);
		if (old && old->hi >= range.hi && old->module != AIF_NONE) {
			/* The same module still? A JIT's memory and the vdso have no file to compare. */
			const char *was = aif_profile_str(&d->store->p,
							  d->store->p.modules[old->module].path);
			if (!strcmp(was, path) || path[0] != '/')
				continue;
		}
		/* .NET writes its code to a file in memory, to have it mapped twice. */
		if (path[0] == '/' && strncmp(path, "/memfd:", 7)) {
			if (!aif_target_range_of_file(d, t, &range, offset, path))
				continue;
		} else if (!strcmp(path, "[vdso]")) {
			range.base = range.lo;
			range.module = aif_store_module(d->store, AIF_MODULE_VDSO, path,
							strlen(path), NULL, 0);
		} else {
			range.module = aif_target_jit(d, t, 0);
		}
		aif_address_map_add(&t->ranges, &range);
	}
	aif_buf_finish(&text);
}

const struct aif_address_range *aif_target_range(struct aif_drainer *d, struct aif_target *t,
						 uint64_t pc, uint64_t now_ns)
{
	const struct aif_address_range *range =
		t->maps_stale ? NULL : aif_address_map_find(&t->ranges, pc);

	if (range)
		return range;
	if (!t->maps_stale && now_ns - t->maps_read_ns < MAPS_INTERVAL_NS)
		return NULL;
	t->maps_stale = false;
	t->maps_read_ns = now_ns;
	read_maps(d, t);
	return aif_address_map_find(&t->ranges, pc);
}
