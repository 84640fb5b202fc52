/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Names of others on terminals. A name may be any bytes: of a program's arguments, of a device as its driver has it, of
 * whatever a profile was made to say. A terminal obeys some of them: ESC and U+009B begin its orders, U+202E turns text
 * around, a line end begins what looks like a line of ours. So does a service that builds and tests a project, of the log of
 * its commands: "::error file=a::b" is an order. What is written for people passes here, each name by itself or
 * the whole of a text; what is written for programs, to pipes and files, keeps all bytes that its format can hold:
 *
 *   tables, summary, info, annotate   always sanitized, wherever they go
 *   messages, errors                  always sanitized, and one line each
 *   CSV, JSON, folded text, others    on a terminal sanitized; in pipes and files as they are, since they are read again
 */

/* Appends any bytes as valid UTF-8 that shows on one line: invalid bytes become U+FFFD, control
 * characters their pictures (U+2400...), characters that change the direction of text or break
 * lines U+FFFD. What XML forbids is not among the result. */
void aif_name_sanitize(const void *bytes, size_t n, struct aif_buf *ret);

/* The same for a text of several lines, which stay lines, without orders: what a terminal or a log may be sent. */
void aif_name_sanitize_lines(const void *bytes, size_t n, struct aif_buf *ret);

/* Breaks, by a '?' in place of their first character, what the services that build and test a project take out of the line
 * from `begin` on as an order to them: GitHub's runner "::WORD ...::" behind blanks and "##[WORD]", Azure's agent
 * "##vso[...]", TeamCity "##teamcity[...]" anywhere. */
void aif_name_break_orders(struct aif_buf *line, size_t begin);

/* The same in place, in a line that may not grow, without orders: what it would replace is a '?', and line ends are
 * blanks. */
void aif_name_sanitize_in_place(char *text);
