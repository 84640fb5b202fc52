/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden rows: for each row of `readelf -wF FILE`, the row that src/unwind finds at its first and at
 * its last byte. No difference is allowed; where readelf shows what a row cannot hold, ours must say
 * BAD. Prints TAP.
 *
 *     unwind_golden [FILE...]     default: this machine's libc, libstdc++, libpython, libLLVM
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "unwind/ehframe.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SPANS   16
#define MAX_COLUMNS 24
#define SHOWN       5 /* differences that are printed */

struct image {
	uint8_t *base; /* of address 0 */
	struct aif_ehframe frames;
};

/* Row of readelf's output; `bp` and `ra` as text. */
struct golden {
	char cfa[32], bp[16], ra[16];
	bool signal;
};

struct cie {
	uint64_t offset;
	struct golden row;
};

struct run {
	struct image image;
	struct cie *cies;
	size_t n_cies, cap_cies;
	uint64_t rows, plain, special, bad, differ;
};

/* Maps the file's segments where they belong to each other. */
static bool map_image(const char *path, struct image *image)
{
	struct aif_span spans[MAX_SPANS];
	size_t n = 0;
	Elf64_Phdr hdr = {0};
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *file, *at;
	uint64_t end = 0;

	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return false;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED || memcmp(file, ELFMAG, SELFMAG))
		return false;
	const Elf64_Ehdr *elf = (const Elf64_Ehdr *)(const void *)file;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(const void *)(file + elf->e_phoff);

	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD)
			end = AIF_MAX(end, ph[i].p_vaddr + ph[i].p_memsz);
	}
	at = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	if (at == MAP_FAILED)
		return false;
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			hdr = ph[i];
		if (ph[i].p_type != PT_LOAD || n == MAX_SPANS)
			continue;
		memcpy(at + ph[i].p_vaddr, file + ph[i].p_offset, ph[i].p_filesz);
		spans[n++] =
			(struct aif_span){at + ph[i].p_vaddr, at + ph[i].p_vaddr + ph[i].p_filesz};
	}
	munmap(file, (size_t)st.st_size);
	image->base = at;
	return hdr.p_type == PT_GNU_EH_FRAME &&
	       aif_ehframe_init(&image->frames, at + hdr.p_vaddr, hdr.p_memsz, spans, n) == 0 &&
	       image->frames.table;
}

/* Is ours what a row must be that readelf shows as *g? */
static bool agree(struct run *r, uint64_t row, const struct golden *g)
{
	enum aif_row_kind kind = aif_row_kind(row);
	bool expression = strcmp(g->cfa, "exp") == 0, rsp = strncmp(g->cfa, "rsp+", 4) == 0;
	bool rbp = strncmp(g->cfa, "rbp+", 4) == 0;
	int bp = 0;

	if (kind == AIF_ROW_BAD)
		r->bad++;
	if (g->signal)
		return kind == AIF_ROW_SIGNAL;
	if (strcmp(g->ra, "u") == 0)
		return kind == AIF_ROW_END;
	if (strcmp(g->ra, "c-8") != 0)
		return kind == AIF_ROW_BAD;
	if (strcmp(g->bp, "exp") == 0)
		bp = AIF_ROW_BP_AT_BP;
	else if (g->bp[0] == 'c')
		bp = atoi(g->bp + 1) / 8;
	else if (strcmp(g->bp, "u") != 0 && strcmp(g->bp, "s") != 0)
		return kind == AIF_ROW_BAD;
	if (strncmp(g->cfa, "r10+", 4) == 0 || strncmp(g->cfa, "r11+", 4) == 0 ||
	    strncmp(g->cfa, "r13+", 4) == 0 || strncmp(g->cfa, "rbx+", 4) == 0) {
		r->special++;
		return kind == AIF_ROW_REG &&
		       aif_row_aux(row) == (g->cfa[1] == 'b' ? 3 : atoi(g->cfa + 1)) &&
		       aif_row_bp(row) == bp && aif_row_off(row) == atoi(g->cfa + 4);
	}
	if (!rsp && !rbp && !expression)
		return kind == AIF_ROW_BAD;
	if (expression) {
		r->special++;
		return kind == AIF_ROW_BAD || ((kind == AIF_ROW_PLT || kind == AIF_ROW_RBP_DEREF ||
						kind == AIF_ROW_RSP_DEREF) &&
					       aif_row_bp(row) == bp);
	}
	if (bp == AIF_ROW_BP_AT_BP) { /* a stale rule at a `ret`, see cfi.c */
		if (strcmp(g->cfa, "rsp+8") != 0)
			return kind == AIF_ROW_BAD;
		bp = 0;
	}
	r->plain++;
	return kind == (rsp ? AIF_ROW_RSP : AIF_ROW_RBP) && aif_row_bp(row) == bp &&
	       aif_row_off(row) == atoi(g->cfa + 4);
}

/* The row that holds in [from, to). */
static void check(struct run *r, uint64_t from, uint64_t to, const struct golden *g)
{
	uint64_t at[2] = {from, to - 1};

	if (from >= to)
		return;
	r->rows++;
	for (int i = 0; i < 2; i++) {
		uint64_t row = aif_ehframe_row(&r->image.frames,
					       (uint64_t)(uintptr_t)r->image.base + at[i]);

		if (agree(r, row, g))
			continue;
		if (r->differ++ < SHOWN)
			printf("# %" PRIx64 ": cfa %s rbp %s ra %s, ours %016" PRIx64 "\n", at[i],
			       g->cfa, g->bp, g->ra, row);
	}
}

static int split(char *line, char **words)
{
	int n = 0;
	char *save = NULL;

	for (char *w = strtok_r(line, " \n", &save); w && n < MAX_COLUMNS;
	     w = strtok_r(NULL, " \n", &save)) {
		if (*w != '(') /* "r10 (r10)" is one column */
			words[n++] = w;
	}
	return n;
}

static void take_row(struct golden *g, char **columns, int n_columns, char **words, int n)
{
	strcpy(g->bp, "u");
	strcpy(g->ra, "u");
	for (int i = 0; i < n_columns && i < n; i++) {
		if (strcmp(columns[i], "CFA") == 0)
			snprintf(g->cfa, sizeof(g->cfa), "%s", words[i]);
		else if (strcmp(columns[i], "rbp") == 0)
			snprintf(g->bp, sizeof(g->bp), "%s", words[i]);
		else if (strcmp(columns[i], "ra") == 0)
			snprintf(g->ra, sizeof(g->ra), "%s", words[i]);
	}
}

static struct cie *cie_at(struct run *r, uint64_t offset)
{
	for (size_t i = r->n_cies; i-- > 0;) {
		if (r->cies[i].offset == offset)
			return &r->cies[i];
	}
	return NULL;
}

static struct cie *new_cie(struct run *r, uint64_t offset, bool signal)
{
	if (r->n_cies == r->cap_cies) {
		r->cap_cies = AIF_MAX(64, 2 * r->cap_cies);
		r->cies = realloc(r->cies, r->cap_cies * sizeof(*r->cies));
		if (!r->cies)
			exit(1);
	}
	r->cies[r->n_cies] = (struct cie){.offset = offset, .row.signal = signal};
	return &r->cies[r->n_cies++];
}

/*
 * 00000000 0000000000000014 00000000 CIE "zR" cf=1 df=-8 ra=16
 *    LOC           CFA      ra
 * 0000000000000000 rsp+8    c-8
 *
 * 00000018 000000000000004c 0000001c FDE cie=00000000 pc=00000000008fb000..000000000090a7a7
 *    LOC           CFA      rbx   rbp   ra
 * 00000000008fb000 rsp+8    u     u     c-8
 *
 * An FDE that changes nothing has no rows: its CIE's holds.
 */
static void read_rows(struct run *r, FILE *in)
{
	char line[1024], header[1024], *columns[MAX_COLUMNS], *words[MAX_COLUMNS];
	uint64_t lo = 0, hi = 0, from = 0;
	struct cie *cie = NULL;
	struct golden g = {0};
	bool in_fde = false;
	int n_columns = 0;

	while (fgets(line, sizeof(line), in)) {
		int n;

		if (strstr(line, ".debug_frame"))
			break;
		if (strncmp(line, "   LOC", 6) == 0) {
			strcpy(header, line);
			n_columns = split(header, columns);
			continue;
		}
		n = split(line, words);
		if (n >= 5 && strcmp(words[3], "CIE") == 0) {
			if (in_fde)
				check(r, from, hi, &g);
			in_fde = false;
			cie = new_cie(r, strtoull(words[0], NULL, 16), strchr(words[4], 'S'));
		} else if (n >= 6 && strcmp(words[3], "FDE") == 0) {
			char *dots = strstr(words[5], "..");

			if (in_fde)
				check(r, from, hi, &g);
			in_fde = true;
			cie = cie_at(r, strtoull(words[4] + 4, NULL, 16));
			if (!cie || !dots) {
				r->differ++;
				return;
			}
			lo = from = strtoull(words[5] + 3, NULL, 16);
			hi = strtoull(dots + 2, NULL, 16);
			g = cie->row;
		} else if (n >= 3 && strlen(words[0]) == 16 && cie) {
			uint64_t at = strtoull(words[0], NULL, 16);

			if (!in_fde) {
				take_row(&cie->row, columns, n_columns, words, n);
				continue;
			}
			if (at > lo)
				check(r, from, AIF_MIN(at, hi), &g);
			take_row(&g, columns, n_columns, words, n);
			from = at;
		}
	}
	if (in_fde)
		check(r, from, hi, &g);
}

static bool check_file(const char *path)
{
	struct run r = {0};
	char command[PATH_MAX + 64];
	FILE *in;

	if (strchr(path, '\'') || !map_image(path, &r.image)) {
		printf("# %s: no usable .eh_frame_hdr\n", path);
		return false;
	}
	snprintf(command, sizeof(command), "LC_ALL=C readelf -wF '%s' 2>/dev/null", path);
	in = popen(command, "r");
	if (!in)
		return false;
	read_rows(&r, in);
	pclose(in);
	free(r.cies);
	printf("# %s: %" PRIu64 " rows, %" PRIu64 " differences; %.2f %% not followed, %" PRIu64
	       " special\n",
	       path, r.rows, r.differ, r.rows ? 50.0 * (double)r.bad / (double)r.rows : 0.0,
	       r.special / 2);
	/* Rows that are not followed must be rare, or BAD would hide differences. */
	return r.rows > 0 && r.plain > 0 && r.differ == 0 && r.bad / 2 <= r.rows / 50;
}

int main(int argc, char **argv)
{
	static const char *const patterns[] = {"/lib/x86_64-linux-gnu/libc.so.6",
					       "/lib64/libc.so.6",
					       "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
					       "/usr/lib64/libstdc++.so.6",
					       "/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0",
					       "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1",
					       "/proc/self/exe"};
	unsigned n = 0, failed = 0;

	for (size_t i = 0; i < (argc > 1 ? (size_t)argc - 1 : AIF_ARRAY_LEN(patterns)); i++) {
		const char *pattern = argc > 1 ? argv[i + 1] : patterns[i];
		glob_t found = {0};

		if (glob(pattern, 0, NULL, &found) == 0) {
			/* resolved here: /proc/self would be another program's for readelf */
			char path[PATH_MAX] = "";
			bool ok = realpath(found.gl_pathv[0], path) && check_file(path);

			failed += !ok;
			printf("%s %u - rows of %s\n", ok ? "ok" : "not ok", ++n, path);
		}
		globfree(&found);
	}
	printf("1..%u\n", n);
	return failed || n == 0;
}
