// types.h: the numbers that kernels and both platforms name alike.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define HG_FULL 0xffffffffu // the mask of a whole warp
