/* SPDX-License-Identifier: Apache-2.0 */
#include "runbook/run_config.h"

#include "base/hash.h"
#include "base/name_sanitize.h"
#include "runbook/run_dir.h"
#include "text/json.h"
#include "text/json_value.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEMA "aiflame.config.v1"
static const char *const keys[] = {"command", "threads", "env", "cpus", "cpu", "devices"};
enum { COMMAND, THREADS, ENV, CPUS, CPU, DEVICES, KEYS };

/* Appends the CPUs that this process may use, and so the command: "0-3,8". */
static void put_cpus(struct aif_buf *out)
{
	const char *before = "";
	cpu_set_t set;
	int last;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i = last + 1) {
		last = i;
		if (!CPU_ISSET(i, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		aif_buf_printf(out, last > i ? "%s%d-%d" : "%s%d", before, i, last);
		before = ",";
	}
}

static void put_devices(const struct aif_profile *p, struct aif_buf *out)
{
	for (size_t i = 0; i < p->devices_len; i++) {
		const struct aif_device *d = &p->devices[i];

		aif_buf_printf(out, "%s%s", i ? "; " : "", aif_profile_str(p, d->name));
		if (*aif_profile_str(p, d->driver))
			aif_buf_printf(out, " (driver %s)", aif_profile_str(p, d->driver));
	}
}

/* Returns what stands behind a directory at the begin of a path: its '/' or end; NULL: the path is not in it. */
static const char *behind(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	return n && !strncmp(path, dir, n) && (!path[n] || path[n] == '/') ? path + n : NULL;
}

/* True for a path of a program or of its text: another is another configuration. */
static bool is_program(const char *path)
{
	static const char *const ends[] = {".py", ".sh", ".so", ".pl", ".jl"};
	size_t n = strlen(path);
	struct stat st;

	for (size_t i = 0; i < AIF_ARRAY_LEN(ends); i++)
		if (n > 3 && !strcmp(path + n - 3, ends[i]))
			return true;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/*
 * Appends a word of the command as it is compared: two runs write into two places, and are of one configuration. A path in
 * the run directory begins with {}; a path in /tmp that an option has (--out /tmp/1.json, --out=/tmp/1.json) is /tmp and an asterisk.
 */
static void put_word(const char *word, const char *before, const char *dir, const char *whole,
		     struct aif_buf *out)
{
	const char *is = strchr(word, '='), *path = is && *word == '-' ? is + 1 : word, *rest;
	bool is_of_option = path != word || (before && *before == '-');

	aif_buf_append(out, word, (size_t)(path - word));
	rest = behind(path, dir);
	rest = rest || !whole ? rest : behind(path, whole);
	if (rest)
		aif_buf_printf(out, "{}%s", rest);
	else if (is_of_option && behind(path, "/tmp") && !is_program(path))
		aif_buf_puts(out, "/tmp/*");
	else
		aif_buf_puts(out, path);
}

int aif_runbook_config_put(const char *dir, char *const *argv, uint32_t threads, char *const *env,
			   const struct aif_profile *p, struct aif_err *err)
{
	struct aif_buf of[KEYS] = {{0}}, all = {0}, text = {0};
	const char *cpu = aif_profile_meta(p, "cpu");
	char *whole = realpath(dir, NULL);
	int e;

	for (size_t i = 0; argv[i]; i++) {
		struct aif_buf word = {0};

		put_word(argv[i], i ? argv[i - 1] : NULL, dir, whole, &word);
		aif_buf_printf(&of[COMMAND], "%s%s", i ? " " : "", aif_buf_str(&word));
		/* The byte 0 behind each word is hashed, too: "a b" and "a", "b" are two commands. */
		aif_buf_append(&all, aif_buf_str(&word), word.len + 1);
		aif_buf_finish(&word);
	}
	if (threads)
		aif_buf_printf(&of[THREADS], "%" PRIu32, threads);
	for (size_t i = 0; env && env[i]; i++)
		aif_buf_printf(&of[ENV], "%s%s", i ? " " : "", env[i]);
	put_cpus(&of[CPUS]);
	aif_buf_puts(&of[CPU], cpu ? cpu : "");
	put_devices(p, &of[DEVICES]);
	for (size_t k = THREADS; k < KEYS; k++)
		aif_buf_append(&all, aif_buf_str(&of[k]), of[k].len + 1);
	aif_buf_printf(&text, "{\n  \"schema\": \"" SCHEMA "\",\n  \"hash\": \"%016" PRIx64 "\"",
		       aif_hash_bytes(all.data, all.len));
	for (size_t k = 0; k < KEYS; k++) {
		aif_buf_printf(&text, ",\n  \"%s\": ", keys[k]);
		aif_out_json_escaped_text(&text, aif_buf_str(&of[k]));
	}
	aif_buf_puts(&text, "\n}\n");
	e = aif_buf_failed(&all) ? aif_err_set(err, -ENOMEM, "runbook: out of memory")
				 : aif_runbook_dir_put(dir, "config.json", &text, err);
	for (size_t k = 0; k < KEYS; k++)
		aif_buf_finish(&of[k]);
	aif_buf_finish(&all);
	aif_buf_finish(&text);
	free(whole);
	return e;
}

/* Appends a text of config.json; false: it is not there. */
static bool get(const char *dir, const char *key, struct aif_buf *out)
{
	struct aif_buf path = {0}, way = {0};
	struct aif_err none = {0};
	bool is_number, ok;

	aif_buf_printf(&path, "%s/config.json", dir);
	aif_buf_printf(&way, ".%s", key);
	ok = aif_json_scalar(aif_buf_str(&path), aif_buf_str(&way), out, &is_number, &none) == 0;
	aif_buf_finish(&path);
	aif_buf_finish(&way);
	return ok;
}

void aif_runbook_config_hash(const char *dir, struct aif_buf *out)
{
	get(dir, "hash", out);
}

/* True if the directory has a config.json of ours: models have files of that name, too. */
static bool is_config(const char *dir)
{
	struct aif_buf schema = {0};
	bool is_it = get(dir, "schema", &schema) && !strcmp(aif_buf_str(&schema), SCHEMA);

	aif_buf_finish(&schema);
	return is_it;
}

bool aif_runbook_config_differs(const char *a, const char *b, bool any_machine, struct aif_buf *why)
{
	struct aif_buf x = {0}, y = {0};
	bool differs = is_config(a) && is_config(b) && get(a, "hash", &x) && get(b, "hash", &y) &&
		       strcmp(aif_buf_str(&x), aif_buf_str(&y)) != 0,
	     is_named = false;
	const char *before = "";

	for (size_t k = 0; k < KEYS && differs; k++) {
		aif_buf_clear(&x);
		aif_buf_clear(&y);
		get(a, keys[k], &x);
		get(b, keys[k], &y);
		if (!strcmp(aif_buf_str(&x), aif_buf_str(&y)) ||
		    (any_machine && (k == CPU || k == DEVICES)))
			continue;
		is_named = true;
		/* Texts of a file that may be somebody else's go to a terminal. */
		aif_buf_printf(why, "%s%s '", before, keys[k]);
		aif_name_sanitize(x.data, x.len, why);
		aif_buf_puts(why, "', then '");
		aif_name_sanitize(y.data, y.len, why);
		aif_buf_puts(why, "'");
		before = "; ";
	}
	aif_buf_finish(&x);
	aif_buf_finish(&y);
	/* Commands whose words are divided in another way have the same text. */
	return differs && (is_named || !any_machine);
}
