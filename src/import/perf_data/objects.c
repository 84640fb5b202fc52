/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/objects.h"

#include "base/build_id.h"
#include "base/open_regular.h"
#include "symbolize/elf_image.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INLINED_MAX 32

struct aif_perf_object {
	uint32_t path, build_id;
	enum { OBJECT_FILE, OBJECT_JIT, OBJECT_VDSO } kind;
	struct aif_elf_load *loads; /* of its file, NULL: not read */
	size_t loads_len;
	bool is_looked_at;
};
int aif_perf_objects_init(struct aif_perf_objects *o, struct aif_perf_data *x,
			  struct aif_perf_samples *to)
{
	*o = (struct aif_perf_objects){.x = x, .to = to, .first_changed = AIF_STR_NONE};
	o->kernel = calloc(1, sizeof(*o->kernel));
	return o->kernel ? aif_symbols_new(&o->symbols) : -ENOMEM;
}

void aif_perf_objects_finish(struct aif_perf_objects *o)
{
	for (size_t i = 0; i < o->list_len; i++)
		free(o->list[i].loads);
	if (o->kernel)
		aif_kallsyms_finish(o->kernel);
	free(o->kernel);
	if (o->symbols)
		aif_symbols_free(o->symbols);
	free(o->list);
	free(o->jits);
	aif_map_finish(&o->by_name);
	aif_map_finish(&o->frames);
}

static const char *text_of(const struct aif_perf_objects *o, uint32_t string)
{
	return string == AIF_STR_NONE ? NULL : aif_strset_get(&o->x->strings, string, NULL);
}

/* ---- the kernel ---------------------------------------------------------------------------------- */

/* Returns true if the file was recorded with the kernel that runs here: of the same build, and, since each boot moves it,
 * with its first symbol where it is now. */
static bool is_our_kernel(const struct aif_perf_objects *o)
{
	const struct aif_perf_data *x = o->x;
	uint32_t path = aif_strset_find(&x->strings, "[kernel.kallsyms]", 17);
	char notes[4096], ours[129] = "";
	uint64_t id;
	ssize_t n = -1;
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, notes, sizeof(notes));
		close(fd);
	}
	if (n > 0)
		aif_build_id_text(notes, (size_t)n, AIF_IS_BIG, ours, sizeof(ours));
	if (path == AIF_STR_NONE || !aif_map_get(&x->build_ids, path, &id) ||
	    strcmp(ours, text_of(o, (uint32_t)id)))
		return false;
	for (size_t i = 0; i < x->changes_len; i++) {
		const struct aif_perf_change *c = &x->changes[i];
		static const char named[] = "[kernel.kallsyms]";
		const char *name = text_of(o, c->name), *symbol;
		const struct aif_kallsym *found;

		if (c->pid != UINT32_MAX || !name || strncmp(name, named, sizeof(named) - 1))
			continue;
		symbol = name + sizeof(named) - 1;
		found = aif_kallsyms_find(o->kernel, AIF_KALLSYMS_ADDRESS(c->offset));
		/* Several symbols may lie there. */
		for (; found && found > o->kernel->at && found[-1].address == found->address;)
			found--;
		for (; found && found < o->kernel->at + o->kernel->len &&
		       found->address == AIF_KALLSYMS_ADDRESS(c->offset);
		     found++)
			if (!strcmp(aif_strset_get(&o->kernel->strings, found->name, NULL), symbol))
				return true;
	}
	return false;
}

static void kernel_read(struct aif_perf_objects *o)
{
	if (o->has_kernel)
		return;
	o->has_kernel = true;
	o->is_our_kernel = aif_kallsyms_read(o->kernel, "/proc/kallsyms") == 0 && is_our_kernel(o);
}

/* ---- files --------------------------------------------------------------------------------------- */

/* Opens what perf has kept of a build (perf buildid-cache). */
static int open_kept(const char *build_id)
{
	const char *home = getenv("HOME");
	char path[4096];

	if (!home || !build_id || strlen(build_id) < 3 ||
	    (size_t)snprintf(path, sizeof(path), "%s/.debug/.build-id/%.2s/%s/elf", home, build_id,
			     build_id + 2) >= sizeof(path))
		return -1;
	return aif_open_regular(AT_FDCWD, path, O_RDONLY);
}

/* Compares the build id of a file, in hexadecimal, with a recorded one: older perf pads those with zeros. */
static bool is_build(const char *hex, const char *build_id)
{
	size_t n = strlen(hex);

	return n && !strncmp(hex, build_id, n) && strspn(build_id + n, "0") == strlen(build_id + n);
}

/* Reads how a file is laid out, if it is the build that was recorded. Takes fd; returns it, or -1. */
static int layout_read(struct aif_perf_object *to, int fd, const char *build_id)
{
	struct aif_elf e;
	char hex[2 * sizeof(e.build_id) + 1] = "";
	int own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	bool is_it = own >= 0 && aif_elf_init(&e, own, 0) == 0;

	if (is_it) {
		for (size_t i = 0; i < e.build_id_len; i++)
			snprintf(hex + 2 * i, 3, "%02x", e.build_id[i]);
		is_it = !build_id || is_build(hex, build_id);
		if (is_it) {
			to->loads = e.loads;
			to->loads_len = e.loads_len;
			e.loads = NULL;
			e.loads_len = 0;
		}
		aif_elf_finish(&e);
	}
	if (!is_it && fd >= 0)
		close(fd);
	return is_it ? fd : -1;
}

static void file_look(struct aif_perf_objects *o, uint32_t number)
{
	struct aif_perf_object *obj = &o->list[number];
	const char *path = text_of(o, obj->path), *build_id = text_of(o, obj->build_id);
	int fd;

	obj->is_looked_at = true;
	if (obj->kind == OBJECT_VDSO) {
		/* A vdso of another build leaves the module known by its path. */
		if (!build_id || aif_symbols_vdso(o->symbols, number, build_id) == -ENOENT)
			aif_symbols_module(o->symbols, number, -1, path, NULL);
		return;
	}
	fd = layout_read(obj, aif_open_regular(AT_FDCWD, path, O_RDONLY), build_id);
	if (fd < 0)
		fd = layout_read(obj, open_kept(build_id), build_id);
	if (fd < 0 && !o->changed++)
		o->first_changed = obj->path;
	aif_symbols_module(o->symbols, number, fd, path, NULL);
}

/* Returns the address, in a file's own numbering, of what lies at an offset in it. */
static uint64_t address_of(const struct aif_perf_object *obj, uint64_t offset)
{
	for (size_t i = 0; i < obj->loads_len; i++)
		if (offset >= obj->loads[i].offset &&
		    offset - obj->loads[i].offset < obj->loads[i].filesz)
			return obj->loads[i].vaddr + (offset - obj->loads[i].offset);
	return offset;
}

uint32_t aif_perf_object(struct aif_perf_objects *o, uint32_t path, uint32_t build_id)
{
	static const char *const memory[] = {"//", "/memfd:", "/dev/zero", "/anon_hugepage",
					     "/SYSV"};
	struct aif_perf_object obj = {.path = path};
	const char *text = text_of(o, path);
	uint64_t found, key;

	/* The list of build ids knows those of files whose mappings do not say them. */
	if (build_id == AIF_STR_NONE && aif_map_get(&o->x->build_ids, path, &found))
		build_id = (uint32_t)found;
	obj.build_id = build_id;
	key = (uint64_t)build_id << 32 | path;
	if (aif_map_get(&o->by_name, key, &found))
		return (uint32_t)found;
	if (!strcmp(text, "[vdso]"))
		obj.kind = OBJECT_VDSO;
	else if (text[0] != '/')
		obj.kind = OBJECT_JIT;
	for (size_t i = 0; i < AIF_ARRAY_LEN(memory); i++)
		if (!strncmp(text, memory[i], strlen(memory[i])))
			obj.kind = OBJECT_JIT;
	if (aif_grow(&o->list, &o->list_cap, o->list_len + 1, sizeof(obj)) < 0 ||
	    aif_map_put(&o->by_name, key, o->list_len) < 0) {
		o->is_memory = true;
		return AIF_NONE;
	}
	o->list[o->list_len] = obj;
	return (uint32_t)o->list_len++;
}

/* ---- frames -------------------------------------------------------------------------------------- */

/* Returns the frame that is known by this key, or makes it. */
static uint32_t frame_new(struct aif_perf_objects *o, uint64_t key, const struct aif_perf_code *c,
			  const struct aif_perf_level *levels, size_t n)
{
	uint32_t frame = aif_perf_samples_code(o->to, c, levels, n);

	if (frame == AIF_NONE || aif_map_put(&o->frames, key, frame) < 0)
		o->is_memory = true;
	return frame;
}

static uint64_t key_of(uint64_t space, uint64_t address)
{
	return aif_mix64(space * 31 + 7) ^ address;
}

static uint32_t jit_frame(struct aif_perf_objects *o, const struct aif_perf_object *obj,
			  uint32_t pid, uint64_t address)
{
	const struct aif_perf_code code = {.kind = AIF_FRAME_NATIVE,
					   .module = text_of(o, obj->path),
					   .address = address,
					   .pid = pid};
	uint64_t key = key_of(UINT64_C(1) << 40 | pid, address), known;
	struct aif_perf_jit jit = {.address = address, .pid = pid};

	if (aif_map_get(&o->frames, key, &known))
		return (uint32_t)known;
	jit.frame = frame_new(o, key, &code, NULL, 0);
	if (jit.frame == AIF_NONE)
		return AIF_NONE;
	if (aif_grow(&o->jits, &o->jits_cap, o->jits_len + 1, sizeof(jit)) < 0)
		o->is_memory = true;
	else
		o->jits[o->jits_len++] = jit;
	return jit.frame;
}

uint32_t aif_perf_object_frame(struct aif_perf_objects *o, uint32_t object, uint32_t pid,
			       uint64_t offset, uint64_t address)
{
	struct aif_perf_level levels[INLINED_MAX];
	struct aif_symbol names[INLINED_MAX];
	uint64_t key = key_of(object, offset), known;
	const struct aif_perf_object *obj;
	struct aif_perf_code code = {.kind = AIF_FRAME_NATIVE};
	int n;

	if (object == AIF_NONE)
		return aif_perf_lost_frame(o, address);
	obj = &o->list[object];
	if (obj->kind == OBJECT_JIT)
		return jit_frame(o, obj, pid, address);
	if (aif_map_get(&o->frames, key, &known))
		return (uint32_t)known;
	if (!obj->is_looked_at)
		file_look(o, object);
	code.module = text_of(o, obj->path);
	code.build_id = text_of(o, obj->build_id);
	code.address = address_of(obj, offset);
	n = aif_symbols_resolve(o->symbols, object, code.address, names, INLINED_MAX);
	for (int i = 0; i < n; i++)
		levels[i] = (struct aif_perf_level){names[i].name, names[i].file, names[i].line};
	return frame_new(o, key, &code, levels, n > 0 ? (size_t)n : 0);
}

uint32_t aif_perf_os_frame(struct aif_perf_objects *o, uint64_t address)
{
	struct aif_perf_code code = {.kind = AIF_FRAME_OS,
				     .address = AIF_KALLSYMS_ADDRESS(address)};
	uint64_t key = key_of(UINT64_C(1) << 41, address), known;
	const struct aif_kallsym *found;
	struct aif_perf_level level = {0};

	if (aif_map_get(&o->frames, key, &known))
		return (uint32_t)known;
	kernel_read(o);
	found = o->is_our_kernel ? aif_kallsyms_find(o->kernel, code.address) : NULL;
	if (!found) {
		o->os_unnamed++;
		code.address |= UINT64_C(1) << 63; /* as it is known to be the kernel's */
		return frame_new(o, key, &code, NULL, 0);
	}
	level.name = aif_strset_get(&o->kernel->strings, found->name, NULL);
	if (found->module != AIF_STR_NONE)
		level.file = aif_strset_get(&o->kernel->strings, found->module, NULL);
	return frame_new(o, key, &code, &level, 1);
}

uint32_t aif_perf_lost_frame(struct aif_perf_objects *o, uint64_t address)
{
	const struct aif_perf_code code = {.kind = AIF_FRAME_NATIVE,
					   .address = address & ~(UINT64_C(1) << 63)};
	uint64_t key = key_of(UINT64_C(1) << 42, address), known;

	return aif_map_get(&o->frames, key, &known) ? (uint32_t)known
						    : frame_new(o, key, &code, NULL, 0);
}
