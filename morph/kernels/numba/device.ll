; What is NVVM's for numba's kernels, as far as it is not a function of extensions/native/numba.cpp alone.

declare i32 @morph_nvvm_tid_x() nounwind memory(none) willreturn
declare i32 @morph_nvvm_tid_y() nounwind memory(none) willreturn
declare i32 @morph_nvvm_tid_z() nounwind memory(none) willreturn
declare i32 @morph_nvvm_ctaid_x() nounwind memory(none) willreturn
declare i32 @morph_nvvm_ctaid_y() nounwind memory(none) willreturn
declare i32 @morph_nvvm_ctaid_z() nounwind memory(none) willreturn
declare i32 @morph_nvvm_ntid_x() nounwind memory(none) willreturn
declare i32 @morph_nvvm_ntid_y() nounwind memory(none) willreturn
declare i32 @morph_nvvm_ntid_z() nounwind memory(none) willreturn
declare i32 @morph_nvvm_nctaid_x() nounwind memory(none) willreturn
declare i32 @morph_nvvm_nctaid_y() nounwind memory(none) willreturn
declare i32 @morph_nvvm_nctaid_z() nounwind memory(none) willreturn
declare i32 @morph_nvvm_laneid() nounwind memory(none) willreturn

declare void @morph_nvvm_barrier0() convergent nounwind
declare i32 @morph_nvvm_barrier0_popc(i32) convergent nounwind
declare i32 @morph_nvvm_barrier0_and(i32) convergent nounwind
declare i32 @morph_nvvm_barrier0_or(i32) convergent nounwind
declare void @morph_nvvm_bar_warp_sync(i32) convergent nounwind
declare i32 @morph_nvvm_match_any_sync_i32(i32, i32) convergent nounwind
declare i32 @morph_nvvm_match_any_sync_i64(i32, i64) convergent nounwind

define linkonce_odr i32 @morph_nvvm_warpsize() alwaysinline {
  ret i32 32
}
define linkonce_odr void @morph_nvvm_membar_cta() alwaysinline {
  fence seq_cst
  ret void
}
define linkonce_odr void @morph_nvvm_membar_gl() alwaysinline {
  fence seq_cst
  ret void
}
define linkonce_odr void @morph_nvvm_membar_sys() alwaysinline {
  fence seq_cst
  ret void
}

declare float @tanhf(float) nounwind memory(none) willreturn
define linkonce_odr float @morph_nvvm_tanh(float %x) alwaysinline {
  %result = call float @tanhf(float %x)
  ret float %result
}

declare i16 @__nv_float2half_rn(float) nounwind memory(none) willreturn
define linkonce_odr i16 @morph_nvvm_float2half(float %x) alwaysinline {
  %result = call i16 @__nv_float2half_rn(float %x)
  ret i16 %result
}
declare float @__nv_half2float(i16) nounwind memory(none) willreturn
define linkonce_odr float @morph_nvvm_half2float(i16 %x) alwaysinline {
  %result = call float @__nv_half2float(i16 %x)
  ret float %result
}

; A value and a predicate, which C returns as one number.
define linkonce_odr {i32, i1} @morph_nvvm_both(i64 %all) alwaysinline {
  %value = trunc i64 %all to i32
  %high = lshr i64 %all, 32
  %predicate = trunc i64 %high to i1
  %one = insertvalue {i32, i1} undef, i32 %value, 0
  %both = insertvalue {i32, i1} %one, i1 %predicate, 1
  ret {i32, i1} %both
}

declare i64 @morph_nvvm_shfl(i32, i32, i32, i32, i32) convergent nounwind
define linkonce_odr {i32, i1} @morph_nvvm_shfl_sync_i32(i32 %mask, i32 %mode, i32 %value, i32 %b, i32 %c) convergent alwaysinline {
  %all = call i64 @morph_nvvm_shfl(i32 %mask, i32 %mode, i32 %value, i32 %b, i32 %c)
  %both = call {i32, i1} @morph_nvvm_both(i64 %all)
  ret {i32, i1} %both
}

declare i64 @morph_nvvm_vote(i32, i32, i1 zeroext) convergent nounwind
define linkonce_odr {i32, i1} @morph_nvvm_vote_sync(i32 %mask, i32 %mode, i1 %value) convergent alwaysinline {
  %all = call i64 @morph_nvvm_vote(i32 %mask, i32 %mode, i1 zeroext %value)
  %both = call {i32, i1} @morph_nvvm_both(i64 %all)
  ret {i32, i1} %both
}

declare i64 @morph_nvvm_match_all_i32(i32, i32) convergent nounwind
define linkonce_odr {i32, i1} @morph_nvvm_match_all_sync_i32(i32 %mask, i32 %value) convergent alwaysinline {
  %all = call i64 @morph_nvvm_match_all_i32(i32 %mask, i32 %value)
  %both = call {i32, i1} @morph_nvvm_both(i64 %all)
  ret {i32, i1} %both
}

declare i64 @morph_nvvm_match_all_i64(i32, i64) convergent nounwind
define linkonce_odr {i32, i1} @morph_nvvm_match_all_sync_i64(i32 %mask, i64 %value) convergent alwaysinline {
  %all = call i64 @morph_nvvm_match_all_i64(i32 %mask, i64 %value)
  %both = call {i32, i1} @morph_nvvm_both(i64 %all)
  ret {i32, i1} %both
}
