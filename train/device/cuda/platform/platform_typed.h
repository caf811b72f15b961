// platform_typed.h for clang: rounding to BF16. See typed.h.
#pragma once
#include "platform.h"

// hg_round_bf16 equals hg_narrow_bf16 except for the bits of a NaN. hg_pair rounds two neighbouring
// elements.
HG_DEVICE u16 hg_round_bf16(float v) {
  u16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v));
  return h;
}
HG_DEVICE u32 hg_pair(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
