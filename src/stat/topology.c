/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/topology.h"

#include "text/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYS "/sys/devices/system/cpu/"
/* Sockets that are told apart. */
#define MOST_SOCKETS 64

/* Reads the first line of a file; "" where there is none. */
static void read_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, (int)size, f))
		*line = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
}

struct cpuinfo {
	char model[128], flags[8192];
	unsigned logical, sockets, cores; /* cores: of one socket */
	double mhz;
	uint64_t seen; /* bits of physical ids */
};

static const char *value_of(const char *line, const char *key)
{
	const char *colon = strchr(line, ':');

	return colon && !strncmp(line, key, strlen(key)) ? colon + 1 + (colon[1] == ' ') : NULL;
}

static void read_cpuinfo(struct cpuinfo *c)
{
	char line[sizeof(c->flags) + 64];
	FILE *f = fopen("/proc/cpuinfo", "re");
	const char *v;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		c->logical += value_of(line, "processor") != NULL;
		v = value_of(line, "model name");
		if (v && !*c->model)
			snprintf(c->model, sizeof(c->model), "%s", v);
		v = value_of(line, "flags");
		if (v && !*c->flags)
			snprintf(c->flags, sizeof(c->flags), " %s ", v);
		v = value_of(line, "cpu MHz");
		c->mhz += v ? strtod(v, NULL) : 0;
		v = value_of(line, "cpu cores");
		c->cores = v ? (unsigned)strtoul(v, NULL, 10) : c->cores;
		v = value_of(line, "physical id");
		if (v && strtoul(v, NULL, 10) < MOST_SOCKETS)
			c->seen |= UINT64_C(1) << strtoul(v, NULL, 10);
	}
	if (f)
		fclose(f);
	c->sockets = (unsigned)__builtin_popcountll(c->seen);
}

static void put_flag(const struct cpuinfo *c, const char *key, const char *flag,
		     struct aif_buf *out)
{
	char word[40];

	snprintf(word, sizeof(word), " %s ", flag);
	aif_buf_printf(out, ", \"%s\": %s", key, strstr(c->flags, word) ? "true" : "false");
}

static void put_caches(struct aif_buf *out)
{
	const char *before = "";

	aif_buf_puts(out, ", \"caches\": {");
	for (unsigned i = 0; i < 8; i++) {
		char path[96], level[16], type[32], size[32], *end;
		uint64_t bytes;

		snprintf(path, sizeof(path), SYS "cpu0/cache/index%u/level", i);
		read_line(path, level, sizeof(level));
		snprintf(path, sizeof(path), SYS "cpu0/cache/index%u/type", i);
		read_line(path, type, sizeof(type));
		snprintf(path, sizeof(path), SYS "cpu0/cache/index%u/size", i);
		read_line(path, size, sizeof(size));
		bytes = strtoull(size, &end, 10) * (*end == 'K' ? 1024 : *end == 'M' ? 1 << 20 : 1);
		if (!*level || !bytes)
			continue;
		for (char *p = type; *p; p++)
			*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
		aif_buf_printf(out, "%s\"L%u%s%s\": {\"size_bytes\": %" PRIu64 ", \"size_human\": ",
			       before, (unsigned)strtoul(level, NULL, 10),
			       strcmp(type, "unified") ? "_" : "",
			       strcmp(type, "data") == 0          ? "data"
			       : strcmp(type, "instruction") == 0 ? "instruction"
								  : "",
			       bytes);
		aif_out_json_text(out, size);
		aif_buf_putc(out, '}');
		before = ", ";
	}
	aif_buf_putc(out, '}');
}

/* The word in brackets: "always [madvise] never". */
static void put_thp(struct aif_buf *out)
{
	char line[128], *open, *close;

	read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (!close)
		return;
	*close = '\0';
	aif_buf_puts(out, ", \"thp_status\": ");
	aif_out_json_text(out, open + 1);
}

static void put_huge_page(struct aif_buf *out)
{
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned kb;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Hugepagesize: %u kB", &kb) == 1)
			aif_buf_printf(out, ", \"hugepage_size_kb\": %u", kb);
	if (f)
		fclose(f);
}

void aif_stat_topology_json(struct aif_buf *out)
{
	struct cpuinfo *c = calloc(1, sizeof(*c));
	char max[32];
	bool is_hybrid = access("/sys/bus/event_source/devices/cpu_atom", F_OK) == 0;

	if (!c) {
		out->failed = true;
		return;
	}
	read_cpuinfo(c);
	aif_buf_puts(out, "{\"source\": \"/proc/cpuinfo, /sys/devices/system/cpu\"");
	if (*c->model) {
		aif_buf_puts(out, ", \"model_name\": ");
		aif_out_json_text(out, c->model);
	}
	if (c->sockets)
		aif_buf_printf(out, ", \"num_sockets\": %u", c->sockets);
	if (c->sockets && c->cores)
		aif_buf_printf(out, ", \"physical_cores\": %u", c->sockets * c->cores);
	aif_buf_printf(out, ", \"logical_cpus\": %u", c->logical);
	if (*c->flags) {
		put_flag(c, "has_avx", "avx", out);
		put_flag(c, "has_avx2", "avx2", out);
		put_flag(c, "has_avx512f", "avx512f", out);
		put_flag(c, "has_fma", "fma", out);
		put_flag(c, "has_avx512vnni", "avx512_vnni", out);
		put_flag(c, "has_amx_bf16", "amx_bf16", out);
	}
	if (c->mhz > 0 && c->logical)
		aif_buf_printf(out, ", \"current_mhz_avg\": %.1f", c->mhz / c->logical);
	read_line(SYS "cpu0/cpufreq/cpuinfo_max_freq", max, sizeof(max));
	if (*max)
		aif_buf_printf(out, ", \"max_freq_mhz\": %.1f", strtod(max, NULL) / 1000);
	put_caches(out);
	aif_buf_printf(out, ", \"hybrid_cpu\": %s", is_hybrid ? "true" : "false");
	put_thp(out);
	put_huge_page(out);
	aif_buf_putc(out, '}');
	free(c);
}
