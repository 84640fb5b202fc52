#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folded text as a large language model's serving process gives it: gen_folded.py STACKS FILE [diverging [NODES]]

4,000 host call paths (Python, its interpreter, C++ operators with long template names), each with
device kernels, instructions, stall reasons and offsets: unique stacks, 55 to 84 deep, 74 in the mean.
With "diverging", what most tools find harder: 20 paths of 30 frames, and below them stacks of 4,000 names at random, 40
to 80 deep, hardly two of which agree. With NODES, as many stacks as make a tree of exactly so many frames without its
root: the last stack is as long as fits.

The same arguments give the same bytes.
"""
import random
import sys

CONTEXTS = 4000
PY_FILES = [
    "torch/nn/modules/module.py", "torch/nn/modules/container.py", "torch/nn/modules/linear.py",
    "transformers/models/llama/modeling_llama.py", "transformers/generation/utils.py",
    "torch/utils/_contextlib.py", "accelerate/hooks.py", "vllm/model_executor/models/llama.py",
    "vllm/worker/model_runner.py", "vllm/engine/llm_engine.py", "torch/optim/adamw.py",
    "torch/_inductor/runtime/triton_heuristics.py", "torch/distributed/fsdp/_runtime_utils.py",
]
PY_FUNCTIONS = [
    "forward", "_call_impl", "_wrapped_call_impl", "__call__", "decorate_context", "generate",
    "_sample", "step", "run", "execute_model", "apply", "backward", "compute_logits", "attention",
]
CPYTHON = [
    "_PyEval_EvalFrameDefault", "PyObject_Vectorcall", "_PyFunction_Vectorcall", "PyObject_Call",
    "method_vectorcall", "_PyObject_MakeTpCall", "cfunction_call", "slot_tp_call",
]
OPS = [
    "addmm", "mm", "bmm", "linear", "softmax", "native_layer_norm", "add", "mul", "copy_",
    "_scaled_dot_product_flash_attention", "embedding", "silu", "cat", "index_select", "gelu",
]
TENSOR = "at::Tensor const&"
CXX = [
    "at::_ops::{0}::call({1}, {1}, {1}, c10::Scalar const&, c10::Scalar const&)",
    "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<"
    "c10::CompileTimeFunctionPointer<at::Tensor (c10::DispatchKeySet, {1}, {1}), "
    "&torch::autograd::VariableType::(anonymous namespace)::{0}>, at::Tensor, "
    "c10::guts::typelist::typelist<c10::DispatchKeySet, {1}, {1}> >, "
    "at::Tensor (c10::DispatchKeySet, {1}, {1})>::call",
    "torch::autograd::VariableType::(anonymous namespace)::{0}(c10::DispatchKeySet, {1}, {1})",
    "at::native::structured_{0}_out_cuda::impl({1}, {1}, c10::Scalar const&, {1})",
    "at::(anonymous namespace)::wrapper_CUDA_{0}({1}, {1})",
    "torch::autograd::THPVariable_{0}(_object*, _object*, _object*)",
]
KERNELS = [
    "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_cublas",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)",
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false> >",
    "triton_poi_fused__to_copy_add_mean_mul_pow_rsqrt_3",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
]
SASS = [
    "HMMA.16816.F32.BF16", "LDG.E.128.CONSTANT", "STG.E.128", "LDSM.16.M88.4",
    "BAR.SYNC.DEFER_BLOCKING", "FFMA", "IADD3", "IMAD.WIDE", "MUFU.EX2", "BRA",
]
STALLS = [
    "memory_dependency", "execution_dependency", "pipe_busy", "not_selected", "sync", "selected",
    "memory_throttle", "inst_fetch",
]


def host_path(rng, pool):
    path = list(rng.choice(pool))
    depth = rng.randint(60, 88) - 9
    while len(path) < depth:
        if rng.random() < 0.55:
            line = rng.choice((55, 117, 321, 789, 1501, 1736))
            path.append(f"{rng.choice(PY_FILES)}({line}): {rng.choice(PY_FUNCTIONS)}")
        else:
            path.append(rng.choice(CPYTHON))
        if 12 < len(path) < depth - 5 and rng.random() < 0.05:
            pool.append(list(path))
    op = rng.choice(OPS)
    path += [rng.choice(CXX).format(op, TENSOR) for _ in range(4)]
    return ";".join(path + ["cudaLaunchKernel"])


def first_nodes(lines, nodes):
    """Yields lines until their tree has so many nodes; shortens the last."""
    seen = set()
    for line in lines:
        path, _, count = line.rpartition(" ")
        frames = path.split(";")
        for depth in range(1, len(frames) + 1):
            key = ";".join(frames[:depth])
            if key in seen:
                continue
            seen.add(key)
            if len(seen) == nodes:
                yield f"{key} {count}"
                return
        yield line


def diverging(stacks):
    rng = random.Random(1)
    names = [f"ns{i % 40}::Class{i % 300}::method_{i}(int, std::vector<float> const&)" for i in range(4000)]
    paths = [[rng.choice(names) for _ in range(30)] for _ in range(20)]
    for _ in range(stacks):
        tail = [rng.choice(names) for _ in range(rng.randint(40, 80) - 30)]
        yield f"{';'.join(rng.choice(paths) + tail)} {rng.randint(1, 50)}\n"


def main():
    stacks, name = int(sys.argv[1]), sys.argv[2]
    if sys.argv[3:4] == ["diverging"]:
        lines = diverging(stacks)
        with open(name, "w", encoding="ascii", buffering=1 << 20) as out:
            out.writelines(first_nodes(lines, int(sys.argv[4])) if sys.argv[4:] else lines)
        return
    rng = random.Random(7)
    pool = [["python3", "_start", "__libc_start_main_impl", "__libc_start_call_main", "main",
             "Py_BytesMain", "Py_RunMain", "pymain_run_file", "_PyRun_SimpleFileObject"]]
    contexts = [host_path(rng, pool) for _ in range(CONTEXTS)]
    seen = set()
    with open(name, "w", encoding="ascii", buffering=1 << 20) as out:
        while len(seen) < stacks:
            context = rng.randrange(CONTEXTS)
            kernel = (context + rng.randrange(2)) % len(KERNELS)
            instruction = rng.randrange(400)
            stall = rng.randrange(len(STALLS))
            key = (context, kernel, instruction, stall)
            if key in seen:
                continue
            seen.add(key)
            count = 1 + int(rng.paretovariate(1.1))
            out.write(f"{contexts[context]};{KERNELS[kernel]}_[g];"
                      f"{SASS[instruction % len(SASS)]} +0x{16 * instruction:04x}_[g];"
                      f"{STALLS[stall]}_[g] {count}\n")


main()
