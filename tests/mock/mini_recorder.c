/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "wire/handshake.h"
#include "wire/ring.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The smallest recorder: starts a command with the agent in it, answers hellos, drains rings, writes each
 * record as a line of text. For tests of the agent alone.
 *
 *     mini_recorder [-a AGENT] [-o FILE] [options] [--] CMD...
 *       -s N     ring slots          -r N     ring size in bytes
 *       -t HZ    ask for timers      -l       ask for device lines      -n  do not ask for source
 *       -q       counts only         -S A,B   say stop from A to B ms after the first process
 *       -H A,B   no heartbeat from A to B ms
 *       -C HZ    CPU samples by timers of the program
 *
 * At SIGUSR1 it orders the end, and answers nothing from then on.
 *
 * The last lines say what was lost: "# process P slots ..." Exit status: that of CMD.
 */

#define MAX_PROCESSES 64

struct process {
	int pid;
	struct aif_shm *shm;
	struct aif_drain *drains;
	uint64_t counts[AIF_WIRE_COUNT];
	uint64_t start_ns;
};

struct recorder {
	char dir[64], socket[108], token[AIF_TOKEN_LEN + 1];
	const char *agent;
	uint32_t slots, options, timer_rate, cpu_rate;
	uint64_t ring_size;
	uint64_t stop[2], silence[2];
	uint64_t longest_ns; /* between two rounds, when it had no CPU */
	bool quiet;
	FILE *out;
	int listener;
	struct process processes[MAX_PROCESSES];
	unsigned len, carriers;
};

static volatile sig_atomic_t is_over;

static void on_usr1(int signal)
{
	(void)signal;
	is_over = 1;
}

static void on_record(void *arg, const void *record)
{
	const struct aif_wire_head *h = record;
	static char line[65536];
	struct {
		struct recorder *r;
		struct process *p;
		uint32_t slot;
	} *at = arg;

	at->p->counts[h->type]++;
	if (at->r->quiet)
		return;
	aif_wire_dump(record, line, sizeof(line));
	fprintf(at->r->out, "%u/%u %s\n", (unsigned)(at->p - at->r->processes), at->slot, line);
	if (h->type == AIF_WIRE_STACK) {
		const struct aif_wire_stack *s = record;

		fprintf(at->r->out, "pcs");
		for (uint32_t i = 0; i < s->depth; i++)
			fprintf(at->r->out, " %#lx", (unsigned long)s->pcs[i]);
		fputc('\n', at->r->out);
	}
}

static bool within(const uint64_t range[2], uint64_t since, uint64_t now)
{
	uint64_t ms = (now - since) / 1000000;

	return range[1] && ms >= range[0] && ms < range[1];
}

static void drain(struct recorder *r)
{
	static uint64_t scratch[8192];
	uint64_t now = aif_now_ns();

	for (unsigned i = 0; i < r->len; i++) {
		struct process *p = &r->processes[i];
		struct {
			struct recorder *r;
			struct process *p;
			uint32_t slot;
		} at = {r, p, 0};

		for (; at.slot < r->slots; at.slot++)
			aif_ring_drain(&p->drains[at.slot], aif_shm_slot(p->shm, at.slot),
				       aif_shm_ring(p->shm, r->slots, r->ring_size, at.slot),
				       r->ring_size, scratch, sizeof(scratch), UINT64_MAX,
				       on_record, &at);
		if (!within(r->silence, p->start_ns, now))
			p->shm->heartbeat_ns = now;
		if (is_over) {
			aif_shm_order(p->shm, AIF_COMMAND_END);
			continue;
		}
		p->shm->command =
			within(r->stop, p->start_ns, now) ? AIF_COMMAND_STOP : AIF_COMMAND_RUN;
		aif_shm_answer(p->shm, AIF_FILTER_NONE);
	}
}

static void answer(struct recorder *r)
{
	int sock = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC), fd;
	struct process *p = &r->processes[r->len];
	struct aif_hello hello;
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (sock < 0)
		return;
	if (recv(sock, &hello, sizeof(hello), 0) < (ssize_t)AIF_HELLO_FIXED ||
	    memcmp(hello.token, r->token, AIF_TOKEN_LEN) ||
	    getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		close(sock);
		return;
	}
	if (hello.kind == AIF_HELLO_CARRIER)
		r->carriers++;
	if (hello.kind == AIF_HELLO_RUNTIME && r->len < MAX_PROCESSES &&
	    aif_shm_create(r->slots, r->ring_size, &p->shm, &fd) == 0) {
		p->shm->options = r->options;
		p->shm->device_rate = r->timer_rate;
		p->shm->cpu_rate = r->cpu_rate;
		p->shm->cpu = r->cpu_rate ? AIF_CPU_TICK : AIF_CPU_NONE;
		p->shm->sampling = r->timer_rate ? AIF_SAMPLING_TIMERS : AIF_SAMPLING_NONE;
		p->shm->heartbeat_ns = p->start_ns = aif_now_ns();
		p->shm->command = AIF_COMMAND_RUN;
		p->pid = cred.pid;
		p->drains = calloc(r->slots, sizeof(*p->drains));
		fprintf(r->out, "# hello %u runtime=%s after_fork=%u\n", r->len, hello.runtime,
			hello.joins & AIF_JOINS_AFTER_FORK);
		r->len++;
		aif_hello_reply_send(sock, AIF_HELLO_REPLY_OK, fd);
		close(fd);
	}
	close(sock);
}

static void report(struct recorder *r)
{
	fprintf(r->out, "# carriers %u\n", r->carriers);
	fprintf(r->out, "# longest_pause ms=%lu\n", (unsigned long)(r->longest_ns / 1000000));
	for (unsigned i = 0; i < r->len; i++) {
		struct process *p = &r->processes[i];
		uint64_t launches = 0, lost[4] = {0}, bad = 0, used = 0, held = 0;

		for (uint32_t s = 0; s < r->slots; s++) {
			struct aif_slot *slot = aif_shm_slot(p->shm, s);

			launches += slot->launches;
			lost[0] += slot->lost_launches;
			lost[1] += slot->lost_execs;
			lost[2] += slot->lost_samples;
			lost[3] += slot->lost_others + slot->lost_ranges;
			used += slot->claims != 0;
			held += slot->owner != 0;
			bad += p->drains[s].bad;
		}
		fprintf(r->out,
			"# process %u launches=%lu lost_launches=%lu lost_execs=%lu "
			"lost_samples=%lu lost_others=%lu bad=%lu slots=%lu held=%lu no_slot=%lu "
			"before_attach=%lu helper_ms=%.3f ns_per_launch=%.0f\n",
			i, launches, lost[0], lost[1], lost[2], lost[3], bad, used, held,
			(unsigned long)p->shm->no_slot, (unsigned long)p->shm->before_attach,
			(double)p->shm->helper_cpu_ns / 1e6,
			p->shm->captures ? (double)p->shm->capture_ns / (double)p->shm->captures
					 : 0);
		fprintf(r->out, "# records %u", i);
		for (unsigned t = 1; t < AIF_WIRE_COUNT; t++)
			fprintf(r->out, " %s=%lu", aif_wire_name(t), (unsigned long)p->counts[t]);
		fputc('\n', r->out);
	}
}

static void chain(const char *name, const char *value)
{
	const char *old = getenv(name);
	char text[4096];

	snprintf(text, sizeof(text), "%s%s%s", value, old && *old ? ":" : "", old ? old : "");
	setenv(name, text, 1);
}

static int start(struct recorder *r, char **argv)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int pid;

	strcpy(r->dir, "/tmp/mini_recorder.XXXXXX");
	if (!mkdtemp(r->dir))
		return -errno;
	snprintf(r->socket, sizeof(r->socket), "%s/socket", r->dir);
	memset(r->token, 'a', AIF_TOKEN_LEN);
	strcpy(addr.sun_path, r->socket);
	r->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->listener < 0 || bind(r->listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(r->listener, 64) < 0)
		return -errno;
	pid = fork();
	if (pid)
		return pid < 0 ? -errno : pid;
	setenv(AIF_ENV_SOCKET, r->socket, 1);
	setenv(AIF_ENV_TOKEN, r->token, 1);
	if (r->agent) {
		chain("LD_PRELOAD", r->agent);
		chain("OPENCL_LAYERS", r->agent);
	}
	execvp(argv[0], argv);
	_exit(127);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: mini_recorder [-a AGENT] [-o FILE] [-s SLOTS] [-r RING] [-t HZ] [-l] "
		"[-n] [-q] [-S A,B] [-H A,B] [-C HZ] CMD...\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static struct recorder r = {
		.slots = AIF_SHM_SLOTS, .ring_size = AIF_SHM_RING_SIZE, .out = NULL};
	uint64_t last = aif_now_ns();
	int opt, pid, status = 0;

	r.out = stdout;
	while ((opt = getopt(argc, argv, "+a:o:s:r:t:lnqS:H:C:")) >= 0) {
		switch (opt) {
		case 'a':
			r.agent = optarg;
			break;
		case 'o':
			r.out = fopen(optarg, "w");
			if (!r.out)
				usage();
			break;
		case 's':
			r.slots = (uint32_t)atoi(optarg);
			break;
		case 'r':
			r.ring_size = strtoull(optarg, NULL, 0);
			break;
		case 't':
			r.timer_rate = (uint32_t)atoi(optarg);
			break;
		case 'l':
			r.options |= AIF_OPTION_DEVICE_LINES;
			break;
		case 'n':
			r.options |= AIF_OPTION_NO_SOURCE;
			break;
		case 'q':
			r.quiet = true;
			break;
		case 'S':
			sscanf(optarg, "%lu,%lu", &r.stop[0], &r.stop[1]);
			break;
		case 'H':
			sscanf(optarg, "%lu,%lu", &r.silence[0], &r.silence[1]);
			break;
		case 'C':
			r.cpu_rate = (uint32_t)atoi(optarg);
			break;
		default:
			usage();
		}
	}
	if (optind == argc)
		usage();
	signal(SIGUSR1, on_usr1);
	pid = start(&r, argv + optind);
	if (pid < 0) {
		fprintf(stderr, "mini_recorder: %s\n", strerror(-pid));
		return 125;
	}
	/* Children of the command may outlive it: they are not waited for. */
	for (bool ended = false; !ended;) {
		struct pollfd fds = {.fd = r.listener, .events = POLLIN};
		uint64_t now = aif_now_ns();

		r.longest_ns = AIF_MAX(r.longest_ns, now - last);
		last = now;

		ended = waitpid(pid, &status, WNOHANG) == pid;
		if (poll(&fds, 1, ended ? 0 : 5) > 0)
			answer(&r);
		drain(&r);
	}
	report(&r);
	fclose(r.out);
	unlink(r.socket);
	rmdir(r.dir);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
