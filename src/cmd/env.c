/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/agent_path.h"
#include "cmd/command.h"
#include "record/attach_dir.h"
#include "wire/handshake.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum format { SH, DOCKER, K8S, SLURM, JUPYTER, SYSTEMD };

struct values {
	int format, level;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{0, "format", "sh|docker|k8s|slurm|jupyter|systemd", AIF_OPT_CHOICE, AT(format), 0,
	 "for whom the variables are written (sh)"},
	{0, "level", "graphs|off", AIF_OPT_CHOICE, AT(level), 0,
	 "what is done before somebody records: only what cannot be made up for later, or nothing "
	 "(graphs)"},
	{0},
};

struct variable {
	const char *name;
	char value[2 * PATH_MAX];
};
#define VARIABLES 5

/* `chain`: what is there already stays behind it. */
static void set(struct variable *v, const char *name, const char *value, bool chain)
{
	const char *old = chain ? getenv(name) : NULL;

	v->name = name;
	if (old && *old && !strstr(old, value))
		snprintf(v->value, sizeof(v->value), "%s:%s", value, old);
	else
		snprintf(v->value, sizeof(v->value), "%s", old && *old ? old : value);
}

/* In quotes of the shell where it needs them: what $(...) gives is not looked through for quotes. */
static void put_sh(const char *text)
{
	bool plain = !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789/._-+:@%,")];

	if (plain) {
		fputs(text, stdout);
		return;
	}
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

/* In double quotes; JSON, YAML and systemd agree on these. */
static void put_quoted(const char *text, bool percent)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if (*text == '%' && percent)
			putchar('%');
		putchar(*text);
	}
	putchar('"');
}

static void print_docker(const struct variable *v, const char *agent, const char *dir)
{
	printf("--volume ");
	put_sh(agent);
	putchar(':');
	put_sh(agent);
	printf(":ro --volume ");
	put_sh(dir);
	putchar(':');
	put_sh(dir);
	for (int i = 0; i < VARIABLES; i++) {
		printf(" --env %s=", v[i].name);
		put_sh(v[i].value);
	}
	putchar('\n');
}

static void print_k8s(const struct variable *v, const char *agent, const char *dir)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", agent);
	if (strrchr(folder, '/') > folder)
		*strrchr(folder, '/') = '\0';
	printf("# in the container:\nenv:\n");
	for (int i = 0; i < VARIABLES; i++) {
		printf("- name: %s\n  value: ", v[i].name);
		put_quoted(v[i].value, false);
		putchar('\n');
	}
	printf("volumeMounts:\n- name: aiflame-agent\n  readOnly: true\n  mountPath: ");
	put_quoted(folder, false);
	printf("\n- name: aiflame-standby\n  mountPath: ");
	put_quoted(dir, false);
	printf("\n# in the pod:\nvolumes:\n- name: aiflame-agent\n  hostPath:\n    path: ");
	put_quoted(folder, false);
	printf("\n    type: Directory\n- name: aiflame-standby\n  hostPath:\n    path: ");
	put_quoted(dir, false);
	printf("\n    type: Directory\n");
}

static void print(enum format format, const struct variable *v, const char *agent, const char *dir)
{
	switch (format) {
	case SLURM:
		puts("# in the job script, before srun; the directory is made on each node");
		/* fall through */
	case SH:
		for (int i = 0; i < VARIABLES; i++) {
			printf("export %s=", v[i].name);
			put_sh(v[i].value);
			putchar('\n');
		}
		break;
	case DOCKER:
		print_docker(v, agent, dir);
		break;
	case K8S:
		print_k8s(v, agent, dir);
		break;
	case JUPYTER:
		printf("\"env\": {\n");
		for (int i = 0; i < VARIABLES; i++) {
			printf("  \"%s\": ", v[i].name);
			put_quoted(v[i].value, false);
			puts(i < VARIABLES - 1 ? "," : "");
		}
		puts("}");
		break;
	case SYSTEMD:
		puts("[Service]");
		for (int i = 0; i < VARIABLES; i++) {
			char line[2 * PATH_MAX + 64];

			snprintf(line, sizeof(line), "%s=%s", v[i].name, v[i].value);
			printf("Environment=");
			put_quoted(line, true);
			putchar('\n');
		}
		/* Services have a /tmp of their own where PrivateTmp= says so. */
		break;
	}
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *o = values;
	struct variable v[VARIABLES];
	char agent[PATH_MAX], dir[AIF_STANDBY_DIR_MAX];
	bool chain = o->format == SH || o->format == SLURM;
	int fd;

	(void)words, (void)words_len;
	aif_agent_path(agent, sizeof(agent));
	if (access(agent, R_OK) < 0) {
		aif_err_set(err, -errno,
			    "%s: %s; install aiflame completely, or set AIFLAME_AGENT to "
			    "libaiflame-agent.so",
			    agent, strerror(errno));
		return AIF_EXIT_FAILURE;
	}
	aif_standby_default(dir);
	fd = aif_standby_open(dir, geteuid(), true);
	if (fd < 0) {
		aif_err_set(err, fd,
			    "%s: %s; it must be a directory of yours with mode 0700, or set "
			    "XDG_RUNTIME_DIR to another place",
			    dir, strerror(-fd));
		return AIF_EXIT_FAILURE;
	}
	close(fd);
	set(&v[0], "LD_PRELOAD", agent, chain);
	set(&v[1], "OPENCL_LAYERS", agent, chain);
	set(&v[2], AIF_ENV_STANDBY, dir, false);
	set(&v[3], AIF_ENV_LEVEL, o->level ? "off" : "graphs", false);
	set(&v[4], AIF_ENV_CUDA, agent, false);
	print((enum format)o->format, v, agent, dir);
	return AIF_EXIT_OK;
}

const struct aif_command aif_command_env = {
	.name = "env",
	.words = "",
	.summary = "what to set so that a process can be recorded later",
	.description =
		"Prints the variables that bring aiflame's agent into a process that `record` does not\n"
		"start: a server, a container, a notebook. It sleeps there, at no cost that can be\n"
		"measured, until `record -p PID` or `record -a` wakes it; afterwards it sleeps again.\n\n"
		"Level graphs makes OpenCL queues give times, which cannot be switched on later, and\n"
		"hides that from the program; with off, launches of queues that were made before the\n"
		"recording have no times. docs/standby.md has the whole story for each format.",
	.examples = "eval \"$(aiflame env)\" && ./server &\trun it, sleeping agent included\n"
		    "docker run $(aiflame env --format docker) image\tthe same in a container\n"
		    "aiflame env --format systemd\tlines for a unit's drop-in\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_words = 0,
	.run = run,
};
