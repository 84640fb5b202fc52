/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/*
 * Programs that would notice another one inside: guest.sh. `guest_app CASE` does one thing and says how it went, its
 * credentials, and those of all its threads; `guest_app each [N]` starts itself for each case, N at a time. What they say
 * has no times and no numbers of processes in it.
 */

#define GUEST_OTHER 1001 /* a user, and a group */

/* A loop of a shell's. */
#define GUEST_LOOP "i=0; while [ $i -lt 15000 ]; do i=$((i+1)); done; "

/* Computes for some 25 ms, without a system call. */
void guest_burn(void);
void *guest_burn_thread(void *arg);
/* Computes for a moment. */
void *guest_short_thread(void *arg);
/* Prints a call and its result, by write() alone. */
void guest_say(const char *what, long r);
/* Prints the credentials of each thread, equal ones once. */
void guest_credentials(void);
/* Waits for a child. Its exit status, or 1000 and the signal that ended it. */
int guest_status(pid_t child);
int guest_shell(const char *command);

/* Runs each case in a process of its own, so many at a time, and keeps what it says, and its status behind, in NAME.said. */
int guest_each(const char *self, const char *const *names, unsigned n, unsigned at_a_time);

/* The cases, but for those in guest_app.c. */
void guest_filter_kill(void);
void guest_filter_as_root(void);
void guest_filter_kill_call(void);
void guest_filter_kill_all(void);
void guest_filter_kill_thread(void);
void guest_filter_no_handlers(void);
void guest_filter_no_handlers_prctl(void);
void guest_filter_error(void);
void guest_filter_error_all(void);
void guest_filter_trap(void);
void guest_filter_strict(void);
void guest_filter_harmless(void);
void guest_filter_two(void);
void guest_filter_refused(void);
void guest_filter_in_thread(void);
void guest_filter_all_threads(void);
void guest_filter_fork(void);
void guest_filter_fork_talks(void);
void guest_filter_fork_alone(void);
void guest_filter_user_alone(void);
void guest_filter_unload(void);
void guest_filter_exec(void);
void guest_plain(void);
void guest_close_all(void);
void guest_close_range_all(void);
void guest_no_dump(void);
void guest_stopped(void);
void guest_traced(void);
void guest_aborts(void);
void guest_faults(void);
void guest_little_memory(void);
void guest_closed_at_once(void);
void guest_few_files(void);
void guest_few_processes(void);
void guest_few_timers(void);
void guest_vforks(void);
void guest_vfork_user(void);
void guest_vfork_by_number(void);
void guest_spawns(void);
void guest_daemon_(void);
void guest_clone_memory(void);
void guest_raw_fork(void);
void guest_counts_listed(void);
void guest_landlock(void);
void guest_little_space(void);
void guest_some_space(void);
void guest_held_up(void);
void guest_fork_held_user(void);
void guest_fork_held_caps(void);
void guest_counts_plain(void);
void guest_counts_at(void);
void guest_counts_extended(void);
void guest_counts_number(void);
void guest_threads(void);
void guest_threads_fork(void);
void guest_threads_storm(void);
void guest_threads_small(void);
void guest_threads_end(void);
void guest_threads_outlive(void);
void guest_threads_refused(void);
void guest_short_children(void);
void guest_many_children(void);
void guest_handlers(void);
void guest_pending(void);
void guest_timers(void);
void guest_alternate(void);
void guest_no_environment(void);
void guest_no_libraries(void);
void guest_killed(void);
void guest_terminated(void);
void guest_leaves_main(void);
void guest_waits_pending(void);
void guest_waits_timed(void);
void guest_waits_masked(void);
void guest_waits_signalfd(void);
void guest_waits_raw(void);
void guest_waits_numbers(void);
void guest_handler_number(void);
void guest_waits_exec(void);
void guest_handler_later(void);
void guest_handler_ways(void);
void guest_handler_held(void);
void guest_handler_kinds(void);
void guest_handler_many(void);
void guest_recorder_stopped(void);
void guest_recorder_stopped_blocked(void);
void guest_handler_reset(void);
void guest_ignored(void);
void guest_other_tls(void);
void guest_other_tls_child(void);
void guest_no_clock(void);
void guest_no_clock_child(void);
void guest_no_clock_at_exit(void);
void guest_own_calls(void);
void guest_served_stack(void);
void guest_served_by_device(void);
void guest_served_by_number(void);
void guest_coroutine(void);
void guest_coroutines(void);
void guest_depth(void);
void guest_alternate_small(void);
void guest_alternate_tiny(void);
void guest_alternate_tiny_thread(void);
void guest_alternate_tiny_first(void);
void guest_alternate_replaced(void);
void guest_threads_own(void);
void guest_jumps(void);
void guest_handler_forks(void);
void guest_threads_raw(void);
void guest_stack_gone(void);
