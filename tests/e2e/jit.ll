; SPDX-License-Identifier: Apache-2.0
; For LLVM's lli: 50 launches on the agent's fake runtime (jit.sh), from frames whose size the tables must tell.
@script = private constant [30 x i8] c"generate kernels=20 streams=3\00"
declare i32 @aif_fake_run(i8*)
declare void @aif_fake_launch(i32, i32)

define i32 @inner_of_lli(i32 %n) noinline {
  %room = alloca [10 x i64]
  %p = getelementptr [10 x i64], [10 x i64]* %room, i64 0, i64 3
  store volatile i64 1, i64* %p
  call void @aif_fake_launch(i32 1, i32 2)
  %v = load volatile i64, i64* %p
  %t = trunc i64 %v to i32
  %r = add i32 %t, %n
  ret i32 %r
}

define i32 @outer_of_lli(i32 %n) noinline {
  %a = call i32 @inner_of_lli(i32 %n)
  %b = add i32 %a, 1
  ret i32 %b
}

define i32 @main() {
  %s = call i32 @aif_fake_run(i8* getelementptr ([30 x i8], [30 x i8]* @script, i64 0, i64 0))
  br label %loop
loop:
  %i = phi i32 [0, %0], [%j, %loop]
  %x = call i32 @outer_of_lli(i32 %i)
  %j = add i32 %i, 1
  %done = icmp eq i32 %j, 50
  br i1 %done, label %end, label %loop
end:
  ret i32 %s
}
