/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/device_names.h"

#include "base/demangle.h"
#include "base/map.h"
#include "base/open_regular.h"
#include "base/reasons.h"
#include "profile/model.h"
#include "symbolize/spirv.h"
#include "wire/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Objects that are held at the same time, those used last; a frame of another reads its object anew. */
#define MAX_HELD (UINT64_C(80) << 20)

struct object {
	uint64_t hash;
	struct aif_device_object *held; /* NULL: not held */
	uint64_t used;                  /* when last, in uses of all */
	bool missing;
	bool is_absent; /* nobody left it */
	bool is_unread; /* it is there, in a form that is not read */
	bool told;      /* that it has no lines */
	bool spirv_given, binary_given;
};

struct function {
	char *name; /* mangled */
	uint32_t object, symbol;
	bool told; /* that it has no object */
};

struct aif_device_names {
	int dir;
	const struct aif_object_dirs *others;
	struct object *objects;
	size_t objects_len, objects_cap;
	struct function *functions;
	size_t functions_len, functions_cap;
	struct aif_map object_ids, by_module; /* hash -> object; module -> function */
	struct aif_map programs;              /* hash -> 1: was asked for */
	bool is_attached;
	uint64_t held, uses, drops;
	struct aif_buf text; /* of the last answer, each string terminated */
};

int aif_device_names_new(int dir, const struct aif_object_dirs *others, bool is_attached,
			 struct aif_device_names **ret)
{
	struct aif_device_names *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->dir = dir;
	d->others = others;
	d->is_attached = is_attached;
	*ret = d;
	return 0;
}

static void let_go(struct aif_device_names *d, struct object *o)
{
	if (!o->held)
		return;
	d->held -= aif_device_object_size(o->held);
	aif_device_object_free(o->held);
	o->held = NULL;
}

void aif_device_names_free(struct aif_device_names *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->objects_len; i++)
		let_go(d, &d->objects[i]);
	for (size_t i = 0; i < d->functions_len; i++)
		free(d->functions[i].name);
	free(d->objects);
	free(d->functions);
	aif_map_finish(&d->object_ids);
	aif_map_finish(&d->by_module);
	aif_map_finish(&d->programs);
	aif_buf_finish(&d->text);
	free(d);
}

static int object_of(struct aif_device_names *d, uint64_t hash, uint32_t *ret)
{
	uint64_t id;

	if (!aif_map_get(&d->object_ids, hash, &id)) {
		id = d->objects_len;
		if (aif_grow(&d->objects, &d->objects_cap, id + 1, sizeof(*d->objects)) < 0 ||
		    aif_map_put(&d->object_ids, hash, id) < 0)
			return -ENOMEM;
		d->objects[d->objects_len++] =
			(struct object){.hash = hash, .missing = !hash, .is_absent = !hash};
	}
	*ret = (uint32_t)id;
	return 0;
}

void aif_device_names_add(struct aif_device_names *d, struct aif_modfile *file)
{
	struct function f = {.name = file->function, .symbol = file->symbol};

	file->function = NULL;
	if (object_of(d, file->object, &f.object) < 0 ||
	    aif_grow(&d->functions, &d->functions_cap, d->functions_len + 1, sizeof(f)) < 0 ||
	    aif_map_put(&d->by_module, file->module, d->functions_len) < 0) {
		free(f.name);
		return;
	}
	d->functions[d->functions_len++] = f;
}

/* True if the file was written by the directory's owner, by root or by us, and is not another user's that was linked
 * there. */
static bool is_acceptable(int dir, const struct stat *st)
{
	struct stat at;

	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_size > 0 &&
	       (uint64_t)st->st_size <= AIF_OBJECT_MAX && fstat(dir, &at) == 0 &&
	       (st->st_uid == at.st_uid || st->st_uid == 0 || st->st_uid == geteuid());
}

/* Reads an object's bytes, which nobody changes any more. */
static uint8_t *read_object(int dir, uint64_t hash, size_t *ret_n)
{
	char name[AIF_OBJECT_NAME_MAX];
	uint8_t *bytes = NULL;
	struct stat st;
	size_t n = 0;
	ssize_t r;
	int fd;

	snprintf(name, sizeof(name), AIF_OBJECT_NAME, hash);
	fd = aif_open_regular_beside(dir, name, O_RDONLY);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && is_acceptable(dir, &st))
		bytes = malloc((size_t)st.st_size);
	while (bytes && n < (size_t)st.st_size &&
	       ((r = read(fd, bytes + n, (size_t)st.st_size - n)) > 0 || (r < 0 && errno == EINTR)))
		n += r > 0 ? (size_t)r : 0;
	close(fd);
	*ret_n = n;
	return bytes;
}

/* Reads an object of those that are there. One in a directory of another user's is what its name says. The hash keeps nobody from
 * making another of the same name: so where two users have different ones, neither is read. */
static uint8_t *read_any(const struct aif_device_names *d, uint64_t hash, size_t *ret_n)
{
	uint8_t *bytes = d->dir >= 0 ? read_object(d->dir, hash, ret_n) : NULL, *other;
	bool is_same;
	size_t n;

	if (bytes)
		return bytes;
	for (unsigned i = 0; d->others && i < atomic_load(&d->others->len); i++) {
		other = read_object(d->others->fd[i], hash, &n);
		if (!other || aif_hash_bytes(other, n) != hash) {
			free(other);
			continue;
		}
		if (!bytes) {
			bytes = other;
			*ret_n = n;
			continue;
		}
		is_same = n == *ret_n && !memcmp(bytes, other, n);
		free(other);
		if (!is_same) {
			free(bytes);
			return NULL;
		}
	}
	return bytes;
}

static bool let_go_oldest(struct aif_device_names *d, const struct object *but)
{
	struct object *oldest = NULL;

	for (size_t i = 0; i < d->objects_len; i++) {
		struct object *o = &d->objects[i];

		if (o != but && o->held && (!oldest || o->used < oldest->used))
			oldest = o;
	}
	if (oldest)
		let_go(d, oldest);
	return oldest;
}

uint64_t aif_device_names_drops(const struct aif_device_names *d)
{
	return d->drops;
}

static struct object *hold(struct aif_device_names *d, uint32_t id)
{
	struct object *o = &d->objects[id];
	uint8_t *bytes = NULL;
	size_t n = 0;
	int r = -ENOENT;

	if (o->held || o->missing) {
		o->used = ++d->uses;
		return o->held ? o : NULL;
	}
	bytes = read_any(d, o->hash, &n);
	if (bytes)
		r = aif_device_object_new(bytes, n, &o->held);
	if (r < 0) {
		o->missing = true;
		o->is_absent = !bytes;
		o->is_unread = r == -ENOTSUP;
		return NULL;
	}
	d->held += aif_device_object_size(o->held);
	o->used = ++d->uses;
	while (d->held > MAX_HELD && let_go_oldest(d, o))
		d->drops++;
	return o;
}

/* The function in its object: by its number if that has its name, else by its name. */
static const struct aif_device_function *find(const struct object *o, const struct function *f)
{
	const struct aif_device_elf *elf = aif_device_object_elf(o->held);
	const struct aif_device_function *at = aif_device_elf_by_symbol(elf, f->symbol);

	if (at && strlen(f->name) == at->name_len && !memcmp(at->name, f->name, at->name_len))
		return at;
	return aif_device_elf_by_name(elf, f->name);
}

static struct function *function_of(struct aif_device_names *d, uint32_t module)
{
	uint64_t i;

	return aif_map_get(&d->by_module, module, &i) ? &d->functions[i] : NULL;
}

/* Appends a name, demangled; its place in d->text. */
static size_t put_name(struct aif_device_names *d, const char *name, size_t len)
{
	size_t at = d->text.len;
	char *copy = strndup(name, len);

	if (copy)
		aif_demangle(copy, &d->text);
	aif_buf_append(&d->text, "", 1);
	free(copy);
	return at;
}

/* Returns the reason why the function shows less than it could, if that was not reported yet. */
static uint32_t loss_of(const struct aif_device_names *d, struct object *o, struct function *f,
			bool is_read)
{
	enum aif_device_lines lines;

	if (!is_read) {
		if (f->told)
			return AIF_NONE;
		f->told = true;
		/* Code that is loaded while an agent is there leaves its object. */
		return o->is_unread                     ? AIF_REASON_CODE_FORMAT
		       : o->is_absent && d->is_attached ? AIF_REASON_CODE_BEFORE
							: AIF_REASON_NO_CODE;
	}
	/* NVIDIA's libraries have none, and there is nothing that their users could do. */
	if (o->told || !aif_device_object_is_intel(o->held))
		return AIF_NONE;
	o->told = true;
	lines = aif_device_object_lines(o->held);
	return lines == AIF_DEVICE_LINES_NONE      ? AIF_REASON_CODE_NO_LINES
	       : lines == AIF_DEVICE_LINES_DROPPED ? AIF_REASON_CODE_LOST_LINES
						   : AIF_NONE;
}

int aif_device_names_resolve(struct aif_device_names *d, uint32_t module, uint64_t address,
			     struct aif_symbol *ret, unsigned max, uint32_t *ret_loss)
{
	struct function *f = function_of(d, module);
	struct object *o = f ? hold(d, f->object) : NULL;
	const struct aif_device_function *in = o ? find(o, f) : NULL, *at;
	struct aif_device_level levels[AIF_DEVICE_MAX_LEVELS];
	size_t names[AIF_DEVICE_MAX_LEVELS];
	int n = 0;

	*ret_loss = AIF_NONE;
	if (!f)
		return -ENOENT;
	d->text.len = 0;
	*ret_loss = loss_of(d, &d->objects[f->object], f, in != NULL);
	at = in ? aif_device_elf_find(aif_device_object_elf(o->held), in->symbol, address, NULL)
		: NULL;
	if (in)
		n = aif_device_object_resolve(o->held, in->symbol, address, levels,
					      AIF_MIN(max, AIF_DEVICE_MAX_LEVELS));
	if (n <= 0) { /* its line is not known */
		levels[0] = (struct aif_device_level){0};
		n = 1;
	}
	for (int i = 0; i < n; i++)
		names[i] = levels[i].name ? put_name(d, levels[i].name, strlen(levels[i].name))
			   : i            ? put_name(d, "?", 1)
			   : at           ? put_name(d, at->name, at->name_len)
					  : put_name(d, f->name, strlen(f->name));
	if (aif_buf_failed(&d->text))
		return -ENOMEM;
	for (int i = 0; i < n; i++)
		ret[i] = (struct aif_symbol){.name = (const char *)d->text.data + names[i],
					     .file = levels[i].file,
					     .line = levels[i].line,
					     .named = true};
	return n;
}

int aif_device_names_code(struct aif_device_names *d, uint32_t module, struct aif_device_code *ret)
{
	struct function *f = function_of(d, module);
	struct object *o = f ? hold(d, f->object) : NULL;
	const struct aif_device_function *in = o ? find(o, f) : NULL;

	if (!in)
		return -ENOENT;
	ret->bytes = aif_device_elf_code(aif_device_object_elf(o->held), in, &ret->size);
	if (!ret->bytes || !ret->size)
		return -ENOENT;
	d->text.len = 0;
	put_name(d, f->name, strlen(f->name));
	if (aif_buf_failed(&d->text))
		return -ENOMEM;
	ret->name = (const char *)d->text.data;
	ret->arch = aif_device_object_arch(o->held);
	ret->offset = aif_device_object_offset(o->held, in);
	return 0;
}

bool aif_device_names_lines(struct aif_device_names *d, uint32_t module, size_t *at,
			    struct aif_device_piece *ret)
{
	struct function *f = function_of(d, module);
	struct object *o = f ? hold(d, f->object) : NULL;
	const struct aif_device_function *in = o ? find(o, f) : NULL;

	return in && aif_device_object_lines_next(o->held, in, at, ret);
}

int aif_device_names_binary(struct aif_device_names *d, uint32_t module, bool is_whole,
			    uint8_t **ret, size_t *ret_size)
{
	struct function *f = function_of(d, module);
	struct object *o = f ? &d->objects[f->object] : NULL;

	if (!o || o->binary_given || (!hold(d, f->object) && !o->is_unread))
		return -ENOENT;
	o->binary_given = true;
	if (o->held && !is_whole)
		return aif_device_object_cut(o->held, ret, ret_size);
	*ret = read_any(d, o->hash, ret_size);
	return *ret ? 0 : -ENOENT;
}

int aif_device_names_spirv(struct aif_device_names *d, uint32_t module, uint8_t **ret,
			   size_t *ret_size, uint64_t *ret_hash)
{
	struct function *f = function_of(d, module);
	struct object *o = f ? hold(d, f->object) : NULL;
	uint8_t *bytes = NULL;
	const uint8_t *in;
	size_t n;

	if (!o || o->spirv_given || !aif_device_object_is_intel(o->held))
		return -ENOENT;
	o->spirv_given = true;
	in = aif_device_object_spirv(o->held, &n);
	if (in) {
		bytes = malloc(n);
		if (!bytes)
			return -ENOMEM;
		memcpy(bytes, in, n);
	} else if (d->dir >= 0) {
		bytes = read_object(d->dir, aif_object_source(o->hash), &n);
	}
	if (!bytes || !aif_spirv_is(bytes, n)) {
		free(bytes);
		return -ENOENT;
	}
	*ret = bytes;
	*ret_size = n;
	*ret_hash = o->hash;
	return 0;
}

int aif_device_names_program(struct aif_device_names *d, uint64_t hash, uint8_t **ret,
			     size_t *ret_size)
{
	uint8_t *bytes;
	size_t n = 0;

	if (d->dir < 0 || aif_map_get(&d->programs, hash, NULL) ||
	    aif_map_put(&d->programs, hash, 1) < 0)
		return -ENOENT;
	bytes = read_object(d->dir, aif_object_source(hash), &n);
	if (!bytes || !aif_spirv_is(bytes, n)) {
		free(bytes);
		return -ENOENT;
	}
	*ret = bytes;
	*ret_size = n;
	return 0;
}
