/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_clients.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Since a round began, if it is over. */
#define ALL_NS (5 * AIF_NS_PER_S)
/* Files that were once seen; when there are more, all are new. */
#define MAX_KNOWN 65536

void aif_xe_clients_finish(struct aif_xe_clients *c)
{
	aif_map_finish(&c->cycles);
	aif_map_finish(&c->totals);
	*c = (struct aif_xe_clients){0};
}

/* ---- a file -------------------------------------------------------------------------------------- */

/* The value behind "key:", without the blanks before it; NULL: the line is another. */
static const char *value_of(const char *line, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(line, key, n) != 0 || line[n] != ':')
		return NULL;
	return line + n + 1 + strspn(line + n + 1, " \t");
}

static bool number(const char *text, uint64_t *ret)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	*ret = strtoull(text, &end, 10);
	return true;
}

static bool pci_of(const char *text, uint32_t *ret)
{
	unsigned domain, bus, device, function;

	if (sscanf(text, "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function) != 4)
		return false;
	*ret = (domain & 0xffff) << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
	return true;
}

bool aif_xe_client_parse(const char *text, struct aif_xe_client *ret)
{
	bool is_xe = false, has_card = false, has_id = false;
	const char *v;
	uint64_t n;

	*ret = (struct aif_xe_client){0};
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		v = value_of(line, "drm-driver");
		is_xe |= v && !strncmp(v, "xe", 2) && !isalnum((unsigned char)v[2]);
		v = value_of(line, "drm-pdev");
		has_card |= v && pci_of(v, &ret->pci);
		has_id |= number(value_of(line, "drm-client-id"), &ret->id);
		if (number(value_of(line, "drm-cycles-rcs"), &n) ||
		    number(value_of(line, "drm-cycles-ccs"), &n))
			ret->cycles += n;
		if (number(value_of(line, "drm-total-cycles-rcs"), &n) ||
		    number(value_of(line, "drm-total-cycles-ccs"), &n))
			ret->total = AIF_MAX(ret->total, n);
	}
	return is_xe && has_card && has_id;
}

/* ---- processes ----------------------------------------------------------------------------------- */

struct look {
	struct aif_xe_clients *c;
	const char *proc;
	struct aif_xe_use *uses;
	unsigned len, max;
};

static void used(struct look *l, int pid, const struct aif_xe_client *f)
{
	uint32_t words[4] = {f->pci, (uint32_t)f->id, (uint32_t)(f->id >> 32), 0};
	uint64_t key = aif_hash_bytes(words, sizeof(words)), before = 0, past = 0, n;
	bool known = aif_map_get(&l->c->cycles, key, &before);
	struct aif_xe_use *u = NULL;
	char path[300];

	aif_map_get(&l->c->totals, key, &past);
	if (!known && l->c->cycles.len >= MAX_KNOWN) {
		aif_map_clear(&l->c->cycles);
		aif_map_clear(&l->c->totals);
	}
	if (aif_map_put(&l->c->cycles, key, f->cycles) < 0 ||
	    aif_map_put(&l->c->totals, key, f->total) < 0)
		return;
	n = f->cycles > before ? f->cycles - before : 0;
	/* Cycles from before the first look may be of long ago. */
	if (!n || (!known && !l->c->has_looked))
		return;
	for (unsigned i = 0; i < l->len && !u; i++)
		if (l->uses[i].pid == pid && l->uses[i].pci == f->pci)
			u = &l->uses[i];
	if (!u && l->len < l->max) {
		u = &l->uses[l->len++];
		*u = (struct aif_xe_use){.pci = f->pci, .pid = pid};
		snprintf(path, sizeof(path), "%s/%d/comm", l->proc, pid);
		aif_proc_read(path, u->name, sizeof(u->name));
		u->name[strcspn(u->name, "\n")] = '\0';
	}
	if (!u)
		return;
	u->cycles += n;
	/* The total of a new file counts from the card's start. */
	if (known && f->total > past)
		u->total = AIF_MAX(u->total, f->total - past);
}

/* True if it has a file of a card. */
static bool look_at(struct look *l, int pid)
{
	char path[300], text[4096], link[64];
	struct aif_xe_client f;
	unsigned looked = 0;
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fd", l->proc, pid);
	dir = opendir(path);
	while (dir && looked < AIF_XE_CLIENTS_FILES && (e = readdir(dir)) != NULL) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		looked++;
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		link[AIF_MAX(n, 0)] = '\0';
		if (strncmp(link, "/dev/dri/", 9) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%d/fdinfo/%.20s", l->proc, pid, e->d_name);
		if (aif_proc_read(path, text, sizeof(text)) <= 0 || !aif_xe_client_parse(text, &f))
			continue;
		found = true;
		used(l, pid, &f);
	}
	if (dir)
		closedir(dir);
	return found;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

static bool is_known(const struct aif_xe_clients *c, int pid)
{
	for (unsigned i = 0; i < c->pids_len; i++)
		if (c->pids[i] == pid)
			return true;
	return false;
}

/* Lists the processes from .next on, in order. Returns how many; *ret is to be freed. */
static size_t list(const struct aif_xe_clients *c, const char *proc, int **ret)
{
	size_t len = 0, cap = 0;
	struct dirent *e;
	DIR *dir = opendir(proc);

	*ret = NULL;
	while (dir && (e = readdir(dir)) != NULL) {
		int pid = isdigit((unsigned char)*e->d_name) ? atoi(e->d_name) : 0;

		if (pid < AIF_MAX(c->next, 1) || pid == getpid() || is_known(c, pid))
			continue;
		if (aif_grow(ret, &cap, len + 1, sizeof(**ret)) < 0)
			break;
		(*ret)[len++] = pid;
	}
	if (dir)
		closedir(dir);
	if (len)
		qsort(*ret, len, sizeof(**ret), by_number);
	return len;
}

/* The next of all processes: the thread that calls has a device to read. */
static void look_further(struct look *l)
{
	struct aif_xe_clients *c = l->c;
	int *pids;
	size_t n = list(c, l->proc, &pids), some = AIF_MIN(n, (size_t)AIF_XE_CLIENTS_AT_ONCE);

	for (size_t i = 0; i < some; i++)
		if (look_at(l, pids[i]) && c->pids_len < AIF_XE_CLIENTS_PIDS)
			c->pids[c->pids_len++] = pids[i];
	c->next = some < n ? pids[some] : 0;
	c->has_looked |= !c->next;
	free(pids);
}

unsigned aif_xe_clients_look(struct aif_xe_clients *c, const char *proc, uint64_t now,
			     struct aif_xe_use *ret, unsigned max)
{
	struct look l = {.c = c, .proc = proc, .uses = ret, .max = max};
	unsigned kept = 0;

	for (unsigned i = 0; i < c->pids_len; i++)
		if (look_at(&l, c->pids[i]))
			c->pids[kept++] = c->pids[i];
	c->pids_len = kept;
	if (!c->next && c->has_looked && now - c->all_at < ALL_NS)
		return l.len;
	if (!c->next)
		c->all_at = now;
	look_further(&l);
	return l.len;
}
