/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mounts.h"

#include "base/bounded.h"
#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <linux/aio_abi.h>
#include <linux/nsfs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MOUNTINFO_MAX (8u << 20)
#define MAPS_MAX      (16u << 20)
#define MOUNTS_NS     AIF_NS_PER_S
#define MAPS_NS       (AIF_NS_PER_S / 10)
#define MAPS_SHARE    50u /* of the time at most one part is spent reading maps */
#define MEMORIES      32u

/* ---- mountinfo ------------------------------------------------------------------------------- */

struct word {
	const char *at;
	size_t len;
};

/* Takes what is before the next space, which may be nothing. False: the line has ended. */
static bool take_word(const char **line, const char *end, struct word *ret)
{
	const char *space;

	if (*line > end)
		return false;
	space = memchr(*line, ' ', (size_t)(end - *line));
	ret->at = *line;
	ret->len = (size_t)((space ? space : end) - *line);
	*line = ret->at + ret->len + 1;
	return true;
}

static bool take_number(const char **at, const char *end, uint64_t most, uint64_t *ret)
{
	const char *s = *at;

	for (*ret = 0; s < end && *s >= '0' && *s <= '9'; s++) {
		*ret = *ret * 10 + (uint64_t)(*s - '0');
		if (*ret > most)
			return false;
	}
	if (s == *at)
		return false;
	*at = s;
	return true;
}

static bool is_fuse(const struct word *type)
{
	static const char *const names[] = {"fuse", "fuseblk"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i]);

		if (type->len >= len && !memcmp(type->at, names[i], len) &&
		    (type->len == len || type->at[len] == '.'))
			return true;
	}
	return false;
}

/* Finds the user among "rw,user_id=1000,group_id=1000". */
static uint32_t user_of(const struct word *options)
{
	static const char key[] = "user_id=";
	const char *end = options->at + options->len;

	for (const char *s = options->at; s < end;) {
		const char *comma = memchr(s, ',', (size_t)(end - s)), *to = comma ? comma : end;
		uint64_t user;

		if ((size_t)(to - s) > sizeof(key) - 1 && !memcmp(s, key, sizeof(key) - 1)) {
			s += sizeof(key) - 1;
			return take_number(&s, to, UINT32_MAX, &user) && s == to ? (uint32_t)user
										 : AIF_MOUNT_NOBODY;
		}
		s = to + 1;
	}
	return AIF_MOUNT_NOBODY;
}

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw": spaces within names are \040. */
static bool parse_line(const char *line, const char *end, struct aif_mount *ret)
{
	uint64_t major, minor, id;
	struct word word, type;
	const char *s;

	if (!take_number(&line, end, UINT64_MAX / 16, &id) || line == end || *line++ != ' ' ||
	    !take_word(&line, end, &word) || !take_word(&line, end, &word))
		return false;
	s = word.at;
	if (!take_number(&s, word.at + word.len, UINT32_MAX, &major) || *s++ != ':' ||
	    !take_number(&s, word.at + word.len, UINT32_MAX, &minor) || s != word.at + word.len)
		return false;
	for (unsigned i = 0; i < 3; i++) /* root, mount point, options */
		if (!take_word(&line, end, &word))
			return false;
	do {
		if (!take_word(&line, end, &word))
			return false;
	} while (word.len != 1 || *word.at != '-');
	if (!take_word(&line, end, &type) || !take_word(&line, end, &word))
		return false;
	*ret = (struct aif_mount){.id = id, .device = AIF_MOUNT_DEVICE(major, minor)};
	if (!is_fuse(&type))
		return true;
	ret->is_fuse = true;
	ret->user = take_word(&line, end, &word) ? user_of(&word) : AIF_MOUNT_NOBODY;
	ret->is_users = ret->user != 0;
	return true;
}

int aif_mounts_parse(const char *text, struct aif_mounts *ret)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		struct aif_mount m;

		end = line + strcspn(line, "\n");
		if (!parse_line(line, end, &m))
			continue;
		if (aif_grow(&ret->at, &ret->cap, ret->len + 1, sizeof(*ret->at)) < 0)
			return -ENOMEM;
		ret->at[ret->len++] = m;
		ret->any_users |= m.is_users;
	}
	return 0;
}

void aif_mounts_finish(struct aif_mounts *m)
{
	free(m->at);
	*m = (struct aif_mounts){0};
}

/* Returns the device of memfd, and of shared memory, which is on no mount that is listed. */
static uint64_t memory_device(void)
{
	int fd = memfd_create("aiflame", MFD_CLOEXEC);
	uint64_t device = UINT64_MAX;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		device = AIF_MOUNT_DEVICE(major(st.st_dev), minor(st.st_dev));
	if (fd >= 0)
		close(fd);
	return device;
}

/* Returns the device of the rings of io_setup(2), which are files without a mount, too. */
static uint64_t aio_device(void)
{
	uint64_t device = UINT64_MAX, lo;
	aio_context_t ring = 0; /* its address */
	unsigned major, minor;
	char line[512];
	FILE *maps;

	if (syscall(SYS_io_setup, 1, &ring) < 0)
		return device;
	maps = fopen("/proc/self/maps", "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%*x %*s %*x %x:%x", &lo, &major, &minor) == 3 &&
		    lo == ring)
			device = AIF_MOUNT_DEVICE(major, minor);
	if (maps)
		fclose(maps);
	syscall(SYS_io_destroy, ring);
	return device;
}

static struct {
	pthread_once_t once;
	uint64_t memory, aio;
} unlisted = {.once = PTHREAD_ONCE_INIT};

/* Once: io_destroy() takes long. */
static void find_unlisted(void)
{
	unlisted.memory = memory_device();
	unlisted.aio = aio_device();
}

bool aif_mounts_allow(const struct aif_mounts *m, uint64_t device, uint64_t id)
{
	bool is_known = false;

	for (size_t i = 0; i < m->len; i++) {
		if (m->at[i].device != device && (!id || m->at[i].id != id))
			continue;
		if (m->at[i].is_users)
			return false;
		is_known = true;
	}
	if (is_known || device >> 32)
		return true;
	pthread_once(&unlisted.once, find_unlisted);
	return device == unlisted.memory || device == unlisted.aio;
}

/* ---- of a process ---------------------------------------------------------------------------- */

/* Appends a text of /proc, at most `most` bytes of it. */
static int read_proc(const char *path, size_t most, struct aif_buf *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && ret->len < most) {
		void *room = aif_buf_reserve(ret, 64u << 10);

		n = room ? read(fd, room, 64u << 10) : -1;
		ret->len += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return n < 0 || aif_buf_failed(ret) ? -EIO : 0;
}

struct range {
	uint64_t lo, hi;
};

/* Keeps what was read last of the memory of a process. */
struct memory {
	int pid;
	struct range *refused; /* in order */
	size_t refused_len;
	uint64_t until_ns;
};

/* Keeps what was read last: of one mount namespace, and of the memory of processes. Read without the lock, as a process can keep
 * who reads its maps waiting for ever. */
static struct {
	pthread_mutex_t lock;
	struct aif_mounts mounts;
	uint64_t of_namespace, mounts_ns;
	int of_pid;
	struct memory memories[MEMORIES];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* True if the mounts of the process belong to another user namespace than ours, or it cannot be seen: FUSE of its user 0 is a
 * user's. */
static bool is_of_other_users(int pid)
{
	struct stat ours, theirs;
	bool is_other = true;
	char path[64];
	int fd, owner;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	owner = fd < 0 ? -1 : ioctl(fd, NS_GET_USERNS);
	if (owner >= 0 && fstat(owner, &theirs) == 0 && stat("/proc/self/ns/user", &ours) == 0)
		is_other = ours.st_ino != theirs.st_ino;
	if (owner >= 0)
		close(owner);
	if (fd >= 0)
		close(fd);
	return is_other;
}

static void take_from_other_users(struct aif_mounts *m)
{
	for (size_t i = 0; i < m->len; i++) {
		m->at[i].is_users |= m->at[i].is_fuse;
		m->any_users |= m->at[i].is_users;
	}
}

/* Reads the mounts of the process and ours, if those known are of another or old. Returns with the lock. */
static void lock_with_mounts(int pid)
{
	struct aif_mounts fresh = {0}, old;
	uint64_t now = aif_now_ns(), of = 0;
	char path[64];
	struct stat st;
	bool is_fresh;

	pthread_mutex_lock(&cache.lock);
	is_fresh = cache.mounts_ns && now - cache.mounts_ns < MOUNTS_NS;
	if (is_fresh && cache.of_pid == pid)
		return;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (stat(path, &st) == 0)
		of = st.st_ino;
	if (is_fresh && of && cache.of_namespace == of) {
		cache.of_pid = pid;
		return;
	}
	pthread_mutex_unlock(&cache.lock);
	for (unsigned ours = 0; ours < 2; ours++) {
		struct aif_buf text = {0};

		if (ours)
			snprintf(path, sizeof(path), "/proc/self/mountinfo");
		else
			snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
		if (read_proc(path, MOUNTINFO_MAX, &text) == 0)
			(void)aif_mounts_parse(aif_buf_str(&text), &fresh);
		aif_buf_finish(&text);
		if (!ours && fresh.len && is_of_other_users(pid))
			take_from_other_users(&fresh);
	}
	pthread_mutex_lock(&cache.lock);
	old = cache.mounts;
	cache.mounts = fresh;
	cache.of_namespace = of;
	cache.of_pid = pid;
	cache.mounts_ns = now;
	aif_mounts_finish(&old);
}

static uint64_t mount_of(int fd)
{
	struct aif_buf text = {0};
	uint64_t id = 0;
	const char *at;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (read_proc(path, 4096, &text) == 0) {
		at = strstr(aif_buf_str(&text), "mnt_id:");
		id = at ? strtoull(at + strlen("mnt_id:"), NULL, 10) : 0;
	}
	aif_buf_finish(&text);
	return id;
}

bool aif_mounts_allow_handle(int pid, int handle)
{
	struct statx st;
	bool allowed;

	if (!aif_bounded_is_needed())
		return true;
	/* Ask for nothing: what the kernel knows is enough for the device. */
	if (statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return false;
	lock_with_mounts(pid);
	allowed = aif_mounts_allow(&cache.mounts,
				   AIF_MOUNT_DEVICE(st.stx_dev_major, st.stx_dev_minor),
				   mount_of(handle));
	pthread_mutex_unlock(&cache.lock);
	return allowed;
}

bool aif_mounts_any_users(int pid)
{
	bool any;

	if (!aif_bounded_is_needed())
		return false;
	lock_with_mounts(pid);
	any = cache.mounts.any_users;
	pthread_mutex_unlock(&cache.lock);
	return any;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Finds what may not be read of the memory, in a text of /proc/PID/maps. Returns how many ranges. */
static size_t find_refused(int pid, const char *text, struct range **ret)
{
	uint64_t last = 0, device;
	bool last_allowed = true;
	size_t len = 0, cap = 0;

	lock_with_mounts(pid);
	for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		unsigned major, minor;
		uint64_t lo, hi;

		if (sscanf(s, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x", &lo, &hi, &major, &minor) !=
			    4 ||
		    (!major && !minor))
			continue;
		device = AIF_MOUNT_DEVICE(major, minor);
		if (device != last)
			last_allowed = aif_mounts_allow(&cache.mounts, device, 0);
		last = device;
		if (last_allowed)
			continue;
		if (aif_grow(ret, &cap, len + 1, sizeof(**ret)) < 0)
			break;
		(*ret)[len++] = (struct range){lo, hi};
	}
	pthread_mutex_unlock(&cache.lock);
	return len;
}

/* Returns with the lock. Maps that take long to read are read less often. */
static const struct memory *lock_with_memory(int pid)
{
	struct memory *m = &cache.memories[(unsigned)pid % MEMORIES];
	uint64_t now = aif_now_ns(), cost;
	struct range *refused = NULL;
	struct aif_buf text = {0};
	size_t len = 0;
	char path[64];

	pthread_mutex_lock(&cache.lock);
	if (m->pid == pid && now < m->until_ns)
		return m;
	pthread_mutex_unlock(&cache.lock);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (read_proc(path, MAPS_MAX, &text) == 0)
		len = find_refused(pid, aif_buf_str(&text), &refused);
	aif_buf_finish(&text);
	cost = aif_now_ns() - now;
	pthread_mutex_lock(&cache.lock);
	free(m->refused);
	*m = (struct memory){.pid = pid,
			     .refused = refused,
			     .refused_len = len,
			     .until_ns = now + AIF_CLAMP(cost * MAPS_SHARE, MAPS_NS, MOUNTS_NS)};
	return m;
}

size_t aif_mounts_readable(int pid, uint64_t at, size_t n)
{
	const struct memory *m;

	if (!aif_bounded_is_needed())
		return n;
	m = lock_with_memory(pid);
	for (size_t i = 0; i < m->refused_len; i++) {
		const struct range *r = &m->refused[i];

		if (at < r->hi && r->lo < at + n)
			n = r->lo > at ? (size_t)(r->lo - at) : 0;
	}
	pthread_mutex_unlock(&cache.lock);
	return n;
}
