// platform_typed.h for the emulator: train/device/cuda/platform/platform_typed.h for a C++ compiler.
#pragma once
#include "convert.h"

HG_DEVICE u16 hg_round_bf16(float v) { return hg_narrow_bf16(v); }
HG_DEVICE u32 hg_pair(float low, float high) { return (u32)hg_narrow_bf16(low) | (u32)hg_narrow_bf16(high) << 16; }
