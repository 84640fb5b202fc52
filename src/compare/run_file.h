/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "compare/run.h"

/*
 * A reduced run as a file: one of a baseline. Text, a fact a line, so that what keeps versions of text keeps these small;
 * the same run gives the same bytes. Version 1:
 *
 *   aiflame-run 1
 *   command TEXT  host TEXT  machine TEXT  driver TEXT  problem TEXT  label TEXT     (each a line)
 *   start SECONDS               since 1970
 *   recording N                 a number of the recording that it is of; no line: not known
 *   steps N none|marks|turns    where they are from
 *   is part|loop|whole|open|cpu|counts    a line each
 *   amount KEY N                elapsed, busy, idle, copy, communication (ns), launches, bytes, error (ns); where known cpu
 *                               (ns), status, memory (bytes), clock (kHz), power-limit (mW), capped, throttled (ppm),
 *                               startup, tail, loop (ns, of whole runs), extent, extent-busy (ns, of loops)
 *   kernel COPY NS LAUNCHES NAME<tab>FULL NAME
 *   name TEXT                   the next number, from 0 on
 *   frame PARENT TYPE SELF LAUNCHES NAME    the next number, from 1 on; parent 0: the root; TYPE: a letter, p Python, c C,
 *                               x C++, o OS, a API, k kernel, y copy, l line, i instruction, s stall, m a word of ours, e a range
 *   operator PARENT NS NAME     device time in an operator, in those around it: the next number, from 1 on; parent 0: none
 *   range PARENT NS NAME        the same of ranges that the program marked
 *   count N NAME                the program went N times through ranges of that name; at most AIF_RUN_FILE_COUNTS, the most frequent
 *   end
 *
 * Transfers were called by their kind once, "[write]": reading calls them "Memcpy HtoD", as profiles do.
 *
 * In TEXT a backslash, tab and line end are \\, \t and \n. Lines that begin with another word are skipped: a later version may
 * add some. At most AIF_RUN_FILE_BYTES are written: stacks with the least time are left out, their time is their
 * callers'; kernels with the least time are one, "[left out]".
 */
#define AIF_RUN_FILE_BYTES  100000
#define AIF_RUN_FILE_COUNTS 64
/* A file that is larger is none of ours. */
#define AIF_RUN_FILE_MAX   (4 << 20)
#define AIF_RUN_FILE_BEGIN "aiflame-run "

/* Words of the file, by enum. */
const char *aif_run_amount_key(enum aif_run_amount which);
const char *aif_run_by_key(enum aif_run_by which);
const char *aif_run_steps_key(enum aif_phases_from from);
/* The letters of enum aif_tree_type, in its order. */
#define AIF_RUN_TYPES "rpcxoakylisme"

/* Appends the file of a run. 0 or -ENOMEM. */
int aif_run_write(const struct aif_run *r, struct aif_buf *out);
/* Sets .hash, by the file of a run that has no label. 0 or -ENOMEM. */
int aif_run_set_hash(struct aif_run *r);
/* Reads one. `path` is for messages and the run's own. *ret is finished by the caller, also after a failure. 0; -EINVAL with
 * *err, or -ENOMEM. */
int aif_run_read(const char *bytes, size_t n, const char *path, struct aif_run *ret,
		 struct aif_err *err);
