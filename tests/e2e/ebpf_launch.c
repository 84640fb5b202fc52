/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libcuda.so.1 and libze_loader.so.1 in ebpf.sh: uprobes ask for a file's name and its symbols only. */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int zeCommandListAppendLaunchKernel(void *list, void *kernel, const void *groups, void *signal,
				    unsigned waits, void **wait);

#ifdef CUDA
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		   unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	(void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
	(void)stream, (void)params, (void)extra;
	return 0;
}
#else
int zeCommandListAppendLaunchKernel(void *list, void *kernel, const void *groups, void *signal,
				    unsigned waits, void **wait)
{
	(void)list, (void)kernel, (void)groups, (void)signal, (void)waits, (void)wait;
	return 0;
}
#endif
