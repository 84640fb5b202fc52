/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/nvdisasm.h"

#include "probe/find_file.h"
#include "probe/tool.h"
#include "profile/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;

/* Limit of a function's code. nvdisasm takes 20 ms for 640 bytes; without its analysis of data
 * flow, time grows with the size. A function of 4 MiB has 262,144 instructions; the largest of
 * cuBLAS have about 10,000. */
#define CODE_MAX (UINT64_C(4) << 20)
/* Limit of the text: nvdisasm prints 40 to 110 bytes for each instruction of 16. */
#define TEXT_MAX(code_size) ((code_size)*16 + 65536)
/* From here on a chip has instructions that its successors lack; the name of what may use them
 * ends in "a". */
#define FIRST_WITH_OWN 90
#define IN_TRITON      "python3*/*-packages/triton/backends/nvidia/bin/nvdisasm"

/* ---- where it is
 * --------------------------------------------------------------------------------- */

char *aif_nvdisasm_find(void)
{
	static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
	char *found = aif_find_file_in_path("nvdisasm", X_OK);
	const char *home;

	for (size_t i = 0; i < AIF_ARRAY_LEN(homes) && !found; i++) {
		home = getenv(homes[i]);
		found = home ? aif_find_file(home, "bin/nvdisasm", X_OK) : NULL;
	}
	if (!found)
		found = aif_find_file("/usr/local/cuda", "bin/nvdisasm", X_OK);
	if (!found)
		found = aif_find_file_in_path("../lib/" IN_TRITON, X_OK);
	home = getenv("HOME");
	if (!found && home)
		found = aif_find_file(home, ".local/lib/" IN_TRITON, X_OK);
	return found;
}

/* ---- asking it
 * ----------------------------------------------------------------------------------- */

/* A descriptor that a child inherits, from which it can read the code. */
static int code_file(const struct aif_code *code)
{
	int fd = memfd_create("code", 0);

	for (uint64_t done = 0; fd >= 0 && done < code->size;) {
		ssize_t n = write(fd, code->bytes + done, code->size - done);

		if (n > 0) {
			done += (uint64_t)n;
		} else if (n == 0 || errno != EINTR) {
			close(fd);
			return -1;
		}
	}
	return fd;
}

static pid_t start(const char *tool, int code, const char *arch, int out)
{
	char name[32];
	char raw[] = "-b", plain[] = "-ndf";
	char *argv[] = {(char *)(uintptr_t)tool, raw, (char *)(uintptr_t)arch, plain, name, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	snprintf(name, sizeof(name), "/dev/fd/%d", code);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	if (posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ||
	    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ||
	    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) ||
	    posix_spawn(&pid, tool, &actions, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* 0: it printed a listing. -ETIMEDOUT: do not ask again. */
static int ask(const char *tool, const struct aif_code *code, const char *arch, struct aif_buf *ret)
{
	int fds[2], file = code_file(code);
	pid_t pid;

	if (file < 0 || pipe2(fds, O_CLOEXEC) < 0) {
		if (file >= 0)
			close(file);
		return -EIO;
	}
	pid = start(tool, file, arch, fds[1]);
	close(file);
	close(fds[1]);
	return aif_tool_output(pid, fds[0], TEXT_MAX(code->size), ret);
}

void aif_nvdisasm_text(struct aif_nvdisasm *n, const struct aif_code *code, unsigned sm,
		       struct aif_buf *ret)
{
	char name[64], arch[16];
	int r;

	if (!code->size || code->size > CODE_MAX)
		return;
	snprintf(name, sizeof(name), "nvdisasm.%u.%" PRIx64 ".%016" PRIx64, sm, code->size,
		 aif_hash_bytes(code->bytes, code->size));
	if (aif_profile_cache_get(n->p, name, ret) == 0)
		return;
	aif_buf_clear(ret);
	if (!n->is_known) {
		n->is_known = true;
		n->tool = aif_nvdisasm_find();
		n->is_missed = !n->tool;
	}
	if (!n->tool)
		return;
	snprintf(arch, sizeof(arch), "SM%u", sm);
	r = ask(n->tool, code, arch, ret);
	if (r == -EINVAL && sm >= FIRST_WITH_OWN) {
		snprintf(arch, sizeof(arch), "SM%ua", sm);
		r = ask(n->tool, code, arch, ret);
	}
	if (r == 0)
		aif_profile_cache_put(n->p, name, ret->data, ret->len);
	if (r == -ETIMEDOUT)
		aif_nvdisasm_finish(n);
}

void aif_nvdisasm_finish(struct aif_nvdisasm *n)
{
	free(n->tool);
	n->tool = NULL;
}
