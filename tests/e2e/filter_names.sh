#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every name that tables print is a filter that finds it: --kernel, --focus, annotate; with the characters of C++'s templates,
# names that are no regular expression, and names that a table has cut.
. "$(dirname "$0")/tap.sh"

cat >cpu.folded <<'END'
main;operator()(int, std::vector<int, std::allocator<int> >&) const [clone .isra.0];std::_Function_handler<void (), foo(int)::{lambda()#1}>::_M_invoke(std::_Any_data const&) 50
main;Stack::operator[](unsigned long);Stack::operator*(Stack const&) const 20
main;std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_construct<char const*>(char const*, char const*, std::forward_iterator_tag) 5
main;a[0]+b*c?{x}|y^z$\d(;A && B <script>alert(1)</script> 30
main;very::long::template_name<std::map<std::string,std::vector<std::pair<int,std::unique_ptr<Foo<Bar<Baz<Qux<1,2,3,4,5,6,7,8,9>>>>>>>>>::method_that_matters(int, int, int, int, int, int, int, int) const & 40
main;日本語関数;emoji🔥fn 10
<module> (train.py:1);run.<locals>.<lambda> (train.py:43);<listcomp> (train.py:44);Model.__getitem__ (model.py:9) 7
main;operator new(unsigned long);Ptr<T*>::operator->() const;std::operator<< <std::char_traits<char> >(std::ostream&, char const*) 6
PjitFunction(train_step);{lambda(auto:1)#2}::operator()<int>(int) const 3
END
sed 's/ \([0-9]*\)$/_[g] \1/' cpu.folded | sed 's/;[^;]*$/;launch&/' >kernels.folded
cat >kernels.json <<'END'
[{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)","pid":0,"tid":7,"ts":10,"dur":5,"args":{"correlation":1,"device":0,"stream":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":3,"dur":1,"args":{"correlation":2}},
{"ph":"X","cat":"kernel","name":"_ZN7cutlass6KernelI52cutlass_80_tensorop_f16_s16816gemm_relu_f16_128x64_32x6_nn_align8EEvNT_6ParamsE","pid":0,"tid":7,"ts":20,"dur":5,"args":{"correlation":2,"device":0,"stream":7}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":2,"ts":5,"dur":1,"args":{"correlation":3}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":30,"dur":5,"args":{"correlation":3,"device":0,"stream":7}}]
END
"$aiflame" import -q -o cpu.data cpu.folded
"$aiflame" import -q -o kernels.data kernels.folded
"$aiflame" import -q -o trace.data kernels.json
"$aiflame" record -q --all-launches -o fake.data "$build/tests/mock/fake_app" 'generate launches=200 stacks=5 depth=6 kernels=3 streams=2'
check "names of CPU functions are filters" python3 "$root/tests/e2e/filter_names.py" "$aiflame" cpu.data cpu
for p in kernels trace fake; do
	check "$p: names of kernels are filters" python3 "$root/tests/e2e/filter_names.py" "$aiflame" $p.data kernels
done
check "report --kernel takes what is no expression as a name, and says so" says "'gemm(' is taken as a name: as an expression it has: Unmatched ( or \\(" "$aiflame" report --kernels --kernel 'gemm(' trace.data
check "flame --focus: a cut name finds what it was cut from alone" sh -c "[ \"\$('$aiflame' flame --of cpu --format folded -o - --focus 'very::l…const &' cpu.data | wc -l)\" = 1 ]"
check "flame --focus: parts of a cut name in another order find nothing" sh -c "! '$aiflame' flame --of cpu --format folded -o - --focus 'const &…very::l' cpu.data 2>/dev/null | grep -q very"
done_testing
