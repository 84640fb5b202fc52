/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * The members with which the JSON of each command begins (docs/agents.md, data/aiflame-answer.schema.json):
 *
 *   schema_version  AIF_JSON_SCHEMA: of this head; commands add members behind it without another number
 *   command         "why"
 *   verdict         the answer as a sentence; null where there is none
 *   evidence        what it stands on, the most important first: text, share_ppm (of the time that `text` names; null where
 *                   it is no share) and the command that shows more (null where none does)
 *   abstained       what cannot be answered: what, a key, and why, a sentence
 *   next            commands to run next
 *
 * Texts are sanitised as they are put in. After a failed allocation the head is incomplete, and put() marks `out` as failed.
 */
#define AIF_JSON_SCHEMA 1

struct aif_json_answer {
	struct aif_buf verdict, evidence, abstained, next;
};

void aif_json_answer_verdict(struct aif_json_answer *a, const char *text);
/* share_ppm below 0: none. command NULL: none. */
void aif_json_answer_evidence(struct aif_json_answer *a, const char *text, int64_t share_ppm,
			      const char *command);
void aif_json_answer_abstain(struct aif_json_answer *a, const char *what, const char *why);
void aif_json_answer_next(struct aif_json_answer *a, const char *command);
/* Appends the members, from "schema_version" on, without braces or a comma at the end, and forgets them. */
void aif_json_answer_put(struct aif_json_answer *a, const char *command, struct aif_buf *out);
