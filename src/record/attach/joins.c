/* SPDX-License-Identifier: Apache-2.0 */
#include "record/attach/joins.h"

#include "base/buf.h"
#include "base/map.h"
#include "record/attach/attach_dir.h"
#include "record/attach/unprepared.h"
#include "wire/standby.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE   8 /* injections */
#define SOON_NS   (AIF_NS_PER_S / 5)
#define SELDOM_NS (5 * AIF_NS_PER_S)
/* An injector gives up earlier. */
#define GIVE_UP_NS (20 * AIF_NS_PER_S)

/* A process of the user's. */
struct process {
	int pid;
	bool is_done;     /* joined, or left alone */
	uint64_t started; /* as /proc says: another process with that number has another */
	uint64_t found_ns, next_ns;
};

struct joining {
	struct aif_injection in;
	uint64_t since_ns;
};

struct aif_joins {
	const char *agent, *runtime, *standby;
	uid_t uid;
	struct process *process;
	size_t processes;
	struct joining active[AT_ONCE]; /* pid 0: free */
	struct aif_join *over;
	size_t over_len, over_cap;
};

struct aif_joins *aif_joins_open(const char *agent, const char *runtime, const char *standby)
{
	struct aif_joins *j = calloc(1, sizeof(*j));

	if (j)
		*j = (struct aif_joins){
			.agent = agent, .runtime = runtime, .standby = standby, .uid = geteuid()};
	return j;
}

static struct aif_join *over_add(struct aif_joins *j, int pid)
{
	struct aif_join *o;

	if (aif_grow(&j->over, &j->over_cap, j->over_len + 1, sizeof(*j->over)) < 0)
		return NULL;
	o = &j->over[j->over_len++];
	*o = (struct aif_join){.pid = pid};
	return o;
}

static void leave_alone(struct aif_joins *j, int pid, const char *why)
{
	struct aif_join *o = over_add(j, pid);

	if (o)
		snprintf(o->text, sizeof(o->text), "%s", why);
}

static void look_after(struct aif_joins *j, struct joining *a, uint64_t now)
{
	struct aif_inject_result result;
	struct aif_join *o;
	char text[128];

	if (aif_inject_poll(&a->in, 0, &result)) {
		if (result.error) {
			leave_alone(j, a->in.pid, result.text);
		} else {
			o = over_add(j, a->in.pid);
			if (o)
				o->stop_ns = AIF_MAX(result.longest_stop_ns, 1);
		}
		a->in.pid = 0;
	} else if (now - a->since_ns > GIVE_UP_NS) {
		snprintf(text, sizeof(text),
			 "process %d: the agent has not started in it within %d s", a->in.pid,
			 (int)(GIVE_UP_NS / AIF_NS_PER_S));
		leave_alone(j, a->in.pid, text);
		aif_inject_cancel(&a->in);
		a->in.pid = 0;
	}
}

static bool begin(struct aif_joins *j, int pid, uint64_t now)
{
	char standby[AIF_STANDBY_DIR_MAX], text[AIF_STANDBY_DIR_MAX + 128];
	struct joining *a = j->active;
	struct aif_err err = {0};

	for (; a < j->active + AT_ONCE; a++)
		if (a->in.pid == pid)
			return true;
	for (a = j->active; a < j->active + AT_ONCE && a->in.pid;)
		a++;
	if (a == j->active + AT_ONCE)
		return false;
	aif_unprepared_standby(pid, j->uid, standby);
	if (strcmp(standby, j->standby) != 0) {
		snprintf(text, sizeof(text),
			 "process %d: its standby directory %s is not that of this recording; "
			 "record it with -p",
			 pid, standby);
		leave_alone(j, pid, text);
		return true;
	}
	a->since_ns = now;
	if (aif_unprepared_start(&a->in, pid, j->uid, j->agent, j->runtime, standby, &err) < 0) {
		leave_alone(j, pid, err.text);
		a->in.pid = 0;
	}
	return true;
}

/* Returns true if the process needs no further look. */
static bool is_judged(struct aif_joins *j, int pid, uint64_t now)
{
	struct aif_standby_maps maps;
	char text[160];

	if (aif_standby_maps(pid, 0, &maps) < 0)
		return false;
	if (maps.has_agent)
		return true;
	if (maps.has_driver)
		return begin(j, pid, now);
	if (!maps.has_runtime)
		return false;
	snprintf(
		text, sizeof(text),
		"process %d: uses Level Zero, which lets no tool in later; to record its launches, start "
		"it with the variables that `aiflame env` prints",
		pid);
	leave_alone(j, pid, text);
	return true;
}

static void process_look(struct aif_joins *j, struct process *p, uint64_t now)
{
	uint64_t started, age;
	char number[16];

	if (now < p->next_ns)
		return;
	snprintf(number, sizeof(number), "%d", p->pid);
	if (aif_standby_started(number, &started) < 0)
		return;
	if (started != p->started)
		*p = (struct process){.pid = p->pid, .started = started, .found_ns = now};
	if (!p->is_done)
		p->is_done = is_judged(j, p->pid, now);
	age = now - p->found_ns;
	p->next_ns = now + (p->is_done ? SELDOM_NS : AIF_MIN(AIF_MAX(age / 8, SOON_NS), SELDOM_NS));
}

/* Lists the user's processes anew, with what is known of those that were there. */
static void processes_find(struct aif_joins *j)
{
	struct aif_map known = {0};
	struct process *all = NULL;
	size_t len = 0, cap = 0;
	DIR *proc = opendir("/proc");
	struct dirent *d;
	struct stat st;
	uint64_t at;

	if (!proc)
		return;
	for (size_t i = 0; i < j->processes; i++)
		aif_map_put(&known, (uint64_t)j->process[i].pid, i);
	while ((d = readdir(proc)) != NULL) {
		int pid = atoi(d->d_name);

		if (pid <= 0 || pid == getpid() || fstatat(dirfd(proc), d->d_name, &st, 0) < 0 ||
		    st.st_uid != j->uid)
			continue;
		if (aif_grow(&all, &cap, len + 1, sizeof(*all)) < 0) {
			free(all);
			all = j->process;
			len = j->processes;
			break;
		}
		all[len++] = aif_map_get(&known, (uint64_t)pid, &at) ? j->process[at]
								     : (struct process){.pid = pid};
	}
	closedir(proc);
	aif_map_finish(&known);
	if (all != j->process)
		free(j->process);
	j->process = all;
	j->processes = len;
}

void aif_joins_look(struct aif_joins *j, uint64_t now)
{
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (j->active[i].in.pid)
			look_after(j, &j->active[i], now);
	processes_find(j);
	for (size_t i = 0; i < j->processes; i++)
		process_look(j, &j->process[i], now);
}

bool aif_joins_next(struct aif_joins *j, struct aif_join *ret)
{
	if (!j || !j->over_len)
		return false;
	*ret = j->over[0];
	memmove(j->over, j->over + 1, --j->over_len * sizeof(*j->over));
	return true;
}

void aif_joins_close(struct aif_joins *j)
{
	if (!j)
		return;
	for (unsigned i = 0; i < AT_ONCE; i++)
		if (j->active[i].in.pid)
			aif_inject_cancel(&j->active[i].in);
	free(j->process);
	free(j->over);
	free(j);
}
