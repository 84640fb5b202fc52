/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fair_shares.h"

void aif_fair_shares_init(struct aif_fair_shares *s, unsigned most, uid_t own)
{
	*s = (struct aif_fair_shares){.most = most, .own = own};
	pthread_mutex_init(&s->lock, NULL);
}

void aif_fair_shares_finish(struct aif_fair_shares *s)
{
	aif_map_finish(&s->of);
	pthread_mutex_destroy(&s->lock);
}

/* Returns the user's places. Needs the lock. */
static uint64_t places_of(const struct aif_fair_shares *s, uid_t user)
{
	uint64_t n = 0;

	return aif_map_get(&s->of, user, &n) ? n : 0;
}

/* Needs the lock. */
static bool has(const struct aif_fair_shares *s, uid_t user)
{
	const unsigned left = s->most > s->taken ? s->most - s->taken : 0;

	return left && (user == s->own || places_of(s, user) < left);
}

bool aif_fair_shares_has(struct aif_fair_shares *s, uid_t user)
{
	bool r;

	pthread_mutex_lock(&s->lock);
	r = has(s, user);
	pthread_mutex_unlock(&s->lock);
	return r;
}

bool aif_fair_shares_take(struct aif_fair_shares *s, uid_t user)
{
	bool r;

	pthread_mutex_lock(&s->lock);
	r = has(s, user) && aif_map_put(&s->of, user, places_of(s, user) + 1) == 0;
	s->taken += r;
	pthread_mutex_unlock(&s->lock);
	return r;
}

void aif_fair_shares_give(struct aif_fair_shares *s, uid_t user)
{
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	n = places_of(s, user);
	if (n) {
		(void)aif_map_put(&s->of, user, n - 1); /* which is there */
		s->taken--;
	}
	pthread_mutex_unlock(&s->lock);
}

unsigned aif_fair_shares_taken(struct aif_fair_shares *s)
{
	unsigned n;

	pthread_mutex_lock(&s->lock);
	n = s->taken;
	pthread_mutex_unlock(&s->lock);
	return n;
}
