/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"

#include "base/map.h"
#include "export/device_binary.h"
#include "names/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Device binaries: Intel's zebins, NVIDIA's cubins, PoCL's libraries. They belong to kernels that were sampled, and --kernel
 * chooses by these; of others they have names and headers, unless the recorder kept them whole. One binary is the output;
 * several are files of a directory.
 */

#define LISTED_MAX 8 /* names in a message */
#define STEM_MAX   64

struct binary {
	const struct aif_code *code;
	const char *path;     /* path of the modules that hold its functions */
	const char *function; /* a kernel in it that was asked for, else any function; NULL: none */
	bool is_asked;
	size_t next; /* another of the same path + 1, or 0 */
};

struct binaries {
	const struct aif_export *x;
	struct aif_regex kernel;
	struct binary *at;
	size_t len, cap, asked;
	struct aif_map by_path; /* hash of a path -> the first binary + 1 */
};

static const char *module_path(const struct aif_profile *p, uint32_t module)
{
	return module < p->modules_len ? aif_profile_str(p, p->modules[module].path) : "";
}

static int add(struct binaries *b, const struct aif_code *c, const char *path)
{
	uint64_t key = aif_hash_bytes(path, strlen(path)), first = 0;

	aif_map_get(&b->by_path, key, &first);
	if (aif_grow(&b->at, &b->cap, b->len + 1, sizeof(*b->at)) < 0 ||
	    aif_map_put(&b->by_path, key, b->len + 1) < 0)
		return -ENOMEM;
	b->at[b->len++] = (struct binary){
		.code = c, .path = path, .is_asked = !b->kernel.is_set, .next = (size_t)first};
	return 0;
}

/* Notes a function of the binaries whose functions are in modules of that path. */
static void note(struct binaries *b, const char *path, const char *name, bool is_asked)
{
	uint64_t i = 0;

	for (aif_map_get(&b->by_path, aif_hash_bytes(path, strlen(path)), &i); i;
	     i = b->at[i - 1].next) {
		struct binary *at = &b->at[i - 1];

		if (strcmp(at->path, path) != 0)
			continue;
		if (!at->function || (is_asked && !at->is_asked))
			at->function = name;
		at->is_asked |= is_asked;
	}
}

static int load(struct binaries *b)
{
	const struct aif_profile *p = b->x->profile;
	const char *path;

	for (size_t i = 0; i < p->codes_len; i++) {
		path = aif_device_binary_path(p, &p->codes[i]);
		if (path && add(b, &p->codes[i], path) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < p->modules_len && b->len; i++) {
		uint32_t kernel = p->modules[i].kernel;

		if (kernel < p->kernels_len)
			note(b, module_path(p, (uint32_t)i), aif_names_short(b->x->names, kernel),
			     b->kernel.is_set && aif_filter_kernel(&b->kernel, b->x->names,
								   AIF_LAUNCH_KERNEL, kernel));
	}
	for (size_t i = 0; i < p->codes_len && b->len; i++) {
		const char *name = aif_profile_str(p, p->codes[i].name);

		if (!aif_device_binary_path(p, &p->codes[i]))
			note(b, module_path(p, p->codes[i].module), name,
			     b->kernel.is_set && aif_regex_matches(&b->kernel, name));
	}
	for (size_t i = 0; i < b->len; i++)
		b->asked += b->at[i].is_asked;
	return 0;
}

/* Lists binaries for a message. */
static void list(const struct binaries *b, bool are_asked, struct aif_buf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++) {
		const struct binary *at = &b->at[i];

		if (are_asked && !at->is_asked)
			continue;
		if (++n <= LISTED_MAX)
			aif_buf_printf(out, "%s%s", n > 1 ? ", " : "",
				       at->function ? at->function : at->path);
	}
	if (n > LISTED_MAX)
		aif_buf_printf(out, " and %zu more", n - LISTED_MAX);
}

static int say_none(const struct binaries *b, struct aif_err *err)
{
	struct aif_buf text = {0};

	if (!b->len)
		return aif_err_set(
			err, -ENODATA,
			"export: the profile has no device binary: those of kernels that were "
			"sampled are kept, unless record has --no-code; see aiflame info");
	list(b, false, &text);
	aif_err_set(err, -ENODATA,
		    "export: no device binary has a kernel that matches --kernel %s; there are "
		    "binaries of %s",
		    b->x->kernel, aif_buf_str(&text));
	aif_buf_finish(&text);
	return -ENODATA;
}

static int say_several(const struct binaries *b, struct aif_err *err)
{
	struct aif_buf text = {0};

	list(b, true, &text);
	aif_err_set(err, -EINVAL,
		    "export: there are %zu device binaries, of %s; choose one with --kernel RE, or "
		    "write all into a directory with -o DIRECTORY/",
		    b->asked, aif_buf_str(&text));
	aif_buf_finish(&text);
	return -EINVAL;
}

/* Copies the binary into *ret, of malloc(), and says so if there is none. */
static int read_one(const struct binaries *b, const struct binary *at, uint8_t **ret,
		    struct aif_err *err)
{
	const char *name = at->function ? at->function : at->path;
	int r = aif_device_binary_read(b->x->profile, at->code, ret);

	if (r == -ENODATA)
		aif_err_set(err, r,
			    "export: the device binary of %s has %" PRIu64
			    " bytes and was not kept: the limit is 64 MiB each, and compressed 64 "
			    "MiB in all; record that kernel alone",
			    name, at->code->size);
	else if (r < 0)
		aif_err_set(err, r, "export: the device binary of %s: %s", name,
			    r == -ENOMEM ? "out of memory" : "damaged; record it again");
	return r;
}

/* Takes the bytes, of that binary. */
static int write_one(const struct binaries *b, const struct binary *at, uint8_t *bytes,
		     const char *path, struct aif_err *err)
{
	const struct aif_export *x = b->x;
	struct aif_out out;
	int r;

	if (!strcmp(path, "-") && isatty(STDOUT_FILENO))
		r = aif_err_set(err, -EINVAL,
				"export: standard output is a terminal, and elf is not text; "
				"redirect it with | or >");
	else
		r = aif_out_open_stoppable(&out, path, x->stopped, x->scratch, err);
	if (r == 0) {
		out.max = x->max_bytes;
		aif_buf_append(aif_out_buf(&out), bytes, at->code->size);
		r = aif_out_commit(&out, err);
	}
	free(bytes);
	return r;
}

/* Appends what a file is called: the function, as far as that is good in a name of a file, and the content's hash. */
static void put_name(const struct binary *at, const uint8_t *bytes, struct aif_buf *out)
{
	const char *from = at->function ? at->function : "device";

	for (size_t i = 0; from[i] && i < STEM_MAX; i++) {
		char c = from[i];
		bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
				(c >= 'a' && c <= 'z') || (i && (c == '-' || c == '.'));

		aif_buf_putc(out, is_plain ? c : '_');
	}
	aif_buf_printf(out, "-%016" PRIx64 ".elf", aif_hash_bytes(bytes, at->code->size));
}

static int write_all(const struct binaries *b, const char *dir, struct aif_err *err)
{
	int r = 0;

	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return aif_err_set(err, -errno, "%s: cannot be made: %s; choose another directory",
				   dir, strerror(errno));
	for (size_t i = 0; i < b->len && !r; i++) {
		struct aif_buf path = {0};
		uint8_t *bytes;

		if (!b->at[i].is_asked)
			continue;
		r = read_one(b, &b->at[i], &bytes, err);
		if (r < 0)
			break;
		aif_buf_printf(&path, "%s/", dir);
		put_name(&b->at[i], bytes, &path);
		if (!aif_buf_failed(&path)) {
			r = write_one(b, &b->at[i], bytes, aif_buf_str(&path), err);
		} else {
			free(bytes);
			r = aif_err_set(err, -ENOMEM, "export: out of memory");
		}
		aif_buf_finish(&path);
	}
	return r;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static int elf_write(const struct aif_export *x, const char *path, struct aif_err *err)
{
	struct binaries b = {.x = x};
	int r = aif_regex_init(&b.kernel, "--kernel", x->kernel, err);

	if (r < 0)
		return r;
	r = load(&b);
	if (r < 0)
		aif_err_set(err, r, "export: out of memory");
	else if (!b.asked)
		r = say_none(&b, err);
	else if (is_directory(path))
		r = write_all(&b, path, err);
	else if (b.asked > 1)
		r = say_several(&b, err);
	for (size_t i = 0; i < b.len && !r && b.asked == 1 && !is_directory(path); i++) {
		uint8_t *bytes;

		if (!b.at[i].is_asked)
			continue;
		r = read_one(&b, &b.at[i], &bytes, err);
		if (r == 0)
			r = write_one(&b, &b.at[i], bytes, path, err);
	}
	aif_regex_finish(&b.kernel);
	aif_map_finish(&b.by_path);
	free(b.at);
	return r;
}

const struct aif_exporter aif_exporter_elf = {
	.name = "elf",
	.output = "aiflame.elf",
	.suffixes = ".elf .cubin .zebin",
	.takes_all = true,
	.takes_kernel = true,
	.write_path = elf_write,
};
