/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/doctor_nvidia.h"

#include "base/buf.h"
#include "base/cupti_faults.h"
#include "base/cupti_places.h"
#include "base/proc.h"
#include "names/names.h"
#include "probe/find_file.h"
#include "probe/nvdisasm.h"
#include "record/ingest/gpu_users.h"
#include "record/nvml/probe.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Reads what the driver reports in /proc, and looks for libraries. Nothing here initialises
 * CUDA: that takes a second and memory of each GPU.
 */

#define LINE 512

/* ---- what lies around
 * ---------------------------------------------------------------------------- */

/* A file's line that begins with `key`, without it, ':' and blanks; "" if there is none. */
static void value_in(const char *path, const char *key, char ret[LINE])
{
	FILE *f = fopen(path, "re");
	char line[LINE];
	size_t len = strlen(key);

	*ret = '\0';
	while (f && !*ret && fgets(line, sizeof(line), f)) {
		const char *at = line + len;

		if (strncmp(line, key, len) != 0)
			continue;
		at += strspn(at, ": \t");
		snprintf(ret, LINE, "%.*s", (int)strcspn(at, "\n"), at);
	}
	if (f)
		fclose(f);
}

static void add(struct aif_buf *list, char *path)
{
	if (path)
		aif_buf_printf(list, "%s%s", list->len ? ", " : "", path);
	free(path);
}

/* Returns the path of the library that the loader finds by name. The library stays loaded, with
 * what its constructors have made. */
static char *loadable(const char *name)
{
	void *lib = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;
	char *path = NULL;

	if (lib && dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0)
		path = strdup(map->l_name);
	return path;
}

/* In the packages of each Python in $PATH, of the user's, and where the agent looks else. */
static char *libcupti_find(void)
{
	const char *home = getenv("HOME");
	struct aif_buf list = {0};
	char *result = NULL, pattern[256];
	size_t packages;

	for (size_t i = 0; i < AIF_ARRAY_LEN(aif_cupti_in_packages); i++) {
		snprintf(pattern, sizeof(pattern), "../lib/python3*/*" AIF_CUPTI_PACKAGES "%s",
			 aif_cupti_in_packages[i]);
		add(&list, aif_find_file_in_path(pattern, R_OK));
		snprintf(pattern, sizeof(pattern), ".local/lib/python3*/*" AIF_CUPTI_PACKAGES "%s",
			 aif_cupti_in_packages[i]);
		add(&list, home ? aif_find_file(home, pattern, R_OK) : NULL);
	}
	packages = list.len;
	for (size_t i = 0; list.len == packages && i < AIF_ARRAY_LEN(aif_cupti_names); i++)
		add(&list, loadable(aif_cupti_names[i]));
	for (size_t i = 0; list.len == packages && i < AIF_ARRAY_LEN(aif_cupti_in_toolkits); i++)
		add(&list, aif_find_file("/", aif_cupti_in_toolkits[i] + 1, R_OK));
	if (list.len)
		result = strdup(aif_buf_str(&list));
	aif_buf_finish(&list);
	return result;
}

/* Returns what cuptiGetVersion() of that file says; 0: nothing. Loading it runs its code, so it must be ours or root's. */
static uint32_t libcupti_version(const char *path)
{
	int (*get)(uint32_t *) = NULL;
	uint32_t version = 0;
	struct stat st;
	void *lib = NULL;

	if (stat(path, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (lib)
		*(void **)&get = dlsym(lib, "cuptiGetVersion");
	return get && get(&version) == 0 ? version : 0;
}

/* Returns a line for each of those libraries of whose version faults are known. */
static char *faults_find(const char *libraries)
{
	char *list = libraries ? strdup(libraries) : NULL, *save = NULL, *result = NULL;
	struct aif_buf lines = {0};

	for (char *path = list ? strtok_r(list, ", ", &save) : NULL; path;
	     path = strtok_r(NULL, ", ", &save)) {
		uint32_t version = libcupti_version(path);

		if (!aif_cupti_fault_next(version, NULL))
			continue;
		aif_cupti_version_text(version, &lines);
		aif_buf_puts(&lines, " is known for ");
		(void)aif_cupti_faults_text(version, &lines);
		aif_buf_printf(&lines, ": %s\n", path);
	}
	if (lines.len && !aif_buf_failed(&lines))
		result = strdup(aif_buf_str(&lines));
	aif_buf_finish(&lines);
	free(list);
	return result;
}

/* Address of the first GPU on the PCI bus, as in wire.h; 0: not known. */
static uint32_t first_pci(void)
{
	unsigned domain, bus, device, function;
	uint32_t pci = 0;
	glob_t g;

	if (glob("/proc/driver/nvidia/gpus/*", 0, NULL, &g) != 0)
		return 0;
	if (g.gl_pathc && sscanf(g.gl_pathv[0], "/proc/driver/nvidia/gpus/%x:%x:%x.%x", &domain,
				 &bus, &device, &function) == 4)
		pci = domain << 16 | bus << 8 | device << 3 | function;
	globfree(&g);
	return pci;
}

static void try_nvml(struct aif_nvidia *n)
{
	struct aif_buf found = {0};

	n->has_nvml = aif_nvml_probe(first_pci(), &found);
	n->nvml = strdup(aif_buf_str(&found));
	aif_buf_finish(&found);
}

void aif_nvidia_init(struct aif_nvidia *n)
{
	*n = (struct aif_nvidia){.root = "",
				 .libcuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL),
				 .admin = aif_proc_is_admin(),
				 .libcupti = libcupti_find(),
				 .nvdisasm = aif_nvdisasm_find()};
	n->faults = faults_find(n->libcupti);
	if (aif_state_file(&n->crashes_file, AIF_STATE_CUPTI_CRASHES))
		n->crashes_len = aif_cupti_crashes_load(n->crashes, AIF_ARRAY_LEN(n->crashes));
	if (n->libcuda)
		try_nvml(n);
}

void aif_nvidia_finish(struct aif_nvidia *n)
{
	free(n->libcupti);
	free(n->faults);
	free(n->nvdisasm);
	free(n->nvml);
}

/* ---- what it means
 * ------------------------------------------------------------------------------- */

static const char *at(const struct aif_nvidia *n, const char *path, char space[LINE])
{
	snprintf(space, LINE, "%s%s", n->root, path);
	return space;
}

/* "580.95.05" of the kernel module's line about itself; "" if it is not loaded. */
static void driver_version(const struct aif_nvidia *n, char ret[LINE])
{
	char path[LINE], line[LINE], *save = NULL;

	value_in(at(n, "/proc/driver/nvidia/version", path), "NVRM version", line);
	*ret = '\0';
	for (char *word = strtok_r(line, " ", &save); word && !*ret;
	     word = strtok_r(NULL, " ", &save))
		if (isdigit((unsigned char)*word) && strchr(word, '.'))
			snprintf(ret, LINE, "%s", word);
}

/* A virtual one is called by its share: "NVIDIA A40-8Q", "GRID T4-16C". */
static bool is_virtual(const char *model)
{
	const char *dash = strrchr(model, '-');
	size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;

	return !strncmp(model, "GRID ", 5) || (digits && strchr("ABCQ", dash[1 + digits]) &&
					       dash[1 + digits] && !dash[2 + digits]);
}

struct devices {
	size_t len;
	bool is_virtual;
	struct aif_buf names; /* each once */
};

static void devices_find(const struct aif_nvidia *n, struct devices *ret)
{
	char pattern[LINE], model[LINE];
	glob_t g;

	*ret = (struct devices){0};
	if (glob(at(n, "/proc/driver/nvidia/gpus/*/information", pattern), 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		value_in(g.gl_pathv[i], "Model", model);
		ret->len++;
		ret->is_virtual |= is_virtual(model);
		if (!strstr(aif_buf_str(&ret->names), model))
			aif_buf_printf(&ret->names, "%s%s", ret->names.len ? ", " : "", model);
	}
	globfree(&g);
}

static bool say_driver(const struct aif_nvidia *n, const char *version, struct devices *d,
		       aif_doctor_say *say)
{
	char path[LINE];
	struct aif_buf found = {0};
	bool ok;

	if (!*version && access(at(n, "/dev/dxg", path), F_OK) == 0)
		return say(true, "NVIDIA driver", "libcuda.so.1, of Windows (WSL)", "");
	if (!*version)
		return say(false, "NVIDIA driver",
			   "libcuda.so.1 is here, the kernel's module is not loaded",
			   "modprobe nvidia; without a GPU there is nothing to do");
	aif_buf_printf(&found, "%s, %zu GPU%s%s%s", version, d->len, d->len == 1 ? "" : "s",
		       d->len ? ": " : "", aif_buf_str(&d->names));
	if (!n->libcuda)
		aif_buf_puts(&found, ", but no libcuda.so.1");
	ok = say(n->libcuda && d->len, "NVIDIA driver", aif_buf_str(&found),
		 n->libcuda ? "in a container: docker run --gpus all"
			    : "in a container: docker run --gpus all; else install the "
			      "driver's libraries of the same version");
	aif_buf_finish(&found);
	return ok;
}

static bool say_counters(const struct aif_nvidia *n, aif_doctor_say *say)
{
	char path[LINE], only[LINE];

	value_in(at(n, "/proc/driver/nvidia/params", path), "RmProfilingAdminOnly", only);
	if (!strcmp(only, "0"))
		return say(true, "GPU instructions", "for everybody (RmProfilingAdminOnly: 0)", "");
	if (n->admin)
		return say(true, "GPU instructions", "allowed by CAP_SYS_ADMIN", "");
	return say(
		false, "GPU instructions",
		*only ? "for administrators only (RmProfilingAdminOnly: 1): stacks, kernels and "
			"times work, instructions and stalls do not"
		      : "not known whether allowed: /proc/driver/nvidia/params does not say",
		"as root, 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in "
		"/etc/modprobe.d/nvidia-profiling.conf, and load the driver anew or reboot; in a "
		"container that on its host, or --cap-add SYS_ADMIN");
}

static void say_others(const struct aif_nvidia *n, aif_doctor_say *say)
{
	struct aif_gpu_user users[AIF_GPU_USERS_MAX];
	size_t len = aif_gpu_users(n->root, users, AIF_ARRAY_LEN(users));
	char text[LINE];

	for (size_t i = 0; i < len; i++) {
		snprintf(text, sizeof(text),
			 "%s (process %" PRIu32 ") may hold the GPU's counters: %s", users[i].name,
			 users[i].pid, users[i].what);
		say(true, "other profilers", text, "");
	}
}

/* Optional: without it there are no clocks, power and energy. */
static void say_nvml(const struct aif_nvidia *n, aif_doctor_say *say)
{
	if (n->nvml)
		say(n->has_nvml, "NVML (optional)", n->nvml,
		    "recordings have no clocks, power and energy; in a container: docker run -e "
		    "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
}

/* Instances of a GPU that was divided. */
static size_t instances(const struct aif_nvidia *n)
{
	char pattern[LINE];
	size_t found = 0;
	glob_t g;

	if (glob(at(n, "/proc/driver/nvidia/capabilities/gpu*/mig/gi*", pattern), 0, NULL, &g) ==
	    0) {
		found = g.gl_pathc;
		globfree(&g);
	}
	return found;
}

static void say_shares(const struct aif_nvidia *n, const struct devices *d, aif_doctor_say *say)
{
	size_t migs = instances(n);
	char text[LINE];

	if (migs) {
		snprintf(text, sizeof(text),
			 "%zu instance%s; instructions can be sampled in one that is not shared",
			 migs, migs == 1 ? "" : "s");
		say(true, "MIG", text, "");
	}
	if (d->is_virtual)
		say(true, "vGPU",
		    "instructions only where its host sets the plugin's enable_profiling=1", "");
}

/* Lists builds of CUPTI that have crashed. No check fails for that: recordings ask less of such a
 * build. */
static void say_crashes(const struct aif_nvidia *n, aif_doctor_say *say)
{
	struct aif_buf text = {0};

	for (size_t i = 0; i < n->crashes_len; i++) {
		const struct aif_cupti_crash *c = &n->crashes[i];
		char id[AIF_CUPTI_ID_TEXT];

		aif_cupti_id_text(c->id, id);
		aif_buf_clear(&text);
		aif_buf_printf(&text,
			       "build %s, used as --cupti %s, ended a program by %s on %s: ", id,
			       aif_cupti_use_name(c->use), c->signal, c->date);
		aif_name_sanitize(c->command, strlen(c->command), &text);
		if (i + 1 == n->crashes_len) {
			aif_buf_puts(&text, "; forget all with: rm ");
			aif_buf_shell_path(&text, n->crashes_file.path);
		}
		say(true, "CUPTI crashes", aif_buf_str(&text), "");
	}
	aif_buf_finish(&text);
}

static void say_faults(const struct aif_nvidia *n, aif_doctor_say *say)
{
	char *lines = n->faults ? strdup(n->faults) : NULL, *save = NULL;

	for (char *line = lines ? strtok_r(lines, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		say(true, "CUPTI faults", line, "");
	free(lines);
}

bool aif_doctor_nvidia(const struct aif_nvidia *n, aif_doctor_say *say)
{
	char version[LINE];
	struct devices d;
	bool ok;

	driver_version(n, version);
	if (!*version && !n->libcuda)
		return say(true, "NVIDIA", "no driver, so no CUDA programs to record", "");
	devices_find(n, &d);
	ok = say_driver(n, version, &d, say);
	ok &= say(n->libcupti, "libcupti", n->libcupti ? n->libcupti : "was not found",
		  "install the CUDA toolkit, or nvidia-cuda-cupti (nvidia-cuda-cupti-cu12) into "
		  "the program's Python: without it launches are not recorded");
	say_faults(n, say);
	say_crashes(n, say);
	if (*version)
		ok &= say_counters(n, say);
	say_nvml(n, say);
	say_shares(n, &d, say);
	say_others(n, say);
	say(true, "nvdisasm",
	    n->nvdisasm ? n->nvdisasm
			: "not installed: annotate shows instructions without operands (it comes "
			  "with the CUDA toolkit and with Triton)",
	    "");
	aif_buf_finish(&d.names);
	return ok;
}
