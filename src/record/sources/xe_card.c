/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/xe_card.h"

#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A reply larger than that is no card's. */
#define MAX_REPLY 65536
/* Records in one of the kernel's buffers that wake us: each XeCore's holds 8192, so that half is
 * free then. */
#define WAKE_RECORDS 4096

static int call(int fd, uint32_t request, void *arg)
{
	int r;

	do
		r = ioctl(fd, request, arg);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

static bool is_xe(int fd)
{
	char name[8] = "";
	struct aif_drm_version v = {.name = name, .name_len = sizeof(name) - 1};

	return call(fd, AIF_DRM_IOCTL_VERSION, &v) == 0 && v.name_len == 2 && !strcmp(name, "xe");
}

/* Queries the card. *ret: its reply, to be freed, of at least `least` bytes. */
static int query(int fd, enum aif_xe_query_kind kind, size_t least, void **ret, size_t *ret_size)
{
	struct aif_xe_query q = {.query = kind};
	int r = call(fd, AIF_XE_IOCTL_DEVICE_QUERY, &q);
	void *reply;

	if (r < 0)
		return r;
	if (q.size < least || q.size > MAX_REPLY)
		return -EPROTO;
	reply = calloc(1, q.size);
	if (!reply)
		return -ENOMEM;
	*ret_size = q.size;
	q.data = (uintptr_t)reply;
	r = call(fd, AIF_XE_IOCTL_DEVICE_QUERY, &q);
	if (r < 0)
		free(reply);
	else
		*ret = reply;
	return r < 0 ? r : 0;
}

static uint32_t frequency(unsigned major, unsigned minor, unsigned tile, unsigned gt)
{
	char path[128], text[32] = "";

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/tile%u/gt%u/freq0/rp0_freq", major,
		 minor, tile, gt);
	aif_proc_read(path, text, sizeof(text));
	return (uint32_t)AIF_MIN(strtoul(text, NULL, 10), 100000ul);
}

static uint32_t pci_address(unsigned major, unsigned minor)
{
	unsigned domain, bus, device, function;
	char path[64], link[256];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major, minor);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	name = strrchr(link, '/');
	if (sscanf(name ? name + 1 : link, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return 0;
	return (domain & 0xffff) << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
}

static int read_gts(struct aif_xe_card *c, unsigned major, unsigned minor)
{
	struct aif_xe_gt_list *list;
	size_t size;
	int r = query(c->fd, AIF_XE_QUERY_GT_LIST, sizeof(*list), (void **)&list, &size);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < list->num_gt && c->gts_len < AIF_XE_GTS; i++) {
		const struct aif_xe_gt *gt = &list->gt[i];

		if (sizeof(*list) + (i + 1) * sizeof(*gt) > size)
			break;
		if (gt->type == AIF_XE_GT_MAIN)
			c->gts[c->gts_len++] = (struct aif_xe_card_gt){
				.id = gt->gt_id,
				.major = gt->ip_ver_major,
				.minor = gt->ip_ver_minor,
				.layout = aif_xe_layout(gt->ip_ver_major, gt->ip_ver_minor),
				.mhz = frequency(major, minor, gt->tile_id, gt->gt_id)};
	}
	free(list);
	return 0;
}

/* A kernel or card without it has no such query. */
static void read_rates(struct aif_xe_card *c)
{
	struct aif_xe_query_eu_stall *q;
	size_t size;

	if (query(c->fd, AIF_XE_QUERY_EU_STALL, sizeof(*q), (void **)&q, &size) < 0)
		return;
	for (uint64_t i = 0; q->record_size == AIF_XE_RECORD && i < q->num_sampling_rates &&
			     c->rates_len < AIF_ARRAY_LEN(c->rates) &&
			     sizeof(*q) + (i + 1) * sizeof(uint64_t) <= size;
	     i++)
		if (q->sampling_rates[i] && q->sampling_rates[i] <= UINT32_MAX)
			c->rates[c->rates_len++] = (uint32_t)q->sampling_rates[i];
	free(q);
}

int aif_xe_card_open(const char *name, struct aif_xe_card *ret)
{
	struct aif_xe_card c = {0};
	char path[64];
	struct stat st;
	int r;

	snprintf(path, sizeof(path), "/dev/dri/%s", name);
	c.fd = open(path, O_RDWR | O_CLOEXEC);
	if (c.fd < 0)
		return -errno;
	snprintf(c.name, sizeof(c.name), "%s", name);
	r = is_xe(c.fd) ? 0 : -ENODEV;
	if (!r && fstat(c.fd, &st) < 0)
		r = -errno;
	if (!r) {
		c.pci = pci_address(major(st.st_rdev), minor(st.st_rdev));
		r = read_gts(&c, major(st.st_rdev), minor(st.st_rdev));
	}
	if (r < 0) {
		close(c.fd);
		return r;
	}
	read_rates(&c);
	*ret = c;
	return 0;
}

void aif_xe_card_close(struct aif_xe_card *c)
{
	close(c->fd);
	c->fd = -1;
}

uint32_t aif_xe_rate(const uint32_t *rates, unsigned n, uint32_t hz, uint32_t mhz)
{
	double wanted = (mhz ? mhz : 1500) * 1e6 / (hz ? hz : 1), best = -1;
	uint32_t found = 0;

	for (unsigned i = 0; i < n; i++) {
		double off = rates[i] > wanted ? rates[i] - wanted : wanted - rates[i];

		if (best < 0 || off < best) {
			best = off;
			found = rates[i];
		}
	}
	return found;
}

int aif_xe_stream_open(const struct aif_xe_card *c, uint16_t gt, uint32_t cycles)
{
	struct aif_xe_property p[] = {
		{.property = AIF_XE_PROPERTY_SAMPLE_RATE, .value = cycles},
		{.property = AIF_XE_PROPERTY_WAIT_REPORTS, .value = WAKE_RECORDS},
		{.property = AIF_XE_PROPERTY_GT_ID, .value = gt}};
	struct aif_xe_observation o = {.type = AIF_XE_OBSERVATION_EU_STALL,
				       .op = AIF_XE_OBSERVATION_OPEN,
				       .param = (uintptr_t)p};
	int fd, r;

	p[0].next_extension = (uintptr_t)&p[1];
	p[1].next_extension = (uintptr_t)&p[2];
	fd = call(c->fd, AIF_XE_IOCTL_OBSERVATION, &o);
	if (fd < 0)
		return fd;
	/* The open takes no flags. */
	r = fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
	if (!r)
		r = call(fd, AIF_XE_STREAM_IOCTL_ENABLE, NULL);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static bool holds_stream(const char *pid)
{
	char path[300], link[64];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir)) != NULL) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);

		link[AIF_MAX(n, 0)] = '\0';
		found = !strcmp(link, "anon_inode:[xe_eu_stall]");
	}
	if (dir)
		closedir(dir);
	return found;
}

bool aif_xe_stream_holder(char *ret, size_t size)
{
	char path[300], name[32] = "";
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (proc && !found && (e = readdir(proc)) != NULL) {
		if (!isdigit((unsigned char)*e->d_name) ||
		    strtol(e->d_name, NULL, 10) == getpid() || !holds_stream(e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		aif_proc_read(path, name, sizeof(name));
		name[strcspn(name, "\n")] = '\0';
		snprintf(ret, size, "%s (process %s)", name, e->d_name);
		found = true;
	}
	if (proc)
		closedir(proc);
	return found;
}
