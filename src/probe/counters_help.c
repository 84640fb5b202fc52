/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/counters_help.h"

#include "base/ze_metrics.h"
#include "probe/tool.h"
#include "record/ingest/opts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HANDLES_MAX 4096
/* 100 groups of 100 metrics, 200 bytes each, of some kinds of GPUs. */
#define TEXT_MAX (UINT64_C(16) << 20)

/* ---- the list
 * ------------------------------------------------------------------------------------ */

/* The next name from *at on, without blanks around it; NULL: there is none. As the agent reads
 * them, but with those that are empty. */
static const char *next_name(const char **at, int *ret_len)
{
	const char *s = *at;
	size_t n;

	if (!s)
		return NULL;
	n = strcspn(s, ",");
	*at = s[n] ? s + n + 1 : NULL;
	while (n && *s == ' ')
		s++, n--;
	while (n && s[n - 1] == ' ')
		n--;
	*ret_len = (int)n;
	return s;
}

int aif_counters_check(const char *list, struct aif_err *err)
{
	const char *at = list;
	int n;

	if (strlen(list) >= AIF_RECORD_COUNTERS)
		return aif_err_set(err, -EINVAL,
				   "record: --counters: the list is longer than %d bytes; "
				   "name a group instead of many counters (--counters help "
				   "lists them)",
				   AIF_RECORD_COUNTERS - 1);
	/* Around kernels it is one group, all of it. */
	if (!strncmp(list, "query:", 6) ? !list[6] || strchr(list, ',') != NULL
					: strstr(list, ",query:") || strstr(list, " query:"))
		return aif_err_set(err, -EINVAL,
				   "record: --counters: 'query:' takes the name of one group and "
				   "nothing beside it: --counters query:ComputeBasic");
	while (next_name(&at, &n))
		if (!n)
			return aif_err_set(
				err, -EINVAL,
				"record: --counters: '%s' has an empty name; give names with "
				"commas between: --counters default, or what --counters help "
				"lists",
				list);
	return 0;
}

static bool is_name(const char *s, int n, const char *name)
{
	return strlen(name) == (size_t)n && !strncasecmp(s, name, (size_t)n);
}

bool aif_counters_is_help(const char *list)
{
	int n;
	const char *s = next_name(&list, &n);

	return s && (is_name(s, n, "help") || is_name(s, n, "list"));
}

/* ---- in the child
 * -------------------------------------------------------------------------------- */

/* Lines that the child prints: "D device", "G name TAB domain TAB flags TAB use TAB counters TAB
 * description", of the group before it "M name TAB unit TAB type TAB description"; "E why there
 * are none". */
enum use { USE_COUNTERS, USE_STALLS, USE_NONE };

#define FUNCTIONS(X)                                                                       \
	X(zeInit, (uint32_t flags))                                                        \
	X(zeDriverGet, (uint32_t * n, void **drivers))                                     \
	X(zeDeviceGet, (void *driver, uint32_t *n, void **devices))                        \
	X(zeDeviceGetProperties, (void *device, struct aif_ze_device_properties *ret))     \
	X(zetMetricGroupGet, (void *device, uint32_t *n, void **groups))                   \
	X(zetMetricGroupGetProperties, (void *group, struct aif_ze_group_properties *ret)) \
	X(zetMetricGet, (void *group, uint32_t *n, void **metrics))                        \
	X(zetMetricGetProperties, (void *metric, struct aif_ze_metric_properties *ret))
struct api {
#define X(name, arguments) uint32_t(*name) arguments;
	FUNCTIONS(X)
#undef X
};

static const char *load(struct api *a)
{
	void *lib = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	bool all = lib;

	if (!lib)
		return "libze_loader.so.1 was not found, which Level Zero programs need; "
		       "apt-get install libze1 (level-zero)";
#define X(name, arguments)                      \
	*(void **)&a->name = dlsym(lib, #name); \
	all &= a->name != NULL;
	FUNCTIONS(X)
#undef X
	return all ? NULL : "Level Zero's loader has no functions for metrics; update it";
}

/* Handles of a list that is asked for twice; how many. */
static uint32_t list(uint32_t (*get)(void *of, uint32_t *n, void **ret), void *of,
		     void *ret[HANDLES_MAX])
{
	uint32_t n = 0;

	if (get(of, &n, NULL) != AIF_ZE_SUCCESS || !n)
		return 0;
	n = AIF_MIN(n, (uint32_t)HANDLES_MAX);
	return get(of, &n, ret) == AIF_ZE_SUCCESS ? AIF_MIN(n, (uint32_t)HANDLES_MAX) : 0;
}

/* A name of the driver's, which may be anything, as one field of a line. */
static void put_field(FILE *out, const char *text, size_t size, char end)
{
	for (size_t i = 0; i < size && text[i]; i++)
		fputc(text[i] == '\t' || text[i] == '\n' ? ' ' : text[i], out);
	fputc(end, out);
}

static void put_metric(FILE *out, const struct aif_ze_metric_properties *m)
{
	fputs("M\t", out);
	put_field(out, m->name, sizeof(m->name), '\t');
	put_field(out, m->units, sizeof(m->units), '\t');
	fprintf(out, "%u\t", m->type);
	put_field(out, m->description, sizeof(m->description), '\n');
}

/* Returns the use of a metric group, chosen as the agent does. */
static enum use use_of(bool over_time, bool has_address, uint32_t numbers)
{
	return !over_time || !numbers ? USE_NONE : has_address ? USE_STALLS : USE_COUNTERS;
}

static void put_group(const struct api *a, void *group, void *metrics[HANDLES_MAX], FILE *out)
{
	struct aif_ze_group_properties g = {.stype = AIF_ZE_GROUP_PROPS};
	struct aif_ze_metric_properties *m;
	uint32_t n, numbers = 0;
	bool has_address = false;

	if (a->zetMetricGroupGetProperties(group, &g) != AIF_ZE_SUCCESS)
		return;
	n = list(a->zetMetricGet, group, metrics);
	m = calloc(AIF_MAX(n, 1u), sizeof(*m));
	for (uint32_t i = 0; i < n && m; i++) {
		m[i].stype = AIF_ZE_METRIC_PROPS;
		if (a->zetMetricGetProperties(metrics[i], &m[i]) != AIF_ZE_SUCCESS) {
			m[i].result = UINT32_MAX;
			continue;
		}
		has_address |= m[i].type == AIF_ZE_METRIC_IP;
		numbers += aif_ze_is_number(&m[i]);
	}
	fputs("G\t", out);
	put_field(out, g.name, sizeof(g.name), '\t');
	fprintf(out, "%u\t%u\t%d\t%u\t", g.domain, g.sampling,
		use_of(g.sampling & AIF_ZE_TIME_BASED, has_address, numbers), numbers);
	put_field(out, g.description, sizeof(g.description), '\n');
	for (uint32_t i = 0; i < n && m; i++)
		if (aif_ze_is_number(&m[i]))
			put_metric(out, &m[i]);
	free(m);
}

static void put_device(const struct api *a, void *device, FILE *out)
{
	static void *groups[HANDLES_MAX], *metrics[HANDLES_MAX];
	struct aif_ze_device_properties p = {.stype = AIF_ZE_DEVICE_PROPS};
	uint32_t n;

	if (a->zeDeviceGetProperties(device, &p) != AIF_ZE_SUCCESS || p.type != AIF_ZE_DEVICE_GPU)
		return;
	fputs("D\t", out);
	put_field(out, p.name, sizeof(p.name), '\n');
	n = list(a->zetMetricGroupGet, device, groups);
	for (uint32_t i = 0; i < n; i++)
		put_group(a, groups[i], metrics, out);
}

static uint32_t drivers_of(void *get, uint32_t *n, void **ret)
{
	return ((const struct api *)get)->zeDriverGet(n, ret);
}

static int ask_driver(FILE *out)
{
	static void *drivers[HANDLES_MAX], *devices[HANDLES_MAX];
	struct api a;
	const char *why = load(&a);
	uint32_t r = why ? 0 : a.zeInit(0), n;

	if (why) {
		fprintf(out, "E\t%s\n", why);
	} else if (r != AIF_ZE_SUCCESS) {
		fprintf(out,
			"E\tno driver of Level Zero's starts here (zeInit: %#x): no GPU, no driver "
			"(intel-opencl-icd, libze-intel-gpu1), or /dev/dri/renderD* may not be "
			"opened; see aiflame doctor\n",
			r);
	} else {
		n = list(drivers_of, &a, drivers);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = list(a.zeDeviceGet, drivers[i], devices);

			for (uint32_t j = 0; j < k; j++)
				put_device(&a, devices[j], out);
		}
	}
	fputs("end\n", out);
	return fflush(out) == 0 ? 0 : 1;
}

/* ---- outside of it
 * ------------------------------------------------------------------------------- */

static int ask(bool has_library, struct aif_buf *ret)
{
	pid_t pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -EIO;
	pid = fork(); /* there is one thread */
	if (pid == 0) {
		FILE *out = fdopen(fds[1], "w");

		if (has_library)
			setenv("ZET_ENABLE_METRICS", "1", 0);
		_exit(out ? ask_driver(out) : 1);
	}
	close(fds[1]);
	return aif_tool_output(pid, fds[0], TEXT_MAX, ret);
}

/* The fields of a line, which is changed; missing ones are "". */
static void split(char *line, char **ret, int max)
{
	for (int i = 0; i < max; i++) {
		char *tab = strchr(line, '\t');

		ret[i] = line;
		if (tab)
			*tab = '\0';
		line = tab ? tab + 1 : line + strlen(line);
	}
}

struct listing {
	const char *wanted;              /* names of groups, or NULL: all */
	struct aif_buf out, block, last; /* of one device; of the one before */
	unsigned devices, groups;        /* that were told of; that are shown */
	bool is_shown;                   /* the group before: its metrics are, too */
	char device[256];
};

/* Machines have several GPUs of a kind. */
static void end_device(struct listing *l)
{
	if (!l->block.len)
		return;
	aif_buf_printf(&l->out, "%s%s", l->out.len ? "\n" : "", l->device);
	if (l->last.len == l->block.len && !memcmp(l->last.data, l->block.data, l->block.len)) {
		aif_buf_puts(&l->out, ": the same\n");
	} else {
		aif_buf_putc(&l->out, '\n');
		aif_buf_append(&l->out, l->block.data, l->block.len);
		aif_buf_clear(&l->last);
		aif_buf_append(&l->last, l->block.data, l->block.len);
	}
	aif_buf_clear(&l->block);
}

static bool is_wanted(const char *names, const char *name)
{
	const char *s;
	int n;

	while ((s = next_name(&names, &n)) != NULL)
		if (is_name(s, n, name))
			return true;
	return false;
}

static const char *sampling_of(unsigned long flags)
{
	bool over_time = flags & AIF_ZE_TIME_BASED, around = flags & AIF_ZE_EVENT_BASED;

	return over_time && around ? "time, query" : over_time ? "time" : around ? "query" : "?";
}

/* A line's last column may be empty. */
static void end_line(struct aif_buf *b)
{
	while (b->len && b->data[b->len - 1] == ' ')
		b->len--;
	aif_buf_putc(b, '\n');
}

static void put_group_line(struct listing *l, char **f)
{
	static const char *const uses[] = {"--counters", "EU stalls", "-"};
	unsigned long use = AIF_MIN(strtoul(f[4], NULL, 10), (unsigned long)USE_NONE);

	l->is_shown = l->wanted && is_wanted(l->wanted, f[1]);
	if (l->wanted && !l->is_shown)
		return;
	if (!l->block.len && !l->wanted)
		aif_buf_printf(&l->block, "  %-32s %6s  %-11s %8s  %-10s  %s\n", "group", "domain",
			       "sampling", "counters", "for", "what");
	if (l->wanted)
		aif_buf_printf(&l->block, "  group %s: domain %s, sampling %s, for %s%s%s", f[1],
			       f[2], sampling_of(strtoul(f[3], NULL, 10)), uses[use],
			       *f[6] ? "; " : "", f[6]);
	else
		aif_buf_printf(&l->block, "  %-32s %6s  %-11s %8s  %-10s  %s", f[1], f[2],
			       sampling_of(strtoul(f[3], NULL, 10)), f[5], uses[use], f[6]);
	end_line(&l->block);
	l->groups++;
}

static void put_metric_line(struct listing *l, char **f)
{
	static const char *const types[] = {"duration",  "event", "event", "throughput",
					    "timestamp", "flag",  "ratio", "raw"};
	unsigned long type = strtoul(f[3], NULL, 10);

	if (!l->is_shown)
		return;
	aif_buf_printf(&l->block, "    %-40s %-16s %-10s  %s", f[1], f[2],
		       type < AIF_ARRAY_LEN(types) ? types[type]
		       : type == AIF_ZE_METRIC_IP  ? "address"
						   : "?",
		       f[4]);
	end_line(&l->block);
}

static void put_line(struct listing *l, char *line, struct aif_err *err)
{
	char *f[7];

	split(line, f, 7);
	if (!strcmp(f[0], "E")) {
		aif_err_set(err, -ENODEV, "record: --counters: %s", f[1]);
	} else if (!strcmp(f[0], "D")) {
		end_device(l);
		snprintf(l->device, sizeof(l->device), "GPU %u: %s", l->devices++, f[1]);
		l->is_shown = false;
	} else if (!strcmp(f[0], "G")) {
		put_group_line(l, f);
	} else if (!strcmp(f[0], "M")) {
		put_metric_line(l, f);
	}
}

/* Explains why a driver that has started reports no metric group. */
static void why_none(const struct listing *l, bool has_library, struct aif_err *err)
{
	const char *set = getenv("ZET_ENABLE_METRICS");

	if (!l->devices)
		aif_err_set(
			err, -ENODEV,
			"record: --counters: Level Zero's drivers know no GPU here; see aiflame "
			"doctor");
	else if (set && strcmp(set, "1") != 0)
		aif_err_set(err, -ENODEV,
			    "record: --counters: %s: no metric groups, as ZET_ENABLE_METRICS=%s is "
			    "set; unset it",
			    l->device, set);
	else if (!has_library)
		aif_err_set(err, -ENODEV,
			    "record: --counters: %s: no metric groups, as libigdmd.so.1 is not "
			    "installed; apt-get install libigdmd1 (intel-metrics-discovery)",
			    l->device);
	else if (l->wanted)
		aif_err_set(
			err, -ENOENT,
			"record: --counters: no GPU here has a group named '%s'; --counters help "
			"lists them",
			l->wanted);
	else
		aif_err_set(err, -ENODEV, "record: --counters: %s: its driver has no metric groups",
			    l->device);
}

bool aif_counters_can_be(void)
{
	void *lib = dlopen("libigdmd.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		dlclose(lib);
	return lib;
}

int aif_counters_help(const char *names, struct aif_buf *out, struct aif_err *err)
{
	bool has_library = aif_counters_can_be();
	struct aif_buf text = {0};
	struct listing l = {0};
	int n, r = ask(has_library, &text);

	(void)next_name(&names, &n);
	l.wanted = names;
	if (r == -ETIMEDOUT)
		aif_err_set(err, r, "record: --counters: Level Zero's driver does not answer");
	else if (r < 0)
		aif_err_set(err, r, "record: --counters: Level Zero's driver has crashed%s",
			    has_library || getenv("ZET_ENABLE_METRICS")
				    ? " when it was started with ZET_ENABLE_METRICS=1, which "
				      "listing metrics needs; try another version of it, or of "
				      "libigdmd.so.1"
				    : "; see aiflame doctor");
	for (char *line = (char *)aif_buf_str(&text), *end;
	     !r && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		put_line(&l, line, err);
	}
	end_device(&l);
	if (!err->code && !l.groups)
		why_none(&l, has_library, err);
	if (!err->code) {
		if (!l.wanted)
			aif_buf_puts(&l.out,
				     "\n"
				     "--counters reads a group by its name, or counters of one by "
				     "theirs: --counters help,GROUP lists those.\n"
				     "Groups whose sampling has `query` can be read around each "
				     "kernel: --counters query:GROUP.\n");
		aif_buf_append(out, l.out.data, l.out.len);
		if (aif_buf_failed(&l.out))
			aif_err_set(err, -ENOMEM, "out of memory");
	}
	aif_buf_finish(&text);
	aif_buf_finish(&l.out);
	aif_buf_finish(&l.block);
	aif_buf_finish(&l.last);
	return err->code;
}
