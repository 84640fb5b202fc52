/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "probe/counters_help.h"
#include "record/attach/agent_path.h"
#include "record/attach/attach_dir.h"
#include "wire/handshake.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum format { SH, DOCKER, K8S, SLURM, JUPYTER, SYSTEMD };

struct values {
	int format, level;
	bool metrics, nvtx;
};

#define AT(field) offsetof(struct values, field)
static const struct aif_opt opts[] = {
	{0, "format", "sh|docker|k8s|slurm|jupyter|systemd", AIF_OPT_CHOICE, AT(format), 0,
	 "the syntax to print the variables in (sh)"},
	{0, "metrics", NULL, AIF_OPT_FLAG, AT(metrics), 0,
	 "enable Level Zero's metrics, for record --counters and for EU stalls through Level "
	 "Zero"},
	{0, "level", "graphs|off", AIF_OPT_CHOICE, AT(level), 0,
	 "what the sleeping agent prepares: what a later recording could not make up for, or "
	 "nothing (graphs)"},
	{0, "nvtx", NULL, AIF_OPT_FLAG, AT(nvtx), 0,
	 "have NVTX open the agent, too: NCCL's operations are counted for `stacks --ranks` "
	 "(docs/stacks.md)"},
	{0},
};

struct variable {
	const char *name;
	struct aif_buf value;
};
#define VARIABLES 8

/* `chain`: what is there already stays behind it. */
static void set(struct variable *v, const char *name, const char *value, bool chain)
{
	const char *old = chain ? getenv(name) : NULL;

	*v = (struct variable){.name = name};
	if (!old || !*old || !strstr(old, value))
		aif_buf_puts(&v->value, value);
	if (old && *old) {
		aif_buf_puts(&v->value, v->value.len ? ":" : "");
		aif_buf_puts(&v->value, old);
	}
}

/* In double quotes; JSON, YAML and systemd agree on these. */
static void put_quoted(struct aif_buf *b, const char *text, bool percent)
{
	aif_buf_putc(b, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			aif_buf_putc(b, '\\');
		if (*text == '%' && percent)
			aif_buf_putc(b, '%');
		aif_buf_putc(b, *text);
	}
	aif_buf_putc(b, '"');
}

static void put_variable_quoted(struct aif_buf *b, struct variable *v)
{
	put_quoted(b, aif_buf_str(&v->value), false);
}

/* Prints docker's options. Shells do not remove quotes from the output of $(...), so names are
 * quoted only where needed. */
static void print_docker(struct aif_buf *b, struct variable *v, const char *agent, const char *dir)
{
	aif_buf_puts(b, "--volume ");
	aif_buf_shell(b, agent);
	aif_buf_putc(b, ':');
	aif_buf_shell(b, agent);
	aif_buf_puts(b, ":ro --volume ");
	aif_buf_shell(b, dir);
	aif_buf_putc(b, ':');
	aif_buf_shell(b, dir);
	for (int i = 0; i < VARIABLES && v[i].name; i++) {
		aif_buf_printf(b, " --env %s=", v[i].name);
		aif_buf_shell(b, aif_buf_str(&v[i].value));
	}
	aif_buf_putc(b, '\n');
}

/* Path of the agent on the node, and in the container. */
struct places {
	char host[PATH_MAX], inside[PATH_MAX];
};

/* LD_PRELOAD knows no names with spaces or colons. Those that agent_path.c gives such an agent
 * on this machine lead outside of what is mounted; a container may have it where it likes. */
static void places_find(const char *agent, struct places *ret)
{
	if (!realpath(agent, ret->host))
		snprintf(ret->host, sizeof(ret->host), "%s", agent);
	if (strpbrk(ret->host, " :"))
		snprintf(ret->inside, sizeof(ret->inside), "/opt/aiflame/%s",
			 strrchr(ret->host, '/') + 1);
	else
		memcpy(ret->inside, ret->host, sizeof(ret->inside));
}

static void put_folder(struct aif_buf *b, const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	if (strrchr(folder, '/') > folder)
		*strrchr(folder, '/') = '\0';
	put_quoted(b, folder, false);
}

static void print_k8s(struct aif_buf *b, struct variable *v, const struct places *agent,
		      const char *dir)
{
	aif_buf_puts(b, "# in the container:\nenv:\n");
	for (int i = 0; i < VARIABLES && v[i].name; i++) {
		aif_buf_printf(b, "- name: %s\n  value: ", v[i].name);
		put_variable_quoted(b, &v[i]);
		aif_buf_putc(b, '\n');
	}
	aif_buf_puts(b, "volumeMounts:\n- name: aiflame-agent\n  readOnly: true\n  mountPath: ");
	put_folder(b, agent->inside);
	aif_buf_puts(b, "\n- name: aiflame-standby\n  mountPath: ");
	put_quoted(b, dir, false);
	aif_buf_puts(b,
		     "\n# in the pod:\nvolumes:\n- name: aiflame-agent\n  hostPath:\n    path: ");
	put_folder(b, agent->host);
	aif_buf_puts(b, "\n    type: Directory\n- name: aiflame-standby\n  hostPath:\n    path: ");
	put_quoted(b, dir, false);
	aif_buf_puts(b, "\n    type: Directory\n");
}

static void put_systemd(struct aif_buf *b, struct variable *v)
{
	struct aif_buf line = {0};

	aif_buf_printf(&line, "%s=%s", v->name, aif_buf_str(&v->value));
	aif_buf_puts(b, "Environment=");
	put_quoted(b, aif_buf_str(&line), true);
	aif_buf_putc(b, '\n');
	aif_buf_finish(&line);
}

static void print(struct aif_buf *b, enum format format, struct variable *v,
		  const struct places *agent, const char *dir)
{
	switch (format) {
	case SLURM:
		aif_buf_puts(
			b,
			"# in the job script, before srun; the directory is made on each node\n");
		/* fall through */
	case SH:
		for (int i = 0; i < VARIABLES && v[i].name; i++) {
			aif_buf_printf(b, "export %s=", v[i].name);
			aif_buf_shell(b, aif_buf_str(&v[i].value));
			aif_buf_putc(b, '\n');
		}
		break;
	case DOCKER:
		print_docker(b, v, aif_buf_str(&v[0].value), dir);
		break;
	case K8S:
		print_k8s(b, v, agent, dir);
		break;
	case JUPYTER:
		aif_buf_puts(b, "\"env\": {\n");
		for (int i = 0; i < VARIABLES && v[i].name; i++) {
			aif_buf_printf(b, "  \"%s\": ", v[i].name);
			put_variable_quoted(b, &v[i]);
			aif_buf_puts(b, i < VARIABLES - 1 && v[i + 1].name ? ",\n" : "\n");
		}
		aif_buf_puts(b, "}\n");
		break;
	case SYSTEMD:
		aif_buf_puts(b, "[Service]\n");
		for (int i = 0; i < VARIABLES && v[i].name; i++)
			put_systemd(b, &v[i]);
		/* Services have a /tmp of their own where PrivateTmp= says so. */
		break;
	}
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	const struct values *o = values;
	struct variable v[VARIABLES] = {0};
	struct places places;
	struct aif_buf out = {0};
	char agent[PATH_MAX], dir[AIF_STANDBY_DIR_MAX];
	bool chain = o->format == SH || o->format == SLURM;
	int fd, status, len = 6;

	(void)words, (void)words_len;
	if (aif_agent_why_none()) {
		aif_err_set(err, -ENOTSUP, "env: %s", aif_agent_why_none());
		return AIF_EXIT_FAILURE;
	}
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
	places_find(agent, &places);
	if (o->format == K8S)
		memcpy(agent, places.inside, sizeof(agent));
	set(&v[0], "LD_PRELOAD", agent, chain);
	set(&v[1], "OPENCL_LAYERS", agent, chain);
	set(&v[2], AIF_ENV_STANDBY, dir, false);
	set(&v[3], AIF_ENV_LEVEL, o->level ? "off" : "graphs", false);
	set(&v[4], AIF_ENV_CUDA, agent, false);
	set(&v[5], "ZE_ENABLE_TRACING_LAYER", "1", false);
	if (o->metrics)
		set(&v[len++], "ZET_ENABLE_METRICS", "1", false);
	if (o->nvtx)
		set(&v[len++], AIF_ENV_NVTX_INJECTION, agent, false);
	if (o->metrics && !aif_counters_can_be())
		fputs("aiflame: libigdmd.so.1 is not installed here: where it is missing, Intel's driver does not "
		      "start with ZET_ENABLE_METRICS=1; apt-get install libigdmd1\n",
		      stderr);
	print(&out, (enum format)o->format, v, &places, dir);
	status = aif_view_print(&out, err);
	for (int i = 0; i < VARIABLES && v[i].name; i++)
		aif_buf_finish(&v[i].value);
	aif_buf_finish(&out);
	return status;
}

const struct aif_command aif_command_env = {
	.name = "env",
	.words = "",
	.summary = "what to set so that a process can be recorded later",
	.description =
		"Prints the variables that load aiflame's agent into a process that `record` does\n"
		"not start: a server, a container, a notebook. The agent sleeps there, at no\n"
		"measurable cost, until `record -p PID` or `record -a` wakes it, and sleeps again\n"
		"afterwards.\n\n"
		"Level graphs makes OpenCL queues and Level Zero events with times, which cannot\n"
		"be switched on later, hides that from the program, and remembers what is on\n"
		"Level Zero's command lists. With level off, launches in objects that were made\n"
		"before the recording have no times or are not seen. Reading a GPU's counters,\n"
		"and EU stalls where the xe driver's stream cannot be opened, needs --metrics.\n"
		"The level is not about CUDA graphs: those captured before a recording keep the\n"
		"stack of their replay alone; record --delay sees them captured.\n"
		"docs/standby.md explains each format.",
	.examples = "eval \"$(aiflame env)\" && ./server &\trun it, sleeping agent included\n"
		    "docker run $(aiflame env --format docker) image\tthe same in a container\n"
		    "aiflame env --format systemd\tlines for a unit's drop-in\n",
	.opts = opts,
	.values_size = sizeof(struct values),
	.max_words = 0,
	.run = run,
};
