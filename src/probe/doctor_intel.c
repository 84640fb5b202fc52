/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/doctor_intel.h"

#include "base/buf.h"
#include "base/proc.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Reads what the kernel reports in /sys and /proc, and looks for libraries. No driver is
 * initialised, no stream opened. */

#define LINE 512

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT   38

/* ---- what lies around
 * ---------------------------------------------------------------------------- */

/* Returns the path of the library that the loader finds by name, with its version: the file behind
 * the links. */
static char *library(const char *name, const char *symbol, bool *ret_has_symbol)
{
	void *lib = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map;

	if (!lib)
		return NULL;
	if (symbol)
		*ret_has_symbol = dlsym(lib, symbol) != NULL;
	return dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
}

static bool may_monitor(void)
{
	char text[4096], *at;
	uint64_t caps = 0;

	aif_proc_read("/proc/self/status", text, sizeof(text));
	at = strstr(text, "\nCapEff:");
	if (at)
		caps = strtoull(at + 8, NULL, 16);
	return caps & (UINT64_C(1) << CAP_PERFMON_BIT | UINT64_C(1) << CAP_SYS_ADMIN_BIT);
}

void aif_intel_init(struct aif_intel *n)
{
	struct utsname u;

	*n = (struct aif_intel){.root = "", .may_monitor = may_monitor()};
	if (uname(&u) == 0)
		snprintf(n->release, sizeof(n->release), "%s", u.release);
	n->loader = library("libze_loader.so.1", "zelEnableTracingLayer", &n->loader_is_late);
	n->layer = library("libze_tracing_layer.so.1", NULL, NULL);
	n->driver = library("libze_intel_gpu.so.1", NULL, NULL);
	n->metrics = library("libigdmd.so.1", NULL, NULL);
	n->library = library("libigdml.so.1", NULL, NULL);
	n->metrics_set = getenv("ZET_ENABLE_METRICS") != NULL;
	n->metrics_off = n->metrics_set && !strcmp(getenv("ZET_ENABLE_METRICS"), "0");
	n->iga = library("libiga64.so.2", NULL, NULL);
	if (!n->iga)
		n->iga = library("libiga64.so.1", NULL, NULL);
}

void aif_intel_finish(struct aif_intel *n)
{
	free(n->loader);
	free(n->layer);
	free(n->driver);
	free(n->metrics);
	free(n->library);
	free(n->iga);
}

/* ---- what it means
 * ------------------------------------------------------------------------------- */

struct cards {
	unsigned xe, i915;
	struct aif_buf ids; /* "8086:0BD5", each once */
};

static const char *at(const struct aif_intel *n, const char *path, char space[LINE])
{
	snprintf(space, LINE, "%s%s", n->root, path);
	return space;
}

/* The value of "KEY=" in an uevent file; "" if there is none. */
static void value_of(const char *text, const char *key, char ret[LINE])
{
	const char *found = strstr(text, key);

	*ret = '\0';
	if (found && (found == text || found[-1] == '\n'))
		snprintf(ret, LINE, "%.*s", (int)strcspn(found + strlen(key), "\n"),
			 found + strlen(key));
}

static void cards_find(const struct aif_intel *n, struct cards *ret)
{
	char path[LINE], text[4096], driver[LINE], id[LINE];
	glob_t g;

	*ret = (struct cards){0};
	if (glob(at(n, "/sys/class/drm/card[0-9]*/device/uevent", path), 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		/* "card0-DP-1" is a connector of card0. */
		if (strchr(strstr(g.gl_pathv[i], "/card"), '-'))
			continue;
		aif_proc_read(g.gl_pathv[i], text, sizeof(text));
		value_of(text, "DRIVER=", driver);
		value_of(text, "PCI_ID=", id);
		if (strcmp(driver, "xe") != 0 && strcmp(driver, "i915") != 0)
			continue;
		*(driver[0] == 'x' ? &ret->xe : &ret->i915) += 1;
		if (!strstr(aif_buf_str(&ret->ids), id))
			aif_buf_printf(&ret->ids, "%s%s", ret->ids.len ? ", " : "", id);
	}
	globfree(&g);
}

static void say_cards(const struct aif_intel *n, struct cards *c, aif_doctor_say *say)
{
	char text[LINE];

	snprintf(text, sizeof(text), "%u of the xe driver, %u of i915%s%s%s, Linux %s", c->xe,
		 c->i915, c->ids.len ? " (" : "", aif_buf_str(&c->ids), c->ids.len ? ")" : "",
		 n->release);
	say(true, "Intel GPUs", text, "");
}

/* Reports whether render nodes can be opened: without the permission of their group nothing works
 * at all. */
static bool say_nodes(const struct aif_intel *n, aif_doctor_say *say)
{
	char pattern[LINE];
	size_t usable = 0;
	glob_t g;

	if (glob(at(n, "/dev/dri/renderD*", pattern), 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			usable += access(g.gl_pathv[i], R_OK | W_OK) == 0;
		if (usable) {
			globfree(&g);
			return say(true, "render nodes", "/dev/dri/renderD* can be opened", "");
		}
		globfree(&g);
		return say(false, "render nodes", "/dev/dri/renderD* may not be opened",
			   "usermod -aG render USER, and log in anew; in a container: docker run "
			   "--device /dev/dri --group-add render");
	}
	return say(false, "render nodes", "no /dev/dri/renderD*",
		   "in a container: docker run --device /dev/dri");
}

/* "1" of a file of /proc/sys; "" if it is not there. */
static void setting(const struct aif_intel *n, const char *path, char ret[16])
{
	char space[LINE];

	aif_proc_read(at(n, path, space), ret, 16);
	ret[strcspn(ret, "\n")] = '\0';
}

static bool say_xe(const struct aif_intel *n, aif_doctor_say *say)
{
	char paranoid[16], found[LINE];
	int major = 0, minor = 0;

	sscanf(n->release, "%d.%d", &major, &minor);
	setting(n, "/proc/sys/dev/xe/observation_paranoid", paranoid);
	if (major < 6 || (major == 6 && minor < 15)) {
		snprintf(
			found, sizeof(found),
			"the xe driver of Linux %d.%d has no EU-stall sampling: stacks, kernels and "
			"times work, instructions and stalls do not",
			major, minor);
		return say(false, "EU stalls", found, "Linux 6.15 or newer");
	}
	if (!strcmp(paranoid, "0"))
		return say(true, "EU stalls", "for everybody (dev.xe.observation_paranoid = 0)",
			   "");
	if (n->may_monitor)
		return say(true, "EU stalls", "allowed by CAP_PERFMON", "");
	snprintf(found, sizeof(found),
		 "for administrators only (dev.xe.observation_paranoid = %s): stacks, kernels and "
		 "times work, instructions and stalls do not",
		 *paranoid ? paranoid : "?");
	return say(
		false, "EU stalls", found,
		"sysctl dev.xe.observation_paranoid=0, or setcap cap_perfmon+ep \"$(command -v aiflame)\", or as "
		"root; in a container that on its host, or --cap-add PERFMON");
}

static bool say_i915(const struct aif_intel *n, aif_doctor_say *say)
{
	char paranoid[16], found[LINE];

	setting(n, "/proc/sys/dev/i915/perf_stream_paranoid", paranoid);
	if (!strcmp(paranoid, "0") || n->may_monitor)
		return say(true, "i915 metrics",
			   !strcmp(paranoid, "0")
				   ? "for everybody (dev.i915.perf_stream_paranoid = 0); EU stalls "
				     "are the xe driver's"
				   : "allowed by CAP_PERFMON; EU stalls are the xe driver's",
			   "");
	snprintf(found, sizeof(found),
		 "for administrators only (dev.i915.perf_stream_paranoid = %s)",
		 *paranoid ? paranoid : "?");
	return say(false, "i915 metrics", found,
		   "sysctl dev.i915.perf_stream_paranoid=0, or run with CAP_PERFMON");
}

/* Returns the part of the path behind ".so.": "1.8.0". */
static const char *version_of(const char *path)
{
	const char *so = strstr(path, ".so.");

	return so ? so + 4 : "";
}

static bool say_loader(const struct aif_intel *n, aif_doctor_say *say)
{
	char found[2 * LINE];
	bool ok;

	if (!n->loader)
		return say(false, "Level Zero", "libze_loader.so.1 was not found",
			   "apt-get install libze1 (level-zero): without it no program uses Level "
			   "Zero");
	snprintf(found, sizeof(found), "%s%s", n->loader,
		 n->loader_is_late ? ", traces programs that run already"
				   : ", traces programs that record has started");
	ok = say(true, "Level Zero", found, "");
	if (!n->layer)
		return say(false, "tracing layer", "libze_tracing_layer.so.1 was not found",
			   "install the Level Zero loader completely: without it launches are not "
			   "recorded");
	snprintf(found, sizeof(found), "%s, but the loader is %s", n->layer, version_of(n->loader));
	if (strcmp(version_of(n->loader), version_of(n->layer)) != 0)
		ok &= say(false, "tracing layer", found, "install loader and layer of one version");
	else
		ok &= say(true, "tracing layer", n->layer, "");
	return ok & say(n->driver, "Level Zero driver",
			n->driver ? n->driver : "libze_intel_gpu.so.1 was not found",
			"apt-get install intel-opencl-icd (Debian), intel-level-zero-gpu or "
			"libze-intel-gpu1");
}

/* With xe, EU stalls come from the driver's own stream; with i915 only alone, from nowhere else. */
static bool say_metrics(const struct aif_intel *n, bool is_needed, aif_doctor_say *say)
{
	char found[2 * LINE];

	if (!n->metrics && n->metrics_set && !n->metrics_off)
		return say(
			false, "metrics library",
			"libigdmd.so.1 is not installed, but ZET_ENABLE_METRICS is set: Level Zero "
			"programs do not start",
			"unset ZET_ENABLE_METRICS, or apt-get install libigdmd1 (Debian)");
	if (!n->metrics)
		return say(
			!is_needed, "metrics library",
			is_needed
				? "libigdmd.so.1 is not installed: no EU stalls, no --counters"
				: "libigdmd.so.1 (libigdmd1) is not installed: no --counters, and no EU "
				  "stalls through Level Zero, which serve where the xe driver's stream "
				  "cannot be opened",
			"apt-get install libigdmd1 (Debian)");
	if (n->metrics_off)
		return say(
			false, "metrics library",
			"ZET_ENABLE_METRICS=0 is set: no --counters, and no EU stalls through Level "
			"Zero",
			"unset ZET_ENABLE_METRICS: record sets it to 1");
	snprintf(
		found, sizeof(found),
		"%s: --counters (record --counters help lists them), and EU stalls through Level Zero where the xe driver's stream "
		"cannot be opened; %s",
		n->metrics,
		n->metrics_set ? "ZET_ENABLE_METRICS is set here, and stays as it is"
			       : "record sets ZET_ENABLE_METRICS=1");
	return say(true, "metrics library", found, "");
}

/* Says, of a machine without such a GPU, what it lacks for one. */
static void say_before(const struct aif_intel *n, aif_doctor_say *say)
{
	const struct {
		const char *path, *name;
	} needs[] = {
		{n->loader, "libze_loader.so.1 (libze1)"},
		{n->layer, "libze_tracing_layer.so.1 (libze1)"},
		{n->driver, "libze_intel_gpu.so.1 (intel-opencl-icd)"},
		{n->metrics, "for --counters libigdmd.so.1 (Metrics Discovery, libigdmd1)"},
		{n->library, "for --counters libigdml.so.1 (Metrics Library, libigdml1)"},
	};
	struct aif_buf b = {0};
	size_t missing = 0;

	aif_buf_puts(&b, "none, so no Level Zero programs to record");
	for (size_t i = 0; i < AIF_ARRAY_LEN(needs); i++)
		if (!needs[i].path)
			aif_buf_printf(&b, "%s%s",
				       missing++ ? ", " : "; for one are missing: ", needs[i].name);
	if (!missing)
		aif_buf_puts(&b, "; what one needs is installed");
	say(true, "Intel GPUs", aif_buf_str(&b), "");
	aif_buf_finish(&b);
}

bool aif_doctor_intel(const struct aif_intel *n, aif_doctor_say *say)
{
	struct cards c;
	bool ok = true;

	cards_find(n, &c);
	if (!c.xe && !c.i915) {
		say_before(n, say);
		return true;
	}
	say_cards(n, &c, say);
	ok &= say_nodes(n, say);
	if (c.xe)
		ok &= say_xe(n, say);
	if (c.i915)
		ok &= say_i915(n, say);
	ok &= say_loader(n, say);
	ok &= say_metrics(n, !c.xe, say);
	if (n->metrics && !n->library)
		say(true, "Metrics Library",
		    "libigdml.so.1 (libigdml1) is not installed: drivers need it for --counters",
		    "");
	say(true, "libiga64",
	    n->iga ? n->iga
		   : "not installed: annotate shows instructions without operands (it comes with "
		     "Intel's graphics compiler, libigc1)",
	    "");
	aif_buf_finish(&c.ids);
	return ok;
}
